/* SPDX-License-Identifier: MIT
 *
 * A model of the llama architecture in a GGUF file: its sizes, and its weights where they lie in the mapped file.
 */
#ifndef LLAMA_MODEL_H
#define LLAMA_MODEL_H

#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"
#include "vocab.h"

struct model_layer {
    struct ggml_tensor * attn_norm;
    struct ggml_tensor * attn_q;
    struct ggml_tensor * attn_k;
    struct ggml_tensor * attn_v;
    struct ggml_tensor * attn_output;
    struct ggml_tensor * ffn_norm;
    struct ggml_tensor * ffn_gate;
    struct ggml_tensor * ffn_up;
    struct ggml_tensor * ffn_down;
};

struct model {
    char                  name[128];
    char                  template_text[64]; /* "chatml", or "" when the chat template is none that is known here */
    uint32_t              n_layers, n_embd, n_heads, n_heads_kv, n_rot, n_ff, n_ctx_train;
    uint32_t              head_size;
    float                 norm_eps, rope_base, rope_scale;
    struct vocab *        vocab;
    struct ggml_tensor *  token_embd;
    struct ggml_tensor *  output_norm;
    struct ggml_tensor *  output;     /* token_embd when the file has none */
    struct ggml_tensor *  rope_freqs; /* frequency factors, or NULL */
    struct model_layer *  layers;
    size_t                weight_bytes;
    struct gguf_context * file;
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    void *                mapping;
    size_t                mapping_size;
};

/* NULL on failure, with one line in error (n bytes). */
struct model * model_load(const char * path, char * error, size_t n);
void           model_free(struct model * model);

#endif /* LLAMA_MODEL_H */
