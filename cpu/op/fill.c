/* SPDX-License-Identifier: MIT
 *
 * FILL, ARANGE, TIMESTEP_EMBEDDING: results made from parameters.
 */
#include "op.h"

OP_SUPPORTS(supports_fill) {
    (void) user_data, (void) device;
    return op_is_float(node->type);
}

static void fill(const void * context, int64_t n, float * y, const float * const * x) {
    (void) x;
    cpu_kernels.vec.fill(n, y, op_f32(context, 0));
}

OP_TASK(run_fill) {
    (void) user_data, (void) plan, (void) n;
    return op_run_elementwise(nodes[0], 0, task, fill, nodes[0]);
}

CPU_OP(fill, FILL, .supports = supports_fill, .prepare = op_prepare_light, .task = run_fill, .may_overwrite = 1);

/* ---- ARANGE: start + i*step in F32 ---- */

OP_SUPPORTS(supports_arange) {
    (void) user_data, (void) device;
    return op_is(node, GGML_TYPE_F32) && ggml_is_contiguous(node);
}

OP_TASK(run_arange) {
    (void) user_data, (void) plan, (void) n;
    const float           start = op_f32(nodes[0], 0), step = op_f32(nodes[0], 2);
    float *               y     = nodes[0]->data;
    const struct op_range share = op_share(task, ggml_nelements(nodes[0]));
    for (int64_t i = share.begin; i < share.end; i++) {
        y[i] = start + step * (float) i;
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(arange, ARANGE, .supports = supports_arange, .prepare = op_prepare_light, .task = run_arange);

/* ---- TIMESTEP_EMBEDDING (Ho et al. 2020): cosines, then sines of t*max_period^(-j/half), then a 0 if dim is odd ---- */

OP_SUPPORTS(supports_timestep) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a   = node->src[0];
    const int32_t              dim = op_i32(node, 0);
    return op_is_f32_dense(node) && a != NULL && op_is_float(a->type) && dim >= 0 && node->ne[0] >= dim &&
           node->ne[1] == a->ne[0] && node->ne[2] == 1 && node->ne[3] == 1;
}

OP_PREPARE(prepare_timestep) {
    need->worker_size = op_scratch_bytes(2, nodes[0]->ne[0]); /* angles in F64 */
    return op_prepare_heavy(user_data, backend, nodes, n, plan, need);
}

OP_TASK(run_timestep) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node   = nodes[0];
    const struct ggml_tensor * a      = node->src[0];
    const int64_t              half   = op_i32(node, 0) / 2;
    const double               period = log((double) op_i32(node, 1));
    double *                   angle  = task->worker_memory;
    const struct op_range      share  = op_share(task, node->ne[1]);
    for (int64_t i = share.begin; i < share.end; i++) {
        float        scratch;
        const float  t = *op_load(a->type, (const char *) a->data + (size_t) i * a->nb[0], ggml_type_size(a->type), 1, &scratch);
        float *      y = op_row(node, i, 0, 0);
        for (int64_t j = 0; j < half; j++) {
            angle[j] = (double) t * exp(-period * (double) j / (double) half);
        }
        cpu_kernels.vec.sin_cos(half, y + half, y, angle, 1.0f);
        cpu_kernels.vec.fill(node->ne[0] - 2 * half, y + 2 * half, 0.0f);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(timestep_embedding, TIMESTEP_EMBEDDING, .supports = supports_timestep, .prepare = prepare_timestep,
       .task = run_timestep);
