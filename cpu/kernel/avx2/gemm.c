/* SPDX-License-Identifier: MIT
 *
 * F32 GEMM of AVX2 and FMA. A tile is 6 rows of W by one packed block (16 rows of X): 12 sums, and 8 loads for 12
 * multiply-adds.
 */
#include "kernel/kernel.h"

#include <immintrin.h>
#include <string.h>

#define TILE_N 6

static inline __attribute__((always_inline)) void transpose_8x8(__m256 v[8]) {
    __m256 t[8];
    for (int i = 0; i < 4; ++i) {
        t[2 * i]     = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
        v[4 * i]     = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
        v[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
        v[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
        v[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
        t[i]     = _mm256_permute2f128_ps(v[i], v[4 + i], 0x20);
        t[4 + i] = _mm256_permute2f128_ps(v[i], v[4 + i], 0x31);
    }
    for (int i = 0; i < 8; ++i) {
        v[i] = t[i];
    }
}

/* First n < 8 lanes, or 8. */
static inline __m256i mask_of(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int) (n < 8 ? n : 8)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* Row j of C gets the first m lanes of acc[j]. */
static inline __attribute__((always_inline)) void store_across(const __m256 acc[8], int64_t m, int64_t n, float * c,
                                                               size_t c_stride, bool add) {
    const __m256i mask = mask_of(m);
    for (int j = 0; j < TILE_N && j < n; ++j) {
        float * out = c + (size_t) j * c_stride;
        _mm256_maskstore_ps(out, mask, add ? _mm256_add_ps(_mm256_maskload_ps(out, mask), acc[j]) : acc[j]);
    }
}

/* Lane i of acc[j] goes to row i of C, column j. */
static inline __attribute__((always_inline)) void store_transposed(__m256 acc[8], int64_t m, int64_t n, float * c,
                                                                   size_t c_stride, bool add) {
    const __m256i mask = mask_of(n);
    transpose_8x8(acc);
    for (int i = 0; i < 8 && i < m; ++i) {
        float * out = c + (size_t) i * c_stride;
        _mm256_maskstore_ps(out, mask, add ? _mm256_add_ps(_mm256_maskload_ps(out, mask), acc[i]) : acc[i]);
    }
}

static void tile_multiply(int64_t k, const char * w, size_t w_stride, const float * x, float * c, size_t c_stride,
                          int64_t n, int64_t m, int how) {
    /* Named, since compilers keep arrays of sums in memory here. */
    const __m256 zero = _mm256_setzero_ps();
    __m256       a0 = zero, a1 = zero, a2 = zero, a3 = zero, a4 = zero, a5 = zero;
    __m256       b0 = zero, b1 = zero, b2 = zero, b3 = zero, b4 = zero, b5 = zero;
    const char * low = w, *high = w + 3 * w_stride;
#define STEP(a, b, row)                                                  \
    do {                                                                 \
        const __m256 value = _mm256_broadcast_ss((const float *) (row)); \
        a                  = _mm256_fmadd_ps(value, x0, a);              \
        b                  = _mm256_fmadd_ps(value, x1, b);              \
    } while (0)
    for (int64_t l = 0; l < k; ++l, low += sizeof(float), high += sizeof(float), x += CPU_GEMM_LANES) {
        const __m256 x0 = _mm256_loadu_ps(x), x1 = _mm256_loadu_ps(x + 8);
        STEP(a0, b0, low);
        STEP(a1, b1, low + w_stride);
        STEP(a2, b2, low + 2 * w_stride);
        STEP(a3, b3, high);
        STEP(a4, b4, high + w_stride);
        STEP(a5, b5, high + 2 * w_stride);
    }
#undef STEP
    __m256 acc[2][8] = { { a0, a1, a2, a3, a4, a5, zero, zero }, { b0, b1, b2, b3, b4, b5, zero, zero } };
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        if (how & CPU_GEMM_ACROSS) {
            store_across(acc[half], m - 8 * half, n, c + 8 * half, c_stride, how & CPU_GEMM_ADD);
        } else {
            store_transposed(acc[half], m - 8 * half, n, c + (size_t) (8 * half) * c_stride, c_stride,
                             how & CPU_GEMM_ADD);
        }
    }
}

static void multiply(int64_t k, int64_t n, int64_t m, const void * panel, size_t panel_stride, const void * pack,
                     size_t pack_stride, float * c, size_t c_stride, int how) {
    for (int64_t i = 0; i < m; i += CPU_GEMM_LANES) {
        const float * x = (const float *) ((const char *) pack + (size_t) (i / CPU_GEMM_LANES) * pack_stride);
        for (int64_t j = 0; j < n; j += TILE_N) {
            float * out = how & CPU_GEMM_ACROSS ? c + (size_t) j * c_stride + i : c + (size_t) i * c_stride + j;
            tile_multiply(k, (const char *) panel + (size_t) j * panel_stride, panel_stride, x, out, c_stride,
                          n - j < TILE_N ? n - j : TILE_N, m - i, how);
        }
    }
}

static void pack(int64_t k, int64_t n, const float * const * rows, void * out) {
    float * to = out;
    for (int64_t l = 0; l < k; l += 8, to += 8 * CPU_GEMM_LANES) {
        const int64_t left = k - l < 8 ? k - l : 8;
        const __m256i mask = mask_of(left);
        for (int half = 0; half < 2; ++half) {
            __m256 v[8];
            for (int64_t i = 0; i < 8; ++i) {
                v[i] = half * 8 + i < n ? _mm256_maskload_ps(rows[half * 8 + i] + l, mask) : _mm256_setzero_ps();
            }
            transpose_8x8(v);
            for (int64_t i = 0; i < left; ++i) {
                _mm256_storeu_ps(to + i * CPU_GEMM_LANES + half * 8, v[i]);
            }
        }
    }
}

static void row(int64_t k, const float * x, void * out) {
    memcpy(out, x, (size_t) k * sizeof(float));
}

const struct cpu_gemm_kernel f32_gemm__avx2 = { 1, 1, TILE_N, true, multiply, pack, row };
