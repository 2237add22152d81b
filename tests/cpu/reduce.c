/* SPDX-License-Identifier: MIT
 *
 * SUM (of permuted tensors too), SUM_ROWS, MEAN, CUMSUM, ARGMAX, COUNT_EQUAL, ARGSORT, TOP_K. Bound of sums: 2e-6 of the
 * sum of magnitudes, and the rounding of the result's type.
 */
#include "cpu/drive.h"

static const enum ggml_type floats[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};

static const int64_t shapes[][4] = {{1, 1, 1, 1}, {33, 256, 1, 1}, {7, 5, 3, 2}, {2100, 2, 1, 1}, {0, 3, 1, 1}, {1, 40, 2, 1}};
#define N_SHAPES 6

static double exact_sum(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a   = node->src[0];
    double                     sum = 0.0, magnitude = 0.0;
    (void) at;
    for (int64_t n = 0; n < ggml_nelements(a); n++) {
        sum += ref_get(a, ref_at(a, n));
        magnitude += fabs(ref_get(a, ref_at(a, n)));
    }
    *bound = 2e-6 * magnitude + 1.1 * ref_rounding(node->type) * fabs(sum);
    return sum;
}

TEST(sum) {
    for (int t = 0; t < 3; t++) {
        for (int s = 0; s < N_SHAPES; s++) {
            for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
                struct drive         d    = drive_begin();
                struct ggml_tensor * a    = drive_tensor(&d, floats[t], shapes[s], (enum drive_layout) layout, 0, 3);
                struct ggml_tensor * node = ggml_sum(d.ctx, a);
                drive_place(&d, node, DRIVE_PLAIN);
                drive_check(&d, node, exact_sum, drive_layout_name((enum drive_layout) layout));
                drive_end(&d);
            }
        }
    }
}

static double exact_rows(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a   = node->src[0];
    const int64_t              end = node->op == GGML_OP_CUMSUM ? at.i[0] + 1 : a->ne[0];
    double                     sum = 0.0, magnitude = 0.0;
    for (int64_t k = 0; k < end; k++) {
        at.i[0] = k;
        sum += ref_get(a, at);
        magnitude += fabs(ref_get(a, at));
    }
    if (node->op == GGML_OP_MEAN) {
        sum /= (double) a->ne[0];
        magnitude /= (double) a->ne[0];
    }
    *bound = 2e-6 * magnitude + 1.1 * ref_rounding(node->type) * fabs(sum);
    return sum;
}

TEST(rows) {
    for (int k = 0; k < 3; k++) {
        for (int s = 0; s < N_SHAPES; s++) {
            for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
                struct drive         d    = drive_begin();
                struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_F32, shapes[s], (enum drive_layout) layout, -3, 3);
                struct ggml_tensor * node = k == 0 ? ggml_sum_rows(d.ctx, a) : k == 1 ? ggml_mean(d.ctx, a) : ggml_cumsum(d.ctx, a);
                drive_place(&d, node, DRIVE_PLAIN);
                drive_check(&d, node, exact_rows, drive_layout_name((enum drive_layout) layout));
                drive_end(&d);
            }
        }
    }
}

static double exact_argmax(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a    = node->src[0];
    int64_t                    best = 0;
    for (int64_t k = 1; k < a->ne[0]; k++) {
        if (ref_get(a, AT(k, at.i[0], 0, 0)) >= ref_get(a, AT(best, at.i[0], 0, 0))) {
            best = k;
        }
    }
    *bound = 0.0;
    return (double) best;
}

TEST(argmax) {
    static const int64_t ne[][4] = {{1, 1, 1, 1}, {100, 7, 1, 1}, {33, 0, 1, 1}, {5000, 3, 1, 1}};
    for (int s = 0; s < 4; s++) {
        for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
            struct drive         d    = drive_begin();
            struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_F32, ne[s], (enum drive_layout) layout, -3, 3);
            struct ggml_tensor * node = ggml_argmax(d.ctx, a);
            for (int64_t n = 0; n < ggml_nelements(a); n++) { /* ties */
                ref_set(a, ref_at(a, n), floor(ref_get(a, ref_at(a, n)) * 4.0));
            }
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_argmax, drive_layout_name((enum drive_layout) layout));
            drive_end(&d);
        }
    }
}

static double exact_count(const struct ggml_tensor * node, struct at at, double * bound) {
    double count = 0.0;
    (void) at;
    for (int64_t n = 0; n < ggml_nelements(node->src[0]); n++) {
        count += ref_get(node->src[0], ref_at(node->src[0], n)) == ref_get(node->src[1], ref_at(node->src[1], n));
    }
    *bound = 0.0;
    return count;
}

TEST(count_equal) {
    for (int s = 0; s < N_SHAPES; s++) {
        for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
            struct drive         d    = drive_begin();
            struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_I32, shapes[s], (enum drive_layout) layout, -3, 3);
            struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_I32, shapes[s], DRIVE_PLAIN, -3, 3);
            struct ggml_tensor * node = ggml_count_equal(d.ctx, a, b);
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_count, drive_layout_name((enum drive_layout) layout));
            drive_end(&d);
        }
    }
}

/* ---- order ---- */

/* Does element i come before element j? Equal ones keep their order, NaN is last. */
static bool before(double x, int64_t i, double y, int64_t j, bool descending) {
    if (isnan(x) || isnan(y)) {
        return isnan(x) == isnan(y) ? i < j : !isnan(x);
    }
    return x == y ? i < j : descending ? x > y : x < y;
}

/* The element that has as many before it as the place says. */
static double exact_order(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a    = node->src[0];
    const bool                 desc = node->op == GGML_OP_TOP_K || ref_i32(node, 0) == GGML_SORT_ORDER_DESC;
    const int64_t              place = at.i[0];
    *bound                           = 0.0;
    for (int64_t i = 0; i < a->ne[0]; i++) {
        int64_t rank = 0;
        for (int64_t j = 0; j < a->ne[0] && rank <= place; j++) {
            rank += before(ref_get(a, AT(j, at.i[1], at.i[2], at.i[3])), j, ref_get(a, AT(i, at.i[1], at.i[2], at.i[3])), i, desc);
        }
        if (rank == place) {
            return (double) i;
        }
    }
    return -1.0;
}

TEST(sorting) {
    static const int64_t ne[][4] = {{1, 1, 1, 1}, {8, 5, 2, 1}, {47, 2, 1, 1}, {48, 2, 1, 1}, {49, 2, 1, 1}, {130, 2, 1, 2}, {0, 2, 1, 1}};
    for (int s = 0; s < 7; s++) {
        for (int k = 0; k < 3; k++) {
            for (int ties = 0; ties < 2; ties++) {
                struct drive         d = drive_begin();
                struct ggml_tensor * a = drive_tensor(&d, GGML_TYPE_F32, ne[s], k == 0 ? DRIVE_SLICED : DRIVE_PLAIN, -3, 3);
                for (int64_t n = 0; n < ggml_nelements(a) && ties; n++) {
                    const double x = n % 17 == 5 ? NAN : n % 13 == 3 ? -0.0 : floor(ref_get(a, ref_at(a, n)) * 2.0);
                    ref_set(a, ref_at(a, n), x);
                }
                struct ggml_tensor * node = k < 2 ? ggml_argsort(d.ctx, a, (enum ggml_sort_order) k) :
                                                    ggml_top_k(d.ctx, a, (int) ((ne[s][0] + 1) / 2));
                drive_place(&d, node, DRIVE_PLAIN);
                drive_check(&d, node, exact_order, ties ? "with ties and NaN" : "");
                drive_end(&d);
            }
        }
    }
}
