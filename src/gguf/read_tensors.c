/* SPDX-License-Identifier: MIT
 *
 * The tensor descriptions of a file, and where its data section begins.
 */
#include "gguf/reader.h"

#include "type/type.h"

#include <string.h>

static bool read_shape(struct gguf_reader * reader) {
    struct gguf_tensor * tensor = &reader->tensor;
    if (!gguf_take_u32(reader, &tensor->n_dims, "the number of dimensions")) {
        return false;
    }
    if (tensor->n_dims > GGML_MAX_DIMS) {
        return gguf_refuse(reader, "%u dimensions, at most %d are supported", (unsigned) tensor->n_dims, GGML_MAX_DIMS);
    }
    for (uint32_t i = 0; i < GGML_MAX_DIMS; i++) {
        uint64_t extent = 1;
        if (i < tensor->n_dims && !gguf_take_u64(reader, &extent, "an extent")) {
            return false;
        }
        if (extent > INT64_MAX) {
            return gguf_refuse(reader, "extent %u is negative: %lld", (unsigned) i, (long long) extent);
        }
        tensor->ne[i] = (int64_t) extent;
    }
    return true;
}

static bool read_type(struct gguf_reader * reader) {
    struct gguf_tensor * tensor = &reader->tensor;
    uint32_t             type;
    if (!gguf_take_u32(reader, &type, "the type")) {
        return false;
    }
    const struct type_row * row = gguf_file_type_row(reader->ctx, type);
    if (row == NULL) {
        const char * name = gguf_file_type_name(reader->ctx, type);
        char         printable[GGUF_PRINTABLE_MAX];
        return name == NULL ? gguf_refuse(reader, "type %u is unknown or was removed from the format", (unsigned) type)
                            : gguf_refuse(reader, "no type of the name '%s' is registered in this program",
                                          gguf_printable(printable, name, strlen(name)));
    }
    tensor->type = row->id;
    if (tensor->ne[0] % row->traits.blck_size != 0) {
        return gguf_refuse(reader, "rows of %lld elements are no multiple of the block of type %s, which is %lld",
                           (long long) tensor->ne[0], row->traits.type_name, (long long) row->traits.blck_size);
    }
    return gguf_tensor_bytes(tensor->type, tensor->ne, &tensor->size) ||
           gguf_refuse(reader, "the size of %lld x %lld x %lld x %lld elements of type %s overflows",
                       (long long) tensor->ne[0], (long long) tensor->ne[1], (long long) tensor->ne[2],
                       (long long) tensor->ne[3], row->traits.type_name);
}

/* Tensors lie one behind the other, each padded to the alignment: the format leaves no choice of the offset. */
static bool read_offset(struct gguf_reader * reader) {
    struct gguf_context * ctx    = reader->ctx;
    struct gguf_tensor *  tensor = &reader->tensor;
    uint64_t              offset;
    if (!gguf_take_u64(reader, &offset, "the offset")) {
        return false;
    }
    if (offset != ctx->data_size) {
        return gguf_refuse(reader, "offset %llu, expected %zu", (unsigned long long) offset, ctx->data_size);
    }
    tensor->offset = ctx->data_size;
    return gguf_next_offset(ctx, tensor, tensor->offset, &ctx->data_size) ||
           gguf_refuse(reader, "the data section overflows: %zu bytes behind offset %zu", tensor->size, tensor->offset);
}

static bool read_tensor(struct gguf_reader * reader, uint64_t i) {
    struct gguf_context * ctx = reader->ctx;
    size_t                n   = 0;
    gguf_set_where(reader, "tensor", i, NULL, 0);
    if (!gguf_take_name(reader, &reader->tensor.name, &n, GGML_MAX_NAME - 1, "the tensor's name")) {
        return false;
    }
    gguf_set_where(reader, "tensor", i, reader->tensor.name, n);
    if (!read_shape(reader) || !read_type(reader) || !read_offset(reader)) {
        return false;
    }
    if (ctx->n_tensors >= ctx->tensor_capacity) {
        const size_t         need  = gguf_list_room(reader, ctx->n_tensors, reader->n_tensors);
        struct gguf_tensor * items = gguf_grow(ctx->tensors, &ctx->tensor_capacity, need, sizeof(*items));
        if (items == NULL) {
            return gguf_no_memory(reader, need * sizeof(*items));
        }
        ctx->tensors = items;
    }
    ctx->tensors[ctx->n_tensors++] = reader->tensor;
    memset(&reader->tensor, 0, sizeof(reader->tensor));
    return true;
}

static bool index_tensors(struct gguf_reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    ctx->names.entries        = gguf_grow(NULL, &ctx->names.capacity, ctx->n_tensors, sizeof(*ctx->names.entries));
    if (ctx->names.entries == NULL) {
        return gguf_no_memory(reader, ctx->n_tensors * sizeof(*ctx->names.entries));
    }
    for (size_t i = 0; i < ctx->n_tensors; i++) {
        ctx->names.entries[i] = (struct gguf_name){ctx->tensors[i].name, i};
    }
    ctx->names.n       = ctx->n_tensors;
    const size_t twice = gguf_names_sort(&ctx->names);
    if (twice != GGUF_NO_ID) {
        gguf_set_where(reader, "tensor", twice, ctx->tensors[twice].name, strlen(ctx->tensors[twice].name));
        return gguf_refuse(reader, "duplicate tensor name");
    }
    return true;
}

bool gguf_read_tensors(struct gguf_reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    for (uint64_t i = 0; i < reader->n_tensors; i++) {
        if (!read_tensor(reader, i)) {
            return false;
        }
    }
    if (!index_tensors(reader)) {
        return false;
    }
    gguf_remove_key(ctx, GGUF_KEY_TYPE_NAMES); /* has done its work */
    reader->where[0]       = 0;
    const uint64_t used    = reader->source.position - reader->source.start;
    const uint64_t padding = -used & (ctx->alignment - 1);
    const uint64_t left    = reader->source.left;
    const uint64_t begin   = reader->source.position + (ctx->n_tensors > 0 ? padding : 0);
    if (begin > SIZE_MAX) {
        return gguf_refuse(reader, "the data section lies beyond what this machine can address");
    }
    ctx->data_offset = (size_t) begin;
    /* Without any data (tensors with an extent of 0) the padding may be missing. */
    return ctx->data_size == 0 || gguf_source_skip(&reader->source, padding) ||
           gguf_too_short(reader, padding, left, "the padding before the tensor data");
}
