/* SPDX-License-Identifier: MIT
 *
 * SQR, SQRT, LOG, SIN, COS, LEAKY_RELU, CLAMP: functions of one value that are operators of their own (the others are
 * members of UNARY).
 */
#include "op/check.h"

/* Floating-point operations of a transcendental function by table or polynomial, as the cost model counts them. */
#define FLOPS_FUNCTION 8.0

static struct op_cost cost_arithmetic(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0);
}

static struct op_cost cost_function(const struct ggml_tensor * node) {
    return op_cost_per_value(node, FLOPS_FUNCTION);
}

#define ELEMENTWISE_ROW(basename, constant, symbol_text, inplace, cost_fn) \
    const struct op_row op_row_##basename = {                              \
        .op            = GGML_OP_##constant,                               \
        .name          = #constant,                                        \
        .symbol        = symbol_text,                                      \
        .n_src_min     = 1,                                                \
        .n_src_max     = 1,                                                \
        .check         = op_check_like_src0,                               \
        .inplace_alloc = inplace,                                          \
        .cost          = cost_fn,                                          \
    };

ELEMENTWISE_ROW(sqr, SQR, "x^2", true, cost_arithmetic)
ELEMENTWISE_ROW(sqrt, SQRT, "√x", true, cost_arithmetic)
ELEMENTWISE_ROW(log, LOG, "log(x)", true, cost_function)
ELEMENTWISE_ROW(sin, SIN, "sin(x)", false, cost_function)
ELEMENTWISE_ROW(cos, COS, "cos(x)", false, cost_function)
ELEMENTWISE_ROW(leaky_relu, LEAKY_RELU, "leaky_relu(x)", false, cost_arithmetic)
ELEMENTWISE_ROW(clamp, CLAMP, "clamp(x)", true, cost_arithmetic)

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
