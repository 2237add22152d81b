/* SPDX-License-Identifier: MIT
 *
 * Packing of activations in pairs of BF16, the layout that vdpbf16ps and the B tile of tdpbf16ps share.
 */
#ifndef GRAFT_CPU_GEMM_PACK_H
#define GRAFT_CPU_GEMM_PACK_H

#include "kernel/avx512/gemm_transpose.h"

#include <stdint.h>

static inline __mmask16 gemm_pack_mask(int64_t left) {
    return (__mmask16) (left >= 16 ? 0xffff : left <= 0 ? 0 : (1u << left) - 1);
}

static void gemm_pack_bf16(int64_t k, int64_t n, const float * const * rows, void * out) {
    uint16_t * to = out;
    for (int64_t l = 0; l < k; l += 32, to += 32 * 16) {
        const __mmask16 low = gemm_pack_mask(k - l), high = gemm_pack_mask(k - l - 16);
        __m512i         v[16];
        for (int64_t i = 0; i < 16; ++i) {
            v[i] = i < n ? (__m512i) _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, rows[i] + l + 16),
                                                         _mm512_maskz_loadu_ps(low, rows[i] + l))
                         : _mm512_setzero_si512();
        }
        transpose_16x16(v);
        for (int i = 0; i < 16; ++i) {
            _mm512_storeu_si512(to + i * 32, v[i]);
        }
    }
}

static void gemm_row_bf16(int64_t k, const float * x, void * out) {
    uint16_t * to = out;
    for (int64_t l = 0; l < k; l += 32) {
        const __mmask16 low = gemm_pack_mask(k - l), high = gemm_pack_mask(k - l - 16);
        _mm512_storeu_si512(to + l, (__m512i) _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(high, x + l + 16),
                                                                  _mm512_maskz_loadu_ps(low, x + l)));
    }
}

#endif /* GRAFT_CPU_GEMM_PACK_H */
