/* SPDX-License-Identifier: MIT
 *
 * Panels of F32.
 */
#include "kernel/kernel.h"

#include "kernel/avx2/panel_codes.h"

/* 8 codes of 16 as numbers. */
static inline __m256 numbers(__m128i codes, int high) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(high ? _mm_srli_si128(codes, 8) : codes));
}

#define PANEL(name, type, block, values, group, greatest)                                                        \
    void name##_panel_f32__avx2(int64_t k, const void * row, float * out) {                                      \
        const block * b = row;                                                                                   \
        for (int64_t l = 0; l < k; l += (values), ++b) {                                                         \
            struct codes_scales s;                                                                               \
            name##_scales(b, &s);                                                                                \
            for (int i = 0; i < (values) / 32; ++i) {                                                            \
                const __m256i codes = name##_codes(b, i);                                                        \
                for (int h = 0; h < 2; ++h) {                                                                    \
                    const __m128i part = h ? _mm256_extracti128_si256(codes, 1) : _mm256_castsi256_si128(codes); \
                    const int     g    = (i * 32 + h * 16) / (group);                                            \
                    const __m256  d = _mm256_set1_ps(s.d[g]), m = _mm256_set1_ps(s.m[g]);                        \
                    float *       to = out + l + 32 * i + 16 * h;                                                \
                    _mm256_storeu_ps(to, _mm256_fmadd_ps(numbers(part, 0), d, m));                               \
                    _mm256_storeu_ps(to + 8, _mm256_fmadd_ps(numbers(part, 1), d, m));                           \
                }                                                                                                \
            }                                                                                                    \
        }                                                                                                        \
    }
CODES_FORMATS(PANEL)

void f16_panel_f32__avx2(int64_t k, const void * row, float * out) {
    const uint16_t * in = row;
    int64_t          l  = 0;
    for (; l + 8 <= k; l += 8) {
        _mm256_storeu_ps(out + l, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) (in + l))));
    }
    for (; l < k; ++l) {
        out[l] = _cvtsh_ss(in[l]);
    }
}
