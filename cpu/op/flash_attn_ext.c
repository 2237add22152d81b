/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT: softmax(q k^T * scale, mask, sinks) v in one pass over blocks of keys, in F32 throughout.
 *
 * Heads that share keys are taken together: their query rows, head after head, are the lanes of tiles of 16. Blocks that the
 * mask hides from a whole tile are passed over, and so is the mask where it is all zeros. Rows that see no key at all are zero
 * (with sinks too: a sink takes weight but has no value). A row is computed by one worker in one order: results do not
 * depend on the number of threads.
 */
#include "op.h"

#define LANES      CPU_ATTENTION_LANES
#define BLOCK      CPU_ATTENTION_BLOCK
#define UNIT_TILES 4 /* tiles for which a block of keys is decoded once */
#define FEW_ROWS   8 /* so many query rows of one key head, or fewer, go row by row */
#define ROW_BLOCK  256

#define MASKED 0xFC00 /* -infinity in F16 */

struct shape {
    const struct ggml_tensor *q, *k, *v, *mask, *sinks;
    struct ggml_tensor *      dst;
    int64_t                   d, dv, n, m; /* head sizes, queries, keys */
    int64_t                   heads, group, key_heads, batch;
    float                     scale, max_bias, cap;
};

static struct shape shape_of(const struct ggml_tensor * node) {
    struct shape s = { .q = node->src[0], .k = node->src[1], .v = node->src[2], .mask = node->src[3], .sinks = node->src[4] };
    s.dst          = (struct ggml_tensor *) node;
    s.d            = s.k->ne[0];
    s.dv           = s.v->ne[0];
    s.n            = s.q->ne[1];
    s.m            = s.k->ne[1];
    s.heads        = s.q->ne[2];
    s.key_heads    = s.k->ne[2];
    s.group        = s.key_heads > 0 ? s.heads / s.key_heads : 0;
    s.batch        = s.q->ne[3];
    s.scale        = ggml_get_op_params_f32(node, 0);
    s.max_bias     = ggml_get_op_params_f32(node, 1);
    s.cap          = ggml_get_op_params_f32(node, 2);
    if (s.cap > 0.0f) {
        s.scale /= s.cap;
    }
    return s;
}

static bool readable(const struct ggml_tensor * t) {
    return t->nb[0] == ggml_type_size(t->type) && graft_type_decoder(t->type) != NULL &&
           t->ne[0] % ggml_blck_size(t->type) == 0;
}

OP_SUPPORTS(supports) {
    (void) user_data;
    (void) device;
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3];
    return op_is_f32_dense(q) && readable(k) && readable(v) && k->ne[2] == v->ne[2] && k->ne[1] == v->ne[1] &&
           k->ne[3] == v->ne[3] && k->ne[2] > 0 && q->ne[2] % k->ne[2] == 0 && k->ne[3] > 0 && q->ne[3] % k->ne[3] == 0 &&
           q->ne[0] == k->ne[0] && node->type == GGML_TYPE_F32 &&
           (mask == NULL || (mask->type == GGML_TYPE_F16 && op_row_dense(mask) && mask->ne[1] >= q->ne[1])) &&
           (node->src[4] == NULL || op_is_f32_dense(node->src[4]));
}

/* ---- memory of a worker, in floats ---- */

struct memory {
    float *                      keys;   /* [BLOCK][d], where they must be decoded */
    float *                      values; /* [BLOCK][dv] */
    float *                      scores; /* [BLOCK][16]; rows: [ROW_BLOCK] */
    float *                      mask;   /* [BLOCK][16]; rows: [ROW_BLOCK] */
    float *                      q;      /* by tile: [d][16] */
    float *                      o;      /* by tile: [dv][16]; rows: [dv] */
    struct cpu_attention_state * state;  /* by tile */
};

static size_t worker_floats(const struct shape * s) {
    const int64_t block = MAX(BLOCK, ROW_BLOCK);
    return (size_t) (block * (s->d + s->dv) + 2 * BLOCK * LANES + UNIT_TILES * (s->d + s->dv + 2) * LANES + 8 * 16);
}

static struct memory memory_of(const struct shape * s, void * worker_memory) {
    const int64_t block = MAX(BLOCK, ROW_BLOCK);
    struct memory m;
    m.keys   = worker_memory;
    m.values = m.keys + block * s->d;
    m.scores = m.values + block * s->dv;
    m.mask   = m.scores + BLOCK * LANES;
    m.q      = m.mask + BLOCK * LANES;
    m.o      = m.q + UNIT_TILES * s->d * LANES;
    m.state  = (struct cpu_attention_state *) (m.o + UNIT_TILES * s->dv * LANES);
    return m;
}

OP_PREPARE(prepare) {
    (void) user_data;
    (void) backend;
    (void) n;
    (void) plan;
    const struct shape s = shape_of(nodes[0]);
    need->worker_size    = worker_floats(&s) * sizeof(float);
    op_limit_workers(need, s.heads * s.batch * s.n * s.m, 512);
    return GGML_STATUS_SUCCESS;
}

/* ---- shared by both ways ---- */

/* ALiBi (Press et al. 2021): slopes of heads fall geometrically; 1 without a bias. */
static float slope_of(const struct shape * s, int64_t head) {
    if (s->max_bias <= 0.0f) {
        return 1.0f;
    }
    int64_t power = 1; /* greatest power of two up to the number of heads */
    while (2 * power <= s->heads) {
        power *= 2;
    }
    const float base = exp2f(-(head < power ? s->max_bias : s->max_bias / 2.0f) / (float) power);
    return powf(base, (float) (head < power ? head + 1 : 2 * (head - power) + 1));
}

/* Rows first .. first + n - 1 of a head's keys or values as floats, stride in floats. */
static const float * rows_f32(const struct ggml_tensor * t, int64_t head, int64_t batch, int64_t first, int64_t n, float * room,
                              size_t * stride) {
    const char * at = (const char *) t->data + first * (int64_t) t->nb[1] + head * (int64_t) t->nb[2] + batch * (int64_t) t->nb[3];
    if (t->type == GGML_TYPE_F32 && t->nb[1] % sizeof(float) == 0) {
        *stride = t->nb[1] / sizeof(float);
        return (const float *) at;
    }
    const ggml_to_float_t decode = graft_type_decoder(t->type);
    for (int64_t j = 0; j < n; j++) {
        const void * row = at + j * (int64_t) t->nb[1];
        if (t->type == GGML_TYPE_F16) {
            cpu_kernels.vec.f16_to_f32(t->ne[0], room + j * t->ne[0], row);
        } else {
            decode(row, room + j * t->ne[0], t->ne[0]);
        }
    }
    *stride = (size_t) t->ne[0];
    return room;
}

static const ggml_fp16_t * mask_row(const struct shape * s, int64_t i, int64_t head, int64_t batch) {
    return s->mask != NULL ? op_row(s->mask, i, head % s->mask->ne[2], batch % s->mask->ne[3]) : NULL;
}

static bool all_equal(const ggml_fp16_t * row, int64_t n, ggml_fp16_t value) {
    ggml_fp16_t different = 0;
    for (int64_t j = 0; j < n; j++) {
        different |= row[j] ^ value;
    }
    return different == 0;
}

/* A sink is one more score, without a value. */
static void add_sink(const struct shape * s, int64_t head, float * max, float * sum, float * shrink) {
    *shrink = 1.0f;
    if (s->sinks != NULL) {
        const float sink = ((const float *) s->sinks->data)[head];
        const float top  = MAX(sink, *max);
        *shrink          = *max == -INFINITY ? 0.0f : expf(*max - top);
        *sum             = *sum * *shrink + expf(sink - top);
        *max             = top;
    }
}

/* ---- many queries: tiles of lanes ---- */

/* Lane r of a key head: query r % n of head r / n in the group. */
struct lane {
    int64_t head, query;
    bool    real; /* the last tile may have too few rows */
};

static struct lane lane_of(const struct shape * s, int64_t key_head, int64_t r) {
    const bool        real = r < s->group * s->n;
    const int64_t     at   = real ? r : 0;
    const struct lane lane = { key_head * s->group + at / s->n, at % s->n, real };
    return lane;
}

static void load_queries(const struct shape * s, const struct lane * lanes, int64_t batch, float * q) {
    for (int i = 0; i < LANES; i++) {
        const float * row = op_row(s->q, lanes[i].query, lanes[i].head, batch);
        for (int64_t l = 0; l < s->d; l++) {
            q[l * LANES + i] = row[l];
        }
    }
}

static void store_results(const struct shape * s, const struct lane * lanes, int64_t batch, struct cpu_attention_state * state,
                          const float * o) {
    for (int i = 0; i < LANES; i++) {
        float shrink;
        if (!lanes[i].real) {
            continue;
        }
        add_sink(s, lanes[i].head, &state->max[i], &state->sum[i], &shrink);
        const float factor = state->sum[i] > 0.0f || state->sum[i] != state->sum[i] ? shrink / state->sum[i] : 0.0f;
        float *     row    = op_row(s->dst, lanes[i].head, lanes[i].query, batch);
        for (int64_t l = 0; l < s->dv; l++) {
            row[l] = o[l * LANES + i] * factor;
        }
    }
}

enum mask_kind { MASK_HIDES, MASK_SHOWS, MASK_MIXED };

/* What the mask does to a tile in a block of keys; mixed: out gets it lane by lane. */
static enum mask_kind block_mask(const struct shape * s, const struct lane * lanes, int64_t batch, int64_t first, int64_t n,
                                 float * out) {
    bool hides = true, shows = true;
    if (s->mask == NULL) {
        return MASK_SHOWS;
    }
    for (int i = 0; i < LANES && (hides || shows); i++) {
        const ggml_fp16_t * row = mask_row(s, lanes[i].query, lanes[i].head, batch) + first;
        hides                   = hides && all_equal(row, n, MASKED);
        shows                   = shows && all_equal(row, n, 0);
    }
    if (hides || shows) {
        return hides ? MASK_HIDES : MASK_SHOWS;
    }
    for (int i = 0; i < LANES; i++) {
        float row[BLOCK];
        cpu_kernels.vec.f16_to_f32(n, row, mask_row(s, lanes[i].query, lanes[i].head, batch) + first);
        for (int64_t j = 0; j < n; j++) {
            out[j * LANES + i] = row[j];
        }
    }
    return MASK_MIXED;
}

struct tile {
    struct lane                lanes[LANES];
    struct cpu_attention_logit logit;
};

static void begin_tile(const struct shape * s, struct tile * tile, int64_t key_head, int64_t batch, int64_t t,
                       const struct memory * m, int at) {
    tile->logit.scale = s->scale;
    tile->logit.cap   = s->cap;
    for (int i = 0; i < LANES; i++) {
        tile->lanes[i]        = lane_of(s, key_head, t * LANES + i);
        tile->logit.slope[i]  = slope_of(s, tile->lanes[i].head);
        m->state[at].max[i]   = -INFINITY;
        m->state[at].sum[i]   = 0.0f;
    }
    load_queries(s, tile->lanes, batch, m->q + at * s->d * LANES);
    memset(m->o + at * s->dv * LANES, 0, (size_t) (s->dv * LANES) * sizeof(float));
}

/* Tiles first .. last - 1 of one key head. */
static void run_tiles(const struct shape * s, const struct memory * m, int64_t key_head, int64_t batch, int64_t first,
                      int64_t last) {
    struct tile   tiles[UNIT_TILES];
    const int     n_tiles   = (int) (last - first);
    const int64_t key_batch = batch / (s->batch / s->k->ne[3]);
    for (int t = 0; t < n_tiles; t++) {
        begin_tile(s, &tiles[t], key_head, batch, first + t, m, t);
    }
    for (int64_t j = 0; j < s->m; j += BLOCK) {
        const int64_t n      = MIN(BLOCK, s->m - j);
        const float * keys   = NULL;
        const float * values = NULL;
        size_t        key_stride = 0, value_stride = 0;
        for (int t = 0; t < n_tiles; t++) {
            float                shrink[LANES];
            const enum mask_kind kind = block_mask(s, tiles[t].lanes, batch, j, n, m->mask);
            if (kind == MASK_HIDES) {
                continue;
            }
            if (keys == NULL) {
                keys   = rows_f32(s->k, key_head, key_batch, j, n, m->keys, &key_stride);
                values = rows_f32(s->v, key_head, key_batch, j, n, m->values, &value_stride);
            }
            cpu_kernels.attention.scores(s->d, n, m->q + t * s->d * LANES, keys, key_stride, m->scores);
            cpu_kernels.attention.weights(n, m->scores, kind == MASK_MIXED ? m->mask : NULL, &tiles[t].logit, &m->state[t],
                                          shrink);
            cpu_kernels.attention.accumulate(s->dv, n, m->scores, values, value_stride, shrink, m->o + t * s->dv * LANES);
        }
    }
    for (int t = 0; t < n_tiles; t++) {
        store_results(s, tiles[t].lanes, batch, &m->state[t], m->o + t * s->dv * LANES);
    }
}

static void run_lanes(const struct shape * s, const struct memory * m, struct ggml_ext_task * task) {
    const int64_t tiles    = (s->group * s->n + LANES - 1) / LANES;
    const int64_t units    = (tiles + UNIT_TILES - 1) / UNIT_TILES;
    const int64_t n_chunks = units * s->key_heads * s->batch;
    for (int64_t c = task->next(task, n_chunks); c >= 0; c = task->next(task, n_chunks)) {
        const int64_t at    = n_chunks - 1 - c; /* under a causal mask later rows have more to do: they come first */
        const int64_t unit  = at / (s->key_heads * s->batch);
        const int64_t rest  = at % (s->key_heads * s->batch);
        const int64_t first = unit * UNIT_TILES;
        run_tiles(s, m, rest % s->key_heads, rest / s->key_heads, first, MIN(first + UNIT_TILES, tiles));
    }
}

/* ---- few queries: row by row ---- */

static void row_logits(const struct shape * s, float * scores, const ggml_fp16_t * mask, float slope, int64_t n,
                       const struct memory * m, float * max) {
    float factor = s->scale;
    if (s->cap > 0.0f) {
        cpu_kernels.vec.scale(n, scores, scores, s->scale, 0.0f);
        cpu_kernels.vec.unary[GGML_UNARY_OP_TANH](n, scores, scores);
        factor = s->cap;
    }
    if (mask != NULL) {
        cpu_kernels.vec.f16_to_f32(n, m->mask, mask);
    }
    *max = cpu_kernels.vec.scale_mask(n, scores, scores, factor, mask != NULL ? m->mask : NULL, slope);
}

static void row_scores(const struct shape * s, const struct memory * m, const float * q, int64_t head, int64_t batch, int64_t j,
                       int64_t n) {
    const char * at = (const char *) s->k->data + j * (int64_t) s->k->nb[1] + head * (int64_t) s->k->nb[2] + batch * (int64_t) s->k->nb[3];
    if (s->k->type == GGML_TYPE_F16) {
        cpu_kernels.attention.row_scores_f16(s->d, n, q, at, s->k->nb[1], m->scores);
    } else {
        size_t        stride;
        const float * keys = rows_f32(s->k, head, batch, j, n, m->keys, &stride);
        cpu_kernels.attention.row_scores_f32(s->d, n, q, keys, stride * sizeof(float), m->scores);
    }
}

static void row_values(const struct shape * s, const struct memory * m, int64_t head, int64_t batch, int64_t j, int64_t n,
                       float shrink) {
    const char * at = (const char *) s->v->data + j * (int64_t) s->v->nb[1] + head * (int64_t) s->v->nb[2] + batch * (int64_t) s->v->nb[3];
    if (s->v->type == GGML_TYPE_F16) {
        cpu_kernels.attention.row_accumulate_f16(s->dv, n, m->scores, at, s->v->nb[1], shrink, m->o);
    } else {
        size_t        stride;
        const float * values = rows_f32(s->v, head, batch, j, n, m->values, &stride);
        cpu_kernels.attention.row_accumulate_f32(s->dv, n, m->scores, values, stride * sizeof(float), shrink, m->o);
    }
}

/* Keys from the first to the last that the mask shows. */
static void visible(const ggml_fp16_t * mask, int64_t m, int64_t * begin, int64_t * end) {
    *begin = 0;
    *end   = m;
    while (mask != NULL && *end > 0 && mask[*end - 1] == MASKED) {
        (*end)--;
    }
    while (mask != NULL && *begin < *end && mask[*begin] == MASKED) {
        (*begin)++;
    }
}

static void run_row(const struct shape * s, const struct memory * m, int64_t query, int64_t head, int64_t batch) {
    const float *       q         = op_row(s->q, query, head, batch);
    const ggml_fp16_t * mask      = mask_row(s, query, head, batch);
    const int64_t       key_head  = head / s->group;
    const int64_t       key_batch = batch / (s->batch / s->k->ne[3]);
    const float         slope     = slope_of(s, head);
    float *             row       = op_row(s->dst, head, query, batch);
    float               max = -INFINITY, sum = 0.0f, shrink;
    int64_t             begin, end;
    visible(mask, s->m, &begin, &end);
    memset(m->o, 0, (size_t) s->dv * sizeof(float));
    for (int64_t j = begin; j < end; j += ROW_BLOCK) {
        const int64_t n = MIN(ROW_BLOCK, end - j);
        float         block_max;
        row_scores(s, m, q, key_head, key_batch, j, n);
        row_logits(s, m->scores, mask != NULL ? mask + j : NULL, slope, n, m, &block_max);
        if (block_max == -INFINITY && all_equal(mask != NULL ? mask + j : NULL, mask != NULL ? n : 0, MASKED) && mask != NULL) {
            continue;
        }
        const float top  = MAX(max, block_max);
        const float base = top == -INFINITY ? 0.0f : top;
        const float part = (float) cpu_kernels.vec.exp_sum(n, m->scores, m->scores, base);
        shrink           = expf(max - base);
        sum              = sum * shrink + part;
        max              = top;
        row_values(s, m, key_head, key_batch, j, n, shrink);
    }
    add_sink(s, head, &max, &sum, &shrink);
    const float factor = sum > 0.0f || sum != sum ? shrink / sum : 0.0f;
    cpu_kernels.vec.scale(s->dv, row, m->o, factor, 0.0f);
}

static void run_rows(const struct shape * s, const struct memory * m, struct ggml_ext_task * task) {
    const struct op_range share = op_share(task, s->heads * s->n * s->batch);
    for (int64_t r = share.begin; r < share.end; r++) {
        run_row(s, m, r / s->heads % s->n, r % s->heads, r / (s->heads * s->n));
    }
}

OP_TASK(run) {
    (void) user_data;
    (void) plan;
    (void) n;
    const struct shape  s = shape_of(nodes[0]);
    const struct memory m = memory_of(&s, task->worker_memory);
    if (s.group * s.n > FEW_ROWS) {
        run_lanes(&s, &m, task);
    } else {
        run_rows(&s, &m, task);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(flash_attn_ext, FLASH_ATTN_EXT, .supports = supports, .prepare = prepare, .task = run);
