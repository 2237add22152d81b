/* SPDX-License-Identifier: MIT
 *
 * OUT_PROD: dst[i, j] = sum over l of a[i, l] * b[j, l], a broadcast over the outer dimensions of b; a of any format, b
 * F32, F16 or BF16. It is the F32 GEMM with the depth along the rows: packing b is a copy, and panels of a are
 * transposed.
 *
 * Error, relative to sum |a| |b|: depth * 2^-24.
 */
#include <stdlib.h>

#include "graft-module.h"
#include "op/mul_mat.h"
#include "pack/pack.h"

#define TINY_WORK 16384
#define DEPTH     512 /* of a panel */
#define COLUMNS   96  /* of a in a panel: rows of W, a multiple of all tiles but those of one row */
#define ROWS      64  /* columns of b packed at one time */

/* Offsets in a worker's memory. */
struct out_prod_plan {
    size_t pack_at, row_at;
};

#define PANEL_STRIDE (DEPTH * sizeof(float) + 64)

/* Values [first, first + count) of row l, where blocks may begin before first. */
static const float * columns_of(const struct matrix * a, int64_t l, int64_t first, int64_t count, float * tmp) {
    const int64_t block = ggml_blck_size(a->type), begin = first / block * block;
    const int64_t end = (first + count + block - 1) / block * block;
    return matrix_row(a, l, begin, end - begin, tmp) + (first - begin);
}

/* panel row j = column first + j of a, depth [l0, l0 + depth). */
static void make_panel(const struct matrix * a, int64_t l0, int64_t depth, int64_t first, int64_t count, char * panel,
                       float * tmp) {
    for (int64_t l = 0; l < depth; ++l) {
        const float * row = columns_of(a, l0 + l, first, count, tmp);
        for (int64_t j = 0; j < count; ++j) {
            ((float *) (panel + (size_t) j * PANEL_STRIDE))[l] = row[j];
        }
    }
}

static void make_pack(const struct matrix * b, int64_t l0, int64_t depth, int64_t first, int64_t count, float * pack,
                      float * tmp) {
    for (int64_t l = 0; l < depth; ++l) {
        const float * row = columns_of(b, l0 + l, first, count, tmp);
        for (int64_t i = 0; i < ROWS; ++i) {
            pack[(i / CPU_GEMM_LANES * DEPTH + l) * CPU_GEMM_LANES + i % CPU_GEMM_LANES] = i < count ? row[i] : 0.0f;
        }
    }
}

static enum ggml_status task_run(void * user_data, void * plan, struct ggml_ext_task * task,
                                 struct ggml_tensor * const * nodes, int n) {
    (void) user_data;
    (void) n;
    const struct out_prod_plan * p   = plan;
    const struct ggml_tensor *   dst = nodes[0];
    const struct ggml_tensor *   a   = dst->src[0];
    const struct ggml_tensor *   b   = dst->src[1];
    const int64_t                bi = (dst->ne[1] + ROWS - 1) / ROWS, bj = (dst->ne[0] + COLUMNS - 1) / COLUMNS;
    char *                       panel = task->worker_memory;
    float *                      pack  = (float *) (panel + p->pack_at);
    float *                      tmp   = (float *) (panel + p->row_at);
    const int64_t                units = dst->ne[0] == 0 ? 0 : bi * bj * dst->ne[2] * dst->ne[3];
    for (int64_t u; (u = task->next(task, units)) >= 0;) {
        const int64_t i0 = u % bi * ROWS, j0 = u / bi % bj * COLUMNS, i2 = u / bi / bj % dst->ne[2],
                      i3         = u / bi / bj / dst->ne[2];
        const int64_t       rows = dst->ne[1] - i0 < ROWS ? dst->ne[1] - i0 : ROWS;
        const int64_t       cols = dst->ne[0] - j0 < COLUMNS ? dst->ne[0] - j0 : COLUMNS;
        const struct matrix ma   = matrix_of(a, i2 / (b->ne[2] / a->ne[2]), i3 / (b->ne[3] / a->ne[3])),
                            mb   = matrix_of(b, i2, i3);
        float * c                = (float *) ((char *) dst->data + (size_t) i0 * dst->nb[1] + (size_t) i2 * dst->nb[2] +
                               (size_t) i3 * dst->nb[3]) +
                    j0;
        int64_t l = 0;
        do { /* once at least: a depth of 0 gives zeros */
            const int64_t depth = a->ne[1] - l < DEPTH ? a->ne[1] - l : DEPTH;
            make_panel(&ma, l, depth, j0, cols, panel, tmp);
            make_pack(&mb, l, depth, i0, rows, pack, tmp);
            cpu_kernels.gemm.f32->multiply(depth, cols, rows, panel, PANEL_STRIDE, pack,
                                           DEPTH * CPU_GEMM_LANES * sizeof(float), c, dst->nb[1] / sizeof(float),
                                           l > 0);
            l += DEPTH;
        } while (l < a->ne[1]);
    }
    return GGML_STATUS_SUCCESS;
}

/* A node may have been changed by hand since its builder checked it. */
static bool extents_fit(const struct ggml_tensor * a, const struct ggml_tensor * b, const struct ggml_tensor * dst) {
    return a->ne[1] == b->ne[1] && a->ne[2] > 0 && a->ne[3] > 0 && b->ne[2] % a->ne[2] == 0 && b->ne[3] % a->ne[3] == 0 &&
           dst->ne[0] == a->ne[0] && dst->ne[1] == b->ne[0] && dst->ne[2] == b->ne[2] && dst->ne[3] == b->ne[3];
}

static bool supports(void * user_data, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) user_data;
    (void) device;
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    return a != NULL && b != NULL && extents_fit(a, b, node) && node->type == GGML_TYPE_F32 && node->nb[0] == sizeof(float) &&
           !cpu_pack_holds(a) && !cpu_pack_holds(b) && matrix_readable(a) && matrix_readable(b);
}

static enum ggml_status prepare(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes,
                                int n, void ** plan_out, struct ggml_ext_need * need) {
    (void) user_data;
    (void) backend;
    (void) n;
    cpu_kernels_init();
    struct out_prod_plan * plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return graft_fail(GGML_STATUS_ALLOC_FAILED, "OUT_PROD %s: no memory for its plan", nodes[0]->name);
    }
    *plan_out         = plan;
    plan->pack_at     = (COLUMNS + 16) * PANEL_STRIDE;
    plan->row_at      = plan->pack_at + DEPTH * ROWS * sizeof(float);
    need->worker_size = plan->row_at + (COLUMNS + 2 * 256) * sizeof(float);
    if ((double) ggml_nelements(nodes[0]) * (double) nodes[0]->src[0]->ne[1] < TINY_WORK) {
        need->max_workers = 1;
    }
    return GGML_STATUS_SUCCESS;
}

static void destroy(void * user_data, void * plan) {
    (void) user_data;
    free(plan);
}

const struct ggml_ext_kernel_desc cpu_op_out_prod = {
    .size     = sizeof(struct ggml_ext_kernel_desc),
    .name     = "cpu.out_prod",
    .op       = GGML_OP_OUT_PROD,
    .supports = supports,
    .prepare  = prepare,
    .task     = task_run,
    .destroy  = destroy,
};
