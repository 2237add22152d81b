/* SPDX-License-Identifier: MIT
 *
 * SCALE: s x + b.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    return op_check_padded_rows(node, 0);
}

static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0);
}

static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_scale(pass->ctx, op_term_contiguous(pass, grad), op_get_f32(node, 0)));
    }
}

const struct op_row op_row_scale = {
    .op            = GGML_OP_SCALE,
    .name          = "SCALE",
    .symbol        = "x*v",
    .n_src_min     = 1,
    .n_src_max     = 1,
    .check         = check,
    .inplace_alloc = true,
    .backward      = backward,
    .cost          = cost,
};

static struct ggml_tensor * build(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a, float s,
                                  float b, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_SCALE, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_f32(&draft, 0, s);
    op_param_f32(&draft, 1, b);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_scale(struct ggml_context * ctx, struct ggml_tensor * a, float s) {
    return build(ctx, __func__, a, s, 0.0f, false);
}

struct ggml_tensor * ggml_scale_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s) {
    return build(ctx, __func__, a, s, 0.0f, true);
}

struct ggml_tensor * ggml_scale_bias(struct ggml_context * ctx, struct ggml_tensor * a, float s, float b) {
    return build(ctx, __func__, a, s, b, false);
}

struct ggml_tensor * ggml_scale_bias_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s, float b) {
    return build(ctx, __func__, a, s, b, true);
}
