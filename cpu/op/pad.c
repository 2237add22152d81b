/* SPDX-License-Identifier: MIT
 *
 * PAD, PAD_REFLECT_1D, ROLL: each row of the result is made of parts of one source row. Bytes of any type without blocks, any
 * strides.
 */
#include "op.h"

static bool same_plain_type(const struct ggml_tensor * node) {
    return node->src[0] != NULL && node->type == node->src[0]->type && ggml_blck_size(node->type) == 1;
}

static int64_t wrap(int64_t i, int64_t n) {
    const int64_t r = i % n;
    return r < 0 ? r + n : r;
}

/* Elements [begin, begin + n) of a result row from element `from` of a source row on. */
static void move(const struct ggml_tensor * node, char * y, int64_t begin, const char * x, int64_t from, int64_t n) {
    if (n > 0) {
        const int64_t to_step = (int64_t) node->nb[0], from_step = (int64_t) node->src[0]->nb[0];
        op_move(y + begin * to_step, to_step, x + from * from_step, from_step, ggml_type_size(node->type), n);
    }
}

/* Elements [begin, begin + n) of a result row from a source row that goes round: from may be any number. */
static void move_round(const struct ggml_tensor * node, char * y, int64_t begin, const char * x, int64_t from, int64_t n) {
    const int64_t length = node->src[0]->ne[0];
    while (n > 0) {
        const int64_t at = wrap(from, length);
        const int64_t k  = MIN(n, length - at);
        move(node, y, begin, x, at, k);
        begin += k;
        from += k;
        n -= k;
    }
}

static void zero(const struct ggml_tensor * node, char * y, int64_t begin, int64_t n) {
    static const char zeros[16] = {0};
    if (n > 0) {
        op_move(y + begin * (int64_t) node->nb[0], (int64_t) node->nb[0], zeros, 0, ggml_type_size(node->type), n);
    }
}

/* ---- PAD: zeros around, or the source over and over ---- */

OP_SUPPORTS(supports_pad) {
    (void) user_data, (void) device;
    if (!same_plain_type(node)) {
        return false;
    }
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (node->ne[d] != node->src[0]->ne[d] + op_i32(node, 2 * d) + op_i32(node, 2 * d + 1)) {
            return false;
        }
    }
    return op_i32(node, 8) == 0 || op_is_empty(node) || !op_is_empty(node->src[0]);
}

static void pad_row(const struct ggml_tensor * node, struct op_index i) {
    const struct ggml_tensor * a        = node->src[0];
    const bool                 round    = op_i32(node, 8) != 0;
    const int64_t              left     = op_i32(node, 0);
    char *                     y        = op_row_of(node, i);
    int64_t                    at[3]    = {i.i1, i.i2, i.i3};
    bool                       is_empty = a->ne[0] <= 0;
    for (int d = 0; d < 3; d++) {
        at[d] -= op_i32(node, 2 * (d + 1));
        if (round) {
            at[d] = wrap(at[d], a->ne[d + 1]);
        } else {
            is_empty |= at[d] < 0 || at[d] >= a->ne[d + 1];
        }
    }
    if (is_empty) {
        zero(node, y, 0, node->ne[0]);
        return;
    }
    const char * x = op_row(a, at[0], at[1], at[2]);
    if (round) {
        move_round(node, y, 0, x, -left, node->ne[0]);
        return;
    }
    const int64_t begin = MIN(MAX(left, 0), node->ne[0]);
    const int64_t end   = MIN(MAX(left + a->ne[0], begin), node->ne[0]);
    zero(node, y, 0, begin);
    move(node, y, begin, x, begin - left, end - begin);
    zero(node, y, end, node->ne[0] - end);
}

typedef void (*row_fn)(const struct ggml_tensor * node, struct op_index i);

static void run_rows(const struct ggml_tensor * node, const struct ggml_ext_task * task, row_fn fn) {
    if (op_is_empty(node)) {
        return;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        fn(node, op_row_index(node, r));
    }
}

OP_TASK(run_pad) {
    (void) user_data, (void) plan, (void) n;
    run_rows(nodes[0], task, pad_row);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(pad, PAD, .supports = supports_pad, .prepare = op_prepare_light, .task = run_pad);

/* ---- PAD_REFLECT_1D: mirrored about the first and the last element ---- */

OP_SUPPORTS(supports_reflect) {
    (void) user_data, (void) device;
    const int64_t p0 = op_i32(node, 0), p1 = op_i32(node, 1);
    if (!same_plain_type(node)) {
        return false;
    }
    const int64_t * ne = node->src[0]->ne;
    return p0 >= 0 && p1 >= 0 && p0 < ne[0] && p1 < ne[0] && node->ne[0] == ne[0] + p0 + p1 && node->ne[1] == ne[1] &&
           node->ne[2] == ne[2] && node->ne[3] == ne[3];
}

static void reflect_row(const struct ggml_tensor * node, struct op_index i) {
    const int64_t p0 = op_i32(node, 0), p1 = op_i32(node, 1), n = node->src[0]->ne[0];
    const char *  x = op_row_of(node->src[0], i);
    char *        y = op_row_of(node, i);
    for (int64_t k = 0; k < p0; k++) {
        move(node, y, k, x, p0 - k, 1);
    }
    move(node, y, p0, x, 0, n);
    for (int64_t k = 0; k < p1; k++) {
        move(node, y, p0 + n + k, x, n - 2 - k, 1);
    }
}

OP_TASK(run_reflect) {
    (void) user_data, (void) plan, (void) n;
    run_rows(nodes[0], task, reflect_row);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(pad_reflect_1d, PAD_REFLECT_1D, .supports = supports_reflect, .prepare = op_prepare_light, .task = run_reflect);

/* ---- ROLL: y[i] = x[i - shift], each dimension going round ---- */

OP_SUPPORTS(supports_roll) {
    (void) user_data, (void) device;
    return same_plain_type(node) && ggml_are_same_shape(node, node->src[0]);
}

static void roll_row(const struct ggml_tensor * node, struct op_index i) {
    const struct ggml_tensor * a  = node->src[0];
    const int64_t              i1 = wrap(i.i1 - op_i32(node, 1), a->ne[1]);
    const int64_t              i2 = wrap(i.i2 - op_i32(node, 2), a->ne[2]);
    const int64_t              i3 = wrap(i.i3 - op_i32(node, 3), a->ne[3]);
    move_round(node, op_row_of(node, i), 0, op_row(a, i1, i2, i3), -(int64_t) op_i32(node, 0), node->ne[0]);
}

OP_TASK(run_roll) {
    (void) user_data, (void) plan, (void) n;
    run_rows(nodes[0], task, roll_row);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(roll, ROLL, .supports = supports_roll, .prepare = op_prepare_light, .task = run_roll);
