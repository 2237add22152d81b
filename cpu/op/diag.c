/* SPDX-License-Identifier: MIT
 *
 * DIAG, DIAG_MASK_INF, DIAG_MASK_ZERO, TRI: rows of which a part is replaced. F32, F16 and BF16 of any strides.
 */
#include "op.h"

OP_PREPARE(prepare) {
    need->worker_size = op_scratch_bytes(2, nodes[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

/* y from x for row i1: the rule of an operator. */
typedef void (*row_rule)(const struct ggml_tensor * node, int64_t i1, int64_t n, float * y, const float * x);

static void run_rule(const struct ggml_tensor * node, const struct ggml_ext_task * task, row_rule rule) {
    const int64_t ne0 = node->ne[0];
    if (op_is_empty(node)) {
        return;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i    = op_row_index(node, r);
        const struct op_index from = {node->src[0]->ne[1] == 1 ? 0 : i.i1, i.i2, i.i3};
        const float *         x    = op_load_row(node->src[0], from, op_scratch(task, 0, ne0));
        float *               y    = op_target_row(node, i, op_scratch(task, 1, ne0));
        rule(node, i.i1, ne0, y, x);
        op_store_row(node, i, y);
    }
}

static bool is_float_like(const struct ggml_tensor * node) {
    return op_is_float(node->type) && node->src[0] != NULL && op_is_float(node->src[0]->type);
}

/* Keeps [begin, end) and puts value elsewhere. */
static void keep(int64_t n, float * y, const float * x, int64_t begin, int64_t end, float value) {
    begin = MIN(MAX(begin, 0), n);
    end   = MIN(MAX(end, begin), n);
    if (y != x) {
        memcpy(y + begin, x + begin, (size_t) (end - begin) * sizeof(float));
    }
    cpu_kernels.vec.fill(begin, y, value);
    cpu_kernels.vec.fill(n - end, y + end, value);
}

/* ---- DIAG ---- */

OP_SUPPORTS(supports_diag) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    return is_float_like(node) && a->ne[1] == 1 && node->ne[0] == a->ne[0] && node->ne[1] == a->ne[0] &&
           node->ne[2] == a->ne[2] && node->ne[3] == a->ne[3];
}

static void diag_row(const struct ggml_tensor * node, int64_t i1, int64_t n, float * y, const float * x) {
    (void) node;
    keep(n, y, x, i1, i1 + 1, 0.0f);
}

OP_TASK(run_diag) {
    (void) user_data, (void) plan, (void) n;
    run_rule(nodes[0], task, diag_row);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(diag, DIAG, .supports = supports_diag, .prepare = prepare, .task = run_diag);

/* ---- DIAG_MASK: elements beyond n_past + i1 ---- */

OP_SUPPORTS(supports_mask) {
    (void) user_data, (void) device;
    return is_float_like(node) && ggml_are_same_shape(node, node->src[0]) && op_i32(node, 0) >= 0;
}

static void mask_inf_row(const struct ggml_tensor * node, int64_t i1, int64_t n, float * y, const float * x) {
    keep(n, y, x, 0, op_i32(node, 0) + i1 + 1, -INFINITY);
}

static void mask_zero_row(const struct ggml_tensor * node, int64_t i1, int64_t n, float * y, const float * x) {
    keep(n, y, x, 0, op_i32(node, 0) + i1 + 1, 0.0f);
}

OP_TASK(run_mask_inf) {
    (void) user_data, (void) plan, (void) n;
    run_rule(nodes[0], task, mask_inf_row);
    return GGML_STATUS_SUCCESS;
}

OP_TASK(run_mask_zero) {
    (void) user_data, (void) plan, (void) n;
    run_rule(nodes[0], task, mask_zero_row);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(diag_mask_inf, DIAG_MASK_INF, .supports = supports_mask, .prepare = prepare, .task = run_mask_inf, .may_overwrite = 1);
CPU_OP(diag_mask_zero, DIAG_MASK_ZERO, .supports = supports_mask, .prepare = prepare, .task = run_mask_zero,
       .may_overwrite = 1);

/* ---- TRI ---- */

OP_SUPPORTS(supports_tri) {
    (void) user_data, (void) device;
    const int32_t type = op_i32(node, 0);
    return is_float_like(node) && ggml_are_same_shape(node, node->src[0]) && type >= GGML_TRI_TYPE_UPPER_DIAG &&
           type <= GGML_TRI_TYPE_LOWER;
}

static void tri_row(const struct ggml_tensor * node, int64_t i1, int64_t n, float * y, const float * x) {
    static const struct {
        int  shift; /* the border, from the diagonal */
        bool upper;
    } types[] = {
        [GGML_TRI_TYPE_UPPER_DIAG] = {0, true},
        [GGML_TRI_TYPE_UPPER]      = {1, true},
        [GGML_TRI_TYPE_LOWER_DIAG] = {1, false},
        [GGML_TRI_TYPE_LOWER]      = {0, false},
    };
    const int32_t type   = op_i32(node, 0);
    const int64_t border = i1 + types[type].shift;
    keep(n, y, x, types[type].upper ? border : 0, types[type].upper ? n : border, 0.0f);
}

OP_TASK(run_tri) {
    (void) user_data, (void) plan, (void) n;
    run_rule(nodes[0], task, tri_row);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(tri, TRI, .supports = supports_tri, .prepare = prepare, .task = run_tri, .may_overwrite = 1);
