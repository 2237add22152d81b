/* SPDX-License-Identifier: MIT
 *
 * Loading: the file is mapped, and tensors point into the mapping; nothing is copied. All that the graph relies on (names,
 * shapes, sizes within the file) is checked here.
 */
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ggml-ext.h"

struct load {
    struct model * model;
    const char *   path;
    char *         error;
    size_t         n;
};

static bool fail(struct load * load, const char * fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct load * load, const char * fmt, ...) {
    va_list   args;
    const int n = snprintf(load->error, load->n, "%s: ", load->path);
    va_start(args, fmt);
    if (n >= 0 && (size_t) n < load->n) {
        vsnprintf(load->error + n, load->n - (size_t) n, fmt, args);
    }
    va_end(args);
    return false;
}

/* ---- keys ---- */

static bool read_u32(struct load * load, const char * key, bool required, uint32_t otherwise, uint32_t * out) {
    const struct gguf_context * file = load->model->file;
    const int64_t               id   = gguf_find_key(file, key);
    *out                             = otherwise;
    if (id < 0) {
        return required ? fail(load, "key %s is missing", key) : true;
    }
    if (gguf_get_kv_type(file, id) != GGUF_TYPE_UINT32) {
        return fail(load, "key %s has type %s, expected u32", key, gguf_type_name(gguf_get_kv_type(file, id)));
    }
    *out = gguf_get_val_u32(file, id);
    return true;
}

static bool read_f32(struct load * load, const char * key, float otherwise, float * out) {
    const struct gguf_context * file = load->model->file;
    const int64_t               id   = gguf_find_key(file, key);
    *out                             = otherwise;
    if (id < 0) {
        return true;
    }
    if (gguf_get_kv_type(file, id) != GGUF_TYPE_FLOAT32) {
        return fail(load, "key %s has type %s, expected f32", key, gguf_type_name(gguf_get_kv_type(file, id)));
    }
    *out = gguf_get_val_f32(file, id);
    return true;
}

static const char * read_string(struct load * load, const char * key) {
    const struct gguf_context * file = load->model->file;
    const int64_t               id   = gguf_find_key(file, key);
    return id >= 0 && gguf_get_kv_type(file, id) == GGUF_TYPE_STRING ? gguf_get_val_str(file, id) : "";
}

static bool read_sizes(struct load * load) {
    struct model * m    = load->model;
    const char *   arch = read_string(load, "general.architecture");
    if (strcmp(arch, "llama") != 0) {
        return fail(load, "architecture '%s' is not supported, expected 'llama'", arch);
    }
    snprintf(m->name, sizeof(m->name), "%s", read_string(load, "general.name"));
    if (strstr(read_string(load, "tokenizer.chat_template"), "<|im_start|>") != NULL) {
        snprintf(m->template_text, sizeof(m->template_text), "chatml");
    }
    if (!read_u32(load, "llama.block_count", true, 0, &m->n_layers) ||
        !read_u32(load, "llama.embedding_length", true, 0, &m->n_embd) ||
        !read_u32(load, "llama.feed_forward_length", true, 0, &m->n_ff) ||
        !read_u32(load, "llama.context_length", true, 0, &m->n_ctx_train) ||
        !read_u32(load, "llama.attention.head_count", true, 0, &m->n_heads) ||
        !read_u32(load, "llama.attention.head_count_kv", false, m->n_heads, &m->n_heads_kv) ||
        !read_f32(load, "llama.attention.layer_norm_rms_epsilon", 1e-5f, &m->norm_eps) ||
        !read_f32(load, "llama.rope.freq_base", 10000.0f, &m->rope_base) ||
        !read_f32(load, "llama.rope.scaling.factor", 1.0f, &m->rope_scale)) {
        return false;
    }
    if (m->n_layers == 0 || m->n_layers > 4096 || m->n_heads == 0 || m->n_heads_kv == 0 ||
        m->n_embd % m->n_heads != 0 || m->n_heads % m->n_heads_kv != 0 || m->n_embd == 0 || m->n_ff == 0 ||
        m->n_ctx_train == 0) {
        return fail(
            load,
            "sizes make no sense: %u layers, %u heads, %u key heads, embedding of %u, feed-forward of %u, context of %u",
            m->n_layers, m->n_heads, m->n_heads_kv, m->n_embd, m->n_ff, m->n_ctx_train);
    }
    m->head_size = m->n_embd / m->n_heads;
    if (!read_u32(load, "llama.rope.dimension_count", false, m->head_size, &m->n_rot)) {
        return false;
    }
    return (m->n_rot <= m->head_size && m->n_rot % 2 == 0) ||
           fail(load, "rotary dimensions %u do not fit heads of %u", m->n_rot, m->head_size);
}

/* ---- tensors ---- */

static bool is_weight_type(enum ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16 || ggml_is_quantized(type);
}

static bool find(struct load * load, const char * name, int64_t ne0, int64_t ne1, struct ggml_tensor ** out) {
    struct ggml_tensor * t = ggml_get_tensor(load->model->ctx, name);
    *out                   = t;
    if (t == NULL) {
        return fail(load, "tensor %s is missing", name);
    }
    if (t->ne[0] != ne0 || t->ne[1] != ne1 || t->ne[2] != 1 || t->ne[3] != 1) {
        return fail(load, "tensor %s is [%lld, %lld, %lld, %lld], expected [%lld, %lld]", name, (long long) t->ne[0],
                    (long long) t->ne[1], (long long) t->ne[2], (long long) t->ne[3], (long long) ne0, (long long) ne1);
    }
    if (!is_weight_type(t->type)) {
        return fail(load, "tensor %s has type %s, expected floating-point numbers or a quantized format", name,
                    ggml_type_name(t->type));
    }
    return true;
}

static bool find_layer(struct load * load, uint32_t i) {
    struct model *       m    = load->model;
    struct model_layer * l    = &m->layers[i];
    const int64_t        embd = m->n_embd;
    const int64_t        kv   = (int64_t) m->head_size * m->n_heads_kv;
    const struct {
        const char *          name;
        int64_t               ne0, ne1;
        struct ggml_tensor ** out;
    } wanted[] = {
        { "attn_norm", embd, 1, &l->attn_norm },
        { "attn_q", embd, embd, &l->attn_q },
        { "attn_k", embd, kv, &l->attn_k },
        { "attn_v", embd, kv, &l->attn_v },
        { "attn_output", embd, embd, &l->attn_output },
        { "ffn_norm", embd, 1, &l->ffn_norm },
        { "ffn_gate", embd, m->n_ff, &l->ffn_gate },
        { "ffn_up", embd, m->n_ff, &l->ffn_up },
        { "ffn_down", m->n_ff, embd, &l->ffn_down },
    };
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++) {
        char name[64];
        snprintf(name, sizeof(name), "blk.%u.%s.weight", i, wanted[k].name);
        if (!find(load, name, wanted[k].ne0, wanted[k].ne1, wanted[k].out)) {
            return false;
        }
    }
    return true;
}

static bool find_all(struct load * load) {
    struct model * m = load->model;
    m->layers        = calloc(m->n_layers, sizeof(*m->layers));
    if (m->layers == NULL) {
        return fail(load, "no memory for %u layers", m->n_layers);
    }
    const int64_t n_vocab = vocab_size(m->vocab);
    if (!find(load, "token_embd.weight", m->n_embd, n_vocab, &m->token_embd) ||
        !find(load, "output_norm.weight", m->n_embd, 1, &m->output_norm)) {
        return false;
    }
    m->output = m->token_embd;
    if (ggml_get_tensor(m->ctx, "output.weight") != NULL &&
        !find(load, "output.weight", m->n_embd, n_vocab, &m->output)) {
        return false;
    }
    if (ggml_get_tensor(m->ctx, "rope_freqs.weight") != NULL &&
        !find(load, "rope_freqs.weight", m->n_rot / 2, 1, &m->rope_freqs)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n_layers; i++) {
        if (!find_layer(load, i)) {
            return false;
        }
    }
    return true;
}

/* ---- memory ---- */

static bool map(struct load * load) {
    struct model * m  = load->model;
    const int      fd = open(load->path, O_RDONLY);
    struct stat    info;
    if (fd < 0 || fstat(fd, &info) != 0 || info.st_size <= 0) {
        if (fd >= 0) {
            close(fd);
        }
        return fail(load, "cannot be opened");
    }
    m->mapping_size = (size_t) info.st_size;
    m->mapping      = mmap(NULL, m->mapping_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (m->mapping == MAP_FAILED) {
        m->mapping = NULL;
        return fail(load, "cannot be mapped into memory: %s", strerror(errno));
    }
    madvise(m->mapping, m->mapping_size, MADV_WILLNEED);
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    m->buffer              = ggml_backend_dev_buffer_from_host_ptr(cpu, m->mapping, m->mapping_size, m->mapping_size);
    if (m->buffer == NULL) {
        return fail(load, "no memory for a buffer");
    }
    ggml_backend_buffer_set_usage(m->buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    return true;
}

static bool place_tensors(struct load * load) {
    struct model * m    = load->model;
    const size_t   base = gguf_get_data_offset(m->file);
    for (int64_t i = 0; i < gguf_get_n_tensors(m->file); i++) {
        struct ggml_tensor * t    = ggml_get_tensor(m->ctx, gguf_get_tensor_name(m->file, i));
        const size_t         size = gguf_get_tensor_size(m->file, i);
        const size_t         at   = base + gguf_get_tensor_offset(m->file, i);
        if (at > m->mapping_size || size > m->mapping_size - at) {
            return fail(load, "the file is truncated: tensor %s needs bytes %zu to %zu, the file has %zu",
                        gguf_get_tensor_name(m->file, i), at, at + size, m->mapping_size);
        }
        if (t == NULL || ggml_backend_tensor_alloc(m->buffer, t, (char *) m->mapping + at) != GGML_STATUS_SUCCESS) {
            return fail(load, "tensor %s cannot be placed", gguf_get_tensor_name(m->file, i));
        }
        m->weight_bytes += size;
    }
    return true;
}

/* The reader's text says where the fault lies; its own prefix is not repeated. */
static bool open_file(struct load * load) {
    struct model *                m      = load->model;
    const struct gguf_init_params params = { true, &m->ctx };
    if (access(load->path, R_OK) != 0) {
        return fail(load, "%s", strerror(errno));
    }
    m->file = gguf_init_from_file(load->path, params);
    return m->file != NULL || fail(load, "%s", ggml_ext_last_error());
}

struct model * model_load(const char * path, char * error, size_t n) {
    struct load load = { calloc(1, sizeof(struct model)), path, error, n };
    if (load.model == NULL) {
        fail(&load, "no memory");
        return NULL;
    }
    bool ok = open_file(&load) && read_sizes(&load);
    if (ok) {
        char text[256];
        load.model->vocab = vocab_load(load.model->file, text, sizeof(text));
        ok                = load.model->vocab != NULL || fail(&load, "%s", text);
    }
    if (!ok || !find_all(&load) || !map(&load) || !place_tensors(&load)) {
        model_free(load.model);
        return NULL;
    }
    return load.model;
}

void model_free(struct model * model) {
    if (model == NULL) {
        return;
    }
    vocab_free(model->vocab);
    free(model->layers);
    ggml_backend_buffer_free(model->buffer);
    ggml_free(model->ctx);
    gguf_free(model->file);
    if (model->mapping != NULL) {
        munmap(model->mapping, model->mapping_size);
    }
    free(model);
}
