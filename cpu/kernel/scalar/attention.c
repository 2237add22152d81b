/* SPDX-License-Identifier: MIT
 *
 * Attention: the reference forms.
 */
#include <math.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"

#define LANES CPU_ATTENTION_LANES

void f32_attention_scores__scalar(int64_t d, int64_t n, const float * q, const float * k, size_t k_stride, float * s) {
    for (int64_t j = 0; j < n; j++) {
        for (int i = 0; i < LANES; i++) {
            float sum = 0.0f;
            for (int64_t l = 0; l < d; l++) {
                sum += q[l * LANES + i] * k[(size_t) j * k_stride + (size_t) l];
            }
            s[j * LANES + i] = sum;
        }
    }
}

static float logit_of(float dot, float scale, float cap, float mask, float slope) {
    return (cap > 0.0f ? cap * tanhf(dot * scale) : dot * scale) + mask * slope;
}

/* n scores, `step` apart, become weights; returns the factor for what was summed before. */
static float weigh(int64_t n, float * s, int step, float * max, float * sum) {
    float top = *max;
    for (int64_t j = 0; j < n; j++) {
        top = s[j * step] > top ? s[j * step] : top;
    }
    const float base = top == -INFINITY ? 0.0f : top; /* nothing but masked keys: all weights are 0 */
    float       part = 0.0f;
    for (int64_t j = 0; j < n; j++) {
        s[j * step] = exp2f(s[j * step] - base);
        part += s[j * step];
    }
    const float shrink = exp2f(*max - base);
    *max               = top;
    *sum               = *sum * shrink + part;
    return shrink;
}

void f32_attention_weights__scalar(int64_t n, float * s, const float * mask, const struct cpu_attention_logit * logit,
                                   struct cpu_attention_state * state, float * shrink) {
    for (int i = 0; i < LANES; i++) {
        for (int64_t j = 0; j < n; j++) {
            float * at = s + j * LANES + i;
            *at = logit_of(*at, logit->scale, logit->cap, mask != NULL ? mask[j * LANES + i] : 0.0f, logit->slope[i]);
        }
        shrink[i] = weigh(n, s + i, LANES, &state->max[i], &state->sum[i]);
    }
}

void f32_attention_accumulate__scalar(int64_t d, int64_t n, const float * p, const float * v, size_t v_stride,
                                      const float * shrink, float * o) {
    for (int64_t l = 0; l < d; l++) {
        for (int i = 0; i < LANES; i++) {
            float sum = o[l * LANES + i] * shrink[i];
            for (int64_t j = 0; j < n; j++) {
                sum += p[j * LANES + i] * v[(size_t) j * v_stride + (size_t) l];
            }
            o[l * LANES + i] = sum;
        }
    }
}

/* ---- few queries ---- */

static float element(const void * base, size_t stride, int64_t j, int64_t l, bool f16) {
    const char * row = (const char *) base + (size_t) j * stride;
    return f16 ? GGML_FP16_TO_FP32(((const ggml_fp16_t *) (const void *) row)[l]) : ((const float *) (const void *) row)[l];
}

static void row_scores(int64_t d, int rows, int64_t n, const float * const * q, const void * k, size_t k_stride,
                       float (*s)[CPU_ATTENTION_BLOCK], bool f16) {
    for (int r = 0; r < rows; r++) {
        for (int64_t j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int64_t l = 0; l < d; l++) {
                sum += q[r][l] * element(k, k_stride, j, l, f16);
            }
            s[r][j] = sum;
        }
    }
}

void f16_attention_row_scores__scalar(int64_t d, int rows, int64_t n, const float * const * q, const void * k,
                                      size_t k_stride, float (*s)[CPU_ATTENTION_BLOCK]) {
    row_scores(d, rows, n, q, k, k_stride, s, true);
}

void f32_attention_row_scores__scalar(int64_t d, int rows, int64_t n, const float * const * q, const void * k,
                                      size_t k_stride, float (*s)[CPU_ATTENTION_BLOCK]) {
    row_scores(d, rows, n, q, k, k_stride, s, false);
}

float f32_attention_row_weights__scalar(int64_t n, float * s, const ggml_fp16_t * mask, struct cpu_attention_row * row) {
    for (int64_t j = 0; j < n; j++) {
        s[j] = logit_of(s[j], row->scale, row->cap, mask != NULL ? GGML_FP16_TO_FP32(mask[j]) : 0.0f, row->slope);
    }
    return weigh(n, s, 1, &row->max, &row->sum);
}

static void row_accumulate(int64_t d, int rows, int64_t n, const float (*p)[CPU_ATTENTION_BLOCK], const void * v,
                           size_t v_stride, const float * shrink, float * const * o, bool f16) {
    for (int r = 0; r < rows; r++) {
        for (int64_t l = 0; l < d; l++) {
            float sum = o[r][l] * shrink[r];
            for (int64_t j = 0; j < n; j++) {
                sum += p[r][j] * element(v, v_stride, j, l, f16);
            }
            o[r][l] = sum;
        }
    }
}

void f16_attention_row_accumulate__scalar(int64_t d, int rows, int64_t n, const float (*p)[CPU_ATTENTION_BLOCK],
                                          const void * v, size_t v_stride, const float * shrink, float * const * o) {
    row_accumulate(d, rows, n, p, v, v_stride, shrink, o, true);
}

void f32_attention_row_accumulate__scalar(int64_t d, int rows, int64_t n, const float (*p)[CPU_ATTENTION_BLOCK],
                                          const void * v, size_t v_stride, const float * shrink, float * const * o) {
    row_accumulate(d, rows, n, p, v, v_stride, shrink, o, false);
}
