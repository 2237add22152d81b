/* SPDX-License-Identifier: MIT
 *
 * LIGHTNING_INDEXER, DSV4_HC_COMB, DSV4_HC_PRE, DSV4_HC_POST: parts of DeepSeek's sparse attention and of its
 * hyper-connections, where hc copies of the residual stream are mixed at every layer.
 */
#include "op/check.h"

static enum ggml_status check_f32(const struct ggml_tensor * node) {
    for (int k = 0; k < GGML_MAX_SRC && node->src[k] != NULL; k++) {
        OP_TRY(op_check_type(node, k, GGML_TYPE_F32));
    }
    return GGML_STATUS_SUCCESS;
}

/* Scores of all keys [keys, queries, 1, batch], from q [row, heads, queries, batch] and k [row, 1, keys, batch]. */
static enum ggml_status shape_indexer(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * q       = node->src[0];
    const struct ggml_tensor * k       = node->src[1];
    const struct ggml_tensor * weights = node->src[2];
    const struct ggml_tensor * mask    = node->src[3];
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_TRY(op_check_type(node, 2, GGML_TYPE_F32));
    OP_TRY(op_check_type(node, 3, GGML_TYPE_F16));
    OP_REQUIRE(q->ne[0] == k->ne[0] && k->ne[1] == 1 && q->ne[3] == k->ne[3],
               "k (source 1) must be [ne0 of q, 1, keys, ne3 of q], q being source 0");
    OP_TRY(op_check_extents(node, 2, q->ne[1], q->ne[2], 1, q->ne[3]));
    OP_REQUIRE(mask->ne[0] == k->ne[2] && mask->ne[1] == q->ne[2] && mask->ne[2] == 1 &&
                   op_divides(mask->ne[3], weights->ne[3]),
               "mask (source 3) must be [keys, queries, 1, a divisor of the batch]");
    ne[0] = k->ne[2];
    ne[1] = q->ne[2];
    ne[3] = q->ne[3];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_indexer(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_indexer);
}

static struct op_cost cost_indexer(const struct ggml_tensor * node) {
    const int64_t * q = node->src[0]->ne;
    return op_cost_per_value(node, (2.0 * (double) q[0] + 3.0) * (double) q[1]);
}

const struct op_row op_row_lightning_indexer = {
    .op        = GGML_OP_LIGHTNING_INDEXER,
    .name      = "LIGHTNING_INDEXER",
    .symbol    = "lightning_indexer(q, k, weights, mask)",
    .n_src_min = 4,
    .n_src_max = 4,
    .check     = check_indexer,
    .cost      = cost_indexer,
};

struct ggml_tensor * ggml_lightning_indexer(struct ggml_context * ctx, struct ggml_tensor * q, struct ggml_tensor * k,
                                            struct ggml_tensor * weights, struct ggml_tensor * mask) {
    struct op_draft draft = op_begin(ctx, GGML_OP_LIGHTNING_INDEXER, __func__);
    op_src(&draft, 0, q);
    op_src(&draft, 1, k);
    op_src(&draft, 2, weights);
    op_src(&draft, 3, mask);
    op_infer(&draft, GGML_TYPE_F32, shape_indexer);
    return op_commit(&draft);
}

/* A token's mix holds weights before (hc) and behind (hc) a layer, and a matrix between the copies (hc hc): (2 + hc) hc
 * values. Models have four copies, and so has the operator. */
#define HC 4

static enum ggml_status shape_comb(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * mixes = node->src[0];
    const struct ggml_tensor * scale = node->src[1];
    OP_TRY(check_f32(node));
    OP_REQUIRE(op_get_i32(node, 1) > 0, "%d iterations, 1 or more expected", op_get_i32(node, 1));
    OP_TRY(op_check_extents(node, 0, (2 + HC) * HC, mixes->ne[1], 1, 1));
    OP_REQUIRE(ggml_is_vector(scale) && scale->ne[0] >= 3, "scale (source 1) must be a vector of 3 or more");
    OP_TRY(op_check_extents(node, 2, mixes->ne[0], 1, 1, 1));
    ne[0] = ne[1] = HC;
    ne[2]         = mixes->ne[1];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_comb(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_comb);
}

static struct op_cost cost_comb(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 10.0 + 4.0 * (double) op_get_i32(node, 1));
}

const struct op_row op_row_dsv4_hc_comb = {
    .op        = GGML_OP_DSV4_HC_COMB,
    .name      = "DSV4_HC_COMB",
    .symbol    = "dsv4_hc_comb(mixes, scale, base)",
    .n_src_min = 3,
    .n_src_max = 3,
    .check     = check_comb,
    .cost      = cost_comb,
};

struct ggml_tensor * ggml_dsv4_hc_comb(struct ggml_context * ctx, struct ggml_tensor * mixes,
                                       struct ggml_tensor * scale, struct ggml_tensor * base, float eps,
                                       int32_t n_iter) {
    struct op_draft draft = op_begin(ctx, GGML_OP_DSV4_HC_COMB, __func__);
    op_src(&draft, 0, mixes);
    op_src(&draft, 1, scale);
    op_src(&draft, 2, base);
    op_param_f32(&draft, 0, eps);
    op_param_i32(&draft, 1, n_iter);
    op_infer(&draft, GGML_TYPE_F32, shape_comb);
    return op_commit(&draft);
}

/* x: [row, hc, tokens], summed over the copies with weights of a copy, or (gated) of each value. */
static enum ggml_status shape_pre(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * x = node->src[0]->ne;
    OP_TRY(check_f32(node));
    OP_REQUIRE(x[1] > 0 && x[3] == 1, "x (source 0) must be [row, copies, tokens]");
    if (op_get_i32(node, 1) != 0) {
        OP_TRY(op_check_extents(node, 1, x[0], x[1], x[2], 1));
    } else {
        OP_TRY(op_check_extents(node, 1, x[1], x[2], 1, 1));
    }
    ne[0] = x[0];
    ne[1] = x[2];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_pre(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_pre);
}

static struct op_cost cost_pre(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0 * (double) node->src[0]->ne[1]);
}

const struct op_row op_row_dsv4_hc_pre = {
    .op        = GGML_OP_DSV4_HC_PRE,
    .name      = "DSV4_HC_PRE",
    .symbol    = "dsv4_hc_pre(x, weights)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_pre,
    .cost      = cost_pre,
};

static struct ggml_tensor * build_pre(struct ggml_context * ctx, const char * builder, struct ggml_tensor * x,
                                      struct ggml_tensor * weights, float scale, bool gated) {
    struct op_draft draft = op_begin(ctx, GGML_OP_DSV4_HC_PRE, builder);
    op_src(&draft, 0, x);
    op_src(&draft, 1, weights);
    op_param_f32(&draft, 0, scale);
    op_param_i32(&draft, 1, gated);
    op_infer(&draft, GGML_TYPE_F32, shape_pre);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_dsv4_hc_pre(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * weights) {
    return build_pre(ctx, __func__, x, weights, 1.0f, false);
}

struct ggml_tensor * ggml_dsv4_hc_pre_gated(struct ggml_context * ctx, struct ggml_tensor * x,
                                            struct ggml_tensor * gate, float scale) {
    return build_pre(ctx, __func__, x, gate, scale, true);
}

/* x: [row, tokens]; residual: [row, hc, tokens]; post: [hc, tokens]; comb, if any: [hc, hc, tokens]. */
static enum ggml_status shape_post(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * x  = node->src[0]->ne;
    const int64_t   hc = node->src[1]->ne[1];
    OP_TRY(check_f32(node));
    OP_REQUIRE(hc > 0, "residual (source 1) has no copies");
    OP_TRY(op_check_extents(node, 0, x[0], x[1], 1, 1));
    OP_TRY(op_check_extents(node, 1, x[0], hc, x[1], 1));
    OP_TRY(op_check_extents(node, 2, hc, x[1], 1, 1));
    if (node->src[3] != NULL) {
        OP_TRY(op_check_extents(node, 3, hc, hc, x[1], 1));
    }
    ne[0] = x[0];
    ne[1] = hc;
    ne[2] = x[1];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_post(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_post);
}

static struct op_cost cost_post(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0 + 2.0 * (double) node->src[1]->ne[1]);
}

const struct op_row op_row_dsv4_hc_post = {
    .op        = GGML_OP_DSV4_HC_POST,
    .name      = "DSV4_HC_POST",
    .symbol    = "dsv4_hc_post(x, residual, post, comb)",
    .n_src_min = 3,
    .n_src_max = 4,
    .check     = check_post,
    .cost      = cost_post,
};

struct ggml_tensor * ggml_dsv4_hc_post(struct ggml_context * ctx, struct ggml_tensor * x, struct ggml_tensor * residual,
                                       struct ggml_tensor * post, struct ggml_tensor * comb) {
    struct op_draft draft = op_begin(ctx, GGML_OP_DSV4_HC_POST, __func__);
    op_src(&draft, 0, x);
    op_src(&draft, 1, residual);
    op_src(&draft, 2, post);
    op_src_optional(&draft, 3, comb);
    op_infer(&draft, GGML_TYPE_F32, shape_post);
    return op_commit(&draft);
}
