/* SPDX-License-Identifier: MIT
 *
 * GLU: y = act(gate)*up, gate and up two tensors or the halves of one (exchanged if swapped), by enum ggml_glu_op. F32, F16
 * and BF16 of any strides, computed in F32. Parameters: 1 swapped, 2 alpha, 3 limit.
 */
#include "op.h"

/* Makes gate and up tensors of the result's shape. */
static void operands(const struct ggml_tensor * node, struct ggml_tensor * gate, struct ggml_tensor * up) {
    const struct ggml_tensor * a = node->src[0];
    *gate                        = *a;
    *up                          = node->src[1] != NULL ? *node->src[1] : *a;
    if (node->src[1] == NULL) {
        const bool swapped = op_i32(node, 1) != 0;
        gate->ne[0] = up->ne[0] = node->ne[0];
        if (a->data != NULL) {
            (swapped ? gate : up)->data = (char *) a->data + (size_t) node->ne[0] * a->nb[0];
        }
    }
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const int32_t              op = op_i32(node, 0);
    const struct ggml_tensor * a  = node->src[0];
    const struct ggml_tensor * b  = node->src[1];
    if (op < 0 || op >= GGML_GLU_OP_COUNT || a == NULL || !op_is_float(a->type) || !op_is_float(node->type)) {
        return false;
    }
    return (b != NULL ? a->ne[0] : a->ne[0] / 2) == node->ne[0] && a->ne[1] == node->ne[1] && a->ne[2] == node->ne[2] && a->ne[3] == node->ne[3] &&
           (b == NULL || (op_is_float(b->type) && ggml_are_same_shape(a, b)));
}

static void glu(const void * context, int64_t n, float * y, const float * const * x) {
    const struct ggml_tensor * node = context;
    cpu_kernels.vec.glu[op_i32(node, 0)](n, y, x[0], x[1], op_f32(node, 2), op_f32(node, 3));
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    struct ggml_tensor         gate, up;
    const struct ggml_tensor * src[2] = {&gate, &up};
    struct op_walk             walk;
    operands(nodes[0], &gate, &up);
    if (!op_walk_init(&walk, nodes[0], 2, src)) {
        return graft_fail(GGML_STATUS_FAILED, "GLU: the sources of '%s' do not have its shape", nodes[0]->name);
    }
    op_walk_run(&walk, task, glu, nodes[0]);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(glu, GLU, .supports = supports, .prepare = op_prepare_heavy, .task = run);
