/* SPDX-License-Identifier: MIT
 *
 * Rounding to E2M1.
 */
#include "type/fp4.h"

#include "type/fit.h"

void fp4_nearest(int n, const float * x, float scale, uint8_t * codes) {
    /* Distances are compared as integers, in the order of their bits: without traps the loop is vectorised. */
    uint32_t least[FP4_MAX_BLOCK];
    uint32_t best[FP4_MAX_BLOCK];
    for (int j = 0; j < n; j++) {
        least[j] = fp32_to_bits(fabsf(x[j]));
        best[j]  = 0;
    }
    for (uint32_t code = 1; code < 16; code++) {
        const float value = (float) fp4_values[code] * scale;
        for (int j = 0; j < n; j++) {
            const uint32_t distance = fp32_to_bits(fabsf(value - x[j]));
            const uint32_t nearer   = -(uint32_t) (distance < least[j]);
            best[j]                 = (best[j] & ~nearer) | (code & nearer);
            least[j]                = (least[j] & ~nearer) | (distance & nearer);
        }
    }
    for (int j = 0; j < n; j++) {
        codes[j] = (uint8_t) best[j];
    }
}
