/* SPDX-License-Identifier: MIT
 *
 * PERMUTE: dimension i of the source becomes dimension axis_i; the axes are parameters 0 to 3.
 */
#include "op/label.h"

#include "graph/backward.h"

static enum ggml_status check_permute(const struct ggml_tensor * node) {
    return label_check_axes(node, node->op_params);
}

struct ggml_tensor * ggml_permute(struct ggml_context * ctx, struct ggml_tensor * a, int axis0, int axis1, int axis2,
                                  int axis3) {
    const int32_t   axes[GGML_MAX_DIMS] = { axis0, axis1, axis2, axis3 };
    struct op_draft draft               = op_begin(ctx, GGML_OP_PERMUTE, __func__);
    unsigned        taken               = 0;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        op_param_i32(&draft, i, axes[i]);
        taken |= axes[i] >= 0 && axes[i] < GGML_MAX_DIMS ? 1u << axes[i] : 0;
    }
    op_src(&draft, 0, a);
    op_view_of(&draft, a, 0);
    op_named_after(&draft, "%s (permuted)", a);
    if (op_alive(&draft) && taken == (1u << GGML_MAX_DIMS) - 1) {
        label_move_axes(&draft, a, axes);
    } else {
        op_like(&draft, a); /* refused for its axes */
    }
    return op_commit(&draft);
}

static void backward_permute(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    int inverse[GGML_MAX_DIMS];
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        inverse[node->op_params[i]] = i;
    }
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_permute(pass->ctx, grad, inverse[0], inverse[1], inverse[2], inverse[3]));
    }
}

const struct op_row op_row_permute = {
    .op        = GGML_OP_PERMUTE,
    .name      = "PERMUTE",
    .symbol    = "permute(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_permute,
    .backward  = backward_permute,
    .cost      = label_cost,
};
