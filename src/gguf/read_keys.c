/* SPDX-License-Identifier: MIT
 *
 * The keys of a file with their values.
 */
#include "gguf/reader.h"

#include <stdlib.h>
#include <string.h>

static bool read_numbers(struct gguf_reader * reader, uint64_t n) {
    struct gguf_kv * kv       = &reader->kv;
    const size_t     size     = gguf_value_size(kv->type);
    size_t           capacity = 0;
    if (n > reader->source.left / size) {
        return gguf_refuse(reader, "%llu elements of type %s are declared, but %llu bytes are left",
                           (unsigned long long) n, gguf_type_name(kv->type), (unsigned long long) reader->source.left);
    }
    if (!gguf_take_block(reader, &kv->data, &capacity, 0, n * size, 0, "the value")) {
        return false;
    }
    kv->n     = (size_t) n;
    kv->bytes = kv->n * size;
    if (kv->type == GGUF_TYPE_BOOL) { /* any value but 0 is true; programs read these bytes as bool */
        for (size_t i = 0; i < kv->n; i++) {
            ((uint8_t *) kv->data)[i] = ((uint8_t *) kv->data)[i] != 0;
        }
    }
    if (reader->source.swapped) {
        gguf_swap_elements(kv->data, kv->n, size);
    }
    return true;
}

static bool read_strings(struct gguf_reader * reader, uint64_t n) {
    struct gguf_kv * kv       = &reader->kv;
    size_t           capacity = 0, places = 0;
    if (n > reader->source.left / 8) { /* each has its length */
        return gguf_refuse(reader, "%llu strings are declared, but %llu bytes are left", (unsigned long long) n,
                           (unsigned long long) reader->source.left);
    }
    for (uint64_t i = 0; i <= n; i++) {
        if (i >= places) {
            const size_t need =
                reader->source.exact || n < GGUF_FIRST_BLOCK + i ? (size_t) n + 1 : (size_t) i + GGUF_FIRST_BLOCK;
            size_t * grown = gguf_grow(kv->starts, &places, need, sizeof(*grown));
            if (grown == NULL) {
                return gguf_no_memory(reader, need * sizeof(*grown));
            }
            kv->starts = grown;
        }
        kv->starts[i] = kv->bytes;
        uint64_t length;
        if (i == n) {
            break;
        }
        if (!gguf_take_u64(reader, &length, "the length of a string") ||
            !gguf_take_block(reader, &kv->data, &capacity, kv->bytes, length, 1, "a string")) {
            return false;
        }
        kv->bytes += (size_t) length;
        ((char *) kv->data)[kv->bytes++] = 0;
    }
    kv->n = (size_t) n;
    return true;
}

/* Room that the strings did not need goes back. */
static void shrink(struct gguf_kv * kv) {
    void * data = realloc(kv->data, kv->bytes > 0 ? kv->bytes : 1);
    if (data != NULL) {
        kv->data = data;
    }
}

static bool read_value(struct gguf_reader * reader) {
    struct gguf_kv * kv = &reader->kv;
    uint64_t         n  = 1;
    uint32_t         type;
    if (!gguf_take_u32(reader, &type, "the type")) {
        return false;
    }
    kv->is_array = type == GGUF_TYPE_ARRAY;
    if (kv->is_array && (!gguf_take_u32(reader, &type, "the type of the elements") ||
                         !gguf_take_u64(reader, &n, "the number of elements"))) {
        return false;
    }
    if (type >= GGUF_TYPE_COUNT) {
        return gguf_refuse(reader, "%s %u is unknown", kv->is_array ? "the type of the elements" : "the type",
                           (unsigned) type);
    }
    if (type == GGUF_TYPE_ARRAY) {
        return gguf_refuse(reader, "arrays of arrays are not supported");
    }
    kv->type = (enum gguf_type) type;
    if (kv->type != GGUF_TYPE_STRING) {
        return read_numbers(reader, n);
    }
    if (!read_strings(reader, n)) {
        return false;
    }
    shrink(kv);
    return true;
}

static bool read_kv(struct gguf_reader * reader, uint64_t i) {
    struct gguf_context * ctx = reader->ctx;
    size_t                n   = 0;
    gguf_set_where(reader, "key", i, NULL, 0);
    if (!gguf_take_name(reader, &reader->kv.key, &n, SIZE_MAX / 2, "the key's name")) {
        return false;
    }
    if (n == 0) {
        return gguf_refuse(reader, "the key's name is empty");
    }
    gguf_set_where(reader, "key", i, reader->kv.key, n);
    if (!read_value(reader)) {
        return false;
    }
    if (ctx->n_kv >= ctx->kv_capacity) {
        const size_t     need  = gguf_list_room(reader, ctx->n_kv, reader->n_kv);
        struct gguf_kv * items = gguf_grow(ctx->kv, &ctx->kv_capacity, need, sizeof(*items));
        if (items == NULL) {
            return gguf_no_memory(reader, need * sizeof(*items));
        }
        ctx->kv = items;
    }
    ctx->kv[ctx->n_kv++] = reader->kv;
    memset(&reader->kv, 0, sizeof(reader->kv));
    return true;
}

static bool index_keys(struct gguf_reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    ctx->keys.entries         = gguf_grow(NULL, &ctx->keys.capacity, ctx->n_kv, sizeof(*ctx->keys.entries));
    if (ctx->keys.entries == NULL) {
        return gguf_no_memory(reader, ctx->n_kv * sizeof(*ctx->keys.entries));
    }
    for (size_t i = 0; i < ctx->n_kv; i++) {
        ctx->keys.entries[i] = (struct gguf_name){ctx->kv[i].key, i};
    }
    ctx->keys.n        = ctx->n_kv;
    const size_t twice = gguf_names_sort(&ctx->keys);
    if (twice != GGUF_NO_ID) {
        gguf_set_where(reader, "key", twice, ctx->kv[twice].key, strlen(ctx->kv[twice].key));
        return gguf_refuse(reader, "duplicate key");
    }
    return true;
}

static bool apply_alignment(struct gguf_reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    const int64_t         id  = gguf_find_key(ctx, GGUF_KEY_GENERAL_ALIGNMENT);
    if (id < 0) {
        return true;
    }
    const struct gguf_kv * kv = &ctx->kv[id];
    gguf_set_where(reader, "key", (uint64_t) id, kv->key, strlen(kv->key));
    if (kv->type != GGUF_TYPE_UINT32 || kv->is_array) {
        return gguf_refuse(reader, "the alignment must be of type u32, but it is %s%s",
                           kv->is_array ? "an array of " : "", gguf_type_name(kv->type));
    }
    const uint32_t alignment = gguf_get_val_u32(ctx, id);
    if (!gguf_alignment_fits(alignment)) {
        return gguf_refuse(reader, "the alignment must be a power of two up to 2^30, but it is %u",
                           (unsigned) alignment);
    }
    ctx->alignment = alignment;
    return true;
}

bool gguf_read_keys(struct gguf_reader * reader) {
    for (uint64_t i = 0; i < reader->n_kv; i++) {
        if (!read_kv(reader, i)) {
            return false;
        }
    }
    return index_keys(reader) && apply_alignment(reader);
}
