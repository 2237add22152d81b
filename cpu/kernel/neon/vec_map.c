/* SPDX-License-Identifier: MIT
 *
 * Functions of one number and gated units for NEON.
 */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/neon/simd.h"
#include "kernel/vec_function.h"

#define ISA(name) name##__neon
#include "kernel/vec_map.inc"
