/* SPDX-License-Identifier: MIT
 *
 * The table of formats against the interface's facts, and queries with any number for a type.
 */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "ggml.h"
#include "graft-module.h"
#include "harness.h"
#include "type/type.h"

struct fact {
    int            id;
    const char *   name;
    int64_t        block_size;
    size_t         type_size;
    bool           is_quantized, needs_imatrix;
    int            ftype;
    bool           to_float, from_float_ref, quantize_chunk;
    enum ggml_type dot_type;
};

static const struct fact facts[] = {
#define TYPE_FACT(...) {__VA_ARGS__},
#define TYPE_REMOVED(id)
#include "types.inc"
#undef TYPE_FACT
#undef TYPE_REMOVED
};

static const int removed[] = {
#define TYPE_FACT(...)
#define TYPE_REMOVED(id) id,
#include "types.inc"
#undef TYPE_FACT
#undef TYPE_REMOVED
};

#define N_FACTS (sizeof(facts) / sizeof(facts[0]))
#define N_REMOVED (sizeof(removed) / sizeof(removed[0]))

TEST(rows_match_the_interface) {
    for (size_t i = 0; i < N_FACTS; i++) {
        const struct fact *             f      = &facts[i];
        const enum ggml_type            type   = (enum ggml_type) f->id;
        const struct type_row *         row    = type_row_get(type);
        const struct ggml_type_traits * traits = ggml_get_type_traits(type);
        REQUIRE(row != NULL && traits == &row->traits);
        CHECK(row->id == type && type_row_at(i) == row && type_row_by_name(f->name) == row);
        CHECK_MSG(strcmp(ggml_type_name(type), f->name) == 0, "%s is called %s", f->name, ggml_type_name(type));
        CHECK_MSG(ggml_blck_size(type) == f->block_size && ggml_type_size(type) == f->type_size, "%s: sizes", f->name);
        CHECK_MSG(ggml_is_quantized(type) == f->is_quantized, "%s: is_quantized", f->name);
        CHECK_MSG(ggml_quantize_requires_imatrix(type) == f->needs_imatrix, "%s: needs_imatrix", f->name);
        CHECK_MSG((traits->to_float != NULL) == f->to_float, "%s: to_float", f->name);
        CHECK_MSG((traits->from_float_ref != NULL) == f->from_float_ref, "%s: from_float_ref", f->name);
        CHECK_MSG((row->quantize != NULL) == f->quantize_chunk, "%s: quantize", f->name);
        CHECK_MSG(row->dot_type == f->dot_type || (!f->is_quantized && f->quantize_chunk == 0), "%s: dot_type",
                  f->name);
        CHECK(traits->blck_size_interleave == 0);
        CHECK_MSG(graft_type_decoder(type) == row->decode && row->decode != NULL, "%s: decoder", f->name);
        CHECK(graft_type_encoder(type) == row->encode);
        CHECK(f->ftype < 0 || ggml_ftype_to_ggml_type((enum ggml_ftype) f->ftype) == type);
        CHECK(ggml_row_size(type, 3 * f->block_size) == 3 * f->type_size);
        harness_count_run(1);
    }
    CHECK(type_row_count() >= N_FACTS);
}

static void check_nothing(enum ggml_type type) {
    const struct ggml_type_traits * traits = ggml_get_type_traits(type);
    size_t                          bytes  = 5;
    float                           value  = 1.0f;
    REQUIRE(traits != NULL && ggml_type_name(type) != NULL);
    CHECK(ggml_type_name(type)[0] != 0 && traits->to_float == NULL && traits->from_float_ref == NULL);
    CHECK(type_row_by_name(ggml_type_name(type)) == NULL);
    CHECK(type_row_get(type) == NULL && ggml_blck_size(type) == 0 && ggml_type_size(type) == 0);
    CHECK(ggml_row_size(type, 64) == 0 && !ggml_is_quantized(type) && !ggml_quantize_requires_imatrix(type));
    CHECK(graft_type_decoder(type) == NULL && graft_type_encoder(type) == NULL);
    CHECK(!type_row_bytes(type, 0, &bytes) && bytes == 5);
    CHECK(!ggml_validate_row_data(type, &value, sizeof(value)));
    CHECK(ggml_quantize_chunk(type, &value, &bytes, 0, 1, 1, NULL) == 0 && bytes == 5);
    ggml_quantize_init(type);
}

TEST(removed_and_unknown_ids) {
    static const int unknown[] = {-1, -2, INT_MIN, GGML_TYPE_COUNT, GGML_TYPE_COUNT + 1, 100, 1023, 1000000, INT_MAX};
    for (size_t i = 0; i < N_REMOVED; i++) {
        check_nothing((enum ggml_type) removed[i]);
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        check_nothing((enum ggml_type) unknown[i]);
    }
    CHECK(N_REMOVED + N_FACTS == GGML_TYPE_COUNT);
    CHECK(type_row_by_name("") == NULL && type_row_by_name(NULL) == NULL && type_row_by_name("Q4_0") == NULL);
}

/* A file type number that no one knows is an answer, not an abort. */
TEST(ftype_mapping) {
    static const int none[] = {-1, -2, 4, 5, 6, 29, 99, 1024, INT_MAX, INT_MIN};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        CHECK_MSG(ggml_ftype_to_ggml_type((enum ggml_ftype) none[i]) == GGML_TYPE_COUNT, "ftype %d", none[i]);
    }
    for (int ftype = 0; ftype < 64; ftype++) {
        const enum ggml_type type   = ggml_ftype_to_ggml_type((enum ggml_ftype) ftype);
        bool                 listed = type == GGML_TYPE_COUNT;
        for (size_t i = 0; i < N_FACTS; i++) {
            listed = listed || (facts[i].ftype == ftype && facts[i].id == (int) type);
        }
        CHECK_MSG(listed, "ftype %d", ftype);
    }
}

TEST(sizes_are_checked) {
    size_t bytes = 5;
    CHECK(type_row_bytes(GGML_TYPE_Q4_0, 64, &bytes) && bytes == 36);
    CHECK(type_row_bytes(GGML_TYPE_F32, 0, &bytes) && bytes == 0);
    bytes = 5;
    CHECK(!type_row_bytes(GGML_TYPE_Q4_0, 33, &bytes) && !type_row_bytes(GGML_TYPE_F32, -1, &bytes));
    CHECK(!type_row_bytes(GGML_TYPE_F64, INT64_MAX, &bytes) && bytes == 5);
    CHECK(ggml_row_size(GGML_TYPE_F64, INT64_MAX) == SIZE_MAX && ggml_row_size(GGML_TYPE_F32, -4) == SIZE_MAX);
    CHECK(ggml_row_size(GGML_TYPE_F32, (int64_t) 1 << 33) == (size_t) 1 << 35);
    CHECK(ggml_row_size(GGML_TYPE_Q4_0, 16) == 9 && ggml_row_size(GGML_TYPE_Q4_0, 48) == 27);
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
        CHECK(ggml_type_sizef(GGML_TYPE_Q4_0) == 18.0 / 32.0 && ggml_type_sizef((enum ggml_type) 4) == 0.0);
    _Pragma("GCC diagnostic pop")
}

TEST(chunk_refuses) {
    float         x[256] = {0};
    unsigned char y[1024];
    memset(y, 0x5A, sizeof(y));
    CHECK(ggml_quantize_chunk(GGML_TYPE_Q4_0, x, y, 0, 1, 33, NULL) == 0);  /* no whole block */
    CHECK(ggml_quantize_chunk(GGML_TYPE_Q4_0, x, y, 16, 1, 32, NULL) == 0); /* within a row */
    CHECK(ggml_quantize_chunk(GGML_TYPE_Q4_0, x, y, -32, 1, 32, NULL) == 0);
    CHECK(ggml_quantize_chunk(GGML_TYPE_Q4_0, x, y, 0, -1, 32, NULL) == 0);
    CHECK(ggml_quantize_chunk(GGML_TYPE_Q4_0, x, y, 0, INT64_MAX / 16, 32, NULL) == 0);
    CHECK(ggml_quantize_chunk(GGML_TYPE_IQ2_XXS, x, y, 0, 1, 256, NULL) == 0); /* needs importance */
    for (size_t i = 0; i < sizeof(y); i++) {
        CHECK(y[i] == 0x5A);
    }
}

/* Integers: cut off, saturated, NaN is 0. */
TEST(plain_numbers) {
    const float x[6] = {1.9f, -1.9f, 1e30f, -1e30f, 0.0f / 1.0f, 100.0f};
    int8_t      b[6];
    int16_t     s[6];
    int32_t     i[6];
    int64_t     l[6];
    double      d[6];
    float       back[6];
    type_row_get(GGML_TYPE_I8)->encode(x, b, 6);
    type_row_get(GGML_TYPE_I16)->encode(x, s, 6);
    type_row_get(GGML_TYPE_I32)->encode(x, i, 6);
    type_row_get(GGML_TYPE_I64)->encode(x, l, 6);
    type_row_get(GGML_TYPE_F64)->encode(x, d, 6);
    CHECK(b[0] == 1 && b[1] == -1 && b[2] == INT8_MAX && b[3] == INT8_MIN && b[5] == 100);
    CHECK(s[2] == INT16_MAX && s[3] == INT16_MIN && i[2] == INT32_MAX && i[3] == INT32_MIN);
    CHECK(l[2] == INT64_MAX && l[3] == INT64_MIN && l[4] == 0 && d[2] == (double) 1e30f);
    type_row_get(GGML_TYPE_I16)->decode(s, back, 6);
    CHECK(back[0] == 1.0f && back[3] == -32768.0f && back[5] == 100.0f);
    type_row_get(GGML_TYPE_F64)->decode(d, back, 6);
    CHECK(memcmp(back, x, sizeof(x)) == 0);
}
