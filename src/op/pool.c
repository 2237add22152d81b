/* SPDX-License-Identifier: MIT
 *
 * POOL_1D, POOL_2D, POOL_2D_BACK: maximum or mean of windows.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

/* Windows of k that fit into `in` values with a padding on each side: trunc((in + 2 padding - k) / stride + 1), in
 * float because a padding may be a fraction. False unless there is one. */
static bool windows(int64_t in, int32_t k, int32_t stride, float padding, int64_t * out) {
    if (k < 1 || stride < 1) {
        return false;
    }
    const float n = ((float) in + 2.0f * padding - (float) k) / (float) stride + 1.0f;
    if (!(n >= 1.0f && n < 0x1p62f)) {
        return false;
    }
    *out = (int64_t) n;
    return true;
}

/* Is n what `windows` gives for any padding that is kept as this whole number? (The parameter has lost the fraction.)
 */
static bool windows_match(int64_t in, int32_t k, int32_t stride, int32_t padding, int64_t n) {
    const float fraction = 0.99999994f;
    int64_t     least, most;
    const bool  some = windows(in, k, stride, (float) padding + (padding < 0 ? 0.0f : fraction), &most);
    if (!some || !windows(in, k, stride, (float) padding - (padding > 0 ? 0.0f : fraction), &least)) {
        least = 1;
    }
    return some && n >= least && n <= most;
}

static enum ggml_status check_kind(const struct ggml_tensor * node) {
    const int32_t kind = op_get_i32(node, 0);
    OP_REQUIRE(kind >= 0 && kind < GGML_OP_POOL_COUNT, "%d is no kind of pooling", kind);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status shape_1d(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    memcpy(ne, node->src[0]->ne, sizeof(node->src[0]->ne));
    OP_REQUIRE(windows(ne[0], op_get_i32(node, 1), op_get_i32(node, 2), (float) op_get_i32(node, 3), &ne[0]),
               "no window of %d with stride %d and padding %d fits", op_get_i32(node, 1), op_get_i32(node, 2),
               op_get_i32(node, 3));
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_1d(const struct ggml_tensor * node) {
    OP_TRY(op_check_inferred(node, GGML_TYPE_F32, shape_1d));
    return check_kind(node);
}

static struct op_cost cost_1d(const struct ggml_tensor * node) {
    return op_cost_per_value(node, (double) op_get_i32(node, 1));
}

const struct op_row op_row_pool_1d = {
    .op        = GGML_OP_POOL_1D,
    .name      = "POOL_1D",
    .symbol    = "pool_1d(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_1d,
    .cost      = cost_1d,
};

struct ggml_tensor * ggml_pool_1d(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_op_pool op, int k0,
                                  int s0, int p0) {
    struct op_draft draft = op_begin(ctx, GGML_OP_POOL_1D, __func__);
    op_src(&draft, 0, a);
    op_param_i32(&draft, 0, (int32_t) op);
    op_param_i32(&draft, 1, k0);
    op_param_i32(&draft, 2, s0);
    op_param_i32(&draft, 3, p0);
    op_infer(&draft, GGML_TYPE_F32, shape_1d);
    return op_commit(&draft);
}

/* `pooled` is the result of pooling `image` by the parameters: kind 0, windows 1 2, strides 3 4, paddings 5 6. */
static enum ggml_status check_pooled(const struct ggml_tensor * node, const int64_t * image, const int64_t * pooled) {
    const int32_t * p = node->op_params;
    OP_TRY(check_kind(node));
    OP_REQUIRE(windows_match(image[0], p[1], p[3], p[5], pooled[0]) &&
                   windows_match(image[1], p[2], p[4], p[6], pooled[1]) && image[2] == pooled[2] &&
                   image[3] == pooled[3],
               "windows [%d, %d] with strides [%d, %d] and paddings [%d, %d] do not give this shape", p[1], p[2], p[3],
               p[4], p[5], p[6]);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_2d(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == GGML_TYPE_F32, "result must be f32");
    OP_TRY(check_pooled(node, node->src[0]->ne, node->ne));
    return op_check_contiguous_result(node);
}

static struct op_cost cost_2d(const struct ggml_tensor * node) {
    return op_cost_per_value(node, (double) op_get_i32(node, 1) * (double) op_get_i32(node, 2));
}

static void backward_2d(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    const int32_t * p = node->op_params;
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0],
                    ggml_pool_2d_back(pass->ctx, grad, node->src[0], (enum ggml_op_pool) p[0], p[1], p[2], p[3], p[4],
                                      (float) p[5], (float) p[6]));
    }
}

const struct op_row op_row_pool_2d = {
    .op        = GGML_OP_POOL_2D,
    .name      = "POOL_2D",
    .symbol    = "pool_2d(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_2d,
    .backward  = backward_2d,
    .cost      = cost_2d,
};

/* Paddings are cut to whole numbers; one that is none becomes one that no check accepts. */
static int32_t whole(float padding) {
    return padding > -0x1p31f && padding < 0x1p31f ? (int32_t) padding : INT32_MIN;
}

static struct op_draft begin_2d(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                struct ggml_tensor * a, enum ggml_op_pool kind, const int32_t sizes[4], float p0,
                                float p1) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_param_i32(&draft, 0, (int32_t) kind);
    for (int i = 0; i < 4; i++) {
        op_param_i32(&draft, 1 + i, sizes[i]);
    }
    op_param_i32(&draft, 5, whole(p0));
    op_param_i32(&draft, 6, whole(p1));
    return draft;
}

struct ggml_tensor * ggml_pool_2d(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_op_pool op, int k0,
                                  int k1, int s0, int s1, float p0, float p1) {
    struct op_draft draft = begin_2d(ctx, GGML_OP_POOL_2D, __func__, a, op, (const int32_t[]){k0, k1, s0, s1}, p0, p1);
    if (op_alive(&draft)) {
        int64_t width = 0, height = 0; /* an extent of 0 is refused by the check */
        windows(a->ne[0], k0, s0, p0, &width);
        windows(a->ne[1], k1, s1, p1, &height);
        op_shape(&draft, GGML_TYPE_F32, width, height, a->ne[2], a->ne[3]);
    }
    return op_commit(&draft);
}

static enum ggml_status check_2d_back(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == GGML_TYPE_F32 && ggml_are_same_shape(node, node->src[1]),
               "result must be f32 with the shape of source 1, the forward input");
    OP_TRY(check_pooled(node, node->ne, node->src[0]->ne));
    return op_check_contiguous_result(node);
}

const struct op_row op_row_pool_2d_back = {
    .op        = GGML_OP_POOL_2D_BACK,
    .name      = "POOL_2D_BACK",
    .symbol    = "pool_2d_back(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_2d_back,
};

struct ggml_tensor * ggml_pool_2d_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * af,
                                       enum ggml_op_pool op, int k0, int k1, int s0, int s1, float p0, float p1) {
    struct op_draft draft =
        begin_2d(ctx, GGML_OP_POOL_2D_BACK, __func__, a, op, (const int32_t[]){k0, k1, s0, s1}, p0, p1);
    op_src(&draft, 1, af);
    op_like(&draft, af);
    draft.node.type = GGML_TYPE_F32;
    return op_commit(&draft);
}
