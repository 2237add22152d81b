/* SPDX-License-Identifier: MIT
 *
 * GATED_DELTA_NET: the gated delta rule (arXiv:2412.06464) over a state of S x S a head. Operands are [S, heads,
 * tokens, sequences]; the result is the output above K snapshots of the states, newest first.
 */
#include "op/check.h"

enum { SRC_Q, SRC_K, SRC_V, SRC_G, SRC_BETA, SRC_STATE, N_SRC };

static enum ggml_status check_layouts(const struct ggml_tensor * node) {
    for (int k = 0; k < N_SRC; k++) {
        OP_TRY(op_check_type(node, k, GGML_TYPE_F32));
        OP_TRY(k <= SRC_V ? op_check_contiguous_rows(node, k) : op_check_contiguous(node, k));
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status shape(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * v = node->src[SRC_V]->ne;
    const int32_t   k = op_get_i32(node, 0);
    int64_t         state_rows, tokens;
    OP_REQUIRE(k >= 1, "%d state snapshots wanted, 1 or more expected", k);
    OP_TRY(check_layouts(node));
    OP_REQUIRE(node->src[SRC_G]->ne[0] == 1 || node->src[SRC_G]->ne[0] == v[0],
               "the gate (source 3) must have one value a head, or as many as v (source 2)");
    OP_REQUIRE(node->src[SRC_BETA]->ne[0] == 1, "beta (source 4) must have one value a head");
    OP_TRY(op_check_extents(node, SRC_STATE, v[0], v[0], v[1], v[3]));
    OP_REQUIRE(base_int64_mul(v[0] * v[3], k, &state_rows) && base_int64_mul(v[2], v[3], &tokens) &&
                   base_int64_add(tokens, state_rows, &ne[1]),
               "extents of the result overflow");
    ne[0] = v[0] * v[1];
    return GGML_STATUS_SUCCESS;
}

/* q and k may have fewer heads and sequences than v, which then share them. */
static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_inferred(node, GGML_TYPE_F32, shape));
    const int64_t * v = node->src[SRC_V]->ne;
    for (int k = SRC_Q; k <= SRC_K; k++) {
        const int64_t * t = node->src[k]->ne;
        OP_REQUIRE(t[0] == v[0] && op_divides(t[1], v[1]) && t[2] == v[2] && op_divides(t[3], v[3]),
                   "source %d must have the rows and tokens of v (source 2), and heads and sequences that divide its",
                   k);
    }
    for (int k = SRC_G; k <= SRC_BETA; k++) {
        const int64_t * t = node->src[k]->ne;
        OP_REQUIRE(t[1] == v[1] && t[2] == v[2] && t[3] == v[3], "source %d must have ne1, ne2 and ne3 of v (source 2)",
                   k);
    }
    return GGML_STATUS_SUCCESS;
}

/* Each token reads the state twice and updates it once. */
static struct op_cost cost(const struct ggml_tensor * node) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = 7.0 * (double) ggml_nelements(node->src[SRC_V]) * (double) node->src[SRC_V]->ne[0];
    return cost;
}

const struct op_row op_row_gated_delta_net = {
    .op        = GGML_OP_GATED_DELTA_NET,
    .name      = "GATED_DELTA_NET",
    .symbol    = "gated_delta_net(q, k, v, g, beta, s)",
    .n_src_min = N_SRC,
    .n_src_max = N_SRC,
    .check     = check,
    .cost      = cost,
};

struct ggml_tensor * ggml_gated_delta_net(struct ggml_context * ctx, struct ggml_tensor * q, struct ggml_tensor * k,
                                          struct ggml_tensor * v, struct ggml_tensor * g, struct ggml_tensor * beta,
                                          struct ggml_tensor * state, int64_t K) {
    struct ggml_tensor * const sources[N_SRC] = {q, k, v, g, beta, state};
    struct op_draft            draft          = op_begin(ctx, GGML_OP_GATED_DELTA_NET, __func__);
    for (int i = 0; i < N_SRC; i++) {
        op_src(&draft, i, sources[i]);
    }
    op_param_i32(&draft, 0, K >= 1 && K <= INT32_MAX ? (int32_t) K : 0);
    op_infer(&draft, GGML_TYPE_F32, shape);
    return op_commit(&draft);
}
