/* SPDX-License-Identifier: MIT
 *
 * Shape rules and checks that operators share, and the two forms of most builders.
 */
#include "op/check.h"

#include <inttypes.h>

#include "base/status.h"
#include "graph/tensor.h"
#include "type/type.h"

/* Elements and bytes fit 63 bits, even if an extent of zero were one: products of extents in any order are then safe.
 */
static bool countable(const struct ggml_tensor * t) {
    const struct type_row * row = type_row_get(t->type);
    if (row == NULL || row->traits.type_size == 0) {
        return false;
    }
    int64_t n = (int64_t) row->traits.type_size;
    if (((uint64_t) (t->ne[0] | t->ne[1] | t->ne[2] | t->ne[3]) >> 13) == 0 && n < 1024) {
        return true; /* four extents below 2^13 and a size below 2^10: the common case, as every plan asks */
    }
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (t->ne[i] < 0 || !base_int64_mul(n, t->ne[i] > 0 ? t->ne[i] : 1, &n)) {
            return false;
        }
    }
    return true;
}

enum ggml_status op_check_sane(const struct ggml_tensor * node) {
    const struct op_row * row = op_row_get(node->op);
    OP_REQUIRE(row != NULL, "no such operator");
    OP_REQUIRE(countable(node), "result has an unknown type or impossible extents");
    int gap = -1; /* an empty place that is no optional source: nothing may follow it */
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] == NULL) {
            OP_REQUIRE(k >= row->n_src_min, "source %d is missing", k);
            gap = (row->optional_src >> k & 1u) != 0 ? gap : k;
        } else {
            OP_REQUIRE(k < row->n_src_max, "source %d is one too many", k);
            OP_REQUIRE(gap < 0, "source %d is missing", gap);
            OP_REQUIRE(countable(node->src[k]), "source %d has an unknown type or impossible extents", k);
        }
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_like_src0(const struct ggml_tensor * node) {
    OP_TRY(op_check_sane(node));
    OP_TRY(op_check_same_shape_type(node, 0));
    return op_check_contiguous_result(node);
}

enum ggml_status op_check_same_shape(const struct ggml_tensor * node, int k, int l) {
    OP_REQUIRE(ggml_are_same_shape(node->src[k], node->src[l]), "sources %d and %d must have one shape", k, l);
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_extents(const struct ggml_tensor * node, int k, int64_t ne0, int64_t ne1, int64_t ne2,
                                  int64_t ne3) {
    const int64_t * ne = node->src[k]->ne;
    OP_REQUIRE(ne[0] == ne0 && ne[1] == ne1 && ne[2] == ne2 && ne[3] == ne3,
               "source %d must be [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", k, ne0, ne1, ne2, ne3);
    return GGML_STATUS_SUCCESS;
}

/* Strides for the text of a refusal. */
#define STRIDES(t) (t)->nb[0], (t)->nb[1], (t)->nb[2], (t)->nb[3]

enum ggml_status op_check_contiguous(const struct ggml_tensor * node, int k) {
    const struct ggml_tensor * t = node->src[k];
    OP_REQUIRE(ggml_is_contiguous(t), "source %d must be contiguous, its strides are [%zu, %zu, %zu, %zu]", k,
               STRIDES(t));
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_contiguous_rows(const struct ggml_tensor * node, int k) {
    const struct ggml_tensor * t = node->src[k];
    OP_REQUIRE(ggml_is_contiguous_rows(t), "source %d must have contiguous rows, its strides are [%zu, %zu, %zu, %zu]",
               k, STRIDES(t));
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_padded_rows(const struct ggml_tensor * node, int k) {
    const struct ggml_tensor * t = node->src[k];
    OP_REQUIRE(t->nb[0] == ggml_type_size(t->type) && t->nb[2] == t->nb[1] * (size_t) t->ne[1] &&
                   t->nb[3] == t->nb[2] * (size_t) t->ne[2],
               "source %d must have contiguous rows at one distance, its strides are [%zu, %zu, %zu, %zu]", k,
               STRIDES(t));
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_scalar(const struct ggml_tensor * node, int k) {
    OP_REQUIRE(ggml_is_scalar(node->src[k]), "source %d must be a scalar", k);
    return GGML_STATUS_SUCCESS;
}

bool op_span_bytes(const struct ggml_tensor * t, size_t * bytes) {
    return countable(t) && graph_strided_bytes(t->type, t->ne, t->nb, bytes);
}

bool op_window_extent(int64_t in, int64_t k, int32_t stride, int32_t padding, int32_t dilation, int64_t * out) {
    int64_t reach; /* of the taps beyond the first */
    int64_t free;
    if (stride < 1 || dilation < 0 || in < 0 || k < 0 || !base_int64_mul(dilation, k - 1, &reach) ||
        !base_int64_add(in, 2 * (int64_t) padding, &free) || !base_int64_add(free, -reach - 1, &free)) {
        return false;
    }
    const int64_t n = free / stride + 1;
    if (n < 1) {
        return false;
    }
    *out = n;
    return true;
}

static enum ggml_type result_type(const struct ggml_tensor * node, enum ggml_type type) {
    const unsigned k = (unsigned) type - (unsigned) OP_TYPE_OF_SRC(0);
    return k < GGML_MAX_SRC ? node->src[k]->type : type;
}

void op_infer(struct op_draft * draft, enum ggml_type type, op_shape_fn rule) {
    if (!op_alive(draft)) {
        return;
    }
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    type                      = result_type(&draft->node, type);
    draft->node.type          = type;
    if (op_check_sane(&draft->node) == GGML_STATUS_SUCCESS && rule(&draft->node, ne) == GGML_STATUS_SUCCESS) {
        op_shape(draft, type, ne[0], ne[1], ne[2], ne[3]);
    }
}

enum ggml_status op_check_inferred(const struct ggml_tensor * node, enum ggml_type type, op_shape_fn rule) {
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    OP_TRY(op_check_sane(node));
    OP_TRY(rule(node, ne));
    OP_TRY(op_check_result(node, result_type(node, type), ne[0], ne[1], ne[2], ne[3]));
    return op_check_contiguous_result(node);
}

void op_result_like(struct op_draft * draft, struct ggml_tensor * a, bool inplace) {
    op_like(draft, a);
    if (inplace) {
        op_view_of(draft, a, 0);
        op_named_after(draft, "%s (view)", a);
    }
}

struct ggml_tensor * op_build1(struct ggml_context * ctx, enum ggml_op op, const char * builder, struct ggml_tensor * a,
                               bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    return op_commit(&draft);
}

struct ggml_tensor * op_build2(struct ggml_context * ctx, enum ggml_op op, const char * builder, struct ggml_tensor * a,
                               struct ggml_tensor * b, bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_result_like(&draft, a, inplace);
    return op_commit(&draft);
}

bool op_recheck(struct ggml_tensor * node, const struct ggml_tensor * before, const char * setter) {
    const struct op_row * row = op_row_get(node->op);
    if (row != NULL && row->check(node) == GGML_STATUS_SUCCESS) {
        return true;
    }
    memcpy(node->op_params, before->op_params, sizeof(node->op_params));
    memcpy(node->src, before->src, sizeof(node->src));
    char text[BASE_ERROR_MAX];
    snprintf(text, sizeof(text), "%s", base_error_text());
    op_builder_failed(NULL, "%s: %s", setter, text);
    return false;
}

bool op_is_node_of(const struct ggml_tensor * node, enum ggml_op op, const char * setter) {
    if (node->op != op) {
        op_builder_failed(NULL, "%s: '%s' is a node of %s, not of %s", setter, node->name, ggml_op_name(node->op),
                          ggml_op_name(op));
        return false;
    }
    return true;
}

void op_set_source(struct ggml_tensor * node, enum ggml_op op, int k, struct ggml_tensor * src, const char * setter) {
    if (node == NULL || !op_is_node_of(node, op, setter)) {
        return;
    }
    if (src != NULL && node->src[k] != NULL) {
        op_builder_failed(NULL, "%s: '%s' has a source %d already", setter, node->name, k);
        return;
    }
    const struct ggml_tensor before = *node;
    node->src[k]                    = src;
    op_recheck(node, &before, setter);
}

static double tensor_bytes(const struct ggml_tensor * t) {
    const struct type_row * row = type_row_get(t->type);
    if (row == NULL || row->traits.blck_size == 0) {
        return 0.0;
    }
    double n = (double) row->traits.type_size / (double) row->traits.blck_size;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        n *= (double) t->ne[i];
    }
    return n;
}

struct op_cost op_cost_bytes(const struct ggml_tensor * node) {
    struct op_cost cost = {.flops = 0.0, .bytes = tensor_bytes(node)};
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] != NULL && node->src[k] != node) {
            cost.bytes += tensor_bytes(node->src[k]);
        }
    }
    return cost;
}

struct op_cost op_cost_per_value(const struct ggml_tensor * node, double flops) {
    struct op_cost cost = op_cost_bytes(node);
    cost.flops          = flops * (double) ggml_nelements(node);
    return cost;
}
