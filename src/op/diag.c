/* SPDX-License-Identifier: MIT
 *
 * DIAG, DIAG_MASK_INF, DIAG_MASK_ZERO, TRI: matrices made or cut along the diagonal.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status shape_diag(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a = node->src[0];
    OP_REQUIRE(a->ne[1] == 1, "ne1 of source 0 must be 1: it is the diagonal");
    ne[0] = ne[1] = a->ne[0];
    ne[2]         = a->ne[2];
    ne[3]         = a->ne[3];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_diag(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(0), shape_diag);
}

const struct op_row op_row_diag = {
    .op        = GGML_OP_DIAG,
    .name      = "DIAG",
    .symbol    = "diag(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_diag,
};

struct ggml_tensor * ggml_diag(struct ggml_context * ctx, struct ggml_tensor * a) {
    struct op_draft draft = op_begin(ctx, GGML_OP_DIAG, __func__);
    op_src(&draft, 0, a);
    op_infer(&draft, OP_TYPE_OF_SRC(0), shape_diag);
    return op_commit(&draft);
}

/* What was replaced has no influence. */
static void backward_mask(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_diag_mask_zero(pass->ctx, grad, op_get_i32(node, 0)));
    }
}

#define MASK_ROW(basename, constant)          \
    const struct op_row op_row_##basename = { \
        .op            = GGML_OP_##constant,  \
        .name          = #constant,           \
        .symbol        = #basename "(x)",     \
        .n_src_min     = 1,                   \
        .n_src_max     = 1,                   \
        .check         = op_check_like_src0,  \
        .backward      = backward_mask,       \
        .inplace_alloc = true,                \
    };
MASK_ROW(diag_mask_inf, DIAG_MASK_INF)
MASK_ROW(diag_mask_zero, DIAG_MASK_ZERO)

/* Row i keeps its first n_past + i + 1 values. */
static struct ggml_tensor * build_mask(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                       struct ggml_tensor * a, int n_past, bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_i32(&draft, 0, n_past);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_diag_mask_inf(struct ggml_context * ctx, struct ggml_tensor * a, int n_past) {
    return build_mask(ctx, GGML_OP_DIAG_MASK_INF, __func__, a, n_past, false);
}

struct ggml_tensor * ggml_diag_mask_inf_inplace(struct ggml_context * ctx, struct ggml_tensor * a, int n_past) {
    return build_mask(ctx, GGML_OP_DIAG_MASK_INF, __func__, a, n_past, true);
}

struct ggml_tensor * ggml_diag_mask_zero(struct ggml_context * ctx, struct ggml_tensor * a, int n_past) {
    return build_mask(ctx, GGML_OP_DIAG_MASK_ZERO, __func__, a, n_past, false);
}

struct ggml_tensor * ggml_diag_mask_zero_inplace(struct ggml_context * ctx, struct ggml_tensor * a, int n_past) {
    return build_mask(ctx, GGML_OP_DIAG_MASK_ZERO, __func__, a, n_past, true);
}

static enum ggml_status check_tri(const struct ggml_tensor * node) {
    const int32_t kind = op_get_i32(node, 0);
    OP_TRY(op_check_like_src0(node));
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_TRY(op_check_contiguous(node, 0));
    OP_REQUIRE(node->src[0]->ne[0] == node->src[0]->ne[1], "source 0 must be square");
    OP_REQUIRE(kind >= GGML_TRI_TYPE_UPPER_DIAG && kind <= GGML_TRI_TYPE_LOWER, "%d is no kind of triangle", kind);
    return GGML_STATUS_SUCCESS;
}

const struct op_row op_row_tri = {
    .op        = GGML_OP_TRI,
    .name      = "TRI",
    .symbol    = "tri(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_tri,
};

struct ggml_tensor * ggml_tri(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_tri_type type) {
    struct op_draft draft = op_begin(ctx, GGML_OP_TRI, __func__);
    op_src(&draft, 0, a);
    op_like(&draft, a);
    op_param_i32(&draft, 0, (int32_t) type);
    return op_commit(&draft);
}
