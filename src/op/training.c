/* SPDX-License-Identifier: MIT
 *
 * CROSS_ENTROPY_LOSS and its gradient, OPT_STEP_ADAMW, OPT_STEP_SGD: the operators of training.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status shape_loss(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    (void) ne; /* a scalar */
    return op_check_same_shape(node, 0, 1);
}

static enum ggml_status check_loss(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(0), shape_loss);
}

/* A soft max and a logarithm for each logit. */
static struct op_cost cost_loss(const struct ggml_tensor * node) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = 15.0 * (double) ggml_nelements(node->src[1]);
    return cost;
}

static void backward_loss(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_cross_entropy_loss_back(pass->ctx, grad, node->src[0], node->src[1]));
    }
}

const struct op_row op_row_cross_entropy_loss = {
    .op        = GGML_OP_CROSS_ENTROPY_LOSS,
    .name      = "CROSS_ENTROPY_LOSS",
    .symbol    = "cross_entropy_loss(x,y)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_loss,
    .backward  = backward_loss,
    .cost      = cost_loss,
};

struct ggml_tensor * ggml_cross_entropy_loss(struct ggml_context * ctx, struct ggml_tensor * a,
                                             struct ggml_tensor * b) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CROSS_ENTROPY_LOSS, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_infer(&draft, OP_TYPE_OF_SRC(0), shape_loss);
    return op_commit(&draft);
}

/* Sources: gradient of the loss, logits, labels. */
static enum ggml_status check_loss_back(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_TRY(op_check_scalar(node, 0));
    OP_TRY(op_check_same_shape(node, 1, 2));
    OP_TRY(op_check_same_shape_type(node, 1));
    return op_check_contiguous_result(node);
}

const struct op_row op_row_cross_entropy_loss_back = {
    .op        = GGML_OP_CROSS_ENTROPY_LOSS_BACK,
    .name      = "CROSS_ENTROPY_LOSS_BACK",
    .symbol    = "cross_entropy_loss_back(x,y)",
    .n_src_min = 3,
    .n_src_max = 3,
    .check     = check_loss_back,
    .cost      = cost_loss,
};

struct ggml_tensor * ggml_cross_entropy_loss_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, struct ggml_tensor * c) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CROSS_ENTROPY_LOSS_BACK, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_src(&draft, 2, c);
    op_like(&draft, b);
    return op_commit(&draft);
}

/* A step updates its parameter, source 0, in place. The sources behind it up to `moments` are like it in shape; the
 * last one holds the numbers of the method. */
static enum ggml_status check_step(const struct ggml_tensor * node, int moments, int64_t n_numbers) {
    OP_TRY(op_check_like_src0(node));
    OP_REQUIRE((node->src[0]->flags & GGML_TENSOR_FLAG_PARAM) != 0, "source 0 must be marked as a parameter");
    for (int k = 1; k <= moments; k++) {
        OP_TRY(op_check_same_shape(node, 0, k));
    }
    OP_TRY(op_check_type(node, moments + 1, GGML_TYPE_F32));
    OP_REQUIRE(ggml_nelements(node->src[moments + 1]) == n_numbers, "source %d must hold %d numbers", moments + 1,
               (int) n_numbers);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_adamw(const struct ggml_tensor * node) {
    return check_step(node, 3, 7); /* gradient and two moments; alpha beta1 beta2 eps wd beta1h beta2h */
}

static enum ggml_status check_sgd(const struct ggml_tensor * node) {
    return check_step(node, 1, 2); /* gradient; alpha wd */
}

static struct op_cost cost_adamw(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 15.0);
}

static struct op_cost cost_sgd(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 4.0);
}

const struct op_row op_row_opt_step_adamw = {
    .op        = GGML_OP_OPT_STEP_ADAMW,
    .name      = "OPT_STEP_ADAMW",
    .symbol    = "adamw(x)",
    .n_src_min = 5,
    .n_src_max = 5,
    .check     = check_adamw,
    .cost      = cost_adamw,
};

const struct op_row op_row_opt_step_sgd = {
    .op        = GGML_OP_OPT_STEP_SGD,
    .name      = "OPT_STEP_SGD",
    .symbol    = "sgd(x)",
    .n_src_min = 3,
    .n_src_max = 3,
    .check     = check_sgd,
    .cost      = cost_sgd,
};

struct ggml_tensor * ggml_opt_step_adamw(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * grad,
                                         struct ggml_tensor * m, struct ggml_tensor * v,
                                         struct ggml_tensor * adamw_params) {
    struct op_draft draft = op_begin(ctx, GGML_OP_OPT_STEP_ADAMW, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, grad);
    op_src(&draft, 2, m);
    op_src(&draft, 3, v);
    op_src(&draft, 4, adamw_params);
    op_result_like(&draft, a, true);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_opt_step_sgd(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * grad,
                                       struct ggml_tensor * sgd_params) {
    struct op_draft draft = op_begin(ctx, GGML_OP_OPT_STEP_SGD, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, grad);
    op_src(&draft, 2, sgd_params);
    op_result_like(&draft, a, true);
    return op_commit(&draft);
}
