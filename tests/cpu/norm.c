/* SPDX-License-Identifier: MIT
 *
 * NORM, RMS_NORM, L2_NORM, GROUP_NORM, RMS_NORM_BACK, SOFT_MAX (masks, ALiBi, sinks, rows that are masked throughout),
 * SOFT_MAX_BACK against F64. Bounds: 3e-6 relative for norms (of the row's greatest magnitude for NORM), 1e-6 absolute for
 * SOFT_MAX.
 */
#include "cpu/drive.h"

static const int64_t shapes[][4] = {
    {1, 1, 1, 1}, {7, 3, 1, 1}, {64, 5, 1, 1}, {33, 3, 4, 2}, {300, 2, 1, 2}, {1100, 2, 1, 1}, {5, 0, 2, 1}, {16, 9, 2, 3},
};
#define N_SHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

struct sums {
    double sum, squares, max; /* of x, x^2 and |x| */
};

static struct sums row_sums(const struct ggml_tensor * t, struct at at) {
    struct sums s = {0, 0, 0};
    for (int64_t k = 0; k < t->ne[0]; k++) {
        at.i[0]        = k;
        const double x = ref_get(t, at);
        s.sum += x;
        s.squares += x * x;
        s.max = fmax(s.max, fabs(x));
    }
    return s;
}

static double exact_norm(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a    = node->src[0];
    const struct sums          s    = row_sums(a, at);
    const double               n    = (double) a->ne[0], eps = ref_f32(node, 0), x = ref_get(a, at), mean = s.sum / n;
    double                     want = 0.0, factor = 0.0;
    if (node->op == GGML_OP_NORM) {
        double variance = 0.0;
        for (int64_t k = 0; k < a->ne[0]; k++) {
            at.i[0]        = k;
            const double d = ref_get(a, at) - mean;
            variance += d * d / n;
        }
        factor = 1.0 / sqrt(variance + eps);
        want   = (x - mean) * factor;
        *bound = 3e-6 * (s.max * factor + fabs(want));
    } else {
        factor = node->op == GGML_OP_RMS_NORM ? 1.0 / sqrt(s.squares / n + eps) : 1.0 / fmax(sqrt(s.squares), eps);
        want   = x * factor;
        *bound = 3e-6 * fabs(want);
    }
    *bound += 1.1 * ref_rounding(node->type) * fabs(want) + (node->type == GGML_TYPE_F16 ? 6e-8 : 0.0);
    return want;
}

static struct ggml_tensor * build_norm(struct ggml_context * ctx, int k, struct ggml_tensor * a) {
    switch (k) {
        case 0: return ggml_norm(ctx, a, 1e-5f);
        case 1: return ggml_rms_norm(ctx, a, 1e-6f);
        case 2: return ggml_l2_norm(ctx, a, 1e-6f);
        case 3: return ggml_norm_inplace(ctx, a, 1e-5f);
        case 4: return ggml_rms_norm_inplace(ctx, a, 1e-6f);
        default: return ggml_l2_norm_inplace(ctx, a, 1e-6f);
    }
}

TEST(norms) {
    for (int k = 0; k < 6; k++) {
        for (int s = 0; s < N_SHAPES; s++) {
            for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
                if (k >= 3 && layout != DRIVE_PLAIN) {
                    continue;
                }
                struct drive         d    = drive_begin();
                struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_F32, shapes[s], (enum drive_layout) layout, -3, 4);
                struct ggml_tensor * node = build_norm(d.ctx, k, a);
                drive_place(&d, node, layout == DRIVE_SLICED ? DRIVE_PERMUTED : DRIVE_PLAIN);
                drive_check(&d, node, exact_norm, drive_layout_name((enum drive_layout) layout));
                drive_end(&d);
            }
        }
    }
}

/* F16 rows are decoded, summed in F32. 4096 values 9.0 overflow F16 when they are summed there: 331776. */
TEST(norm_f16) {
    const int64_t        ne[4] = {4096, 2, 1, 1};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F16, ne, DRIVE_PLAIN, 9, 9);
    struct ggml_tensor * node  = ggml_rms_norm(d.ctx, a, 1e-6f);
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_norm, "4096 times 9");
    drive_end(&d);
}

static double exact_rms_back(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * dy = node->src[0];
    const struct ggml_tensor * x  = node->src[1];
    const struct sums          s  = row_sums(x, at);
    const double               n = (double) x->ne[0], eps = ref_f32(node, 0), own_dy = ref_get(dy, at), own_x = ref_get(x, at);
    double                     dot = 0.0, magnitude = 0.0;
    for (int64_t k = 0; k < x->ne[0]; k++) {
        at.i[0]        = k;
        const double p = ref_get(x, at) * ref_get(dy, at);
        dot += p;
        magnitude += fabs(p);
    }
    const double r = 1.0 / sqrt(s.squares / n + eps);
    *bound         = 4e-6 * r * (fabs(own_dy) + fabs(own_x) * magnitude / (s.squares + n * eps));
    return (own_dy - own_x * dot / (s.squares + n * eps)) * r;
}

TEST(rms_norm_back) {
    for (int s = 0; s < N_SHAPES; s++) {
        struct drive         d    = drive_begin();
        struct ggml_tensor * dy   = drive_tensor(&d, GGML_TYPE_F32, shapes[s], DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * x    = drive_tensor(&d, GGML_TYPE_F32, shapes[s], DRIVE_PLAIN, -2, 2);
        struct ggml_tensor * node = ggml_rms_norm_back(d.ctx, dy, x, 1e-5f);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_rms_back, "");
        node->data = s % 2 == 0 ? dy->data : x->data;
        drive_check(&d, node, exact_rms_back, "over a source");
        drive_end(&d);
    }
}

static double exact_group(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a      = node->src[0];
    const int64_t              groups = ref_i32(node, 0), each = (a->ne[2] + groups - 1) / groups;
    const int64_t              begin = at.i[2] / each * each, end = MIN(begin + each, a->ne[2]);
    const double               count = (double) (a->ne[0] * a->ne[1] * (end - begin));
    double                     sum = 0.0, variance = 0.0, max = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t c = begin; c < end; c++) {
            for (int64_t i = 0; i < a->ne[0] * a->ne[1]; i++) {
                const double x = ref_get(a, AT(i % a->ne[0], i / a->ne[0], c, at.i[3]));
                if (pass == 0) {
                    sum += x;
                    max = fmax(max, fabs(x));
                } else {
                    variance += (x - sum / count) * (x - sum / count) / count;
                }
            }
        }
    }
    const double factor = 1.0 / sqrt(variance + ref_f32(node, 1));
    *bound              = 4e-6 * max * factor;
    return (ref_get(a, at) - sum / count) * factor;
}

TEST(group_norm) {
    static const int groups[] = {1, 2, 3, 4, 8};
    for (int g = 0; g < 5; g++) {
        for (int layout = 0; layout < 2; layout++) {
            const int64_t        ne[4] = {5, 3, 8, 2};
            struct drive         d     = drive_begin();
            struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, (enum drive_layout) layout, -3, 4);
            struct ggml_tensor * node  = ggml_group_norm(d.ctx, a, groups[g], 1e-6f);
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_group, drive_layout_name((enum drive_layout) layout));
            drive_end(&d);
        }
    }
}

/* ---- softmax ---- */

static double slope_of(const struct ggml_tensor * node, int64_t head) {
    const double max_bias = ref_f32(node, 1);
    const int    base     = 1 << (int) floor(log2((double) node->ne[2]));
    if (max_bias <= 0.0) {
        return 1.0;
    }
    const double m0 = pow(2.0, -max_bias / base), m1 = pow(2.0, -max_bias / 2.0 / base);
    return head < base ? pow(m0, (double) (head + 1)) : pow(m1, (double) (2 * (head - base) + 1));
}

static double logit(const struct ggml_tensor * node, struct at at) {
    const double x = ref_get(node->src[0], at) * ref_f32(node, 0);
    if (node->src[1] == NULL) {
        return x;
    }
    return x + slope_of(node, at.i[2]) * ref_get(node->src[1], AT(at.i[0], at.i[1], at.i[2] % node->src[1]->ne[2],
                                                                  at.i[3] % node->src[1]->ne[3]));
}

static double exact_soft_max(const struct ggml_tensor * node, struct at at, double * bound) {
    const int64_t own = at.i[0];
    double        max = -INFINITY, sum = 0.0;
    for (int64_t k = 0; k < node->ne[0]; k++) {
        at.i[0] = k;
        max     = fmax(max, logit(node, at));
    }
    const bool   has_sink = node->src[2] != NULL;
    const double sink     = has_sink ? ref_get(node->src[2], AT(at.i[2], 0, 0, 0)) : 0.0;
    if (has_sink) {
        max = fmax(max, sink);
        sum = exp(sink - max);
    }
    *bound = 1e-6 + 2.0 * ref_rounding(node->type);
    if (max == -INFINITY) {
        *bound = 0.0;
        return 0.0; /* the rule for rows that are masked throughout */
    }
    for (int64_t k = 0; k < node->ne[0]; k++) {
        at.i[0] = k;
        sum += exp(logit(node, at) - max);
    }
    at.i[0] = own;
    return exp(logit(node, at) - max) / sum;
}

/* Masks rows from `first` on in part, those before throughout. */
static void mask_rows(const struct ggml_tensor * mask, int64_t first, int64_t window) {
    for (int64_t n = 0; n < ggml_nelements(mask); n++) {
        const struct at at = ref_at(mask, n);
        if (at.i[1] < first || (window > 0 && (at.i[0] > at.i[1] || at.i[0] + window <= at.i[1]))) {
            ref_set(mask, at, -INFINITY);
        }
    }
}

static void check_soft_max(const int64_t * ne, enum ggml_type mask_type, int64_t mask_heads, float max_bias, bool sinks,
                           int64_t masked, int64_t window, bool inplace) {
    struct drive         d        = drive_begin();
    struct ggml_tensor * a        = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -8, 8);
    struct ggml_tensor * mask     = NULL;
    const int64_t        heads[4] = {ne[2], 1, 1, 1}, mask_ne[4] = {ne[0], ne[1] + 2, mask_heads, 1};
    if (mask_type != GGML_TYPE_COUNT) {
        mask = drive_tensor(&d, mask_type, mask_ne, DRIVE_PLAIN, -4, 0);
        mask_rows(mask, masked, window);
    }
    struct ggml_tensor * node = inplace ? ggml_soft_max_ext_inplace(d.ctx, a, mask, 0.37f, max_bias) :
                                          ggml_soft_max_ext(d.ctx, a, mask, 0.37f, max_bias);
    if (sinks) {
        ggml_soft_max_add_sinks(node, drive_tensor(&d, GGML_TYPE_F32, heads, DRIVE_PLAIN, -2, 2));
    }
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_soft_max, mask == NULL ? "no mask" : ggml_type_name(mask_type));
    drive_end(&d);
}

TEST(soft_max) {
    static const enum ggml_type masks[] = {GGML_TYPE_COUNT, GGML_TYPE_F32, GGML_TYPE_F16};
    for (int m = 0; m < 3; m++) {
        for (int s = 0; s < N_SHAPES; s++) {
            for (int sinks = 0; sinks < 2; sinks++) {
                check_soft_max(shapes[s], masks[m], 1, 0.0f, sinks, 0, 0, false);
                check_soft_max(shapes[s], masks[m], 1, 0.0f, sinks, 0, 0, true);
                if (m > 0) {
                    check_soft_max(shapes[s], masks[m], shapes[s][2], 8.0f, sinks, 0, 0, false);
                }
            }
        }
    }
}

/* Rows 0 .. 13 of 16 masked throughout, with and without sinks; a window of 10 in 640 x 640. */
TEST(soft_max_masked_rows) {
    const int64_t few[4] = {32, 16, 12, 1}, many[4] = {640, 640, 1, 1};
    check_soft_max(few, GGML_TYPE_F16, 1, 0.0f, false, 14, 0, false);
    check_soft_max(few, GGML_TYPE_F16, 1, 0.0f, true, 14, 0, false);
    check_soft_max(few, GGML_TYPE_F32, 12, 8.0f, true, 14, 0, false);
    check_soft_max(many, GGML_TYPE_F16, 1, 0.0f, false, 0, 10, false);
}

TEST(soft_max_over_mask) {
    const int64_t        ne[4] = {40, 7, 1, 1};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -8, 8);
    struct ggml_tensor * mask  = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -4, 0);
    struct ggml_tensor * node  = ggml_soft_max_ext(d.ctx, a, mask, 1.0f, 0.0f);
    node->data                 = mask->data;
    drive_check(&d, node, exact_soft_max, "over the mask");
    drive_end(&d);
}

TEST(soft_max_nan) {
    const int64_t        ne[4] = {19, 3, 1, 1};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -8, 8);
    struct ggml_tensor * node  = ggml_soft_max(d.ctx, a);
    ref_set(a, AT(17, 0, 0, 0), NAN);
    for (int k = 0; k < 19; k++) {
        ref_set(a, AT(k, 1, 0, 0), k == 4 ? NAN : -INFINITY);
    }
    drive_place(&d, node, DRIVE_PLAIN);
    REQUIRE(drive_run(&d, node, 1, NULL) == GGML_STATUS_SUCCESS);
    for (int k = 0; k < 19; k++) {
        CHECK(isnan(ref_get(node, AT(k, 0, 0, 0))) && isnan(ref_get(node, AT(k, 1, 0, 0))) && isfinite(ref_get(node, AT(k, 2, 0, 0))));
    }
    drive_end(&d);
}

static double exact_soft_max_back(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct at own = at;
    double          dot = 0.0, magnitude = 0.0;
    for (int64_t k = 0; k < node->ne[0]; k++) {
        at.i[0]        = k;
        const double p = ref_get(node->src[0], at) * ref_get(node->src[1], at);
        dot += p;
        magnitude += fabs(p);
    }
    const double y = ref_get(node->src[1], own), dy = ref_get(node->src[0], own);
    *bound         = 2e-6 * ref_f32(node, 0) * y * (fabs(dy) + magnitude) + 1e-9;
    return ref_f32(node, 0) * y * (dy - dot);
}

TEST(soft_max_back) {
    for (int s = 0; s < N_SHAPES; s++) {
        struct drive         d    = drive_begin();
        struct ggml_tensor * dy   = drive_tensor(&d, GGML_TYPE_F32, shapes[s], DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * y    = drive_tensor(&d, GGML_TYPE_F32, shapes[s], DRIVE_PLAIN, 0, 0.5);
        struct ggml_tensor * node = ggml_soft_max_ext_back(d.ctx, dy, y, 0.7f, 0.0f);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_soft_max_back, "");
        drive_end(&d);
    }
}
