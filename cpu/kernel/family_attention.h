/* SPDX-License-Identifier: MIT
 *
 * Attention in one pass over blocks of keys and values (online softmax: Milakov and Gimelshein 2018, Dao et al. 2022), all
 * in F32.
 *
 * Many queries: 16 rows of queries are the lanes of vectors. Queries, scores and results lie lane by lane,
 *
 *     q[l][16]   l < d        s[j][16]   j < n keys        o[l][16]   l < d
 *
 * and keys and values are broadcast, so that maxima, exponentials and sums of the softmax need no step across lanes.
 *
 * Few queries: up to four rows share every key and value that is read; scores are dot products along the key, results are
 * sums of scaled values, and F16 rows are read as they lie.
 *
 * Scores are in units of ln 2, so that a weight is a power of two: the caller has put the factor 1/ln 2 in its scale.
 */
#ifndef GRAFT_CPU_FAMILY_ATTENTION_H
#define GRAFT_CPU_FAMILY_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "ggml.h"

#define CPU_ATTENTION_LANES 16
#define CPU_ATTENTION_ROWS  4
#define CPU_ATTENTION_BLOCK 64 /* keys at a time in the row kernels, at most: scores of a row lie so far apart */

/* What the scores of a row have gone through so far, by lane: the greatest one, and the sum of 2^(score - greatest). A
 * row that has seen no key has -infinity and 0. */
struct cpu_attention_state {
    float max[CPU_ATTENTION_LANES];
    float sum[CPU_ATTENTION_LANES];
};

/* score = cap * tanh(dot * scale) when cap > 0, else dot * scale; then mask * slope is added. slope > 0. */
struct cpu_attention_logit {
    float scale, cap;
    float slope[CPU_ATTENTION_LANES];
};

/* The same for one row. */
struct cpu_attention_row {
    float scale, cap, slope;
    float max, sum;
};

/* s[r][j] = sum over l of q[r][l] * k[j][l] for rows r < CPU_ATTENTION_ROWS and keys j < n <= CPU_ATTENTION_BLOCK; rows of k are
 * k_stride bytes apart. */
typedef void (*cpu_attention_row_scores_fn)(int64_t d, int rows, int64_t n, const float * const * q, const void * k,
                                            size_t k_stride, float (*s)[CPU_ATTENTION_BLOCK]);
/* o[r][l] = o[r][l] * shrink[r] + sum over j of p[r][j] * v[j][l]. */
typedef void (*cpu_attention_row_accumulate_fn)(int64_t d, int rows, int64_t n, const float (*p)[CPU_ATTENTION_BLOCK],
                                                const void * v, size_t v_stride, const float * shrink, float * const * o);

struct cpu_attention_kernels {
    /* s[j][i] = sum over l of q[l][i] * k[j][l]; rows of k k_stride floats apart. */
    void (*scores)(int64_t d, int64_t n, const float * q, const float * k, size_t k_stride, float * s);
    /* Turns dot products into weights 2^(score - max) in place, mask[j][16] added if not NULL, and brings the state up to
     * date. shrink[16] becomes the factor for what was summed before, 2^(old max - new max). */
    void (*weights)(int64_t n, float * s, const float * mask, const struct cpu_attention_logit * logit,
                    struct cpu_attention_state * state, float * shrink);
    /* o[l][i] = o[l][i] * shrink[i] + sum over j of p[j][i] * v[j][l]. */
    void (*accumulate)(int64_t d, int64_t n, const float * p, const float * v, size_t v_stride, const float * shrink, float * o);

    cpu_attention_row_scores_fn row_scores_f16, row_scores_f32;
    /* As weights, for one row; returns shrink. n <= CPU_ATTENTION_BLOCK; s has room for n rounded up to 16. */
    float (*row_weights)(int64_t n, float * s, const ggml_fp16_t * mask, struct cpu_attention_row * row);
    cpu_attention_row_accumulate_fn row_accumulate_f16, row_accumulate_f32;
};

#endif /* GRAFT_CPU_FAMILY_ATTENTION_H */
