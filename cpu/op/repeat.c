/* SPDX-License-Identifier: MIT
 *
 * REPEAT (any type: bytes), REPEAT_BACK (sums of the repeats, F32 accumulation in a fixed order), CONCAT (any type).
 */
#include "op.h"

/* A tensor of blocks as one of units: element 0 of the first dimension counts blocks. */
static struct ggml_tensor in_units(const struct ggml_tensor * t) {
    struct ggml_tensor u = *t;
    u.ne[0]              = t->ne[0] / ggml_blck_size(t->type);
    u.type               = GGML_TYPE_I8; /* one unit an element; the size of a unit goes its own way */
    return u;
}

static void move_piece(const struct op_walk * walk, const struct op_cursor * cursor, int64_t begin, int64_t end,
                       const void * context) {
    const int64_t to = walk->nb[0][0], from = walk->nb[1][0];
    op_move(cursor->at[0] + begin * to, to, cursor->at[1] + begin * from, from, *(const size_t *) context, end - begin);
}

OP_SUPPORTS(supports_repeat) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    return a != NULL && a->type == node->type && a->ne[0] % ggml_blck_size(a->type) == 0 &&
           node->ne[0] % ggml_blck_size(a->type) == 0 && (op_is_empty(node) || ggml_can_repeat(a, node));
}

OP_TASK(run_repeat) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor   to = in_units(nodes[0]), from = in_units(nodes[0]->src[0]);
    const struct ggml_tensor * src[1] = {&from};
    const size_t               size   = ggml_type_size(nodes[0]->type);
    struct op_walk             walk;
    if (!op_is_empty(&to) && op_walk_init(&walk, &to, 1, src)) {
        op_walk_pieces(&walk, task, move_piece, &size);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(repeat, REPEAT, .supports = supports_repeat, .prepare = op_prepare_light, .task = run_repeat);

/* ---- REPEAT_BACK ---- */

OP_SUPPORTS(supports_back) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    return a != NULL && op_is_float(a->type) && op_is_float(node->type) && (op_is_empty(node) || ggml_can_repeat(node, a));
}

OP_PREPARE(prepare_back) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    need->worker_size = op_scratch_bytes(2, MAX(nodes[0]->ne[0], nodes[0]->src[0]->ne[0]));
    op_limit_workers(need, ggml_nelements(nodes[0]->src[0]), OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

/* Adds the rows of a that went to row i of the result. */
static void add_repeats(const struct ggml_tensor * node, struct op_index i, float * y, float * scratch) {
    const struct ggml_tensor * a   = node->src[0];
    const int64_t              ne0 = node->ne[0];
    for (int64_t i3 = i.i3; i3 < a->ne[3]; i3 += node->ne[3]) {
        for (int64_t i2 = i.i2; i2 < a->ne[2]; i2 += node->ne[2]) {
            for (int64_t i1 = i.i1; i1 < a->ne[1]; i1 += node->ne[1]) {
                const struct op_index at = {i1, i2, i3};
                const float *         x  = op_load_row(a, at, scratch);
                for (int64_t i0 = 0; i0 < a->ne[0]; i0 += ne0) {
                    cpu_kernels.vec.add(ne0, y, y, x + i0);
                }
            }
        }
    }
}

OP_TASK(run_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node  = nodes[0];
    const int64_t              width = MAX(node->ne[0], node->src[0]->ne[0]);
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        float *               y = op_target_row(node, i, op_scratch(task, 0, width));
        cpu_kernels.vec.fill(node->ne[0], y, 0.0f);
        add_repeats(node, i, y, op_scratch(task, 1, width));
        op_store_row(node, i, y);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(repeat_back, REPEAT_BACK, .supports = supports_back, .prepare = prepare_back, .task = run_back);

/* ---- CONCAT: two copies into parts of the result; blocks stay whole ---- */

OP_SUPPORTS(supports_concat) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a   = node->src[0];
    const struct ggml_tensor * b   = node->src[1];
    const int32_t              dim = op_i32(node, 0);
    if (a == NULL || b == NULL || a->type != node->type || b->type != node->type || dim < 0 || dim >= GGML_MAX_DIMS) {
        return false;
    }
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (d == dim ? node->ne[d] != a->ne[d] + b->ne[d] : node->ne[d] != a->ne[d] || node->ne[d] != b->ne[d]) {
            return false;
        }
    }
    return a->ne[0] % ggml_blck_size(a->type) == 0 && b->ne[0] % ggml_blck_size(a->type) == 0;
}

OP_TASK(run_concat) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int32_t              dim  = op_i32(node, 0);
    int64_t                    done = 0;
    for (int k = 0; k < 2; k++) {
        const struct ggml_tensor * from = node->src[k];
        struct ggml_tensor         part = *node;
        part.ne[dim]                    = from->ne[dim];
        part.data = (char *) node->data + (dim == 0 ? op_offset(node->type, node->nb[0], done) : done * (int64_t) node->nb[dim]);
        op_copy(task, &part, from);
        done += from->ne[dim];
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(concat, CONCAT, .supports = supports_concat, .prepare = op_prepare_light, .task = run_concat);
