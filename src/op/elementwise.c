/* SPDX-License-Identifier: MIT
 *
 * SQR, SQRT, LOG, SIN, COS, LEAKY_RELU, CLAMP: functions of one value that are operators of their own (the others are
 * members of UNARY).
 */
#include "op/check.h"
#include "op/gradient_terms.h"

/* Floating-point operations of a transcendental function by table or polynomial, as the cost model counts them. */
#define FLOPS_FUNCTION 8.0

static struct op_cost cost_arithmetic(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0);
}

static struct op_cost cost_function(const struct ggml_tensor * node) {
    return op_cost_per_value(node, FLOPS_FUNCTION);
}

static void backward_sqr(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_scale(pass->ctx, ggml_mul(pass->ctx, grad, node->src[0]), 2.0f));
    }
}

static void backward_sqrt(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_scale(pass->ctx, ggml_div(pass->ctx, grad, node), 0.5f));
    }
}

static void backward_log(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_div(pass->ctx, grad, node->src[0]));
    }
}

static void backward_sin(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_mul(pass->ctx, grad, ggml_cos(pass->ctx, node->src[0])));
    }
}

static void backward_cos(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_sub(pass, node->src[0], ggml_mul(pass->ctx, grad, ggml_sin(pass->ctx, node->src[0])));
    }
}

#define ELEMENTWISE_ROW(basename, constant, symbol_text, inplace, backward_fn, cost_fn) \
    const struct op_row op_row_##basename = {                                           \
        .op            = GGML_OP_##constant,                                            \
        .name          = #constant,                                                     \
        .symbol        = symbol_text,                                                   \
        .n_src_min     = 1,                                                             \
        .n_src_max     = 1,                                                             \
        .check         = op_check_like_src0,                                            \
        .backward      = backward_fn,                                                   \
        .inplace_alloc = inplace,                                                       \
        .cost          = cost_fn,                                                       \
    };

ELEMENTWISE_ROW(sqr, SQR, "x^2", true, backward_sqr, cost_arithmetic)
ELEMENTWISE_ROW(sqrt, SQRT, "√x", true, backward_sqrt, cost_arithmetic)
ELEMENTWISE_ROW(log, LOG, "log(x)", true, backward_log, cost_function)
ELEMENTWISE_ROW(sin, SIN, "sin(x)", false, backward_sin, cost_function)
ELEMENTWISE_ROW(cos, COS, "cos(x)", false, backward_cos, cost_function)
ELEMENTWISE_ROW(leaky_relu, LEAKY_RELU, "leaky_relu(x)", false, NULL, cost_arithmetic)
ELEMENTWISE_ROW(clamp, CLAMP, "clamp(x)", true, NULL, cost_arithmetic)

#define ELEMENTWISE_BUILDERS(basename, constant)                                                        \
    struct ggml_tensor * ggml_##basename(struct ggml_context * ctx, struct ggml_tensor * a) {           \
        return op_build1(ctx, GGML_OP_##constant, __func__, a, false);                                  \
    }                                                                                                   \
    struct ggml_tensor * ggml_##basename##_inplace(struct ggml_context * ctx, struct ggml_tensor * a) { \
        return op_build1(ctx, GGML_OP_##constant, __func__, a, true);                                   \
    }

ELEMENTWISE_BUILDERS(sqr, SQR)
ELEMENTWISE_BUILDERS(sqrt, SQRT)
ELEMENTWISE_BUILDERS(log, LOG)
ELEMENTWISE_BUILDERS(sin, SIN)
ELEMENTWISE_BUILDERS(cos, COS)

/* A function with up to two numbers as parameters. */
static struct ggml_tensor * build(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                  struct ggml_tensor * a, float p0, float p1, bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_f32(&draft, 0, p0);
    op_param_f32(&draft, 1, p1);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_leaky_relu(struct ggml_context * ctx, struct ggml_tensor * a, float negative_slope,
                                     bool inplace) {
    return build(ctx, GGML_OP_LEAKY_RELU, __func__, a, negative_slope, 0.0f, inplace);
}

struct ggml_tensor * ggml_clamp(struct ggml_context * ctx, struct ggml_tensor * a, float min, float max) {
    return build(ctx, GGML_OP_CLAMP, __func__, a, min, max, false);
}

struct ggml_tensor * ggml_clamp_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float min, float max) {
    return build(ctx, GGML_OP_CLAMP, __func__, a, min, max, true);
}
