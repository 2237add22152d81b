/* SPDX-License-Identifier: MIT
 *
 * UNARY: functions of one value, chosen by the first parameter.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

/* The functions in the order of enum ggml_unary_op, by how their builders look: in both forms, without a named in-place
 * form, or with parameters (written out below). */
#define UNARY_LIST(BOTH, PLAIN, SPECIAL) \
    BOTH(ABS, abs)                       \
    BOTH(SGN, sgn)                       \
    BOTH(NEG, neg)                       \
    BOTH(STEP, step)                     \
    BOTH(TANH, tanh)                     \
    BOTH(ELU, elu)                       \
    BOTH(RELU, relu)                     \
    BOTH(SIGMOID, sigmoid)               \
    BOTH(GELU, gelu)                     \
    BOTH(GELU_QUICK, gelu_quick)         \
    BOTH(SILU, silu)                     \
    PLAIN(HARDSWISH, hardswish)          \
    PLAIN(HARDSIGMOID, hardsigmoid)      \
    BOTH(EXP, exp)                       \
    BOTH(EXPM1, expm1)                   \
    BOTH(SOFTPLUS, softplus)             \
    BOTH(GELU_ERF, gelu_erf)             \
    SPECIAL(XIELU, xielu)                \
    BOTH(FLOOR, floor)                   \
    BOTH(CEIL, ceil)                     \
    BOTH(ROUND, round)                   \
    BOTH(TRUNC, trunc)

#define NAME(constant, basename) [GGML_UNARY_OP_##constant] = #constant,
static const char * const names[] = {UNARY_LIST(NAME, NAME, NAME)};
_Static_assert(sizeof(names) / sizeof(names[0]) == GGML_UNARY_OP_COUNT, "a function has no name");

const char * ggml_unary_op_name(enum ggml_unary_op op) {
    return (unsigned) op < GGML_UNARY_OP_COUNT ? names[op] : "unknown";
}

enum ggml_unary_op ggml_get_unary_op(const struct ggml_tensor * tensor) {
    GGML_ASSERT(tensor->op == GGML_OP_UNARY);
    return (enum ggml_unary_op) op_get_i32(tensor, 0);
}

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    const int32_t function = op_get_i32(node, 0);
    OP_REQUIRE(function >= 0 && function < GGML_UNARY_OP_COUNT, "%d is no unary function", function);
    return op_check_contiguous_rows(node, 0);
}

static bool grad_stops(const struct ggml_tensor * node, int k) {
    const int32_t function = op_get_i32(node, 0);
    (void) k;
    return function == GGML_UNARY_OP_SGN || function == GGML_UNARY_OP_STEP; /* constant by pieces */
}

/* Derivatives: a factor of the gradient, made from the input x or the result y. A function without an entry has none.
 */
static struct ggml_tensor * factor_abs(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * y) {
    (void) y;
    return ggml_sgn(ctx, x);
}

static struct ggml_tensor * factor_relu(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * y) {
    (void) y;
    return ggml_step(ctx, x);
}

static struct ggml_tensor * factor_exp(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * y) {
    (void) ctx;
    (void) x;
    return y;
}

static struct ggml_tensor * factor_expm1(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * y) {
    (void) y;
    return ggml_exp(ctx, x);
}

static struct ggml_tensor * factor_softplus(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * y) {
    (void) y;
    return ggml_sigmoid(ctx, x);
}

typedef struct ggml_tensor * (*factor_fn)(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * y);

static const factor_fn factors[GGML_UNARY_OP_COUNT] = {
    [GGML_UNARY_OP_ABS] = factor_abs,     [GGML_UNARY_OP_RELU] = factor_relu,         [GGML_UNARY_OP_EXP] = factor_exp,
    [GGML_UNARY_OP_EXPM1] = factor_expm1, [GGML_UNARY_OP_SOFTPLUS] = factor_softplus,
};

static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor *     x        = node->src[0];
    const enum ggml_unary_op function = ggml_get_unary_op(node);
    if (!op_grad_needed(pass, x)) {
        return;
    }
    if (function == GGML_UNARY_OP_NEG) {
        op_grad_sub(pass, x, grad);
    } else if (function == GGML_UNARY_OP_SILU) {
        op_grad_add(pass, x, ggml_silu_back(pass->ctx, grad, x));
    } else if (factors[function] != NULL) {
        op_grad_add(pass, x, ggml_mul(pass->ctx, grad, factors[function](pass->ctx, x, node)));
    } else if (!grad_stops(node, 0)) {
        op_grad_refuse(pass, node, "this function has no gradient");
    }
}

/* Most are one exponential and some arithmetic. */
static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 8.0);
}

const struct op_row op_row_unary = {
    .op            = GGML_OP_UNARY,
    .name          = "UNARY",
    .symbol        = "unary(x)",
    .n_src_min     = 1,
    .n_src_max     = 1,
    .check         = check,
    .inplace_alloc = true,
    .backward      = backward,
    .grad_stops    = grad_stops,
    .cost          = cost,
};

static struct ggml_tensor * build(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                  enum ggml_unary_op op, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_UNARY, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_i32(&draft, 0, (int32_t) op);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_unary(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_unary_op op) {
    return build(ctx, __func__, a, op, false);
}

struct ggml_tensor * ggml_unary_inplace(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_unary_op op) {
    return build(ctx, __func__, a, op, true);
}

#define PLAIN_BUILDER(constant, basename)                                                     \
    struct ggml_tensor * ggml_##basename(struct ggml_context * ctx, struct ggml_tensor * a) { \
        return build(ctx, __func__, a, GGML_UNARY_OP_##constant, false);                      \
    }
#define BOTH_BUILDERS(constant, basename)                                                               \
    PLAIN_BUILDER(constant, basename)                                                                   \
    struct ggml_tensor * ggml_##basename##_inplace(struct ggml_context * ctx, struct ggml_tensor * a) { \
        return build(ctx, __func__, a, GGML_UNARY_OP_##constant, true);                                 \
    }
#define NO_BUILDER(constant, basename)
UNARY_LIST(BOTH_BUILDERS, PLAIN_BUILDER, NO_BUILDER)

/* xIELU (arXiv:2411.13010): the parameters are kept as the function uses them, with the softplus that keeps both slopes
 * positive already taken. */
struct ggml_tensor * ggml_xielu(struct ggml_context * ctx, struct ggml_tensor * a, float alpha_n, float alpha_p,
                                float beta, float eps) {
    struct op_draft draft = op_begin(ctx, GGML_OP_UNARY, __func__);
    op_src(&draft, 0, a);
    op_like(&draft, a);
    op_param_i32(&draft, 0, GGML_UNARY_OP_XIELU);
    op_param_f32(&draft, 1, beta + ggml_compute_softplus_f32(alpha_n));
    op_param_f32(&draft, 2, ggml_compute_softplus_f32(alpha_p));
    op_param_f32(&draft, 3, beta);
    op_param_f32(&draft, 4, eps);
    return op_commit(&draft);
}
