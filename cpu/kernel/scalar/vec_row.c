/* SPDX-License-Identifier: MIT
 *
 * Rows of numbers, scalar: the reference of conversions, arithmetic, sums and rotations.
 */
#include <math.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"

void f16_to_f32__scalar(int64_t n, float * y, const ggml_fp16_t * x) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = ggml_compute_fp16_to_fp32(x[i]);
    }
}

void f32_to_f16__scalar(int64_t n, ggml_fp16_t * y, const float * x) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = ggml_compute_fp32_to_fp16(x[i]);
    }
}

void bf16_to_f32__scalar(int64_t n, float * y, const ggml_bf16_t * x) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = ggml_compute_bf16_to_fp32(x[i]);
    }
}

void f32_to_bf16__scalar(int64_t n, ggml_bf16_t * y, const float * x) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = ggml_compute_fp32_to_bf16(x[i]);
    }
}

#define BINARY(name, expression)                                                        \
    void f32_##name##__scalar(int64_t n, float * y, const float * a, const float * b) { \
        for (int64_t i = 0; i < n; i++) {                                               \
            y[i] = expression;                                                          \
        }                                                                               \
    }

BINARY(add, a[i] + b[i])
BINARY(sub, a[i] - b[i])
BINARY(mul, a[i] * b[i])
BINARY(div, a[i] / b[i])

void f32_fill__scalar(int64_t n, float * y, float value) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = value;
    }
}

void f32_scale__scalar(int64_t n, float * y, const float * x, float factor, float bias) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = bias == 0.0f ? x[i] * factor : fmaf(x[i], factor, bias);
    }
}

void f32_mad__scalar(int64_t n, float * y, const float * x, float factor) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = fmaf(x[i], factor, y[i]);
    }
}

void f32_clamp__scalar(int64_t n, float * y, const float * x, float low, float high) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] < low ? low : x[i] > high ? high : x[i];
    }
}

void f32_leaky_relu__scalar(int64_t n, float * y, const float * x, float slope) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = x[i] > 0.0f ? x[i] : x[i] * slope;
    }
}

double f32_sum__scalar(int64_t n, const float * x) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

double f32_sum_squares__scalar(int64_t n, const float * x, float mean) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const float d = x[i] - mean;
        sum += (double) d * d;
    }
    return sum;
}

double f32_dot__scalar(int64_t n, const float * a, const float * b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double) a[i] * b[i];
    }
    return sum;
}

float f32_max__scalar(int64_t n, const float * x) {
    float max = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

float f32_scale_mask__scalar(int64_t n, float * y, const float * x, float factor, const float * mask, float slope) {
    float max = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const float v = mask == NULL ? x[i] * factor : fmaf(mask[i], slope, x[i] * factor);
        max           = v > max ? v : max;
        y[i]          = v;
    }
    return max;
}

double f32_exp_sum__scalar(int64_t n, float * y, const float * x, float max) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        y[i] = expf(x[i] - max);
        sum += y[i];
    }
    return sum;
}

void f32_sin_cos__scalar(int64_t n, float * sin_out, float * cos_out, const double * angle, float factor) {
    for (int64_t i = 0; i < n; i++) {
        sin_out[i] = (float) sin(angle[i]) * factor;
        cos_out[i] = (float) cos(angle[i]) * factor;
    }
}

void f32_rotate_adjacent__scalar(int64_t n, float * y, const float * x, const float * cosine, const float * sine) {
    for (int64_t i = 0; i < n; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i]     = a * cosine[i] - b * sine[i];
        y[2 * i + 1] = a * sine[i] + b * cosine[i];
    }
}

void f32_rotate_halves__scalar(int64_t n, float * ya, float * yb, const float * a, const float * b, const float * cosine,
                               const float * sine) {
    for (int64_t i = 0; i < n; i++) {
        const float p = a[i], q = b[i];
        ya[i] = p * cosine[i] - q * sine[i];
        yb[i] = p * sine[i] + q * cosine[i];
    }
}
