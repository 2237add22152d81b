/* SPDX-License-Identifier: MIT
 *
 * ADD_ID: to row (i, j) of the first source adds the row of the second that ids[i, j] names (bias of mixed experts).
 */
#include "op/check.h"

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_TRY(op_check_type(node, 2, GGML_TYPE_I32));
    const struct ggml_tensor * a   = node->src[0];
    const struct ggml_tensor * ids = node->src[2];
    OP_REQUIRE(a->ne[0] == node->src[1]->ne[0], "rows of sources 0 and 1 must have one length");
    OP_REQUIRE(a->ne[1] == ids->ne[0] && a->ne[2] == ids->ne[1],
               "ids (source 2) must be [ne1, ne2] of source 0: one index for each row");
    return GGML_STATUS_SUCCESS;
}

static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 1.0);
}

const struct op_row op_row_add_id = {
    .op            = GGML_OP_ADD_ID,
    .name          = "ADD_ID",
    .symbol        = "x[i]+y",
    .n_src_min     = 3,
    .n_src_max     = 3,
    .check         = check,
    .inplace_alloc = true,
    .cost          = cost,
};

struct ggml_tensor * ggml_add_id(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 struct ggml_tensor * ids) {
    struct op_draft draft = op_begin(ctx, GGML_OP_ADD_ID, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_src(&draft, 2, ids);
    op_like(&draft, a);
    return op_commit(&draft);
}
