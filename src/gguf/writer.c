/* SPDX-License-Identifier: MIT
 *
 * Writes a context as a file of version 3 in the byte order of this machine: header, keys, tensor descriptions,
 * padding, then the data of each tensor with its padding. One walk serves files, memory and measuring.
 */
#include "gguf/context.h"

#include "base/check.h"
#include "ggml-backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Data of a backend's buffer is fetched in pieces of this size. */
#define FETCH_BYTES ((size_t) 1 << 20)

struct sink {
    const struct gguf_context * ctx;
    FILE *                      file; /* one of file and memory, or none: only counts */
    char *                      memory;
    size_t                      size; /* of memory */
    size_t                      written;
    struct gguf_file_types      types;
};

static bool put(struct sink * sink, const void * data, size_t n) {
    size_t end;
    if (!base_size_add(sink->written, n, &end)) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: the file is too large for this machine");
    }
    if (sink->memory != NULL) {
        if (end > sink->size) {
            return gguf_fail(GGML_STATUS_FAILED, "gguf: writing byte %zu of %zu: the context changed meanwhile", end,
                             sink->size);
        }
        if (n > 0) {
            memcpy(sink->memory + sink->written, data, n);
        }
    } else if (sink->file != NULL && n > 0 && fwrite(data, 1, n, sink->file) != n) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: writing %zu bytes at byte %zu: %s", n, sink->written,
                         strerror(errno));
    }
    sink->written = end;
    return true;
}

static bool put_u32(struct sink * sink, uint32_t value) {
    return put(sink, &value, sizeof(value));
}

static bool put_u64(struct sink * sink, uint64_t value) {
    return put(sink, &value, sizeof(value));
}

static bool put_string(struct sink * sink, const char * text, size_t n) {
    return put_u64(sink, n) && put(sink, text, n);
}

static bool put_padding(struct sink * sink) {
    static const char zeros[256];
    const size_t      rest  = sink->written & (sink->ctx->alignment - 1);
    size_t            bytes = rest == 0 ? 0 : sink->ctx->alignment - rest;
    while (bytes > 0) {
        const size_t n = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
        if (!put(sink, zeros, n)) {
            return false;
        }
        bytes -= n;
    }
    return true;
}

static bool put_kv(struct sink * sink, const struct gguf_kv * kv) {
    if (!put_string(sink, kv->key, strlen(kv->key))) {
        return false;
    }
    const bool typed = kv->is_array ? put_u32(sink, GGUF_TYPE_ARRAY) && put_u32(sink, kv->type) && put_u64(sink, kv->n)
                                    : put_u32(sink, kv->type);
    if (!typed) {
        return false;
    }
    if (kv->type != GGUF_TYPE_STRING) {
        return put(sink, kv->data, kv->bytes);
    }
    for (size_t i = 0; i < kv->n; i++) {
        const size_t n = kv->starts[i + 1] - kv->starts[i] - 1;
        if (!put_string(sink, (const char *) kv->data + kv->starts[i], n)) {
            return false;
        }
    }
    return true;
}

/* The key with the names of registered types, if the tensors use any. */
static bool put_type_names(struct sink * sink) {
    static const char key[] = GGUF_KEY_TYPE_NAMES;
    bool ok = sink->types.n == 0 || (put_string(sink, key, sizeof(key) - 1) && put_u32(sink, GGUF_TYPE_ARRAY) &&
                                     put_u32(sink, GGUF_TYPE_STRING) && put_u64(sink, sink->types.n));
    for (size_t i = 0; ok && i < sink->types.n; i++) {
        const char * name = ggml_type_name(sink->types.items[i]);
        ok                = put_string(sink, name, strlen(name));
    }
    return ok;
}

static bool put_description(struct sink * sink, const struct gguf_tensor * tensor) {
    bool ok = put_string(sink, tensor->name, strlen(tensor->name)) && put_u32(sink, tensor->n_dims);
    for (uint32_t i = 0; ok && i < tensor->n_dims; i++) {
        ok = put_u64(sink, (uint64_t) tensor->ne[i]);
    }
    return ok && put_u32(sink, gguf_file_type(&sink->types, tensor->type)) && put_u64(sink, tensor->offset);
}

/* From a backend's buffer, in pieces: a tensor may be larger than the memory of this process. */
static bool put_from_buffer(struct sink * sink, const struct gguf_tensor * tensor) {
    const size_t most  = tensor->size < FETCH_BYTES ? tensor->size : FETCH_BYTES;
    void *       piece = malloc(most);
    if (piece == NULL) {
        return gguf_fail(GGML_STATUS_ALLOC_FAILED, "gguf: tensor '%s': no memory to fetch its data", tensor->name);
    }
    bool ok = true;
    for (size_t at = 0; ok && at < tensor->size;) {
        const size_t n = tensor->size - at < most ? tensor->size - at : most;
        ggml_backend_tensor_get(tensor->source, piece, at, n);
        ok = put(sink, piece, n);
        at += n;
    }
    free(piece);
    return ok;
}

static bool put_data(struct sink * sink, const struct gguf_tensor * tensor) {
    const struct ggml_tensor * source = tensor->source;
    if (tensor->size == 0) {
        return true;
    }
    if (source != NULL && source->type != tensor->type) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: tensor '%s' was given type %s, but its data is still %s",
                         tensor->name, ggml_type_name(tensor->type), ggml_type_name(source->type));
    }
    if (source != NULL && !ggml_is_contiguous(source)) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: tensor '%s' is not contiguous: strides %zu %zu %zu %zu",
                         tensor->name, source->nb[0], source->nb[1], source->nb[2], source->nb[3]);
    }
    if (sink->file == NULL && sink->memory == NULL) {
        return put(sink, NULL, tensor->size);
    }
    if (source != NULL && (source->buffer != NULL || (source->view_src != NULL && source->view_src->buffer != NULL))) {
        return put_from_buffer(sink, tensor);
    }
    if (tensor->data == NULL) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: tensor '%s' has no data: %zu bytes of it are to be written",
                         tensor->name, tensor->size);
    }
    return put(sink, tensor->data, tensor->size);
}

static bool put_meta(struct sink * sink) {
    const struct gguf_context * ctx = sink->ctx;
    bool ok = put(sink, GGUF_MAGIC, 4) && put_u32(sink, GGUF_VERSION) && put_u64(sink, ctx->n_tensors) &&
              put_u64(sink, ctx->n_kv + (sink->types.n > 0));
    for (size_t i = 0; ok && i < ctx->n_kv; i++) {
        ok = put_kv(sink, &ctx->kv[i]);
    }
    ok = ok && put_type_names(sink);
    for (size_t i = 0; ok && i < ctx->n_tensors; i++) {
        ok = put_description(sink, &ctx->tensors[i]);
    }
    return ok && put_padding(sink);
}

static bool write_out(struct sink * sink, bool only_meta) {
    const struct gguf_context * ctx = sink->ctx;
    if (ctx->error[0] != 0) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: not written, an earlier change failed: %s", ctx->error);
    }
    bool ok = gguf_file_types_collect(&sink->types, ctx) && put_meta(sink);
    for (size_t i = 0; ok && !only_meta && i < ctx->n_tensors; i++) {
        ok = put_data(sink, &ctx->tensors[i]) && put_padding(sink);
    }
    free(sink->types.items);
    return ok;
}

bool gguf_write_to_file_ptr(const struct gguf_context * ctx, FILE * file, bool only_meta) {
    if (file == NULL) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: writing: the file is NULL");
    }
    struct sink sink = {.ctx = ctx, .file = file};
    return write_out(&sink, only_meta);
}

bool gguf_write_to_file(const struct gguf_context * ctx, const char * fname, bool only_meta) {
    FILE * file = fname == NULL ? NULL : ggml_fopen(fname, "wb");
    if (file == NULL) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: opening '%s' to write: %s", fname == NULL ? "" : fname,
                         strerror(fname == NULL ? EINVAL : errno));
    }
    const bool written = gguf_write_to_file_ptr(ctx, file, only_meta);
    if (fclose(file) != 0 && written) { /* what was buffered is written only now */
        return gguf_fail(GGML_STATUS_FAILED, "gguf: writing '%s': %s", fname, strerror(errno));
    }
    return written;
}

size_t gguf_written_size(const struct gguf_context * ctx, bool only_meta) {
    struct sink sink = {.ctx = ctx};
    return write_out(&sink, only_meta) ? sink.written : 0;
}

bool gguf_write_to_memory(const struct gguf_context * ctx, void * data, size_t size, bool only_meta) {
    struct sink sink = {.ctx = ctx, .memory = data, .size = size};
    return write_out(&sink, only_meta);
}

size_t gguf_get_meta_size(const struct gguf_context * ctx) {
    return gguf_written_size(ctx, true);
}

void gguf_get_meta_data(const struct gguf_context * ctx, void * data) {
    gguf_write_to_memory(ctx, data, SIZE_MAX, true);
}
