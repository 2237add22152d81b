/* SPDX-License-Identifier: MIT
 *
 * SUM, SUM_ROWS, MEAN, CUMSUM, ARGMAX, COUNT_EQUAL: sums and searches along rows, or over all values.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status shape_scalar(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    (void) node;
    ne[0] = ne[1] = ne[2] = ne[3] = 1;
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status shape_rows(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    memcpy(ne, node->src[0]->ne, sizeof(node->src[0]->ne));
    ne[0] = 1;
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status shape_argmax(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a = node->src[0];
    OP_REQUIRE(ggml_is_matrix(a), "source 0 must be a matrix");
    OP_REQUIRE(a->ne[0] <= INT32_MAX, "indices of a row of source 0 do not fit i32");
    ne[0] = a->ne[1];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_sum(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(0), shape_scalar);
}

static enum ggml_status check_sum_rows(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(0), shape_rows);
}

static enum ggml_status check_mean(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_rows);
}

static enum ggml_status check_cumsum(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    return op_check_type(node, 0, GGML_TYPE_F32);
}

static enum ggml_status check_argmax(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_I32, shape_argmax);
}

static enum ggml_status check_count_equal(const struct ggml_tensor * node) {
    OP_TRY(op_check_inferred(node, GGML_TYPE_I64, shape_scalar));
    return op_check_same_shape(node, 0, 1);
}

/* One addition or comparison for every value that is read. */
static struct op_cost cost(const struct ggml_tensor * node) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = (double) ggml_nelements(node->src[0]);
    return cost;
}

static void backward_sum(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    op_grad_add_scalar(pass, node->src[0], grad);
}

static void backward_sum_rows(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_repeat(pass->ctx, grad, node->src[0]));
    }
}

static void backward_mean(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * a = node->src[0];
    if (op_grad_needed(pass, a)) {
        struct ggml_tensor * share = ggml_scale(pass->ctx, op_term_contiguous(pass, grad), 1.0f / (float) a->ne[0]);
        op_grad_add(pass, a, ggml_repeat(pass->ctx, share, a));
    }
}

#define REDUCE_ROW(basename, constant, symbol_text, n_src, backward_fn) \
    const struct op_row op_row_##basename = {                           \
        .op        = GGML_OP_##constant,                                \
        .name      = #constant,                                         \
        .symbol    = symbol_text,                                       \
        .n_src_min = n_src,                                             \
        .n_src_max = n_src,                                             \
        .check     = check_##basename,                                  \
        .backward  = backward_fn,                                       \
        .cost      = cost,                                              \
    };

REDUCE_ROW(sum, SUM, "Σx", 1, backward_sum)
REDUCE_ROW(sum_rows, SUM_ROWS, "Σx_k", 1, backward_sum_rows)
REDUCE_ROW(mean, MEAN, "Σx/n", 1, backward_mean)
REDUCE_ROW(cumsum, CUMSUM, "cumsum(x)", 1, NULL)
REDUCE_ROW(argmax, ARGMAX, "argmax(x)", 1, NULL)
REDUCE_ROW(count_equal, COUNT_EQUAL, "count_equal(x)", 2, NULL)

static struct ggml_tensor * build(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                  struct ggml_tensor * a, enum ggml_type type, op_shape_fn shape) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_infer(&draft, type, shape);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_sum(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build(ctx, GGML_OP_SUM, __func__, a, OP_TYPE_OF_SRC(0), shape_scalar);
}

struct ggml_tensor * ggml_sum_rows(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build(ctx, GGML_OP_SUM_ROWS, __func__, a, OP_TYPE_OF_SRC(0), shape_rows);
}

struct ggml_tensor * ggml_mean(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build(ctx, GGML_OP_MEAN, __func__, a, GGML_TYPE_F32, shape_rows);
}

struct ggml_tensor * ggml_argmax(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build(ctx, GGML_OP_ARGMAX, __func__, a, GGML_TYPE_I32, shape_argmax);
}

struct ggml_tensor * ggml_cumsum(struct ggml_context * ctx, struct ggml_tensor * a) {
    return op_build1(ctx, GGML_OP_CUMSUM, __func__, a, false);
}

struct ggml_tensor * ggml_count_equal(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct op_draft draft = op_begin(ctx, GGML_OP_COUNT_EQUAL, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_infer(&draft, GGML_TYPE_I64, shape_scalar);
    return op_commit(&draft);
}
