/* SPDX-License-Identifier: MIT
 *
 * RESHAPE: other extents for the elements of a contiguous tensor, in their order.
 */
#include "op/label.h"

#include "graph/backward.h"
#include "op/check.h"

static enum ggml_status check_reshape(const struct ggml_tensor * node) {
    const struct ggml_tensor * src = node->src[0];
    OP_TRY(op_check_sane(node));
    if (!ggml_is_contiguous(src) || !ggml_is_contiguous(node)) {
        return op_refuse(node, "source and result must be contiguous");
    }
    if (ggml_nelements(src) != ggml_nelements(node)) {
        return op_refuse(node, "source and result must have equally many elements");
    }
    return label_check_view(node, 0);
}

static struct ggml_tensor * build_reshape(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                          const int64_t ne[GGML_MAX_DIMS]) {
    struct op_draft draft = op_begin(ctx, GGML_OP_RESHAPE, builder);
    op_src(&draft, 0, a);
    op_view_of(&draft, a, 0);
    op_named_after(&draft, "%s (reshaped)", a);
    if (op_alive(&draft)) {
        op_shape(&draft, a->type, ne[0], ne[1], ne[2], ne[3]);
        op_contiguous(&draft);
    }
    return op_commit(&draft);
}

struct ggml_tensor * ggml_reshape(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    if (b == NULL) {
        return op_builder_failed(ctx, "%s: the tensor that gives the shape is NULL", __func__);
    }
    return build_reshape(ctx, __func__, a, b->ne);
}

struct ggml_tensor * ggml_reshape_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0) {
    return build_reshape(ctx, __func__, a, (const int64_t[]) { ne0, 1, 1, 1 });
}

struct ggml_tensor * ggml_reshape_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1) {
    return build_reshape(ctx, __func__, a, (const int64_t[]) { ne0, ne1, 1, 1 });
}

struct ggml_tensor * ggml_reshape_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                     int64_t ne2) {
    return build_reshape(ctx, __func__, a, (const int64_t[]) { ne0, ne1, ne2, 1 });
}

struct ggml_tensor * ggml_reshape_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                     int64_t ne2, int64_t ne3) {
    return build_reshape(ctx, __func__, a, (const int64_t[]) { ne0, ne1, ne2, ne3 });
}

static void backward_reshape(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * src = node->src[0];
    if (op_grad_needed(pass, src)) {
        op_grad_add(pass, src,
                    ggml_reshape(pass->ctx, ggml_is_contiguous(grad) ? grad : ggml_cont(pass->ctx, grad), src));
    }
}

const struct op_row op_row_reshape = {
    .op        = GGML_OP_RESHAPE,
    .name      = "RESHAPE",
    .symbol    = "reshape(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_reshape,
    .backward  = backward_reshape,
    .cost      = label_cost,
};
