/* SPDX-License-Identifier: MIT
 *
 * CONV_2D, CONV_2D_DW, CONV_3D: convolutions computed without a matrix of columns. Kernels are source 0, data source 1,
 * innermost extents first: [width, height, channels, ...].
 */
#include "op/check.h"

/* A multiplication and an addition for each tap, for each value of the result. */
static struct op_cost cost_taps(const struct ggml_tensor * node, double taps) {
    return op_cost_per_value(node, 2.0 * taps);
}

/* Parameters of both planar forms: strides 0 1, paddings 2 3, dilations 4 5. */
static enum ggml_status plane(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * kernel = node->src[0]->ne;
    const int64_t * image  = node->src[1]->ne;
    const int32_t * p      = node->op_params;
    OP_REQUIRE(op_window_extent(image[0], kernel[0], p[0], p[2], p[4], &ne[0]) &&
                   op_window_extent(image[1], kernel[1], p[1], p[3], p[5], &ne[1]),
               "data (source 1) is too small for the kernel (source 0), or stride or dilation make no sense");
    return GGML_STATUS_SUCCESS;
}

static struct op_draft begin(struct ggml_context * ctx, enum ggml_op op, const char * builder, struct ggml_tensor * a,
                             struct ggml_tensor * b, const int32_t * params, size_t n_params) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    memcpy(draft.node.op_params, params, n_params * sizeof(params[0]));
    return draft;
}

static enum ggml_status shape_2d(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * image  = node->src[1];
    OP_REQUIRE(kernel->ne[2] == image->ne[2],
               "kernel (source 0) and data (source 1) must have the same channels (ne2)");
    ne[2] = kernel->ne[3];
    ne[3] = image->ne[3];
    return plane(node, ne);
}

static enum ggml_status check_2d(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(1), shape_2d);
}

static struct op_cost cost_2d(const struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    return cost_taps(node, (double) (kernel[0] * kernel[1] * kernel[2]));
}

const struct op_row op_row_conv_2d = {
    .op        = GGML_OP_CONV_2D,
    .name      = "CONV_2D",
    .symbol    = "conv_2d(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_2d,
    .cost      = cost_2d,
};

struct ggml_tensor * ggml_conv_2d_direct(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                         int s0, int s1, int p0, int p1, int d0, int d1) {
    const int32_t   params[] = {s0, s1, p0, p1, d0, d1};
    struct op_draft draft    = begin(ctx, GGML_OP_CONV_2D, __func__, a, b, params, 6);
    op_infer(&draft, OP_TYPE_OF_SRC(1), shape_2d);
    return op_commit(&draft);
}

/* Depthwise: channel i of the result is channel i of the data under kernel i. */
static enum ggml_status shape_2d_dw(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * image  = node->src[1];
    OP_REQUIRE(kernel->ne[2] == 1 && kernel->ne[3] == image->ne[2],
               "kernel (source 0) must have one channel (ne2) and be one for each channel (ne2) of data (source 1)");
    ne[2] = image->ne[2];
    ne[3] = image->ne[3];
    return plane(node, ne);
}

/* Data whose channels lie innermost gives a result of the same layout. */
static bool channels_innermost(const struct ggml_tensor * node) {
    return ggml_is_contiguous_channels(node->src[1]) && ggml_blck_size(node->type) == 1;
}

static enum ggml_status check_2d_dw(const struct ggml_tensor * node) {
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    OP_TRY(op_check_sane(node));
    OP_TRY(shape_2d_dw(node, ne));
    OP_TRY(op_check_result(node, node->src[1]->type, ne[0], ne[1], ne[2], ne[3]));
    return channels_innermost(node) ? GGML_STATUS_SUCCESS : op_check_contiguous_result(node);
}

static struct op_cost cost_2d_dw(const struct ggml_tensor * node) {
    return cost_taps(node, (double) (node->src[0]->ne[0] * node->src[0]->ne[1]));
}

const struct op_row op_row_conv_2d_dw = {
    .op        = GGML_OP_CONV_2D_DW,
    .name      = "CONV_2D_DW",
    .symbol    = "conv_2d_dw(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_2d_dw,
    .cost      = cost_2d_dw,
};

struct ggml_tensor * ggml_conv_2d_dw_direct(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                            int stride0, int stride1, int pad0, int pad1, int dilation0,
                                            int dilation1) {
    const int32_t   params[] = {stride0, stride1, pad0, pad1, dilation0, dilation1};
    struct op_draft draft    = begin(ctx, GGML_OP_CONV_2D_DW, __func__, a, b, params, 6);
    op_infer(&draft, OP_TYPE_OF_SRC(1), shape_2d_dw);
    struct ggml_tensor * result = op_commit(&draft);
    if (result != NULL && channels_innermost(result)) {
        result->nb[2] = ggml_type_size(result->type);
        result->nb[0] = result->nb[2] * (size_t) result->ne[2];
        result->nb[1] = result->nb[0] * (size_t) result->ne[0];
    }
    return result;
}

/* Parameters: strides 0 1 2, paddings 3 4 5, dilations 6 7 8, input channels 9, batch 10, output channels 11. Channels
 * and batch (or output channels) share ne3. */
static enum ggml_status shape_3d(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * kernel = node->src[0]->ne;
    const int64_t * image  = node->src[1]->ne;
    const int32_t * p      = node->op_params;
    OP_REQUIRE(p[9] > 0 && p[10] >= 0 && p[11] >= 0, "%d input channels, batch %d, %d output channels make no sense",
               p[9], p[10], p[11]);
    OP_REQUIRE(kernel[3] == (int64_t) p[9] * p[11],
               "ne3 of the kernel (source 0) must be %d input times %d output channels", p[9], p[11]);
    OP_REQUIRE(image[3] == (int64_t) p[9] * p[10], "ne3 of data (source 1) must be %d channels times batch %d", p[9],
               p[10]);
    for (int i = 0; i < 3; i++) {
        OP_REQUIRE(op_window_extent(image[i], kernel[i], p[i], p[3 + i], p[6 + i], &ne[i]),
                   "data (source 1) is too small for the kernel (source 0), or stride or dilation make no sense");
    }
    ne[3] = (int64_t) p[10] * p[11];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_3d(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_3d);
}

static struct op_cost cost_3d(const struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    return cost_taps(node, (double) (kernel[0] * kernel[1] * kernel[2]) * (double) op_get_i32(node, 9));
}

const struct op_row op_row_conv_3d = {
    .op        = GGML_OP_CONV_3D,
    .name      = "CONV_3D",
    .symbol    = "conv_3d(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_3d,
    .cost      = cost_3d,
};

struct ggml_tensor * ggml_conv_3d_direct(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                         int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2,
                                         int n_channels, int n_batch, int n_channels_out) {
    const int32_t   params[] = {s0, s1, s2, p0, p1, p2, d0, d1, d2, n_channels, n_batch, n_channels_out};
    struct op_draft draft    = begin(ctx, GGML_OP_CONV_3D, __func__, a, b, params, 12);
    op_infer(&draft, GGML_TYPE_F32, shape_3d);
    return op_commit(&draft);
}
