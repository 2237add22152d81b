/* SPDX-License-Identifier: MIT
 *
 * Encoder of sixteen-bit activations: the bytes of the scalar one.
 */
#include "kernel/kernel.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

static __mmask16 mask_of(int64_t left) {
    return (__mmask16) (left >= 16 ? 0xffff : left <= 0 ? 0 : (1u << left) - 1);
}

void act_q16__avx512vnni(int64_t k, const float * x, struct cpu_act_q16 * out) {
    for (; k > 0; k -= CPU_ACT_BLOCK, x += CPU_ACT_BLOCK, ++out) {
        __m512i max = _mm512_setzero_si512(); /* of the bits without sign: ordered as the numbers, NaN the greatest */
        for (int i = 0; i < 16; ++i) {
            const __m512i bits = _mm512_castps_si512(_mm512_maskz_loadu_ps(mask_of(k - 16 * i), x + 16 * i));
            max                = _mm512_max_epu32(max, _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)));
        }
        const uint32_t bits    = _mm512_reduce_max_epu32(max);
        const bool     bad     = bits >= 0x7f800000u;
        const float    most    = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int) bits)));
        const __m512   inverse = _mm512_set1_ps(!bad && most > 1e-30f ? 32639.0f / most : 0.0f);
        out->scale             = bad ? NAN : most / 32639.0f;
        for (int i = 0; i < 16; ++i) {
            const __mmask16 mask = bad ? 0 : mask_of(k - 16 * i);
            const __m512i   q    = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + 16 * i), inverse));
            const __m512i   high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(128)), 8);
            const __m512i   low  = _mm512_sub_epi32(q, _mm512_slli_epi32(high, 8));
            _mm_storeu_si128((__m128i *) (out->high + cpu_act_place(16 * i)), _mm512_cvtepi32_epi8(high));
            _mm_storeu_si128((__m128i *) (out->low + cpu_act_place(16 * i)), _mm512_cvtepi32_epi8(low));
            out->sum16[i] = (float) _mm512_reduce_add_epi32(q);
        }
        for (int i = 0; i < 8; ++i) {
            out->sum32[i] = out->sum16[2 * i] + out->sum16[2 * i + 1];
        }
        memset(out->zeros, 0, sizeof(out->zeros));
        memset(out->unused, 0, sizeof(out->unused));
    }
}
