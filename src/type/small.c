/* SPDX-License-Identifier: MIT
 *
 * Fitting blocks of 32 values with 4 or 5 bits.
 */
#include "type/small.h"

float small_symmetric(const float * x, int half, uint8_t * levels) {
    const float scale   = fit_peak(SMALL_BLOCK, x) / (float) -half;
    const float inverse = fit_ratio(1.0f, scale);
    const float shift   = (float) half + 0.5f;
    for (int j = 0; j < SMALL_BLOCK; j++) {
        levels[j] = (uint8_t) fit_clamp((int) (x[j] * inverse + shift), 0, 2 * half - 1);
    }
    return scale;
}

float small_affine(const float * x, int nmax, uint8_t * levels, float * min) {
    float low = x[0], high = x[0];
    for (int j = 1; j < SMALL_BLOCK; j++) {
        low  = x[j] < low ? x[j] : low;
        high = x[j] > high ? x[j] : high;
    }
    low                 = fit_limit(low, TYPE_HALF_LIMIT);
    const float scale   = (high - low) / (float) nmax;
    const float inverse = fit_ratio(1.0f, scale);
    for (int j = 0; j < SMALL_BLOCK; j++) {
        levels[j] = (uint8_t) fit_clamp((int) ((x[j] - low) * inverse + 0.5f), 0, nmax);
    }
    *min = low;
    return scale;
}

float small_symmetric_weighted(const float * x, int half, const float * weights, uint8_t * levels) {
    int8_t      shifted[SMALL_BLOCK];
    const float scale = fit_symmetric(SMALL_BLOCK, half, x, weights, shifted);
    for (int j = 0; j < SMALL_BLOCK; j++) {
        levels[j] = (uint8_t) shifted[j];
    }
    return scale;
}

float small_affine_weighted(const float * x, int nmax, const float * weights, uint8_t * levels, float * min) {
    static const struct fit_trials trials = {-0.9f, 0.05f, 36, false};
    float                          offset;
    const float                    scale = fit_affine(SMALL_BLOCK, nmax, x, weights, &trials, levels, &offset);
    *min                                 = -offset;
    return scale;
}

float small_row_sigma2(const float * x, int64_t k, float limit) {
    return fit_sum_squares(k, x, limit) / (float) k;
}
