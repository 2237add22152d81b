/* SPDX-License-Identifier: MIT
 *
 * Fitting groups of 32 values with the sixteen values of IQ4.
 */
#include "type/iq4.h"

void iq4_nearest(const float * x, float inverse, uint8_t * codes) {
    /* The code is the number of middles between neighbouring values that lie at or below. */
    int n[IQ4_GROUP] = {0};
    for (int i = 0; i < 15; i++) {
        const float middle = 0.5f * (float) (iq4_values[i] + iq4_values[i + 1]);
        for (int j = 0; j < IQ4_GROUP; j++) {
            n[j] += inverse * x[j] >= middle;
        }
    }
    for (int j = 0; j < IQ4_GROUP; j++) {
        codes[j] = (uint8_t) n[j];
    }
}

void iq4_weigh(const float * x, const float * importance, float sigma2, float * w) {
    if (importance != NULL) {
        fit_importance(IQ4_GROUP, x, importance, sigma2, w);
        return;
    }
    for (int j = 0; j < IQ4_GROUP; j++) {
        w[j] = x[j] * x[j];
    }
}

static struct fit_moments moments(const float * x, const float * w, float inverse) {
    struct fit_moments m = {0.0f, 0.0f};
    uint8_t            codes[IQ4_GROUP];
    iq4_nearest(x, inverse, codes);
    for (int j = 0; j < IQ4_GROUP; j++) {
        const float q = iq4_values[codes[j]];
        m.lx += w[j] * q * x[j];
        m.l2 += w[j] * q * q;
    }
    return m;
}

float iq4_fit(const float * x, const float * w, int n_trials) {
    const float peak = fit_peak(IQ4_GROUP, x);
    if (fabsf(peak) < FIT_ZERO) {
        return 0.0f;
    }
    const float        first = n_trials > 0 ? -peak / iq4_values[0] : peak / iq4_values[0];
    struct fit_moments m     = moments(x, w, 1.0f / first);
    float              scale = m.l2 > 0.0f ? m.lx / m.l2 : 0.0f;
    float              gain  = scale * m.lx;
    for (int trial = -n_trials; trial <= n_trials; trial++) {
        m = moments(x, w, (float) (trial + iq4_values[0]) / peak);
        if (m.l2 > 0.0f && m.lx * m.lx > gain * m.l2) {
            scale = m.lx / m.l2;
            gain  = scale * m.lx;
        }
    }
    return isfinite(scale) ? scale : 0.0f;
}
