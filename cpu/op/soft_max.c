/* SPDX-License-Identifier: MIT
 *
 * SOFT_MAX over rows of x*scale + slope*mask, and SOFT_MAX_BACK. F32, F16 and BF16 of any strides, mask of any of them.
 *
 * slope is 1, or with max_bias > 0 that of ALiBi (Press, Smith, Lewis 2021): with H the greatest power of two up to the
 * number of heads, head h has 2^(-max_bias*(h + 1)/H), and heads from H on 2^(-max_bias*(2*(h - H) + 1)/(2*H)). A sink
 * is one more logit for each head, which takes its share of the sum and is not written.
 *
 * A row without any finite logit, such as one that is masked throughout, gives zeros; a NaN makes its row NaN. Absolute error
 * 1e-6.
 */
#include "op.h"

static float alibi_slope(const struct ggml_tensor * node, int64_t head) {
    const float max_bias = op_f32(node, 1);
    int64_t     base     = 1;
    if (max_bias <= 0.0f) {
        return 1.0f;
    }
    while (2 * base <= node->ne[2]) {
        base *= 2;
    }
    const double exponent = head < base ? (double) (head + 1) / (double) base :
                                          (double) (2 * (head - base) + 1) / (double) (2 * base);
    return (float) exp2(-(double) max_bias * exponent);
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a     = node->src[0];
    const struct ggml_tensor * mask  = node->src[1];
    const struct ggml_tensor * sinks = node->src[2];
    if (a == NULL || !op_is_float(a->type) || !op_is_float(node->type) || !ggml_are_same_shape(node, a)) {
        return false;
    }
    if (mask != NULL && (!op_is_float(mask->type) || mask->ne[0] != a->ne[0] || mask->ne[1] < a->ne[1] || mask->ne[2] < 1 ||
                         mask->ne[3] < 1 || a->ne[2] % mask->ne[2] != 0 || a->ne[3] % mask->ne[3] != 0)) {
        return false;
    }
    return sinks == NULL || (op_is_f32_dense(sinks) && sinks->ne[0] == a->ne[2]);
}

OP_PREPARE(prepare) {
    need->worker_size = op_scratch_bytes(3, nodes[0]->ne[0]);
    return op_prepare_heavy(user_data, backend, nodes, n, plan, need);
}

static bool has_nan(int64_t n, const float * x) {
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i])) {
            return true;
        }
    }
    return false;
}

/* y holds the logits, max the greatest of them. */
static void normalize(int64_t n, float * y, float max, const float * sink) {
    if (sink != NULL && *sink > max) {
        max = *sink;
    }
    if (max == -INFINITY) {
        cpu_kernels.vec.fill(n, y, has_nan(n, y) ? NAN : 0.0f);
        return;
    }
    double sum = cpu_kernels.vec.exp_sum(n, y, y, max);
    if (sink != NULL) {
        sum += exp((double) *sink - (double) max);
    }
    cpu_kernels.vec.scale(n, y, y, (float) (1.0 / sum), 0.0f);
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * mask = node->src[1];
    const struct ggml_tensor * sink = node->src[2];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    int64_t               head  = -1;
    float                 slope = 1.0f;
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        const float *         m = NULL;
        if (i.i2 != head) {
            head  = i.i2;
            slope = alibi_slope(node, head);
        }
        if (mask != NULL) {
            m = op_load(mask->type, op_row(mask, i.i1, i.i2 % mask->ne[2], i.i3 % mask->ne[3]), mask->nb[0], ne0,
                        op_scratch(task, 1, ne0));
        }
        const float * x   = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
        float *       y   = op_target_row(node, i, op_scratch(task, 2, ne0));
        const float   max = cpu_kernels.vec.scale_mask(ne0, y, x, op_f32(node, 0), m, slope);
        normalize(ne0, y, max, sink != NULL ? (const float *) sink->data + i.i2 : NULL);
        op_store_row(node, i, y);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(soft_max, SOFT_MAX, .supports = supports, .prepare = prepare, .task = run, .may_overwrite = 3);

/* ---- SOFT_MAX_BACK: dx = scale*y*(dy - sum(y*dy)) ---- */

OP_SUPPORTS(supports_back) {
    (void) user_data, (void) device;
    const struct ggml_tensor * dy = node->src[0];
    const struct ggml_tensor * y  = node->src[1];
    return dy != NULL && y != NULL && op_is_float(dy->type) && op_is_float(y->type) && op_is_float(node->type) &&
           ggml_are_same_shape(node, dy) && ggml_are_same_shape(node, y) && op_f32(node, 1) == 0.0f;
}

OP_TASK(run_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const float           scale = op_f32(node, 0);
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i   = op_row_index(node, r);
        const float *         dy  = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
        const float *         y   = op_load_row(node->src[1], i, op_scratch(task, 1, ne0));
        float *               dx  = op_target_row(node, i, op_scratch(task, 2, ne0));
        const float           dot = (float) cpu_kernels.vec.dot(ne0, y, dy);
        for (int64_t k = 0; k < ne0; k++) {
            dx[k] = scale * (y[k] * (dy[k] - dot));
        }
        op_store_row(node, i, dx);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(soft_max_back, SOFT_MAX_BACK, .supports = supports_back, .prepare = prepare, .task = run_back, .may_overwrite = 3);
