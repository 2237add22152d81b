/* SPDX-License-Identifier: MIT
 *
 * Rows of numbers for NEON: conversions, arithmetic, sums, rotations.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/neon/simd.h"
#include "kernel/vec_function.h"

#define ISA(name) name##__neon
#include "kernel/vec_row.inc"
