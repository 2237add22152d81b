/* SPDX-License-Identifier: MIT
 *
 * PAD, PAD_REFLECT_1D, ROLL: values moved within a larger, or the same, shape.
 */
#include "op/check.h"

#include <stdlib.h>

#define PARAM_CIRCULAR 8

/* Parameters 2 i and 2 i + 1: padding before and behind dimension i. */
static enum ggml_status shape_pad(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        const int32_t before = op_get_i32(node, 2 * i);
        const int32_t behind = op_get_i32(node, 2 * i + 1);
        OP_REQUIRE(before >= 0 && behind >= 0, "paddings %d and %d of dimension %d must not be negative", before,
                   behind, i);
        OP_REQUIRE(base_int64_add(node->src[0]->ne[i], (int64_t) before + behind, &ne[i]), "dimension %d overflows", i);
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_pad(const struct ggml_tensor * node) {
    return op_check_inferred(node, OP_TYPE_OF_SRC(0), shape_pad);
}

const struct op_row op_row_pad = {
    .op        = GGML_OP_PAD,
    .name      = "PAD",
    .symbol    = "pad(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_pad,
};

static struct ggml_tensor * build_pad(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                      const int32_t paddings[2 * GGML_MAX_DIMS], bool circular) {
    struct op_draft draft = op_begin(ctx, GGML_OP_PAD, builder);
    op_src(&draft, 0, a);
    memcpy(draft.node.op_params, paddings, 2 * GGML_MAX_DIMS * sizeof(paddings[0]));
    op_param_i32(&draft, PARAM_CIRCULAR, circular);
    op_infer(&draft, OP_TYPE_OF_SRC(0), shape_pad);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_pad(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1, int p2, int p3) {
    return build_pad(ctx, __func__, a, (const int32_t[]){0, p0, 0, p1, 0, p2, 0, p3}, false);
}

struct ggml_tensor * ggml_pad_circular(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1, int p2,
                                       int p3) {
    return build_pad(ctx, __func__, a, (const int32_t[]){0, p0, 0, p1, 0, p2, 0, p3}, true);
}

struct ggml_tensor * ggml_pad_ext(struct ggml_context * ctx, struct ggml_tensor * a, int lp0, int rp0, int lp1, int rp1,
                                  int lp2, int rp2, int lp3, int rp3) {
    return build_pad(ctx, __func__, a, (const int32_t[]){lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3}, false);
}

struct ggml_tensor * ggml_pad_ext_circular(struct ggml_context * ctx, struct ggml_tensor * a, int lp0, int rp0, int lp1,
                                           int rp1, int lp2, int rp2, int lp3, int rp3) {
    return build_pad(ctx, __func__, a, (const int32_t[]){lp0, rp0, lp1, rp1, lp2, rp2, lp3, rp3}, true);
}

static enum ggml_status shape_reflect(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    const struct ggml_tensor * a      = node->src[0];
    const int32_t              before = op_get_i32(node, 0);
    const int32_t              behind = op_get_i32(node, 1);
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_TRY(op_check_contiguous(node, 0));
    OP_REQUIRE(before >= 0 && before < a->ne[0] && behind >= 0 && behind < a->ne[0],
               "paddings %d and %d must be less than the row that they reflect", before, behind);
    memcpy(ne, a->ne, sizeof(a->ne));
    OP_REQUIRE(base_int64_add(a->ne[0], (int64_t) before + behind, &ne[0]), "dimension 0 overflows");
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_reflect(const struct ggml_tensor * node) {
    return op_check_inferred(node, GGML_TYPE_F32, shape_reflect);
}

const struct op_row op_row_pad_reflect_1d = {
    .op        = GGML_OP_PAD_REFLECT_1D,
    .name      = "PAD_REFLECT_1D",
    .symbol    = "pad_reflect_1d(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_reflect,
};

struct ggml_tensor * ggml_pad_reflect_1d(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1) {
    struct op_draft draft = op_begin(ctx, GGML_OP_PAD_REFLECT_1D, __func__);
    op_src(&draft, 0, a);
    op_param_i32(&draft, 0, p0);
    op_param_i32(&draft, 1, p1);
    op_infer(&draft, GGML_TYPE_F32, shape_reflect);
    return op_commit(&draft);
}

static enum ggml_status check_roll(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    OP_TRY(op_check_like_src0(node));
    OP_REQUIRE(a->nb[0] == ggml_type_size(a->type), "values of a row of source 0 must lie side by side");
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        OP_REQUIRE(llabs((long long) op_get_i32(node, i)) < a->ne[i],
                   "shift %d of dimension %d must be less than its extent", op_get_i32(node, i), i);
    }
    return GGML_STATUS_SUCCESS;
}

const struct op_row op_row_roll = {
    .op        = GGML_OP_ROLL,
    .name      = "ROLL",
    .symbol    = "roll(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_roll,
};

struct ggml_tensor * ggml_roll(struct ggml_context * ctx, struct ggml_tensor * a, int shift0, int shift1, int shift2,
                               int shift3) {
    const int32_t   shifts[] = {shift0, shift1, shift2, shift3};
    struct op_draft draft    = op_begin(ctx, GGML_OP_ROLL, __func__);
    op_src(&draft, 0, a);
    op_like(&draft, a);
    memcpy(draft.node.op_params, shifts, sizeof(shifts));
    return op_commit(&draft);
}
