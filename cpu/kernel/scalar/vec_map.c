/* SPDX-License-Identifier: MIT
 *
 * Functions of one number and gated units, scalar: the reference of the vector forms. The formulas are those of
 * ops.tsv; 0.5*(1 + tanh u) is written as 1/(1 + exp(-2u)), which is the same number and keeps its precision where it is
 * small. GELU is evaluated in F32, not looked up in a half-precision table.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec_constants.h"

static float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

/* x*sigmoid(s*x). Below -GATE_LOW the result is -0 in F32; stopping there keeps -infinity from becoming NaN. */
static float gate(float x, float s) {
    const float v = x < -CPU_VEC_GATE_LOW ? -CPU_VEC_GATE_LOW : x;
    return v / (1.0f + expf(-s * v));
}

static float gelu(float x) {
    const float v = x < -CPU_VEC_GATE_LOW ? -CPU_VEC_GATE_LOW : x;
    return v / (1.0f + expf(-2.0f * CPU_VEC_SQRT_2_PI * v * (1.0f + CPU_VEC_GELU_CUBIC * v * v)));
}

static float gelu_erf(float x) {
    const float v = x < -CPU_VEC_GATE_LOW ? -CPU_VEC_GATE_LOW : x;
    return 0.5f * v * erfcf(-v * CPU_VEC_SQRT_HALF);
}

static float hard(float x) {
    const float v = (x + 3.0f) / 6.0f;
    return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
}

#define MAP(name, expression)                                           \
    void f32_##name##__scalar(int64_t n, float * y, const float * in) { \
        for (int64_t i = 0; i < n; i++) {                               \
            const float x = in[i];                                      \
            y[i]          = expression;                                 \
        }                                                               \
    }

MAP(abs, fabsf(x))
MAP(sgn, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f)
MAP(neg, -x)
MAP(step, x > 0.0f ? 1.0f : 0.0f)
MAP(tanh, tanhf(x))
MAP(elu, x > 0.0f ? x : expm1f(x))
MAP(relu, x < 0.0f ? 0.0f : x)
MAP(sigmoid, sigmoid(x))
MAP(gelu, gelu(x))
MAP(gelu_quick, gate(x, CPU_VEC_GELU_QUICK))
MAP(silu, gate(x, 1.0f))
MAP(hardswish, x * hard(x))
MAP(hardsigmoid, hard(x))
MAP(exp, expf(x))
MAP(expm1, expm1f(x))
MAP(softplus, x > 20.0f ? x : log1pf(expf(x)))
MAP(gelu_erf, gelu_erf(x))
MAP(floor, floorf(x))
MAP(ceil, ceilf(x))
MAP(round, roundf(x))
MAP(trunc, truncf(x))
MAP(sqr, x * x)
MAP(sqrt, sqrtf(x))
MAP(log, logf(x))
MAP(sin, sinf(x))
MAP(cos, cosf(x))

void f32_xielu__scalar(int64_t n, float * y, const float * x, const float * params) {
    const float alpha_n = params[0], alpha_p = params[1], beta = params[2], eps = params[3];
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i];
        if (v > 0.0f) {
            y[i] = alpha_p * v * v + beta * v;
        } else {
            y[i] = alpha_n * (expm1f(v > eps ? eps : v) - v) + beta * v;
        }
    }
}

/* d/dx x*s(x) = s(x)*(1 + x*(1 - s(x))), s the sigmoid. */
void f32_silu_back__scalar(int64_t n, float * dx, const float * dy, const float * x) {
    for (int64_t i = 0; i < n; i++) {
        const float s = sigmoid(x[i]);
        dx[i]         = dy[i] * s * (1.0f + x[i] * (1.0f - s));
    }
}

#define GLU(name, expression)                                                                                       \
    void f32_##name##__scalar(int64_t n, float * y, const float * gates, const float * ups, float alpha,            \
                              float limit) {                                                                        \
        (void) alpha;                                                                                               \
        (void) limit;                                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                                           \
            const float g = gates[i], u = ups[i];                                                                   \
            y[i] = expression;                                                                                      \
        }                                                                                                           \
    }

static float below(float x, float high) {
    return x > high ? high : x;
}

static float between(float x, float low, float high) {
    return x < low ? low : x > high ? high : x;
}

GLU(reglu, (g < 0.0f ? 0.0f : g) * u)
GLU(geglu, gelu(g) * u)
GLU(swiglu, gate(g, 1.0f) * u)
GLU(geglu_erf, gelu_erf(g) * u)
GLU(geglu_quick, gate(g, CPU_VEC_GELU_QUICK) * u)
GLU(swiglu_oai, below(g, limit) * sigmoid(alpha * below(g, limit)) * (between(u, -limit, limit) + 1.0f))
GLU(swiglu_clamp, gate(below(g, limit), 1.0f) * between(u, -limit, limit))
