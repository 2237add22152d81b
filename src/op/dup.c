/* SPDX-License-Identifier: MIT
 *
 * DUP, CPY, CONT: values moved to another place, layout, shape or type. One kernel serves the three.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

/* All three pass values on, in another shape perhaps. */
static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        op_grad_add(pass, node->src[0], op_term_reshaped(pass, grad, node->src[0]));
    }
}

const struct op_row op_row_dup = {
    .op        = GGML_OP_DUP,
    .name      = "DUP",
    .symbol    = "x",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = op_check_like_src0,
    .backward  = backward,
};

struct ggml_tensor * ggml_dup(struct ggml_context * ctx, struct ggml_tensor * a) {
    return op_build1(ctx, GGML_OP_DUP, __func__, a, false);
}

struct ggml_tensor * ggml_dup_inplace(struct ggml_context * ctx, struct ggml_tensor * a) {
    return op_build1(ctx, GGML_OP_DUP, __func__, a, true);
}

static enum ggml_status check_elements_kept(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_REQUIRE(ggml_nelements(node) == ggml_nelements(node->src[0]),
               "source 0 and the result must have the same number of elements");
    return GGML_STATUS_SUCCESS;
}

/* Source 1 is the destination: of a copy, the tensor that the result is a view of; of a cast, the result itself, by
 * which backends that read the destination's layout from source 1 find it in both forms. */
static enum ggml_status check_cpy(const struct ggml_tensor * node) {
    OP_TRY(check_elements_kept(node));
    if (node->src[1] != NULL && node->src[1] != node) {
        OP_TRY(op_check_same_shape_type(node, 1));
    }
    return GGML_STATUS_SUCCESS;
}

const struct op_row op_row_cpy = {
    .op         = GGML_OP_CPY,
    .name       = "CPY",
    .symbol     = "x-\\>y",
    .n_src_min  = 1,
    .n_src_max  = 2,
    .check      = check_cpy,
    .backward   = backward,
    .grad_stops = op_grad_stops_at_src1, /* what is overwritten has no influence */
};

struct ggml_tensor * ggml_cpy(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CPY, __func__);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_result_like(&draft, b, true);
    struct ggml_tensor * result = op_commit(&draft);
    if (result != NULL && b->name[0] != 0) {
        ggml_format_name(result, "%s (copy of %s)", b->name, a->name);
    } else if (result != NULL) {
        ggml_format_name(result, "%s (copy)", a->name);
    }
    return result;
}

struct ggml_tensor * ggml_cast(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_type type) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CPY, __func__);
    op_src(&draft, 0, a);
    op_like(&draft, a);
    draft.node.type = type;
    op_named_after(&draft, "%s (copy)", a);
    struct ggml_tensor * result = op_commit(&draft);
    if (result != NULL) {
        result->src[1] = result;
    }
    return result;
}

static enum ggml_status check_cont(const struct ggml_tensor * node) {
    OP_TRY(check_elements_kept(node));
    OP_REQUIRE(node->type == node->src[0]->type, "the result must keep the type of source 0");
    OP_REQUIRE(ggml_is_contiguous(node), "the result must be contiguous");
    return GGML_STATUS_SUCCESS;
}

const struct op_row op_row_cont = {
    .op        = GGML_OP_CONT,
    .name      = "CONT",
    .symbol    = "cont(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check_cont,
    .backward  = backward,
};

static struct ggml_tensor * build_cont(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                       const int64_t ne[GGML_MAX_DIMS]) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CONT, builder);
    op_src(&draft, 0, a);
    op_like(&draft, a);
    if (ne != NULL && op_alive(&draft)) {
        op_shape(&draft, a->type, ne[0], ne[1], ne[2], ne[3]);
    }
    op_named_after(&draft, "%s (cont)", a);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_cont(struct ggml_context * ctx, struct ggml_tensor * a) {
    return build_cont(ctx, __func__, a, NULL);
}

struct ggml_tensor * ggml_cont_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0) {
    return build_cont(ctx, __func__, a, (const int64_t[]){ne0, 1, 1, 1});
}

struct ggml_tensor * ggml_cont_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1) {
    return build_cont(ctx, __func__, a, (const int64_t[]){ne0, ne1, 1, 1});
}

struct ggml_tensor * ggml_cont_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2) {
    return build_cont(ctx, __func__, a, (const int64_t[]){ne0, ne1, ne2, 1});
}

struct ggml_tensor * ggml_cont_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                  int64_t ne2, int64_t ne3) {
    return build_cont(ctx, __func__, a, (const int64_t[]){ne0, ne1, ne2, ne3});
}
