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
 * One query: keys are rows of dot products, values are added up scaled; F16 rows are read as they lie.
 */
#ifndef GRAFT_CPU_FAMILY_ATTENTION_H
#define GRAFT_CPU_FAMILY_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "ggml.h"

#define CPU_ATTENTION_LANES 16
#define CPU_ATTENTION_BLOCK 64 /* keys at a time */

/* What the scores of a row have gone through so far, by lane: the greatest one, and the sum of exp(score - greatest). A
 * row that has seen no key has -infinity and 0. */
struct cpu_attention_state {
    float max[CPU_ATTENTION_LANES];
    float sum[CPU_ATTENTION_LANES];
};

/* score = cap * tanh(dot * scale) when cap > 0 (scale is then the scale over cap), else dot * scale; then mask * slope is added. */
struct cpu_attention_logit {
    float scale, cap;
    float slope[CPU_ATTENTION_LANES];
};

struct cpu_attention_kernels {
    /* s[j][i] = sum over l of q[l][i] * k[j][l]; rows of k k_stride floats apart. d > 0. */
    void (*scores)(int64_t d, int64_t n, const float * q, const float * k, size_t k_stride, float * s);
    /* Turns scores into exp(score - max) in place, mask[j][16] added if not NULL, and brings the state up to date. shrink[16] becomes
     * the factor for what was summed before, exp(old max - new max). */
    void (*weights)(int64_t n, float * s, const float * mask, const struct cpu_attention_logit * logit,
                    struct cpu_attention_state * state, float * shrink);
    /* o[l][i] = o[l][i] * shrink[i] + sum over j of p[j][i] * v[j][l]. */
    void (*accumulate)(int64_t d, int64_t n, const float * p, const float * v, size_t v_stride, const float * shrink, float * o);

    /* One query: s[j] = sum over l of q[l] * k[j][l], rows of k k_stride bytes apart. */
    void (*row_scores_f16)(int64_t d, int64_t n, const float * q, const void * k, size_t k_stride, float * s);
    void (*row_scores_f32)(int64_t d, int64_t n, const float * q, const void * k, size_t k_stride, float * s);
    /* o[l] = o[l] * shrink + sum over j of p[j] * v[j][l]. */
    void (*row_accumulate_f16)(int64_t d, int64_t n, const float * p, const void * v, size_t v_stride, float shrink, float * o);
    void (*row_accumulate_f32)(int64_t d, int64_t n, const float * p, const void * v, size_t v_stride, float shrink, float * o);
};

#endif /* GRAFT_CPU_FAMILY_ATTENTION_H */
