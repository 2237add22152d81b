/* SPDX-License-Identifier: MIT
 *
 * Elementary functions on one vector, in the operations of an ISA's simd.h (include that first). Polynomials interpolate at
 * Chebyshev nodes; the relative error of each is stated and lies under half a unit of F32 (6e-8).
 */
#ifndef GRAFT_CPU_VEC_FUNCTION_H
#define GRAFT_CPU_VEC_FUNCTION_H

#include "kernel/vec_constants.h"

#define LN2_HI 0x1.62e430p-1f
#define LN2_LO (-0x1.05c610p-29f)
#define LOG2_E 1.44269504088896340736f

static inline vf vf_abs(vf x) {
    return vf_from_bits(vi_and(vi_from_bits(x), vi_set(0x7FFFFFFF)));
}

static inline vf vf_neg(vf x) {
    return vf_from_bits(vi_xor(vi_from_bits(x), vi_set((int32_t) 0x80000000)));
}

/* Magnitude of x with the sign of s. */
static inline vf vf_with_sign(vf x, vf s) {
    return vf_from_bits(vi_or(vi_from_bits(vf_abs(x)), vi_and(vi_from_bits(s), vi_set((int32_t) 0x80000000))));
}

static inline vf vf_power_of_2(vi n) {
    return vf_from_bits(vi_shift_left(vi_add(n, vi_set(127)), 23));
}

/* x = n*ln 2 + r, |r| <= ln(2)/2: gives e^r - 1 = r + r^2*q(r), q of relative error 1.1e-8 in the whole. */
static inline vf vf_reduced_expm1(vf x, vi * n) {
    const vf k = vf_round_even(vf_mul(x, vf_set(LOG2_E)));
    const vf r = vf_fnma(k, vf_set(LN2_LO), vf_fnma(k, vf_set(LN2_HI), x));
    vf       q = vf_set(0x1.6d1606p-10f);
    q          = vf_fma(q, r, vf_set(0x1.12106cp-7f));
    q          = vf_fma(q, r, vf_set(0x1.555516p-5f));
    q          = vf_fma(q, r, vf_set(0x1.5554d8p-3f));
    q          = vf_fma(q, r, vf_set(0.5f));
    *n         = vi_round(k);
    return vf_fma(vf_mul(r, r), q, r);
}

/* 2^n is applied in two halves, so that results become subnormal and infinite where they should. */
static inline vf vf_exp(vf x) {
    vi       n;
    const vf m  = vf_reduced_expm1(vf_min(vf_set(89.0f), vf_max(vf_set(-104.5f), x)), &n);
    const vi n1 = vi_shift_right_signed(n, 1);
    return vf_mul(vf_mul(vf_add(m, vf_set(1.0f)), vf_power_of_2(n1)), vf_power_of_2(vi_sub(n, n1)));
}

/* 2*(2^(n-1)*m + (2^(n-1) - 1/2)): keeps the precision of small x, and 2^(n-1) is finite wherever the result is. */
static inline vf vf_expm1(vf x) {
    vi       n;
    const vf m = vf_reduced_expm1(vf_min(vf_set(89.0f), vf_max(vf_set(-40.0f), x)), &n);
    const vf s = vf_power_of_2(vi_sub(n, vi_set(1)));
    const vf v = vf_fma(s, m, vf_sub(s, vf_set(0.5f)));
    return vf_select(vf_equal(x, vf_set(0.0f)), x, vf_add(v, v)); /* -0 stays -0 */
}

/* x = 2^e*(1 + f), 1 + f in [sqrt(1/2), sqrt 2): e*ln 2 + f - f^2/2 + f^3*q(f), relative error 3.3e-9. */
static inline vf vf_log(vf x) {
    const vm tiny   = vf_less(x, vf_set(0x1p-126f));
    const vf scaled = vf_select(tiny, vf_mul(x, vf_set(0x1p23f)), x);
    const vi bits   = vi_from_bits(scaled);
    const vi shift  = vi_shift_right_signed(vi_sub(bits, vi_set(0x3F3504F3)), 23);
    const vf f      = vf_sub(vf_from_bits(vi_sub(bits, vi_shift_left(shift, 23))), vf_set(1.0f));
    const vf e      = vf_add(vf_from_int(shift), vf_select(tiny, vf_set(-23.0f), vf_set(0.0f)));
    vf       q      = vf_set(0.06980701958664966f);
    q               = vf_fma(q, f, vf_set(-0.11494546612890214f));
    q               = vf_fma(q, f, vf_set(0.1168907113745787f));
    q               = vf_fma(q, f, vf_set(-0.12424037717650198f));
    q               = vf_fma(q, f, vf_set(0.1424855126436147f));
    q               = vf_fma(q, f, vf_set(-0.16667850972851767f));
    q               = vf_fma(q, f, vf_set(0.2000073050385224f));
    q               = vf_fma(q, f, vf_set(-0.2499999662693948f));
    q               = vf_fma(q, f, vf_set(0.3333333112188015f));
    const vf f2     = vf_mul(f, f);
    vf       v      = vf_fma(e, vf_set(LN2_LO), vf_fma(vf_mul(f2, f), q, vf_mul(f2, vf_set(-0.5f))));
    v               = vf_fma(e, vf_set(LN2_HI), vf_add(v, f));
    v               = vf_select(vf_equal(x, vf_set(0.0f)), vf_set(-INFINITY), v);
    v               = vf_select(vf_less(x, vf_set(0.0f)), vf_set(NAN), v);
    return vf_select(vf_less(vf_abs(x), vf_set(INFINITY)), v, vf_select(vf_equal(x, vf_set(-INFINITY)), vf_set(NAN), x));
}

/* log(1 + e) for e >= 0: what the sum 1 + e loses is put back, divided by it. */
static inline vf vf_log1p_positive(vf e) {
    const vf one = vf_set(1.0f);
    const vf u   = vf_add(one, e);
    return vf_add(vf_log(u), vf_div(vf_sub(e, vf_sub(u, one)), u));
}

static inline vf vf_softplus(vf x) {
    const vf high = vf_set(20.0f);
    return vf_select(vf_less(high, x), x, vf_log1p_positive(vf_exp(vf_min(high, x))));
}

static inline vf vf_tanh(vf x) {
    const vf t = vf_expm1(vf_mul(vf_set(2.0f), vf_min(vf_set(20.0f), vf_abs(x))));
    return vf_with_sign(vf_div(t, vf_add(t, vf_set(2.0f))), x);
}

static inline vf vf_sigmoid(vf x) {
    const vf one = vf_set(1.0f);
    return vf_div(one, vf_add(one, vf_exp(vf_neg(x))));
}

static inline vf vf_gate_range(vf x) {
    return vf_max(vf_set(-CPU_VEC_GATE_LOW), x);
}

/* v/(1 + exp(-z)) */
static inline vf vf_gated(vf v, vf z) {
    return vf_div(v, vf_add(vf_set(1.0f), vf_exp(vf_neg(z))));
}

static inline vf vf_silu(vf x) {
    const vf v = vf_gate_range(x);
    return vf_gated(v, v);
}

static inline vf vf_gelu_quick(vf x) {
    const vf v = vf_gate_range(x);
    return vf_gated(v, vf_mul(v, vf_set(CPU_VEC_GELU_QUICK)));
}

static inline vf vf_gelu(vf x) {
    const vf v = vf_gate_range(x);
    const vf c = vf_fma(vf_mul(v, v), vf_set(CPU_VEC_GELU_CUBIC), vf_set(1.0f));
    return vf_gated(v, vf_mul(vf_mul(v, vf_set(2.0f * CPU_VEC_SQRT_2_PI)), c));
}

/* x/2*erfc(-x/sqrt 2). With t = |x|/sqrt 2 and u = (t - 3)/(t + 3): erfc(t) = exp(-t^2)*p(u)/(1 + 2t), relative error of p
 * 3.3e-9 up to t = 10.5; the rounding of t^2 is corrected, for exp magnifies it. */
static inline vf vf_gelu_erf(vf x) {
    const vf v     = vf_gate_range(vf_min(vf_set(CPU_VEC_GATE_LOW), x));
    const vf t     = vf_min(vf_set(11.0f), vf_mul(vf_abs(v), vf_set(CPU_VEC_SQRT_HALF)));
    const vf three = vf_set(3.0f);
    const vf u     = vf_div(vf_sub(t, three), vf_add(t, three));
    const vf t2    = vf_mul(t, t);
    const vf lost  = vf_fma(t, t, vf_neg(t2));
    vf       p     = vf_set(-0.0002735960014084859f);
    p              = vf_fma(p, u, vf_set(-0.0007881207588103577f));
    p              = vf_fma(p, u, vf_set(0.002001771221866144f));
    p              = vf_fma(p, u, vf_set(0.0025768565192393024f));
    p              = vf_fma(p, u, vf_set(-0.023794664531034383f));
    p              = vf_fma(p, u, vf_set(0.06829302905536015f));
    p              = vf_fma(p, u, vf_set(-0.11927191933797751f));
    p              = vf_fma(p, u, vf_set(0.12964671485281232f));
    p              = vf_fma(p, u, vf_set(-0.04756231816798331f));
    p              = vf_fma(p, u, vf_set(-0.1356211490599419f));
    p              = vf_fma(p, u, vf_set(1.253008058137037f));
    const vf e     = vf_exp(vf_neg(t2));
    const vf erfc  = vf_div(vf_mul(vf_fnma(e, lost, e), p), vf_fma(t, vf_set(2.0f), vf_set(1.0f)));
    const vf tail  = vf_mul(vf_mul(v, vf_set(0.5f)), erfc);
    return vf_select(vf_less(x, vf_set(0.0f)), tail, vf_sub(x, tail));
}

/* r in [-pi/4, pi/4] and the number of quarter turns: relative error of the polynomials 1.5e-8 and 1.2e-9. */
static inline void vf_sin_cos(vf r, vi quadrant, vf * sine, vf * cosine) {
    const vf r2 = vf_mul(r, r);
    vf       s  = vf_set(-0.000195828306788358f);
    s           = vf_fma(s, r2, vf_set(0.008332724613783694f));
    s           = vf_fma(s, r2, vf_set(-0.16666664539365847f));
    s           = vf_fma(vf_mul(s, r2), r, r);
    vf c        = vf_set(2.4542871110870263e-05f);
    c           = vf_fma(c, r2, vf_set(-0.0013888279330556918f));
    c           = vf_fma(c, r2, vf_set(0.04166666453632113f));
    c           = vf_fma(vf_mul(r2, r2), c, vf_fma(r2, vf_set(-0.5f), vf_set(1.0f)));
    const vm even      = vi_equal(vi_and(quadrant, vi_set(1)), vi_set(0));
    const vi flip_sin  = vi_shift_left(vi_and(quadrant, vi_set(2)), 30);
    const vi flip_cos  = vi_shift_left(vi_and(vi_add(quadrant, vi_set(1)), vi_set(2)), 30);
    *sine   = vf_from_bits(vi_xor(vi_from_bits(vf_select(even, s, c)), flip_sin));
    *cosine = vf_from_bits(vi_xor(vi_from_bits(vf_select(even, c, s)), flip_cos));
}

#endif /* GRAFT_CPU_VEC_FUNCTION_H */
