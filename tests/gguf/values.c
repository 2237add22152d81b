/* SPDX-License-Identifier: MIT
 *
 * Keys and values: every type set, written, read back and copied to another context; order, replacement, removal.
 */
#include "harness.h"

#include "gguf.h"

#include <stdlib.h>
#include <string.h>

/* What is written is read: the context again, from its own bytes. */
static struct gguf_context * reread(const struct gguf_context * ctx) {
    const size_t size = gguf_get_meta_size(ctx);
    void *       data = malloc(size);
    if (data == NULL) {
        return NULL;
    }
    gguf_get_meta_data(ctx, data);
    struct gguf_context * again = gguf_init_from_buffer(data, size, (struct gguf_init_params){true, NULL});
    free(data);
    return again;
}

static const int16_t  shorts[]  = {-32768, -1, 0, 32767};
static const uint16_t ushorts[] = {0, 65535};
static const int8_t   chars[]   = {-128, 127};
static const uint8_t  bytes[]   = {0, 255, 1};
static const int32_t  ints[]    = {INT32_MIN, INT32_MAX};
static const uint32_t uints[]   = {UINT32_MAX};
static const int64_t  longs[]   = {INT64_MIN, INT64_MAX, 0};
static const uint64_t ulongs[]  = {UINT64_MAX, 1};
static const float    floats[]  = {1e-40f, -3.5f};
static const double   doubles[] = {1e-310, 2.5};
static const int8_t   bools[]   = {0, 1, 5};
static const char *   strings[] = {"", "one", "two words", "\xc3\xa4", "tab\there"};

static const struct {
    const char *   key;
    enum gguf_type type;
    const void *   data;
    size_t         n, size;
} arrays[] = {
    {"a.i16", GGUF_TYPE_INT16, shorts, 4, 2},   {"a.u16", GGUF_TYPE_UINT16, ushorts, 2, 2},
    {"a.i8", GGUF_TYPE_INT8, chars, 2, 1},      {"a.u8", GGUF_TYPE_UINT8, bytes, 3, 1},
    {"a.i32", GGUF_TYPE_INT32, ints, 2, 4},     {"a.u32", GGUF_TYPE_UINT32, uints, 1, 4},
    {"a.i64", GGUF_TYPE_INT64, longs, 3, 8},    {"a.u64", GGUF_TYPE_UINT64, ulongs, 2, 8},
    {"a.f32", GGUF_TYPE_FLOAT32, floats, 2, 4}, {"a.f64", GGUF_TYPE_FLOAT64, doubles, 2, 8},
    {"a.empty", GGUF_TYPE_FLOAT64, NULL, 0, 8},
};

static struct gguf_context * sample(void) {
    struct gguf_context * ctx = gguf_init_empty();
    gguf_set_val_u8(ctx, "u8", 200);
    gguf_set_val_i8(ctx, "i8", -100);
    gguf_set_val_u16(ctx, "u16", 60000);
    gguf_set_val_i16(ctx, "i16", -30000);
    gguf_set_val_u32(ctx, "u32", 4000000000u);
    gguf_set_val_i32(ctx, "i32", -2000000000);
    gguf_set_val_f32(ctx, "f32", 1e-40f);
    gguf_set_val_u64(ctx, "u64", UINT64_C(0x8000000000000005));
    gguf_set_val_i64(ctx, "i64", INT64_MIN);
    gguf_set_val_f64(ctx, "f64", -0.1);
    gguf_set_val_bool(ctx, "bool", true);
    gguf_set_val_bool(ctx, "no", false);
    gguf_set_val_str(ctx, "str", "text");
    gguf_set_val_str(ctx, "str.empty", "");
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        gguf_set_arr_data(ctx, arrays[i].key, arrays[i].type, arrays[i].data, arrays[i].n);
    }
    gguf_set_arr_data(ctx, "a.bool", GGUF_TYPE_BOOL, bools, 3);
    gguf_set_arr_str(ctx, "a.str", strings, 5);
    gguf_set_arr_str(ctx, "a.str.empty", strings, 0);
    return ctx;
}

#define SAME(suffix, key, value) CHECK(gguf_get_val_##suffix(ctx, gguf_find_key(ctx, key)) == (value))

static void check_sample(const struct gguf_context * ctx) {
    REQUIRE(ctx != NULL);
    CHECK(gguf_get_n_kv(ctx) == 28);
    SAME(u8, "u8", 200);
    SAME(i8, "i8", -100);
    SAME(u16, "u16", 60000);
    SAME(i16, "i16", -30000);
    SAME(u32, "u32", 4000000000u);
    SAME(i32, "i32", -2000000000);
    SAME(f32, "f32", 1e-40f);
    SAME(u64, "u64", UINT64_C(0x8000000000000005));
    SAME(i64, "i64", INT64_MIN);
    SAME(f64, "f64", -0.1);
    SAME(bool, "bool", true);
    SAME(bool, "no", false);
    CHECK(strcmp(gguf_get_val_str(ctx, gguf_find_key(ctx, "str")), "text") == 0);
    CHECK(strcmp(gguf_get_val_str(ctx, gguf_find_key(ctx, "str.empty")), "") == 0);
    CHECK(*(const uint16_t *) gguf_get_val_data(ctx, gguf_find_key(ctx, "u16")) == 60000);
    CHECK(gguf_get_kv_type(ctx, gguf_find_key(ctx, "u16")) == GGUF_TYPE_UINT16);
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        const int64_t id = gguf_find_key(ctx, arrays[i].key);
        CHECK_MSG(id >= 0, "%s", arrays[i].key);
        CHECK(gguf_get_kv_type(ctx, id) == GGUF_TYPE_ARRAY);
        CHECK(gguf_get_arr_type(ctx, id) == arrays[i].type);
        CHECK(gguf_get_arr_n(ctx, id) == arrays[i].n);
        CHECK_MSG(arrays[i].n == 0 ||
                      memcmp(gguf_get_arr_data(ctx, id), arrays[i].data, arrays[i].n * arrays[i].size) == 0,
                  "%s", arrays[i].key);
    }
    const int64_t b = gguf_find_key(ctx, "a.bool");
    CHECK(memcmp(gguf_get_arr_data(ctx, b), "\0\1\1", 3) == 0); /* whatever is not 0 is stored as 1 */
    const int64_t s = gguf_find_key(ctx, "a.str");
    CHECK(gguf_get_arr_type(ctx, s) == GGUF_TYPE_STRING && gguf_get_arr_n(ctx, s) == 5);
    for (size_t i = 0; i < 5; i++) {
        CHECK(strcmp(gguf_get_arr_str(ctx, s, i), strings[i]) == 0);
    }
    CHECK(gguf_get_arr_n(ctx, gguf_find_key(ctx, "a.str.empty")) == 0);
}

TEST(every_type_round_trip) {
    struct gguf_context * ctx   = sample();
    struct gguf_context * again = reread(ctx);
    struct gguf_context * copy  = gguf_init_empty();
    gguf_set_kv(copy, again);
    check_sample(ctx);
    check_sample(again);
    check_sample(copy);
    for (int64_t i = 0; i < gguf_get_n_kv(ctx); i++) {
        CHECK(strcmp(gguf_get_key(ctx, i), gguf_get_key(copy, i)) == 0);
        CHECK(gguf_find_key(ctx, gguf_get_key(ctx, i)) == i);
    }
    gguf_set_kv(copy, again); /* over itself: the same keys, once */
    check_sample(copy);
    gguf_set_kv(copy, copy);
    check_sample(copy);
    gguf_free(ctx);
    gguf_free(again);
    gguf_free(copy);
}

TEST(order_replacement_removal) {
    struct gguf_context * ctx = gguf_init_empty();
    gguf_set_val_u32(ctx, "a", 1);
    gguf_set_val_u32(ctx, "b", 2);
    gguf_set_val_u32(ctx, "c", 3);
    gguf_set_val_str(ctx, "a", "new"); /* goes to the end, with another type */
    CHECK(gguf_get_n_kv(ctx) == 3);
    CHECK(gguf_find_key(ctx, "a") == 2 && gguf_find_key(ctx, "b") == 0 && gguf_find_key(ctx, "c") == 1);
    CHECK(gguf_remove_key(ctx, "x") == -1);
    CHECK(gguf_remove_key(ctx, "b") == 0);
    CHECK(gguf_find_key(ctx, "b") == -1 && gguf_find_key(ctx, "c") == 0 && gguf_find_key(ctx, "a") == 1);
    CHECK(gguf_get_val_u32(ctx, 0) == 3);
    gguf_free(ctx);
}

TEST(set_from_the_context_itself) {
    struct gguf_context * ctx   = gguf_init_empty();
    const char *          two[] = {"x", "y"};
    gguf_set_val_str(ctx, "s", "value");
    gguf_set_val_str(ctx, gguf_get_key(ctx, 0), gguf_get_val_str(ctx, 0));
    CHECK(gguf_get_n_kv(ctx) == 1 && strcmp(gguf_get_val_str(ctx, 0), "value") == 0);
    gguf_set_arr_str(ctx, "t", two, 2);
    const char * swapped[] = {gguf_get_arr_str(ctx, 1, 1), gguf_get_arr_str(ctx, 1, 0)};
    gguf_set_arr_str(ctx, "t", swapped, 2);
    CHECK(strcmp(gguf_get_arr_str(ctx, 1, 0), "y") == 0 && strcmp(gguf_get_arr_str(ctx, 1, 1), "x") == 0);
    CHECK(gguf_remove_key(ctx, gguf_get_key(ctx, 0)) == 0);
    CHECK(gguf_get_n_kv(ctx) == 1);
    gguf_free(ctx);
}

/* An array of one counts as a value; a value counts as an array of one. */
TEST(one_is_one) {
    struct gguf_context * ctx = gguf_init_empty();
    const float           x   = 2.5f;
    gguf_set_arr_data(ctx, "array", GGUF_TYPE_FLOAT32, &x, 1);
    gguf_set_val_str(ctx, "value", "text");
    CHECK(gguf_get_val_f32(ctx, 0) == 2.5f);
    CHECK(gguf_get_arr_n(ctx, 1) == 1 && strcmp(gguf_get_arr_str(ctx, 1, 0), "text") == 0);
    gguf_free(ctx);
}

TEST(many_keys) {
    struct gguf_context * ctx = gguf_init_empty();
    const int             n   = 20000;
    char                  key[32];
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "key.%d", (i * 7919) % n);
        gguf_set_val_i32(ctx, key, i);
    }
    struct gguf_context * again = reread(ctx);
    REQUIRE(again != NULL);
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "key.%d", (i * 7919) % n);
        CHECK(gguf_find_key(again, key) == i);
    }
    gguf_free(ctx);
    gguf_free(again);
}

TEST(type_names) {
    static const char * const names[] = {"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                         "bool", "str", "arr", "u64", "i64", "f64"};
    for (int i = 0; i < GGUF_TYPE_COUNT; i++) {
        CHECK(strcmp(gguf_type_name((enum gguf_type) i), names[i]) == 0);
    }
    CHECK(gguf_type_name(GGUF_TYPE_COUNT) == NULL);
    CHECK(gguf_type_name((enum gguf_type) - 1) == NULL);
}

TEST(empty_context) {
    struct gguf_context * ctx   = gguf_init_empty();
    struct gguf_context * again = reread(ctx);
    REQUIRE(again != NULL);
    CHECK(gguf_get_version(ctx) == 3 && gguf_get_version(again) == 3);
    CHECK(gguf_get_alignment(again) == 32);
    CHECK(gguf_get_data_offset(ctx) == 0 && gguf_get_data_offset(again) == 24);
    CHECK(gguf_get_meta_size(ctx) == 32);
    CHECK(gguf_find_key(again, "x") == -1 && gguf_find_tensor(again, "x") == -1);
    gguf_free(ctx);
    gguf_free(again);
    gguf_free(NULL);
}
