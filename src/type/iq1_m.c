/* SPDX-License-Identifier: MIT
 *
 * IQ1_M: blocks of 256 values, x ~ d * (2 code + 1) * (level - 1 +- 1/8) with eight levels from a grid of 2048 points.
 * Every eight values have a nibble of qh: the high three bits of the point number, and the shift. The eight bytes of
 * scales are four words: a 3-bit code for each of four groups of 16 values, and a nibble of the half d, lowest first.
 *
 * The encoder is that of IQ1_S, with a shift of its own for each half of a group.
 */
#include <float.h>

#include "type/iq1.h"

#define GROUP 16
#define N_GROUPS (QK_K / GROUP)
#define ZERO 1e-7f
#define LIMIT (TYPE_HALF_LIMIT * 15.0f)

/* The scale of a block as it is stored is greater than the fitted one: found by experiment. */
#define SCALE_FACTOR 1.1125f

struct split {
    int   i1, i2;
    int   shifts; /* bit 1: of the first half down; bit 0: of the second half; -1: nothing found */
    float scale;
};

struct group {
    uint16_t points[2];
    int      shifts;
    float    scale;
};

static const float * values_of(int shifts, int half) {
    return iq1_values[half == 0 ? shifts >> 1 : shifts & 1];
}

/* Sums over one half of the group up to each place in the order. */
struct prefix {
    float x[GROUP + 1];
    float w[GROUP + 1];
};

static void sum_halves(const int * order, const float * x, const float * w, struct prefix * halves) {
    memset(halves, 0, 2 * sizeof(*halves));
    for (int j = 0; j < GROUP; j++) {
        for (int h = 0; h < 2; h++) {
            const bool here    = order[j] / (GROUP / 2) == h;
            halves[h].x[j + 1] = here ? halves[h].x[j] + w[order[j]] * x[order[j]] : halves[h].x[j];
            halves[h].w[j + 1] = here ? halves[h].w[j] + w[order[j]] : halves[h].w[j];
        }
    }
}

/* The values of neighbouring levels differ by one: sum w x q over a half is total * v2 - prefix(i1) - prefix(i2), and
 * the sum of w q^2 follows in the same way from the differences of the squares. */
static struct fit_moments half_moments(const struct prefix * p, const float * v, int i1, int i2) {
    const float total_x = p->x[GROUP], total_w = p->w[GROUP];
    const float step1 = v[0] * v[0] - v[1] * v[1], step2 = v[1] * v[1] - v[2] * v[2];
    return (struct fit_moments){total_x * v[2] - (p->x[i1] + p->x[i2]),
                                total_w * v[2] * v[2] + p->w[i1] * step1 + p->w[i2] * step2};
}

static struct split best_split(const int * order, const float * x, const float * w) {
    struct prefix halves[2];
    float         score = -FLT_MAX;
    struct split  best  = {0, 0, -1, 0.0f};
    sum_halves(order, x, w, halves);
    for (int i1 = 0; i1 <= GROUP; i1++) {
        for (int i2 = i1; i2 <= GROUP; i2++) {
            struct fit_moments m[2][2]; /* half, shift */
            for (int h = 0; h < 2; h++) {
                m[h][0] = half_moments(&halves[h], iq1_values[0], i1, i2);
                m[h][1] = half_moments(&halves[h], iq1_values[1], i1, i2);
            }
            for (int shifts = 0; shifts < 4; shifts++) {
                const float qx = m[0][shifts >> 1].lx + m[1][shifts & 1].lx;
                const float q2 = m[0][shifts >> 1].l2 + m[1][shifts & 1].l2;
                if (q2 > 0.0f && qx * qx > score * q2) {
                    best  = (struct split){i1, i2, shifts, qx / q2};
                    score = best.scale * qx;
                }
            }
        }
    }
    return best;
}

static struct group fit_group(const struct grid_search * search, const float * x, const float * w) {
    const uint16_t centre = (uint16_t) grid_find(search, IQ1_CENTRE);
    struct group   group  = {{centre, centre}, 0, 0.0f};
    int            order[GROUP], levels[GROUP];
    if (fabsf(fit_peak(GROUP, x)) < ZERO) {
        return group;
    }
    iq1_sort(GROUP, x, order);
    const struct split split = best_split(order, x, w);
    if (split.shifts < 0 || !isfinite(split.scale)) {
        return group;
    }
    const bool turned = split.scale < 0.0f;
    group.shifts      = turned ? 3 - split.shifts : split.shifts;
    iq1_assign(GROUP, order, split.i1, split.i2, turned, levels);
    const float * const values[2] = {values_of(group.shifts, 0), values_of(group.shifts, 1)};
    group.scale                   = iq1_snap(search, GROUP, x, w, levels, values, fabsf(split.scale), group.points);
    return group;
}

/* Adds what a group with its code tells about the scale of the block. */
static void add_moments(const struct grid_search * search, const struct group * group, int code, const float * x,
                        const float * w, struct fit_moments * m) {
    for (int i = 0; i < GROUP; i++) {
        const float level = values_of(group->shifts, i / 8)[grid_level(search->grid, group->points[i / 8], i % 8)];
        const float q     = level * (float) (2 * code + 1);
        m->lx += w[i] * q * x[i];
        m->l2 += w[i] * q * q;
    }
}

static void store_group(const struct group * group, int g, block_iq1_m * block) {
    for (int h = 0; h < 2; h++) {
        const int down       = h == 0 ? group->shifts >> 1 : group->shifts & 1;
        block->qs[2 * g + h] = group->points[h] & 255;
        block->qh[g]         = (uint8_t) (block->qh[g] | (group->points[h] >> 8 | down << 3) << (4 * h));
    }
}

static void encode_block(const struct grid_search * search, const float * x, const float * importance,
                         block_iq1_m * block) {
    float        values[QK_K], w[QK_K], greatest = 0.0f;
    struct group groups[N_GROUPS];
    uint16_t     words[4] = {0};
    type_stage(QK_K, x, LIMIT, values);
    memset(block, 0, sizeof(*block));
    const float sigma2 = 2.0f * fit_sum_squares(QK_K, values, LIMIT) / (float) QK_K;
    iq1_weigh(QK_K, values, importance, sigma2, w);
    for (int g = 0; g < N_GROUPS; g++) {
        groups[g] = fit_group(search, values + g * GROUP, w + g * GROUP);
        greatest  = groups[g].scale > greatest ? groups[g].scale : greatest;
        store_group(&groups[g], g, block);
    }
    if (!(greatest > 0.0f)) {
        memset(block, 0, sizeof(*block));
        return;
    }
    float              d       = greatest / 15.0f;
    const float        inverse = 1.0f / d;
    struct fit_moments m       = {0.0f, 0.0f};
    for (int g = 0; g < N_GROUPS; g++) {
        const int code = fit_level(0.5f * (inverse * groups[g].scale - 1.0f), 0, 7);
        words[g / 4]   = (uint16_t) (words[g / 4] | code << (g % 4 * 3));
        add_moments(search, &groups[g], code, values + g * GROUP, w + g * GROUP, &m);
    }
    d                 = m.l2 > 0.0f ? m.lx / m.l2 : d;
    const ggml_half h = type_half(d * SCALE_FACTOR);
    for (int i = 0; i < 4; i++) {
        words[i] = (uint16_t) (words[i] | (h >> (4 * i) & 15) << 12);
    }
    memcpy(block->scales, words, sizeof(words));
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ1);
    block_iq1_m *            blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        encode_block(&search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &blocks[i]);
    }
}

static ggml_half block_half(const uint16_t * words) {
    return (ggml_half) (words[0] >> 12 | (words[1] >> 12) << 4 | (words[2] >> 12) << 8 | (words[3] >> 12) << 12);
}

void dequantize_row_iq1_m(const block_iq1_m * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        uint16_t words[4];
        memcpy(words, x[i].scales, sizeof(words));
        const float d = GGML_FP16_TO_FP32(block_half(words));
        for (int l = 0; l < QK_K / 8; l++, y += 8) {
            const int      g      = l / 2;
            const float    scale  = d * (float) (2 * (words[g / 4] >> (g % 4 * 3) & 7) + 1);
            const unsigned nibble = x[i].qh[g] >> (l % 2 * 4) & 15u;
            iq1_write(x[i].qs[l] | (nibble & 7) << 8, scale, nibble & 8 ? -IQ1_DELTA : IQ1_DELTA, y);
        }
    }
}

static bool validate(const void * data, size_t nbytes) {
    const block_iq1_m * blocks = data;
    for (size_t i = 0; i < nbytes / sizeof(block_iq1_m); i++) {
        uint16_t words[4];
        memcpy(words, blocks[i].scales, sizeof(words));
        if ((block_half(words) & 0x7C00) == 0x7C00) {
            return type_invalid_block("Inf or NaN", i);
        }
    }
    return true;
}

TYPE_DECODE(iq1_m)

size_t quantize_iq1_m(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ1_M, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq1_m = {
    .id       = GGML_TYPE_IQ1_M,
    .traits   = {.type_name    = "iq1_m",
                 .blck_size    = QK_K,
                 .type_size    = sizeof(block_iq1_m),
                 .is_quantized = true,
                 .to_float     = decode},
    .quantize = quantize_iq1_m,
    .validate = validate,
    .decode   = decode,
    .dot_type = GGML_TYPE_Q8_K,
};
