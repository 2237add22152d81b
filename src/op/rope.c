/* SPDX-License-Identifier: MIT
 *
 * ROPE and its inverse: rotary position embedding (arXiv:2104.09864), with YaRN scaling (arXiv:2309.00071) and the
 * multi-axis positions of vision models.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

enum {
    PARAM_N_DIMS      = 1,
    PARAM_MODE        = 2,
    PARAM_N_CTX_ORIG  = 4,
    PARAM_FREQ_BASE   = 5,
    PARAM_FREQ_SCALE  = 6,
    PARAM_EXT_FACTOR  = 7,
    PARAM_ATTN_FACTOR = 8,
    PARAM_BETA_FAST   = 9,
    PARAM_BETA_SLOW   = 10,
    PARAM_SECTIONS    = 11, /* and the next three: pairs of values that each axis of positions rotates */
    PARAM_OFFSET      = 15, /* first value of a row that is rotated */
};

#define SRC_POSITIONS 1
#define SRC_FACTORS 2

/* This bit of the mode gives each token four positions, one an axis; bit 0 was a mode that no longer exists. */
#define MODE_MULTI 8
#define MODE_REMOVED 1

static enum ggml_status check_positions(const struct ggml_tensor * node) {
    const struct ggml_tensor * positions = node->src[SRC_POSITIONS];
    const int64_t              per_token = (op_get_i32(node, PARAM_MODE) & MODE_MULTI) != 0 ? GGML_MROPE_SECTIONS : 1;
    OP_TRY(op_check_type(node, SRC_POSITIONS, GGML_TYPE_I32));
    OP_REQUIRE(ggml_is_vector(positions) && positions->ne[0] % per_token == 0 &&
                   positions->ne[0] / per_token == node->src[0]->ne[2],
               "positions (source 1) must be a vector of %d for each of ne2 of source 0", (int) per_token);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    const int64_t row    = node->ne[0];
    const int32_t n_dims = op_get_i32(node, PARAM_N_DIMS);
    const int32_t mode   = op_get_i32(node, PARAM_MODE);
    const int32_t offset = op_get_i32(node, PARAM_OFFSET);
    OP_REQUIRE((mode & MODE_REMOVED) == 0, "mode %d is no longer supported", mode);
    OP_REQUIRE(n_dims >= 0 && n_dims % 2 == 0, "the number of values to rotate must be even, not %d", n_dims);
    OP_REQUIRE(offset >= 0 && (int64_t) offset + n_dims <= row, "values %d .. %d + %d of a row leave its extent",
               offset, offset, n_dims);
    OP_REQUIRE(offset == 0 || mode != GGML_ROPE_TYPE_VISION, "vision mode rotates whole rows: no offset");
    OP_TRY(check_positions(node));
    if (node->src[SRC_FACTORS] != NULL) {
        OP_TRY(op_check_type(node, SRC_FACTORS, GGML_TYPE_F32));
        OP_REQUIRE(node->src[SRC_FACTORS]->ne[0] >= n_dims / 2, "frequency factors (source 2) must be %d or more",
                   n_dims / 2);
    }
    return GGML_STATUS_SUCCESS;
}

/* Four multiplications and two additions a pair; the sines are shared by the rows of a token. */
static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 3.0);
}

/* A rotation's inverse, with the same parameters. */
static void backward_rope(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    if (op_grad_needed(pass, node->src[0])) {
        struct op_draft draft = op_begin(pass->ctx, GGML_OP_ROPE_BACK, "ggml_rope_ext_back");
        op_src(&draft, 0, grad);
        op_src(&draft, SRC_POSITIONS, node->src[SRC_POSITIONS]);
        op_src_optional(&draft, SRC_FACTORS, node->src[SRC_FACTORS]);
        op_like(&draft, grad);
        memcpy(draft.node.op_params, node->op_params, sizeof(node->op_params));
        op_grad_add(pass, node->src[0], op_commit(&draft));
    }
}

#define ROPE_ROW(basename, constant, backward_fn) \
    const struct op_row op_row_##basename = {     \
        .op            = GGML_OP_##constant,      \
        .name          = #constant,               \
        .symbol        = #basename "(x)",         \
        .n_src_min     = 2,                       \
        .n_src_max     = 3,                       \
        .check         = check,                   \
        .backward      = backward_fn,             \
        .grad_stops    = op_grad_stops_at_src1,   \
        .inplace_alloc = true,                    \
        .cost          = cost,                    \
    };

ROPE_ROW(rope, ROPE, backward_rope)
ROPE_ROW(rope_back, ROPE_BACK, NULL)

struct rope {
    int         n_dims, mode, n_ctx_orig;
    float       freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    const int * sections; /* four, or NULL */
};

static struct ggml_tensor * build(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                  struct ggml_tensor * a, struct ggml_tensor * b, struct ggml_tensor * c,
                                  struct rope rope, bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_src(&draft, SRC_POSITIONS, b);
    op_src_optional(&draft, SRC_FACTORS, c);
    op_result_like(&draft, a, inplace);
    op_param_i32(&draft, PARAM_N_DIMS, rope.n_dims);
    op_param_i32(&draft, PARAM_MODE, rope.mode);
    op_param_i32(&draft, PARAM_N_CTX_ORIG, rope.n_ctx_orig);
    op_param_f32(&draft, PARAM_FREQ_BASE, rope.freq_base);
    op_param_f32(&draft, PARAM_FREQ_SCALE, rope.freq_scale);
    op_param_f32(&draft, PARAM_EXT_FACTOR, rope.ext_factor);
    op_param_f32(&draft, PARAM_ATTN_FACTOR, rope.attn_factor);
    op_param_f32(&draft, PARAM_BETA_FAST, rope.beta_fast);
    op_param_f32(&draft, PARAM_BETA_SLOW, rope.beta_slow);
    for (int i = 0; i < GGML_MROPE_SECTIONS && rope.sections != NULL && (rope.mode & MODE_MULTI) != 0; i++) {
        op_param_i32(&draft, PARAM_SECTIONS + i, rope.sections[i]);
    }
    return op_commit(&draft);
}

/* Without scaling: base 10000, every frequency as it is. */
static struct rope plain(int n_dims, int mode) {
    return (struct rope){
        .n_dims = n_dims, .mode = mode, .freq_base = 10000.0f, .freq_scale = 1.0f, .attn_factor = 1.0f};
}

struct ggml_tensor * ggml_rope(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int n_dims,
                               int mode) {
    return build(ctx, GGML_OP_ROPE, __func__, a, b, NULL, plain(n_dims, mode), false);
}

struct ggml_tensor * ggml_rope_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                       int n_dims, int mode) {
    return build(ctx, GGML_OP_ROPE, __func__, a, b, NULL, plain(n_dims, mode), true);
}

/* The public functions differ in which of the parameters they have, and in operator and place. */
#define SCALING_PARAMETERS                                                                                   \
    int n_ctx_orig, float freq_base, float freq_scale, float ext_factor, float attn_factor, float beta_fast, \
        float beta_slow
#define SCALING(given_sections)                                                                                        \
    (struct rope) {                                                                                                    \
        n_dims, mode, n_ctx_orig, freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow, given_sections \
    }

#define EXT_BUILDER(function, op, inplace)                                                                   \
    struct ggml_tensor * function(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, \
                                  struct ggml_tensor * c, int n_dims, int mode, SCALING_PARAMETERS) {        \
        return build(ctx, op, __func__, a, b, c, SCALING(NULL), inplace);                                    \
    }
#define MULTI_BUILDER(function, op, inplace)                                                                       \
    struct ggml_tensor * function(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,       \
                                  struct ggml_tensor * c, int n_dims, int sections[GGML_MROPE_SECTIONS], int mode, \
                                  SCALING_PARAMETERS) {                                                            \
        return build(ctx, op, __func__, a, b, c, SCALING(sections), inplace);                                      \
    }
#define CUSTOM_BUILDER(function, inplace)                                                                    \
    struct ggml_tensor * function(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, \
                                  int n_dims, int mode, SCALING_PARAMETERS) {                                \
        return build(ctx, GGML_OP_ROPE, __func__, a, b, NULL, SCALING(NULL), inplace);                       \
    }

EXT_BUILDER(ggml_rope_ext, GGML_OP_ROPE, false)
EXT_BUILDER(ggml_rope_ext_inplace, GGML_OP_ROPE, true)
EXT_BUILDER(ggml_rope_ext_back, GGML_OP_ROPE_BACK, false)
MULTI_BUILDER(ggml_rope_multi, GGML_OP_ROPE, false)
MULTI_BUILDER(ggml_rope_multi_inplace, GGML_OP_ROPE, true)
MULTI_BUILDER(ggml_rope_multi_back, GGML_OP_ROPE_BACK, false)
CUSTOM_BUILDER(ggml_rope_custom, false)
CUSTOM_BUILDER(ggml_rope_custom_inplace, true)

struct ggml_tensor * ggml_rope_set_offset(struct ggml_tensor * a, int n_offs) {
    if (a == NULL || (a->op != GGML_OP_ROPE_BACK && !op_is_node_of(a, GGML_OP_ROPE, __func__))) {
        return a;
    }
    if (op_get_i32(a, PARAM_MODE) == GGML_ROPE_TYPE_VISION) {
        op_builder_failed(NULL, "%s: '%s' rotates whole rows (vision mode): no offset", __func__, a->name);
        return a;
    }
    const struct ggml_tensor before = *a;
    a->op_params[PARAM_OFFSET]      = n_offs;
    op_recheck(a, &before, __func__);
    return a;
}

/* YaRN, section 3.2: the dimension whose wave makes `rotations` turns over the original context,
 * n_dims ln(n_ctx / (2 pi rotations)) / (2 ln base). */
static float correction_dim(int n_dims, int n_ctx_orig, float rotations, float base) {
    const float pi = 3.14159265358979323846f;
    return (float) n_dims * logf((float) n_ctx_orig / (rotations * 2.0f * pi)) / (2.0f * logf(base));
}

void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast, float beta_slow,
                              float dims[2]) {
    const float low  = floorf(correction_dim(n_dims, n_ctx_orig, beta_fast, freq_base));
    const float high = ceilf(correction_dim(n_dims, n_ctx_orig, beta_slow, freq_base));
    dims[0]          = low > 0.0f ? low : 0.0f;
    dims[1]          = high < (float) (n_dims - 1) ? high : (float) (n_dims - 1);
}
