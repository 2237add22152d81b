/* SPDX-License-Identifier: MIT
 *
 * UNARY: a function of single elements, by enum ggml_unary_op. F32, F16 and BF16 of any strides, computed in F32; bounds in
 * family_vec.h. GELU is its formula in F32, without a half-precision table.
 */
#include "op.h"

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const int32_t op = op_i32(node, 0);
    return op >= 0 && op < GGML_UNARY_OP_COUNT && op_can_run_elementwise(node, 1) && op_is_float(node->type) &&
           op_is_float(node->src[0]->type) && ggml_are_same_shape(node, node->src[0]);
}

static void map(const void * context, int64_t n, float * y, const float * const * x) {
    const struct ggml_tensor * node = context;
    const int32_t              op   = op_i32(node, 0);
    if (op == GGML_UNARY_OP_XIELU) {
        const float params[4] = {op_f32(node, 1), op_f32(node, 2), op_f32(node, 3), op_f32(node, 4)};
        cpu_kernels.vec.xielu(n, y, x[0], params);
    } else {
        cpu_kernels.vec.unary[op](n, y, x[0]);
    }
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 1, task, map, nodes[0]);
}

CPU_OP(unary, UNARY, .supports = supports, .prepare = op_prepare_heavy, .task = run, .may_overwrite = 1);
