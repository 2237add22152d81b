/* SPDX-License-Identifier: MIT
 *
 * WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS: window attention with relative positions, as in SAM
 * (arXiv:2304.02643). Images are [channels, width, height].
 */
#include "op/check.h"

static int64_t windows_along(int64_t extent, int64_t w) {
    return extent / w + (extent % w != 0);
}

/* Windows of w x w over [ne1, ne2], the last ones padded. */
static bool window_counts(int64_t ne1, int64_t ne2, int32_t w, int64_t * n1, int64_t * n2, int64_t * product) {
    if (w < 1) {
        return false;
    }
    *n1 = windows_along(ne1, w);
    *n2 = windows_along(ne2, w);
    return *n1 <= INT32_MAX && *n2 <= INT32_MAX && base_int64_mul(*n1, *n2, product);
}

/* Parameters: windows along dimensions 1 and 2, w. */
static enum ggml_status shape_part(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a = node->src[0];
    const int32_t              w = op_get_i32(node, 2);
    int64_t                    n1, n2;
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_REQUIRE(a->ne[3] == 1, "source 0 must have three dimensions");
    OP_REQUIRE(window_counts(a->ne[1], a->ne[2], w, &n1, &n2, &ne[3]), "windows of extent %d make no sense", w);
    OP_REQUIRE(op_get_i32(node, 0) == n1 && op_get_i32(node, 1) == n2, "%d x %d windows do not cover source 0",
               op_get_i32(node, 0), op_get_i32(node, 1));
    ne[0] = a->ne[0];
    ne[1] = ne[2] = w;
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_part(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_part);
}

const struct op_row op_row_win_part = {
    .op        = GGML_OP_WIN_PART,
    .name      = "WIN_PART",
    .symbol    = "win_part(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_part,
};

struct ggml_tensor * ggml_win_part(struct ggml_context * ctx, struct ggml_tensor * a, int w) {
    struct op_draft draft = op_begin(ctx, GGML_OP_WIN_PART, __func__);
    int64_t         n1, n2, product;
    op_src(&draft, 0, a);
    op_param_i32(&draft, 2, w);
    if (op_alive(&draft) && window_counts(a->ne[1], a->ne[2], w, &n1, &n2, &product)) {
        op_param_i32(&draft, 0, (int32_t) n1);
        op_param_i32(&draft, 1, (int32_t) n2);
    }
    op_infer(&draft, GGML_TYPE_F32, shape_part);
    return op_commit(&draft);
}

/* The result's shape is given; the windows of source 0 cover it. */
static enum ggml_status check_unpart(const struct ggml_tensor * node) {
    const int32_t w = op_get_i32(node, 0);
    int64_t       n1, n2, product;
    OP_TRY(op_check_sane(node));
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_REQUIRE(window_counts(node->ne[1], node->ne[2], w, &n1, &n2, &product), "windows of extent %d make no sense", w);
    OP_REQUIRE(node->type == GGML_TYPE_F32 && node->ne[3] == 1, "result must be f32 with three dimensions");
    OP_TRY(op_check_extents(node, 0, node->ne[0], w, w, product));
    return op_check_contiguous_result(node);
}

const struct op_row op_row_win_unpart = {
    .op        = GGML_OP_WIN_UNPART,
    .name      = "WIN_UNPART",
    .symbol    = "win_unpart(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_unpart,
};

struct ggml_tensor * ggml_win_unpart(struct ggml_context * ctx, struct ggml_tensor * a, int w0, int h0, int w) {
    struct op_draft draft = op_begin(ctx, GGML_OP_WIN_UNPART, __func__);
    op_src(&draft, 0, a);
    op_param_i32(&draft, 0, w);
    if (op_alive(&draft)) {
        op_shape(&draft, GGML_TYPE_F32, a->ne[0], w0, h0, 1);
    }
    return op_commit(&draft);
}

/* Row (k, q) of the result is the row of source 0 for the distance q - k, which runs over 2 n - 1 values. */
static enum ggml_status check_get(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(node->type == GGML_TYPE_F16 && node->ne[3] == 1, "result must be f16 with three dimensions");
    OP_REQUIRE(node->ne[0] == node->src[0]->ne[0], "rows of source 0 and of the result must have one length");
    OP_REQUIRE(node->ne[1] == node->ne[2], "as many queries as keys are expected");
    OP_REQUIRE(node->src[0]->ne[1] % 2 == 1 && node->src[0]->ne[1] / 2 + 1 == node->ne[1],
               "source 0 must have 2 n - 1 rows for n positions");
    return op_check_contiguous_result(node);
}

const struct op_row op_row_get_rel_pos = {
    .op        = GGML_OP_GET_REL_POS,
    .name      = "GET_REL_POS",
    .symbol    = "get_rel_pos(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_get,
};

struct ggml_tensor * ggml_get_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a, int qh, int kh) {
    struct op_draft draft = op_begin(ctx, GGML_OP_GET_REL_POS, __func__);
    op_src(&draft, 0, a);
    if (op_alive(&draft)) {
        op_shape(&draft, GGML_TYPE_F16, a->ne[0], kh, qh, 1);
    }
    return op_commit(&draft);
}

/* Source 0: logits of all pairs of positions of an n x n window, [n n, positions, heads]; sources 1 and 2: what is
 * added along its width and height, [n, positions of a row, rows, heads]. */
static enum ggml_status check_add(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * w = node->src[1];
    OP_TRY(op_check_same_shape(node, 1, 2));
    for (int k = 0; k < 3; k++) {
        OP_TRY(op_check_contiguous(node, k));
    }
    OP_TRY(op_check_type(node, 1, GGML_TYPE_F32));
    OP_TRY(op_check_type(node, 2, GGML_TYPE_F32));
    int64_t pairs;
    OP_REQUIRE(base_int64_mul(w->ne[0], w->ne[0], &pairs) && pairs == a->ne[0],
               "ne0 of source 0 must be the square of ne0 of sources 1 and 2");
    OP_REQUIRE(w->ne[1] * w->ne[2] == a->ne[1] && w->ne[3] == a->ne[2],
               "ne1 and ne2 of source 0 must be ne1 times ne2, and ne3, of sources 1 and 2");
    return GGML_STATUS_SUCCESS;
}

static struct op_cost cost_add(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 2.0);
}

const struct op_row op_row_add_rel_pos = {
    .op        = GGML_OP_ADD_REL_POS,
    .name      = "ADD_REL_POS",
    .symbol    = "add_rel_pos(x)",
    .n_src_min = 3,
    .n_src_max = 3,
    .check     = check_add,
    .cost      = cost_add,
};

static struct ggml_tensor * build_add(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                      struct ggml_tensor * pw, struct ggml_tensor * ph, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_ADD_REL_POS, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, pw);
    op_src(&draft, 2, ph);
    op_result_like(&draft, a, inplace);
    op_param_i32(&draft, 0, inplace);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_add_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * pw,
                                      struct ggml_tensor * ph) {
    return build_add(ctx, __func__, a, pw, ph, false);
}

struct ggml_tensor * ggml_add_rel_pos_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                              struct ggml_tensor * pw, struct ggml_tensor * ph) {
    return build_add(ctx, __func__, a, pw, ph, true);
}
