/* SPDX-License-Identifier: MIT
 *
 * ACC and SET: a copy of a, with b added to or put over a region of it. The region has the shape of b; its strides and its
 * offset come from parameters, and all of it is checked to lie inside of the result. In-place forms copy nothing.
 */
#include "op.h"

/* The region as a tensor; false when it is not inside of the result. */
static bool region_of(const struct ggml_tensor * node, struct ggml_tensor * region) {
    const struct ggml_tensor * b    = node->src[1];
    const int64_t              size = (int64_t) ggml_type_size(node->type);
    int64_t                    end  = op_i32(node, 3);
    *region                         = *node;
    region->nb[0]                   = (size_t) size;
    if (end < 0) {
        return false;
    }
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const int64_t stride = d == 0 ? size : op_i32(node, d - 1);
        int64_t       extent;
        if (stride < 0 || b->ne[d] < 0 || __builtin_mul_overflow(MAX(b->ne[d] - 1, 0), stride, &extent) ||
            __builtin_add_overflow(end, extent, &end)) {
            return false;
        }
        region->ne[d] = b->ne[d];
        region->nb[d] = (size_t) stride;
    }
    if (node->data != NULL) {
        region->data = (char *) node->data + op_i32(node, 3);
    }
    return op_is_empty(b) || end + size <= (int64_t) ggml_nbytes(node);
}

/* Rows of the region do not meet: workers may share them. */
static bool is_disjoint(const struct ggml_tensor * t) {
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] < t->nb[d - 1] * (size_t) t->ne[d - 1]) {
            return false;
        }
    }
    return true;
}

static bool valid(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    struct ggml_tensor         region;
    return a != NULL && b != NULL && a->type == node->type && ggml_are_same_shape(node, a) && ggml_is_contiguous(node) &&
           ggml_blck_size(node->type) == 1 && region_of(node, &region);
}

OP_SUPPORTS(supports_acc) {
    (void) user_data, (void) device;
    return valid(node) && op_is_float(node->type) && op_is_float(node->src[1]->type);
}

OP_SUPPORTS(supports_set) {
    (void) user_data, (void) device;
    return valid(node) && node->src[1]->type == node->type;
}

static void add(const void * context, int64_t n, float * y, const float * const * x) {
    (void) context;
    cpu_kernels.vec.add(n, y, x[0], x[1]);
}

static void write_region(const struct ggml_ext_task * task, const struct ggml_tensor * region, const struct ggml_tensor * b,
                         bool accumulate) {
    const struct ggml_tensor * src[2] = {region, b};
    struct op_walk             walk;
    if (!accumulate) {
        op_copy(task, region, b);
    } else if (op_walk_init(&walk, region, 2, src)) {
        op_walk_run(&walk, task, add, NULL);
    }
}

OP_TASK(run) {
    (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    struct ggml_tensor         region;
    struct ggml_ext_task       alone = *task;
    if (!region_of(node, &region)) {
        return graft_fail(GGML_STATUS_FAILED, "%s '%s': the region leaves the tensor", ggml_op_name(node->op), node->name);
    }
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    if (node->data != node->src[0]->data) {
        op_copy(task, node, node->src[0]);
        task->barrier(task);
    }
    alone.nth = 1;
    if (op_is_empty(&region)) {
        return GGML_STATUS_SUCCESS;
    }
    if (is_disjoint(&region)) {
        write_region(task, &region, node->src[1], user_data != NULL);
    } else if (task->ith == 0) {
        write_region(&alone, &region, node->src[1], user_data != NULL);
    }
    return GGML_STATUS_SUCCESS;
}

static const char accumulate_mark[] = "accumulate";

CPU_OP(acc, ACC, .user_data = (void *) accumulate_mark, .supports = supports_acc, .prepare = op_prepare_light, .task = run,
       .may_overwrite = 1);
CPU_OP(set, SET, .supports = supports_set, .prepare = op_prepare_light, .task = run, .may_overwrite = 1);
