/* SPDX-License-Identifier: MIT
 *
 * Panels of F32.
 */
#include "kernel/kernel.h"

#include <immintrin.h>

#define PANEL_TYPE             float
#define PANEL_STORE(out, a, b) (_mm512_storeu_ps(out, a), _mm512_storeu_ps((out) + 16, b))
#define PANEL_NAME(format)     format##_panel_f32__avx512
#include "kernel/avx512/panel_decode.h"

void f16_panel_f32__avx512(int64_t k, const void * row, float * out) {
    const uint16_t * in = row;
    int64_t          l  = 0;
    for (; l + 16 <= k; l += 16) {
        _mm512_storeu_ps(out + l, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) (in + l))));
    }
    if (l < k) {
        const __mmask16 mask = (__mmask16) ((1u << (k - l)) - 1);
        _mm512_mask_storeu_ps(out + l, mask, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, in + l)));
    }
}

void bf16_panel_f32__avx512(int64_t k, const void * row, float * out) {
    const uint16_t * in = row;
    for (int64_t l = 0; l < k; l += 16) {
        const __mmask16 mask = (__mmask16) (k - l >= 16 ? 0xffff : (1u << (k - l)) - 1);
        const __m512i   bits = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, in + l));
        _mm512_mask_storeu_ps(out + l, mask, _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16)));
    }
}
