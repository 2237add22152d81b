/* SPDX-License-Identifier: MIT
 *
 * ARGSORT, TOP_K: indices of the values of a row, in order of the values.
 */
#include "op/check.h"

static enum ggml_status check_index_range(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == GGML_TYPE_I32, "result must be i32");
    OP_REQUIRE(node->src[0]->ne[0] <= INT32_MAX, "indices of a row of source 0 do not fit i32");
    return op_check_contiguous_result(node);
}

static enum ggml_status check_argsort(const struct ggml_tensor * node) {
    const int32_t order = op_get_i32(node, 0);
    OP_TRY(check_index_range(node));
    OP_REQUIRE(ggml_are_same_shape(node, node->src[0]), "result must have the shape of source 0");
    OP_REQUIRE(order == GGML_SORT_ORDER_ASC || order == GGML_SORT_ORDER_DESC, "%d is no order", order);
    return GGML_STATUS_SUCCESS;
}

/* n log n comparisons a row. */
static struct op_cost cost(const struct ggml_tensor * node) {
    const double   n    = (double) node->src[0]->ne[0];
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = (double) ggml_nelements(node->src[0]) * log2(n + 1.0);
    return cost;
}

const struct op_row op_row_argsort = {
    .op        = GGML_OP_ARGSORT,
    .name      = "ARGSORT",
    .symbol    = "argsort(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_argsort,
    .cost      = cost,
};

struct ggml_tensor * ggml_argsort(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_sort_order order) {
    struct op_draft draft = op_begin(ctx, GGML_OP_ARGSORT, __func__);
    op_src(&draft, 0, a);
    op_like(&draft, a);
    draft.node.type = GGML_TYPE_I32;
    op_param_i32(&draft, 0, (int32_t) order);
    return op_commit(&draft);
}

/* How many are wanted stands in the result's shape alone. */
static enum ggml_status check_top_k(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    OP_TRY(check_index_range(node));
    OP_REQUIRE(node->ne[0] <= a->ne[0] && node->ne[1] == a->ne[1] && node->ne[2] == a->ne[2] && node->ne[3] == a->ne[3],
               "result must have the rows of source 0, and no more values in each");
    return GGML_STATUS_SUCCESS;
}

const struct op_row op_row_top_k = {
    .op        = GGML_OP_TOP_K,
    .name      = "TOP_K",
    .symbol    = "top_k(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_top_k,
    .cost      = cost,
};

struct ggml_tensor * ggml_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k) {
    struct op_draft draft = op_begin(ctx, GGML_OP_TOP_K, __func__);
    op_src(&draft, 0, a);
    if (op_alive(&draft)) {
        op_shape(&draft, GGML_TYPE_I32, k, a->ne[1], a->ne[2], a->ne[3]);
    }
    return op_commit(&draft);
}

struct ggml_tensor * ggml_argsort_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k) {
    if (a != NULL && (k < 0 || k > a->ne[0])) {
        return op_builder_failed(ctx, "%s: %d values wanted of the rows of '%s' %s", __func__, k, a->name,
                                 op_describe(a));
    }
    struct ggml_tensor * sorted = ggml_argsort(ctx, a, GGML_SORT_ORDER_DESC);
    return sorted == NULL ? NULL
                          : ggml_view_4d(ctx, sorted, k, sorted->ne[1], sorted->ne[2], sorted->ne[3], sorted->nb[1],
                                         sorted->nb[2], sorted->nb[3], 0);
}
