/* SPDX-License-Identifier: MIT
 *
 * Reference one-row product with F32 weights, and the reference encoder of sixteen-bit activations.
 */
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

static void f32_multiply(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y) {
    const float * x = act;
    for (int64_t j = 0; j < n; ++j) {
        const float * row    = (const float *) ((const char *) w + (size_t) j * w_stride);
        float         sum[8] = { 0 };
        int64_t       l      = 0;
        for (; l + 8 <= k; l += 8) {
            for (int i = 0; i < 8; ++i) {
                sum[i] += row[l + i] * x[l + i];
            }
        }
        for (; l < k; ++l) {
            sum[0] += row[l] * x[l];
        }
        y[j] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
}

const struct cpu_gemv_kernel f32_gemv__scalar = { CPU_ACT_F32, f32_multiply };

/* scale = max / 32639 (127 * 256 + 127), so that both planes stay within a signed byte. */
static void encode_block(int64_t n, const float * x, struct cpu_act_q16 * out) {
    float max = 0.0f;
    bool  bad = false;
    for (int64_t l = 0; l < n; ++l) {
        bad = bad || !isfinite(x[l]);
        max = fabsf(x[l]) > max ? fabsf(x[l]) : max;
    }
    /* Below this the reciprocal would overflow. */
    const float inverse = max > 1e-30f ? 32639.0f / max : 0.0f;
    memset(out, 0, sizeof(*out));
    out->scale = bad ? NAN : max / 32639.0f;
    for (int64_t l = 0; l < n && !bad; ++l) {
        const int32_t q                   = (int32_t) lrintf(x[l] * inverse);
        const int32_t high                = (q + 128) >> 8;
        out->high[cpu_act_place((int) l)] = (int8_t) high;
        out->low[cpu_act_place((int) l)]  = (int8_t) (q - high * 256);
        out->sum16[l / 16] += (float) q;
        out->sum32[l / 32] += (float) q;
    }
}

void act_q16__scalar(int64_t k, const float * x, struct cpu_act_q16 * out) {
    for (int64_t l = 0; l < k; l += CPU_ACT_BLOCK) {
        encode_block(k - l < CPU_ACT_BLOCK ? k - l : CPU_ACT_BLOCK, x + l, out++);
    }
}
