/* SPDX-License-Identifier: MIT
 *
 * Functions of single elements that are operators of their own: SQR, SQRT, LOG, SIN, COS, and CLAMP, LEAKY_RELU, SILU_BACK.
 * F32, F16 and BF16 of any strides, computed in F32. Bounds: family_vec.h.
 */
#include "op.h"

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    return op_can_run_elementwise(node, 1) && op_is_float(node->type) && op_is_float(node->src[0]->type) &&
           ggml_are_same_shape(node, node->src[0]);
}

static void map(const void * context, int64_t n, float * y, const float * const * x) {
    (*(const cpu_vec_map_fn *) context)(n, y, x[0]);
}

OP_TASK(run_map) {
    (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 1, task, map, user_data);
}

#define MAP(basename, constant, weight)                                                            \
    CPU_OP(basename, constant, .user_data = &cpu_kernels.vec.basename, .supports = supports,       \
           .prepare = op_prepare_##weight, .task = run_map, .may_overwrite = 1)

MAP(sqr, SQR, light);
MAP(sqrt, SQRT, light);
MAP(log, LOG, heavy);
MAP(sin, SIN, heavy);
MAP(cos, COS, heavy);

static void clamp(const void * context, int64_t n, float * y, const float * const * x) {
    const struct ggml_tensor * node = context;
    cpu_kernels.vec.clamp(n, y, x[0], op_f32(node, 0), op_f32(node, 1));
}

OP_TASK(run_clamp) {
    (void) user_data, (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 1, task, clamp, nodes[0]);
}

CPU_OP(clamp, CLAMP, .supports = supports, .prepare = op_prepare_light, .task = run_clamp, .may_overwrite = 1);

static void leaky_relu(const void * context, int64_t n, float * y, const float * const * x) {
    cpu_kernels.vec.leaky_relu(n, y, x[0], op_f32(context, 0));
}

OP_TASK(run_leaky_relu) {
    (void) user_data, (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 1, task, leaky_relu, nodes[0]);
}

CPU_OP(leaky_relu, LEAKY_RELU, .supports = supports, .prepare = op_prepare_light, .task = run_leaky_relu,
       .may_overwrite = 1);

static void silu_back(const void * context, int64_t n, float * y, const float * const * x) {
    (void) context;
    cpu_kernels.vec.silu_back(n, y, x[0], x[1]);
}

OP_SUPPORTS(supports_silu_back) {
    return supports(user_data, device, node) && op_can_run_elementwise(node, 2) && op_is_float(node->src[1]->type) &&
           ggml_are_same_shape(node, node->src[1]);
}

OP_TASK(run_silu_back) {
    (void) user_data, (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 2, task, silu_back, NULL);
}

CPU_OP(silu_back, SILU_BACK, .supports = supports_silu_back, .prepare = op_prepare_heavy, .task = run_silu_back,
       .may_overwrite = 3);
