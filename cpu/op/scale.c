/* SPDX-License-Identifier: MIT
 *
 * SCALE: y = x*s + b, one rounding (b = 0 adds nothing). F32, F16 and BF16 of any strides.
 */
#include "op.h"

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    return op_can_run_elementwise(node, 1) && op_is_float(node->type) && op_is_float(node->src[0]->type) &&
           ggml_are_same_shape(node, node->src[0]);
}

static void scale(const void * context, int64_t n, float * y, const float * const * x) {
    cpu_kernels.vec.scale(n, y, x[0], op_f32(context, 0), op_f32(context, 1));
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 1, task, scale, nodes[0]);
}

CPU_OP(scale, SCALE, .supports = supports, .prepare = op_prepare_light, .task = run, .may_overwrite = 1);
