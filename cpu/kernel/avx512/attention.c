/* SPDX-License-Identifier: MIT
 *
 * Attention for AVX-512: 16 lanes are one vector; 24 accumulators, so that the two multipliers' latency is covered.
 */
#include <math.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"
#include "kernel/avx512/simd.h"
#include "kernel/vec_function.h"

#define TILE_KEYS 16

static inline vf vh_load(const ggml_fp16_t * p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p));
}

static inline float vf_sum(vf x) {
    return _mm512_reduce_add_ps(x);
}

#define ISA(name) name##__avx512
#include "kernel/attention.inc"
