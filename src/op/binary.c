/* SPDX-License-Identifier: MIT
 *
 * ADD, SUB, MUL, DIV: arithmetic value by value; the second operand is repeated to the shape of the first.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status check_repeats(const struct ggml_tensor * node) {
    OP_REQUIRE(ggml_can_repeat(node->src[1], node->src[0]),
               "extents of source 0 must be multiples of those of source 1, so that it can be repeated");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_binary(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    return check_repeats(node);
}

/* A sum may have another type than its first operand (ggml_add_cast), if that is one for which the conversion is worth
 * saving; rows then match in length. */
static enum ggml_status check_add(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    const struct ggml_tensor * a = node->src[0];
    if (node->type == a->type) {
        return check_binary(node);
    }
    OP_REQUIRE(ggml_is_quantized(a->type) || a->type == GGML_TYPE_F16 || a->type == GGML_TYPE_BF16,
               "a sum of another type than source 0 takes a quantized, f16 or bf16 source 0");
    OP_REQUIRE(a->ne[0] == node->src[1]->ne[0], "rows of both sources must have one length");
    OP_REQUIRE(ggml_are_same_shape(node, a), "the result must have the shape of source 0");
    OP_TRY(check_repeats(node));
    return op_check_contiguous_result(node);
}

static struct op_cost cost_binary(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 1.0);
}

static void backward_add(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    op_grad_add(pass, node->src[0], grad);
    if (op_grad_needed(pass, node->src[1])) {
        op_grad_add(pass, node->src[1], op_term_folded(pass, grad, node->src[1]));
    }
}

static void backward_sub(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    op_grad_add(pass, node->src[0], grad);
    if (op_grad_needed(pass, node->src[1])) {
        op_grad_sub(pass, node->src[1], op_term_folded(pass, grad, node->src[1]));
    }
}

static void backward_mul(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    if (op_grad_needed(pass, a)) {
        op_grad_add(pass, a, ggml_mul(pass->ctx, grad, b));
    }
    if (op_grad_needed(pass, b)) {
        op_grad_add(pass, b, op_term_folded(pass, ggml_mul(pass->ctx, grad, a), b));
    }
}

/* d(a / b) = da / b - (a / b) db / b */
static void backward_div(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    if (op_grad_needed(pass, a)) {
        op_grad_add(pass, a, ggml_div(pass->ctx, grad, b));
    }
    if (op_grad_needed(pass, b)) {
        struct ggml_tensor * by_b = ggml_mul(pass->ctx, grad, ggml_div(pass->ctx, node, b));
        op_grad_sub(pass, b, op_term_folded(pass, by_b, b));
    }
}

#define BINARY_ROW(basename, constant, symbol_text, check_fn) \
    const struct op_row op_row_##basename = {                 \
        .op            = GGML_OP_##constant,                  \
        .name          = #constant,                           \
        .symbol        = symbol_text,                         \
        .n_src_min     = 2,                                   \
        .n_src_max     = 2,                                   \
        .check         = check_fn,                            \
        .backward      = backward_##basename,                 \
        .inplace_alloc = true,                                \
        .cost          = cost_binary,                         \
    };

BINARY_ROW(add, ADD, "x+y", check_add)
BINARY_ROW(sub, SUB, "x-y", check_binary)
BINARY_ROW(mul, MUL, "x*y", check_binary)
BINARY_ROW(div, DIV, "x/y", check_binary)

#define BINARY_BUILDERS(basename, constant)                                                                           \
    struct ggml_tensor * ggml_##basename(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) { \
        return op_build2(ctx, GGML_OP_##constant, __func__, a, b, false);                                             \
    }                                                                                                                 \
    struct ggml_tensor * ggml_##basename##_inplace(struct ggml_context * ctx, struct ggml_tensor * a,                 \
                                                   struct ggml_tensor * b) {                                          \
        return op_build2(ctx, GGML_OP_##constant, __func__, a, b, true);                                              \
    }

BINARY_BUILDERS(add, ADD)
BINARY_BUILDERS(sub, SUB)
BINARY_BUILDERS(mul, MUL)
BINARY_BUILDERS(div, DIV)

struct ggml_tensor * ggml_add_cast(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                   enum ggml_type type) {
    struct op_draft draft = op_begin(ctx, GGML_OP_ADD, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_like(&draft, a);
    draft.node.type = type;
    return op_commit(&draft);
}
