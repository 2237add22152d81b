/* SPDX-License-Identifier: MIT
 *
 * What the matrix products of the CPU (MUL_MAT, MUL_MAT_ID, OUT_PROD) share: rows of matrices of any format, and the
 * two ways to multiply them. See kernel/family_gemm.h for the layouts.
 */
#ifndef GRAFT_CPU_OP_MUL_MAT_H
#define GRAFT_CPU_OP_MUL_MAT_H

#include "ggml-ext.h"
#include "kernel/kernel.h"

/* One matrix of a tensor: rows of k values, stride bytes apart. */
struct matrix {
    enum ggml_type type;
    const char *   data;
    int64_t        k;
    size_t         step;   /* bytes between neighbours of a row; the type's size unless the row has gaps */
    size_t         stride; /* bytes between rows */
};

/* Matrix (i2, i3) of a tensor. */
struct matrix matrix_of(const struct ggml_tensor * t, int64_t i2, int64_t i3);

/* May rows of this tensor be read by matrix_row? */
bool matrix_readable(const struct ggml_tensor * t);

/* Values [first, first + count) of row i as F32: a pointer into the matrix where they lie so, else written to tmp.
 * first is a multiple of the format's block. */
const float * matrix_row(const struct matrix * a, int64_t i, int64_t first, int64_t count, float * tmp);

/* ---- many rows: panels and a GEMM ---- */

struct gemm_plan {
    const struct cpu_gemm_kernel * kernel;
    bool                           bf16;
    bool           packed;       /* W lies in the layout of pack/layout.h: it is the packed side, X the panel */
    enum ggml_type type;         /* of W */
    int64_t        k;            /* depth */
    int64_t        k_block;      /* of it decoded at once: a multiple of 256 unless it is all */
    int64_t        n_panel;      /* rows of W in a panel */
    size_t         panel_stride; /* bytes of a row of the panel, of W or X */
    size_t         pack_stride;  /* bytes of a block of 16 rows of X */
    size_t         worker_size;  /* panel and a row of F32 */
};

/* f32: activations are not to be rounded to BF16. */
struct gemm_plan gemm_plan_make(const struct ggml_tensor * w, bool packed, bool f32);

/* Bytes for so many blocks of 16 rows of X. */
size_t gemm_pack_size(const struct gemm_plan * plan, int64_t blocks);

/* Bytes that packing a block of this tensor needs besides: rows of F32, unless they lie so in memory. */
size_t gemm_pack_tmp(const struct gemm_plan * plan, const struct ggml_tensor * x);

/* Packs count <= 16 rows of X; see matrix_row for rows. */
void gemm_pack(const struct gemm_plan * plan, int64_t count, const float * const * rows, void * pack);

/* One run of rows of X and where their products go: C[i * c_stride + j]. */
struct gemm_run {
    const char * pack;
    float *      c;
    size_t       c_stride;
    int64_t      m;
};

/* C of rows [first, first + count) of W, count <= n_panel, and all runs; c points at column first. Packed: first is a
 * multiple of 16. */
void gemm_multiply(const struct gemm_plan * plan, const struct matrix * w, int64_t first, int64_t count,
                   const struct gemm_run * runs, int64_t n_runs, void * worker_memory);

/* ---- few rows: a kernel for each format ---- */

struct gemv_plan {
    const struct cpu_gemv_kernel * kernel;
    enum ggml_type                 type;
    int64_t                        k;
    bool                           decode;      /* W has no kernel: row by row to F32 */
    int64_t                        few;         /* up to so many rows of X this is the faster way */
    size_t                         act_size;    /* bytes of one encoded row of X, a multiple of 64 */
    size_t                         worker_size; /* a row of F32, or 0 */
};

struct gemv_plan gemv_plan_make(const struct ggml_tensor * w, bool packed);

/* Is a row of X used as it lies in memory? */
bool gemv_act_in_place(const struct gemv_plan * plan, const struct ggml_tensor * x);

/* Encodes row i of X; tmp: k floats unless X is plain F32. */
void gemv_encode(const struct gemv_plan * plan, const struct matrix * x, int64_t i, void * act, float * tmp);

/* y[i][j] = row first + j of W times act[i], for j < count, i < m. Packed: first and count are multiples of 16. */
void gemv_multiply(const struct gemv_plan * plan, const struct matrix * w, int64_t first, int64_t count,
                   const void * const * act, float * const * y, int64_t m, void * worker_memory);

#endif /* GRAFT_CPU_OP_MUL_MAT_H */
