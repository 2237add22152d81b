/* SPDX-License-Identifier: MIT
 *
 * E2M1, the 4-bit floating-point numbers of the OCP microscaling formats (MX specification 1.0, table of FP4): 0, 0.5,
 * 1, 1.5, 2, 3, 4, 6 and their negatives, here doubled to be integers; scales are halved to make up for it.
 */
#ifndef GRAFT_TYPE_FP4_H
#define GRAFT_TYPE_FP4_H

#include <stdint.h>

static const int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#define FP4_MAX_BLOCK 32

/* Writes n codes, two to a byte: value j in the low nibbles, value j + n / 2 in the high ones. */
static inline void fp4_write(int n, const uint8_t * qs, float scale, float * y) {
    float values[16];
    for (int i = 0; i < 16; i++) {
        values[i] = (float) fp4_values[i] * scale;
    }
    for (int j = 0; j < n / 2; j++) {
        y[j]         = values[qs[j] & 15];
        y[j + n / 2] = values[qs[j] >> 4];
    }
}

/* Code of the value of scale * fp4_values nearest to each of n <= FP4_MAX_BLOCK numbers; of equally near ones the
 * first. */
void fp4_nearest(int n, const float * x, float scale, uint8_t * codes);

#endif /* GRAFT_TYPE_FP4_H */
