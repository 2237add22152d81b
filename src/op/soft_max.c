/* SPDX-License-Identifier: MIT
 *
 * SOFT_MAX and its gradient: soft_max(scale x + slope mask) along rows. The slope differs from head to head when
 * max_bias is not zero (ALiBi, arXiv:2108.12409). A sink is one more logit for each head, which takes a share and gives
 * no value.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

#define PARAM_SCALE 0
#define PARAM_MAX_BIAS 1

#define SRC_MASK 1
#define SRC_SINKS 2

static enum ggml_status check_mask(const struct ggml_tensor * node) {
    const struct ggml_tensor * a    = node->src[0];
    const struct ggml_tensor * mask = node->src[SRC_MASK];
    OP_REQUIRE(mask->type == GGML_TYPE_F16 || mask->type == GGML_TYPE_F32, "mask (source 1) must be f16 or f32");
    OP_TRY(op_check_contiguous(node, SRC_MASK));
    OP_REQUIRE(mask->ne[0] == a->ne[0] && mask->ne[1] >= a->ne[1],
               "mask (source 1) must have rows as long as those of source 0, and no fewer");
    OP_REQUIRE(op_divides(mask->ne[2], a->ne[2]) && op_divides(mask->ne[3], a->ne[3]),
               "ne2 and ne3 of source 0 must be multiples of those of the mask (source 1)");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_TRY(op_check_contiguous(node, 0));
    if (node->src[SRC_MASK] != NULL) {
        OP_TRY(check_mask(node));
    }
    OP_REQUIRE(!(op_get_f32(node, PARAM_MAX_BIAS) > 0.0f) || node->src[SRC_MASK] != NULL,
               "max_bias > 0 scales a mask (source 1), and there is none");
    if (node->src[SRC_SINKS] != NULL) {
        OP_TRY(op_check_type(node, SRC_SINKS, GGML_TYPE_F32));
        OP_REQUIRE(node->src[SRC_SINKS]->ne[0] == node->src[0]->ne[2],
                   "sinks (source 2) must be one for each of ne2 of source 0");
    }
    return GGML_STATUS_SUCCESS;
}

/* A maximum, an exponential and its sum, a division. */
static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 12.0);
}

static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0],
                    ggml_soft_max_ext_back(pass->ctx, grad, node, op_get_f32(node, PARAM_SCALE),
                                           op_get_f32(node, PARAM_MAX_BIAS)));
    }
}

const struct op_row op_row_soft_max = {
    .op            = GGML_OP_SOFT_MAX,
    .name          = "SOFT_MAX",
    .symbol        = "soft_max(x)",
    .n_src_min     = 1,
    .n_src_max     = 3,
    .optional_src  = 1u << SRC_MASK,
    .check         = check,
    .inplace_alloc = true,
    .backward      = backward,
    .cost          = cost,
};

static struct ggml_tensor * build(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                  struct ggml_tensor * mask, float scale, float max_bias, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_SOFT_MAX, builder);
    op_src(&draft, 0, a);
    op_src_optional(&draft, SRC_MASK, mask);
    op_result_like(&draft, a, inplace);
    op_param_f32(&draft, PARAM_SCALE, scale);
    op_param_f32(&draft, PARAM_MAX_BIAS, max_bias);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_soft_max(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build(ctx, __func__, a, NULL, 1.0f, 0.0f, false);
}

struct ggml_tensor * ggml_soft_max_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build(ctx, __func__, a, NULL, 1.0f, 0.0f, true);
}

struct ggml_tensor * ggml_soft_max_ext(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * mask,
                                       float scale, float max_bias) {
    return build(ctx, __func__, a, mask, scale, max_bias, false);
}

struct ggml_tensor * ggml_soft_max_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * mask, float scale, float max_bias) {
    return build(ctx, __func__, a, mask, scale, max_bias, true);
}

void ggml_soft_max_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks) {
    op_set_source(a, GGML_OP_SOFT_MAX, SRC_SINKS, sinks, __func__);
}

/* Sources: gradient of the result, and the result. */
static enum ggml_status check_back(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    return op_check_same_shape(node, 0, 1);
}

static struct op_cost cost_back(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 5.0);
}

const struct op_row op_row_soft_max_back = {
    .op            = GGML_OP_SOFT_MAX_BACK,
    .name          = "SOFT_MAX_BACK",
    .symbol        = "soft_max_back(x)",
    .n_src_min     = 2,
    .n_src_max     = 2,
    .check         = check_back,
    .inplace_alloc = true,
    .cost          = cost_back,
};

static struct ggml_tensor * build_back(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                       struct ggml_tensor * b, float scale, float max_bias, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_SOFT_MAX_BACK, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_result_like(&draft, a, inplace);
    op_param_f32(&draft, PARAM_SCALE, scale);
    op_param_f32(&draft, PARAM_MAX_BIAS, max_bias);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_soft_max_ext_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                            float scale, float max_bias) {
    return build_back(ctx, __func__, a, b, scale, max_bias, false);
}

struct ggml_tensor * ggml_soft_max_ext_back_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                    struct ggml_tensor * b, float scale, float max_bias) {
    return build_back(ctx, __func__, a, b, scale, max_bias, true);
}
