/* SPDX-License-Identifier: MIT
 *
 * Attention for AVX-512: 16 lanes are one vector; 16 accumulators cover the multipliers' latency.
 */
#include <math.h>
#include <string.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"
#include "kernel/avx512/simd.h"
#include "kernel/vec_function.h"

#define ISA(name) name##__avx512
#define TILE      16
#define QUERIES   4

/* By pairs of vectors, then pairs of those, then the four quarters. */
static inline void sums_of_4(vf a, vf b, vf c, vf d, float * sums) {
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const __m512 x  = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE));
    const __m256 h  = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1)));
}

#include "kernel/attention.inc"
#include "kernel/attention_row.inc"
