/* SPDX-License-Identifier: MIT
 *
 * TRANSPOSE: dimensions 0 and 1 change places.
 */
#include "op/label.h"

#include "graph/backward.h"

static const int32_t axes[GGML_MAX_DIMS] = { 1, 0, 2, 3 };

static enum ggml_status check_transpose(const struct ggml_tensor * node) {
    return label_check_axes(node, axes);
}

struct ggml_tensor * ggml_transpose(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct op_draft draft = op_begin(ctx, GGML_OP_TRANSPOSE, __func__);
    op_src(&draft, 0, a);
    op_view_of(&draft, a, 0);
    op_named_after(&draft, "%s (transposed)", a);
    if (op_alive(&draft)) {
        label_move_axes(&draft, a, axes);
    }
    return op_commit(&draft);
}

static void backward_transpose(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_transpose(pass->ctx, grad));
    }
}

const struct op_row op_row_transpose = {
    .op        = GGML_OP_TRANSPOSE,
    .name      = "TRANSPOSE",
    .symbol    = "transpose(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_transpose,
    .backward  = backward_transpose,
    .cost      = label_cost,
};
