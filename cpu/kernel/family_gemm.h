/* SPDX-License-Identifier: MIT
 *
 * Matrix products: formats + kernels. W has n rows of k weights in any number format, X has m rows of k activations,
 * and C[i][j] = sum over l of W[j][l] * X[i][l].
 *
 * Many rows of X: rows of W are decoded to a panel of one compute type, rows of X are packed once, and one GEMM of that
 * compute type multiplies them. A format brings its panel decoders, an instruction set its GEMM.
 *
 *   panel   row-major, rows of k values, a stride in bytes between rows
 *   pack    blocks of 16 rows of X, in a block the values of k in groups of `group`, in a group row after row:
 *           value (row i, depth l) of a block lies at (l / group * 16 + i) * group + l % group. Absent rows are 0.
 *
 * So the 16 rows of X are the vector lanes and weights are broadcast: decoders need no transposition.
 *
 * One row of X: a kernel for each format reads the rows of W as they lie in memory.
 */
#ifndef GRAFT_CPU_FAMILY_GEMM_H
#define GRAFT_CPU_FAMILY_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml.h"

#define CPU_GEMM_LANES 16 /* rows of X in a packed block */

/* How a GEMM stores its result. */
enum {
    CPU_GEMM_ADD    = 1, /* adds to C */
    CPU_GEMM_ACROSS = 2, /* panel rows are rows of C: C[j * c_stride + i], where the packed side holds the weights */
};

/* A GEMM of one compute type. */
struct cpu_gemm_kernel {
    int  group;   /* neighbours in k that lie together in a packed block: k is padded to a multiple of it with zeros */
    int  k_align; /* k of panel and pack is padded with zeros to a multiple of this */
    int  n_tile;  /* rows of W that one register tile takes: fewer waste time */
    bool native;  /* the processor has instructions for this type: false for the reference */
    /* C[i * c_stride + j] for packed rows i < m and panel rows j < n, k a multiple of k_align; pack_stride: bytes from
     * block to block; how: flags above. Panel rows up to the next multiple of n_tile are read, whatever they hold. */
    void (*multiply)(int64_t k, int64_t n, int64_t m, const void * panel, size_t panel_stride, const void * pack,
                     size_t pack_stride, float * c, size_t c_stride, int how);
    /* Packs one block of n <= 16 rows of k floats; k is padded with zeros to a multiple of k_align. */
    void (*pack)(int64_t k, int64_t n, const float * const * rows, void * out);
    /* Makes a panel row of k floats, padded likewise. */
    void (*row)(int64_t k, const float * x, void * out);
};

/* Decodes k weights of one row (whole blocks). */
typedef void (*cpu_panel_f32_fn)(int64_t k, const void * row, float * out);
typedef void (*cpu_panel_bf16_fn)(int64_t k, const void * row, uint16_t * out);

/* Activations of the one-row kernels. */
enum cpu_act {
    CPU_ACT_F32, /* k floats as they are */
    CPU_ACT_Q16, /* struct cpu_act_q16 blocks */
};

/* Sixteen-bit activations: x ~ scale * q, q = 256 * high + low, in two planes of signed bytes for u8 x s8 dot products.
 * A block holds 256 values; the last one of a row may be partly filled, then zeros follow. In the planes every 128
 * values are first those whose number mod 32 is under 16, then the others: so vector lanes of four bytes go with one
 * scale of a format for two steps. The sums of q serve formats with an offset; zeros stands before them so that one
 * vector holds both. */
#define CPU_ACT_BLOCK 256
struct cpu_act_q16 {
    int8_t high[CPU_ACT_BLOCK];
    int8_t low[CPU_ACT_BLOCK];
    float  zeros[8];
    float  sum32[CPU_ACT_BLOCK / 32]; /* of 32 neighbours */
    float  sum16[CPU_ACT_BLOCK / 16]; /* of 16 */
    float  scale;
    float  unused[31];
};

/* Where value l of a block stands in its planes. */
static inline int cpu_act_place(int l) {
    return (l & 128) | (l & 16) << 2 | (l & 96) >> 1 | (l & 15);
}

struct cpu_gemv_kernel {
    enum cpu_act act;
    /* y[j] = dot of row j of W (stride in bytes) and the activations, for j < n. */
    void (*multiply)(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y);
};

struct cpu_gemm_kernels {
    const struct cpu_gemm_kernel * f32;
    const struct cpu_gemm_kernel * bf16;
    cpu_panel_f32_fn               panel_f32[GGML_TYPE_COUNT];  /* NULL: by the format's decoder */
    cpu_panel_bf16_fn              panel_bf16[GGML_TYPE_COUNT]; /* NULL: by the format's decoder, then rounded */
    const struct cpu_gemv_kernel * gemv[GGML_TYPE_COUNT];       /* NULL: by the format's decoder and gemv of F32 */
    /* Of packed weights (pack/layout.h); NULL: the format is not packed on this processor. n is a multiple of 16; the
     * panel decoders turn 16 rows into a packed block. */
    cpu_panel_f32_fn               packed_f32[GGML_TYPE_COUNT];
    cpu_panel_bf16_fn              packed_bf16[GGML_TYPE_COUNT];
    const struct cpu_gemv_kernel * gemv_packed[GGML_TYPE_COUNT];
    void (*act_q16)(int64_t k, const float * x, struct cpu_act_q16 * out);
};

#endif /* GRAFT_CPU_FAMILY_GEMM_H */
