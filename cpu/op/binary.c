/* SPDX-License-Identifier: MIT
 *
 * ADD, SUB, MUL, DIV: y = a op b, b repeated to the shape of a, in F32. Any strides and any mix of F32, F16 and BF16; a, and
 * with it the result, may also be of a block format. Correctly rounded in F32, then to the result's type.
 */
#include "op.h"

static void apply(const void * context, int64_t n, float * y, const float * const * x) {
    (*(const cpu_vec_binary_fn *) context)(n, y, x[0], x[1]);
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    return op_can_run_elementwise(node, 2) && ggml_are_same_shape(node, node->src[0]) && op_is_float(node->src[1]->type);
}

OP_TASK(run) {
    (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 2, task, apply, user_data);
}

#define BINARY(basename, constant)                                                                                 \
    CPU_OP(basename, constant, .user_data = &cpu_kernels.vec.basename, .supports = supports, .prepare = op_prepare_light, \
           .task = run, .may_overwrite = 3)

BINARY(add, ADD);
BINARY(sub, SUB);
BINARY(mul, MUL);
BINARY(div, DIV);
