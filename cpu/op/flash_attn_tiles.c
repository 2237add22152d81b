/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT for many queries: 16 rows of a unit are the lanes of a tile, and a few tiles pass together over the keys,
 * so that each block of keys and of values is decoded once for all of them. Keys and values use the same room in turn.
 */
#include "flash_attn.h"

#define LANES     CPU_ATTENTION_LANES
#define MAX_TILES 4
#define MAX_BLOCK 64
#define MIN_BLOCK 32

/* Memory of a worker is kept below this by smaller blocks, then by fewer tiles, as far as they go. */
#define ROOM (224 * 1024)

struct sizes {
    int64_t tiles, block;
    size_t  step; /* floats from row to row of decoded keys: not a power of two, whose rows would share cache sets */
};

static size_t room_floats(const struct flash_attn * a, const struct sizes * s) {
    const int64_t tile  = (a->d + a->dv + s->block) * LANES; /* queries, results, scores */
    const bool    plain = a->k->type == GGML_TYPE_F32 && a->v->type == GGML_TYPE_F32;
    return (size_t) (s->tiles * tile + s->block * LANES) + (plain ? 0 : (size_t) s->block * s->step);
}

static struct sizes sizes_of(const struct flash_attn * a) {
    const int64_t all = (a->rows + LANES - 1) / LANES;
    struct sizes  s   = { MIN(MAX_TILES, all), MAX_BLOCK, ((size_t) MAX(a->d, a->dv) + 15) / 16 * 16 + 16 };
    if (room_floats(a, &s) * sizeof(float) > ROOM) {
        s.block = MIN_BLOCK;
    }
    while (room_floats(a, &s) * sizeof(float) > ROOM && s.tiles > 1) {
        s.tiles--;
    }
    return s;
}

struct memory {
    float * decoded; /* [block][step] */
    float * mask;    /* [block][16] */
    float * scores;  /* by tile: [block][16] */
    float * q;       /* by tile: [d][16] */
    float * o;       /* by tile: [dv][16] */
};

static struct memory memory_of(const struct flash_attn * a, const struct sizes * s, void * worker_memory) {
    struct memory m;
    m.mask    = worker_memory;
    m.scores  = m.mask + s->block * LANES;
    m.q       = m.scores + s->tiles * s->block * LANES;
    m.o       = m.q + s->tiles * a->d * LANES;
    m.decoded = m.o + s->tiles * a->dv * LANES;
    return m;
}

void flash_attn_prepare_tiles(const struct flash_attn * a, struct ggml_ext_need * need) {
    const struct sizes s = sizes_of(a);
    need->worker_size    = room_floats(a, &s) * sizeof(float);
    op_limit_workers(need, a->heads * a->batch * a->n * a->m, 512);
}

/* ---- tiles ---- */

/* 16 rows of n floats, lane by lane: out[l][16]. */
static void transpose(int64_t n, const float * const * rows, float * out) {
    cpu_kernels.gemm.f32->pack(n, LANES, rows, out);
}

struct tile {
    struct flash_attn_row      rows[LANES];
    int                        n_rows; /* in the last tile of a unit other lanes copy its first */
    int64_t                    begin, keys; /* that the mask shows in the present block */
    struct cpu_attention_logit logit;
    struct cpu_attention_state state;
    float                      shrink[LANES];
    float *                    scores, * q, * o;
};

static void begin_tile(const struct flash_attn * a, struct tile * t, int64_t batch, int64_t unit, int64_t first) {
    t->n_rows      = (int) MIN(LANES, a->rows - first);
    t->logit.scale = a->scale;
    t->logit.cap   = a->cap;
    for (int i = 0; i < LANES; i++) {
        t->rows[i]        = flash_attn_row_of(a, batch, unit, first + (i < t->n_rows ? i : 0));
        t->logit.slope[i] = flash_attn_slope(a, t->rows[i].head);
        t->state.max[i]   = -INFINITY;
        t->state.sum[i]   = 0.0f;
        flash_attn_prefetch(t->rows[i].q, (size_t) a->d * sizeof(float), 0, 1);
    }
    memset(t->o, 0, (size_t) (a->dv * LANES) * sizeof(float));
}

static void load_tile(const struct flash_attn * a, struct tile * t) {
    const float * q[LANES];
    for (int i = 0; i < LANES; i++) {
        q[i] = t->rows[i].q;
    }
    transpose(a->d, q, t->q);
}

static void end_tile(const struct flash_attn * a, struct tile * t) {
    float factor[LANES], block[LANES * LANES];
    for (int i = 0; i < LANES; i++) {
        factor[i] = flash_attn_finish(a, t->rows[i].head, t->state.max[i], t->state.sum[i]);
    }
    cpu_kernels.attention.accumulate(a->dv, 0, t->scores, t->q, 0, factor, t->o);
    for (int64_t l = 0; l < a->dv; l += LANES) {
        const int64_t n = MIN(LANES, a->dv - l);
        const float * elements[LANES];
        for (int i = 0; i < LANES; i++) {
            elements[i] = t->o + (l + MIN(i, n - 1)) * LANES;
        }
        transpose(LANES, elements, block);
        for (int i = 0; i < t->n_rows; i++) {
            if (n == LANES) { /* a constant size: no call */
                memcpy(t->rows[i].dst + l, block + i * LANES, LANES * sizeof(float));
            } else {
                memcpy(t->rows[i].dst + l, block + i * LANES, (size_t) n * sizeof(float));
            }
        }
    }
}

/* Rows of one query share the mask. */
static bool has_same_mask(const struct tile * t, int i) {
    return i > 0 && t->rows[i].mask == t->rows[i - 1].mask;
}

/* Do all rows have one value in n keys of the mask? */
static bool mask_is(const struct tile * t, int64_t first, int64_t n, ggml_fp16_t value) {
    for (int i = 0; i < LANES; i++) {
        if (!has_same_mask(t, i) && !flash_attn_all(t->rows[i].mask + first, n, value)) {
            return false;
        }
    }
    return true;
}

/* Finds the keys of a block (n of them, `first` in all) that the mask shows to a tile: all others at its ends, by sixteens. Returns
 * their mask lane by lane, or NULL when it is all zeros. The room of the scores, which are not there yet, holds its rows
 * meanwhile. */
static const float * read_mask(struct tile * t, int64_t first, int64_t n, float * out) {
    t->begin = 0;
    t->keys  = n;
    if (t->rows[0].mask == NULL) {
        return NULL;
    }
    for (int i = 0; i < LANES; i++) {
        if (!has_same_mask(t, i)) { /* of the next block */
            flash_attn_prefetch(t->rows[i].mask + first + n, (size_t) n * sizeof(ggml_fp16_t), 0, 1);
        }
    }
    if (mask_is(t, first, n, 0)) {
        return NULL;
    }
    while (t->keys > 0 && mask_is(t, first + MAX(0, t->keys - LANES), MIN(LANES, t->keys), FLASH_ATTN_MASKED)) {
        t->keys = MAX(0, t->keys - LANES);
    }
    while (t->keys > 0 && mask_is(t, first + t->begin, MIN(LANES, t->keys), FLASH_ATTN_MASKED)) {
        t->begin += LANES;
        t->keys -= LANES;
    }
    const float * rows[LANES];
    for (int i = 0; i < LANES && t->keys > 0; i++) {
        rows[i] = t->scores + i * t->keys;
        if (has_same_mask(t, i)) {
            rows[i] = rows[i - 1];
        } else {
            cpu_kernels.vec.f16_to_f32(t->keys, t->scores + i * t->keys, t->rows[i].mask + first + t->begin);
        }
    }
    if (t->keys > 0) {
        transpose(t->keys, rows, out);
    }
    return out;
}

/* Keys or values of a block as floats, those of the next block on their way. */
static const float * read_block(const struct sizes * s, const struct memory * m, const struct ggml_tensor * t, const char * base,
                                int64_t first, int64_t n, size_t * stride) {
    const char *  at   = base + first * (int64_t) t->nb[1];
    const int64_t next = MIN(s->block, t->ne[1] - first - n);
    flash_attn_prefetch(at + n * (int64_t) t->nb[1], ggml_row_size(t->type, t->ne[0]), t->nb[1], next);
    return flash_attn_floats(t, at, n, m->decoded, s->step, stride);
}

/* Keys first .. first + n - 1. */
static void pass_block(const struct flash_attn * a, const struct sizes * s, const struct memory * m, struct tile * tiles,
                       int n_tiles, const char * k, const char * v, int64_t first, int64_t n) {
    const float * decoded = NULL;
    size_t        stride;
    for (int i = 0; i < n_tiles; i++) {
        struct tile * t    = &tiles[i];
        const float * mask = read_mask(t, first, n, m->mask);
        if (t->keys == 0) {
            continue;
        }
        if (decoded == NULL) {
            decoded = read_block(s, m, a->k, k, first, n, &stride);
        }
        cpu_kernels.attention.scores(a->d, t->keys, t->q, decoded + (size_t) t->begin * stride, stride, t->scores);
        cpu_kernels.attention.weights(t->keys, t->scores, mask, &t->logit, &t->state, t->shrink);
    }
    if (decoded == NULL) {
        return;
    }
    decoded = read_block(s, m, a->v, v, first, n, &stride);
    for (int i = 0; i < n_tiles; i++) {
        const struct tile * t = &tiles[i];
        if (t->keys > 0) {
            cpu_kernels.attention.accumulate(a->dv, t->keys, t->scores, decoded + (size_t) t->begin * stride, stride, t->shrink, t->o);
        }
    }
}

/* Rows of a unit from `first` on, as many as the tiles take. */
static void run_tiles(const struct flash_attn * a, const struct sizes * s, const struct memory * m, int64_t batch, int64_t unit,
                      int64_t first) {
    struct tile   tiles[MAX_TILES];
    const int     n_tiles = (int) MIN(s->tiles, (a->rows - first + LANES - 1) / LANES);
    const char *  k       = flash_attn_at(a, a->k, batch, unit, 0);
    const char *  v       = flash_attn_at(a, a->v, batch, unit, 0);
    for (int i = 0; i < n_tiles; i++) {
        tiles[i].scores = m->scores + i * s->block * LANES;
        tiles[i].q      = m->q + i * a->d * LANES;
        tiles[i].o      = m->o + i * a->dv * LANES;
        begin_tile(a, &tiles[i], batch, unit, first + i * LANES);
    }
    for (int i = 0; i < n_tiles; i++) {
        load_tile(a, &tiles[i]);
    }
    for (int64_t j = 0; j < a->m; j += s->block) {
        pass_block(a, s, m, tiles, n_tiles, k, v, j, MIN(s->block, a->m - j));
    }
    for (int i = 0; i < n_tiles; i++) {
        end_tile(a, &tiles[i]);
    }
}

/* Under a causal mask later rows have more to do: they come first. */
enum ggml_status flash_attn_run_tiles(const struct flash_attn * a, struct ggml_ext_task * task) {
    const struct sizes  s        = sizes_of(a);
    const struct memory m        = memory_of(a, &s, task->worker_memory);
    const int64_t       together = s.tiles * LANES;
    const int64_t       outer    = a->units * a->batch;
    const int64_t       n_chunks = (a->rows + together - 1) / together * outer;
    for (int64_t c = task->next(task, n_chunks); c >= 0; c = task->next(task, n_chunks)) {
        const int64_t at = n_chunks - 1 - c;
        run_tiles(a, &s, &m, at % outer / a->units, at % a->units, at / outer * together);
    }
    return GGML_STATUS_SUCCESS;
}
