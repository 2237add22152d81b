/* SPDX-License-Identifier: MIT
 *
 * Blocks on which scale searches divide by zero, overflow or lose all digits: every encoder gives finite numbers near
 * the input, with and without importance, also next to ordinary blocks.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-quants.h"
#include "harness.h"
#include "inputs.h"
#include "type/type.h"

#define N 512 /* a multiple of every block */

enum degenerate {
    ALL_ZERO,
    NEGATIVE_ZERO,
    SUBNORMAL,
    LEAST_SUBNORMAL,
    LEAST_NORMAL,
    BELOW_NORMAL,
    CONSTANT,
    NEGATIVE_CONSTANT,
    CONSTANT_TINY,
    ONE_OUTLIER,
    OUTLIER_IN_SUBNORMALS,
    OUTLIER_HUGE,
    ALTERNATING,
    HUGE_CONSTANT,
    HUGE_MIXED,
    GREATEST,
    ONE_GROUP,
    TWO_LEVELS,
    NOT_A_NUMBER,
    INFINITE,
    N_DEGENERATE,
};

static const char * const names[N_DEGENERATE] = {
    "zeros",
    "negative zeros",
    "1e-38",
    "least subnormal",
    "FLT_MIN",
    "below FLT_MIN",
    "ones",
    "minus ones",
    "1e-12",
    "one outlier",
    "1 among 1e-38",
    "1e30 among ones",
    "alternating",
    "1e30",
    "1e30 and noise",
    "FLT_MAX",
    "one group of 16 only",
    "two levels",
    "NaN among ones",
    "Inf among ones",
};

static float element(enum degenerate kind, int i) {
    switch (kind) {
        case NEGATIVE_ZERO:
            return -0.0f;
        case SUBNORMAL:
            return 1e-38f;
        case LEAST_SUBNORMAL:
            return i % 2 ? 1e-45f : -1e-45f;
        case LEAST_NORMAL:
            return FLT_MIN;
        case BELOW_NORMAL:
            return i % 3 ? FLT_MIN / 3 : -FLT_MIN / 5;
        case CONSTANT:
            return 1.0f;
        case NEGATIVE_CONSTANT:
            return -1.0f;
        case CONSTANT_TINY:
            return 1e-12f;
        case ONE_OUTLIER:
            return i == 37 ? -1.0f : 0.0f;
        case OUTLIER_IN_SUBNORMALS:
            return i == 100 ? 1.0f : 1e-38f;
        case OUTLIER_HUGE:
            return i == 200 ? 1e30f : 1.0f;
        case ALTERNATING:
            return i % 2 ? 1.0f : -1.0f;
        case HUGE_CONSTANT:
            return 1e30f;
        case HUGE_MIXED:
            return (i % 5 ? 1e30f : 1.0f) * (i % 3 ? 1.0f : -1.0f);
        case GREATEST:
            return i % 2 ? FLT_MAX : -FLT_MAX;
        case ONE_GROUP:
            return i / 16 == 3 ? 0.25f * (float) (i % 5 - 2) : 0.0f;
        case TWO_LEVELS:
            return i % 7 ? 0.5f : 0.5000001f;
        case NOT_A_NUMBER:
            return i == 11 ? NAN : 1.0f;
        case INFINITE:
            return i == 12 ? -INFINITY : 1.0f;
        default:
            return 0.0f;
    }
}

static float         x[N], decoded[N], w[N];
static unsigned char y[N * 8];

/* A format may keep a fraction of the greatest magnitude only, the coarsest all of it; where the input is larger than
 * the format holds, it must be finite. */
static void check_decoded(const struct type_row * row, enum degenerate kind, const char * how) {
    float greatest = 0.0f;
    for (int i = 0; i < N; i++) {
        greatest = fabsf(x[i]) > greatest ? fabsf(x[i]) : greatest;
    }
    row->decode(y, decoded, N);
    for (int i = 0; i < N; i++) {
        if (!isfinite(decoded[i])) {
            harness_failed(__FILE__, __LINE__, "%s, %s, %s: value %d is not finite", row->traits.type_name, names[kind],
                           how, i);
            return;
        }
        if (greatest <= 1.0f && kind != NOT_A_NUMBER && fabsf(decoded[i] - x[i]) > 1.5f * greatest + 1e-6f) {
            harness_failed(__FILE__, __LINE__, "%s, %s, %s: value %d is %g, was %g", row->traits.type_name, names[kind],
                           how, i, (double) decoded[i], (double) x[i]);
            return;
        }
    }
}

static void check_type(const struct type_row * row, enum degenerate kind) {
    size_t bytes = 0;
    CHECK(type_row_bytes(row->id, N, &bytes));
    if (row->encode != NULL) {
        memset(y, 0xAA, bytes);
        row->encode(x, y, N);
        CHECK_MSG(ggml_validate_row_data(row->id, y, bytes), "%s, %s: reference encoder: invalid",
                  row->traits.type_name, names[kind]);
        check_decoded(row, kind, "reference");
    }
    for (int importance = row->needs_imatrix ? 1 : 0; importance < 4 && row->quantize != NULL; importance++) {
        static const char * const how[] = {"no importance", "importance", "importance 0", "importance 1e30"};
        for (int i = 0; i < N; i++) {
            w[i] = importance == 1 ? 0.1f + (float) (i % 13) : importance == 2 ? 0.0f : 1e30f;
        }
        memset(y, 0xAA, bytes);
        CHECK(ggml_quantize_chunk(row->id, x, y, 0, 1, N, importance > 0 ? w : NULL) == bytes);
        CHECK_MSG(ggml_validate_row_data(row->id, y, bytes), "%s, %s, %s: invalid", row->traits.type_name, names[kind],
                  how[importance]);
        check_decoded(row, kind, how[importance]);
    }
}

TEST(finite_blocks) {
    for (int kind = 0; kind < N_DEGENERATE; kind++) {
        for (int i = 0; i < N; i++) {
            x[i] = element((enum degenerate) kind, i);
        }
        for (size_t t = 0; t < type_row_count(); t++) {
            const struct type_row * row = type_row_at(t);
            if (!row->traits.is_quantized) {
                continue;
            }
            if (row->encode == NULL && row->quantize == NULL) {
                harness_count_skipped("format without encoder", 1);
                continue;
            }
            check_type(row, (enum degenerate) kind);
            harness_count_run(1);
        }
    }
}

/* A degenerate block leaves its neighbours as they are without it. */
TEST(neighbours_untouched) {
    for (size_t t = 0; t < type_row_count(); t++) {
        const struct type_row * row = type_row_at(t);
        static unsigned char    alone[N * 8];
        size_t                  half = 0, bytes = 0;
        if (row->encode == NULL || !type_row_bytes(row->id, N / 2, &half) || !type_row_bytes(row->id, N, &bytes)) {
            continue;
        }
        input_fill(INPUT_NOISE, 3, x, N);
        memset(alone, 0, bytes);
        memset(y, 0, bytes);
        row->encode(x + N / 2, alone, N / 2);
        for (int i = 0; i < N / 2; i++) {
            x[i] = element(HUGE_MIXED, i);
        }
        row->encode(x, y, N);
        CHECK_MSG(memcmp(alone, y + half, half) == 0, "%s: block after a degenerate one differs",
                  row->traits.type_name);
        harness_count_run(1);
    }
}

TEST(zero_length) {
    unsigned char guard[8];
    memset(guard, 0x5A, sizeof(guard));
    for (size_t t = 0; t < type_row_count(); t++) {
        const struct type_row * row = type_row_at(t);
        float                   one = 7.0f;
        if (row->encode != NULL) {
            row->encode(&one, guard, 0);
        }
        if (row->decode != NULL) {
            row->decode(guard, &one, 0);
        }
        if (row->quantize != NULL) {
            CHECK(row->quantize(&one, guard, 0, row->traits.blck_size, &one) == 0);
            CHECK(row->quantize(&one, guard, 3, 0, &one) == 0);
        }
        CHECK(ggml_quantize_chunk(row->id, &one, guard, 0, 4, 0, &one) == 0);
        CHECK(ggml_validate_row_data(row->id, guard, 0));
        CHECK_MSG(one == 7.0f && guard[0] == 0x5A, "%s wrote although there was nothing to do", row->traits.type_name);
    }
}

TEST(invalid_scales_are_found) {
    for (size_t t = 0; t < type_row_count(); t++) {
        const struct type_row * row   = type_row_at(t);
        size_t                  bytes = 0;
        if (row->validate == NULL) {
            continue;
        }
        CHECK(type_row_bytes(row->id, N, &bytes));
        memset(y, 0, bytes);
        CHECK(row->validate(y, bytes));
        memset(y, 0xFF, bytes);
        CHECK_MSG(!row->validate(y, bytes), "%s: NaN scales pass", row->traits.type_name);
        memset(y, 0, bytes);
        memset(y + bytes - row->traits.type_size, 0xFF, row->traits.type_size);
        CHECK_MSG(!row->validate(y, bytes), "%s: a NaN scale in the last block passes", row->traits.type_name);
        CHECK(!ggml_validate_row_data(row->id, y, bytes));
        if (row->traits.type_size > 1) {
            CHECK(!ggml_validate_row_data(row->id, y, row->traits.type_size - 1));
        }
        harness_count_run(1);
    }
}
