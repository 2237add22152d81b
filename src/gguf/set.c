/* SPDX-License-Identifier: MIT
 *
 * Changes to the keys of a context. A key that is set anew moves to the end. New values are built before the old ones
 * are let go, so that a value may be set from the context's own strings.
 */
#include "gguf/context.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

static bool is_alignment_key(const char * key) {
    return strcmp(key, GGUF_KEY_GENERAL_ALIGNMENT) == 0;
}

/* The alignment follows its key, and the places of the tensors follow the alignment: a reader will compute them so. */
static void set_alignment(struct gguf_context * ctx, size_t alignment) {
    if (ctx->alignment != alignment) {
        ctx->alignment = alignment;
        gguf_place_tensors(ctx, 0);
    }
}

static void remove_at(struct gguf_context * ctx, size_t id) {
    struct gguf_kv * kv = &ctx->kv[id];
    gguf_names_remove(&ctx->keys, kv->key);
    gguf_kv_release(kv);
    ctx->n_kv--;
    memmove(kv, kv + 1, (ctx->n_kv - id) * sizeof(*kv));
}

int64_t gguf_remove_key(struct gguf_context * ctx, const char * key) {
    const size_t id = gguf_names_find(&ctx->keys, key);
    if (id == GGUF_NO_ID) {
        return -1;
    }
    const bool alignment = is_alignment_key(key); /* asked before: key may be the entry's own */
    remove_at(ctx, id);
    if (alignment) {
        set_alignment(ctx, GGUF_DEFAULT_ALIGNMENT);
    }
    return (int64_t) id;
}

/* What the program must keep to when it sets a key. */
static void check_key(const char * key, enum gguf_type type, bool is_array, const void * data, const char * function) {
    if (key == NULL || key[0] == 0) {
        GGML_ABORT("%s: the key is empty", function);
    }
    if (strcmp(key, GGUF_KEY_TYPE_NAMES) == 0) {
        GGML_ABORT("%s: key '%s' is reserved: it is made when a file is written", function, key);
    }
    if (!is_alignment_key(key)) {
        return;
    }
    if (type != GGUF_TYPE_UINT32 || is_array) {
        GGML_ABORT("%s: key '%s' must be one u32, not %s%s", function, key, is_array ? "an array of " : "a ",
                   gguf_type_name(type));
    }
    uint32_t alignment;
    memcpy(&alignment, data, sizeof(alignment));
    if (!gguf_alignment_fits(alignment)) {
        GGML_ABORT("%s: key '%s' must be a power of two up to 2^30, not %u", function, key, (unsigned) alignment);
    }
}

/* Puts the key with its new value at the end, in place of an older one. Takes over what kv owns. */
static void put(struct gguf_context * ctx, struct gguf_kv * kv, const char * function) {
    struct gguf_kv * items = gguf_grow(ctx->kv, &ctx->kv_capacity, ctx->n_kv + 1, sizeof(*items));
    if (items != NULL) {
        ctx->kv = items;
    }
    if (items == NULL || !gguf_names_reserve(&ctx->keys)) {
        gguf_fail_change(ctx, "%s: key '%.64s': out of memory", function, kv->key);
        gguf_kv_release(kv);
        return;
    }
    const size_t old = gguf_names_find(&ctx->keys, kv->key);
    if (old != GGUF_NO_ID) {
        remove_at(ctx, old);
    }
    ctx->kv[ctx->n_kv] = *kv;
    gguf_names_add(&ctx->keys, kv->key, ctx->n_kv);
    ctx->n_kv++;
    if (is_alignment_key(kv->key)) {
        uint32_t alignment;
        memcpy(&alignment, kv->data, sizeof(alignment));
        set_alignment(ctx, alignment);
    }
}

static void set_numbers(struct gguf_context * ctx, const char * key, enum gguf_type type, bool is_array,
                        const void * data, size_t n, const char * function) {
    check_key(key, type, is_array, data, function);
    struct gguf_kv kv = {.type = type, .is_array = is_array, .n = n};
    if (!base_size_mul(n, gguf_value_size(type), &kv.bytes)) {
        GGML_ABORT("%s: key '%s': %zu elements of type %s are more than there can be", function, key, n,
                   gguf_type_name(type));
    }
    kv.key  = gguf_copy_string(key);
    kv.data = malloc(kv.bytes > 0 ? kv.bytes : 1);
    if (kv.key == NULL || kv.data == NULL) {
        gguf_fail_change(ctx, "%s: key '%.64s': out of memory", function, key);
        gguf_kv_release(&kv);
        return;
    }
    if (kv.bytes > 0) {
        memcpy(kv.data, data, kv.bytes);
    }
    if (type == GGUF_TYPE_BOOL) {
        for (size_t i = 0; i < n; i++) {
            ((uint8_t *) kv.data)[i] = ((uint8_t *) kv.data)[i] != 0;
        }
    }
    put(ctx, &kv, function);
}

/* Strings by address and length: those of another context may contain zero bytes. */
struct text {
    const char * bytes;
    size_t       n;
};

static bool copy_strings(struct gguf_kv * kv, const struct text * strings) {
    size_t total = 0;
    for (size_t i = 0; i < kv->n; i++) {
        if (!base_size_add(total, strings[i].n + 1, &total)) {
            return false;
        }
    }
    size_t places;
    if (!base_size_add(kv->n, 1, &places) || !base_size_mul(places, sizeof(*kv->starts), &places)) {
        return false;
    }
    kv->starts = malloc(places);
    kv->data   = malloc(total > 0 ? total : 1);
    kv->bytes  = total;
    if (kv->starts == NULL || kv->data == NULL) {
        return false;
    }
    char * out = kv->data;
    for (size_t i = 0; i < kv->n; i++) {
        kv->starts[i] = (size_t) (out - (char *) kv->data);
        if (strings[i].n > 0) {
            memcpy(out, strings[i].bytes, strings[i].n);
        }
        out[strings[i].n] = 0;
        out += strings[i].n + 1;
    }
    kv->starts[kv->n] = total;
    return true;
}

static void set_strings(struct gguf_context * ctx, const char * key, bool is_array, const struct text * strings,
                        size_t n, const char * function) {
    check_key(key, GGUF_TYPE_STRING, is_array, NULL, function);
    struct gguf_kv kv = {.type = GGUF_TYPE_STRING, .is_array = is_array, .n = n, .key = gguf_copy_string(key)};
    if (kv.key == NULL || !copy_strings(&kv, strings)) {
        gguf_fail_change(ctx, "%s: key '%.64s': out of memory", function, key);
        gguf_kv_release(&kv);
        return;
    }
    put(ctx, &kv, function);
}

#define VALUE_SETTER(suffix, c_type, type)                                                \
    void gguf_set_val_##suffix(struct gguf_context * ctx, const char * key, c_type val) { \
        set_numbers(ctx, key, type, false, &val, 1, __func__);                            \
    }

VALUE_SETTER(u8, uint8_t, GGUF_TYPE_UINT8)
VALUE_SETTER(i8, int8_t, GGUF_TYPE_INT8)
VALUE_SETTER(u16, uint16_t, GGUF_TYPE_UINT16)
VALUE_SETTER(i16, int16_t, GGUF_TYPE_INT16)
VALUE_SETTER(u32, uint32_t, GGUF_TYPE_UINT32)
VALUE_SETTER(i32, int32_t, GGUF_TYPE_INT32)
VALUE_SETTER(f32, float, GGUF_TYPE_FLOAT32)
VALUE_SETTER(u64, uint64_t, GGUF_TYPE_UINT64)
VALUE_SETTER(i64, int64_t, GGUF_TYPE_INT64)
VALUE_SETTER(f64, double, GGUF_TYPE_FLOAT64)

void gguf_set_val_bool(struct gguf_context * ctx, const char * key, bool val) {
    const uint8_t byte = val;
    set_numbers(ctx, key, GGUF_TYPE_BOOL, false, &byte, 1, __func__);
}

void gguf_set_val_str(struct gguf_context * ctx, const char * key, const char * val) {
    if (val == NULL) {
        GGML_ABORT("%s: key '%s': the string is NULL", __func__, key == NULL ? "" : key);
    }
    const struct text string = {val, strlen(val)};
    set_strings(ctx, key, false, &string, 1, __func__);
}

void gguf_set_arr_data(struct gguf_context * ctx, const char * key, enum gguf_type type, const void * data, size_t n) {
    if (gguf_value_size(type) == 0) {
        const char * name = gguf_type_name(type);
        GGML_ABORT("%s: key '%s': elements of type %d (%s) have no size; strings are set by gguf_set_arr_str", __func__,
                   key == NULL ? "" : key, (int) type, name == NULL ? "unknown" : name);
    }
    set_numbers(ctx, key, type, true, data, n, __func__);
}

void gguf_set_arr_str(struct gguf_context * ctx, const char * key, const char ** data, size_t n) {
    struct text * strings = n < SIZE_MAX / sizeof(*strings) ? malloc((n > 0 ? n : 1) * sizeof(*strings)) : NULL;
    if (strings == NULL) {
        gguf_fail_change(ctx, "%s: key '%.64s': out of memory", __func__, key);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (data[i] == NULL) {
            GGML_ABORT("%s: key '%s': string %zu is NULL", __func__, key, i);
        }
        strings[i] = (struct text){data[i], strlen(data[i])};
    }
    set_strings(ctx, key, true, strings, n, __func__);
    free(strings);
}

static void copy_kv(struct gguf_context * ctx, const struct gguf_kv * kv) {
    static const char function[] = "gguf_set_kv";
    if (kv->type != GGUF_TYPE_STRING) {
        set_numbers(ctx, kv->key, kv->type, kv->is_array, kv->data, kv->n, function);
        return;
    }
    struct text * strings = malloc((kv->n > 0 ? kv->n : 1) * sizeof(*strings));
    if (strings == NULL) {
        gguf_fail_change(ctx, "%s: key '%.64s': out of memory", function, kv->key);
        return;
    }
    for (size_t i = 0; i < kv->n; i++) {
        strings[i] = (struct text){(const char *) kv->data + kv->starts[i], kv->starts[i + 1] - kv->starts[i] - 1};
    }
    set_strings(ctx, kv->key, kv->is_array, strings, kv->n, function);
    free(strings);
}

void gguf_set_kv(struct gguf_context * ctx, const struct gguf_context * src) {
    if (ctx == src) {
        return;
    }
    for (size_t i = 0; i < src->n_kv; i++) {
        copy_kv(ctx, &src->kv[i]);
    }
}
