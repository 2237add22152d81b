/* SPDX-License-Identifier: MIT
 *
 * Panels of BF16.
 */
#include "kernel/kernel.h"

#include <immintrin.h>
#include <string.h>

#define PANEL_TYPE             uint16_t
#define PANEL_STORE(out, a, b) _mm512_storeu_si512(out, (__m512i) _mm512_cvtne2ps_pbh(b, a))
#define PANEL_NAME(format)     format##_panel_bf16__avx512bf16
#include "kernel/avx512/panel_decode.h"

void bf16_panel_bf16__avx512bf16(int64_t k, const void * row, uint16_t * out) {
    memcpy(out, row, (size_t) k * sizeof(*out));
}
