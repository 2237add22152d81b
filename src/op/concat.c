/* SPDX-License-Identifier: MIT
 *
 * CONCAT: the second source behind the first along one dimension.
 */
#include "op/check.h"

static enum ggml_status shape(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a   = node->src[0];
    const struct ggml_tensor * b   = node->src[1];
    const int32_t              dim = op_get_i32(node, 0);
    OP_REQUIRE(dim >= 0 && dim < GGML_MAX_DIMS, "dimension %d must be in 0 .. 3", dim);
    OP_TRY(op_check_type(node, 1, a->type));
    memcpy(ne, a->ne, sizeof(a->ne));
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        OP_REQUIRE(i == dim || a->ne[i] == b->ne[i], "sources must have the same extents but for dimension %d", dim);
    }
    OP_REQUIRE(base_int64_add(a->ne[dim], b->ne[dim], &ne[dim]), "dimension %d overflows", dim);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_inferred(node, OP_TYPE_OF_SRC(0), shape));
    /* Blocks are copied whole: a row that ended inside one could not be continued. */
    const int64_t block = ggml_blck_size(node->type);
    OP_REQUIRE(node->src[0]->ne[0] % block == 0 && node->src[1]->ne[0] % block == 0,
               "rows of the sources must be whole blocks of %d values", (int) block);
    return GGML_STATUS_SUCCESS;
}

const struct op_row op_row_concat = {
    .op        = GGML_OP_CONCAT,
    .name      = "CONCAT",
    .symbol    = "concat(x, y)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check,
};

struct ggml_tensor * ggml_concat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int dim) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CONCAT, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_param_i32(&draft, 0, dim);
    op_infer(&draft, OP_TYPE_OF_SRC(0), shape);
    return op_commit(&draft);
}
