/* SPDX-License-Identifier: MIT
 *
 * WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS: windows and relative positions of image encoders (Kirillov et al. 2023).
 */
#include "op.h"

/* ---- WIN_PART: windows of w x w of dimensions 1 and 2, zeros beyond the border ---- */

static bool same_plain_type(const struct ggml_tensor * node) {
    const struct ggml_tensor * a = node->src[0];
    return a != NULL && a->type == node->type && ggml_blck_size(a->type) == 1 && a->ne[0] == node->ne[0];
}

static void move_row(const struct ggml_tensor * to, struct op_index i, const struct ggml_tensor * from, struct op_index j) {
    op_move(op_row_of(to, i), (int64_t) to->nb[0], op_row_of(from, j), (int64_t) from->nb[0], ggml_type_size(to->type), to->ne[0]);
}

OP_SUPPORTS(supports_part) {
    (void) user_data, (void) device;
    const int64_t nx = op_i32(node, 0), ny = op_i32(node, 1), w = op_i32(node, 2);
    return same_plain_type(node) && nx >= 0 && ny >= 0 && w > 0 && node->ne[1] == w && node->ne[2] == w && node->ne[3] == nx * ny &&
           node->src[0]->ne[3] == 1;
}

OP_TASK(run_part) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    const int64_t              nx = op_i32(node, 0), w = op_i32(node, 2);
    static const char          zeros[16] = {0};
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i    = op_row_index(node, r);
        const struct op_index from = {i.i3 % nx * w + i.i1, i.i3 / nx * w + i.i2, 0};
        if (from.i1 < a->ne[1] && from.i2 < a->ne[2]) {
            move_row(node, i, a, from);
        } else {
            op_move(op_row_of(node, i), (int64_t) node->nb[0], zeros, 0, ggml_type_size(node->type), node->ne[0]);
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(win_part, WIN_PART, .supports = supports_part, .prepare = op_prepare_light, .task = run_part);

OP_SUPPORTS(supports_unpart) {
    (void) user_data, (void) device;
    const int64_t w = op_i32(node, 0);
    if (!same_plain_type(node) || w <= 0) {
        return false;
    }
    const int64_t nx = (node->ne[1] + w - 1) / w, ny = (node->ne[2] + w - 1) / w;
    return node->src[0]->ne[1] == w && node->src[0]->ne[2] == w && node->src[0]->ne[3] >= nx * ny && node->ne[3] == 1;
}

OP_TASK(run_unpart) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              w = op_i32(node, 0), nx = (node->ne[1] + w - 1) / w;
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i    = op_row_index(node, r);
        const struct op_index from = {i.i1 % w, i.i2 % w, i.i2 / w * nx + i.i1 / w};
        move_row(node, i, node->src[0], from);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(win_unpart, WIN_UNPART, .supports = supports_unpart, .prepare = op_prepare_light, .task = run_unpart);

/* ---- GET_REL_POS: out(.., k, q) = a(.., kh - 1 - k + q) ---- */

OP_SUPPORTS(supports_get) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    return a != NULL && op_is_float(a->type) && op_is_float(node->type) && a->ne[0] == node->ne[0] && node->ne[1] == node->ne[2] &&
           a->ne[1] == 2 * node->ne[2] - 1 && node->ne[3] == 1;
}

OP_PREPARE(prepare_get) {
    need->worker_size = op_scratch_bytes(2, nodes[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

OP_TASK(run_get) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i    = op_row_index(node, r);
        const struct op_index from = {node->ne[1] - 1 - i.i1 + i.i2, 0, 0};
        op_store_row(node, i, op_load_row(node->src[0], from, op_scratch(task, 0, node->ne[0])));
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(get_rel_pos, GET_REL_POS, .supports = supports_get, .prepare = prepare_get, .task = run_get);

/* ---- ADD_REL_POS: row r of image i, taken as n x n: y[h][w] = a[h][w] + ph(h, r, i) + pw(w, r, i) ---- */

OP_SUPPORTS(supports_add) {
    (void) user_data, (void) device;
    const struct ggml_tensor *a = node->src[0], *pw = node->src[1], *ph = node->src[2];
    if (!op_is(a, GGML_TYPE_F32) || !op_is(pw, GGML_TYPE_F32) || !op_is(ph, GGML_TYPE_F32) || !op_is(node, GGML_TYPE_F32)) {
        return false;
    }
    return ggml_are_same_shape(node, a) && ggml_are_same_shape(pw, ph) && ggml_is_contiguous(a) && ggml_is_contiguous(pw) &&
           ggml_is_contiguous(ph) && ggml_is_contiguous(node) && pw->ne[0] * pw->ne[0] == a->ne[0] &&
           pw->ne[1] * pw->ne[2] == a->ne[1] && pw->ne[3] == a->ne[2] && a->ne[3] == 1;
}

OP_TASK(run_add) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node  = nodes[0];
    const int64_t              width = node->src[1]->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const float * a  = (const float *) node->src[0]->data + r * width * width;
        const float * pw = (const float *) node->src[1]->data + r * width;
        const float * ph = (const float *) node->src[2]->data + r * width;
        float *       y  = (float *) node->data + r * width * width;
        for (int64_t h = 0; h < width; h++) {
            cpu_kernels.vec.scale(width, y + h * width, a + h * width, 1.0f, ph[h]);
            cpu_kernels.vec.add(width, y + h * width, y + h * width, pw);
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(add_rel_pos, ADD_REL_POS, .supports = supports_add, .prepare = op_prepare_light, .task = run_add, .may_overwrite = 1);
