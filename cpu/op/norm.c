/* SPDX-License-Identifier: MIT
 *
 * NORM, RMS_NORM, L2_NORM over rows, RMS_NORM_BACK, and GROUP_NORM over groups of channels. F32, F16 and BF16 of any strides.
 * Sums in F32 lanes of 1024 values and F64 above. Relative error against the exact value: 2e-6 (NORM: of the row's
 * greatest magnitude, for the mean is taken off first).
 *
 *   NORM      (x - mean)/sqrt(variance + eps)        RMS_NORM   x/sqrt(mean(x^2) + eps)
 *   L2_NORM   x/max(|x|, eps)                        GROUP_NORM NORM over ne0*ne1*(channels of a group)
 */
#include "op.h"

typedef void (*norm_fn)(int64_t n, float * y, const float * x, float eps);

static void norm_row(int64_t n, float * y, const float * x, float eps) {
    const float mean     = (float) (cpu_kernels.vec.sum(n, x) / (double) n);
    const float variance = (float) (cpu_kernels.vec.sum_squares(n, x, mean) / (double) n);
    cpu_kernels.vec.scale(n, y, x, 1.0f, -mean);
    cpu_kernels.vec.scale(n, y, y, 1.0f / sqrtf(variance + eps), 0.0f);
}

static void rms_norm_row(int64_t n, float * y, const float * x, float eps) {
    const float mean = (float) (cpu_kernels.vec.sum_squares(n, x, 0.0f) / (double) n);
    cpu_kernels.vec.scale(n, y, x, 1.0f / sqrtf(mean + eps), 0.0f);
}

static void l2_norm_row(int64_t n, float * y, const float * x, float eps) {
    const float length = (float) sqrt(cpu_kernels.vec.sum_squares(n, x, 0.0f));
    cpu_kernels.vec.scale(n, y, x, 1.0f / fmaxf(length, eps), 0.0f);
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    return op_is_float(node->type) && node->src[0] != NULL && op_is_float(node->src[0]->type) &&
           ggml_are_same_shape(node, node->src[0]);
}

OP_PREPARE(prepare) {
    need->worker_size = op_scratch_bytes(2, nodes[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

OP_TASK(run_rows) {
    (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const norm_fn         fn    = *(const norm_fn *) user_data;
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        const float *         x = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
        float *               y = op_target_row(node, i, op_scratch(task, 1, ne0));
        fn(ne0, y, x, op_f32(node, 0));
        op_store_row(node, i, y);
    }
    return GGML_STATUS_SUCCESS;
}

static const norm_fn row_norm = norm_row, row_rms_norm = rms_norm_row, row_l2_norm = l2_norm_row;

#define ROW_NORM(basename, constant)                                                                              \
    CPU_OP(basename, constant, .user_data = (void *) &row_##basename, .supports = supports, .prepare = prepare,   \
           .task = run_rows, .may_overwrite = 1)

ROW_NORM(norm, NORM);
ROW_NORM(rms_norm, RMS_NORM);
ROW_NORM(l2_norm, L2_NORM);

/* ---- RMS_NORM_BACK: dx = (dy - x*sum(x*dy)/(sum(x^2) + n*eps))/sqrt(mean(x^2) + eps) ---- */

OP_SUPPORTS(supports_back) {
    return supports(user_data, device, node) && node->src[1] != NULL && op_is_float(node->src[1]->type) &&
           ggml_are_same_shape(node, node->src[1]);
}

OP_PREPARE(prepare_back) {
    need->worker_size = op_scratch_bytes(4, nodes[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

OP_TASK(run_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const double          eps   = (double) op_f32(node, 0);
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i       = op_row_index(node, r);
        const float *         dy      = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
        const float *         x       = op_load_row(node->src[1], i, op_scratch(task, 1, ne0));
        float *               dx      = op_target_row(node, i, op_scratch(task, 2, ne0));
        float *               along   = op_scratch(task, 3, ne0); /* the part of dy along x */
        const double          squares = cpu_kernels.vec.sum_squares(ne0, x, 0.0f);
        const double          factor  = -cpu_kernels.vec.dot(ne0, x, dy) / (squares + eps * (double) ne0);
        const float           inverse = (float) (1.0 / sqrt(squares / (double) ne0 + eps));
        cpu_kernels.vec.scale(ne0, along, x, (float) factor, 0.0f);
        cpu_kernels.vec.add(ne0, dx, dy, along);
        cpu_kernels.vec.scale(ne0, dx, dx, inverse, 0.0f);
        op_store_row(node, i, dx);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(rms_norm_back, RMS_NORM_BACK, .supports = supports_back, .prepare = prepare_back, .task = run_back,
       .may_overwrite = 3);

/* ---- GROUP_NORM ---- */

OP_SUPPORTS(supports_group) {
    return supports(user_data, device, node) && op_i32(node, 0) > 0;
}

/* Channels [begin, end) of one image. */
static void normalize_group(const struct ggml_tensor * node, const struct ggml_ext_task * task, int64_t begin, int64_t end,
                            int64_t i3) {
    const int64_t ne0 = node->ne[0], ne1 = node->ne[1];
    const double  count = (double) ne0 * (double) ne1 * (double) (end - begin);
    double        sum = 0.0, squares = 0.0;
    for (int pass = 0; pass < 3; pass++) {
        const float mean    = (float) (sum / count);
        const float inverse = 1.0f / sqrtf((float) (squares / count) + op_f32(node, 1));
        for (int64_t r = begin * ne1; r < end * ne1; r++) {
            const struct op_index i = {r % ne1, r / ne1, i3};
            const float *         x = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
            if (pass == 0) {
                sum += cpu_kernels.vec.sum(ne0, x);
            } else if (pass == 1) {
                squares += cpu_kernels.vec.sum_squares(ne0, x, mean);
            } else {
                float * y = op_target_row(node, i, op_scratch(task, 1, ne0));
                cpu_kernels.vec.scale(ne0, y, x, 1.0f, -mean);
                cpu_kernels.vec.scale(ne0, y, y, inverse, 0.0f);
                op_store_row(node, i, y);
            }
        }
    }
}

OP_TASK(run_group) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const int64_t         channels = node->ne[2];
    const int64_t         groups   = op_i32(node, 0);
    const int64_t         each     = (channels + groups - 1) / groups; /* the last groups may be short or empty */
    const struct op_range share    = op_share(task, groups * node->ne[3]);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t begin = u % groups * each;
        const int64_t end   = MIN(begin + each, channels);
        if (begin < end) {
            normalize_group(node, task, begin, end, u / groups);
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(group_norm, GROUP_NORM, .supports = supports_group, .prepare = prepare, .task = run_group, .may_overwrite = 1);
