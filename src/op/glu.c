/* SPDX-License-Identifier: MIT
 *
 * GLU: an activation of one half times the other; the halves are those of a row, or two tensors.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

#define GLU_LIST(NAMED, SPECIAL)    \
    NAMED(REGLU, reglu)             \
    NAMED(GEGLU, geglu)             \
    NAMED(SWIGLU, swiglu)           \
    SPECIAL(SWIGLU_OAI, swiglu_oai) \
    NAMED(GEGLU_ERF, geglu_erf)     \
    NAMED(GEGLU_QUICK, geglu_quick) \
    SPECIAL(SWIGLU_CLAMP, swiglu_clamp)

#define NAME(constant, basename) [GGML_GLU_OP_##constant] = #constant,
static const char * const names[] = {GLU_LIST(NAME, NAME)};
_Static_assert(sizeof(names) / sizeof(names[0]) == GGML_GLU_OP_COUNT, "a function has no name");

const char * ggml_glu_op_name(enum ggml_glu_op op) {
    return (unsigned) op < GGML_GLU_OP_COUNT ? names[op] : "unknown";
}

enum ggml_glu_op ggml_get_glu_op(const struct ggml_tensor * tensor) {
    GGML_ASSERT(tensor->op == GGML_OP_GLU);
    return (enum ggml_glu_op) op_get_i32(tensor, 0);
}

static enum ggml_status shape(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) {
    memcpy(ne, node->src[0]->ne, sizeof(node->src[0]->ne));
    if (node->src[1] == NULL) {
        ne[0] /= 2;
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_inferred(node, OP_TYPE_OF_SRC(0), shape));
    const int32_t function = op_get_i32(node, 0);
    OP_REQUIRE(function >= 0 && function < GGML_GLU_OP_COUNT, "%d is no gated function", function);
    for (int k = 0; k < 2 && node->src[k] != NULL; k++) {
        OP_REQUIRE(ggml_is_contiguous_1(node->src[k]), "source %d must be contiguous but for the distance of its rows",
                   k);
    }
    if (node->src[1] != NULL) {
        OP_TRY(op_check_same_shape(node, 0, 1));
        OP_TRY(op_check_type(node, 1, node->src[0]->type));
    }
    return GGML_STATUS_SUCCESS;
}

static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 9.0);
}

/* y = silu(a) b */
static void backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * a = node->src[0];
    struct ggml_tensor * b = node->src[1];
    if (ggml_get_glu_op(node) != GGML_GLU_OP_SWIGLU || b == NULL) {
        op_grad_refuse(pass, node, "of the gated functions only SWIGLU of two tensors has a gradient");
        return;
    }
    if (op_grad_needed(pass, a)) {
        op_grad_add(pass, a, ggml_silu_back(pass->ctx, ggml_mul(pass->ctx, grad, b), a));
    }
    if (op_grad_needed(pass, b)) {
        op_grad_add(pass, b, ggml_mul(pass->ctx, grad, ggml_silu(pass->ctx, a)));
    }
}

const struct op_row op_row_glu = {
    .op        = GGML_OP_GLU,
    .name      = "GLU",
    .symbol    = "glu(x)",
    .n_src_min = 1,
    .n_src_max = 2,
    .check     = check,
    .backward  = backward,
    .cost      = cost,
};

/* b may be NULL: halves of the rows of a. */
static struct op_draft begin(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                             struct ggml_tensor * b, enum ggml_glu_op op, bool swapped) {
    struct op_draft draft = op_begin(ctx, GGML_OP_GLU, builder);
    op_src(&draft, 0, a);
    op_src_optional(&draft, 1, b);
    op_param_i32(&draft, 0, (int32_t) op);
    op_param_i32(&draft, 1, swapped);
    op_infer(&draft, OP_TYPE_OF_SRC(0), shape);
    return draft;
}

static struct ggml_tensor * build(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                  enum ggml_glu_op op, bool swapped) {
    struct op_draft draft = begin(ctx, builder, a, NULL, op, swapped);
    return op_commit(&draft);
}

static struct ggml_tensor * build_split(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                        struct ggml_tensor * b, enum ggml_glu_op op) {
    struct op_draft draft = begin(ctx, builder, a, b, op, false);
    op_src(&draft, 1, b);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_glu(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_glu_op op, bool swapped) {
    return build(ctx, __func__, a, op, swapped);
}

struct ggml_tensor * ggml_glu_split(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                    enum ggml_glu_op op) {
    return build_split(ctx, __func__, a, b, op);
}

#define NAMED_BUILDERS(constant, basename)                                                              \
    struct ggml_tensor * ggml_##basename(struct ggml_context * ctx, struct ggml_tensor * a) {           \
        return build(ctx, __func__, a, GGML_GLU_OP_##constant, false);                                  \
    }                                                                                                   \
    struct ggml_tensor * ggml_##basename##_swapped(struct ggml_context * ctx, struct ggml_tensor * a) { \
        return build(ctx, __func__, a, GGML_GLU_OP_##constant, true);                                   \
    }                                                                                                   \
    struct ggml_tensor * ggml_##basename##_split(struct ggml_context * ctx, struct ggml_tensor * a,     \
                                                 struct ggml_tensor * b) {                              \
        return build_split(ctx, __func__, a, b, GGML_GLU_OP_##constant);                                \
    }
#define NO_BUILDER(constant, basename)
GLU_LIST(NAMED_BUILDERS, NO_BUILDER)

struct ggml_tensor * ggml_swiglu_oai(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                     float alpha, float limit) {
    struct op_draft draft = begin(ctx, __func__, a, b, GGML_GLU_OP_SWIGLU_OAI, false);
    op_param_f32(&draft, 2, alpha);
    op_param_f32(&draft, 3, limit);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_swiglu_clamp(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                       float limit) {
    struct op_draft draft = begin(ctx, __func__, a, b, GGML_GLU_OP_SWIGLU_CLAMP, false);
    op_param_f32(&draft, 3, limit);
    return op_commit(&draft);
}
