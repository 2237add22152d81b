/* SPDX-License-Identifier: MIT
 *
 * The two ways to multiply rows, without tensors or threads: see mul_mat.h.
 */
#include <string.h>

#include "graft-module.h"
#include "op/mul_mat.h"

/* A panel is read again for every block of rows of X: it should stay in the second-level cache beside them. */
#define PANEL_BYTES    (128 * 1024)
#define PANEL_MAX_ROWS 96
#define K_BLOCK        2048 /* of it decoded at one time */

/* Up to this many rows of X the kernels of one row, row by row, are faster than decoding a panel. */
#define FEW_ROWS        6
#define FEW_ROWS_PACKED 12

struct matrix matrix_of(const struct ggml_tensor * t, int64_t i2, int64_t i3) {
    return (struct matrix){ .type   = t->type,
                            .data   = (const char *) t->data + (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3],
                            .k      = t->ne[0],
                            .step   = t->nb[0],
                            .stride = t->nb[1] };
}

bool matrix_readable(const struct ggml_tensor * t) {
    const bool plain   = t->nb[0] == ggml_type_size(t->type);
    const bool integer = t->type >= GGML_TYPE_I8 && t->type <= GGML_TYPE_I64; /* these hold indexes, not weights */
    return !integer && graft_type_decoder(t->type) != NULL && (plain || ggml_blck_size(t->type) == 1);
}

static bool has_gaps(const struct matrix * a) {
    return a->step != ggml_type_size(a->type);
}

/* Values of a row with gaps, in groups small enough for the stack. */
static void gather_row(const struct matrix * a, const char * from, int64_t count, float * out) {
    enum { GROUP = 64 };
    char                  group[GROUP * sizeof(double)];
    const size_t          size   = ggml_type_size(a->type);
    const ggml_to_float_t decode = graft_type_decoder(a->type);
    for (int64_t l = 0; l < count; l += GROUP) {
        const int64_t n = count - l < GROUP ? count - l : GROUP;
        for (int64_t i = 0; i < n; ++i) {
            memcpy(group + (size_t) i * size, from + (size_t) (l + i) * a->step, size);
        }
        decode(group, out + l, n);
    }
}

static const char * row_address(const struct matrix * a, int64_t i, int64_t first) {
    return a->data + (size_t) i * a->stride + (size_t) (first / ggml_blck_size(a->type)) * a->step;
}

const float * matrix_row(const struct matrix * a, int64_t i, int64_t first, int64_t count, float * tmp) {
    const char * from = row_address(a, i, first);
    if (has_gaps(a)) {
        gather_row(a, from, count, tmp);
        return tmp;
    }
    if (a->type == GGML_TYPE_F32) {
        return (const float *) from;
    }
    if ((unsigned) a->type < GGML_TYPE_COUNT && cpu_kernels.gemm.panel_f32[a->type] != NULL) {
        cpu_kernels.gemm.panel_f32[a->type](count, from, tmp);
    } else {
        graft_type_decoder(a->type)(from, tmp, count);
    }
    return tmp;
}

/* ---- many rows ---- */

static int64_t round_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

struct gemm_plan gemm_plan_make(const struct ggml_tensor * w, bool packed, bool f32) {
    struct gemm_plan p     = { .type = w->type, .k = w->ne[0], .packed = packed };
    const bool       exact = w->type == GGML_TYPE_F32 || w->type == GGML_TYPE_F16 || w->type == GGML_TYPE_F64;
    p.bf16                 = cpu_kernels.gemm.bf16->native && !exact && !f32;
    p.kernel               = p.bf16 ? cpu_kernels.gemm.bf16 : cpu_kernels.gemm.f32;
    const int64_t element = p.bf16 ? 2 : 4, tile = packed ? 32 : p.kernel->n_tile;
    const int64_t k_padded = round_up(p.k, p.kernel->k_align);
    p.k_block              = k_padded <= K_BLOCK ? p.k : K_BLOCK;
    /* 64 bytes more than a row, so that the rows of a tile do not fall into the same sets of the first-level cache. */
    const int64_t row  = round_up((packed ? k_padded : round_up(p.k_block, p.kernel->k_align)) * element + 64, 64);
    p.panel_stride     = (size_t) row;
    p.pack_stride      = (size_t) (packed ? row : k_padded * element) * CPU_GEMM_LANES;
    int64_t rows       = PANEL_BYTES / (p.k_block * element + 64);
    rows               = rows > PANEL_MAX_ROWS ? PANEL_MAX_ROWS : rows;
    rows               = rows > w->ne[1] / 8 ? w->ne[1] / 8 : rows; /* enough panels to share out */
    p.n_panel          = rows < 2 * tile ? round_up(16, tile) : rows / tile * tile;
    const size_t w_row = packed ? (size_t) (round_up(p.k_block, p.kernel->k_align) * element) : p.panel_stride;
    p.worker_size      = (size_t) p.n_panel * w_row + (size_t) round_up(p.k_block * 4, 64);
    return p;
}

size_t gemm_pack_size(const struct gemm_plan * plan, int64_t blocks) {
    /* A tile of panel rows reads behind the last one. */
    return (size_t) blocks * plan->pack_stride +
           (plan->packed ? (size_t) plan->kernel->n_tile * plan->panel_stride : 0);
}

size_t gemm_pack_tmp(const struct gemm_plan * plan, const struct ggml_tensor * x) {
    const bool plain = x->type == GGML_TYPE_F32 && x->nb[0] == sizeof(float);
    return plain ? 0 : (size_t) plan->k * CPU_GEMM_LANES * sizeof(float);
}

void gemm_pack(const struct gemm_plan * plan, int64_t count, const float * const * rows, void * pack) {
    if (!plan->packed) {
        plan->kernel->pack(plan->k, count, rows, pack);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        plan->kernel->row(plan->k, rows[i], (char *) pack + (size_t) i * plan->panel_stride);
    }
}

static void round_row(const float * in, int64_t n, uint16_t * out) {
    for (int64_t i = 0; i < n; ++i) {
        out[i] = ggml_fp32_to_bf16(in[i]).bits;
    }
}

/* Values [first, first + count) of row i into a row of the panel, padded with zeros. */
static void decode_row(const struct gemm_plan * plan, const struct matrix * w, int64_t i, int64_t first, int64_t count,
                       char * out, float * tmp) {
    const cpu_panel_bf16_fn direct = plan->bf16 && !has_gaps(w) && (unsigned) w->type < GGML_TYPE_COUNT
                                         ? cpu_kernels.gemm.panel_bf16[w->type]
                                         : NULL;
    if (direct != NULL) {
        direct(count, row_address(w, i, first), (uint16_t *) out);
    } else if (plan->bf16) {
        round_row(matrix_row(w, i, first, count, tmp), count, (uint16_t *) out);
    } else {
        const float * row = matrix_row(w, i, first, count, (float *) out);
        if (row != (float *) out) {
            memcpy(out, row, (size_t) count * sizeof(float));
        }
    }
    const int64_t element = plan->bf16 ? 2 : 4, padded = round_up(count, plan->kernel->k_align);
    if (padded > count) {
        memset(out + count * element, 0, (size_t) ((padded - count) * element));
    }
}

/* Values [first, first + count) of 16 packed rows into a packed block. */
static void decode_group(const struct gemm_plan * plan, const struct matrix * w, int64_t i, int64_t first,
                         int64_t count, char * out) {
    const size_t at   = (size_t) (first / ggml_blck_size(w->type)) * ggml_type_size(w->type) * CPU_GEMM_LANES;
    const char * from = w->data + (size_t) i * w->stride + at;
    if (plan->bf16) {
        cpu_kernels.gemm.packed_bf16[w->type](count, from, (uint16_t *) out);
    } else {
        cpu_kernels.gemm.packed_f32[w->type](count, from, (float *) out);
    }
}

/* Depth [l, l + depth) of packed weights: the formats' blocks need no padding. */
static void multiply_packed(const struct gemm_plan * plan, const struct matrix * w, int64_t first, int64_t count,
                            int64_t l, int64_t depth, const struct gemm_run * runs, int64_t n_runs, char * panel) {
    const int64_t element = plan->bf16 ? 2 : 4;
    const size_t  block   = (size_t) (depth * element * CPU_GEMM_LANES);
    for (int64_t j = 0; j < count; j += CPU_GEMM_LANES) {
        decode_group(plan, w, first + j, l, depth, panel + (size_t) (j / CPU_GEMM_LANES) * block);
    }
    for (int64_t r = 0; r < n_runs; ++r) {
        plan->kernel->multiply(depth, runs[r].m, count, runs[r].pack + l * element, plan->panel_stride, panel, block,
                               runs[r].c, runs[r].c_stride, CPU_GEMM_ACROSS | (l > 0 ? CPU_GEMM_ADD : 0));
    }
}

static void multiply_plain(const struct gemm_plan * plan, const struct matrix * w, int64_t first, int64_t count,
                           int64_t l, int64_t depth, const struct gemm_run * runs, int64_t n_runs, char * panel) {
    float *       tmp     = (float *) (panel + (size_t) plan->n_panel * plan->panel_stride);
    const int64_t element = plan->bf16 ? 2 : 4;
    for (int64_t j = 0; j < count; ++j) {
        decode_row(plan, w, first + j, l, depth, panel + (size_t) j * plan->panel_stride, tmp);
    }
    for (int64_t r = 0; r < n_runs; ++r) {
        plan->kernel->multiply(round_up(depth, plan->kernel->k_align), count, runs[r].m, panel, plan->panel_stride,
                               runs[r].pack + l * element * CPU_GEMM_LANES, plan->pack_stride, runs[r].c,
                               runs[r].c_stride, l > 0 ? CPU_GEMM_ADD : 0);
    }
}

void gemm_multiply(const struct gemm_plan * plan, const struct matrix * w, int64_t first, int64_t count,
                   const struct gemm_run * runs, int64_t n_runs, void * worker_memory) {
    int64_t l = 0;
    do { /* once at least: a depth of 0 gives zeros */
        const int64_t depth = plan->k - l < plan->k_block ? plan->k - l : plan->k_block;
        if (plan->packed) {
            multiply_packed(plan, w, first, count, l, depth, runs, n_runs, worker_memory);
        } else {
            multiply_plain(plan, w, first, count, l, depth, runs, n_runs, worker_memory);
        }
        l += plan->k_block;
    } while (l < plan->k);
}

/* ---- few rows ---- */

struct gemv_plan gemv_plan_make(const struct ggml_tensor * w, bool packed) {
    struct gemv_plan p     = { .type = w->type, .k = w->ne[0], .few = packed ? FEW_ROWS_PACKED : FEW_ROWS };
    const bool       plain = w->nb[0] == ggml_type_size(w->type) && (unsigned) w->type < GGML_TYPE_COUNT;
    p.kernel = packed ? cpu_kernels.gemm.gemv_packed[w->type] : plain ? cpu_kernels.gemm.gemv[w->type] : NULL;
    p.decode = p.kernel == NULL;
    if (p.decode) {
        p.kernel = cpu_kernels.gemm.gemv[GGML_TYPE_F32];
    }
    const size_t floats = (size_t) round_up(p.k * 4, 64);
    p.act_size          = p.kernel->act == CPU_ACT_F32
                              ? floats
                              : (size_t) (round_up(p.k, CPU_ACT_BLOCK) / CPU_ACT_BLOCK) * sizeof(struct cpu_act_q16);
    p.worker_size       = p.decode ? floats : 0;
    return p;
}

bool gemv_act_in_place(const struct gemv_plan * plan, const struct ggml_tensor * x) {
    return plan->kernel->act == CPU_ACT_F32 && x->type == GGML_TYPE_F32 && x->nb[0] == sizeof(float);
}

void gemv_encode(const struct gemv_plan * plan, const struct matrix * x, int64_t i, void * act, float * tmp) {
    if (plan->kernel->act == CPU_ACT_F32) {
        const float * row = matrix_row(x, i, 0, plan->k, act);
        if (row != act) {
            memcpy(act, row, (size_t) plan->k * sizeof(float));
        }
    } else {
        cpu_kernels.gemm.act_q16(plan->k, matrix_row(x, i, 0, plan->k, tmp), act);
    }
}

void gemv_multiply(const struct gemv_plan * plan, const struct matrix * w, int64_t first, int64_t count,
                   const void * const * act, float * const * y, int64_t m, void * worker_memory) {
    if (plan->decode) {
        for (int64_t j = 0; j < count; ++j) {
            const float * row = matrix_row(w, first + j, 0, plan->k, worker_memory);
            for (int64_t i = 0; i < m; ++i) {
                plan->kernel->multiply(plan->k, 1, row, 0, act[i], y[i] + j);
            }
        }
        return;
    }
    /* Rows of W are read from memory once and, for every further row of X, from the first-level cache. */
    const int64_t group = m == 1 ? count : 16;
    for (int64_t j = 0; j < count; j += group) {
        const int64_t n = count - j < group ? count - j : group;
        for (int64_t i = 0; i < m; ++i) {
            plan->kernel->multiply(plan->k, n, row_address(w, first + j, 0), w->stride, act[i], y[i] + j);
        }
    }
}
