/* SPDX-License-Identifier: MIT
 *
 * Weighted least squares for a scale and integer levels. For fixed levels l the best scale of sum w (x - s l)^2 is
 * s = sum w x l / sum w l^2, and the error falls by (sum w x l)^2 / sum w l^2: trials are compared by that quotient.
 */
#include "type/fit.h"

#include <string.h>

float fit_peak(int n, const float * x) {
    float peak = 0.0f, magnitude = 0.0f;
    for (int i = 0; i < n; i++) {
        const float a = fabsf(x[i]);
        if (a > magnitude) {
            magnitude = a;
            peak      = x[i];
        }
    }
    return peak;
}

float fit_sum_squares(int64_t n, const float * x, float limit) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        const float v = fit_limit(x[i], limit);
        sum += v * v;
    }
    return sum;
}

void fit_importance(int n, const float * x, const float * importance, float sigma2, float * w) {
    for (int i = 0; i < n; i++) {
        w[i] = importance[i] * sqrtf(sigma2 + x[i] * x[i]);
    }
}

static void round_all(int n, const float * x, float inverse, int low, int high, int * levels) {
    for (int i = 0; i < n; i++) {
        levels[i] = fit_level(inverse * x[i], low, high);
    }
}

struct fit_moments fit_measure(int n, const float * x, const float * w, const int * levels) {
    struct fit_moments m = {0.0f, 0.0f};
    for (int i = 0; i < n; i++) {
        const float l = (float) levels[i];
        m.lx += w[i] * x[i] * l;
        m.l2 += w[i] * l * l;
    }
    return m;
}

/* Moves one level after the other to the place that is best for the scale of all others, if the quotient grows.
 * `bytes`: levels are kept in unsigned bytes, and the others must have a level other than zero. */
static void descend(int n, const float * x, const float * w, int low, int high, bool bytes, int * levels,
                    struct fit_moments * m) {
    bool changed = true;
    for (int round = 0; round < 5 && changed; round++) {
        changed = false;
        for (int i = 0; i < n; i++) {
            const float        old  = (float) levels[i];
            struct fit_moments rest = {m->lx - w[i] * x[i] * old, m->l2 - w[i] * old * old};
            if (!(rest.lx > 0.0f) || (bytes && !(rest.l2 > 0.0f))) {
                continue;
            }
            const int   level = fit_level(x[i] * rest.l2 / rest.lx, low, high);
            const float l     = (float) level;
            if (level == levels[i]) {
                continue;
            }
            rest.lx += w[i] * x[i] * l;
            rest.l2 += w[i] * l * l;
            if (rest.l2 > 0.0f && rest.lx * rest.lx * m->l2 > m->lx * m->lx * rest.l2) {
                levels[i] = bytes ? level & 255 : level;
                *m        = rest;
                changed   = true;
            }
        }
    }
}

static void store_shifted(int n, int shift, const int * levels, int8_t * out) {
    for (int i = 0; i < n; i++) {
        out[i] = (int8_t) (levels[i] + shift);
    }
}

static void squares(int n, const float * x, float * w) {
    for (int i = 0; i < n; i++) {
        w[i] = x[i] * x[i];
    }
}

float fit_symmetric(int n, int nmax, const float * x, const float * weights, int8_t * levels) {
    const float peak = fit_peak(n, x);
    if (fabsf(peak) < FIT_ZERO) {
        memset(levels, 0, (size_t) n);
        return 0.0f;
    }
    float own[FIT_MAX];
    if (weights == NULL) {
        squares(n, x, own);
        weights = own;
    }
    int best[FIT_MAX], trial[FIT_MAX];
    round_all(n, x, (float) -nmax / peak, -nmax, nmax - 1, best);
    struct fit_moments m     = fit_measure(n, x, weights, best);
    float              scale = m.l2 != 0.0f ? m.lx / m.l2 : 0.0f;
    float              gain  = scale * m.lx;
    for (int step = -9; step <= 9; step++) {
        if (step == 0) {
            continue;
        }
        round_all(n, x, -((float) nmax + 0.1f * (float) step) / peak, -nmax, nmax - 1, trial);
        m = fit_measure(n, x, weights, trial);
        if (m.l2 > 0.0f && m.lx * m.lx > gain * m.l2) {
            memcpy(best, trial, sizeof(best[0]) * (size_t) n);
            scale = m.lx / m.l2;
            gain  = scale * m.lx;
        }
    }
    store_shifted(n, nmax, best, levels);
    return scale;
}

float fit_symmetric_descent(int n, int nmax, const float * x, int8_t * levels) {
    const float peak = fit_peak(n, x);
    if (fabsf(peak) < FIT_ZERO) {
        memset(levels, 0, (size_t) n);
        return 0.0f;
    }
    float w[FIT_MAX];
    int   best[FIT_MAX];
    squares(n, x, w);
    round_all(n, x, (float) -nmax / peak, -nmax, nmax - 1, best);
    struct fit_moments m = fit_measure(n, x, w, best);
    descend(n, x, w, -nmax, nmax - 1, false, best, &m);
    store_shifted(n, nmax, best, levels);
    return m.l2 > 0.0f ? m.lx / m.l2 : 0.0f;
}

static float positive_error(int n, int nmax, const float * x, const float * w, float inverse, bool bytes) {
    const float scale = 1.0f / inverse;
    float       error = 0.0f;
    for (int i = 0; i < n; i++) {
        const int   level      = fit_level(inverse * x[i], -4194303, nmax);
        const float difference = x[i] - scale * (float) (bytes ? level & 255 : level);
        error += w[i] * difference * difference;
    }
    return error;
}

float fit_positive(int n, int nmax, const float * x, const float * weights, uint8_t * levels) {
    float max = 0.0f;
    for (int i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    if (max < FIT_ZERO) {
        memset(levels, 0, (size_t) n);
        return 0.0f;
    }
    float inverse = (float) nmax / max;
    float least   = positive_error(n, nmax, x, weights, inverse, true);
    for (int step = -4; step <= 4; step++) {
        const float trial = (0.1f * (float) step + (float) nmax) / max;
        const float error = step == 0 ? least : positive_error(n, nmax, x, weights, trial, false);
        if (error < least) {
            least   = error;
            inverse = trial;
        }
    }
    int best[FIT_MAX];
    round_all(n, x, inverse, -4194303, nmax, best);
    struct fit_moments m = fit_measure(n, x, weights, best);
    for (int i = 0; i < n; i++) {
        best[i] &= 255;
    }
    descend(n, x, weights, -4194303, nmax, true, best, &m);
    for (int i = 0; i < n; i++) {
        levels[i] = (uint8_t) fit_clamp(best[i], 0, nmax);
    }
    return m.l2 > 0.0f ? m.lx / m.l2 : 0.0f;
}

/* Error of the levels under scale * level + offset. */
static float affine_error(int n, const float * x, const float * w, const uint8_t * levels, float scale, float offset,
                          bool absolute) {
    float error = 0.0f;
    for (int i = 0; i < n; i++) {
        const float difference = scale * (float) levels[i] + offset - x[i];
        error += w[i] * (absolute ? fabsf(difference) : difference * difference);
    }
    return error;
}

struct line {
    float scale;
    float offset;
};

/* The weighted regression line through (level, x), its offset kept at or below zero. False where the levels are all
 * equal. */
static bool regress(int n, const float * x, const float * w, const uint8_t * levels, float sum_w, float sum_x,
                    struct line * out) {
    float sum_l = 0.0f, sum_l2 = 0.0f, sum_xl = 0.0f;
    for (int i = 0; i < n; i++) {
        const float l = (float) levels[i];
        sum_l += w[i] * l;
        sum_l2 += w[i] * l * l;
        sum_xl += w[i] * l * x[i];
    }
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0.0f)) {
        return false;
    }
    out->scale  = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    out->offset = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    if (out->offset > 0.0f) {
        out->offset = 0.0f;
        out->scale  = sum_xl / sum_l2;
    }
    return true;
}

float fit_affine(int n, int nmax, const float * x, const float * weights, const struct fit_trials * trials,
                 uint8_t * levels, float * offset) {
    float min = x[0], max = x[0];
    float sum_w = weights[0], sum_x = weights[0] * x[0];
    for (int i = 1; i < n; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
        sum_w += weights[i];
        sum_x += weights[i] * x[i];
    }
    min                 = min > 0.0f ? 0.0f : min;
    const float inverse = fit_ratio((float) nmax, max - min);
    if (inverse == 0.0f) {
        memset(levels, 0, (size_t) n);
        *offset = -min;
        return 0.0f;
    }
    for (int i = 0; i < n; i++) {
        levels[i] = (uint8_t) fit_level(inverse * (x[i] - min), 0, nmax);
    }
    struct line best  = {1.0f / inverse, min};
    float       least = affine_error(n, x, weights, levels, best.scale, best.offset, trials->absolute);
    uint8_t     trial[FIT_MAX];
    for (int step = 0; step <= trials->count; step++) {
        /* Each trial starts from the best offset so far. */
        const float trial_inverse = (trials->first + trials->step * (float) step + (float) nmax) / (max - best.offset);
        for (int i = 0; i < n; i++) {
            trial[i] = (uint8_t) fit_level(trial_inverse * (x[i] - best.offset), 0, nmax);
        }
        struct line line;
        if (!regress(n, x, weights, trial, sum_w, sum_x, &line)) {
            continue;
        }
        const float error = affine_error(n, x, weights, trial, line.scale, line.offset, trials->absolute);
        if (error < least) {
            memcpy(levels, trial, (size_t) n);
            least = error;
            best  = line;
        }
    }
    *offset = -best.offset;
    return best.scale;
}
