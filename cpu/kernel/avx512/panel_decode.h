/* SPDX-License-Identifier: MIT
 *
 * Panel decoders of AVX-512 over the codes of panel_codes.h, for a compute type that the including file gives:
 *
 *   PANEL_TYPE              element of the panel
 *   PANEL_STORE(out, a, b)  writes 32 values, 16 in each vector
 *   PANEL_NAME(format)      name of the function
 */
#include "kernel/avx2/panel_codes.h"

static inline __attribute__((always_inline)) void decode_32(__m256i codes, __m512 d0, __m512 m0, __m512 d1, __m512 m1,
                                                            PANEL_TYPE * out) {
    const __m512 a = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_castsi256_si128(codes)));
    const __m512 b = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm256_extracti128_si256(codes, 1)));
    PANEL_STORE(out, _mm512_fmadd_ps(a, d0, m0), _mm512_fmadd_ps(b, d1, m1));
}

#define PANEL(name, type, block, values, group, greatest)                                              \
    void PANEL_NAME(name)(int64_t k, const void * row, PANEL_TYPE * out) {                             \
        const block * b = row;                                                                         \
        for (int64_t l = 0; l < k; l += (values), ++b) {                                               \
            struct codes_scales s;                                                                     \
            name##_scales(b, &s);                                                                      \
            for (int i = 0; i < (values) / 32; ++i) {                                                  \
                const int first = i * 32 / (group), second = (i * 32 + 16) / (group);                  \
                decode_32(name##_codes(b, i), _mm512_set1_ps(s.d[first]), _mm512_set1_ps(s.m[first]),  \
                          _mm512_set1_ps(s.d[second]), _mm512_set1_ps(s.m[second]), out + l + 32 * i); \
            }                                                                                          \
        }                                                                                              \
    }
CODES_FORMATS(PANEL)
