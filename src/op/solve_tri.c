/* SPDX-License-Identifier: MIT
 *
 * SOLVE_TRI: X of A X = B, where A is lower triangular.
 */
#include "op/check.h"

static enum ggml_status shape(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    for (int k = 0; k < 2; k++) {
        OP_TRY(op_check_type(node, k, GGML_TYPE_F32));
        OP_TRY(op_check_contiguous(node, k));
    }
    OP_REQUIRE(a->ne[0] == a->ne[1], "source 0 must be square");
    OP_REQUIRE(a->ne[1] == b->ne[1] && a->ne[2] == b->ne[2] && a->ne[3] == b->ne[3],
               "sources 0 and 1 must have the same ne1, ne2 and ne3");
    memcpy(ne, b->ne, sizeof(b->ne));
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape);
}

/* Row i takes i multiplications and additions, and a division, for each column. */
static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, (double) node->src[0]->ne[0]);
}

const struct op_row op_row_solve_tri = {
    .op        = GGML_OP_SOLVE_TRI,
    .name      = "SOLVE_TRI",
    .symbol    = "A X = B, A triangular, solve X",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check,
    .cost      = cost,
};

struct ggml_tensor * ggml_solve_tri(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                    bool left, bool lower, bool uni) {
    if (!left || !lower || uni) {
        return op_builder_failed(
            ctx, "%s: only A on the left, lower triangular, with a diagonal of its own, can be solved", __func__);
    }
    struct op_draft draft = op_begin(ctx, GGML_OP_SOLVE_TRI, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_infer(&draft, GGML_TYPE_F32, shape);
    return op_commit(&draft);
}
