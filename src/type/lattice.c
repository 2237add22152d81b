/* SPDX-License-Identifier: MIT
 *
 * Fitting signed grid points. For each group a row of scales is tried: values are rounded to odd levels, places without
 * a point go to the nearest of their neighbours, and the least squares scale of the points found tells how good the
 * trial was. The scales of the groups are then rounded to 4 bits.
 */
#include "type/lattice.h"

#define MAX_GROUP 32

struct group {
    const struct lattice_format * format;
    const struct grid_search *    search;
    int                           n_points;
    float                         x[MAX_GROUP]; /* magnitudes; with even_signs one may be negative in each eight */
    float                         w[MAX_GROUP];
    float                         root_w[MAX_GROUP];
};

struct choice {
    uint16_t points[MAX_GROUP / 4];
    bool     on_grid[MAX_GROUP / 4];
};

/* The coordinates of levels 0 .. 7. */
static const float odd[8] = {1.0f, 3.0f, 5.0f, 7.0f, 9.0f, 11.0f, 13.0f, 15.0f};

/* Splits eight values into magnitudes and sign bits. With even_signs an odd minus goes to (or from) the value that
 * counts least. */
static uint8_t split_signs(bool even_signs, const float * x, const float * w, float * magnitudes) {
    unsigned signs = 0;
    for (int i = 0; i < 8; i++) {
        const bool minus = !(x[i] >= 0.0f);
        magnitudes[i]    = minus ? -x[i] : x[i];
        signs |= (unsigned) minus << i;
    }
    if (!even_signs) {
        return (uint8_t) signs;
    }
    if (__builtin_parity(signs)) {
        int least = 0;
        for (int i = 1; i < 8; i++) {
            least = w[i] * x[i] * x[i] < w[least] * x[least] * x[least] ? i : least;
        }
        magnitudes[least] = -magnitudes[least];
        signs ^= 1u << least;
    }
    return signs & 127;
}

/* Point for the values of the group from `first` on, at a scale. */
static int snap(const struct group * g, int first, float inverse, float scale, bool * on_grid) {
    const struct grid * grid   = g->search->grid;
    unsigned            packed = 0;
    for (int i = 0; i < grid->dimensions; i++) {
        const int level = fit_level(0.5f * (inverse * g->x[first + i] - 1.0f), 0, grid->top);
        packed |= (unsigned) level << (i * grid->bits);
    }
    const int point = grid_find(g->search, packed);
    *on_grid        = point >= 0;
    return point >= 0 ? point : grid_nearest(g->search, packed, g->x + first, g->root_w + first, scale, odd);
}

static struct fit_moments moments(const struct group * g, const struct choice * choice) {
    const struct grid * grid = g->search->grid;
    int                 q[MAX_GROUP];
    for (int p = 0; p < g->n_points; p++) {
        for (int i = 0; i < grid->dimensions; i++) {
            q[p * grid->dimensions + i] = 2 * grid_level(grid, choice->points[p], i) + 1;
        }
    }
    return fit_measure(g->format->group, g->x, g->w, q);
}

/* Tries scales around range / top coordinate; returns the best one. */
static float try_scales(const struct group * g, float range, float scale, struct choice * best) {
    const int   dimensions = g->search->grid->dimensions;
    const float top        = odd[g->search->grid->top];
    float       gain       = 0.0f;
    for (int step = -g->format->n_trials; step <= g->format->n_trials; step++) {
        const float   inverse = (top + (float) step * g->format->step) / range;
        struct choice trial;
        for (int p = 0; p < g->n_points; p++) {
            trial.points[p] = (uint16_t) snap(g, p * dimensions, inverse, 1.0f / inverse, &trial.on_grid[p]);
        }
        const struct fit_moments m = moments(g, &trial);
        if (m.l2 > 0.0f && m.lx * m.lx > gain * m.l2) {
            scale = m.lx / m.l2;
            gain  = scale * m.lx;
            *best = trial;
        }
    }
    return scale;
}

static float refit(const struct group * g, float scale, struct choice * choice) {
    const enum lattice_refit policy     = g->format->refit;
    const int                dimensions = g->search->grid->dimensions;
    int                      n_off      = 0;
    for (int p = 0; p < g->n_points; p++) {
        n_off += !choice->on_grid[p];
    }
    if (!(scale > 0.0f) || (n_off == 0 && policy != LATTICE_REFIT_ALWAYS)) {
        return scale;
    }
    for (int p = 0; p < g->n_points; p++) {
        bool on_grid;
        if (!choice->on_grid[p] || policy != LATTICE_REFIT_OFF_GRID) {
            choice->points[p] = (uint16_t) snap(g, p * dimensions, 1.0f / scale, scale, &on_grid);
        }
    }
    const struct fit_moments m = moments(g, choice);
    return m.l2 > 0.0f ? m.lx / m.l2 : scale;
}

/* Points and signs of a group; returns its scale, 0 for a group of zeros, whose points and signs stay 0. */
static float fit_group(struct group * g, const float * x, uint16_t * points, uint8_t * signs) {
    const struct lattice_format * format = g->format;
    uint8_t                       split[MAX_GROUP / 8];
    for (int i = 0; i < format->group; i++) {
        g->root_w[i] = sqrtf(g->w[i]);
    }
    for (int k = 0; k < format->group / 8; k++) {
        split[k] = split_signs(format->even_signs, x + 8 * k, g->w + 8 * k, g->x + 8 * k);
    }
    float max = g->x[0];
    for (int i = 1; i < format->group; i++) {
        max = g->x[i] > max ? g->x[i] : max;
    }
    if (max < format->zero) {
        return 0.0f;
    }
    float range = max, scale = max / odd[g->search->grid->top];
    if (format->range_from_fit) {
        uint8_t levels[MAX_GROUP];
        scale = fit_positive(format->group, g->search->grid->top + 2, g->x, g->w, levels);
        range = scale * (float) (g->search->grid->top + 1);
        if (!(range > 0.0f)) {
            return 0.0f;
        }
    }
    struct choice choice;
    memset(&choice, 0, sizeof(choice));
    for (int p = 0; p < g->n_points; p++) {
        choice.on_grid[p] = !format->starts_off_grid;
    }
    scale             = refit(g, try_scales(g, range, scale, &choice), &choice);
    const bool turned = scale < 0.0f; /* no sum of products of magnitudes should be, but one sign may have been moved */
    const unsigned all_bits = format->even_signs ? 127 : 255;
    memcpy(points, choice.points, sizeof(points[0]) * (size_t) g->n_points);
    for (int k = 0; k < format->group / 8; k++) {
        signs[k] = (uint8_t) (turned ? ~split[k] & all_bits : split[k]);
    }
    return isfinite(scale) ? fabsf(scale) : 0.0f;
}

static void weigh(const struct lattice_format * format, const float * x, const float * importance, float sigma2,
                  float * w) {
    if (importance != NULL) {
        fit_importance(format->group, x, importance, sigma2, w);
        return;
    }
    for (int i = 0; i < format->group; i++) {
        w[i] = format->plain_part * sigma2 + x[i] * x[i];
    }
}

void lattice_fit(const struct lattice_format * format, const struct grid_search * search, const float * x,
                 const float * importance, struct lattice_block * out) {
    const int    dimensions = search->grid->dimensions;
    const float  limit      = TYPE_HALF_LIMIT * 31.0f * odd[search->grid->top];
    struct group g          = {.format = format, .search = search, .n_points = format->group / dimensions};
    float        values[QK_K], scales[LATTICE_MAX_GROUPS], greatest = 0.0f;
    memset(out, 0, sizeof(*out));
    type_stage(QK_K, x, limit, values);
    const float sigma2 = format->sigma2_factor * fit_sum_squares(QK_K, values, limit) / (float) QK_K;
    for (int i = 0; i < QK_K / format->group; i++) {
        const int first = i * format->group;
        weigh(format, values + first, importance != NULL ? importance + first : NULL, sigma2, g.w);
        scales[i] = fit_group(&g, values + first, out->points + first / dimensions, out->signs + first / 8);
        greatest  = scales[i] > greatest ? scales[i] : greatest;
    }
    if (!(greatest > 0.0f)) {
        memset(out, 0, sizeof(*out));
        return;
    }
    const float d       = greatest / 31.0f;
    const float inverse = 1.0f / d;
    out->d              = type_half(d * format->scale_factor);
    for (int i = 0; i < QK_K / format->group; i++) {
        out->codes[i] = (uint8_t) fit_level(0.5f * (inverse * scales[i] - 1.0f), 0, 15);
    }
}
