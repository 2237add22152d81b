/* SPDX-License-Identifier: MIT
 *
 * What the operator files share: how a check refuses, the shape rules that recur, and the two forms of most builders
 * (a result like the first source, new or in place).
 *
 * A shape rule (op_shape_fn) computes the result's shape from the sources and parameters of a node. The builder and the
 * check call the same rule, so a shape is never written down twice.
 */
#ifndef GRAFT_OP_CHECK_H
#define GRAFT_OP_CHECK_H

#include "base/check.h"
#include "op/op.h"

/* The rows, one of each file (or family file). */
#define OP(constant, basename) extern const struct op_row op_row_##basename;
#include "op/op.inc"
#undef OP

/* In a function that returns a status: leave with the status of a call that failed. */
#define OP_TRY(call)                                   \
    do {                                               \
        const enum ggml_status op_try_status = (call); \
        if (op_try_status != GGML_STATUS_SUCCESS) {    \
            return op_try_status;                      \
        }                                              \
    } while (0)

/* In a check with a parameter called node: refuse it unless the condition holds. */
#define OP_REQUIRE(condition, ...)               \
    do {                                         \
        if (!(condition)) {                      \
            return op_refuse(node, __VA_ARGS__); \
        }                                        \
    } while (0)

/* ---- checks ---- */

/* The node and its sources have known types, no negative extents, and element counts and sizes that fit 63 bits: after
 * it, ggml_nelements, ggml_is_contiguous and their kin may be called. Sources below n_src_min are there, none above
 * n_src_max is. Every check begins with it. */
enum ggml_status op_check_sane(const struct ggml_tensor * node);

/* Complete checks of nodes without rules of their own. */
enum ggml_status op_check_like_src0(const struct ggml_tensor * node); /* the result is like source 0 */

/* Sources k and l have one shape. */
enum ggml_status op_check_same_shape(const struct ggml_tensor * node, int k, int l);
/* Source k has exactly these extents. */
enum ggml_status op_check_extents(const struct ggml_tensor * node, int k, int64_t ne0, int64_t ne1, int64_t ne2,
                                  int64_t ne3);
enum ggml_status op_check_contiguous(const struct ggml_tensor * node, int k);
/* Values of a row lie side by side. */
enum ggml_status op_check_contiguous_rows(const struct ggml_tensor * node, int k);
/* One step from value to value through rows of one stride: what kernels need that see a tensor as nrows rows. */
enum ggml_status op_check_padded_rows(const struct ggml_tensor * node, int k);
enum ggml_status op_check_scalar(const struct ggml_tensor * node, int k);

/* ---- extents ---- */

/* Is n a multiple of d? Zero is a multiple of zero only, so that no rule divides by it. */
static inline bool op_divides(int64_t d, int64_t n) {
    return d > 0 ? n % d == 0 : d == n;
}

/* Bytes from the first to the last byte of a tensor by its strides; false on overflow. */
bool op_span_bytes(const struct ggml_tensor * t, size_t * bytes);

/* A window of k taps that moves over `in` values: (in + 2 padding - dilation (k - 1) - 1) / stride + 1, as in every
 * framework's convolution. False unless that is positive (or on stride < 1, dilation < 0, overflow). The quotient is
 * truncated, so a window that hangs over by less than a stride still counts once. */
bool op_window_extent(int64_t in, int64_t k, int32_t stride, int32_t padding, int32_t dilation, int64_t * out);

/* ---- shape rules ---- */

typedef enum ggml_status (*op_shape_fn)(const struct ggml_tensor * node, int64_t ne[GGML_MAX_DIMS]);

/* In place of the type of a result: that of source k. */
#define OP_TYPE_OF_SRC(k) ((enum ggml_type)(0x40000000 + (k)))

/* Sets the draft's type and shape by the rule. A draft that the rule refuses keeps no shape: op_commit will report it.
 */
void op_infer(struct op_draft * draft, enum ggml_type type, op_shape_fn rule);

/* The node has the type and the shape of the rule, and is sane. */
enum ggml_status op_check_inferred(const struct ggml_tensor * node, enum ggml_type type, op_shape_fn rule);

/* ---- builders ---- */

/* The result is like a; in place, a view of it. */
void op_result_like(struct op_draft * draft, struct ggml_tensor * a, bool inplace);

/* A whole node of one or two required sources whose result is like the first. */
struct ggml_tensor * op_build1(struct ggml_context * ctx, enum ggml_op op, const char * builder, struct ggml_tensor * a,
                               bool inplace);
struct ggml_tensor * op_build2(struct ggml_context * ctx, enum ggml_op op, const char * builder, struct ggml_tensor * a,
                               struct ggml_tensor * b, bool inplace);

/* ---- functions that change a node after it was built ----
 * They are given no context, so their faults abort; a NULL node (of a builder that failed in checked mode) is ignored.
 */

/* Checks a node again, and puts the sources and parameters of `before` back when it no longer passes. True when it
 * passes. */
bool op_recheck(struct ggml_tensor * node, const struct ggml_tensor * before, const char * setter);
/* Fills the empty place of source k of a node of this operator; src NULL empties it. */
void op_set_source(struct ggml_tensor * node, enum ggml_op op, int k, struct ggml_tensor * src, const char * setter);
/* Is it a node of this operator? Reports the fault. */
bool op_is_node_of(const struct ggml_tensor * node, enum ggml_op op, const char * setter);

/* ---- cost ---- */

/* No arithmetic: the bytes of the sources and the result, each once. */
struct op_cost op_cost_bytes(const struct ggml_tensor * node);
/* The same with this many operations for every value of the result. */
struct op_cost op_cost_per_value(const struct ggml_tensor * node, double flops);

/* Reading a parameter in a check or a cost. */
static inline int32_t op_get_i32(const struct ggml_tensor * node, int i) {
    return node->op_params[i];
}

static inline float op_get_f32(const struct ggml_tensor * node, int i) {
    float value;
    memcpy(&value, &node->op_params[i], sizeof(value));
    return value;
}

#endif /* GRAFT_OP_CHECK_H */
