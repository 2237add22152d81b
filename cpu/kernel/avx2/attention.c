/* SPDX-License-Identifier: MIT
 *
 * Attention for AVX2: 16 lanes are two vectors; 4 keys by 2 vectors of accumulators in 16 registers.
 */
#include <math.h>
#include <string.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"
#include "kernel/avx2/simd.h"
#include "kernel/vec_function.h"

#define ISA(name) name##__avx2
#define TILE      4
#define QUERIES   2

/* By pairs of vectors, then pairs of those, then the two halves. */
static inline void sums_of_4(vf a, vf b, vf c, vf d, float * sums) {
    const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    const __m256 x  = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xEE));
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
}

#include "kernel/attention.inc"
#include "kernel/attention_row.inc"
