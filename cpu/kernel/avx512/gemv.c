/* SPDX-License-Identifier: MIT
 *
 * One-row products of plain numbers: rows of F32, F16 and BF16 times F32. Four sums of 16 lanes, added in a fixed
 * order.
 */
#include "kernel/kernel.h"

#include <immintrin.h>

static inline __m512 load_f32(const void * row, int64_t l, __mmask16 mask) {
    return _mm512_maskz_loadu_ps(mask, (const float *) row + l);
}
static inline __m512 load_f16(const void * row, int64_t l, __mmask16 mask) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, (const uint16_t *) row + l));
}
static inline __m512 load_bf16(const void * row, int64_t l, __mmask16 mask) {
    const __m512i bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, (const uint16_t *) row + l));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}

#define GEMV(name, load)                                                                                                \
    static void name##_multiply(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y) {   \
        const float * x = act;                                                                                          \
        for (int64_t j = 0; j < n; ++j) {                                                                               \
            const void * row = (const char *) w + (size_t) j * w_stride;                                                \
            __m512  sum[4]   = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps() };  \
            int64_t l        = 0;                                                                                       \
            for (; l + 64 <= k; l += 64) {                                                                              \
                for (int i = 0; i < 4; ++i) {                                                                           \
                    sum[i] = _mm512_fmadd_ps(load(row, l + 16 * i, 0xffff), _mm512_loadu_ps(x + l + 16 * i), sum[i]);   \
                }                                                                                                       \
            }                                                                                                           \
            for (; l < k; l += 16) {                                                                                    \
                const __mmask16 mask = (__mmask16) (k - l >= 16 ? 0xffff : (1u << (k - l)) - 1);                        \
                sum[0]               = _mm512_fmadd_ps(load(row, l, mask), _mm512_maskz_loadu_ps(mask, x + l), sum[0]); \
            }                                                                                                           \
            y[j] = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sum[0], sum[2]), _mm512_add_ps(sum[1], sum[3])));   \
        }                                                                                                               \
    }                                                                                                                   \
    const struct cpu_gemv_kernel name##_gemv__avx512 = { CPU_ACT_F32, name##_multiply };
GEMV(f32, load_f32)
GEMV(f16, load_f16)
GEMV(bf16, load_bf16)
