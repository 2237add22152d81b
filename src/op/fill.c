/* SPDX-License-Identifier: MIT
 *
 * FILL, ARANGE, TIMESTEP_EMBEDDING: values made from numbers.
 */
#include "op/check.h"

static enum ggml_status check_fill(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_REQUIRE(node->type == GGML_TYPE_F32 || node->type == GGML_TYPE_F16, "source 0 must be f32 or f16");
    return op_check_contiguous(node, 0);
}

const struct op_row op_row_fill = {
    .op            = GGML_OP_FILL,
    .name          = "FILL",
    .symbol        = "fill(x, c)",
    .n_src_min     = 1,
    .n_src_max     = 1,
    .check         = check_fill,
    .inplace_alloc = true,
};

static struct ggml_tensor * build_fill(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a, float c,
                                       bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_FILL, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    op_param_f32(&draft, 0, c);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_fill(struct ggml_context * ctx, struct ggml_tensor * a, float c) {
    return build_fill(ctx, __func__, a, c, false);
}

struct ggml_tensor * ggml_fill_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float c) {
    return build_fill(ctx, __func__, a, c, true);
}

/* start, start + step, ... below stop: ceil((stop - start) / step) values. */
static enum ggml_status shape_arange(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const float start = op_get_f32(node, 0);
    const float stop  = op_get_f32(node, 1);
    const float step  = op_get_f32(node, 2);
    const float n     = ceilf((stop - start) / step);
    OP_REQUIRE(stop > start && step > 0.0f, "from %g to %g by %g is no ascending range", (double) start, (double) stop,
               (double) step);
    OP_REQUIRE(n >= 0.0f && n < 0x1p62f, "a range of %g values is too long", (double) n);
    ne[0] = (int64_t) n;
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_arange(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_arange);
}

const struct op_row op_row_arange = {
    .op     = GGML_OP_ARANGE,
    .name   = "ARANGE",
    .symbol = "arange(start, stop, step)",
    .check  = check_arange,
};

struct ggml_tensor * ggml_arange(struct ggml_context * ctx, float start, float stop, float step) {
    struct op_draft draft = op_begin(ctx, GGML_OP_ARANGE, __func__);
    op_param_f32(&draft, 0, start);
    op_param_f32(&draft, 1, stop);
    op_param_f32(&draft, 2, step);
    op_infer(&draft, GGML_TYPE_F32, shape_arange);
    return op_commit(&draft);
}

/* A row of cosines and sines for each number. */
static enum ggml_status shape_embedding(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    OP_REQUIRE(op_get_i32(node, 0) > 0, "an embedding of %d values makes no sense", op_get_i32(node, 0));
    ne[0] = op_get_i32(node, 0);
    ne[1] = node->src[0]->ne[0];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_embedding(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_embedding);
}

static struct op_cost cost_embedding(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 20.0);
}

const struct op_row op_row_timestep_embedding = {
    .op        = GGML_OP_TIMESTEP_EMBEDDING,
    .name      = "TIMESTEP_EMBEDDING",
    .symbol    = "timestep_embedding(timesteps, dim, max_period)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_embedding,
    .cost      = cost_embedding,
};

struct ggml_tensor * ggml_timestep_embedding(struct ggml_context * ctx, struct ggml_tensor * timesteps, int dim,
                                             int max_period) {
    struct op_draft draft = op_begin(ctx, GGML_OP_TIMESTEP_EMBEDDING, __func__);
    op_src(&draft, 0, timesteps);
    op_param_i32(&draft, 0, dim);
    op_param_i32(&draft, 1, max_period);
    op_infer(&draft, GGML_TYPE_F32, shape_embedding);
    return op_commit(&draft);
}
