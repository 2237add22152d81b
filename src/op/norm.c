/* SPDX-License-Identifier: MIT
 *
 * NORM, RMS_NORM, L2_NORM, GROUP_NORM, RMS_NORM_BACK: rows (or groups of channels) scaled to a common size.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

/* Two passes over the values: a sum of squares, a multiplication. */
static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 4.0);
}

static enum ggml_status check_group_norm(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_REQUIRE(op_get_i32(node, 0) > 0, "the number of groups must be positive, not %d", op_get_i32(node, 0));
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_back(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    return op_check_same_shape(node, 0, 1);
}

static void backward_rms_norm(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_rms_norm_back(pass->ctx, grad, node->src[0], op_get_f32(node, 0)));
    }
}

#define NORM_ROW(basename, constant, n_src, inplace, check_fn, backward_fn) \
    const struct op_row op_row_##basename = {                               \
        .op            = GGML_OP_##constant,                                \
        .name          = #constant,                                         \
        .symbol        = #basename "(x)",                                   \
        .n_src_min     = n_src,                                             \
        .n_src_max     = n_src,                                             \
        .check         = check_fn,                                          \
        .backward      = backward_fn,                                       \
        .inplace_alloc = inplace,                                           \
        .cost          = cost,                                              \
    };

NORM_ROW(norm, NORM, 1, false, op_check_like_src0, NULL)
NORM_ROW(rms_norm, RMS_NORM, 1, true, op_check_like_src0, backward_rms_norm)
NORM_ROW(l2_norm, L2_NORM, 1, false, op_check_like_src0, NULL)
NORM_ROW(group_norm, GROUP_NORM, 1, false, check_group_norm, NULL)
NORM_ROW(rms_norm_back, RMS_NORM_BACK, 2, true, check_back, NULL)

static struct ggml_tensor * build(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                  struct ggml_tensor * a, float eps, bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_f32(&draft, 0, eps);
    return op_commit(&draft);
}

#define NORM_BUILDERS(basename, constant)                                                                          \
    struct ggml_tensor * ggml_##basename(struct ggml_context * ctx, struct ggml_tensor * a, float eps) {           \
        return build(ctx, GGML_OP_##constant, __func__, a, eps, false);                                            \
    }                                                                                                              \
    struct ggml_tensor * ggml_##basename##_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps) { \
        return build(ctx, GGML_OP_##constant, __func__, a, eps, true);                                             \
    }

NORM_BUILDERS(norm, NORM)
NORM_BUILDERS(rms_norm, RMS_NORM)
NORM_BUILDERS(l2_norm, L2_NORM)

static struct ggml_tensor * build_group(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                        int n_groups, float eps, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_GROUP_NORM, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_i32(&draft, 0, n_groups);
    op_param_f32(&draft, 1, eps);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_group_norm(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups, float eps) {
    return build_group(ctx, __func__, a, n_groups, eps, false);
}

struct ggml_tensor * ggml_group_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
                                             float eps) {
    return build_group(ctx, __func__, a, n_groups, eps, true);
}

/* a: gradient of the result, b: the forward input. */
struct ggml_tensor * ggml_rms_norm_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                        float eps) {
    struct op_draft draft = op_begin(ctx, GGML_OP_RMS_NORM_BACK, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_like(&draft, a);
    op_param_f32(&draft, 0, eps);
    return op_commit(&draft);
}
