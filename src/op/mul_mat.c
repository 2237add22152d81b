/* SPDX-License-Identifier: MIT
 *
 * MUL_MAT, MUL_MAT_ID, OUT_PROD: matrix products. Rows of the first source are the weights: a product of MUL_MAT is a
 * dot product of a row of a and a row of b.
 */
#include "op/check.h"

/* Parameters of both products. */
#define PARAM_HINT 1

/* Matrices of the first source may serve several of the second (grouped heads, a batch). */
static enum ggml_status check_batches(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    OP_REQUIRE(op_divides(a->ne[2], b->ne[2]) && op_divides(a->ne[3], b->ne[3]),
               "ne2 and ne3 of source 1 must be multiples of those of source 0");
    OP_REQUIRE(!ggml_is_transposed(a), "source 0 must not be transposed");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status shape_mul_mat(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    OP_REQUIRE(a->ne[0] == b->ne[0], "rows of sources 0 and 1 must have one length");
    ne[0] = a->ne[1];
    ne[1] = b->ne[1];
    ne[2] = b->ne[2];
    ne[3] = b->ne[3];
    return check_batches(node);
}

static enum ggml_status check_mul_mat(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_mul_mat);
}

/* A multiplication and an addition for each value of a row, for each value of the result. */
static struct op_cost cost_dot(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0 * (double) node->src[0]->ne[0]);
}

const struct op_row op_row_mul_mat = {
    .op        = GGML_OP_MUL_MAT,
    .name      = "MUL_MAT",
    .symbol    = "X*Y",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_mul_mat,
    .cost      = cost_dot,
};

struct ggml_tensor * ggml_mul_mat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct op_draft draft = op_begin(ctx, GGML_OP_MUL_MAT, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_infer(&draft, GGML_TYPE_F32, shape_mul_mat);
    return op_commit(&draft);
}

void ggml_mul_mat_set_hint(struct ggml_tensor * a, enum ggml_op_hint hint) {
    if (a != NULL && op_is_node_of(a, GGML_OP_MUL_MAT, __func__)) {
        a->op_params[PARAM_HINT] = (int32_t) hint;
    }
}

static enum ggml_status shape_mul_mat_id(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * experts = node->src[0];
    const struct ggml_tensor * b       = node->src[1];
    const struct ggml_tensor * ids     = node->src[2];
    OP_TRY(op_check_type(node, 2, GGML_TYPE_I32));
    OP_REQUIRE(!ggml_is_transposed(experts), "source 0 must not be transposed");
    OP_REQUIRE(experts->ne[3] == 1 && b->ne[3] == 1, "sources 0 and 1 must have three dimensions");
    OP_REQUIRE(ids->ne[2] == 1 && ids->ne[3] == 1, "ids (source 2) must be a matrix");
    OP_REQUIRE(experts->ne[0] == b->ne[0], "rows of sources 0 and 1 must have one length");
    OP_REQUIRE(ids->ne[1] == b->ne[2], "ids (source 2) must have a row for each matrix of source 1");
    OP_REQUIRE(op_divides(b->ne[1], ids->ne[0]), "ne0 of ids (source 2) must be a multiple of ne1 of source 1");
    ne[0] = experts->ne[1];
    ne[1] = ids->ne[0];
    ne[2] = b->ne[2];
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_mul_mat_id(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_mul_mat_id);
}

/* Of the experts' weights, only those are read that are named: no more than one for each index. */
static struct op_cost cost_mul_mat_id(const struct ggml_tensor * node) {
    const struct ggml_tensor * experts = node->src[0];
    struct op_cost             cost    = cost_dot(node);
    const double               named   = (double) ggml_nelements(node->src[2]);
    const double               all     = (double) experts->ne[2];
    if (named < all) {
        cost.bytes -= (double) ggml_nbytes(experts) * (1.0 - named / all);
    }
    return cost;
}

const struct op_row op_row_mul_mat_id = {
    .op        = GGML_OP_MUL_MAT_ID,
    .name      = "MUL_MAT_ID",
    .symbol    = "X[i]*Y",
    .n_src_min = 3,
    .n_src_max = 3,
    .check     = check_mul_mat_id,
    .cost      = cost_mul_mat_id,
};

struct ggml_tensor * ggml_mul_mat_id(struct ggml_context * ctx, struct ggml_tensor * as, struct ggml_tensor * b,
                                     struct ggml_tensor * ids) {
    struct op_draft draft = op_begin(ctx, GGML_OP_MUL_MAT_ID, __func__);
    op_src(&draft, 0, as);
    op_src(&draft, 1, b);
    op_src(&draft, 2, ids);
    op_infer(&draft, GGML_TYPE_F32, shape_mul_mat_id);
    return op_commit(&draft);
}

static enum ggml_status shape_out_prod(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    OP_REQUIRE(a->ne[1] == b->ne[1], "sources 0 and 1 must have the same number of rows");
    ne[0] = a->ne[0];
    ne[1] = b->ne[0];
    ne[2] = b->ne[2];
    ne[3] = b->ne[3];
    return check_batches(node);
}

static enum ggml_status check_out_prod(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_out_prod);
}

static struct op_cost cost_out_prod(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0 * (double) node->src[0]->ne[1]);
}

const struct op_row op_row_out_prod = {
    .op        = GGML_OP_OUT_PROD,
    .name      = "OUT_PROD",
    .symbol    = "X*Y",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_out_prod,
    .cost      = cost_out_prod,
};

struct ggml_tensor * ggml_out_prod(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct op_draft draft = op_begin(ctx, GGML_OP_OUT_PROD, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_infer(&draft, GGML_TYPE_F32, shape_out_prod);
    return op_commit(&draft);
}
