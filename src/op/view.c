/* SPDX-License-Identifier: MIT
 *
 * VIEW: a part of a tensor, by extents, strides and an offset in bytes, which is parameter 0-1.
 */
#include "op/label.h"

#include "graph/backward.h"

static enum ggml_status check_view(const struct ggml_tensor * node) {
    size_t offset;
    memcpy(&offset, node->op_params, sizeof(offset));
    return label_check_view(node, offset);
}

/* Strides from nb1 on; those beyond the given dimensions lie behind the whole. */
static struct ggml_tensor * build_view(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                       const int64_t ne[GGML_MAX_DIMS], const size_t nb[GGML_MAX_DIMS], size_t offset) {
    struct op_draft draft = op_begin(ctx, GGML_OP_VIEW, builder);
    op_src(&draft, 0, a);
    op_view_of(&draft, a, offset);
    memcpy(draft.node.op_params, &offset, sizeof(offset));
    if (op_alive(&draft)) {
        op_shape(&draft, a->type, ne[0], ne[1], ne[2], ne[3]);
        op_strides(&draft, ggml_type_size(a->type), nb[1], nb[2], nb[3]);
    }
    return op_commit(&draft);
}

struct ggml_tensor * ggml_view_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, size_t offset) {
    const int64_t ne[GGML_MAX_DIMS] = { ne0, 1, 1, 1 };
    size_t        row               = 0;
    if (a != NULL && ggml_blck_size(a->type) > 0) {
        /* bad extents are refused later: this only must not overflow in signed arithmetic */
        row = ggml_type_size(a->type) * ((size_t) ne0 / (size_t) ggml_blck_size(a->type));
    }
    const size_t nb[GGML_MAX_DIMS] = { 0, row, row, row };
    return build_view(ctx, __func__, a, ne, nb, offset);
}

struct ggml_tensor * ggml_view_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  size_t nb1, size_t offset) {
    const int64_t ne[GGML_MAX_DIMS] = { ne0, ne1, 1, 1 };
    const size_t  all               = nb1 * (size_t) ne1;
    const size_t  nb[GGML_MAX_DIMS] = { 0, nb1, all, all };
    return build_view(ctx, __func__, a, ne, nb, offset);
}

struct ggml_tensor * ggml_view_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2, size_t nb1, size_t nb2, size_t offset) {
    const int64_t ne[GGML_MAX_DIMS] = { ne0, ne1, ne2, 1 };
    const size_t  nb[GGML_MAX_DIMS] = { 0, nb1, nb2, nb2 * (size_t) ne2 };
    return build_view(ctx, __func__, a, ne, nb, offset);
}

struct ggml_tensor * ggml_view_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2, int64_t ne3, size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    const int64_t ne[GGML_MAX_DIMS] = { ne0, ne1, ne2, ne3 };
    const size_t  nb[GGML_MAX_DIMS] = { 0, nb1, nb2, nb3 };
    return build_view(ctx, __func__, a, ne, nb, offset);
}

/* The gradient of the part is added where the part lies; gradients are contiguous f32 whatever the source is. */
static void backward_view(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * src = node->src[0];
    size_t               offset;
    memcpy(&offset, node->op_params, sizeof(offset));
    if (!op_grad_needed(pass, src)) {
        return;
    }
    if (!ggml_is_contiguous(src)) {
        op_grad_refuse(pass, node, "its source is not contiguous");
        return;
    }
    const size_t from = ggml_type_size(src->type);
    const size_t to   = sizeof(float);
    op_grad_add_region(pass, src, grad, node->nb[1] / from * to, node->nb[2] / from * to, node->nb[3] / from * to,
                       offset / from * to);
}

const struct op_row op_row_view = {
    .op        = GGML_OP_VIEW,
    .name      = "VIEW",
    .symbol    = "view(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_view,
    .backward  = backward_view,
    .cost      = label_cost,
};
