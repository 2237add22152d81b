/* SPDX-License-Identifier: MIT
 *
 * REPEAT and its gradient: a tensor laid out as tiles, and the sum over the tiles.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status check_repeat(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == node->src[0]->type, "the result must keep the type of source 0");
    OP_REQUIRE(ggml_can_repeat(node->src[0], node), "extents of the result must be multiples of those of source 0");
    return op_check_contiguous_result(node);
}

static enum ggml_status check_repeat_back(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == node->src[0]->type, "the result must keep the type of source 0");
    OP_REQUIRE(ggml_can_repeat(node, node->src[0]), "extents of source 0 must be multiples of those of the result");
    return op_check_contiguous_result(node);
}

static struct op_cost cost_repeat_back(const struct ggml_tensor * node) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = (double) ggml_nelements(node->src[0]);
    return cost;
}

static void backward_repeat(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_repeat_back(pass->ctx, grad, node->src[0]));
    }
}

static void backward_repeat_back(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_repeat(pass->ctx, grad, node->src[0]));
    }
}

const struct op_row op_row_repeat = {
    .op        = GGML_OP_REPEAT,
    .name      = "REPEAT",
    .symbol    = "repeat(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_repeat,
    .backward  = backward_repeat,
};

const struct op_row op_row_repeat_back = {
    .op        = GGML_OP_REPEAT_BACK,
    .name      = "REPEAT_BACK",
    .symbol    = "repeat_back(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_repeat_back,
    .backward  = backward_repeat_back,
    .cost      = cost_repeat_back,
};

/* shape: a tensor that is read for its shape and not kept as a source; NULL makes no node. */
static struct ggml_tensor * build(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                  struct ggml_tensor * a, const struct ggml_tensor * shape) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_like(&draft, shape);
    if (op_alive(&draft)) {
        draft.node.type = a->type;
    }
    return op_commit(&draft);
}

struct ggml_tensor * ggml_repeat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return build(ctx, GGML_OP_REPEAT, __func__, a, b);
}

struct ggml_tensor * ggml_repeat_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                    int64_t ne2, int64_t ne3) {
    const struct ggml_tensor shape = {.ne = {ne0, ne1, ne2, ne3}};
    return build(ctx, GGML_OP_REPEAT, __func__, a, &shape);
}

struct ggml_tensor * ggml_repeat_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return build(ctx, GGML_OP_REPEAT_BACK, __func__, a, b);
}
