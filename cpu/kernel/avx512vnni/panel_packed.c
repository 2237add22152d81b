/* SPDX-License-Identifier: MIT
 *
 * Panels of F32 from packed weights.
 */
#include "kernel/kernel.h"

#include <immintrin.h>

#define UNPACK_TYPE float
#define UNPACK_STORE(o, v)                                                                                \
    (_mm512_storeu_ps(o, (v)[0]), _mm512_storeu_ps((o) + 16, (v)[1]), _mm512_storeu_ps((o) + 32, (v)[2]), \
     _mm512_storeu_ps((o) + 48, (v)[3]))
#define UNPACK_NAME(format) format##_packed_f32__avx512vnni
#include "kernel/avx512vnni/panel_unpack.h"
