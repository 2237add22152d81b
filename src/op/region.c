/* SPDX-License-Identifier: MIT
 *
 * ACC and SET: the second source is added to, or written over, a region of the first. The region has the shape of the
 * second; its strides and offset, in bytes, are parameters.
 */
#include "op/check.h"
#include "op/gradient_terms.h"

#include <inttypes.h>

#include "type/type.h"

#define PARAM_OFFSET 3
#define PARAM_INPLACE 4

/* Bytes from the start of the destination to its end. A result that is no view is contiguous, whatever the source was.
 */
static bool destination_bytes(const struct ggml_tensor * node, size_t * bytes) {
    const struct ggml_tensor * a = node->src[0];
    if (op_get_i32(node, PARAM_INPLACE) != 0) {
        return op_span_bytes(a, bytes);
    }
    const int64_t rows = ggml_nrows(a);
    size_t        row_bytes;
    return type_row_bytes(a->type, a->ne[0], &row_bytes) && base_size_mul(row_bytes, (size_t) rows, bytes);
}

/* The whole region lies inside: strides that are used are not negative, so its last byte is the farthest. A stride of a
 * dimension of extent 1 may be anything (callers pass those of huge tensors, which do not fit the parameter). Four
 * products of 31-bit strides and 63-bit extents are summed with overflow checks. */
static enum ggml_status check_region(const struct ggml_tensor * node) {
    const struct ggml_tensor * b      = node->src[1];
    const int64_t              offset = op_get_i32(node, PARAM_OFFSET);
    size_t                     row_bytes, available;
    OP_REQUIRE(ggml_nelements(b) <= ggml_nelements(node->src[0]),
               "the region, source 1, has more elements than source 0");
    OP_REQUIRE(offset >= 0, "the offset of the region must be in 0 .. 2^31 - 1 bytes, not %" PRId64, offset);
    if (ggml_is_empty(b)) {
        return GGML_STATUS_SUCCESS;
    }
    OP_REQUIRE(type_row_bytes(node->type, b->ne[0], &row_bytes) && row_bytes <= INT64_MAX,
               "a row of the region must be whole blocks of the result's type");
    int64_t end = 0;
    OP_REQUIRE(base_int64_add(offset, (int64_t) row_bytes, &end), "the region ends beyond 2^63 bytes");
    for (int i = 1; i < GGML_MAX_DIMS; i++) {
        const int64_t stride = op_get_i32(node, i - 1);
        int64_t       reach;
        if (b->ne[i] == 1) {
            continue;
        }
        OP_REQUIRE(stride >= 0, "stride %d of the region must be in 0 .. 2^31 - 1 bytes", i);
        OP_REQUIRE(base_int64_mul(stride, b->ne[i] - 1, &reach) && base_int64_add(end, reach, &end),
                   "the region ends beyond 2^63 bytes");
    }
    OP_REQUIRE(destination_bytes(node, &available), "the layout of source 0 does not fit in memory");
    OP_REQUIRE((uint64_t) end <= available, "the region ends at byte %" PRId64 " of %zu", end, available);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_set(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_TRY(op_check_type(node, 1, node->src[0]->type));
    return check_region(node);
}

static enum ggml_status check_acc(const struct ggml_tensor * node) {
    OP_TRY(op_check_like_src0(node));
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_TRY(op_check_type(node, 1, GGML_TYPE_F32));
    OP_TRY(op_check_contiguous(node, 0));
    return check_region(node);
}

/* The part of a gradient that belongs to the region, as a tensor of its own. */
static struct ggml_tensor * region_of(struct op_backward * pass, const struct ggml_tensor * node,
                                      struct ggml_tensor * grad) {
    const int64_t * ne = node->src[1]->ne;
    const int32_t * p  = node->op_params;
    return ggml_cont(pass->ctx, ggml_view_4d(pass->ctx, grad, ne[0], ne[1], ne[2], ne[3], (size_t) p[0], (size_t) p[1],
                                             (size_t) p[2], (size_t) p[PARAM_OFFSET]));
}

static void backward_acc(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    op_grad_add(pass, node->src[0], grad);
    if (op_grad_needed(pass, node->src[1])) {
        op_grad_add(pass, node->src[1], region_of(pass, node, op_term_contiguous(pass, grad)));
    }
}

/* What was written over has no influence: its part of the gradient is zero. */
static void backward_set(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    struct ggml_tensor * whole = op_term_contiguous(pass, grad);
    const int32_t *      p     = node->op_params;
    if (op_grad_needed(pass, node->src[0])) {
        struct ggml_tensor * zeros = ggml_fill(pass->ctx, region_of(pass, node, whole), 0.0f);
        op_grad_add(
            pass, node->src[0],
            ggml_set(pass->ctx, whole, zeros, (size_t) p[0], (size_t) p[1], (size_t) p[2], (size_t) p[PARAM_OFFSET]));
    }
    if (op_grad_needed(pass, node->src[1])) {
        op_grad_add(pass, node->src[1], region_of(pass, node, whole));
    }
}

const struct op_row op_row_acc = {
    .op        = GGML_OP_ACC,
    .name      = "ACC",
    .symbol    = "view(x,nb,offset)+=y->x",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_acc,
    .backward  = backward_acc,
};

const struct op_row op_row_set = {
    .op        = GGML_OP_SET,
    .name      = "SET",
    .symbol    = "y-\\>view(x)",
    .n_src_min = 2,
    .n_src_max = 2,
    .check     = check_set,
    .backward  = backward_set,
};

struct region {
    size_t nb1, nb2, nb3, offset;
};

/* A stride in a parameter of 32 bits. One that does not fit and is used becomes -1, which the check refuses; cut to 32
 * bits it could look like a good one. */
static int32_t stride_param(size_t stride, int64_t extent) {
    return stride <= INT32_MAX || extent == 1 ? (int32_t) (uint32_t) stride : -1;
}

static struct ggml_tensor * build(struct ggml_context * ctx, enum ggml_op op, const char * builder,
                                  struct ggml_tensor * a, struct ggml_tensor * b, struct region region, bool inplace) {
    struct op_draft draft = op_begin(ctx, op, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_result_like(&draft, a, inplace);
    if (op_alive(&draft)) {
        op_param_i32(&draft, 0, stride_param(region.nb1, b->ne[1]));
        op_param_i32(&draft, 1, stride_param(region.nb2, b->ne[2]));
        op_param_i32(&draft, 2, stride_param(region.nb3, b->ne[3]));
        op_param_i32(&draft, PARAM_OFFSET, stride_param(region.offset, 0));
        op_param_i32(&draft, PARAM_INPLACE, inplace);
    }
    return op_commit(&draft);
}

struct ggml_tensor * ggml_acc(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, size_t nb1,
                              size_t nb2, size_t nb3, size_t offset) {
    return build(ctx, GGML_OP_ACC, __func__, a, b, (struct region){nb1, nb2, nb3, offset}, false);
}

struct ggml_tensor * ggml_acc_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                      size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    return build(ctx, GGML_OP_ACC, __func__, a, b, (struct region){nb1, nb2, nb3, offset}, true);
}

struct ggml_tensor * ggml_set(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, size_t nb1,
                              size_t nb2, size_t nb3, size_t offset) {
    return build(ctx, GGML_OP_SET, __func__, a, b, (struct region){nb1, nb2, nb3, offset}, false);
}

struct ggml_tensor * ggml_set_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                      size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    return build(ctx, GGML_OP_SET, __func__, a, b, (struct region){nb1, nb2, nb3, offset}, true);
}

/* Strides that a caller does not give are those of a. */
static struct ggml_tensor * build_set(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                      struct ggml_tensor * b, const size_t * nb1, size_t offset, bool inplace) {
    struct region region = {0, 0, 0, offset};
    if (a != NULL) {
        region.nb1 = nb1 != NULL ? *nb1 : a->nb[1];
        region.nb2 = a->nb[2];
        region.nb3 = a->nb[3];
    }
    return build(ctx, GGML_OP_SET, builder, a, b, region, inplace);
}

struct ggml_tensor * ggml_set_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                 size_t offset) {
    return build_set(ctx, __func__, a, b, NULL, offset, false);
}

struct ggml_tensor * ggml_set_1d_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                         size_t offset) {
    return build_set(ctx, __func__, a, b, NULL, offset, true);
}

struct ggml_tensor * ggml_set_2d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, size_t nb1,
                                 size_t offset) {
    return build_set(ctx, __func__, a, b, &nb1, offset, false);
}

struct ggml_tensor * ggml_set_2d_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                         size_t nb1, size_t offset) {
    return build_set(ctx, __func__, a, b, &nb1, offset, true);
}
