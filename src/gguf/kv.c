/* SPDX-License-Identifier: MIT
 *
 * Keys and values: the table of value types, and the getters of gguf.h. Asking for a value by the wrong type is a fault
 * of the program, not of the file: it ends the process with a text that says what the key holds.
 */
#include "gguf/context.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char * name;
    size_t       size; /* bytes of an element; 0: strings and arrays have no one size */
} value_types[GGUF_TYPE_COUNT] = {
    [GGUF_TYPE_UINT8] = {"u8", 1},    [GGUF_TYPE_INT8] = {"i8", 1},    [GGUF_TYPE_UINT16] = {"u16", 2},
    [GGUF_TYPE_INT16] = {"i16", 2},   [GGUF_TYPE_UINT32] = {"u32", 4}, [GGUF_TYPE_INT32] = {"i32", 4},
    [GGUF_TYPE_FLOAT32] = {"f32", 4}, [GGUF_TYPE_BOOL] = {"bool", 1},  [GGUF_TYPE_STRING] = {"str", 0},
    [GGUF_TYPE_ARRAY] = {"arr", 0},   [GGUF_TYPE_UINT64] = {"u64", 8}, [GGUF_TYPE_INT64] = {"i64", 8},
    [GGUF_TYPE_FLOAT64] = {"f64", 8},
};

const char * gguf_type_name(enum gguf_type type) {
    return (unsigned) type < GGUF_TYPE_COUNT ? value_types[type].name : NULL;
}

size_t gguf_value_size(enum gguf_type type) {
    return (unsigned) type < GGUF_TYPE_COUNT ? value_types[type].size : 0;
}

void gguf_kv_release(struct gguf_kv * kv) {
    free(kv->key);
    free(kv->data);
    free(kv->starts);
    memset(kv, 0, sizeof(*kv));
}

int64_t gguf_get_n_kv(const struct gguf_context * ctx) {
    return (int64_t) ctx->n_kv;
}

int64_t gguf_find_key(const struct gguf_context * ctx, const char * key) {
    const size_t id = gguf_names_find(&ctx->keys, key);
    return id == GGUF_NO_ID ? -1 : (int64_t) id;
}

static const struct gguf_kv * kv_at(const struct gguf_context * ctx, int64_t key_id, const char * function) {
    if (key_id < 0 || (uint64_t) key_id >= ctx->n_kv) {
        GGML_ABORT("%s: key id %lld, but there are %zu keys", function, (long long) key_id, ctx->n_kv);
    }
    return &ctx->kv[key_id];
}

const char * gguf_get_key(const struct gguf_context * ctx, int64_t key_id) {
    return kv_at(ctx, key_id, __func__)->key;
}

enum gguf_type gguf_get_kv_type(const struct gguf_context * ctx, int64_t key_id) {
    const struct gguf_kv * kv = kv_at(ctx, key_id, __func__);
    return kv->is_array ? GGUF_TYPE_ARRAY : kv->type;
}

enum gguf_type gguf_get_arr_type(const struct gguf_context * ctx, int64_t key_id) {
    const struct gguf_kv * kv = kv_at(ctx, key_id, __func__);
    if (!kv->is_array) {
        GGML_ABORT("%s: key '%s' holds one %s, not an array", __func__, kv->key, gguf_type_name(kv->type));
    }
    return kv->type;
}

/* A single value: an array of one counts as such. */
static const struct gguf_kv * single_at(const struct gguf_context * ctx, int64_t key_id, const char * function) {
    const struct gguf_kv * kv = kv_at(ctx, key_id, function);
    if (kv->n != 1) {
        GGML_ABORT("%s: key '%s' holds an array of %zu %s, not one value", function, kv->key, kv->n,
                   gguf_type_name(kv->type));
    }
    return kv;
}

static const void * value_of_type(const struct gguf_context * ctx, int64_t key_id, enum gguf_type type,
                                  const char * function) {
    const struct gguf_kv * kv = single_at(ctx, key_id, function);
    if (kv->type != type) {
        GGML_ABORT("%s: key '%s' is of type %s, not %s", function, kv->key, gguf_type_name(kv->type),
                   gguf_type_name(type));
    }
    return kv->data;
}

#define VALUE_GETTER(suffix, c_type, type)                                          \
    c_type gguf_get_val_##suffix(const struct gguf_context * ctx, int64_t key_id) { \
        c_type value;                                                               \
        memcpy(&value, value_of_type(ctx, key_id, type, __func__), sizeof(value));  \
        return value;                                                               \
    }

VALUE_GETTER(u8, uint8_t, GGUF_TYPE_UINT8)
VALUE_GETTER(i8, int8_t, GGUF_TYPE_INT8)
VALUE_GETTER(u16, uint16_t, GGUF_TYPE_UINT16)
VALUE_GETTER(i16, int16_t, GGUF_TYPE_INT16)
VALUE_GETTER(u32, uint32_t, GGUF_TYPE_UINT32)
VALUE_GETTER(i32, int32_t, GGUF_TYPE_INT32)
VALUE_GETTER(f32, float, GGUF_TYPE_FLOAT32)
VALUE_GETTER(u64, uint64_t, GGUF_TYPE_UINT64)
VALUE_GETTER(i64, int64_t, GGUF_TYPE_INT64)
VALUE_GETTER(f64, double, GGUF_TYPE_FLOAT64)

bool gguf_get_val_bool(const struct gguf_context * ctx, int64_t key_id) {
    return *(const uint8_t *) value_of_type(ctx, key_id, GGUF_TYPE_BOOL, __func__) != 0;
}

const char * gguf_get_val_str(const struct gguf_context * ctx, int64_t key_id) {
    return value_of_type(ctx, key_id, GGUF_TYPE_STRING, __func__);
}

static const void * bytes_of(const struct gguf_kv * kv, const char * function) {
    if (kv->type == GGUF_TYPE_STRING) {
        GGML_ABORT("%s: key '%s' holds strings, which have no elements of one size", function, kv->key);
    }
    return kv->data;
}

const void * gguf_get_val_data(const struct gguf_context * ctx, int64_t key_id) {
    return bytes_of(single_at(ctx, key_id, __func__), __func__);
}

const void * gguf_get_arr_data(const struct gguf_context * ctx, int64_t key_id) {
    return bytes_of(kv_at(ctx, key_id, __func__), __func__);
}

size_t gguf_get_arr_n(const struct gguf_context * ctx, int64_t key_id) {
    return kv_at(ctx, key_id, __func__)->n;
}

const char * gguf_get_arr_str(const struct gguf_context * ctx, int64_t key_id, size_t i) {
    const struct gguf_kv * kv = kv_at(ctx, key_id, __func__);
    if (kv->type != GGUF_TYPE_STRING) {
        GGML_ABORT("%s: key '%s' is of type %s, not str", __func__, kv->key, gguf_type_name(kv->type));
    }
    if (i >= kv->n) {
        GGML_ABORT("%s: string %zu of key '%s', which holds %zu", __func__, i, kv->key, kv->n);
    }
    return (const char *) kv->data + kv->starts[i];
}

uint32_t gguf_get_version(const struct gguf_context * ctx) {
    return ctx->version;
}

size_t gguf_get_alignment(const struct gguf_context * ctx) {
    return ctx->alignment;
}

size_t gguf_get_data_offset(const struct gguf_context * ctx) {
    return ctx->data_offset;
}
