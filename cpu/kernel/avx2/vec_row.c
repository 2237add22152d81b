/* SPDX-License-Identifier: MIT
 *
 * Rows of numbers for AVX2: conversions, arithmetic, sums, rotations.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/avx2/simd.h"
#include "kernel/vec_function.h"

#define ISA(name) name##__avx2
#include "kernel/vec_row.inc"
