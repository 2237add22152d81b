/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT: what its two ways share. A unit is the query heads that read one head of keys and one of values. Its rows
 * are query after query, of each all heads: so neighbours share the mask.
 */
#ifndef GRAFT_CPU_FLASH_ATTN_H
#define GRAFT_CPU_FLASH_ATTN_H

#include "op.h"

#define FLASH_ATTN_MASKED 0xFC00 /* -infinity in F16 */

struct flash_attn {
    const struct ggml_tensor *q, *k, *v, *mask, *sinks, *dst;
    int64_t                   d, dv, n, m; /* head sizes, queries, keys */
    int64_t                   heads, units, batch;
    int64_t                   group, rows; /* query heads and rows of a unit */
    float                     scale, cap, max_bias; /* scale and cap for scores in units of ln 2 */
};

struct flash_attn flash_attn_of(const struct ggml_tensor * node);

/* A row of a unit: where its numbers are. */
struct flash_attn_row {
    int64_t             head;
    const float *       q;
    float *             dst;
    const ggml_fp16_t * mask; /* NULL: there is none */
};

struct flash_attn_row flash_attn_row_of(const struct flash_attn * a, int64_t batch, int64_t unit, int64_t r);

/* The slope of the mask (ALiBi), in units of ln 2. */
float flash_attn_slope(const struct flash_attn * a, int64_t head);

/* Key or value `first` of a unit. */
static inline const char * flash_attn_at(const struct flash_attn * a, const struct ggml_tensor * t, int64_t batch, int64_t unit,
                                         int64_t first) {
    return op_row(t, first, unit * t->ne[2] / a->units, batch * t->ne[3] / a->batch);
}

/* n rows of keys or values from `at` on as floats, *stride floats apart: as they lie, or in room, which has stride `step`. */
const float * flash_attn_floats(const struct ggml_tensor * t, const char * at, int64_t n, float * room, size_t step,
                                size_t * stride);

/* Asks for n rows of `size` bytes before they are needed: they lie in pieces that the processor does not foresee. */
void flash_attn_prefetch(const void * at, size_t size, size_t stride, int64_t n);

/* Adds the sink of a head, a score without a value, to a row's greatest score and sum; returns the factor that turns the
 * row's sum of values into its result. Rows that see no key are 0, with a sink as well. */
float flash_attn_finish(const struct flash_attn * a, int64_t head, float max, float sum);

/* Do all of n values equal one? */
bool flash_attn_all(const ggml_fp16_t * row, int64_t n, ggml_fp16_t value);

/* Many queries: tiles of 16 rows. Few: row by row, the keys cut into chunks. */
void             flash_attn_prepare_tiles(const struct flash_attn * a, struct ggml_ext_need * need);
enum ggml_status flash_attn_run_tiles(const struct flash_attn * a, struct ggml_ext_task * task);
void             flash_attn_prepare_rows(const struct flash_attn * a, struct ggml_ext_need * need);
enum ggml_status flash_attn_run_rows(const struct flash_attn * a, struct ggml_ext_task * task);

#endif /* GRAFT_CPU_FLASH_ATTN_H */
