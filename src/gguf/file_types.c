/* SPDX-License-Identifier: MIT
 *
 * Types in files. Built-in types stand there by their number. The number of a type that an application registered holds
 * in its process only, so a file numbers such types from GGML_EXT_TYPE_FIRST on by itself and lists their names, in
 * that order, under one more key. That key belongs to the format: contexts do not show it, it is made when a file is
 * written.
 */
#include "gguf/context.h"

#include "ggml-ext.h"
#include "type/type.h"

const char * gguf_file_type_name(const struct gguf_context * ctx, uint32_t type) {
    const int64_t id = gguf_find_key(ctx, GGUF_KEY_TYPE_NAMES);
    if (type < GGML_EXT_TYPE_FIRST || id < 0) {
        return NULL;
    }
    const struct gguf_kv * kv = &ctx->kv[id];
    const uint32_t         i  = type - GGML_EXT_TYPE_FIRST;
    return kv->type == GGUF_TYPE_STRING && i < kv->n ? (const char *) kv->data + kv->starts[i] : NULL;
}

const struct type_row * gguf_file_type_row(const struct gguf_context * ctx, uint32_t type) {
    const struct type_row * row  = NULL;
    const char *            name = gguf_file_type_name(ctx, type);
    if (type < GGML_TYPE_COUNT) {
        row = type_row_get((enum ggml_type) type);
    } else if (name != NULL) {
        row = type_row_by_name(name);
        row = row != NULL && row->id < GGML_EXT_TYPE_FIRST ? NULL : row; /* a built-in type has its number */
    }
    return row != NULL && row->traits.type_size > 0 ? row : NULL;
}

/* Place of a type in the list; n when it is not there. */
static size_t place_of(const struct gguf_file_types * types, enum ggml_type type) {
    size_t i = 0;
    while (i < types->n && types->items[i] != type) {
        i++;
    }
    return i;
}

bool gguf_file_types_collect(struct gguf_file_types * types, const struct gguf_context * ctx) {
    for (size_t i = 0; i < ctx->n_tensors; i++) {
        const enum ggml_type type = ctx->tensors[i].type;
        if ((uint32_t) type < GGML_EXT_TYPE_FIRST || place_of(types, type) < types->n) {
            continue;
        }
        enum ggml_type * items = gguf_grow(types->items, &types->capacity, types->n + 1, sizeof(*items));
        if (items == NULL) {
            return gguf_fail(GGML_STATUS_ALLOC_FAILED, "gguf: no memory for the names of %zu types", types->n + 1);
        }
        types->items             = items;
        types->items[types->n++] = type;
    }
    return true;
}

uint32_t gguf_file_type(const struct gguf_file_types * types, enum ggml_type type) {
    return (uint32_t) type < GGML_EXT_TYPE_FIRST ? (uint32_t) type
                                                 : GGML_EXT_TYPE_FIRST + (uint32_t) place_of(types, type);
}
