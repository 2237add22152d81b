/* SPDX-License-Identifier: MIT
 *
 * From descriptions to ggml tensors, and the data section into memory.
 */
#include "gguf/load.h"

#include "base/check.h"
#include "type/type.h"

#include <string.h>

/* Arena bytes over descriptors and data: the rounding of both to the arena's alignment. */
#define ARENA_SLACK 64

/* Clients find the data section by this name. */
#define BLOB_NAME "GGUF tensor data binary blob"

/* In a file of the other byte order, data can be converted when it is read here; a caller that maps or reads it by
 * itself would take it for numbers of this machine. */
static bool check_byte_order(const struct gguf_context * ctx, bool no_alloc) {
    for (size_t i = 0; i < ctx->n_tensors; i++) {
        const struct gguf_tensor * tensor = &ctx->tensors[i];
        const char *               type   = type_row_get(tensor->type)->traits.type_name;
        bool                       needed;
        const bool                 can = gguf_can_swap(tensor->type, &needed);
        if (!can) {
            return gguf_fail(GGML_STATUS_FAILED,
                             "gguf: tensor '%s': the file is of the other byte order, and data of type %s "
                             "cannot be converted",
                             tensor->name, type);
        }
        if (needed && no_alloc) {
            return gguf_fail(GGML_STATUS_FAILED,
                             "gguf: tensor '%s': the file is of the other byte order: its data, of type %s, "
                             "must be loaded with no_alloc = false, which converts it",
                             tensor->name, type);
        }
    }
    return true;
}

static bool arena_size(const struct gguf_context * ctx, bool no_alloc, size_t * size) {
    size_t descriptors;
    return base_size_mul(ctx->n_tensors + !no_alloc, ggml_tensor_overhead(), &descriptors) &&
           base_size_add(descriptors, no_alloc ? 0 : ctx->data_size, size) && base_size_add(*size, ARENA_SLACK, size);
}

/* The text names the first tensor whose bytes are not all there. */
static bool data_too_short(const struct gguf_context * ctx, const struct gguf_source * source, uint64_t left) {
    size_t i = 0;
    while (i + 1 < ctx->n_tensors && ctx->tensors[i].offset + ctx->tensors[i].size <= left) {
        i++;
    }
    const struct gguf_tensor * tensor = &ctx->tensors[i];
    return gguf_fail(GGML_STATUS_FAILED,
                     "gguf: byte %llu: tensor %zu '%s': the file ends inside its data: %zu bytes are "
                     "declared, %llu are left",
                     (unsigned long long) (ctx->data_offset - source->start + tensor->offset), i, tensor->name,
                     tensor->size, (unsigned long long) (left > tensor->offset ? left - tensor->offset : 0));
}

/* The data section, as a tensor of bytes. */
static struct ggml_tensor * read_blob(struct gguf_context * ctx, struct gguf_source * source,
                                      struct ggml_context * data) {
    struct ggml_tensor * blob = ggml_new_tensor_1d(data, GGML_TYPE_I8, (int64_t) ctx->data_size);
    if (blob == NULL) {
        return NULL;
    }
    ggml_set_name(blob, BLOB_NAME);
    if (!gguf_source_read(source, blob->data, ctx->data_size)) {
        data_too_short(ctx, source, source->position - ctx->data_offset);
        return NULL;
    }
    for (size_t i = 0; source->swapped && i < ctx->n_tensors; i++) {
        const struct gguf_tensor * tensor = &ctx->tensors[i];
        if (tensor->size > 0) {
            gguf_swap_tensor(tensor->type, (char *) blob->data + tensor->offset, tensor->size);
        }
    }
    return blob;
}

static bool new_tensors(struct gguf_context * ctx, struct ggml_context * data, const struct ggml_tensor * blob) {
    for (size_t i = 0; i < ctx->n_tensors; i++) {
        struct gguf_tensor * tensor = &ctx->tensors[i];
        struct ggml_tensor * made   = ggml_new_tensor(data, tensor->type, GGML_MAX_DIMS, tensor->ne);
        if (made == NULL) {
            return gguf_fail(GGML_STATUS_FAILED, "gguf: tensor '%s' could not be made", tensor->name);
        }
        ggml_set_name(made, tensor->name);
        if (blob != NULL && blob->data != NULL) { /* a data section of 0 bytes has no address */
            made->data   = (char *) blob->data + tensor->offset;
            tensor->data = made->data;
        }
    }
    return true;
}

bool gguf_load_tensors(struct gguf_context * ctx, struct gguf_source * source, bool no_alloc,
                       struct ggml_context ** data) {
    size_t size;
    if (source->swapped && !check_byte_order(ctx, no_alloc)) {
        return false;
    }
    if (!no_alloc && ctx->data_size > source->left) {
        return data_too_short(ctx, source, source->left);
    }
    if (!arena_size(ctx, no_alloc, &size)) {
        return gguf_fail(GGML_STATUS_ALLOC_FAILED,
                         "gguf: %zu tensors and %zu bytes of data are too much for this machine", ctx->n_tensors,
                         ctx->data_size);
    }
    *data = ggml_init((struct ggml_init_params){.mem_size = size, .no_alloc = no_alloc});
    if (*data == NULL) {
        return gguf_fail(GGML_STATUS_ALLOC_FAILED, "gguf: no memory for %zu tensors and %zu bytes of data",
                         ctx->n_tensors, no_alloc ? 0 : ctx->data_size);
    }
    struct ggml_tensor * blob = no_alloc ? NULL : read_blob(ctx, source, *data);
    if (!no_alloc && blob == NULL) {
        return false;
    }
    ggml_set_no_alloc(*data, true);
    const bool made = new_tensors(ctx, *data, blob);
    ggml_set_no_alloc(*data, no_alloc);
    return made;
}
