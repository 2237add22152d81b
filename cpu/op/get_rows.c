/* SPDX-License-Identifier: MIT
 *
 * GET_ROWS, GET_ROWS_BACK, SET_ROWS, ADD_ID: rows named by an index tensor. Every index is compared with the number of rows
 * first; one that is outside fails the computation with a text, before anything of that row is touched.
 */
#include "op.h"

static int64_t read_index(const struct ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2) {
    const char * p = (const char *) t->data + i0 * (int64_t) t->nb[0] + i1 * (int64_t) t->nb[1] + i2 * (int64_t) t->nb[2];
    if (t->type == GGML_TYPE_I64) {
        int64_t v;
        memcpy(&v, p, sizeof(v));
        return v;
    }
    int32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static enum ggml_status bad_index(const struct ggml_tensor * node, const struct ggml_tensor * ids, int64_t value, int64_t rows) {
    return graft_fail(GGML_STATUS_FAILED, "%s '%s': index %lld in '%s' is outside of the %lld rows", ggml_op_name(node->op),
                      node->name, (long long) value, ids->name, (long long) rows);
}

static bool is_inside(int64_t index, int64_t rows) {
    return index >= 0 && index < rows;
}

/* ---- GET_ROWS: result row (i, j, k) is row ids(i, j, k) of a(.., j, k) ---- */

OP_SUPPORTS(supports_get) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a   = node->src[0];
    const struct ggml_tensor * ids = node->src[1];
    if (a == NULL || !op_is(ids, GGML_TYPE_I32)) {
        return false;
    }
    const bool types = a->type == GGML_TYPE_I32 ? node->type == GGML_TYPE_I32 && op_row_dense(a) && op_row_dense(node) :
                                                  op_can_load(a) && op_is_float(node->type);
    return types && node->ne[0] == a->ne[0] && node->ne[1] == ids->ne[0] && node->ne[2] == ids->ne[1] &&
           node->ne[3] == ids->ne[2] && a->ne[2] == ids->ne[1] && a->ne[3] == ids->ne[2] && ids->ne[3] == 1;
}

OP_PREPARE(prepare_rows) {
    need->worker_size = op_scratch_bytes(2, nodes[0]->src[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

OP_TASK(run_get) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    const struct ggml_tensor * ids  = node->src[1];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const int64_t         ne0   = node->ne[0];
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i     = op_row_index(node, r);
        const int64_t         index = read_index(ids, i.i1, i.i2, i.i3);
        if (!is_inside(index, a->ne[1])) {
            return bad_index(node, ids, index, a->ne[1]);
        }
        const void * from = op_row(a, index, i.i2, i.i3);
        if (a->type == GGML_TYPE_I32) {
            memcpy(op_row_of(node, i), from, (size_t) ne0 * sizeof(int32_t));
            continue;
        }
        float *       y = op_target_row(node, i, op_scratch(task, 1, ne0));
        const float * x = op_load(a->type, from, a->nb[0], ne0, y); /* formats decode into the result */
        op_store_row(node, i, x);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(get_rows, GET_ROWS, .supports = supports_get, .prepare = prepare_rows, .task = run_get);

/* ---- GET_ROWS_BACK: the sum of the rows of dy that went to each row ---- */

OP_SUPPORTS(supports_back) {
    (void) user_data, (void) device;
    const struct ggml_tensor * dy  = node->src[0];
    const struct ggml_tensor * ids = node->src[1];
    return op_can_load(dy) && op_is(ids, GGML_TYPE_I32) && op_is_f32_dense(node) && node->ne[0] == dy->ne[0] &&
           ggml_nrows(dy) >= ggml_nelements(ids) && ggml_is_contiguous(ids) && dy->ne[2] == 1 && dy->ne[3] == 1 &&
           node->ne[2] == 1 && node->ne[3] == 1;
}

OP_TASK(run_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * dy   = node->src[0];
    const struct ggml_tensor * ids  = node->src[1];
    const int64_t              ne0  = node->ne[0];
    if (task->ith != 0 || op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const int32_t * id = ids->data;
    const int64_t   n_ids = ggml_nelements(ids);
    for (int64_t r = 0; r < n_ids; r++) {
        if (!is_inside(id[r], node->ne[1])) {
            return bad_index(node, ids, id[r], node->ne[1]);
        }
    }
    for (int64_t r = 0; r < node->ne[1]; r++) {
        cpu_kernels.vec.fill(ne0, op_row(node, r, 0, 0), 0.0f);
    }
    for (int64_t r = 0; r < n_ids; r++) {
        float * y = op_row(node, id[r], 0, 0);
        cpu_kernels.vec.add(ne0, y, y, op_load(dy->type, op_row(dy, r, 0, 0), dy->nb[0], ne0, op_scratch(task, 0, ne0)));
    }
    return GGML_STATUS_SUCCESS;
}

OP_PREPARE(prepare_single) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    need->worker_size = op_scratch_bytes(1, nodes[0]->ne[0]);
    need->max_workers = 1;
    return GGML_STATUS_SUCCESS;
}

CPU_OP(get_rows_back, GET_ROWS_BACK, .supports = supports_back, .prepare = prepare_single, .task = run_back);

/* ---- SET_ROWS: row (i, j, k) of b goes to row ids(i, j, k) of the result, a view of a ---- */

OP_SUPPORTS(supports_set) {
    (void) user_data, (void) device;
    const struct ggml_tensor * b   = node->src[0];
    const struct ggml_tensor * ids = node->src[1];
    if (b == NULL || ids == NULL || (ids->type != GGML_TYPE_I32 && ids->type != GGML_TYPE_I64)) {
        return false;
    }
    const bool types = (op_is_float(b->type) && op_can_store(node)) ||
                       (b->type == GGML_TYPE_I32 && node->type == GGML_TYPE_I32 && op_row_dense(b) && op_row_dense(node));
    return types && b->ne[0] == node->ne[0] && b->ne[2] == node->ne[2] && b->ne[3] == node->ne[3] &&
           ids->ne[0] == b->ne[1] && ids->ne[1] > 0 && ids->ne[2] > 0 && b->ne[2] % ids->ne[1] == 0 &&
           b->ne[3] % ids->ne[2] == 0 && ids->ne[3] == 1;
}

static void set_row(const struct ggml_tensor * node, const struct ggml_ext_task * task, const void * from, void * to) {
    const struct ggml_tensor * b   = node->src[0];
    const int64_t              ne0 = node->ne[0];
    if (b->type == node->type && op_row_dense(b) && op_row_dense(node)) {
        memcpy(to, from, (size_t) ne0 * ggml_type_size(node->type));
    } else if (ne0 == 1 && b->type == GGML_TYPE_F32 && node->type == GGML_TYPE_F16) { /* transposed V caches */
        *(ggml_fp16_t *) to = ggml_compute_fp32_to_fp16(*(const float *) from);
    } else {
        op_store(node->type, to, node->nb[0], ne0, op_load(b->type, from, b->nb[0], ne0, op_scratch(task, 0, ne0)));
    }
}

/* Each worker takes the destination rows of its residue class, so that of two rows with one destination the later wins,
 * whatever the number of workers. */
OP_TASK(run_set) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * b    = node->src[0];
    const struct ggml_tensor * ids  = node->src[1];
    if (op_is_empty(b)) {
        return GGML_STATUS_SUCCESS;
    }
    for (int64_t i3 = 0; i3 < b->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < b->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < b->ne[1]; i1++) {
                const int64_t index = read_index(ids, i1, i2 % ids->ne[1], i3 % ids->ne[2]);
                if (!is_inside(index, node->ne[1])) {
                    return bad_index(node, ids, index, node->ne[1]);
                }
                if (index % task->nth == task->ith) {
                    set_row(node, task, op_row(b, i1, i2, i3), op_row(node, index, i2, i3));
                }
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

OP_PREPARE(prepare_set) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    need->worker_size = op_scratch_bytes(1, nodes[0]->ne[0]);
    op_limit_workers(need, ggml_nelements(nodes[0]->src[0]), OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(set_rows, SET_ROWS, .supports = supports_set, .prepare = prepare_set, .task = run_set);

/* ---- ADD_ID: row (i, j, k) of a plus row ids(i, j) of b ---- */

OP_SUPPORTS(supports_add_id) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a   = node->src[0];
    const struct ggml_tensor * b   = node->src[1];
    const struct ggml_tensor * ids = node->src[2];
    return a != NULL && b != NULL && op_is(ids, GGML_TYPE_I32) && op_is_float(a->type) && op_is_float(b->type) &&
           op_is_float(node->type) && ggml_are_same_shape(node, a) && a->ne[0] == b->ne[0] && a->ne[1] == ids->ne[0] &&
           a->ne[2] == ids->ne[1];
}

OP_TASK(run_add_id) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * b    = node->src[1];
    const struct ggml_tensor * ids  = node->src[2];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i     = op_row_index(node, r);
        const int64_t         index = read_index(ids, i.i1, i.i2, 0);
        if (!is_inside(index, b->ne[1])) {
            return bad_index(node, ids, index, b->ne[1]);
        }
        const float * x = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
        const float * z = op_load(b->type, op_row(b, index, 0, 0), b->nb[0], ne0, op_scratch(task, 1, ne0));
        float *       y = op_target_row(node, i, op_scratch(task, 0, ne0));
        cpu_kernels.vec.add(ne0, y, x, z);
        op_store_row(node, i, y);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(add_id, ADD_ID, .supports = supports_add_id, .prepare = prepare_rows, .task = run_add_id, .may_overwrite = 1);
