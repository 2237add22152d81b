/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT on the CPU backend against the unfused formula in F64: number formats, head sizes, grouped heads, masks,
 * sinks, caps, lengths around the blocks, and views as of a KV cache. The result is NaN first and guarded on both sides, and thread
 * counts must give the same bytes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "harness.h"

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

static const int thread_counts[] = { 1, 2, 3, 5, 8 };
static uint64_t  seed = 1;

enum mask_kind { NO_MASK, ZEROS, CAUSAL, WINDOW, RANDOM_HIDDEN, FINITE, ROWS_HIDDEN, PER_HEAD, PER_BATCH, N_MASKS };
enum layout { DENSE, CACHE, SLICED, N_LAYOUTS };

struct config {
    int64_t        d, dv, heads, k_heads, v_heads, queries, keys, batch;
    enum ggml_type k, v;
    enum mask_kind mask;
    enum layout    layout;
    bool           sinks;
    float          max_bias, cap;
};

static const struct config plain = { 64, 64, 4, 2, 2, 3, 65, 1, GGML_TYPE_F16, GGML_TYPE_F16, CAUSAL, CACHE, false, 0.0f, 0.0f };

static const char * text_of(const struct config * c) {
    static char text[256];
    snprintf(text, sizeof(text), "d %d/%d heads %d/%d/%d queries %d keys %d batch %d %s/%s mask %d layout %d%s bias %g cap %g",
             (int) c->d, (int) c->dv, (int) c->heads, (int) c->k_heads, (int) c->v_heads, (int) c->queries, (int) c->keys,
             (int) c->batch, ggml_type_name(c->k), ggml_type_name(c->v), c->mask, c->layout, c->sinks ? " sinks" : "",
             (double) c->max_bias, (double) c->cap);
    return text;
}

/* ---- inputs ---- */

static void fill(struct ggml_tensor * t, float low, float high) {
    const int64_t n = ggml_nelements(t);
    float *       x = malloc((size_t) n * sizeof(float) + 4);
    for (int64_t i = 0; i < n; i++) {
        x[i] = harness_random_float(&seed, low, high);
    }
    if (t->type == GGML_TYPE_F32) {
        memcpy(t->data, x, (size_t) n * sizeof(float));
    } else if (n > 0) {
        ggml_quantize_chunk(t->type, x, t->data, 0, ggml_nrows(t), t->ne[0], NULL);
    }
    free(x);
}

/* [d, n, heads, batch]: as such, as a KV cache lies ([d, heads, n, batch]), or as a part of a larger tensor. */
static struct ggml_tensor * input(struct ggml_context * ctx, enum ggml_type type, int64_t d, int64_t n, int64_t heads, int64_t batch,
                                  enum layout layout) {
    struct ggml_tensor * t;
    if (layout == CACHE) {
        t = ggml_new_tensor_4d(ctx, type, d, heads, n, batch);
        fill(t, -1, 1);
        return ggml_permute(ctx, t, 0, 2, 1, 3);
    }
    if (layout == DENSE) {
        t = ggml_new_tensor_4d(ctx, type, d, n, heads, batch);
        fill(t, -1, 1);
        return t;
    }
    const int64_t more = ggml_blck_size(type);
    t                  = ggml_new_tensor_4d(ctx, type, d + more, n + 3, heads + 1, batch);
    fill(t, -1, 1);
    return ggml_view_4d(ctx, t, d, n, heads, batch, t->nb[1], t->nb[2], t->nb[3], t->nb[1] + ggml_type_size(type));
}

static float mask_value(const struct config * c, int64_t i, int64_t j) {
    const int64_t at = c->keys - c->queries + i; /* the place of query i among the keys */
    switch (c->mask) {
        case CAUSAL:
            return j <= at ? 0.0f : -INFINITY;
        case WINDOW:
            return j <= at && j > at - 10 ? 0.0f : -INFINITY;
        case RANDOM_HIDDEN:
            return harness_random(&seed) % 3 == 0 ? -INFINITY : 0.0f;
        case ROWS_HIDDEN:
            return i % 3 != 2 || j % 40 < 20 ? -INFINITY : 0.0f;
        case FINITE:
        case PER_HEAD:
        case PER_BATCH:
            return harness_random(&seed) % 5 == 0 ? -INFINITY : harness_random_float(&seed, -4.0f, 1.0f);
        default:
            return 0.0f;
    }
}

static struct ggml_tensor * new_mask(struct ggml_context * ctx, const struct config * c) {
    if (c->mask == NO_MASK) {
        return NULL;
    }
    const int64_t        columns = c->keys + (c->mask == RANDOM_HIDDEN ? 7 : 0), rows = c->queries + (c->mask == FINITE ? 5 : 0);
    struct ggml_tensor * mask    = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, columns, rows, c->mask == PER_HEAD ? c->heads : 1,
                                                      c->mask == PER_BATCH ? c->batch : 1);
    ggml_fp16_t *        at      = mask->data;
    for (int64_t r = 0; r < ggml_nrows(mask); r++) {
        for (int64_t j = 0; j < columns; j++) {
            *at++ = ggml_fp32_to_fp16(mask_value(c, r % rows, j));
        }
    }
    return mask;
}

static struct ggml_tensor * build(struct ggml_context * ctx, const struct config * c) {
    const float          scale = 3.0f / sqrtf((float) c->d);
    struct ggml_tensor * q     = input(ctx, GGML_TYPE_F32, c->d, c->queries, c->heads, c->batch, c->layout);
    struct ggml_tensor * k     = input(ctx, c->k, c->d, c->keys, c->k_heads, c->batch, c->layout);
    struct ggml_tensor * v     = input(ctx, c->v, c->dv, c->keys, c->v_heads, c->batch, c->layout);
    struct ggml_tensor * dst   = ggml_flash_attn_ext(ctx, q, k, v, new_mask(ctx, c), scale, c->max_bias, c->cap);
    if (c->sinks) {
        struct ggml_tensor * sinks = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, c->heads);
        fill(sinks, -3, 3);
        ggml_flash_attn_ext_add_sinks(dst, sinks);
    }
    return dst;
}

/* ---- reference ---- */

static void read_row(const struct ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3, float * row) {
    const char * at = (const char *) t->data + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3];
    if (t->type == GGML_TYPE_F32) {
        memcpy(row, at, (size_t) t->ne[0] * sizeof(float));
    } else {
        ggml_get_type_traits(t->type)->to_float(at, row, t->ne[0]);
    }
}

/* Rows of one head as floats. */
static float * read_head(const struct ggml_tensor * t, int64_t head, int64_t batch) {
    float * rows = malloc((size_t) (t->ne[0] * t->ne[1]) * sizeof(float) + 4);
    for (int64_t j = 0; j < t->ne[1]; j++) {
        read_row(t, j, head, batch, rows + j * t->ne[0]);
    }
    return rows;
}

static double parameter(const struct ggml_tensor * dst, int i) {
    float value;
    memcpy(&value, &dst->op_params[i], sizeof(value));
    return (double) value;
}

static double slope_of(const struct ggml_tensor * dst, int64_t head) {
    const double  bias  = parameter(dst, 1);
    const int64_t heads = dst->src[0]->ne[2];
    int64_t       power = 1;
    while (power * 2 <= heads) {
        power *= 2;
    }
    if (bias <= 0) {
        return 1;
    }
    return head < power ? exp2(-bias * (double) (head + 1) / (double) power)
                        : exp2(-bias / 2 * (double) (2 * (head - power) + 1) / (double) power);
}

/* Scores of one query; returns the greatest. */
static double scores_of(const struct ggml_tensor * dst, int64_t i, int64_t head, int64_t batch, const float * q, const float * keys,
                        double * score) {
    const struct ggml_tensor *k = dst->src[1], *mask = dst->src[3];
    const double              scale = parameter(dst, 0), cap = parameter(dst, 2);
    const double              slope = slope_of(dst, head);
    double                    greatest = -INFINITY;
    for (int64_t j = 0; j < k->ne[1]; j++) {
        double sum = 0;
        for (int64_t l = 0; l < k->ne[0]; l++) {
            sum += (double) q[l] * (double) keys[j * k->ne[0] + l];
        }
        score[j] = cap != 0 ? cap * tanh(sum * scale / cap) : sum * scale;
        if (mask != NULL) {
            const ggml_fp16_t * row = (const void *) ((const char *) mask->data + (size_t) i * mask->nb[1] +
                                                      (size_t) (head % mask->ne[2]) * mask->nb[2] +
                                                      (size_t) (batch % mask->ne[3]) * mask->nb[3]);
            score[j] += slope * (double) ggml_fp16_to_fp32(row[j]);
        }
        greatest = fmax(greatest, score[j]);
    }
    return greatest;
}

/* Checks one row; returns the error over the bound that the operator states. */
static double row_error(const struct ggml_tensor * dst, int64_t i, int64_t head, int64_t batch, const float * keys,
                        const float * values) {
    const struct ggml_tensor *q = dst->src[0], *v = dst->src[2], *sinks = dst->src[4];
    const int64_t             m = v->ne[1], dv = v->ne[0];
    float *                   row    = malloc((size_t) q->ne[0] * sizeof(float) + 4);
    double *                  weight = malloc((size_t) m * sizeof(double) + 8);
    double                    sum = 0, largest = 0, worst = 0;
    read_row(q, i, head, batch, row);
    const double top  = scores_of(dst, i, head, batch, row, keys, weight);
    const double sink = sinks != NULL ? (double) ((const float *) sinks->data)[head] : -INFINITY;
    const double base = fmax(top, sink);
    for (int64_t j = 0; j < m; j++) {
        largest   = isinf(weight[j]) ? largest : fmax(largest, fabs(weight[j]));
        weight[j] = isinf(base) ? 0 : exp(weight[j] - base);
        sum += weight[j];
    }
    sum += isinf(base) ? 0 : exp(sink - base);
    const float * got = (const void *) ((const char *) dst->data + (size_t) head * dst->nb[1] + (size_t) i * dst->nb[2] +
                                        (size_t) batch * dst->nb[3]);
    for (int64_t l = 0; l < dv; l++) {
        double want = 0, size = 0;
        for (int64_t j = 0; j < m; j++) {
            want += sum > 0 ? weight[j] / sum * (double) values[j * dv + l] : 0;
            size = fmax(size, fabs((double) values[j * dv + l]));
        }
        const bool   zero  = isinf(top); /* no key is seen: exactly zero */
        const double error = zero ? (got[l] == 0.0f ? 0 : INFINITY) : fabs((double) got[l] - want) / (1e-6 * (4 + largest) * size + 1e-30);
        worst              = error > worst || isnan(error) ? error : worst;
    }
    free(row);
    free(weight);
    return worst;
}

static double worst_error(const struct ggml_tensor * dst) {
    const struct ggml_tensor *q = dst->src[0], *k = dst->src[1], *v = dst->src[2];
    double                    worst = 0;
    for (int64_t batch = 0; batch < q->ne[3]; batch++) {
        for (int64_t head = 0; head < q->ne[2]; head++) {
            float * keys   = read_head(k, head / (q->ne[2] / k->ne[2]), batch);
            float * values = read_head(v, head / (q->ne[2] / v->ne[2]), batch);
            for (int64_t i = 0; i < q->ne[1]; i++) {
                const double error = row_error(dst, i, head, batch, keys, values);
                worst              = error > worst || isnan(error) ? error : worst;
            }
            free(keys);
            free(values);
        }
    }
    return worst;
}

/* ---- running ---- */

enum { GUARD = 256 };

/* Computes dst with one thread and with another number of them (in turn; all: with every number) into guarded memory filled
 * with NaN; the bytes must be equal. */
static void run(struct ggml_context * ctx, struct ggml_tensor * dst, const char * what, bool all) {
    static ggml_backend_t backend;
    static int            turn;
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 16, false);
    const size_t          size  = ggml_nbytes(dst);
    unsigned char *       room  = malloc(size + 2 * GUARD), *first = malloc(size + 1);
    void * const          own   = dst->data;
    dst->data                   = room + GUARD;
    ggml_build_forward_expand(graph, dst);
    backend = backend != NULL ? backend : ggml_backend_cpu_init();
    turn    = turn % (COUNT(thread_counts) - 1) + 1;
    for (int t = 0; t < COUNT(thread_counts); t++) {
        if (t > 0 && t != turn && !all) {
            continue;
        }
        memset(room, 0xff, size + 2 * GUARD); /* NaN */
        ggml_backend_cpu_set_n_threads(backend, thread_counts[t]);
        const enum ggml_status status = ggml_backend_graph_compute(backend, graph);
        CHECK_MSG(status == GGML_STATUS_SUCCESS, "%s: status %d with %d threads", what, status, thread_counts[t]);
        for (size_t i = 0; i < GUARD; i++) {
            if (room[i] != 0xff || room[GUARD + size + i] != 0xff) {
                harness_failed(__FILE__, __LINE__, "%s: wrote outside with %d threads", what, thread_counts[t]);
                break;
            }
        }
        if (t == 0) {
            memcpy(first, room + GUARD, size);
        } else {
            CHECK_MSG(memcmp(first, room + GUARD, size) == 0, "%s: %d threads give other bytes than 1", what, thread_counts[t]);
        }
    }
    memcpy(own, room + GUARD, size);
    dst->data = own;
    free(room);
    free(first);
}

static void check_with(const struct config * c, bool all_threads) {
    const size_t            row   = (size_t) (c->d + c->dv + 64) * 4;
    const size_t            rows  = (size_t) ((c->heads + 1) * (c->queries + 3) * 2 + (c->k_heads + c->v_heads + 2) * (c->keys + 3));
    struct ggml_init_params sizes = { (size_t) c->batch * (row * rows + (size_t) (c->heads * (c->queries + 8) * (c->keys + 8)) * 2) + (1 << 20),
                                      NULL, false };
    struct ggml_context *   ctx   = ggml_init(sizes);
    struct ggml_tensor *    dst   = build(ctx, c);
    ggml_backend_dev_t      device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    CHECK_MSG(ggml_backend_dev_supports_op(device, dst), "%s: not supported", text_of(c));
    run(ctx, dst, text_of(c), all_threads);
    const double error = worst_error(dst);
    CHECK_MSG(error <= 1.0, "%s: error %.3g of the bound", text_of(c), error);
    harness_count_run(1);
    ggml_free(ctx);
}

static void check(const struct config * c) {
    check_with(c, false);
}

/* ---- cases ---- */

static const enum ggml_type types[] = { GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q8_0,
                                        GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 };

TEST(formats) { /* every pair, both ways, and every layout */
    for (int k = 0; k < COUNT(types); k++) {
        for (int v = 0; v < COUNT(types); v++) {
            for (int queries = 1; queries <= 19; queries += 9) {
                struct config c = plain;
                c.k             = types[k];
                c.v             = types[v];
                c.queries       = queries;
                c.layout        = (enum layout) ((k + v + queries) % N_LAYOUTS);
                c.mask          = (enum mask_kind) ((k * 5 + v) % N_MASKS);
                check(&c);
            }
        }
    }
}

TEST(head_sizes) {
    static const int64_t sizes[][2] = { { 1, 1 },    { 4, 4 },    { 40, 40 },   { 64, 64 },   { 80, 80 },  { 96, 96 }, { 128, 128 },
                                        { 192, 128 }, { 256, 256 }, { 576, 512 }, { 65, 67 }, { 7, 100 } };
    for (int i = 0; i < COUNT(sizes); i++) {
        for (int queries = 1; queries <= 33; queries += 16) {
            for (int t = 0; t < 3; t++) {
                struct config c = plain;
                c.d             = sizes[i][0];
                c.dv            = sizes[i][1];
                c.k = c.v = types[t];
                c.queries = queries;
                c.keys    = 70;
                c.layout  = (enum layout) ((i + t) % N_LAYOUTS);
                check(&c);
            }
        }
    }
}

TEST(grouped_heads) {
    for (int64_t group = 1; group <= 8; group++) {
        for (int64_t units = 1; units <= 3; units++) {
            for (int64_t queries = 1; queries <= 9; queries += 4) {
                struct config c = plain;
                c.d = c.dv = 40;
                c.heads    = group * units;
                c.k_heads = c.v_heads = units;
                c.queries             = queries;
                c.keys                = 90;
                c.mask                = units == 2 ? PER_HEAD : CAUSAL;
                check(&c);
            }
        }
    }
    struct config c = plain; /* heads of keys and of values by themselves */
    c.heads         = 12;
    c.k_heads       = 2;
    c.v_heads       = 3;
    check(&c);
    c.queries = 20;
    check(&c);
}

TEST(lengths) {
    static const int64_t keys[]    = { 1, 63, 64, 65, 127, 129, 300 };
    static const int64_t queries[] = { 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 50, 63, 64, 65, 70 };
    for (int k = 0; k < COUNT(keys); k++) {
        for (int q = 0; q < COUNT(queries); q++) {
            struct config c = plain;
            c.d = c.dv = 24;
            c.heads    = 2;
            c.k_heads = c.v_heads = 1;
            c.keys                = keys[k];
            c.queries             = queries[q];
            c.mask                = (enum mask_kind) ((k + q) % N_MASKS);
            check(&c);
        }
    }
}

TEST(masks) {
    for (int mask = 0; mask < N_MASKS; mask++) {
        for (int queries = 1; queries <= 27; queries += 13) {
            for (int variant = queries % 2; variant < 16; variant += 2) {
                struct config c = plain;
                c.d = c.dv = 16;
                c.heads    = 6;
                c.batch    = variant & 4 ? 2 : 1;
                c.queries  = queries;
                c.keys     = 150;
                c.mask     = (enum mask_kind) mask;
                c.sinks    = (variant ^ mask) & 1;
                c.cap      = variant & 2 ? 5.0f : 0.0f;
                c.max_bias = variant & 8 && mask != NO_MASK ? 8.0f : 0.0f;
                check(&c);
            }
        }
    }
}

TEST(threads) { /* every number of them, on both ways: few queries in one chunk and in many, and tiles */
    for (int64_t queries = 1; queries <= 70; queries += 23) {
        for (int64_t keys = 60; keys <= 700; keys += 320) {
            struct config c = plain;
            c.queries       = queries;
            c.keys          = keys;
            c.heads         = 6;
            check_with(&c, true);
        }
    }
}

TEST(long_caches) { /* several chunks and more than one block in each */
    static const int64_t keys[] = { 1024, 1500, 4133 };
    for (int i = 0; i < COUNT(keys); i++) {
        for (int mask = 0; mask < N_MASKS; mask++) {
            struct config c = plain;
            c.d = c.dv = 32;
            c.keys     = keys[i];
            c.queries  = i == 1 ? 2 : 1;
            c.mask     = (enum mask_kind) mask;
            c.sinks    = mask % 2 == 0;
            c.v        = mask % 3 == 0 ? GGML_TYPE_Q8_0 : GGML_TYPE_F16;
            c.batch    = i == 1 ? 2 : 1;
            check(&c);
        }
    }
}

TEST(no_keys) { /* nothing to see: zeros */
    for (int64_t queries = 1; queries <= 40; queries += 39) {
        for (int sinks = 0; sinks < 2; sinks++) {
            struct config c = plain;
            c.keys          = 0;
            c.queries       = queries;
            c.mask          = NO_MASK;
            c.sinks         = sinks;
            check(&c);
        }
    }
}

TEST(soft_cap_without_mask) { /* what fills up the last block must not count */
    static const int64_t keys[] = { 1, 63, 64, 65, 127, 129 };
    for (int i = 0; i < COUNT(keys); i++) {
        struct config c = plain;
        c.heads = c.k_heads = c.v_heads = 1;
        c.queries                       = 64;
        c.keys                          = keys[i];
        c.mask                          = NO_MASK;
        c.cap                           = 30.0f;
        check(&c);
        c.cap = -30.0f; /* the same function */
        check(&c);
    }
}

TEST(hidden_rows) { /* the first 14 of 16 queries see nothing; late rows of a window see nothing in early blocks */
    for (int sinks = 0; sinks < 2; sinks++) {
        struct config c = plain;
        c.heads = c.k_heads = c.v_heads = 1;
        c.queries                       = 16;
        c.keys                          = 2; /* causal: rows 14 and 15 alone see keys */
        c.sinks                         = sinks;
        check(&c);
        c.keys = c.queries = 640;
        c.d = c.dv = 16;
        c.mask     = WINDOW;
        check(&c);
    }
}

TEST(refuses) {
    struct ggml_init_params params = { 1 << 20, NULL, false };
    struct ggml_context *   ctx    = ggml_init(params);
    ggml_backend_dev_t      device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    struct ggml_tensor *    q      = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 32, 5, 2);
    struct ggml_tensor *    k      = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 32, 9, 2);
    struct ggml_tensor *    across = ggml_permute(ctx, ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 9, 32, 2), 1, 0, 2, 3);
    struct ggml_tensor *    ids    = ggml_new_tensor_3d(ctx, GGML_TYPE_I32, 32, 9, 2);
    CHECK(ggml_backend_dev_supports_op(device, ggml_flash_attn_ext(ctx, q, k, k, NULL, 1, 0, 0)));
    CHECK(!ggml_backend_dev_supports_op(device, ggml_flash_attn_ext(ctx, q, across, k, NULL, 1, 0, 0)));
    CHECK(!ggml_backend_dev_supports_op(device, ggml_flash_attn_ext(ctx, q, k, across, NULL, 1, 0, 0)));
    CHECK(!ggml_backend_dev_supports_op(device, ggml_flash_attn_ext(ctx, q, k, ids, NULL, 1, 0, 0)));
    ggml_free(ctx);
}

/* Numbers that are none stay where they are: in the rows that see them. */
TEST(not_a_number) {
    for (int64_t queries = 1; queries <= 20; queries += 19) {
        struct ggml_init_params params = { 1 << 20, NULL, false };
        struct ggml_context *   ctx    = ggml_init(params);
        struct ggml_tensor *    q      = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 16, queries, 2);
        struct ggml_tensor *    k      = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 16, 33, 1);
        fill(q, -1, 1);
        fill(k, -1, 1);
        ((float *) q->data)[0] = NAN;
        struct ggml_tensor * dst = ggml_flash_attn_ext(ctx, q, k, k, NULL, 1, 0, 0);
        run(ctx, dst, "NaN in a query", true);
        for (int64_t i = 0; i < ggml_nelements(dst); i++) {
            CHECK(isnan(((const float *) dst->data)[i]) == (i < 16));
        }
        ggml_free(ctx);
        harness_count_run(1);
    }
}
