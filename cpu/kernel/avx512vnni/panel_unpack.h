/* SPDX-License-Identifier: MIT
 *
 * Panels of packed weights: a group of 16 rows becomes a packed block of the GEMM (family_gemm.h), for a compute type
 * that the including file gives:
 *
 *   UNPACK_TYPE                element
 *   UNPACK_STORE(out, v)       writes four values of k (vectors v[0..3], lanes are rows) in the layout of the pack
 *   UNPACK_NAME(format)        name of the function
 */
#include "kernel/avx512vnni/gemv_quads.h"

static inline __attribute__((always_inline)) void unpack_quad(__m512i q, __m512 d, __m512 m, UNPACK_TYPE * out) {
    const __m512i mask = _mm512_set1_epi32(255);
    __m512        v[4];
    v[0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_and_si512(q, mask)), d, m);
    v[1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(q, 8), mask)), d, m);
    v[2] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(q, 16), mask)), d, m);
    v[3] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(q, 24)), d, m);
    UNPACK_STORE(out, v);
}

#define UNPACK(name, type, block, values, group)                                    \
    void UNPACK_NAME(name)(int64_t k, const void * packed, UNPACK_TYPE * out) {     \
        const char * b = packed;                                                    \
        for (int64_t l = 0; l < k; l += (values), b += 16 * sizeof(block)) {        \
            for (int i = 0; i < (values) / 32; ++i) {                               \
                __m512i q[8];                                                       \
                __m512  d[2], m[2];                                                 \
                name##_quads(b, i, q);                                              \
                name##_lanes(b, i, d, m);                                           \
                for (int j = 0; j < 8; ++j) {                                       \
                    const int g = (group) == 16 ? j / 4 : 0;                        \
                    unpack_quad(q[j], d[g], m[g], out + (l + 32 * i + 4 * j) * 16); \
                }                                                                   \
            }                                                                       \
        }                                                                           \
    }
PACKED_FORMATS(UNPACK)
