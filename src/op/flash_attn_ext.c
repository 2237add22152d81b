/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT: soft_max(scale q k + slope mask) v in one operator; grouped heads, soft cap, sinks. The result is
 * [v row, heads, queries, batch]: heads and queries are already exchanged.
 */
#include "op/check.h"

enum {
    PARAM_SCALE    = 0,
    PARAM_MAX_BIAS = 1,
    PARAM_SOFTCAP  = 2,
    PARAM_N_KV_MAX = 4, /* word 3 is the precision, see precision.c */
};

enum { SRC_Q, SRC_K, SRC_V, SRC_MASK, SRC_SINKS };

static enum ggml_status shape(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    ne[0] = node->src[SRC_V]->ne[0];
    ne[1] = node->src[SRC_Q]->ne[2];
    ne[2] = node->src[SRC_Q]->ne[1];
    ne[3] = node->src[SRC_Q]->ne[3];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_mask(const struct ggml_tensor * node) {
    const struct ggml_tensor * q    = node->src[SRC_Q];
    const struct ggml_tensor * mask = node->src[SRC_MASK];
    OP_TRY(op_check_type(node, SRC_MASK, GGML_TYPE_F16));
    OP_TRY(op_check_contiguous(node, SRC_MASK));
    OP_REQUIRE(
        mask->ne[0] >= node->src[SRC_K]->ne[1] && mask->ne[1] >= q->ne[1],
        "mask (source 3) must have a value for each key (ne1 of source 1) and a row for each query (ne1 of source 0)");
    OP_REQUIRE(op_divides(mask->ne[2], q->ne[2]) && op_divides(mask->ne[3], q->ne[3]),
               "ne2 and ne3 of q (source 0) must be multiples of those of the mask (source 3)");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_inferred(node, GGML_TYPE_F32, shape));
    const struct ggml_tensor * q = node->src[SRC_Q];
    const struct ggml_tensor * k = node->src[SRC_K];
    const struct ggml_tensor * v = node->src[SRC_V];
    OP_REQUIRE(k->ne[0] == q->ne[0], "rows of q and k (sources 0 and 1) must have one length");
    OP_REQUIRE(k->ne[1] == v->ne[1], "k and v (sources 1 and 2) must have the same number of rows");
    OP_REQUIRE(op_divides(k->ne[2], q->ne[2]) && op_divides(v->ne[2], q->ne[2]),
               "heads of q (source 0) must be a multiple of those of k and v (sources 1 and 2)");
    OP_REQUIRE(q->ne[3] == k->ne[3] && q->ne[3] == v->ne[3], "q, k and v (sources 0, 1 and 2) must have one ne3");
    if (node->src[SRC_MASK] != NULL) {
        OP_TRY(check_mask(node));
    }
    OP_REQUIRE(!(op_get_f32(node, PARAM_MAX_BIAS) > 0.0f) || node->src[SRC_MASK] != NULL,
               "max_bias > 0 scales a mask (source 3), and there is none");
    OP_REQUIRE(op_get_i32(node, PARAM_N_KV_MAX) >= 0, "n_kv_max must not be negative");
    if (node->src[SRC_SINKS] != NULL) {
        OP_TRY(op_check_type(node, SRC_SINKS, GGML_TYPE_F32));
        OP_REQUIRE(node->src[SRC_SINKS]->ne[0] == q->ne[2],
                   "sinks (source 4) must be one for each head of q (source 0)");
    }
    return GGML_STATUS_SUCCESS;
}

/* Two products of all queries with all keys, and a soft max between them. */
static struct op_cost cost(const struct ggml_tensor * node) {
    const struct ggml_tensor * q      = node->src[SRC_Q];
    const double               logits = (double) ggml_nrows(q) * (double) node->src[SRC_K]->ne[1];
    struct op_cost             cost   = op_cost_bytes(node);
    cost.flops = logits * (2.0 * (double) q->ne[0] + 2.0 * (double) node->src[SRC_V]->ne[0] + 12.0);
    return cost;
}

const struct op_row op_row_flash_attn_ext = {
    .op           = GGML_OP_FLASH_ATTN_EXT,
    .name         = "FLASH_ATTN_EXT",
    .symbol       = "flash_attn_ext(x)",
    .n_src_min    = 3,
    .n_src_max    = 5,
    .optional_src = 1u << SRC_MASK,
    .check        = check,
    .cost         = cost,
};

struct ggml_tensor * ggml_flash_attn_ext(struct ggml_context * ctx, struct ggml_tensor * q, struct ggml_tensor * k,
                                         struct ggml_tensor * v, struct ggml_tensor * mask, float scale, float max_bias,
                                         float logit_softcap) {
    struct op_draft draft = op_begin(ctx, GGML_OP_FLASH_ATTN_EXT, __func__);
    op_src(&draft, SRC_Q, q);
    op_src(&draft, SRC_K, k);
    op_src(&draft, SRC_V, v);
    op_src_optional(&draft, SRC_MASK, mask);
    op_param_f32(&draft, PARAM_SCALE, scale);
    op_param_f32(&draft, PARAM_MAX_BIAS, max_bias);
    op_param_f32(&draft, PARAM_SOFTCAP, logit_softcap);
    op_infer(&draft, GGML_TYPE_F32, shape);
    return op_commit(&draft);
}

void ggml_flash_attn_ext_set_n_kv_max(struct ggml_tensor * a, int32_t n_kv_max) {
    if (a == NULL || !op_is_node_of(a, GGML_OP_FLASH_ATTN_EXT, __func__)) {
        return;
    }
    const struct ggml_tensor before = *a;
    a->op_params[PARAM_N_KV_MAX]    = n_kv_max;
    op_recheck(a, &before, __func__);
}

void ggml_flash_attn_ext_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks) {
    op_set_source(a, GGML_OP_FLASH_ATTN_EXT, SRC_SINKS, sinks, __func__);
}
