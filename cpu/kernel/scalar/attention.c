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

static float logit_of(float dot, float mask, const struct cpu_attention_logit * logit, int i) {
    const float score = logit->cap > 0.0f ? logit->cap * tanhf(dot * logit->scale) : dot * logit->scale;
    return score + mask * logit->slope[i];
}

void f32_attention_weights__scalar(int64_t n, float * s, const float * mask, const struct cpu_attention_logit * logit,
                                   struct cpu_attention_state * state, float * shrink) {
    for (int i = 0; i < LANES; i++) {
        float max = state->max[i];
        for (int64_t j = 0; j < n; j++) {
            s[j * LANES + i] = logit_of(s[j * LANES + i], mask != NULL ? mask[j * LANES + i] : 0.0f, logit, i);
            max              = s[j * LANES + i] > max ? s[j * LANES + i] : max;
        }
        const float base = max == -INFINITY ? 0.0f : max; /* nothing but masked keys: all weights are 0 */
        float       sum  = 0.0f;
        for (int64_t j = 0; j < n; j++) {
            s[j * LANES + i] = expf(s[j * LANES + i] - base);
            sum += s[j * LANES + i];
        }
        shrink[i]     = expf(state->max[i] - base);
        state->max[i] = max;
        state->sum[i] = state->sum[i] * shrink[i] + sum;
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

#define VALUE_F16(x) GGML_FP16_TO_FP32(x)
#define VALUE_F32(x) (x)

#define ROW_FORMS(name, type, VALUE)                                                                                   \
    void f32_attention_row_scores_##name##__scalar(int64_t d, int64_t n, const float * q, const void * k,              \
                                                   size_t k_stride, float * s) {                                       \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            const type * row = (const type *) ((const char *) k + (size_t) j * k_stride);                              \
            float        sum = 0.0f;                                                                                   \
            for (int64_t l = 0; l < d; l++) {                                                                          \
                sum += q[l] * VALUE(row[l]);                                                                           \
            }                                                                                                          \
            s[j] = sum;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    void f32_attention_row_accumulate_##name##__scalar(int64_t d, int64_t n, const float * p, const void * v,          \
                                                       size_t v_stride, float shrink, float * o) {                     \
        for (int64_t l = 0; l < d; l++) {                                                                              \
            float sum = o[l] * shrink;                                                                                 \
            for (int64_t j = 0; j < n; j++) {                                                                          \
                sum += p[j] * VALUE(((const type *) ((const char *) v + (size_t) j * v_stride))[l]);                   \
            }                                                                                                          \
            o[l] = sum;                                                                                                \
        }                                                                                                              \
    }

ROW_FORMS(f16, ggml_fp16_t, VALUE_F16)
ROW_FORMS(f32, float, VALUE_F32)
