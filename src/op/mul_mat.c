/* SPDX-License-Identifier: MIT
 *
 * MUL_MAT, MUL_MAT_ID, OUT_PROD: matrix products. Rows of the first source are the weights: a product of MUL_MAT is a
 * dot product of a row of a and a row of b.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

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

/* The sum over dimension 1 of a term. */
static struct ggml_tensor * sum_over_1(struct op_backward * pass, struct ggml_tensor * term) {
    if (term == NULL || term->ne[1] == 1) {
        return term;
    }
    struct ggml_tensor shape = *term; /* read for its extents alone */
    shape.ne[1]              = 1;
    return ggml_repeat_back(pass->ctx, term, &shape);
}

/* A matrix of a serves the n consecutive matrices of the product's batch that are n times as many: sums over them. The
 * term is [k, m, n2 a2, n3 a3], a is [k, m, a2, a3]. */
static struct ggml_tensor * fold_batches(struct op_backward * pass, struct ggml_tensor * term, struct ggml_tensor * a) {
    if (term == NULL || ggml_are_same_shape(term, a) || ggml_is_empty(a)) {
        return term;
    }
    const int64_t        size  = a->ne[0] * a->ne[1];
    const int64_t        outer = term->ne[3];
    struct ggml_tensor * t =
        ggml_reshape_4d(pass->ctx, op_term_contiguous(pass, term), size, term->ne[2] / a->ne[2], a->ne[2], outer);
    t = ggml_reshape_3d(pass->ctx, sum_over_1(pass, t), size * a->ne[2], outer / a->ne[3], a->ne[3]);
    return ggml_reshape(pass->ctx, sum_over_1(pass, t), a);
}

/* Y = A^T B by columns, y[m, n] = sum over k of a[k, m] b[k, n]: dA[k, m] sums over n, dB[k, n] over m. */
static void backward_mul_mat(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    if (op_grad_needed(pass, a)) {
        op_grad_add(pass, a, fold_batches(pass, ggml_out_prod(pass->ctx, b, grad), a));
    }
    if (op_grad_needed(pass, b)) {
        op_grad_add(pass, b, ggml_out_prod(pass->ctx, a, ggml_transpose(pass->ctx, grad)));
    }
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
    .backward  = backward_mul_mat,
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
