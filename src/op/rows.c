/* SPDX-License-Identifier: MIT
 *
 * GET_ROWS, GET_ROWS_BACK, SET_ROWS: rows gathered and scattered by index. Outer dimensions of data and indices are
 * checked here; an index that names no row is found when the node runs.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

static enum ggml_status shape_get_rows(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a   = node->src[0];
    const struct ggml_tensor * ids = node->src[1];
    OP_TRY(op_check_type(node, 1, GGML_TYPE_I32));
    OP_REQUIRE(a->ne[2] == ids->ne[1] && a->ne[3] == ids->ne[2] && ids->ne[3] == 1,
               "indices (source 1) must be [any, ne2, ne3, 1] of source 0");
    ne[0] = a->ne[0];
    ne[1] = ids->ne[0];
    ne[2] = ids->ne[1];
    ne[3] = ids->ne[2];
    return GGML_STATUS_SUCCESS;
}

/* Integers stay what they are, all else is decoded. */
static enum ggml_type get_rows_type(const struct ggml_tensor * a) {
    return a->type == GGML_TYPE_I32 ? GGML_TYPE_I32 : GGML_TYPE_F32;
}

static enum ggml_status check_get_rows(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    return op_check_inferred(node, get_rows_type(node->src[0]), shape_get_rows);
}

static void backward_get_rows(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], ggml_get_rows_back(pass->ctx, grad, node->src[1], node->src[0]));
    }
}

/* The rows that are named, not the whole table. */
static struct op_cost cost_get_rows(const struct ggml_tensor * node) {
    const struct ggml_tensor * a    = node->src[0];
    struct op_cost             cost = op_cost_bytes(node);
    const double               rows = (double) ggml_nrows(a);
    const double               used = (double) ggml_nelements(node->src[1]);
    if (used < rows) {
        cost.bytes -= (double) ggml_nbytes(a) * (1.0 - used / rows);
    }
    return cost;
}

const struct op_row op_row_get_rows = {
    .op         = GGML_OP_GET_ROWS,
    .name       = "GET_ROWS",
    .symbol     = "get_rows(x)",
    .n_src_min  = 2,
    .n_src_max  = 2,
    .check      = check_get_rows,
    .backward   = backward_get_rows,
    .grad_stops = op_grad_stops_at_src1,
    .cost       = cost_get_rows,
};

struct ggml_tensor * ggml_get_rows(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct op_draft draft = op_begin(ctx, GGML_OP_GET_ROWS, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    if (op_alive(&draft)) {
        op_infer(&draft, get_rows_type(a), shape_get_rows);
    }
    return op_commit(&draft);
}

static enum ggml_status check_get_rows_back(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    const struct ggml_tensor * dy = node->src[0];
    OP_TRY(op_check_type(node, 1, GGML_TYPE_I32));
    OP_REQUIRE(ggml_is_matrix(dy) && ggml_is_vector(node->src[1]),
               "source 0 must be a matrix, indices (source 1) a vector");
    OP_REQUIRE(dy->ne[1] >= node->src[1]->ne[0], "source 0 must have a row for each index of source 1");
    OP_REQUIRE(node->type == GGML_TYPE_F32 && ggml_is_matrix(node) && node->ne[0] == dy->ne[0],
               "result must be an f32 matrix with rows as long as those of source 0");
    return op_check_contiguous_result(node);
}

const struct op_row op_row_get_rows_back = {
    .op         = GGML_OP_GET_ROWS_BACK,
    .name       = "GET_ROWS_BACK",
    .symbol     = "get_rows_back(x)",
    .n_src_min  = 2,
    .n_src_max  = 2,
    .check      = check_get_rows_back,
    .grad_stops = op_grad_stops_at_src1,
};

/* c is read for its shape: that of the forward node's source. */
struct ggml_tensor * ggml_get_rows_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                        struct ggml_tensor * c) {
    struct op_draft draft = op_begin(ctx, GGML_OP_GET_ROWS_BACK, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_like(&draft, c);
    draft.node.type = GGML_TYPE_F32;
    return op_commit(&draft);
}

/* Sources: the data, the indices, and the destination that the result is a view of. */
static enum ggml_status check_set_rows(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    const struct ggml_tensor * b   = node->src[0];
    const struct ggml_tensor * ids = node->src[1];
    const struct ggml_tensor * a   = node->src[2];
    OP_TRY(op_check_same_shape_type(node, 2));
    OP_REQUIRE(b->type == GGML_TYPE_F32 || b->type == GGML_TYPE_F16, "data (source 0) must be f32 or f16");
    OP_REQUIRE(ids->type == GGML_TYPE_I64 || ids->type == GGML_TYPE_I32, "indices (source 1) must be i64 or i32");
    OP_REQUIRE(a->ne[0] == b->ne[0] && a->ne[2] == b->ne[2] && a->ne[3] == b->ne[3],
               "data (source 0) and destination (source 2) may differ in ne1 alone");
    OP_REQUIRE(b->ne[1] == ids->ne[0], "indices (source 1) must name a row for each row of data (source 0)");
    OP_REQUIRE(op_divides(ids->ne[1], b->ne[2]) && op_divides(ids->ne[2], b->ne[3]) && ids->ne[3] == 1,
               "ne2 and ne3 of data (source 0) must be multiples of ne1 and ne2 of indices (source 1)");
    OP_TRY(op_check_contiguous_rows(node, 0));
    return op_check_contiguous_rows(node, 2);
}

const struct op_row op_row_set_rows = {
    .op        = GGML_OP_SET_ROWS,
    .name      = "SET_ROWS",
    .symbol    = "set_rows(x)",
    .n_src_min = 3,
    .n_src_max = 3,
    .check     = check_set_rows,
};

struct ggml_tensor * ggml_set_rows(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                   struct ggml_tensor * c) {
    struct op_draft draft = op_begin(ctx, GGML_OP_SET_ROWS, __func__);
    op_src(&draft, 0, b);
    op_src(&draft, 1, c);
    op_src(&draft, 2, a);
    op_result_like(&draft, a, true);
    return op_commit(&draft);
}
