/* SPDX-License-Identifier: MIT
 *
 * One-row products of packed weights: 16 rows in the lanes, four values of them at a time by vpdpbusd with four
 * activations in all lanes. No sums over lanes, and scales are read as vectors.
 */
#include "kernel/kernel.h"

#include <immintrin.h>

#include "kernel/avx512vnni/gemv_quads.h"

#define GEMV_INLINE static inline __attribute__((always_inline))

GEMV_INLINE __m512i four(const int8_t * p) {
    int32_t word;
    memcpy(&word, p, sizeof(word));
    return _mm512_set1_epi32(word);
}

/* Sums of codes * (256 * high + low) over four quads, whose activations begin at `at` in the planes. */
GEMV_INLINE __m512i dot_4(const __m512i q[4], const struct cpu_act_q16 * x, int at, __m512i * low) {
    __m512i high = _mm512_setzero_si512();
    for (int j = 0; j < 4; ++j) {
        high = _mm512_dpbusd_epi32(high, q[j], four(x->high + at + 4 * j));
        *low = _mm512_dpbusd_epi32(*low, q[j], four(x->low + at + 4 * j));
    }
    return high;
}

/* acc + the i-th 32 values of the activations' block times 32 values of the rows. */
GEMV_INLINE __m512 dot_32(const __m512i q[8], const __m512 * d, const __m512 * m, int group,
                          const struct cpu_act_q16 * x, int i, __m512 acc) {
    const int     at    = i / 4 * 128 + i % 4 * 16; /* see cpu_act_place */
    __m512i       low_a = _mm512_setzero_si512(), low_b = low_a;
    const __m512i high_a = dot_4(q, x, at, &low_a), high_b = dot_4(q + 4, x, at + 64, &low_b);
    if (group == 32) {
        const __m512i high = _mm512_add_epi32(high_a, high_b), low = _mm512_add_epi32(low_a, low_b);
        acc = _mm512_fmadd_ps(m[0], _mm512_set1_ps(x->sum32[i]), acc);
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low)), d[0], acc);
    }
    acc = _mm512_fmadd_ps(m[0], _mm512_set1_ps(x->sum16[2 * i]), acc);
    acc = _mm512_fmadd_ps(m[1], _mm512_set1_ps(x->sum16[2 * i + 1]), acc);
    acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high_a, 8), low_a)), d[0], acc);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high_b, 8), low_b)), d[1], acc);
}

#define GEMV(name, type, block, values, group)                                                                        \
    static void name##_multiply(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y) { \
        for (int64_t j = 0; j < n; j += 16) {                                                                         \
            const char *               b   = (const char *) w + (size_t) j * w_stride;                                \
            const struct cpu_act_q16 * x   = act;                                                                     \
            __m512                     acc = _mm512_setzero_ps();                                                     \
            for (int64_t l = 0; l < k; l += CPU_ACT_BLOCK, ++x) {                                                     \
                const int subs = (int) (k - l < CPU_ACT_BLOCK ? (k - l) / 32 : 8);                                    \
                __m512    sum  = _mm512_setzero_ps();                                                                 \
                for (int i = 0; i < subs; ++i) {                                                                      \
                    __m512i q[8];                                                                                     \
                    __m512  d[2], m[2];                                                                               \
                    name##_quads(b, (values) == 32 ? 0 : i, q);                                                       \
                    name##_lanes(b, (values) == 32 ? 0 : i, d, m);                                                    \
                    sum = dot_32(q, d, m, group, x, i, sum);                                                          \
                    b += (values) == 32 ? 16 * sizeof(block) : 0;                                                     \
                }                                                                                                     \
                b += (values) == 256 ? 16 * sizeof(block) : 0;                                                        \
                acc = _mm512_fmadd_ps(sum, _mm512_set1_ps(x->scale), acc);                                            \
            }                                                                                                         \
            _mm512_storeu_ps(y + j, acc);                                                                             \
        }                                                                                                             \
    }                                                                                                                 \
    const struct cpu_gemv_kernel name##_gemv_packed__avx512vnni = { CPU_ACT_Q16, name##_multiply };
PACKED_FORMATS(GEMV)
