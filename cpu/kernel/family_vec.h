/* SPDX-License-Identifier: MIT
 *
 * Rows of numbers: conversions, arithmetic, functions, sums, rotations. All that is not a matrix product is made of these.
 *
 * One number more than family.h promises: where a result element depends on one element of each input (everything but
 * the sums), it has the same bits wherever it stands in the row, in the vectors or in the tail. Workers may so cut a row
 * anywhere. Sums are taken in a fixed order that depends on n alone: blocks of CPU_VEC_BLOCK values in F32 lanes, the
 * blocks in F64.
 *
 * In functions of two and more inputs the result may lie over any one of them. Bounds, against the exact value: arithmetic
 * and conversions are correctly rounded; functions are within 4 units in the last place plus 1e-36. Gates (silu, gelu, ...)
 * are within 1e-7 there: far out their relative error grows with x^2.
 */
#ifndef GRAFT_CPU_FAMILY_VEC_H
#define GRAFT_CPU_FAMILY_VEC_H

#include <stdint.h>

#include "ggml.h"

#define CPU_VEC_BLOCK 1024

typedef void (*cpu_vec_map_fn)(int64_t n, float * y, const float * x);
typedef void (*cpu_vec_binary_fn)(int64_t n, float * y, const float * a, const float * b);

/* y = act(gate) * up, with the parameters of the SWIGLU variants (0 where there are none). */
typedef void (*cpu_vec_glu_fn)(int64_t n, float * y, const float * gate, const float * up, float alpha, float limit);

struct cpu_vec_kernels {
    /* Conversions; not in place. Rounding to nearest even; NaN stays NaN. */
    void (*f16_to_f32)(int64_t n, float * y, const ggml_fp16_t * x);
    void (*f32_to_f16)(int64_t n, ggml_fp16_t * y, const float * x);
    void (*bf16_to_f32)(int64_t n, float * y, const ggml_bf16_t * x);
    void (*f32_to_bf16)(int64_t n, ggml_bf16_t * y, const float * x);

    /* Arithmetic */
    cpu_vec_binary_fn add, sub, mul, div;
    void (*fill)(int64_t n, float * y, float value);
    void (*scale)(int64_t n, float * y, const float * x, float factor, float bias);  /* x*factor + bias; bias 0 adds nothing */
    void (*mad)(int64_t n, float * y, const float * x, float factor);               /* y += x*factor */
    void (*clamp)(int64_t n, float * y, const float * x, float low, float high);    /* NaN stays NaN */
    void (*leaky_relu)(int64_t n, float * y, const float * x, float slope);

    /* Functions of one number. unary goes by enum ggml_unary_op; XIELU has parameters and stands apart. The gates (silu,
     * gelu, ...) tend to their limits: -0 at -infinity. */
    cpu_vec_map_fn unary[GGML_UNARY_OP_COUNT];
    cpu_vec_map_fn sqr, sqrt, log, sin, cos;
    void (*xielu)(int64_t n, float * y, const float * x, const float * params); /* alpha_n, alpha_p, beta, eps as stored */
    void (*silu_back)(int64_t n, float * dx, const float * dy, const float * x);

    cpu_vec_glu_fn glu[GGML_GLU_OP_COUNT];

    /* Sums. Relative error against the sum of magnitudes: 64 units of 2^-24. */
    double (*sum)(int64_t n, const float * x);
    double (*sum_squares)(int64_t n, const float * x, float mean); /* of x - mean */
    double (*dot)(int64_t n, const float * a, const float * b);
    float (*max)(int64_t n, const float * x); /* -infinity for n = 0; a NaN is passed over */

    /* Softmax: y = x*factor + mask*slope (mask may be NULL) and its greatest value; then y = exp(x - max) and the sum. */
    float (*scale_mask)(int64_t n, float * y, const float * x, float factor, const float * mask, float slope);
    double (*exp_sum)(int64_t n, float * y, const float * x, float max);

    /* sin and cos of angles in radians, times factor; absolute error under 2e-7*factor. */
    void (*sin_cos)(int64_t n, float * sin, float * cos, const double * angle, float factor);
    /* Rotation of n pairs: adjacent ones (x[2i], x[2i+1]), or (a[i], b[i]). */
    void (*rotate_adjacent)(int64_t n, float * y, const float * x, const float * cos, const float * sin);
    void (*rotate_halves)(int64_t n, float * ya, float * yb, const float * a, const float * b, const float * cos,
                          const float * sin);
};

#endif /* GRAFT_CPU_FAMILY_VEC_H */
