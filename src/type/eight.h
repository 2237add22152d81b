/* SPDX-License-Identifier: MIT
 *
 * The fit that Q8_0 and Q8_1 share: the scale is the greatest magnitude over 127, levels are rounded with ties away
 * from zero.
 */
#ifndef GRAFT_TYPE_EIGHT_H
#define GRAFT_TYPE_EIGHT_H

#include "type/block.h"

#define EIGHT_BLOCK 32

/* roundf for magnitudes below 2^22, in a form that is vectorised: adding the number just below one half and cutting off
 * differs from roundf for no such value. */
static inline int eight_round(float v) {
    return (int) (v + (v < 0.0f ? -0x1.fffffep-2f : 0x1.fffffep-2f));
}

static inline float eight_encode(const float * x, int8_t * levels) {
    float values[EIGHT_BLOCK];
    type_stage(EIGHT_BLOCK, x, TYPE_HALF_LIMIT * 127.0f, values);
    const float scale   = fabsf(fit_peak(EIGHT_BLOCK, values)) / 127.0f;
    const float inverse = fit_ratio(1.0f, scale);
    for (int j = 0; j < EIGHT_BLOCK; j++) {
        levels[j] = (int8_t) eight_round(values[j] * inverse);
    }
    return scale;
}

#endif /* GRAFT_TYPE_EIGHT_H */
