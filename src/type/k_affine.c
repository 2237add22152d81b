/* SPDX-License-Identifier: MIT
 *
 * Fitting blocks of 256 values with a scale and an offset for each group. First every group is fitted alone, then
 * scales and offsets are rounded to small integers, then the levels are chosen again for the rounded numbers.
 */
#include "type/k_affine.h"

#include <float.h>

struct groups {
    float scale[K_AFFINE_MAX_GROUPS];
    float min[K_AFFINE_MAX_GROUPS];
    float weight[K_AFFINE_MAX_GROUPS]; /* sum of the weights of a group */
};

static void plain_weights(const struct k_affine_format * format, const float * x, float * w) {
    float base = 0.0f;
    if (format->rms_weights) {
        float sum = 0.0f;
        for (int j = 0; j < format->group; j++) {
            sum += x[j] * x[j];
        }
        base = sqrtf(sum / (float) format->group);
    }
    for (int j = 0; j < format->group; j++) {
        w[j] = base + fabsf(x[j]);
    }
}

static void fit_groups(const struct k_affine_format * format, const float * x, const float * importance,
                       uint8_t * levels, struct groups * out) {
    static const struct fit_trials fine   = {-0.9f, 0.05f, 36, false};
    const struct fit_trials *      trials = importance != NULL ? &fine : &format->trials;
    const float                    sigma2 =
        importance != NULL ? format->sigma2_factor * fit_sum_squares(QK_K, x, FLT_MAX) / (float) QK_K : 0.0f;
    for (int g = 0; g < QK_K / format->group; g++) {
        const int first = g * format->group;
        float     w[FIT_MAX];
        if (importance != NULL) {
            fit_importance(format->group, x + first, importance + first, sigma2, w);
        } else {
            plain_weights(format, x + first, w);
        }
        out->weight[g] = 0.0f;
        for (int j = 0; j < format->group; j++) {
            out->weight[g] += w[j];
        }
        out->scale[g] =
            fit_affine(format->group, format->max_level, x + first, w, trials, levels + first, &out->min[g]);
    }
}

/* Rounds n numbers >= 0 to integers in proportion, the greatest to `top`. Returns their unit. */
static float round_to_greatest(int n, int top, const float * values, uint8_t * out) {
    float greatest = 0.0f;
    for (int i = 0; i < n; i++) {
        greatest = values[i] > greatest ? values[i] : greatest;
    }
    const float inverse = fit_ratio((float) top, greatest);
    for (int i = 0; i < n; i++) {
        out[i] = (uint8_t) fit_level(inverse * values[i], 0, top);
    }
    return greatest / (float) top;
}

static void choose_levels(const struct k_affine_format * format, const float * x, struct k_affine_block * out) {
    for (int g = 0; g < QK_K / format->group; g++) {
        const float d = GGML_FP16_TO_FP32(out->d) * (float) out->scales[g];
        const float m = GGML_FP16_TO_FP32(out->dmin) * (float) out->mins[g];
        if (d == 0.0f) {
            continue;
        }
        for (int j = g * format->group; j < (g + 1) * format->group; j++) {
            out->levels[j] = (uint8_t) fit_level((x[j] + m) / d, 0, format->max_level);
        }
    }
}

void k_affine_fit(const struct k_affine_format * format, const float * x, const float * importance,
                  struct k_affine_block * out) {
    const int     n     = QK_K / format->group;
    const float   limit = TYPE_HALF_LIMIT * (float) (format->max_scale * format->max_level);
    float         values[QK_K];
    struct groups groups;
    type_stage(QK_K, x, limit, values);
    fit_groups(format, values, importance, out->levels, &groups);
    if (importance == NULL) {
        out->d    = type_half(round_to_greatest(n, format->max_scale, groups.scale, out->scales));
        out->dmin = type_half(round_to_greatest(n, format->max_scale, groups.min, out->mins));
    } else {
        out->d    = type_half(fit_positive(n, format->max_scale, groups.scale, groups.weight, out->scales));
        out->dmin = type_half(fit_positive(n, format->max_scale, groups.min, groups.weight, out->mins));
    }
    choose_levels(format, values, out);
}
