/* SPDX-License-Identifier: MIT
 *
 * SUM, SUM_ROWS, MEAN, CUMSUM, ARGMAX, COUNT_EQUAL. F32, F16 and BF16 of any strides. Rows are summed in F32 lanes of 1024
 * values and F64 above, by one worker in a fixed order; relative error against the sum of magnitudes: 1e-6, and the
 * rounding to the result's type.
 */
#include "op.h"

static bool is_float_like(const struct ggml_tensor * node) {
    return op_is_float(node->type) && node->src[0] != NULL && op_is_float(node->src[0]->type);
}

OP_PREPARE(prepare_rows) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    need->worker_size = op_scratch_bytes(2, nodes[0]->src[0]->ne[0]);
    op_limit_workers(need, ggml_nelements(nodes[0]->src[0]), OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

static void store_number(const struct ggml_tensor * t, void * p, double value) {
    const float f = (float) value;
    op_store(t->type, p, ggml_type_size(t->type), 1, &f);
}

/* ---- SUM: all loops that memory has, so that the order follows the strides of the source ---- */

#define CHUNK CPU_VEC_BLOCK

OP_SUPPORTS(supports_sum) {
    (void) user_data, (void) device;
    return is_float_like(node) && ggml_is_scalar(node);
}

OP_TASK(run_sum) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    double                     sum  = 0.0;
    struct op_walk             walk;
    struct op_cursor           cursor;
    float                      scratch[CHUNK];
    if (task->ith != 0) {
        return GGML_STATUS_SUCCESS;
    }
    op_walk_init(&walk, node->src[0], 0, NULL);
    const int64_t rows = op_is_empty(node->src[0]) ? 0 : op_walk_rows(&walk);
    op_walk_seek(&walk, 0, &cursor);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < walk.ne[0]; i += CHUNK) {
            const int64_t k = MIN(CHUNK, walk.ne[0] - i);
            sum += cpu_kernels.vec.sum(k, op_load_piece(&walk, &cursor, 0, i, k, scratch));
        }
        op_walk_step(&walk, &cursor);
    }
    store_number(node, node->data, sum);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(sum, SUM, .supports = supports_sum, .prepare = op_prepare_single, .task = run_sum);

/* ---- SUM_ROWS and MEAN ---- */

OP_SUPPORTS(supports_rows) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    return is_float_like(node) && node->ne[0] == 1 && node->ne[1] == a->ne[1] && node->ne[2] == a->ne[2] &&
           node->ne[3] == a->ne[3];
}

OP_TASK(run_rows) {
    (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const double          divisor = user_data != NULL ? (double) a->ne[0] : 1.0;
    const struct op_range share   = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        const float *         x = a->ne[0] > 0 ? op_load_row(a, i, op_scratch(task, 0, a->ne[0])) : NULL;
        store_number(node, op_row_of(node, i), cpu_kernels.vec.sum(a->ne[0], x) / divisor);
    }
    return GGML_STATUS_SUCCESS;
}

static const char mean_mark[] = "mean";

CPU_OP(sum_rows, SUM_ROWS, .supports = supports_rows, .prepare = prepare_rows, .task = run_rows);
CPU_OP(mean, MEAN, .user_data = (void *) mean_mark, .supports = supports_rows, .prepare = prepare_rows, .task = run_rows);

/* ---- CUMSUM: running sums in F64, each rounded once ---- */

OP_SUPPORTS(supports_cumsum) {
    (void) user_data, (void) device;
    return is_float_like(node) && ggml_are_same_shape(node, node->src[0]);
}

OP_TASK(run_cumsum) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i   = op_row_index(node, r);
        const float *         x   = op_load_row(node->src[0], i, op_scratch(task, 0, ne0));
        float *               y   = op_target_row(node, i, op_scratch(task, 1, ne0));
        double                sum = 0.0;
        for (int64_t k = 0; k < ne0; k++) {
            sum += (double) x[k];
            y[k] = (float) sum;
        }
        op_store_row(node, i, y);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(cumsum, CUMSUM, .supports = supports_cumsum, .prepare = prepare_rows, .task = run_cumsum, .may_overwrite = 1);

/* ---- ARGMAX: of equal greatest values the last; NaN is passed over, a row of nothing else gives 0 ---- */

OP_SUPPORTS(supports_argmax) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    return op_is(node, GGML_TYPE_I32) && a != NULL && op_is_float(a->type) && a->ne[2] == 1 && a->ne[3] == 1 &&
           node->ne[0] == a->ne[1] && ggml_nelements(node) == a->ne[1];
}

OP_TASK(run_argmax) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, a->ne[1]);
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i     = {r, 0, 0};
        const float *         x     = a->ne[0] > 0 ? op_load_row(a, i, op_scratch(task, 0, a->ne[0])) : NULL;
        const float           max   = cpu_kernels.vec.max(a->ne[0], x);
        int64_t               found = a->ne[0] - 1;
        while (found > 0 && x[found] != max) {
            found--;
        }
        const int32_t index = (int32_t) MAX(found, 0);
        memcpy((char *) node->data + (size_t) r * node->nb[0], &index, sizeof(index));
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(argmax, ARGMAX, .supports = supports_argmax, .prepare = prepare_rows, .task = run_argmax);

/* ---- COUNT_EQUAL ---- */

OP_SUPPORTS(supports_count) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    return op_is(node, GGML_TYPE_I64) && ggml_is_scalar(node) && op_is(a, GGML_TYPE_I32) && op_is(b, GGML_TYPE_I32) &&
           ggml_are_same_shape(a, b);
}

OP_TASK(run_count) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * a     = nodes[0]->src[0];
    const struct ggml_tensor * b     = nodes[0]->src[1];
    const int64_t              rows  = op_is_empty(a) ? 0 : ggml_nrows(a);
    int64_t                    count = 0;
    if (task->ith != 0) {
        return GGML_STATUS_SUCCESS;
    }
    for (int64_t r = 0; r < rows; r++) {
        const struct op_index i = op_row_index(a, r);
        const char *          p = op_row_of(a, i);
        const char *          q = op_row_of(b, i);
        for (int64_t k = 0; k < a->ne[0]; k++) {
            count += memcmp(p + (size_t) k * a->nb[0], q + (size_t) k * b->nb[0], sizeof(int32_t)) == 0;
        }
    }
    memcpy(nodes[0]->data, &count, sizeof(count));
    return GGML_STATUS_SUCCESS;
}

CPU_OP(count_equal, COUNT_EQUAL, .supports = supports_count, .prepare = op_prepare_single, .task = run_count);
