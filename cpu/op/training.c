/* SPDX-License-Identifier: MIT
 *
 * CROSS_ENTROPY_LOSS and its gradient, OPT_STEP_ADAMW (Loshchilov and Hutter 2019), OPT_STEP_SGD. F32.
 */
#include "op.h"

/* ---- loss: -mean over rows of sum(label*log softmax(logit)) ---- */

static bool rows_fit(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return op_is_f32_dense(a) && op_is_f32_dense(b) && ggml_are_same_shape(a, b);
}

OP_SUPPORTS(supports_loss) {
    (void) user_data, (void) device;
    return op_is(node, GGML_TYPE_F32) && ggml_is_scalar(node) && rows_fit(node->src[0], node->src[1]);
}

/* A sum for each row, which the first worker adds up in order. */
OP_PREPARE(prepare_loss) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    const struct ggml_tensor * a = nodes[0]->src[0];
    need->worker_size            = op_scratch_bytes(2, a->ne[0]);
    need->workspace_size         = (size_t) ggml_nrows(a) * sizeof(double);
    op_limit_workers(need, ggml_nelements(a), OP_GRAIN_HEAVY);
    return GGML_STATUS_SUCCESS;
}

/* log softmax(x) = x - max - log(sum of exp(x - max)) */
static double row_loss(int64_t n, const float * x, const float * labels, float * shifted, float * powers) {
    const float  max = cpu_kernels.vec.max(n, x);
    const double sum = cpu_kernels.vec.exp_sum(n, powers, x, max);
    cpu_kernels.vec.scale(n, shifted, x, 1.0f, -(max + (float) log(sum)));
    return cpu_kernels.vec.dot(n, shifted, labels);
}

OP_TASK(run_loss) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node  = nodes[0];
    const struct ggml_tensor * a     = node->src[0];
    const int64_t              rows  = op_is_empty(a) ? 0 : ggml_nrows(a);
    double *                   sums  = task->workspace;
    const struct op_range      share = op_share(task, rows);
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(a, r);
        sums[r] = row_loss(a->ne[0], op_row_of(a, i), op_row_of(node->src[1], i), op_scratch(task, 0, a->ne[0]), op_scratch(task, 1, a->ne[0]));
    }
    task->barrier(task);
    if (task->ith == 0) {
        double total = 0.0;
        for (int64_t r = 0; r < rows; r++) {
            total += sums[r];
        }
        *(float *) node->data = rows > 0 ? (float) (-total / (double) rows) : 0.0f;
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(cross_entropy_loss, CROSS_ENTROPY_LOSS, .supports = supports_loss, .prepare = prepare_loss, .task = run_loss);

/* ---- gradient: (softmax(logit) - label)*dy/rows ---- */

OP_SUPPORTS(supports_loss_back) {
    (void) user_data, (void) device;
    return op_is(node->src[0], GGML_TYPE_F32) && ggml_is_scalar(node->src[0]) && rows_fit(node->src[1], node->src[2]) &&
           op_is_f32_dense(node) && ggml_are_same_shape(node, node->src[1]);
}

OP_TASK(run_loss_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const int64_t         rows   = ggml_nrows(node);
    const float           factor = *(const float *) node->src[0]->data / (float) rows;
    const struct op_range share  = op_share(task, rows);
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i   = op_row_index(node, r);
        const float *         x   = op_row_of(node->src[1], i);
        float *               y   = op_row_of(node, i);
        const double          sum = cpu_kernels.vec.exp_sum(ne0, y, x, cpu_kernels.vec.max(ne0, x));
        cpu_kernels.vec.scale(ne0, y, y, (float) (1.0 / sum), 0.0f);
        cpu_kernels.vec.sub(ne0, y, y, op_row_of(node->src[2], i));
        cpu_kernels.vec.scale(ne0, y, y, factor, 0.0f);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(cross_entropy_loss_back, CROSS_ENTROPY_LOSS_BACK, .supports = supports_loss_back, .prepare = op_prepare_heavy,
       .task = run_loss_back);

/* ---- optimizer steps: the weights, a view of source 0, change in place ---- */

static bool same_f32(const struct ggml_tensor * node, int n_src) {
    for (int k = 0; k < n_src; k++) {
        if (!op_is_f32_dense(node->src[k]) || !ggml_are_same_shape(node, node->src[k])) {
            return false;
        }
    }
    return op_is_f32_dense(node);
}

static bool parameters_fit(const struct ggml_tensor * p, int64_t n) {
    return op_is_f32_dense(p) && ggml_nelements(p) == n && ggml_is_contiguous(p);
}

OP_SUPPORTS(supports_adamw) {
    (void) user_data, (void) device;
    return same_f32(node, 4) && parameters_fit(node->src[4], 7);
}

/* m = m*b1 + g*(1 - b1), v = v*b2 + g^2*(1 - b2), w = w*(1 - alpha*wd) - alpha*(m*b1h)/(sqrt(v*b2h) + eps) */
static void adamw_row(int64_t n, float * w, const float * g, float * m, float * v, const float * p) {
    const float alpha = p[0], beta1 = p[1], beta2 = p[2], eps = p[3], keep = 1.0f - alpha * p[4], beta1h = p[5], beta2h = p[6];
    for (int64_t i = 0; i < n; i++) {
        m[i] = m[i] * beta1 + g[i] * (1.0f - beta1);
        v[i] = v[i] * beta2 + g[i] * g[i] * (1.0f - beta2);
        w[i] = w[i] * keep - alpha * (m[i] * beta1h) / (sqrtf(v[i] * beta2h) + eps);
    }
}

OP_TASK(run_adamw) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        adamw_row(node->ne[0], op_row_of(node, i), op_row_of(node->src[1], i), op_row_of(node->src[2], i), op_row_of(node->src[3], i),
                  node->src[4]->data);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(opt_step_adamw, OPT_STEP_ADAMW, .supports = supports_adamw, .prepare = op_prepare_light, .task = run_adamw);

OP_SUPPORTS(supports_sgd) {
    (void) user_data, (void) device;
    return same_f32(node, 2) && parameters_fit(node->src[2], 2);
}

/* w = w*(1 - alpha*wd) - alpha*g */
OP_TASK(run_sgd) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const float *         p     = node->src[2]->data;
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        float *               w = op_row_of(node, i);
        cpu_kernels.vec.scale(node->ne[0], w, w, 1.0f - p[0] * p[1], 0.0f);
        cpu_kernels.vec.mad(node->ne[0], w, op_row_of(node->src[1], i), -p[0]);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(opt_step_sgd, OPT_STEP_SGD, .supports = supports_sgd, .prepare = op_prepare_light, .task = run_sgd);
