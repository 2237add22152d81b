/* SPDX-License-Identifier: MIT
 *
 * One-row products of the block formats with sixteen-bit activations: codes (u8) times both planes (s8) by vpdpbusd,
 * 128 values at a time, 256 with one scale of the activations.
 */
#include "kernel/kernel.h"

#include <immintrin.h>

#include "kernel/avx512vnni/gemv_codes.h"

#define GEMV_INLINE static inline __attribute__((always_inline))

#define ROWS 2 /* rows of W that go together: they share the loads of activations */

/* Scales of the i-th 128 values in lanes of four bytes: of groups of 32; of the first or second 16 of each 32. */
GEMV_INLINE __m512 lanes_of(__m512 d, int group, int i, int second) {
    const __m512i at = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return _mm512_permutexvar_ps(group == 32
                                     ? _mm512_add_epi32(at, _mm512_set1_epi32(4 * i))
                                     : _mm512_add_epi32(_mm512_slli_epi32(at, 1), _mm512_set1_epi32(8 * i + second)),
                                 d);
}

/* The planes of 128 activations. */
struct planes {
    __m512i high[2], low[2];
};

/* acc + sums over codes * q * d. */
GEMV_INLINE __m512 dot_128(__m512i first, __m512i second, const struct planes * x, __m512 d, int group, int i,
                           __m512 acc) {
    const __m512i zero = _mm512_setzero_si512();
    if (group == 32) {
        const __m512i high = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero, first, x->high[0]), second, x->high[1]);
        const __m512i low  = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero, first, x->low[0]), second, x->low[1]);
        const __m512i sum  = _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), lanes_of(d, group, i, 0), acc);
    }
    const __m512i a =
        _mm512_dpbusd_epi32(_mm512_slli_epi32(_mm512_dpbusd_epi32(zero, first, x->high[0]), 8), first, x->low[0]);
    const __m512i b =
        _mm512_dpbusd_epi32(_mm512_slli_epi32(_mm512_dpbusd_epi32(zero, second, x->high[1]), 8), second, x->low[1]);
    acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(a), lanes_of(d, group, i, 0), acc);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(b), lanes_of(d, group, i, 1), acc);
}

/* Up to 256 values of each row, `left` of them to the end of the row. */
#define GEMV(name, type, block, values, group, greatest)                                                              \
    GEMV_INLINE void name##_part(int rows, const block * const * b, int64_t left, const struct cpu_act_q16 * x,       \
                                 __m512 * acc) {                                                                      \
        __m512 d[ROWS], sum[ROWS];                                                                                    \
        for (int r = 0; r < rows; ++r) {                                                                              \
            d[r] = name##_scales512(b[r], left, x, &sum[r]);                                                          \
        }                                                                                                             \
        for (int i = 0; i < 2 && 128 * i < left; ++i) {                                                               \
            const struct planes in = {                                                                                \
                { _mm512_loadu_si512(x->high + 128 * i), _mm512_loadu_si512(x->high + 128 * i + 64) },                \
                { _mm512_loadu_si512(x->low + 128 * i), _mm512_loadu_si512(x->low + 128 * i + 64) }                   \
            };                                                                                                        \
            for (int r = 0; r < rows; ++r) {                                                                          \
                __m512i first, second;                                                                                \
                name##_codes128(b[r], left, i, &first, &second);                                                      \
                sum[r] = dot_128(first, second, &in, d[r], group, i, sum[r]);                                         \
            }                                                                                                         \
        }                                                                                                             \
        for (int r = 0; r < rows; ++r) {                                                                              \
            acc[r] = _mm512_fmadd_ps(sum[r], _mm512_set1_ps(x->scale), acc[r]);                                       \
        }                                                                                                             \
    }                                                                                                                 \
    GEMV_INLINE void name##_rows(int rows, int64_t k, const char * w, size_t w_stride, const struct cpu_act_q16 * x,  \
                                 float * y) {                                                                         \
        const block * b[ROWS];                                                                                        \
        __m512        acc[ROWS];                                                                                      \
        int64_t       l = 0;                                                                                          \
        for (int r = 0; r < rows; ++r) {                                                                              \
            b[r]   = (const block *) (w + (size_t) r * w_stride);                                                     \
            acc[r] = _mm512_setzero_ps();                                                                             \
        }                                                                                                             \
        for (; l + 256 <= k; l += 256, ++x) {                                                                         \
            name##_part(rows, b, 256, x, acc);                                                                        \
            for (int r = 0; r < rows; ++r) {                                                                          \
                b[r] += 256 / (values);                                                                               \
            }                                                                                                         \
        }                                                                                                             \
        if ((values) == 32 && l < k) {                                                                                \
            name##_part(rows, b, k - l, x, acc);                                                                      \
        }                                                                                                             \
        for (int r = 0; r < rows; ++r) {                                                                              \
            y[r] = _mm512_reduce_add_ps(acc[r]);                                                                      \
        }                                                                                                             \
    }                                                                                                                 \
    static void name##_multiply(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y) { \
        int64_t j = 0;                                                                                                \
        for (; j + ROWS <= n; j += ROWS) {                                                                            \
            name##_rows(ROWS, k, (const char *) w + (size_t) j * w_stride, w_stride, act, y + j);                     \
        }                                                                                                             \
        for (; j < n; ++j) {                                                                                          \
            name##_rows(1, k, (const char *) w + (size_t) j * w_stride, w_stride, act, y + j);                        \
        }                                                                                                             \
    }                                                                                                                 \
    const struct cpu_gemv_kernel name##_gemv__avx512vnni = { CPU_ACT_Q16, name##_multiply };
CODES_FORMATS(GEMV)
