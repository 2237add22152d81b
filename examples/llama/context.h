/* SPDX-License-Identifier: MIT
 *
 * Evaluation: the KV cache, the graph of a batch, and the scheduler that runs it.
 */
#ifndef LLAMA_CONTEXT_H
#define LLAMA_CONTEXT_H

#include "model.h"

struct context;

struct context_params {
    uint32_t n_ctx;   /* positions in the cache */
    uint32_t n_batch; /* tokens of a prompt that are evaluated at once */
    int      n_threads;
};

/* NULL on failure, with one line in error (n bytes). The model must outlive it. */
struct context * context_new(struct model * model, struct context_params params, char * error, size_t n);
void             context_free(struct context * context);

/* Appends tokens to the sequence; *logits then points to the values of the last one (vocab_size floats, until the next
 * call). Returns false with a text in context_error on failure: a full cache, or a graph that cannot be run. */
bool         context_eval(struct context * context, const int32_t * tokens, uint32_t n, const float ** logits);
const char * context_error(const struct context * context);

uint32_t context_used(const struct context * context); /* positions in use */
size_t   context_kv_bytes(const struct context * context);
size_t   context_compute_bytes(const struct context * context);

#endif /* LLAMA_CONTEXT_H */
