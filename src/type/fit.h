/* SPDX-License-Identifier: MIT
 *
 * The searches that encoders share. Each takes n values (at most FIT_MAX) and finds integer levels and a scale so that
 * scale * level (+ offset) is near the values in the weighted least squares sense. Sums run in index order and every
 * product is rounded on its own: the bytes of an encoded file depend on it.
 */
#ifndef GRAFT_TYPE_FIT_H
#define GRAFT_TYPE_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "ggml-impl.h"

#define FIT_MAX 32

/* Blocks whose greatest magnitude is below this are encoded as zeros. */
#define FIT_ZERO 1e-15f

/* Nearest integer, ties to even, saturated at +-4194303; NaN gives the lower end. Adding 1.5 * 2^23 puts the integer in
 * the low bits of the fraction, which compilers vectorise on every machine. */
static inline int fit_round(float v) {
    v = v > -4194303.0f ? v : -4194303.0f;
    v = v < 4194303.0f ? v : 4194303.0f;
    return (int) (fp32_to_bits(v + 12582912.0f) - 0x4B400000u);
}

static inline int fit_clamp(int v, int low, int high) {
    return v < low ? low : v > high ? high : v;
}

static inline int fit_level(float v, int low, int high) {
    return fit_clamp(fit_round(v), low, high);
}

/* a / b where that is a finite number, 0 elsewhere: the inverse of a scale that is zero or all but zero. */
static inline float fit_ratio(float a, float b) {
    const float q = a / b;
    return b != 0.0f && fabsf(q) <= 3.4028235e38f ? q : 0.0f;
}

/* Within +-limit; NaN becomes 0. On the bits, where no comparison can trap, so that loops over it are vectorised. */
static inline float fit_limit(float v, float limit) {
    const uint32_t bits = fp32_to_bits(v), top = fp32_to_bits(limit);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    const uint32_t cut       = magnitude < top ? magnitude : top;
    return fp32_from_bits((magnitude <= 0x7F800000u ? cut : 0u) | (bits & 0x80000000u));
}

/* The element of greatest magnitude (the first one of equals), with its sign. */
float fit_peak(int n, const float * x);

/* Sum of the squares of the values, each limited first. */
float fit_sum_squares(int64_t n, const float * x, float limit);

/* Weights of values from the importance of their columns: w[i] = importance[i] * sqrt(sigma2 + x[i]^2). */
void fit_importance(int n, const float * x, const float * importance, float sigma2, float * w);

/* Scale and levels -nmax .. nmax - 1, stored with nmax added, from trials of 19 scales around -nmax / peak. weights may
 * be NULL: the squares of the values. A block of zeros gives scale 0 and stored levels 0. */
float fit_symmetric(int n, int nmax, const float * x, const float * weights, int8_t * levels);

/* The same range and storage, weights x^2: the scale -nmax / peak, then up to five rounds that move one level at a time
 * as long as the fit gets better. */
float fit_symmetric_descent(int n, int nmax, const float * x, int8_t * levels);

/* The sums that a weighted least squares scale is made of. */
struct fit_moments {
    float lx; /* sum w x l */
    float l2; /* sum w l l */
};
struct fit_moments fit_measure(int n, const float * x, const float * w, const int * levels);

/* Scale for values >= 0 with levels 0 .. nmax: nine trials, then the same descent. A value below zero is allowed for
 * its part in the scale; its level wraps to a byte between the steps, as it does where files come from. */
float fit_positive(int n, int nmax, const float * x, const float * weights, uint8_t * levels);

/* Which scales fit_affine tries: (first + step * i + nmax) / (max - best offset so far) for i = 0 .. count. */
struct fit_trials {
    float first;
    float step;
    int   count;
    bool  absolute; /* compare trials by the weighted sum of errors instead of their squares */
};

/* x ~ scale * level - *offset with levels 0 .. nmax and *offset >= 0. Returns the scale. */
float fit_affine(int n, int nmax, const float * x, const float * weights, const struct fit_trials * trials,
                 uint8_t * levels, float * offset);

#endif /* GRAFT_TYPE_FIT_H */
