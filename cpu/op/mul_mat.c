/* SPDX-License-Identifier: MIT
 *
 * MUL_MAT: dst[j, i] = sum over l of a[l, j] * b[l, i], a broadcast over the outer dimensions of b; any format by F32,
 * F16 or BF16.
 *
 * Many rows of b: all of b is packed into the workspace, in pieces when it is large, and the workers take panels of
 * rows of a. Few rows: rows of b are encoded, and the workers take ranges of rows of a. Every element of dst is one
 * worker's, and its sum has the same order however the work is shared out.
 *
 * Error, relative to sum |a| |b|: k * 2^-24 with F32, F16 or BF16 weights on the F32 path; with BF16 compute each
 * product has 2^-8 in addition; few rows of b times a block format 2^-16 of the greatest |b| of 32 neighbours.
 */
#include <stdlib.h>

#include "graft-module.h"
#include "op/mul_mat.h"
#include "pack/pack.h"

/* At most so many rows of b go to the kernels of few rows: gemv_plan.few says how many should. */
#define FEW_ROWS_MAX 16
/* Bytes of packed rows of b in the workspace at one time, and of encoded ones. */
#define PACK_BYTES (2 << 20)
/* Multiply-adds below which a second thread costs more than it brings. */
#define TINY_WORK 16384

struct mul_mat_plan {
    bool             few;
    bool             encode_alone; /* few: each worker encodes the only row of b for itself */
    bool             in_place;     /* few: rows of b are used as they lie */
    struct gemm_plan gemm;
    struct gemv_plan gemv;
    int64_t          blocks;   /* many: packed blocks in the workspace */
    size_t           tmp_size; /* of each worker, behind what gemm or gemv want */
};

/* ---- shapes ---- */

/* Matrix g of a serves `shares` matrices of b: this is the r-th. */
struct share {
    int64_t a2, a3, b2, b3;
};

static int64_t shares(const struct ggml_tensor * dst) {
    const struct ggml_tensor * a = dst->src[0];
    const struct ggml_tensor * b = dst->src[1];
    return b->ne[2] / a->ne[2] * (b->ne[3] / a->ne[3]);
}

static struct share share_of(const struct ggml_tensor * dst, int64_t g, int64_t r) {
    const struct ggml_tensor * a  = dst->src[0];
    const struct ggml_tensor * b  = dst->src[1];
    const int64_t              r2 = b->ne[2] / a->ne[2], r3 = b->ne[3] / a->ne[3];
    struct share               s = { .a2 = g % a->ne[2], .a3 = g / a->ne[2] };
    s.b2                         = s.a2 * r2 + r % r2;
    s.b3                         = s.a3 * r3 + r / r2;
    return s;
}

static float * dst_row(const struct ggml_tensor * dst, const struct share * s, int64_t i) {
    return (float *) ((char *) dst->data + (size_t) i * dst->nb[1] + (size_t) s->b2 * dst->nb[2] +
                      (size_t) s->b3 * dst->nb[3]);
}

/* ---- many rows ---- */

/* Blocks of 16 rows of all of b, numbered by matrix of a, share, row: those of one matrix of a are neighbours. */
struct block {
    int64_t g, r, i; /* matrix of a, share, first row */
};

static int64_t blocks_per_matrix(const struct ggml_tensor * dst) {
    return (dst->ne[1] + CPU_GEMM_LANES - 1) / CPU_GEMM_LANES;
}

static struct block block_of(const struct ggml_tensor * dst, int64_t q) {
    const int64_t per = blocks_per_matrix(dst), n_shares = shares(dst);
    return (struct block){ .g = q / per / n_shares, .r = q / per % n_shares, .i = q % per * CPU_GEMM_LANES };
}

static void pack_blocks(const struct mul_mat_plan * plan, struct ggml_ext_task * task, const struct ggml_tensor * dst,
                        int64_t first, int64_t count) {
    float * tmp = (float *) ((char *) task->worker_memory + plan->gemm.worker_size);
    for (int64_t q; (q = task->next(task, count)) >= 0;) {
        const struct block  at   = block_of(dst, first + q);
        const struct share  s    = share_of(dst, at.g, at.r);
        const struct matrix x    = matrix_of(dst->src[1], s.b2, s.b3);
        const int64_t       rows = dst->ne[1] - at.i < CPU_GEMM_LANES ? dst->ne[1] - at.i : CPU_GEMM_LANES;
        const float *       row[CPU_GEMM_LANES];
        for (int64_t i = 0; i < rows; ++i) {
            row[i] = matrix_row(&x, at.i + i, 0, plan->gemm.k, tmp + i * plan->gemm.k);
        }
        gemm_pack(&plan->gemm, rows, row, (char *) task->workspace + (size_t) q * plan->gemm.pack_stride);
    }
}

/* Panel p of matrix g of a times packed blocks [first, last) of the piece that begins with block `origin`. */
static void multiply_blocks(const struct mul_mat_plan * plan, struct ggml_ext_task * task,
                            const struct ggml_tensor * dst, int64_t p, int64_t origin, int64_t first, int64_t last) {
    enum { RUNS = 32 };
    const struct gemm_plan * gemm  = &plan->gemm;
    const int64_t            per   = blocks_per_matrix(dst);
    const int64_t            row   = p * gemm->n_panel;
    const int64_t            count = dst->ne[0] - row < gemm->n_panel ? dst->ne[0] - row : gemm->n_panel;
    while (first < last) {
        struct gemm_run    runs[RUNS];
        int64_t            n  = 0;
        const struct block b0 = block_of(dst, first);
        for (; n < RUNS && first < last; ++n) {
            const struct block at = block_of(dst, first);
            const struct share s  = share_of(dst, at.g, at.r);
            const int64_t      end =
                (first / per + 1) * per < last ? (first / per + 1) * per : last; /* of this matrix of b */
            const int64_t m = (end - first) * CPU_GEMM_LANES;
            runs[n] =
                (struct gemm_run){ .pack     = (char *) task->workspace + (size_t) (first - origin) * gemm->pack_stride,
                                   .c        = dst_row(dst, &s, at.i) + row,
                                   .c_stride = dst->nb[1] / sizeof(float),
                                   .m        = dst->ne[1] - at.i < m ? dst->ne[1] - at.i : m };
            first = end;
        }
        const struct share  s = share_of(dst, b0.g, b0.r);
        const struct matrix w = matrix_of(dst->src[0], s.a2, s.a3);
        gemm_multiply(gemm, &w, row, count, runs, n, task->worker_memory);
    }
}

/* Shares out (matrix of a, panel, part of the blocks): parts only where there are too few panels for the workers, as a
 * panel is decoded again for each. */
static void multiply_piece(const struct mul_mat_plan * plan, struct ggml_ext_task * task,
                           const struct ggml_tensor * dst, int64_t first, int64_t last) {
    const int64_t per_a  = blocks_per_matrix(dst) * shares(dst);
    const int64_t panels = (dst->ne[0] + plan->gemm.n_panel - 1) / plan->gemm.n_panel;
    const int64_t g0 = first / per_a, n_g = (last - 1) / per_a - g0 + 1;
    int64_t       parts = task->nth == 1 ? 1 : (3 * task->nth + panels * n_g - 1) / (panels * n_g);
    parts               = parts > per_a / 4 ? per_a / 4 : parts;
    parts               = parts < 1 ? 1 : parts;
    for (int64_t u; (u = task->next(task, n_g * panels * parts)) >= 0;) {
        const int64_t g = g0 + u / (panels * parts), p = u / parts % panels, part = u % parts;
        const int64_t from = g * per_a > first ? g * per_a : first;
        const int64_t to   = (g + 1) * per_a < last ? (g + 1) * per_a : last;
        /* pairs of blocks: a register tile takes 32 rows */
        const int64_t pairs = (to - from + 1) / 2;
        const int64_t begin = from + pairs * part / parts * 2, end = from + pairs * (part + 1) / parts * 2;
        multiply_blocks(plan, task, dst, p, first, begin, end < to ? end : to);
    }
}

static void run_many(const struct mul_mat_plan * plan, struct ggml_ext_task * task, const struct ggml_tensor * dst) {
    const int64_t n_blocks = blocks_per_matrix(dst) * dst->ne[2] * dst->ne[3];
    for (int64_t q = 0; q < n_blocks; q += plan->blocks) {
        const int64_t count = n_blocks - q < plan->blocks ? n_blocks - q : plan->blocks;
        pack_blocks(plan, task, dst, q, count);
        task->barrier(task);
        multiply_piece(plan, task, dst, q, q + count);
        if (q + count < n_blocks) {
            task->barrier(task);
        }
    }
}

/* ---- few rows ---- */

static const void * act_of(const struct mul_mat_plan * plan, const struct ggml_ext_task * task,
                           const struct ggml_tensor * dst, const struct share * s, int64_t i) {
    const struct ggml_tensor * b = dst->src[1];
    if (plan->in_place) {
        return (const char *) b->data + (size_t) i * b->nb[1] + (size_t) s->b2 * b->nb[2] + (size_t) s->b3 * b->nb[3];
    }
    if (plan->encode_alone) {
        return (const char *) task->worker_memory + plan->gemv.worker_size;
    }
    return (const char *) task->workspace + (size_t) ((s->b3 * b->ne[2] + s->b2) * b->ne[1] + i) * plan->gemv.act_size;
}

static void encode_row(const struct mul_mat_plan * plan, const struct ggml_tensor * dst, int64_t q, void * act,
                       void * tmp) {
    const struct ggml_tensor * b = dst->src[1];
    const int64_t              i = q % b->ne[1], b2 = q / b->ne[1] % b->ne[2], b3 = q / b->ne[1] / b->ne[2];
    const struct matrix        x = matrix_of(b, b2, b3);
    gemv_encode(&plan->gemv, &x, i, act, tmp);
}

static void encode_rows(const struct mul_mat_plan * plan, struct ggml_ext_task * task, const struct ggml_tensor * dst) {
    char * own = (char *) task->worker_memory + plan->gemv.worker_size;
    if (plan->in_place) {
        return;
    }
    if (plan->encode_alone) {
        encode_row(plan, dst, 0, own, own + plan->gemv.act_size);
        return;
    }
    for (int64_t q; (q = task->next(task, ggml_nrows(dst->src[1]))) >= 0;) {
        encode_row(plan, dst, q, (char *) task->workspace + (size_t) q * plan->gemv.act_size, own);
    }
    task->barrier(task);
}

static void run_few(const struct mul_mat_plan * plan, struct ggml_ext_task * task, const struct ggml_tensor * dst) {
    const int64_t n_shares = shares(dst), matrices = dst->src[0]->ne[2] * dst->src[0]->ne[3];
    /* Ranges end at whole cache lines of dst. */
    const int64_t lines  = (dst->ne[0] + 15) / 16;
    int64_t       ranges = task->nth == 1 ? 1 : 4 * (int64_t) task->nth / matrices;
    ranges               = ranges > lines ? lines : ranges;
    ranges               = ranges < 1 ? 1 : ranges;
    encode_rows(plan, task, dst);
    for (int64_t u; (u = task->next(task, matrices * ranges)) >= 0;) {
        const int64_t g = u / ranges, range = u % ranges;
        const int64_t first = lines * range / ranges * 16, end = lines * (range + 1) / ranges * 16;
        const int64_t count = (end < dst->ne[0] ? end : dst->ne[0]) - first;
        for (int64_t r = 0; r < n_shares; ++r) {
            const struct share  s = share_of(dst, g, r);
            const struct matrix w = matrix_of(dst->src[0], s.a2, s.a3);
            const void *        act[FEW_ROWS_MAX];
            float *             y[FEW_ROWS_MAX];
            for (int64_t i = 0; i < dst->ne[1]; ++i) {
                act[i] = act_of(plan, task, dst, &s, i);
                y[i]   = dst_row(dst, &s, i) + first;
            }
            gemv_multiply(&plan->gemv, &w, first, count, act, y, dst->ne[1], task->worker_memory);
        }
    }
}

/* ---- the row ---- */

/* user_data of the row for packed weights; NULL for plain ones. */
static char packed_row[] = "packed";

/* A node may have been changed by hand since its builder checked it. */
static bool extents_fit(const struct ggml_tensor * a, const struct ggml_tensor * b, const struct ggml_tensor * dst) {
    return a->ne[0] == b->ne[0] && a->ne[2] > 0 && a->ne[3] > 0 && b->ne[2] % a->ne[2] == 0 && b->ne[3] % a->ne[3] == 0 &&
           dst->ne[0] == a->ne[1] && dst->ne[1] == b->ne[1] && dst->ne[2] == b->ne[2] && dst->ne[3] == b->ne[3];
}

static bool supports(void * user_data, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) device;
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    return a != NULL && b != NULL && extents_fit(a, b, node) && node->type == GGML_TYPE_F32 && node->nb[0] == sizeof(float) &&
           matrix_readable(a) && matrix_readable(b) && !cpu_pack_holds(b) &&
           (user_data == NULL ? !cpu_pack_holds(a) : cpu_pack_holds(a) && cpu_pack_packs(a));
}

static enum ggml_status prepare(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes,
                                int n, void ** plan_out, struct ggml_ext_need * need) {
    (void) backend;
    (void) n;
    const bool                 packed = user_data != NULL;
    const struct ggml_tensor * dst    = nodes[0];
    const struct ggml_tensor * a      = dst->src[0];
    const struct ggml_tensor * b      = dst->src[1];
    cpu_kernels_init();
    struct mul_mat_plan * plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return graft_fail(GGML_STATUS_ALLOC_FAILED, "MUL_MAT %s: no memory for its plan", dst->name);
    }
    *plan_out  = plan;
    plan->gemm = gemm_plan_make(a, packed, dst->op_params[0] == GGML_PREC_F32);
    plan->gemv = gemv_plan_make(a, packed);
    plan->few  = b->ne[1] <= plan->gemv.few;
    if (plan->few) {
        const int64_t rows   = ggml_nrows(b);
        plan->in_place       = gemv_act_in_place(&plan->gemv, b);
        plan->encode_alone   = rows == 1 && !plan->in_place;
        plan->tmp_size       = (size_t) a->ne[0] * sizeof(float) + (plan->encode_alone ? plan->gemv.act_size : 0);
        need->worker_size    = plan->gemv.worker_size + (plan->in_place ? 0 : plan->tmp_size);
        need->workspace_size = plan->in_place || plan->encode_alone ? 0 : (size_t) rows * plan->gemv.act_size;
    } else {
        const int64_t blocks = blocks_per_matrix(dst) * dst->ne[2] * dst->ne[3];
        const int64_t fit    = (PACK_BYTES / (int64_t) (plan->gemm.pack_stride + 1) + 1) / 2 * 2;
        plan->blocks         = fit < 2 ? 2 : fit > blocks ? blocks : fit;
        plan->tmp_size       = gemm_pack_tmp(&plan->gemm, b);
        need->worker_size    = plan->gemm.worker_size + plan->tmp_size;
        need->workspace_size = gemm_pack_size(&plan->gemm, plan->blocks);
    }
    if ((double) ggml_nelements(dst) * (double) a->ne[0] < TINY_WORK) {
        need->max_workers = 1;
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status task_run(void * user_data, void * plan, struct ggml_ext_task * task,
                                 struct ggml_tensor * const * nodes, int n) {
    (void) user_data;
    (void) n;
    if (ggml_nelements(nodes[0]) > 0) {
        if (((const struct mul_mat_plan *) plan)->few) {
            run_few(plan, task, nodes[0]);
        } else {
            run_many(plan, task, nodes[0]);
        }
    }
    return GGML_STATUS_SUCCESS;
}

static void destroy(void * user_data, void * plan) {
    (void) user_data;
    free(plan);
}

const struct ggml_ext_kernel_desc cpu_op_mul_mat = {
    .size     = sizeof(struct ggml_ext_kernel_desc),
    .name     = "cpu.mul_mat",
    .op       = GGML_OP_MUL_MAT,
    .supports = supports,
    .prepare  = prepare,
    .task     = task_run,
    .destroy  = destroy,
};

const struct ggml_ext_kernel_desc cpu_pack_mul_mat = {
    .size      = sizeof(struct ggml_ext_kernel_desc),
    .name      = "cpu.pack.mul_mat",
    .op        = GGML_OP_MUL_MAT,
    .user_data = packed_row,
    .supports  = supports,
    .prepare   = prepare,
    .task      = task_run,
    .destroy   = destroy,
};
