/* SPDX-License-Identifier: MIT
 *
 * SOLVE_TRI: A X = B for a lower triangular A, by forward substitution, F32. A zero on the diagonal gives what the division
 * gives. A worker solves for a stripe of columns of one matrix: rows of X in the stripe are vectors.
 */
#include "op.h"

#define STRIPE 64

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    return op_is_f32_dense(a) && op_is_f32_dense(b) && op_is_f32_dense(node) && ggml_are_same_shape(node, b) && a->ne[0] == a->ne[1] &&
           a->ne[1] == b->ne[1] && a->ne[2] == b->ne[2] && a->ne[3] == b->ne[3];
}

static void solve_stripe(const struct ggml_tensor * node, int64_t column, int64_t width, int64_t i2, int64_t i3) {
    const struct ggml_tensor *a = node->src[0], *b = node->src[1];
    for (int64_t i = 0; i < node->ne[1]; i++) {
        const float * row = op_row(a, i, i2, i3);
        float *       x   = (float *) op_row(node, i, i2, i3) + column;
        memmove(x, (const float *) op_row(b, i, i2, i3) + column, (size_t) width * sizeof(float));
        for (int64_t t = 0; t < i; t++) {
            cpu_kernels.vec.mad(width, x, (const float *) op_row(node, t, i2, i3) + column, -row[t]);
        }
        for (int64_t k = 0; k < width; k++) {
            x[k] /= row[i];
        }
    }
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node    = nodes[0];
    const int64_t              stripes = (node->ne[0] + STRIPE - 1) / STRIPE;
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, stripes * node->ne[2] * node->ne[3]);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t column = u % stripes * STRIPE, matrix = u / stripes;
        solve_stripe(node, column, MIN(STRIPE, node->ne[0] - column), matrix % node->ne[2], matrix / node->ne[2]);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(solve_tri, SOLVE_TRI, .supports = supports, .prepare = op_prepare_heavy, .task = run);
