/* SPDX-License-Identifier: MIT
 *
 * Reference GEMMs of the compute types, and the packing that all instruction sets share.
 */
#include "kernel/kernel.h"

#include <string.h>

static float from_bf16(uint16_t h) {
    const uint32_t bits = (uint32_t) h << 16;
    float          f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* Round to nearest even; NaN stays a quiet NaN. */
static uint16_t to_bf16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t) (bits >> 16 | 0x40);
    }
    return (uint16_t) ((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void store(float sum, int64_t i, int64_t j, float * c, size_t c_stride, int how) {
    float * out = how & CPU_GEMM_ACROSS ? c + (size_t) j * c_stride + i : c + (size_t) i * c_stride + j;
    *out        = how & CPU_GEMM_ADD ? *out + sum : sum;
}

static void f32_multiply(int64_t k, int64_t n, int64_t m, const void * panel, size_t panel_stride, const void * pack,
                         size_t pack_stride, float * c, size_t c_stride, int how) {
    for (int64_t i = 0; i < m; ++i) {
        const float * x =
            (const float *) ((const char *) pack + (size_t) (i / CPU_GEMM_LANES) * pack_stride) + i % CPU_GEMM_LANES;
        for (int64_t j = 0; j < n; ++j) {
            const float * w   = (const float *) ((const char *) panel + (size_t) j * panel_stride);
            float         sum = 0.0f;
            for (int64_t l = 0; l < k; ++l) {
                sum += w[l] * x[l * CPU_GEMM_LANES];
            }
            store(sum, i, j, c, c_stride, how);
        }
    }
}

static void f32_pack(int64_t k, int64_t n, const float * const * rows, void * out) {
    float * to = out;
    for (int64_t l = 0; l < k; ++l) {
        for (int64_t i = 0; i < CPU_GEMM_LANES; ++i) {
            *to++ = i < n ? rows[i][l] : 0.0f;
        }
    }
}

static void f32_row(int64_t k, const float * x, void * out) {
    memcpy(out, x, (size_t) k * sizeof(float));
}

static void bf16_multiply(int64_t k, int64_t n, int64_t m, const void * panel, size_t panel_stride, const void * pack,
                          size_t pack_stride, float * c, size_t c_stride, int how) {
    for (int64_t i = 0; i < m; ++i) {
        const uint16_t * x = (const uint16_t *) ((const char *) pack + (size_t) (i / CPU_GEMM_LANES) * pack_stride) +
                             i % CPU_GEMM_LANES * 2;
        for (int64_t j = 0; j < n; ++j) {
            const uint16_t * w   = (const uint16_t *) ((const char *) panel + (size_t) j * panel_stride);
            float            sum = 0.0f;
            for (int64_t l = 0; l < k; ++l) {
                sum += from_bf16(w[l]) * from_bf16(x[l / 2 * 2 * CPU_GEMM_LANES + l % 2]);
            }
            store(sum, i, j, c, c_stride, how);
        }
    }
}

static void bf16_pack(int64_t k, int64_t n, const float * const * rows, void * out) {
    uint16_t *    to     = out;
    const int64_t padded = (k + 31) / 32 * 32;
    for (int64_t l = 0; l < padded; l += 2) {
        for (int64_t i = 0; i < CPU_GEMM_LANES; ++i) {
            for (int64_t p = l; p < l + 2; ++p) {
                *to++ = i < n && p < k ? to_bf16(rows[i][p]) : 0;
            }
        }
    }
}

static void bf16_row(int64_t k, const float * x, void * out) {
    for (int64_t l = 0; l < (k + 31) / 32 * 32; ++l) {
        ((uint16_t *) out)[l] = l < k ? to_bf16(x[l]) : 0;
    }
}

const struct cpu_gemm_kernel f32_gemm__scalar  = { 1, 1, 1, false, f32_multiply, f32_pack, f32_row };
const struct cpu_gemm_kernel bf16_gemm__scalar = { 2, 32, 1, false, bf16_multiply, bf16_pack, bf16_row };
