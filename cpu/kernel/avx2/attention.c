/* SPDX-License-Identifier: MIT
 *
 * Attention for AVX2: 16 lanes are two vectors; 4 keys by 2 vectors of accumulators in 16 registers.
 */
#include <math.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"
#include "kernel/avx2/simd.h"
#include "kernel/vec_function.h"

#define TILE_KEYS 4

static inline vf vh_load(const ggml_fp16_t * p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p));
}

static inline float vf_sum(vf x) {
    const __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

#define ISA(name) name##__avx2
#include "kernel/attention.inc"
