/* SPDX-License-Identifier: MIT
 *
 * CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D, COL2IM_1D: every value of the data spreads a kernel over the result; what
 * overlaps is summed.
 */
#include "op/check.h"

/* (in - 1) stride + k values are covered. */
static bool spread_extent(int64_t in, int64_t k, int32_t stride, int64_t * out) {
    int64_t n;
    return stride > 0 && in > 0 && k > 0 && base_int64_mul(in - 1, stride, &n) && base_int64_add(n, k, out);
}

static enum ggml_status shape_1d(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * data   = node->src[1];
    OP_REQUIRE(ggml_is_matrix(data), "data (source 1) must be a matrix");
    OP_REQUIRE(kernel->ne[2] == data->ne[1] && kernel->ne[3] == 1,
               "ne2 of the kernel (source 0) must be ne1 of data (source 1), its channels");
    OP_REQUIRE(op_get_i32(node, 1) == 0 && op_get_i32(node, 2) == 1, "padding must be 0 and dilation 1");
    OP_REQUIRE(spread_extent(data->ne[0], kernel->ne[0], op_get_i32(node, 0), &ne[0]),
               "stride %d or the extents make no sense", op_get_i32(node, 0));
    ne[1] = kernel->ne[1];
    ne[2] = data->ne[2];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_1d(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_1d);
}

/* Each value of the data meets each value of the kernels of its channel. */
static struct op_cost cost_1d(const struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    struct op_cost  cost   = op_cost_bytes(node);
    cost.flops             = 2.0 * (double) ggml_nelements(node->src[1]) * (double) kernel[0] * (double) kernel[1];
    return cost;
}

const struct op_row op_row_conv_transpose_1d = {
    .op        = GGML_OP_CONV_TRANSPOSE_1D,
    .name      = "CONV_TRANSPOSE_1D",
    .symbol    = "conv_transpose_1d(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_1d,
    .cost      = cost_1d,
};

struct ggml_tensor * ggml_conv_transpose_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                            int s0, int p0, int d0) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CONV_TRANSPOSE_1D, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_param_i32(&draft, 0, s0);
    op_param_i32(&draft, 1, p0);
    op_param_i32(&draft, 2, d0);
    op_infer(&draft, GGML_TYPE_F32, shape_1d);
    return op_commit(&draft);
}

static enum ggml_status shape_2d(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * data   = node->src[1];
    const int32_t              stride = op_get_i32(node, 0);
    OP_REQUIRE(kernel->ne[3] == data->ne[2],
               "ne3 of the kernel (source 0) must be ne2 of data (source 1), its channels");
    OP_REQUIRE(spread_extent(data->ne[0], kernel->ne[0], stride, &ne[0]) &&
                   spread_extent(data->ne[1], kernel->ne[1], stride, &ne[1]),
               "stride %d or the extents make no sense", stride);
    ne[2] = kernel->ne[2];
    ne[3] = data->ne[3];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_2d(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_2d);
}

static struct op_cost cost_2d(const struct ggml_tensor * node) {
    const int64_t * kernel = node->src[0]->ne;
    struct op_cost  cost   = op_cost_bytes(node);
    cost.flops             = 2.0 * (double) ggml_nelements(node->src[1]) * (double) (kernel[0] * kernel[1] * kernel[2]);
    return cost;
}

const struct op_row op_row_conv_transpose_2d = {
    .op        = GGML_OP_CONV_TRANSPOSE_2D,
    .name      = "CONV_TRANSPOSE_2D",
    .symbol    = "conv_transpose_2d(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_2d,
    .cost      = cost_2d,
};

struct ggml_tensor * ggml_conv_transpose_2d_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, int stride) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CONV_TRANSPOSE_2D, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_param_i32(&draft, 0, stride);
    op_infer(&draft, GGML_TYPE_F32, shape_2d);
    return op_commit(&draft);
}

/* Columns [taps times output channels, steps] summed into [length, output channels], with the padding cut off both
 * ends. */
static enum ggml_status shape_col2im(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a        = node->src[0];
    const int32_t              stride   = op_get_i32(node, 0);
    const int32_t              channels = op_get_i32(node, 1);
    const int32_t              padding  = op_get_i32(node, 2);
    int64_t                    n        = 0;
    OP_REQUIRE(ggml_is_matrix(a), "source 0 must be a matrix");
    OP_TRY(op_check_contiguous(node, 0));
    OP_REQUIRE(a->type == GGML_TYPE_F32 || a->type == GGML_TYPE_F16 || a->type == GGML_TYPE_BF16,
               "source 0 must be f32, f16 or bf16");
    OP_REQUIRE(stride > 0 && channels > 0 && padding >= 0, "stride %d, %d channels, padding %d make no sense", stride,
               channels, padding);
    OP_REQUIRE(a->ne[0] % channels == 0, "rows of source 0 must be a multiple of the %d channels", channels);
    OP_REQUIRE(spread_extent(a->ne[1], a->ne[0] / channels, stride, &n) && n > 2 * (int64_t) padding,
               "the padding %d leaves nothing of source 0", padding);
    ne[0] = n - 2 * (int64_t) padding;
    ne[1] = channels;
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_col2im(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(0), shape_col2im);
}

static struct op_cost cost_col2im(const struct ggml_tensor * node) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = (double) ggml_nelements(node->src[0]);
    return cost;
}

const struct op_row op_row_col2im_1d = {
    .op        = GGML_OP_COL2IM_1D,
    .name      = "COL2IM_1D",
    .symbol    = "col2im_1d(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_col2im,
    .cost      = cost_col2im,
};

struct ggml_tensor * ggml_col2im_1d(struct ggml_context * ctx, struct ggml_tensor * a, int s0, int oc, int p0) {
    struct op_draft draft = op_begin(ctx, GGML_OP_COL2IM_1D, __func__);
    op_src(&draft, 0, a);
    op_param_i32(&draft, 0, s0);
    op_param_i32(&draft, 1, oc);
    op_param_i32(&draft, 2, p0);
    op_infer(&draft, OP_TYPE_OF_SRC(0), shape_col2im);
    return op_commit(&draft);
}
