/* SPDX-License-Identifier: MIT
 *
 * Transposing 16 x 16 words of 32 bits held in registers: packing, and storing register tiles whose lanes are rows of
 * C.
 */
#ifndef GRAFT_CPU_GEMM_TRANSPOSE_H
#define GRAFT_CPU_GEMM_TRANSPOSE_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

static inline __attribute__((always_inline)) void transpose_16x16(__m512i v[16]) {
    __m512i t[16];
    for (int i = 0; i < 8; ++i) {
        t[2 * i]     = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i) {
        v[4 * i]     = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        v[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        v[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        v[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        t[i]      = _mm512_shuffle_i32x4(v[i], v[4 + i], 0x88);
        t[4 + i]  = _mm512_shuffle_i32x4(v[i], v[4 + i], 0xdd);
        t[8 + i]  = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0x88);
        t[12 + i] = _mm512_shuffle_i32x4(v[8 + i], v[12 + i], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
        v[i]      = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
        v[8 + i]  = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
        v[4 + i]  = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
        v[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
    }
}

/* Writes (or adds) n rows, acc[j] being the first m values of row j. */
static inline __attribute__((always_inline)) void store_across(const __m512 * acc, int64_t m, int64_t n, float * c,
                                                               size_t c_stride, bool add) {
    const __mmask16 mask = (__mmask16) (m >= 16 ? 0xffff : (1u << m) - 1);
    for (int j = 0; j < 16 && j < n; ++j) {
        float * out = c + (size_t) j * c_stride;
        _mm512_mask_storeu_ps(out, mask, add ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), acc[j]) : acc[j]);
    }
}

/* acc[j] holds C[0..15][j] for j < 16. Writes (or adds) m rows of n values. */
static inline __attribute__((always_inline)) void store_transposed(__m512 acc[16], int64_t m, int64_t n, float * c,
                                                                   size_t c_stride, bool add) {
    __m512i v[16];
    for (int i = 0; i < 16; ++i) {
        v[i] = _mm512_castps_si512(acc[i]);
    }
    transpose_16x16(v);
    const __mmask16 mask = (__mmask16) (n >= 16 ? 0xffff : (1u << n) - 1);
    if (add) {
        for (int i = 0; i < 16 && i < m; ++i) {
            const __m512 old = _mm512_maskz_loadu_ps(mask, c + (size_t) i * c_stride);
            _mm512_mask_storeu_ps(c + (size_t) i * c_stride, mask, _mm512_add_ps(old, _mm512_castsi512_ps(v[i])));
        }
    } else {
        for (int i = 0; i < 16 && i < m; ++i) {
            _mm512_mask_storeu_ps(c + (size_t) i * c_stride, mask, _mm512_castsi512_ps(v[i]));
        }
    }
}

#endif /* GRAFT_CPU_GEMM_TRANSPOSE_H */
