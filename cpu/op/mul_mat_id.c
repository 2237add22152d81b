/* SPDX-License-Identifier: MIT
 *
 * MUL_MAT_ID: dst[:, u, t] = as[:, :, ids[u, t]]^T b[:, u mod b1, t]: each token t goes through the experts that its
 * row of ids names. Rows are sorted by expert first, so that an expert's weights are decoded once for all of its rows.
 *
 * Errors as in mul_mat.c; an id outside of the experts is an error status.
 */
#include <stdlib.h>
#include <string.h>

#include "graft-module.h"
#include "op/mul_mat.h"
#include "pack/pack.h"

/* Up to this many tokens the kernels of few rows run. */
#define FEW_TOKENS 6
#define PACK_BYTES (2 << 20)
#define TINY_WORK  16384

/* Up to 16 rows of one expert. */
struct id_block {
    int32_t expert, first, count; /* rows order[first .. first + count) */
};

struct mul_mat_id_plan {
    bool             few;
    bool             in_place;
    struct gemm_plan gemm;
    struct gemv_plan gemv;
    int64_t          max_blocks;                   /* of all experts */
    int64_t          piece;                        /* blocks packed at one time */
    size_t           order_at, blocks_at, data_at; /* offsets in the workspace, which begins with struct id_table */
    size_t           result_at, tmp_at;            /* offsets in a worker's memory */
};

struct id_table {
    int64_t n_blocks;
    bool    failed;
};

struct id_job {
    const struct mul_mat_id_plan * plan;
    struct ggml_ext_task *         task;
    const struct ggml_tensor *     dst;
    struct id_table *              table;
    int32_t *                      order; /* rows u + t * n_used, by expert */
    struct id_block *              blocks;
    char *                         data;
};

static int32_t id_at(const struct ggml_tensor * ids, int64_t row) {
    const int64_t u = row % ids->ne[0], t = row / ids->ne[0];
    int32_t       id;
    memcpy(&id, (const char *) ids->data + (size_t) u * ids->nb[0] + (size_t) t * ids->nb[1], sizeof(id));
    return id;
}

static float * dst_row(const struct ggml_tensor * dst, int64_t row) {
    const int64_t u = row % dst->ne[1], t = row / dst->ne[1];
    return (float *) ((char *) dst->data + (size_t) u * dst->nb[1] + (size_t) t * dst->nb[2]);
}

/* Sorts rows by expert, in their order within an expert, and cuts them into blocks. */
static enum ggml_status sort_rows(const struct id_job * job) {
    const struct ggml_tensor * ids  = job->dst->src[2];
    const int64_t              rows = ids->ne[0] * ids->ne[1], experts = job->dst->src[0]->ne[2];
    for (int64_t row = 0; row < rows; ++row) {
        const int32_t id = id_at(ids, row);
        if (id < 0 || id >= experts) {
            return graft_fail(GGML_STATUS_FAILED, "MUL_MAT_ID %s: expert %d of row %lld, but there are %lld experts",
                              job->dst->name, id, (long long) row, (long long) experts);
        }
    }
    int32_t at           = 0;
    job->table->n_blocks = 0;
    const int32_t per    = job->plan->few ? FEW_TOKENS : CPU_GEMM_LANES;
    for (int32_t e = 0; e < experts; ++e) {
        const int32_t first = at;
        for (int64_t row = 0; row < rows; ++row) {
            if (id_at(ids, row) == e) {
                job->order[at++] = (int32_t) row;
            }
        }
        for (int32_t i = first; i < at; i += per) {
            job->blocks[job->table->n_blocks++] = (struct id_block){ e, i, at - i < per ? at - i : per };
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* Row of b for a row of dst, as F32. */
static const float * b_row(const struct id_job * job, int64_t row, float * tmp) {
    const struct ggml_tensor * b = job->dst->src[1];
    const int64_t              u = row % job->dst->ne[1] % b->ne[1], t = row / job->dst->ne[1];
    const struct matrix        x = matrix_of(b, t, 0);
    return matrix_row(&x, u, 0, b->ne[0], tmp);
}

/* ---- many rows ---- */

static void pack_blocks(const struct id_job * job, int64_t first, int64_t count) {
    const struct gemm_plan * gemm = &job->plan->gemm;
    float *                  tmp  = (float *) ((char *) job->task->worker_memory + job->plan->tmp_at);
    for (int64_t q; (q = job->task->next(job->task, count)) >= 0;) {
        const struct id_block * block = &job->blocks[first + q];
        const float *           rows[CPU_GEMM_LANES];
        for (int32_t i = 0; i < block->count; ++i) {
            rows[i] = b_row(job, job->order[block->first + i], tmp + i * gemm->k);
        }
        gemm_pack(gemm, block->count, rows, job->data + (size_t) q * gemm->pack_stride);
    }
}

/* One panel times neighbouring blocks of one expert; the products are scattered to their rows. */
static void multiply_blocks(const struct id_job * job, int64_t piece_first, int64_t first, int64_t last,
                            int64_t panel) {
    enum { RUNS = 16 };
    const struct gemm_plan * gemm   = &job->plan->gemm;
    float *                  result = (float *) ((char *) job->task->worker_memory + job->plan->result_at);
    const int64_t            col    = panel * gemm->n_panel;
    const int64_t            cols   = job->dst->ne[0] - col < gemm->n_panel ? job->dst->ne[0] - col : gemm->n_panel;
    const struct matrix      w      = matrix_of(job->dst->src[0], job->blocks[first].expert, 0);
    for (; first < last; first += RUNS) {
        struct gemm_run runs[RUNS];
        const int64_t   n = last - first < RUNS ? last - first : RUNS;
        for (int64_t r = 0; r < n; ++r) {
            runs[r] = (struct gemm_run){ .pack     = job->data + (size_t) (first + r - piece_first) * gemm->pack_stride,
                                         .c        = result + r * CPU_GEMM_LANES * gemm->n_panel,
                                         .c_stride = (size_t) gemm->n_panel,
                                         .m        = job->blocks[first + r].count };
        }
        gemm_multiply(gemm, &w, col, cols, runs, n, job->task->worker_memory);
        for (int64_t r = 0; r < n; ++r) {
            const struct id_block * block = &job->blocks[first + r];
            for (int32_t i = 0; i < block->count; ++i) {
                memcpy(dst_row(job->dst, job->order[block->first + i]) + col, runs[r].c + i * gemm->n_panel,
                       (size_t) cols * sizeof(float));
            }
        }
    }
}

/* The end of the run of blocks of one expert that begins at first. */
static int64_t expert_end(const struct id_job * job, int64_t first, int64_t last) {
    int64_t end = first + 1;
    while (end < last && job->blocks[end].expert == job->blocks[first].expert) {
        ++end;
    }
    return end;
}

static void multiply_piece(const struct id_job * job, int64_t first, int64_t last) {
    const int64_t panels = (job->dst->ne[0] + job->plan->gemm.n_panel - 1) / job->plan->gemm.n_panel;
    int64_t       n      = 0;
    for (int64_t q = first; q < last; q = expert_end(job, q, last)) {
        ++n;
    }
    int64_t at = first, index = 0;
    for (int64_t u; (u = job->task->next(job->task, n * panels)) >= 0;) {
        for (; index < u / panels; ++index) { /* chunks come in ascending order */
            at = expert_end(job, at, last);
        }
        multiply_blocks(job, first, at, expert_end(job, at, last), u % panels);
    }
}

static void run_many(const struct id_job * job) {
    for (int64_t q = 0; q < job->table->n_blocks; q += job->plan->piece) {
        const int64_t left = job->table->n_blocks - q, count = left < job->plan->piece ? left : job->plan->piece;
        pack_blocks(job, q, count);
        job->task->barrier(job->task);
        multiply_piece(job, q, q + count);
        job->task->barrier(job->task);
    }
}

/* ---- few rows ---- */

static const void * act_of(const struct id_job * job, int64_t row) {
    const struct ggml_tensor * b = job->dst->src[1];
    const int64_t              u = row % job->dst->ne[1] % b->ne[1], t = row / job->dst->ne[1];
    if (job->plan->in_place) {
        return (const char *) b->data + (size_t) u * b->nb[1] + (size_t) t * b->nb[2];
    }
    return job->data + (size_t) (t * b->ne[1] + u) * job->plan->gemv.act_size;
}

static void encode_rows(const struct id_job * job) {
    const struct ggml_tensor * b   = job->dst->src[1];
    float *                    tmp = (float *) ((char *) job->task->worker_memory + job->plan->tmp_at);
    for (int64_t q; !job->plan->in_place && (q = job->task->next(job->task, b->ne[1] * b->ne[2])) >= 0;) {
        const struct matrix x = matrix_of(b, q / b->ne[1], 0);
        gemv_encode(&job->plan->gemv, &x, q % b->ne[1], job->data + (size_t) q * job->plan->gemv.act_size, tmp);
    }
}

static void run_few(const struct id_job * job) {
    const struct ggml_tensor * dst   = job->dst;
    const int64_t              lines = (dst->ne[0] + 15) / 16;
    const int64_t              want =
        job->task->nth == 1 ? 1 : (4 * job->task->nth + job->table->n_blocks - 1) / job->table->n_blocks;
    const int64_t ranges = want > lines ? lines : want;
    for (int64_t v; (v = job->task->next(job->task, job->table->n_blocks * ranges)) >= 0;) {
        const struct id_block * block = &job->blocks[v / ranges];
        const int64_t       first = lines * (v % ranges) / ranges * 16, end = lines * (v % ranges + 1) / ranges * 16;
        const struct matrix w = matrix_of(dst->src[0], block->expert, 0);
        const void *        act[FEW_TOKENS];
        float *             y[FEW_TOKENS];
        for (int32_t i = 0; i < block->count; ++i) {
            act[i] = act_of(job, job->order[block->first + i]);
            y[i]   = dst_row(dst, job->order[block->first + i]) + first;
        }
        gemv_multiply(&job->plan->gemv, &w, first, (end < dst->ne[0] ? end : dst->ne[0]) - first, act, y, block->count,
                      job->task->worker_memory);
    }
}

/* ---- the row ---- */

/* user_data of the row for packed weights; NULL for plain ones. */
static char packed_row[] = "packed";

/* A node may have been changed by hand since its builder checked it. */
static bool extents_fit(const struct ggml_tensor * a, const struct ggml_tensor * b, const struct ggml_tensor * ids,
                        const struct ggml_tensor * dst) {
    return a->ne[0] == b->ne[0] && a->ne[3] == 1 && b->ne[3] == 1 && ids->ne[1] == b->ne[2] && ids->ne[2] == 1 &&
           ids->ne[3] == 1 && b->ne[1] > 0 && ids->ne[0] % b->ne[1] == 0 && dst->ne[0] == a->ne[1] &&
           dst->ne[1] == ids->ne[0] && dst->ne[2] == b->ne[2] && dst->ne[3] == 1;
}

static bool supports(void * user_data, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) device;
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    return a != NULL && b != NULL && node->src[2] != NULL && node->src[2]->type == GGML_TYPE_I32 &&
           extents_fit(a, b, node->src[2], node) &&
           node->type == GGML_TYPE_F32 && node->nb[0] == sizeof(float) && matrix_readable(a) && matrix_readable(b) &&
           !cpu_pack_holds(b) && (user_data == NULL ? !cpu_pack_holds(a) : cpu_pack_holds(a) && cpu_pack_packs(a));
}

static size_t align_64(size_t n) {
    return (n + 63) / 64 * 64;
}

static enum ggml_status prepare(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes,
                                int n, void ** plan_out, struct ggml_ext_need * need) {
    (void) backend;
    (void) n;
    const bool                 packed = user_data != NULL;
    const struct ggml_tensor * dst    = nodes[0];
    const struct ggml_tensor * a      = dst->src[0];
    const struct ggml_tensor * b      = dst->src[1];
    const int64_t              rows = dst->ne[1] * dst->ne[2], tokens = dst->ne[2];
    if (rows > INT32_MAX) {
        return graft_fail(GGML_STATUS_FAILED, "MUL_MAT_ID %s: %lld rows are too many", dst->name, (long long) rows);
    }
    cpu_kernels_init();
    struct mul_mat_id_plan * plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return graft_fail(GGML_STATUS_ALLOC_FAILED, "MUL_MAT_ID %s: no memory for its plan", dst->name);
    }
    *plan_out        = plan;
    plan->few        = tokens <= FEW_TOKENS;
    plan->gemm       = gemm_plan_make(a, packed, dst->op_params[0] == GGML_PREC_F32);
    plan->gemv       = gemv_plan_make(a, packed);
    plan->in_place   = gemv_act_in_place(&plan->gemv, b);
    plan->order_at   = align_64(sizeof(struct id_table));
    plan->max_blocks = rows / (plan->few ? FEW_TOKENS : CPU_GEMM_LANES) + (rows < a->ne[2] ? rows : a->ne[2]);
    plan->blocks_at  = align_64(plan->order_at + (size_t) rows * sizeof(int32_t));
    plan->data_at    = align_64(plan->blocks_at + (size_t) plan->max_blocks * sizeof(struct id_block));
    if (plan->few) {
        plan->tmp_at      = align_64(plan->gemv.worker_size);
        need->worker_size = plan->tmp_at + (size_t) a->ne[0] * sizeof(float);
        need->workspace_size =
            plan->data_at + (plan->in_place ? 0 : (size_t) (b->ne[1] * b->ne[2]) * plan->gemv.act_size);
    } else {
        const int64_t fit = PACK_BYTES / (int64_t) (plan->gemm.pack_stride + 1) + 1;
        plan->piece       = fit > plan->max_blocks ? plan->max_blocks : fit;
        plan->result_at   = align_64(plan->gemm.worker_size);
        plan->tmp_at = align_64(plan->result_at + 16 * CPU_GEMM_LANES * (size_t) plan->gemm.n_panel * sizeof(float));
        need->worker_size    = plan->tmp_at + gemm_pack_tmp(&plan->gemm, b);
        need->workspace_size = plan->data_at + gemm_pack_size(&plan->gemm, plan->piece);
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
    const struct mul_mat_id_plan * p   = plan;
    char *                         at  = task->workspace;
    const struct id_job            job = { .plan   = p,
                                           .task   = task,
                                           .dst    = nodes[0],
                                           .table  = task->workspace,
                                           .order  = (int32_t *) (at + p->order_at),
                                           .blocks = (struct id_block *) (at + p->blocks_at),
                                           .data   = at + p->data_at };
    if (ggml_nelements(nodes[0]) == 0) {
        return GGML_STATUS_SUCCESS;
    }
    enum ggml_status status = GGML_STATUS_SUCCESS;
    if (task->ith == 0) {
        status            = sort_rows(&job);
        job.table->failed = status != GGML_STATUS_SUCCESS;
    }
    if (p->few) {
        encode_rows(&job);
    }
    task->barrier(task);
    if (job.table->failed) {
        return status;
    }
    if (p->few) {
        run_few(&job);
    } else {
        run_many(&job);
    }
    return status;
}

static void destroy(void * user_data, void * plan) {
    (void) user_data;
    free(plan);
}

const struct ggml_ext_kernel_desc cpu_op_mul_mat_id = {
    .size     = sizeof(struct ggml_ext_kernel_desc),
    .name     = "cpu.mul_mat_id",
    .op       = GGML_OP_MUL_MAT_ID,
    .supports = supports,
    .prepare  = prepare,
    .task     = task_run,
    .destroy  = destroy,
};

const struct ggml_ext_kernel_desc cpu_pack_mul_mat_id = {
    .size      = sizeof(struct ggml_ext_kernel_desc),
    .name      = "cpu.pack.mul_mat_id",
    .op        = GGML_OP_MUL_MAT_ID,
    .user_data = packed_row,
    .supports  = supports,
    .prepare   = prepare,
    .task      = task_run,
    .destroy   = destroy,
};
