/* SPDX-License-Identifier: MIT
 *
 * SILU_BACK: the gradient of silu, from the gradient of its result and its input.
 */
#include "op/check.h"

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    return op_check_same_shape(node, 0, 1);
}

static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 12.0);
}

const struct op_row op_row_silu_back = {
    .op            = GGML_OP_SILU_BACK,
    .name          = "SILU_BACK",
    .symbol        = "silu_back(x)",
    .n_src_min     = 2,
    .n_src_max     = 2,
    .check         = check,
    .inplace_alloc = true,
    .cost          = cost,
};

struct ggml_tensor * ggml_silu_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return op_build2(ctx, GGML_OP_SILU_BACK, __func__, a, b, false);
}
