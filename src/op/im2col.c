/* SPDX-License-Identifier: MIT
 *
 * IM2COL, IM2COL_BACK, IM2COL_3D: the windows of a convolution as rows of a matrix, so that it becomes a product. The
 * kernel, source 0 of the forward forms, is read for its shape alone.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

/* Extents of the columns of a kernel moved over an image. Parameters: strides 0 1, paddings 2 3, dilations 4 5, 2-D or
 * not 6. */
static enum ggml_status columns(const struct ggml_tensor * node, const int64_t kernel[GGML_MAX_DIMS],
                                const int64_t image[GGML_MAX_DIMS], int64_t ne[GGML_MAX_DIMS]) {
    const int32_t * p     = node->op_params;
    const bool      is_2d = p[6] != 0;
    if (is_2d) {
        OP_REQUIRE(kernel[2] == image[2], "kernel and data must have the same channels (ne2)");
    } else {
        OP_REQUIRE(kernel[1] == image[1] && image[3] == 1,
                   "kernel and data must have the same channels (ne1), and data three dimensions");
    }
    OP_REQUIRE(op_window_extent(image[0], kernel[0], p[0], p[2], p[4], &ne[1]) &&
                   (!is_2d || op_window_extent(image[1], kernel[1], p[1], p[3], p[5], &ne[2])),
               "data is too small for the kernel, or stride or dilation make no sense");
    ne[0] = kernel[0] * kernel[1] * (is_2d ? kernel[2] : 1);
    if (is_2d) {
        ne[3] = image[3];
    } else {
        ne[2] = image[2];
        ne[3] = 1;
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status shape(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    return columns(node, node->src[0]->ne, node->src[1]->ne, ne);
}

static enum ggml_status check(const struct ggml_tensor * node) {
    return op_check_inferred(node, node->type, shape);
}

static bool grad_stops_at_kernel(const struct ggml_tensor * node, int k) {
    return k == (node->op == GGML_OP_IM2COL_BACK ? 1 : 0);
}

static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * data = node->src[1];
    const int32_t *      p    = node->op_params;
    if (op_grad_needed(pass, data)) {
        op_grad_add(
            pass, data,
            ggml_im2col_back(pass->ctx, grad, node->src[0], data->ne, p[0], p[1], p[2], p[3], p[4], p[5], p[6] != 0));
    }
}

const struct op_row op_row_im2col = {
    .op         = GGML_OP_IM2COL,
    .name       = "IM2COL",
    .symbol     = "im2col(x)",
    .n_src_min  = 2,
    .n_src_max  = 2,
    .check      = check,
    .backward   = backward,
    .grad_stops = grad_stops_at_kernel,
};

static struct op_draft begin(struct ggml_context * ctx, enum ggml_op op, const char * builder, struct ggml_tensor * a,
                             struct ggml_tensor * b, const int32_t params[7]) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    memcpy(draft.node.op_params, params, 7 * sizeof(params[0]));
    return draft;
}

struct ggml_tensor * ggml_im2col(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int s0,
                                 int s1, int p0, int p1, int d0, int d1, bool is_2D, enum ggml_type dst_type) {
    const int32_t   params[] = {s0, s1, p0, p1, d0, d1, is_2D};
    struct op_draft draft    = begin(ctx, GGML_OP_IM2COL, __func__, a, b, params);
    op_infer(&draft, dst_type, shape);
    return op_commit(&draft);
}

/* The result is like the image; source 0, the gradient, has the shape of its columns. */
static enum ggml_status check_back(const struct ggml_tensor * node) {
    int64_t ne[GGML_MAX_DIMS];
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == GGML_TYPE_F32, "result must be f32");
    OP_TRY(columns(node, node->src[1]->ne, node->ne, ne));
    OP_TRY(op_check_extents(node, 0, ne[0], ne[1], ne[2], ne[3]));
    return op_check_contiguous_result(node);
}

const struct op_row op_row_im2col_back = {
    .op         = GGML_OP_IM2COL_BACK,
    .name       = "IM2COL_BACK",
    .symbol     = "im2col_back(x)",
    .n_src_min  = 2,
    .n_src_max  = 2,
    .check      = check_back,
    .grad_stops = grad_stops_at_kernel,
};

struct ggml_tensor * ggml_im2col_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                      int64_t * ne, int s0, int s1, int p0, int p1, int d0, int d1, bool is_2D) {
    const int32_t   params[] = {s0, s1, p0, p1, d0, d1, is_2D};
    struct op_draft draft    = begin(ctx, GGML_OP_IM2COL_BACK, __func__, a, b, params);
    op_shape(&draft, GGML_TYPE_F32, ne[0], ne[1], ne[2], ne[3]);
    return op_commit(&draft);
}

/* Parameters: strides 0 1 2, paddings 3 4 5, dilations 6 7 8, input channels 9 (ne3 is channels times batch, or times
 * output channels; what does not fill a whole image is left out). */
static enum ggml_status shape_3d(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * kernel   = node->src[0]->ne;
    const int64_t * image    = node->src[1]->ne;
    const int32_t * p        = node->op_params;
    const int64_t   channels = p[9];
    int64_t         depth    = 0;
    OP_REQUIRE(channels > 0, "%d input channels make no sense", p[9]);
    OP_REQUIRE(op_window_extent(image[0], kernel[0], p[0], p[3], p[6], &ne[1]) &&
                   op_window_extent(image[1], kernel[1], p[1], p[4], p[7], &ne[2]) &&
                   op_window_extent(image[2], kernel[2], p[2], p[5], p[8], &depth),
               "data (source 1) is too small for the kernel (source 0), or stride or dilation make no sense");
    OP_REQUIRE(base_int64_mul(kernel[0] * kernel[1] * kernel[2], channels, &ne[0]) &&
                   base_int64_mul(depth, image[3] / channels, &ne[3]),
               "extents of the result overflow");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_3d(const struct ggml_tensor * node) {
    return op_check_inferred(node, node->type, shape_3d);
}

const struct op_row op_row_im2col_3d = {
    .op        = GGML_OP_IM2COL_3D,
    .name      = "IM2COL_3D",
    .symbol    = "im2col_3d(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_3d,
};

struct ggml_tensor * ggml_im2col_3d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                    int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2,
                                    enum ggml_type dst_type) {
    const int32_t   params[] = {s0, s1, s2, p0, p1, p2, d0, d1, d2, IC >= 0 && IC <= INT32_MAX ? (int32_t) IC : -1};
    struct op_draft draft    = op_begin(ctx, GGML_OP_IM2COL_3D, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    memcpy(draft.node.op_params, params, sizeof(params));
    op_infer(&draft, dst_type, shape_3d);
    return op_commit(&draft);
}
