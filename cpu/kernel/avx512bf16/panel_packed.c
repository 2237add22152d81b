/* SPDX-License-Identifier: MIT
 *
 * Panels of BF16 from packed weights.
 */
#include "kernel/kernel.h"

#include <immintrin.h>

/* Two vectors rounded and interleaved: pairs of neighbours in k. */
static inline __attribute__((always_inline)) void store_pair(uint16_t * out, __m512 a, __m512 b) {
    /* word 2 r is word r, word 2 r + 1 is word 16 + r */
    const __m512i order =
        _mm512_setr_epi32(0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008,
                          0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
    _mm512_storeu_si512(out, _mm512_permutexvar_epi16(order, (__m512i) _mm512_cvtne2ps_pbh(b, a)));
}

#define UNPACK_TYPE         uint16_t
#define UNPACK_STORE(o, v)  (store_pair(o, (v)[0], (v)[1]), store_pair((o) + 32, (v)[2], (v)[3]))
#define UNPACK_NAME(format) format##_packed_bf16__avx512bf16
#include "kernel/avx512vnni/panel_unpack.h"
