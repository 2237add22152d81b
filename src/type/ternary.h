/* SPDX-License-Identifier: MIT
 *
 * The fit of the ternary formats (TQ1_0, TQ2_0; models trained to weights -1, 0 and 1).
 */
#ifndef GRAFT_TYPE_TERNARY_H
#define GRAFT_TYPE_TERNARY_H

#include "type/block.h"
#include "type/eight.h"

/* 256 trits 0, 1, 2 for values near -scale, 0, scale; returns the scale, the greatest magnitude. */
static inline float ternary_fit(const float * x, uint8_t * trits) {
    float values[QK_K];
    type_stage(QK_K, x, TYPE_HALF_LIMIT, values);
    const float scale   = fabsf(fit_peak(QK_K, values));
    const float inverse = fit_ratio(1.0f, scale);
    for (int j = 0; j < QK_K; j++) {
        trits[j] = (uint8_t) (eight_round(values[j] * inverse) + 1);
    }
    return scale;
}

#endif /* GRAFT_TYPE_TERNARY_H */
