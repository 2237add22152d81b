/* SPDX-License-Identifier: MIT
 *
 * POOL_1D, POOL_2D, POOL_2D_BACK: greatest value or mean of windows. F32, F16 and BF16 of any strides. A window that lies
 * outside gives -FLT_MAX, or 0; the mean is over the window's pixels inside in 1-D and over the whole window in 2-D, as
 * clients of ggml know it.
 */
#include <float.h>

#include "op.h"

struct window {
    int     op;
    int64_t kernel[2], stride[2], pad[2];
};

static struct window read_window(const struct ggml_tensor * node) {
    const struct window flat = {op_i32(node, 0), {op_i32(node, 1), 1}, {op_i32(node, 2), 1}, {op_i32(node, 3), 0}};
    const struct window full = {op_i32(node, 0), {op_i32(node, 1), op_i32(node, 2)}, {op_i32(node, 3), op_i32(node, 4)},
                                {op_i32(node, 5), op_i32(node, 6)}};
    return node->op == GGML_OP_POOL_1D ? flat : full;
}

static bool window_valid(const struct window * w) {
    return (w->op == GGML_OP_POOL_MAX || w->op == GGML_OP_POOL_AVG) && w->kernel[0] > 0 && w->kernel[1] > 0 && w->stride[0] > 0 &&
           w->stride[1] > 0;
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    const struct window        w = read_window(node);
    return a != NULL && op_is_float(a->type) && op_is_float(node->type) && window_valid(&w) && node->ne[2] == a->ne[2] &&
           node->ne[3] == a->ne[3] && (node->op == GGML_OP_POOL_2D || node->ne[1] == a->ne[1]);
}

OP_PREPARE(prepare) {
    need->worker_size = op_scratch_bytes(1, nodes[0]->ne[0]);
    return op_prepare_heavy(user_data, backend, nodes, n, plan, need);
}

/* The part of a window that is inside of an extent. */
static struct op_range inside(const struct window * w, int d, int64_t o, int64_t extent) {
    const int64_t         first = o * w->stride[d] - w->pad[d];
    const struct op_range r     = {MAX(0, first), MIN(first + w->kernel[d], extent)};
    return r;
}

static float pool_window(const struct window * w, const struct ggml_tensor * a, struct op_index i, struct op_range x, struct op_range y,
                         bool over_all) {
    const bool is_max = w->op == GGML_OP_POOL_MAX;
    float      value  = is_max ? -FLT_MAX : 0.0f;
    int64_t    count  = 0;
    for (int64_t iy = y.begin; iy < y.end; iy++) {
        const char * row = op_row(a, iy, i.i2, i.i3);
        for (int64_t ix = x.begin; ix < x.end; ix++, count++) {
            const float v = op_get(a->type, row + ix * (int64_t) a->nb[0]);
            value         = is_max ? fmaxf(value, v) : value + v;
        }
    }
    if (is_max) {
        return value;
    }
    count = over_all ? w->kernel[0] * w->kernel[1] : count;
    return count > 0 ? value / (float) count : 0.0f;
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    const struct window        w    = read_window(node);
    const bool                 flat = node->op == GGML_OP_POOL_1D;
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i     = op_row_index(node, r);
        const struct op_range own   = {i.i1, i.i1 + 1};
        const struct op_range y     = flat ? own : inside(&w, 1, i.i1, a->ne[1]);
        float *               out   = op_target_row(node, i, op_scratch(task, 0, node->ne[0]));
        for (int64_t ox = 0; ox < node->ne[0]; ox++) {
            out[ox] = pool_window(&w, a, i, inside(&w, 0, ox, a->ne[0]), y, !flat);
        }
        op_store_row(node, i, out);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(pool_1d, POOL_1D, .supports = supports, .prepare = prepare, .task = run);
CPU_OP(pool_2d, POOL_2D, .supports = supports, .prepare = prepare, .task = run);

/* ---- POOL_2D_BACK: to the first of the greatest values, or to all alike ---- */

OP_SUPPORTS(supports_back) {
    (void) user_data, (void) device;
    const struct ggml_tensor * dy = node->src[0];
    const struct ggml_tensor * a  = node->src[1];
    const struct window        w  = read_window(node);
    return dy != NULL && a != NULL && op_is_float(dy->type) && op_is_float(a->type) && op_is_float(node->type) && window_valid(&w) &&
           ggml_are_same_shape(node, a) && dy->ne[2] == a->ne[2] && dy->ne[3] == a->ne[3];
}

static void add_number(const struct ggml_tensor * t, char * p, float x) {
    const float sum = op_get(t->type, p) + x;
    op_store(t->type, p, ggml_type_size(t->type), 1, &sum);
}

static char * pixel(const struct ggml_tensor * t, struct op_index plane, int64_t x, int64_t y) {
    return (char *) op_row(t, y, plane.i2, plane.i3) + x * (int64_t) t->nb[0];
}

static void spread(const struct window * w, const struct ggml_tensor * node, struct op_index plane, struct op_range x, struct op_range y,
                   float grad) {
    const struct ggml_tensor * a    = node->src[1];
    char *                     best = NULL;
    float                      max  = -FLT_MAX;
    for (int64_t iy = y.begin; iy < y.end; iy++) {
        for (int64_t ix = x.begin; ix < x.end; ix++) {
            const float v = op_get(a->type, pixel(a, plane, ix, iy));
            if (w->op == GGML_OP_POOL_AVG) {
                add_number(node, pixel(node, plane, ix, iy), grad / (float) (w->kernel[0] * w->kernel[1]));
            } else if (v > max) {
                max  = v;
                best = pixel(node, plane, ix, iy);
            }
        }
    }
    if (best != NULL) {
        add_number(node, best, grad);
    }
}

OP_TASK(run_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * dy   = node->src[0];
    const struct window        w    = read_window(node);
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, node->ne[2] * node->ne[3]); /* planes */
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index plane = {0, r % node->ne[2], r / node->ne[2]};
        for (int64_t iy = 0; iy < node->ne[1]; iy++) {
            static const float zero = 0.0f;
            for (int64_t ix = 0; ix < node->ne[0]; ix++) {
                op_store(node->type, pixel(node, plane, ix, iy), ggml_type_size(node->type), 1, &zero);
            }
        }
        for (int64_t oy = 0; oy < dy->ne[1]; oy++) {
            for (int64_t ox = 0; ox < dy->ne[0]; ox++) {
                spread(&w, node, plane, inside(&w, 0, ox, node->ne[0]), inside(&w, 1, oy, node->ne[1]),
                       op_get(dy->type, pixel(dy, plane, ox, oy)));
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(pool_2d_back, POOL_2D_BACK, .supports = supports_back, .prepare = op_prepare_heavy, .task = run_back);
