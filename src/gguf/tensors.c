/* SPDX-License-Identifier: MIT
 *
 * Descriptions of tensors: getters, additions, and where each lies in the data section.
 */
#include "gguf/context.h"

#include "base/check.h"
#include "type/type.h"

#include <stdlib.h>
#include <string.h>

/* The greatest size of a tensor and of a data section: what pointer differences can hold. */
#define SIZE_LIMIT ((size_t) PTRDIFF_MAX)

bool gguf_tensor_bytes(enum ggml_type type, const int64_t ne[GGML_MAX_DIMS], size_t * bytes) {
    const struct ggml_type_traits * traits = &type_row_get(type)->traits;
    size_t                          total  = traits->type_size;
    bool                            empty  = false;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        empty = empty || ne[i] == 0;
        /* An extent of 0 counts as 1 here: the other ones must still give strides that fit. Blocks are divided out at
         * the end only, since programs multiply first as well. */
        if (ne[i] > 0 && ((uint64_t) ne[i] > SIZE_LIMIT || !base_size_mul(total, (size_t) ne[i], &total))) {
            return false;
        }
        if (total > SIZE_LIMIT) {
            return false;
        }
    }
    *bytes = empty ? 0 : total / (size_t) traits->blck_size;
    return true;
}

void gguf_tensor_release(struct gguf_tensor * tensor) {
    free(tensor->name);
    free(tensor->source);
    memset(tensor, 0, sizeof(*tensor));
}

bool gguf_next_offset(const struct gguf_context * ctx, const struct gguf_tensor * tensor, size_t offset,
                      size_t * next) {
    size_t padded;
    if (!base_size_pad(tensor->size, ctx->alignment, &padded) || padded > SIZE_LIMIT - offset) {
        return false;
    }
    *next = offset + padded;
    return true;
}

void gguf_place_tensors(struct gguf_context * ctx, size_t first) {
    size_t end = 0;
    if (first > 0 && !gguf_next_offset(ctx, &ctx->tensors[first - 1], ctx->tensors[first - 1].offset, &end)) {
        return; /* failed before */
    }
    for (size_t i = first; i < ctx->n_tensors; i++) {
        struct gguf_tensor * tensor = &ctx->tensors[i];
        tensor->offset              = end;
        if (!gguf_next_offset(ctx, tensor, end, &end)) {
            gguf_fail_change(ctx, "gguf: tensor '%s': the data section has no size that fits this machine",
                             tensor->name);
            return;
        }
    }
    ctx->data_size = end;
}

int64_t gguf_get_n_tensors(const struct gguf_context * ctx) {
    return (int64_t) ctx->n_tensors;
}

int64_t gguf_find_tensor(const struct gguf_context * ctx, const char * name) {
    const size_t id = gguf_names_find(&ctx->names, name);
    return id == GGUF_NO_ID ? -1 : (int64_t) id;
}

static const struct gguf_tensor * tensor_at(const struct gguf_context * ctx, int64_t id, const char * function) {
    if (id < 0 || (uint64_t) id >= ctx->n_tensors) {
        GGML_ABORT("%s: tensor id %lld, but there are %zu tensors", function, (long long) id, ctx->n_tensors);
    }
    return &ctx->tensors[id];
}

size_t gguf_get_tensor_offset(const struct gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id, __func__)->offset;
}

const char * gguf_get_tensor_name(const struct gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id, __func__)->name;
}

const int64_t * gguf_get_tensor_ne(const struct gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id, __func__)->ne;
}

enum ggml_type gguf_get_tensor_type(const struct gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id, __func__)->type;
}

size_t gguf_get_tensor_size(const struct gguf_context * ctx, int64_t tensor_id) {
    return tensor_at(ctx, tensor_id, __func__)->size;
}

/* Dimensions up to the last that is not 1, at least one: a trailing extent of 0 is kept. */
static uint32_t dimensions(const int64_t ne[GGML_MAX_DIMS]) {
    uint32_t n = GGML_MAX_DIMS;
    while (n > 1 && ne[n - 1] == 1) {
        n--;
    }
    return n;
}

/* Type and with it size; what does not fit the shape is the program's fault. */
static void set_type(struct gguf_tensor * tensor, enum ggml_type type, const char * function) {
    const struct type_row * row = type_row_get(type);
    if (row == NULL || row->traits.type_size == 0) {
        GGML_ABORT("%s: tensor '%s': there is no type %d", function, tensor->name, (int) type);
    }
    if (tensor->ne[0] % row->traits.blck_size != 0) {
        GGML_ABORT("%s: tensor '%s' has rows of %lld elements, type %s needs a multiple of %lld", function,
                   tensor->name, (long long) tensor->ne[0], row->traits.type_name, (long long) row->traits.blck_size);
    }
    tensor->type = type;
    if (!gguf_tensor_bytes(type, tensor->ne, &tensor->size)) {
        GGML_ABORT("%s: tensor '%s' has a size that does not fit this machine", function, tensor->name);
    }
}

void gguf_add_tensor(struct gguf_context * ctx, const struct ggml_tensor * tensor) {
    if (tensor == NULL) {
        GGML_ABORT("%s: the tensor is NULL", __func__);
    }
    if (gguf_find_tensor(ctx, tensor->name) >= 0) {
        GGML_ABORT("%s: duplicate tensor name '%s'", __func__, tensor->name);
    }
    struct gguf_tensor added = {.name = gguf_copy_string(tensor->name), .data = tensor->data};
    memcpy(added.ne, tensor->ne, sizeof(added.ne));
    added.n_dims = dimensions(tensor->ne);
    added.source = malloc(sizeof(*added.source));

    struct gguf_tensor * items = gguf_grow(ctx->tensors, &ctx->tensor_capacity, ctx->n_tensors + 1, sizeof(*items));
    if (items != NULL) {
        ctx->tensors = items;
    }
    if (added.name == NULL || added.source == NULL || items == NULL || !gguf_names_reserve(&ctx->names)) {
        gguf_fail_change(ctx, "%s: tensor '%s': out of memory", __func__, tensor->name);
        gguf_tensor_release(&added);
        return;
    }
    *added.source = *tensor;
    set_type(&added, tensor->type, __func__);

    ctx->tensors[ctx->n_tensors] = added;
    gguf_names_add(&ctx->names, added.name, ctx->n_tensors);
    ctx->n_tensors++;
    gguf_place_tensors(ctx, ctx->n_tensors - 1);
}

static struct gguf_tensor * tensor_named(struct gguf_context * ctx, const char * name, const char * function) {
    const int64_t id = gguf_find_tensor(ctx, name);
    if (id < 0) {
        GGML_ABORT("%s: there is no tensor '%s'", function, name);
    }
    return &ctx->tensors[id];
}

void gguf_set_tensor_type(struct gguf_context * ctx, const char * name, enum ggml_type type) {
    struct gguf_tensor * tensor = tensor_named(ctx, name, __func__);
    set_type(tensor, type, __func__);
    gguf_place_tensors(ctx, (size_t) (tensor - ctx->tensors));
}

void gguf_set_tensor_data(struct gguf_context * ctx, const char * name, const void * data) {
    struct gguf_tensor * tensor = tensor_named(ctx, name, __func__);
    tensor->data                = data;
    free(tensor->source); /* the bytes come from this process from now on, whatever buffer held them */
    tensor->source = NULL;
}
