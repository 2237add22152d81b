/* SPDX-License-Identifier: MIT
 *
 * SSM_CONV, SSM_SCAN: the causal convolution and the recurrence of state-space models (Mamba, arXiv:2312.00752,
 * arXiv:2405.21060).
 */
#include "op/check.h"

/* sx: [taps - 1 + tokens, channels, sequences]; c: [taps, channels]. */
static enum ggml_status shape_conv(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * sx = node->src[0];
    const struct ggml_tensor * c  = node->src[1];
    OP_REQUIRE(ggml_is_3d(sx) && ggml_is_matrix(c), "source 0 must have three dimensions, the kernel (source 1) two");
    OP_REQUIRE(sx->ne[1] == c->ne[1], "sources 0 and 1 must have the same channels (ne1)");
    OP_REQUIRE(sx->ne[0] >= c->ne[0] - 1,
               "rows of source 0 must hold ne0 - 1 values of the kernel (source 1) before the first token");
    ne[0] = c->ne[1];
    ne[1] = sx->ne[0] - c->ne[0] + 1;
    ne[2] = sx->ne[2];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_conv(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_conv);
}

static struct op_cost cost_conv(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0 * (double) node->src[1]->ne[0]);
}

const struct op_row op_row_ssm_conv = {
    .op        = GGML_OP_SSM_CONV,
    .name      = "SSM_CONV",
    .symbol    = "ssm_conv(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_conv,
    .cost      = cost_conv,
};

struct ggml_tensor * ggml_ssm_conv(struct ggml_context * ctx, struct ggml_tensor * sx, struct ggml_tensor * c) {
    struct op_draft draft = op_begin(ctx, GGML_OP_SSM_CONV, __func__);
    op_src(&draft, 0, sx);
    op_src(&draft, 1, c);
    op_infer(&draft, GGML_TYPE_F32, shape_conv);
    return op_commit(&draft);
}

enum { SCAN_STATE, SCAN_X, SCAN_DT, SCAN_A, SCAN_B, SCAN_C, SCAN_IDS };

/* Values of a row side by side, and rows too; tokens and sequences may lie apart. */
static enum ggml_status check_rows(const struct ggml_tensor * node, int k) {
    const struct ggml_tensor * t = node->src[k];
    OP_REQUIRE(t->nb[0] == ggml_type_size(t->type) && t->nb[1] == (size_t) t->ne[0] * t->nb[0],
               "dimensions 0 and 1 of source %d must be contiguous", k);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_scan_layouts(const struct ggml_tensor * node) {
    OP_TRY(op_check_contiguous(node, SCAN_STATE));
    OP_TRY(op_check_contiguous(node, SCAN_DT));
    OP_TRY(op_check_contiguous(node, SCAN_A));
    OP_TRY(check_rows(node, SCAN_X));
    OP_TRY(check_rows(node, SCAN_B));
    OP_TRY(check_rows(node, SCAN_C));
    return op_check_type(node, SCAN_IDS, GGML_TYPE_I32);
}

/* Extents, by the names of the paper: state [d_state, head, heads, slots], x [head, heads, tokens, sequences]. */
static enum ggml_status check_scan_extents(const struct ggml_tensor * node) {
    const struct ggml_tensor * s       = node->src[SCAN_STATE];
    const struct ggml_tensor * x       = node->src[SCAN_X];
    const struct ggml_tensor * decay   = node->src[SCAN_A];
    const int64_t              d_state = s->ne[0];
    const int64_t              heads   = x->ne[1];
    OP_TRY(op_check_extents(node, SCAN_DT, heads, x->ne[2], x->ne[3], 1));
    OP_REQUIRE(s->ne[1] == x->ne[0] && s->ne[2] == heads,
               "the state (source 0) must be [d_state, ne0, ne1] of x (source 1)");
    OP_TRY(op_check_same_shape(node, SCAN_B, SCAN_C));
    const int64_t * b = node->src[SCAN_B]->ne;
    OP_REQUIRE(b[0] == d_state && b[2] == x->ne[2] && b[3] == x->ne[3],
               "B (source 4) must be [d_state, groups, tokens, sequences]");
    OP_REQUIRE(b[1] > 0 && heads % b[1] == 0, "heads must be a multiple of the groups of B (source 4)");
    OP_TRY(op_check_extents(node, SCAN_IDS, x->ne[3], 1, 1, 1));
    OP_REQUIRE(ggml_is_matrix(decay) && decay->ne[1] == heads,
               "A (source 3) must be a matrix with a row for each head");
    OP_REQUIRE(decay->ne[0] == 1 || (decay->ne[0] == d_state && op_get_i32(node, 0) == 1),
               "A (source 3) must have one value a head, or d_state values and one state snapshot");
    return GGML_STATUS_SUCCESS;
}

/* The result: all of y, then K snapshots of the states. */
static enum ggml_status shape_scan(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * s = node->src[SCAN_STATE];
    const int32_t              k = op_get_i32(node, 0);
    int64_t                    n;
    OP_REQUIRE(k >= 1, "%d state snapshots wanted, 1 or more expected", k);
    OP_TRY(check_scan_layouts(node));
    OP_TRY(check_scan_extents(node));
    OP_REQUIRE(base_int64_mul(s->ne[0] * s->ne[1] * s->ne[2], k, &n) &&
                   base_int64_mul(n, node->src[SCAN_IDS]->ne[0], &n) &&
                   base_int64_add(n, ggml_nelements(node->src[SCAN_X]), &ne[0]),
               "extents of the result overflow");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_scan(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_scan);
}

/* Each token updates the whole state of its sequence: decay, input, output. */
static struct op_cost cost_scan(const struct ggml_tensor * node) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = 6.0 * (double) ggml_nelements(node->src[SCAN_X]) * (double) node->src[SCAN_STATE]->ne[0];
    return cost;
}

const struct op_row op_row_ssm_scan = {
    .op        = GGML_OP_SSM_SCAN,
    .name      = "SSM_SCAN",
    .symbol    = "ssm_scan(x)",
    .n_src_min = 7,
    .n_src_max = 7,
    .check     = check_scan,
    .cost      = cost_scan,
};

struct ggml_tensor * ggml_ssm_scan(struct ggml_context * ctx, struct ggml_tensor * s, struct ggml_tensor * x,
                                   struct ggml_tensor * dt, struct ggml_tensor * A, struct ggml_tensor * B,
                                   struct ggml_tensor * C, struct ggml_tensor * ids, int64_t K) {
    struct ggml_tensor * const sources[] = {s, x, dt, A, B, C, ids};
    struct op_draft            draft     = op_begin(ctx, GGML_OP_SSM_SCAN, __func__);
    for (int k = 0; k < 7; k++) {
        op_src(&draft, k, sources[k]);
    }
    op_param_i32(&draft, 0, K >= 1 && K <= INT32_MAX ? (int32_t) K : 0);
    op_infer(&draft, GGML_TYPE_F32, shape_scan);
    return op_commit(&draft);
}
