/* SPDX-License-Identifier: MIT
 *
 * ADD1: one number added to every value of a. F32, F16, BF16 of any strides, and formats of blocks with an encoder.
 */
#include "op.h"

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    return op_can_run_elementwise(node, 1) && ggml_are_same_shape(node, node->src[0]) && node->src[1] != NULL &&
           op_is_float(node->src[1]->type) && ggml_is_scalar(node->src[1]);
}

static void add(const void * context, int64_t n, float * y, const float * const * x) {
    cpu_kernels.vec.scale(n, y, x[0], 1.0f, *(const float *) context);
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * b = nodes[0]->src[1];
    float                      value;
    const float                number = *op_load(b->type, b->data, ggml_type_size(b->type), 1, &value);
    return op_run_elementwise(nodes[0], 1, task, add, &number);
}

CPU_OP(add1, ADD1, .supports = supports, .prepare = op_prepare_light, .task = run, .may_overwrite = 1);
