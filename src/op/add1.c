/* SPDX-License-Identifier: MIT
 *
 * ADD1: one number added to every value.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_TRY(op_check_scalar(node, 1));
    return op_check_padded_rows(node, 0);
}

static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 1.0);
}

static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    op_grad_add(pass, node->src[0], grad);
    if (op_grad_needed(pass, node->src[1])) {
        op_grad_add(pass, node->src[1], ggml_sum(pass->ctx, op_term_contiguous(pass, grad)));
    }
}

const struct op_row op_row_add1 = {
    .op            = GGML_OP_ADD1,
    .name          = "ADD1",
    .symbol        = "x+y",
    .n_src_min     = 2,
    .n_src_max     = 2,
    .check         = check,
    .inplace_alloc = true,
    .backward      = backward,
    .cost          = cost,
};

struct ggml_tensor * ggml_add1(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return op_build2(ctx, GGML_OP_ADD1, __func__, a, b, false);
}

struct ggml_tensor * ggml_add1_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return op_build2(ctx, GGML_OP_ADD1, __func__, a, b, true);
}
