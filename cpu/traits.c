/* SPDX-License-Identifier: MIT
 *
 * The CPU's view of number formats for clients that call dot products and conversions row by row (tests, tools). The
 * backend's own products do not come through here: they pick kernels by shape.
 */
#include <stdlib.h>

#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-impl.h"
#include "graft-module.h"

#define CHUNK 1024 /* values decoded at a time: a multiple of every block */

/* Sum of products of two rows of any formats, in double so that the order does not matter. */
static void dot_any(enum ggml_type tx, enum ggml_type ty, int n, float * s, const void * x, const void * y) {
    float                 a[CHUNK], b[CHUNK];
    const ggml_to_float_t dx    = graft_type_decoder(tx);
    const ggml_to_float_t dy    = graft_type_decoder(ty);
    double                total = 0;
    for (int i = 0; i < n; i += CHUNK) {
        const int m = MIN(CHUNK, n - i);
        dx((const char *) x + ggml_row_size(tx, i), a, m);
        dy((const char *) y + ggml_row_size(ty, i), b, m);
        for (int j = 0; j < m; j++) {
            total += (double) a[j] * (double) b[j];
        }
    }
    *s = (float) total;
}

/* The activation format of a dot product with each weight format (column cpu_vec_dot_type of the interface). */
#define DOT_TYPES(DOT)                                                                                                 \
    DOT(F32, F32) DOT(F16, F16) DOT(Q4_0, Q8_0) DOT(Q4_1, Q8_1) DOT(Q5_0, Q8_0) DOT(Q5_1, Q8_1) DOT(Q8_0, Q8_0)        \
    DOT(Q2_K, Q8_K) DOT(Q3_K, Q8_K) DOT(Q4_K, Q8_K) DOT(Q5_K, Q8_K) DOT(Q6_K, Q8_K) DOT(IQ2_XXS, Q8_K)                 \
    DOT(IQ2_XS, Q8_K) DOT(IQ3_XXS, Q8_K) DOT(IQ1_S, Q8_K) DOT(IQ4_NL, Q8_0) DOT(IQ3_S, Q8_K) DOT(IQ2_S, Q8_K)          \
    DOT(IQ4_XS, Q8_K) DOT(IQ1_M, Q8_K) DOT(BF16, BF16) DOT(TQ1_0, Q8_K) DOT(TQ2_0, Q8_K) DOT(MXFP4, Q8_0)              \
    DOT(NVFP4, Q8_0) DOT(Q1_0, Q8_0) DOT(Q2_0, Q8_0)

/* One row, as nrows says: nrc > 1 is not asked for. */
#define DOT(x_type, y_type)                                                                                            \
    static void dot_##x_type(int n, float * GGML_RESTRICT s, size_t bs, const void * GGML_RESTRICT x, size_t bx,       \
                             const void * GGML_RESTRICT y, size_t by, int nrc) {                                       \
        (void) bs;                                                                                                     \
        (void) bx;                                                                                                     \
        (void) by;                                                                                                     \
        (void) nrc;                                                                                                    \
        dot_any(GGML_TYPE_##x_type, GGML_TYPE_##y_type, n, s, x, y);                                                   \
    }
DOT_TYPES(DOT)
#undef DOT

static struct ggml_type_traits_cpu traits[GGML_TYPE_COUNT] = {
#define DOT(x_type, y_type) [GGML_TYPE_##x_type] = { NULL, dot_##x_type, GGML_TYPE_##y_type, 1 },
    DOT_TYPES(DOT)
#undef DOT
};

/* Formats that have no fast encoder by this interface although they have an encoder. */
static bool shows_encoder(int type) {
    switch (type) {
        case GGML_TYPE_IQ2_XXS:
        case GGML_TYPE_IQ2_XS:
        case GGML_TYPE_IQ3_XXS:
        case GGML_TYPE_IQ1_S:
        case GGML_TYPE_IQ3_S:
        case GGML_TYPE_IQ2_S:
        case GGML_TYPE_IQ1_M:
            return false;
        default:
            return true;
    }
}

__attribute__((constructor)) static void fill_encoders(void) {
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        if (shows_encoder(i)) {
            traits[i].from_float = graft_type_encoder((enum ggml_type) i);
        }
    }
    traits[GGML_TYPE_I32].from_float = (ggml_from_float_t) (void (*)(void)) ggml_cpu_fp32_to_i32;
}

const struct ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type type) {
    static const struct ggml_type_traits_cpu none = { 0 };
    return (unsigned) type < GGML_TYPE_COUNT ? &traits[type] : &none;
}

/* ---- conversions ---- */

void ggml_cpu_fp32_to_fp32(const float * x, float * y, int64_t n) {
    memcpy(y, x, (size_t) n * sizeof(*y));
}

void ggml_cpu_fp32_to_i32(const float * x, int32_t * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = (int32_t) x[i];
    }
}

void ggml_cpu_fp32_to_fp16(const float * x, ggml_fp16_t * y, int64_t n) {
    ggml_fp32_to_fp16_row(x, y, n);
}

void ggml_cpu_fp16_to_fp32(const ggml_fp16_t * x, float * y, int64_t n) {
    ggml_fp16_to_fp32_row(x, y, n);
}

void ggml_cpu_fp32_to_bf16(const float * x, ggml_bf16_t * y, int64_t n) {
    ggml_fp32_to_bf16_row(x, y, n);
}

void ggml_cpu_bf16_to_fp32(const ggml_bf16_t * x, float * y, int64_t n) {
    ggml_bf16_to_fp32_row(x, y, n);
}
