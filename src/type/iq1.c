/* SPDX-License-Identifier: MIT
 *
 * Parts of the fit of IQ1_S and IQ1_M.
 */
#include "type/iq1.h"

const float iq1_values[2][3] = {
    {-1.0f + IQ1_DELTA, IQ1_DELTA, 1.0f + IQ1_DELTA},
    {-1.0f - IQ1_DELTA, -IQ1_DELTA, 1.0f - IQ1_DELTA},
};

void iq1_sort(int n, const float * x, int * order) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && x[order[at - 1]] > x[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

void iq1_assign(int n, const int * order, int i1, int i2, bool turned, int * levels) {
    for (int i = 0; i < n; i++) {
        const int level  = i < i1 ? 0 : i < i2 ? 1 : 2;
        levels[order[i]] = turned ? 2 - level : level;
    }
}

static float fit_scale(const struct grid_search * search, int n, const float * x, const float * w,
                       const float * const * values, const uint16_t * points, float scale) {
    float qx = 0.0f, q2 = 0.0f;
    for (int i = 0; i < n; i++) {
        const float q = values[i / 8][grid_level(search->grid, points[i / 8], i % 8)];
        qx += w[i] * q * x[i];
        q2 += w[i] * q * q;
    }
    return qx > 0.0f && q2 > 0.0f ? qx / q2 : scale;
}

float iq1_snap(const struct grid_search * search, int n, const float * x, const float * w, const int * levels,
               const float * const * values, float scale, uint16_t * points) {
    bool all_on_grid = true;
    for (int k = 0; k < n / 8; k++) {
        unsigned packed = 0;
        for (int j = 0; j < 8; j++) {
            packed |= (unsigned) levels[8 * k + j] << (2 * j);
        }
        int point = grid_find(search, packed);
        if (point < 0) {
            all_on_grid = false;
            point       = grid_nearest(search, packed, x + 8 * k, w + 8 * k, scale, values[k]);
        }
        points[k] = (uint16_t) point;
    }
    const float fitted = all_on_grid ? scale : fit_scale(search, n, x, w, values, points, scale);
    return isfinite(fitted) ? fitted : 0.0f;
}

void iq1_weigh(int n, const float * x, const float * importance, float sigma2, float * w) {
    if (importance != NULL) {
        fit_importance(n, x, importance, sigma2, w);
        return;
    }
    for (int i = 0; i < n; i++) {
        w[i] = x[i] * x[i];
    }
}
