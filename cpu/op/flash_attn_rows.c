/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT for few queries, as in generation: up to four rows of a unit read keys and values together, as they lie
 * when these are F16. Keys are cut into chunks, so that many workers share few heads; each chunk leaves a part of the
 * result, and the parts are added in their order after a barrier.
 */
#include "flash_attn.h"

#define ROWS       CPU_ATTENTION_ROWS
#define BLOCK      CPU_ATTENTION_BLOCK
#define MAX_CHUNKS 16
#define TOGETHER   8 /* parts that pass over a block of keys one after another: their heads lie side by side in a KV cache */

/* How work is cut. A part is up to four rows of a unit; a job is one chunk of keys for some parts of one batch. */
struct cut {
    int64_t unit_parts, part_rows;
    int64_t chunks, chunk_keys;
    int64_t parts, together, groups; /* of a batch; of a job; of a batch, `together` parts each */
    int64_t jobs;
    size_t  step;        /* floats of a decoded row */
    size_t  result_step; /* floats from result to result of a chunk: values, then greatest score and sum */
};

/* By shapes alone. Parts stay together where that leaves 16 jobs. */
static struct cut cut_of(const struct flash_attn * a) {
    struct cut c;
    c.unit_parts       = (a->rows + ROWS - 1) / ROWS;
    c.part_rows        = c.unit_parts > 0 ? (a->rows + c.unit_parts - 1) / c.unit_parts : 0;
    c.parts            = a->units * c.unit_parts;
    const int64_t all  = MAX(1, c.parts * a->batch);
    const int64_t most = MAX(1, MIN(MAX_CHUNKS, MAX_CHUNKS * TOGETHER / all));
    c.chunk_keys       = MAX(1, ((a->m + most - 1) / most + BLOCK - 1) / BLOCK) * BLOCK;
    c.chunks           = MAX(1, (a->m + c.chunk_keys - 1) / c.chunk_keys);
    c.together         = MAX(1, MIN(TOGETHER, all * c.chunks / 16));
    c.groups           = (c.parts + c.together - 1) / c.together;
    c.jobs             = c.chunks * a->batch * c.groups;
    c.step             = ((size_t) MAX(a->d, a->dv) + 15) / 16 * 16 + 16;
    c.result_step      = ((size_t) a->dv + 2 + 15) / 16 * 16;
    return c;
}

/* Does the row kernel read this type as it lies? */
static bool lies_plain(const struct ggml_tensor * t) {
    return t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_F32;
}

void flash_attn_prepare_rows(const struct flash_attn * a, struct ggml_ext_need * need) {
    const struct cut c = cut_of(a);
    if (!lies_plain(a->k) || !lies_plain(a->v)) {
        need->worker_size = BLOCK * c.step * sizeof(float);
    }
    if (c.chunks > 1) {
        need->workspace_size = (size_t) (a->units * a->batch * a->rows * c.chunks) * c.result_step * sizeof(float);
    }
    op_limit_workers(need, a->heads * a->batch * a->n * a->m * (a->d + a->dv), 65536);
}

/* ---- one chunk ---- */

struct part {
    int                      n;
    const char *             k, *v; /* of the unit */
    const float *            q[ROWS];
    const ggml_fp16_t *      mask[ROWS];
    float *                  o[ROWS];
    int64_t                  head[ROWS];
    struct cpu_attention_row row[ROWS];
};

/* Where chunk c of row r (of all) leaves its part of the result. */
static float * result_at(const struct cut * c, const struct ggml_ext_task * task, int64_t r, int64_t chunk) {
    return (float *) task->workspace + (size_t) (r * c->chunks + chunk) * c->result_step;
}

static void begin_part(const struct flash_attn * a, const struct cut * c, const struct ggml_ext_task * task, struct part * p,
                       int64_t batch, int64_t part, int64_t chunk) {
    const int64_t unit = part / c->unit_parts, first = part % c->unit_parts * c->part_rows;
    p->n = (int) MAX(0, MIN(c->part_rows, a->rows - first));
    p->k = flash_attn_at(a, a->k, batch, unit, 0);
    p->v = flash_attn_at(a, a->v, batch, unit, 0);
    for (int i = 0; i < p->n; i++) {
        const struct flash_attn_row    row   = flash_attn_row_of(a, batch, unit, first + i);
        const struct cpu_attention_row start = { a->scale, a->cap, flash_attn_slope(a, row.head), -INFINITY, 0.0f };
        p->q[i]    = row.q;
        p->mask[i] = row.mask;
        p->head[i] = row.head;
        p->row[i]  = start;
        p->o[i]    = c->chunks > 1 ? result_at(c, task, (batch * a->units + unit) * a->rows + first + i, chunk) : row.dst;
        memset(p->o[i], 0, (size_t) a->dv * sizeof(float));
    }
}

static bool all_hidden(const struct part * p, int64_t first, int64_t n) {
    for (int i = 0; i < p->n; i++) {
        if (p->mask[i] == NULL || !flash_attn_all(p->mask[i] + first, n, FLASH_ATTN_MASKED)) {
            return false;
        }
    }
    return true;
}

/* Keys that no row sees fall away at both ends, by eights. */
static void trim(const struct part * p, int64_t * begin, int64_t * end) {
    while (*begin < *end && all_hidden(p, *begin, MIN(8, *end - *begin))) {
        *begin = MIN(*begin + 8, *end);
    }
    while (*begin < *end && all_hidden(p, MAX(*begin, *end - 8), MIN(8, *end - *begin))) {
        *end = MAX(*begin, *end - 8);
    }
}

/* Keys [begin, end) for one part. */
static void pass_block(const struct flash_attn * a, const struct cut * c, float * room, struct part * p, int64_t begin,
                       int64_t end) {
    const char *  k = p->k + begin * (int64_t) a->k->nb[1], *v = p->v + begin * (int64_t) a->v->nb[1];
    const int64_t n = end - begin;
    float         scores[ROWS][BLOCK], shrink[ROWS];
    size_t        stride;
    if (a->k->type == GGML_TYPE_F16) {
        cpu_kernels.attention.row_scores_f16(a->d, p->n, n, p->q, k, a->k->nb[1], scores);
    } else {
        const float * keys = flash_attn_floats(a->k, k, n, room, c->step, &stride);
        cpu_kernels.attention.row_scores_f32(a->d, p->n, n, p->q, keys, stride * sizeof(float), scores);
    }
    for (int i = 0; i < p->n; i++) {
        const ggml_fp16_t * mask = p->mask[i] != NULL ? p->mask[i] + begin : NULL;
        shrink[i]                = cpu_kernels.attention.row_weights(n, scores[i], mask, &p->row[i]);
    }
    const float(*weights)[BLOCK] = (const float(*)[BLOCK]) scores;
    if (a->v->type == GGML_TYPE_F16) {
        cpu_kernels.attention.row_accumulate_f16(a->dv, p->n, n, weights, v, a->v->nb[1], shrink, p->o);
    } else {
        const float * values = flash_attn_floats(a->v, v, n, room, c->step, &stride);
        cpu_kernels.attention.row_accumulate_f32(a->dv, p->n, n, weights, values, stride * sizeof(float), shrink, p->o);
    }
}

/* Asks for keys or values [begin, end) before part i of n begins its block: for a share of them, of all parts, where the heads lie
 * side by side (memory is then read in its order); else for those of the part. */
static void ask_ahead(const struct ggml_tensor * t, const char * first_head, const char * last_head, const char * head,
                      int64_t begin, int64_t end, int i, int n) {
    const size_t  row  = ggml_row_size(t->type, t->ne[0]), span = (size_t) (last_head - first_head) + row;
    const int64_t keys = end - begin;
    if (span <= t->nb[1]) {
        const int64_t from = begin + keys * i / n, to = begin + keys * (i + 1) / n;
        flash_attn_prefetch(first_head + from * (int64_t) t->nb[1], span, t->nb[1], to - from);
    } else {
        flash_attn_prefetch(head + begin * (int64_t) t->nb[1], row, t->nb[1], keys);
    }
}

static void finish_row(const struct flash_attn * a, float * o, int64_t head, float max, float sum) {
    cpu_kernels.vec.scale(a->dv, o, o, flash_attn_finish(a, head, max, sum), 0.0f);
}

static void end_part(const struct flash_attn * a, const struct cut * c, const struct part * p) {
    for (int i = 0; i < p->n; i++) {
        if (c->chunks > 1) {
            p->o[i][a->dv]     = p->row[i].max;
            p->o[i][a->dv + 1] = p->row[i].sum;
        } else {
            finish_row(a, p->o[i], p->head[i], p->row[i].max, p->row[i].sum);
        }
    }
}

static void run_job(const struct flash_attn * a, const struct cut * c, const struct ggml_ext_task * task, int64_t job) {
    const int64_t chunk = job / (a->batch * c->groups), batch = job / c->groups % a->batch;
    const int64_t first = job % c->groups * c->together, last = MIN(a->m, (chunk + 1) * c->chunk_keys);
    const int64_t ahead = task->nth == 1 ? a->m : last; /* the next chunk may be another worker's */
    const int     n     = (int) MIN(c->together, c->parts - first);
    struct part   parts[TOGETHER];
    for (int i = 0; i < n; i++) {
        begin_part(a, c, task, &parts[i], batch, first + i, chunk);
    }
    for (int64_t j = chunk * c->chunk_keys; j < last; j += BLOCK) {
        const int64_t next = j + BLOCK, next_end = MIN(next + BLOCK, ahead);
        const bool    more = next < next_end && !all_hidden(&parts[0], next, MIN(8, next_end - next));
        for (int i = 0; i < n; i++) {
            int64_t begin = j, end = MIN(next, last);
            trim(&parts[i], &begin, &end);
            if (begin < end && more) {
                ask_ahead(a->k, parts[0].k, parts[n - 1].k, parts[i].k, next, next_end, i, n);
                ask_ahead(a->v, parts[0].v, parts[n - 1].v, parts[i].v, next, next_end, i, n);
            }
            if (begin < end) {
                pass_block(a, c, task->worker_memory, &parts[i], begin, end);
            }
        }
    }
    for (int i = 0; i < n; i++) {
        end_part(a, c, &parts[i]);
    }
}

/* ---- the chunks of a row ---- */

static void merge_row(const struct flash_attn * a, const struct cut * c, const struct ggml_ext_task * task, int64_t r) {
    const int64_t               at  = r / a->rows; /* unit of all */
    const struct flash_attn_row row = flash_attn_row_of(a, at / a->units, at % a->units, r % a->rows);
    float                       max = -INFINITY, sum = 0.0f;
    for (int64_t i = 0; i < c->chunks; i++) {
        const float other = result_at(c, task, r, i)[a->dv];
        max               = other > max ? other : max;
    }
    memset(row.dst, 0, (size_t) a->dv * sizeof(float));
    for (int64_t i = 0; i < c->chunks; i++) {
        const float * part = result_at(c, task, r, i);
        if (part[a->dv + 1] != 0.0f) { /* else it saw no key */
            const float factor = exp2f(part[a->dv] - max);
            sum += part[a->dv + 1] * factor;
            cpu_kernels.vec.mad(a->dv, row.dst, part, factor);
        }
    }
    finish_row(a, row.dst, row.head, max, sum);
}

enum ggml_status flash_attn_run_rows(const struct flash_attn * a, struct ggml_ext_task * task) {
    const struct cut c = cut_of(a);
    for (int64_t job = task->next(task, c.jobs); job >= 0; job = task->next(task, c.jobs)) {
        run_job(a, &c, task, job);
    }
    if (c.chunks > 1) {
        task->barrier(task);
        const struct op_range share = op_share(task, a->units * a->batch * a->rows);
        for (int64_t r = share.begin; r < share.end; r++) {
            merge_row(a, &c, task, r);
        }
    }
    return GGML_STATUS_SUCCESS;
}
