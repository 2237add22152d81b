/* SPDX-License-Identifier: MIT
 *
 * IQ1_S: blocks of 256 values, x ~ d * (2 code + 1) * (level - 1 +- 1/8) with eight levels from a grid of 2048 points.
 * A group of 32 values has a 16-bit word: the high three bits of four point numbers, a 3-bit code and a bit for the
 * shift.
 *
 * The encoder solves the weighted least squares problem of a group: with the values sorted, the three levels are cut by
 * two borders, and prefix sums give the best scale for every pair of borders and both shifts.
 */
#include <float.h>

#include "type/iq1.h"

#define GROUP 32
#define N_GROUPS (QK_K / GROUP)
#define ZERO 1e-12f
#define LIMIT (TYPE_HALF_LIMIT * 15.0f)

/* The scale of a block as it is stored is greater than the fitted one: found by experiment. */
#define SCALE_FACTOR 1.125f

struct split {
    int   i1, i2;
    int   shift; /* 0 up, 1 down; -1: nothing found */
    float scale;
};

static struct split best_split(const int * order, const float * x, const float * w) {
    float        sum_x[GROUP + 1] = {0.0f}, sum_w[GROUP + 1] = {0.0f};
    float        score = -FLT_MAX;
    struct split best  = {0, 0, -1, 0.0f};
    for (int j = 0; j < GROUP; j++) {
        sum_x[j + 1] = sum_x[j] + w[order[j]] * x[order[j]];
        sum_w[j + 1] = sum_w[j] + w[order[j]];
    }
    for (int i1 = 0; i1 <= GROUP; i1++) {
        for (int i2 = i1; i2 <= GROUP; i2++) {
            const float x0 = sum_x[i1], x1 = sum_x[i2] - sum_x[i1], x2 = sum_x[GROUP] - sum_x[i2];
            const float w0 = sum_w[i1], w1 = sum_w[i2] - sum_w[i1], w2 = sum_w[GROUP] - sum_w[i2];
            for (int shift = 0; shift < 2; shift++) {
                const float * v  = iq1_values[shift];
                const float   qx = x0 * v[0] + x1 * v[1] + x2 * v[2];
                const float   q2 = w0 * v[0] * v[0] + w1 * v[1] * v[1] + w2 * v[2] * v[2];
                if (q2 > 0.0f && qx * qx > score * q2) {
                    best  = (struct split){i1, i2, shift, qx / q2};
                    score = best.scale * qx;
                }
            }
        }
    }
    return best;
}

/* Points of a group; returns its scale, 0 for zeros. *down: the shift. */
static float fit_group(const struct grid_search * search, const float * x, const float * w, uint16_t * points,
                       bool * down) {
    int order[GROUP], levels[GROUP];
    for (int k = 0; k < GROUP / 8; k++) {
        points[k] = (uint16_t) grid_find(search, IQ1_CENTRE);
    }
    *down = false;
    if (fabsf(fit_peak(GROUP, x)) < ZERO) {
        return 0.0f;
    }
    iq1_sort(GROUP, x, order);
    const struct split split = best_split(order, x, w);
    if (split.shift < 0 || !isfinite(split.scale)) {
        return 0.0f;
    }
    const bool turned = split.scale < 0.0f;
    *down             = (split.shift == 1) != turned;
    iq1_assign(GROUP, order, split.i1, split.i2, turned, levels);
    const float * const v         = iq1_values[*down];
    const float * const values[4] = {v, v, v, v};
    return iq1_snap(search, GROUP, x, w, levels, values, fabsf(split.scale), points);
}

static void encode_block(const struct grid_search * search, const float * x, const float * importance,
                         block_iq1_s * block) {
    float values[QK_K], w[GROUP], scales[N_GROUPS], greatest = 0.0f;
    bool  down[N_GROUPS];
    type_stage(QK_K, x, LIMIT, values);
    memset(block, 0, sizeof(*block));
    const float sigma2 = 2.0f * fit_sum_squares(QK_K, values, LIMIT) / (float) QK_K;
    for (int g = 0; g < N_GROUPS; g++) {
        uint16_t points[GROUP / 8];
        iq1_weigh(GROUP, values + g * GROUP, importance != NULL ? importance + g * GROUP : NULL, sigma2, w);
        scales[g] = fit_group(search, values + g * GROUP, w, points, &down[g]);
        greatest  = scales[g] > greatest ? scales[g] : greatest;
        for (int k = 0; k < GROUP / 8; k++) {
            block->qs[4 * g + k] = points[k] & 255;
            block->qh[g]         = (uint16_t) (block->qh[g] | points[k] >> 8 << (3 * k));
        }
    }
    if (!(greatest > 0.0f)) {
        memset(block, 0, sizeof(*block));
        return;
    }
    const float d = greatest / 15.0f;
    block->d      = type_half(d * SCALE_FACTOR);
    for (int g = 0; g < N_GROUPS; g++) {
        const int code = fit_level(0.5f * (1.0f / d * scales[g] - 1.0f), 0, 7) | (down[g] ? 8 : 0);
        block->qh[g]   = (uint16_t) (block->qh[g] | code << 12);
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ1);
    block_iq1_s *            blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        encode_block(&search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &blocks[i]);
    }
}

void dequantize_row_iq1_s(const block_iq1_s * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int l = 0; l < QK_K / 8; l++, y += 8) {
            const unsigned word  = x[i].qh[l / 4];
            const float    scale = d * (float) (2 * (word >> 12 & 7) + 1);
            const unsigned point = x[i].qs[l] | (word >> (l % 4 * 3) & 7) << 8;
            iq1_write(point, scale, word & 0x8000 ? -IQ1_DELTA : IQ1_DELTA, y);
        }
    }
}

TYPE_DECODE(iq1_s)
TYPE_VALIDATE_HALF(block_iq1_s, d)

size_t quantize_iq1_s(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ1_S, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq1_s = {
    .id            = GGML_TYPE_IQ1_S,
    .traits        = {.type_name    = "iq1_s",
                      .blck_size    = QK_K,
                      .type_size    = sizeof(block_iq1_s),
                      .is_quantized = true,
                      .to_float     = decode},
    .quantize      = quantize_iq1_s,
    .validate      = validate,
    .needs_imatrix = true,
    .decode        = decode,
    .dot_type      = GGML_TYPE_Q8_K,
};
