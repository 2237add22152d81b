/* SPDX-License-Identifier: MIT
 *
 * Functions of one number and gated units for AVX-512.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/avx512/simd.h"
#include "kernel/vec_function.h"

#define ISA(name) name##__avx512
#include "kernel/vec_map.inc"
