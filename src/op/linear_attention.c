/* SPDX-License-Identifier: MIT
 *
 * RWKV_WKV6, GATED_LINEAR_ATTN, RWKV_WKV7: recurrent attention over a state of S x S a head. The operands of a token
 * are [S, heads, tokens]; the result is [S heads, tokens + S sequences], output above new states.
 */
#include "op/check.h"

struct layout {
    int key;    /* the source that gives S, heads and tokens */
    int state;  /* the last source */
    int shared; /* a source that is the same for all tokens; -1: there is none */
};

static const struct layout wkv6 = {.key = 0, .state = 5, .shared = 3};
static const struct layout gla  = {.key = 0, .state = 4, .shared = -1};
static const struct layout wkv7 = {.key = 2, .state = 6, .shared = -1};

static enum ggml_status shape(const struct ggml_tensor * node, const struct layout * layout,
                              int64_t ne[GGML_MAX_DIMS]) {
    const int64_t * key       = node->src[layout->key]->ne;
    const int64_t   sequences = node->src[layout->state]->ne[1];
    int64_t         state, rows;
    for (int k = 0; k <= layout->state; k++) {
        const int64_t * extents = node->src[k]->ne;
        OP_TRY(op_check_contiguous(node, k));
        if (k != layout->state && k != layout->shared) {
            OP_REQUIRE(extents[0] == key[0] && extents[1] == key[1] && extents[2] == key[2],
                       "source %d must have ne0, ne1 and ne2 of source %d", k, layout->key);
        }
    }
    if (layout->shared >= 0) {
        OP_REQUIRE(ggml_nelements(node->src[layout->shared]) >= key[0] * key[1],
                   "source %d must have a value for each of ne0 times ne1 of source %d", layout->shared, layout->key);
    }
    OP_REQUIRE(base_int64_mul(key[0] * key[1], key[0], &state) && base_int64_mul(state, sequences, &state) &&
                   ggml_nelements(node->src[layout->state]) == state,
               "the state (source %d) must have S S heads values for each of its ne1 sequences", layout->state);
    OP_REQUIRE(base_int64_mul(key[0], sequences, &rows) && base_int64_add(rows, key[2], &ne[1]),
               "extents of the result overflow");
    ne[0] = key[0] * key[1];
    return GGML_STATUS_SUCCESS;
}

/* About four operations for each value of the state and each token. */
static struct op_cost cost(const struct ggml_tensor * node, const struct layout * layout) {
    const int64_t * key  = node->src[layout->key]->ne;
    struct op_cost  cost = op_cost_bytes(node);
    cost.flops           = 4.0 * (double) key[0] * (double) key[0] * (double) key[1] * (double) key[2];
    return cost;
}

#define RECURRENT_ROW(basename, constant, layout, symbol_text)                                           \
    static enum ggml_status shape_##layout(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]) { \
        return shape(node, &layout, ne);                                                                 \
    }                                                                                                    \
    static enum ggml_status check_##layout(const struct ggml_tensor * node) {                            \
        return op_check_inferred(node, GGML_TYPE_F32, shape_##layout);                                   \
    }                                                                                                    \
    static struct op_cost cost_##layout(const struct ggml_tensor * node) {                               \
        return cost(node, &layout);                                                                      \
    }                                                                                                    \
    const struct op_row op_row_##basename = {                                                            \
        .op        = GGML_OP_##constant,                                                                 \
        .name      = #constant,                                                                          \
        .symbol    = symbol_text,                                                                        \
        .n_src_min = SOURCES_##constant,                                                                 \
        .n_src_max = SOURCES_##constant,                                                                 \
        .check     = check_##layout,                                                                     \
        .cost      = cost_##layout,                                                                      \
    };

#define SOURCES_RWKV_WKV6 6
#define SOURCES_GATED_LINEAR_ATTN 5
#define SOURCES_RWKV_WKV7 7

RECURRENT_ROW(rwkv_wkv6, RWKV_WKV6, wkv6, "rwkv_wkv6(k, v, r, tf, td, s)")
RECURRENT_ROW(gated_linear_attn, GATED_LINEAR_ATTN, gla, "gated_linear_attn(k, v, q, gate, s)")
RECURRENT_ROW(rwkv_wkv7, RWKV_WKV7, wkv7, "rwkv_wkv7(r, w, k, v, a, b, s)")

static struct op_draft begin(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                             struct ggml_tensor * const * sources, int n) {
    struct op_draft draft = op_begin(ctx, op, builder);
    for (int k = 0; k < n; k++) {
        op_src(&draft, k, sources[k]);
    }
    return draft;
}

struct ggml_tensor * ggml_rwkv_wkv6(struct ggml_context * ctx, struct ggml_tensor * k, struct ggml_tensor * v,
                                    struct ggml_tensor * r, struct ggml_tensor * tf, struct ggml_tensor * td,
                                    struct ggml_tensor * state) {
    struct ggml_tensor * const sources[] = {k, v, r, tf, td, state};
    struct op_draft            draft     = begin(ctx, GGML_OP_RWKV_WKV6, __func__, sources, SOURCES_RWKV_WKV6);
    op_infer(&draft, GGML_TYPE_F32, shape_wkv6);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_gated_linear_attn(struct ggml_context * ctx, struct ggml_tensor * k, struct ggml_tensor * v,
                                            struct ggml_tensor * q, struct ggml_tensor * g, struct ggml_tensor * state,
                                            float scale) {
    struct ggml_tensor * const sources[] = {k, v, q, g, state};
    struct op_draft draft = begin(ctx, GGML_OP_GATED_LINEAR_ATTN, __func__, sources, SOURCES_GATED_LINEAR_ATTN);
    op_param_f32(&draft, 0, scale);
    op_infer(&draft, GGML_TYPE_F32, shape_gla);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_rwkv_wkv7(struct ggml_context * ctx, struct ggml_tensor * r, struct ggml_tensor * w,
                                    struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * a,
                                    struct ggml_tensor * b, struct ggml_tensor * state) {
    struct ggml_tensor * const sources[] = {r, w, k, v, a, b, state};
    struct op_draft            draft     = begin(ctx, GGML_OP_RWKV_WKV7, __func__, sources, SOURCES_RWKV_WKV7);
    op_infer(&draft, GGML_TYPE_F32, shape_wkv7);
    return op_commit(&draft);
}
