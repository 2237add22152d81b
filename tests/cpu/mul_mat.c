/* SPDX-License-Identifier: MIT
 *
 * MUL_MAT, MUL_MAT_ID and OUT_PROD on the CPU backend against a double-precision reference that walks nb[]: every
 * format, odd shapes, views, broadcasts; dst is filled with NaN first and guarded on both sides; every thread count
 * must give the same bytes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "harness.h"

/* The first three everywhere: threads beyond the processors cost their time slices. */
static const int thread_counts[] = { 1, 2, 5, 3, 8 };
static int       n_thread_counts = 3;

static uint64_t       seed = 1;
static ggml_backend_t backend;

/* ---- tensors ---- */

static struct ggml_context * new_context(size_t bytes) {
    struct ggml_init_params params = { bytes + (1 << 20), NULL, false };
    return ggml_init(params);
}

/* Fills a contiguous tensor of any type that can be encoded from random floats; false when it cannot. */
static bool fill(struct ggml_tensor * t, float low, float high) {
    const int64_t n = ggml_nelements(t);
    float *       x = malloc((size_t) n * sizeof(float) + 4);
    for (int64_t i = 0; i < n; i++) {
        x[i] = harness_random_float(&seed, low, high);
    }
    bool done = true;
    if (t->type == GGML_TYPE_F32) {
        memcpy(t->data, x, (size_t) n * sizeof(float));
    } else if (t->type == GGML_TYPE_F16) {
        ggml_fp32_to_fp16_row(x, t->data, n);
    } else if (t->type == GGML_TYPE_BF16) {
        ggml_fp32_to_bf16_row(x, t->data, n);
    } else {
        float * weights = malloc((size_t) t->ne[0] * sizeof(float) + 4);
        for (int64_t i = 0; i < t->ne[0]; i++) {
            weights[i] = 1.0f;
        }
        done = ggml_quantize_chunk(t->type, x, t->data, 0, ggml_nrows(t), t->ne[0], weights) == ggml_nbytes(t);
        free(weights);
    }
    free(x);
    return done;
}

/* Value (i0, i1, i2, i3) by strides. Rows of block formats are decoded whole: row holds the one at (i1, i2, i3). */
static void read_row(const struct ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3, float * row) {
    const char * base =
        (const char *) t->data + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3];
    const struct ggml_type_traits * traits = ggml_get_type_traits(t->type);
    if (t->type == GGML_TYPE_F32 || traits->blck_size == 1) {
        for (int64_t i = 0; i < t->ne[0]; i++) {
            if (t->type == GGML_TYPE_F32) {
                memcpy(&row[i], base + (size_t) i * t->nb[0], 4);
            } else {
                traits->to_float(base + (size_t) i * t->nb[0], &row[i], 1);
            }
        }
    } else {
        traits->to_float(base, row, t->ne[0]);
    }
}

/* ---- reference ---- */

/* Largest error over the bound that the operator's file states: `relative` times the sum of |a| |b| of the element. */
static double compare(const struct ggml_tensor * dst, double relative) {
    const struct ggml_tensor * a  = dst->src[0];
    const struct ggml_tensor * b  = dst->src[1];
    float *                    ra = malloc((size_t) a->ne[0] * sizeof(float) * (size_t) a->ne[1] + 4),
          *rb                     = malloc((size_t) a->ne[0] * sizeof(float) + 4);
    double worst                  = 0;
    for (int64_t i3 = 0; i3 < dst->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < dst->ne[2]; i2++) {
            for (int64_t j = 0; j < a->ne[1]; j++) {
                read_row(a, j, i2 / (b->ne[2] / a->ne[2]), i3 / (b->ne[3] / a->ne[3]), ra + j * a->ne[0]);
            }
            for (int64_t i = 0; i < dst->ne[1]; i++) {
                read_row(b, i, i2, i3, rb);
                float greatest = 0;
                for (int64_t l = 0; l < a->ne[0]; l++) {
                    greatest = fmaxf(greatest, fabsf(rb[l]));
                }
                for (int64_t j = 0; j < dst->ne[0]; j++) {
                    const float * w   = ra + j * a->ne[0];
                    double        sum = 0, size = 0;
                    for (int64_t l = 0; l < a->ne[0]; l++) {
                        sum += (double) w[l] * rb[l];
                        size += fabs((double) w[l]) * (0.5 * fabs((double) rb[l]) + 0.5 * greatest);
                    }
                    float got;
                    memcpy(&got,
                           (const char *) dst->data + (size_t) j * dst->nb[0] + (size_t) i * dst->nb[1] +
                               (size_t) i2 * dst->nb[2] + (size_t) i3 * dst->nb[3],
                           4);
                    const double error = fabs(got - sum) / (relative * size + 1e-30);
                    worst              = error > worst || isnan(error) ? error : worst;
                }
            }
        }
    }
    free(ra);
    free(rb);
    return worst;
}

/* ---- running ---- */

enum { GUARD = 256 };

/* Computes dst with every thread count into guarded memory filled with NaN; the bytes of all runs must be equal. */
static void run(struct ggml_context * ctx, struct ggml_tensor * dst, const char * what) {
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 16, false);
    const size_t         size  = ggml_nbytes(dst);
    unsigned char *      room = malloc(size + 2 * GUARD), *first = malloc(size + 1);
    void * const         own = dst->data;
    dst->data                = room + GUARD;
    ggml_build_forward_expand(graph, dst);
    if (backend == NULL) {
        backend = ggml_backend_cpu_init(); /* one for all cases: its threads live on */
    }
    for (int t = 0; t < n_thread_counts; t++) {
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
            CHECK_MSG(memcmp(first, room + GUARD, size) == 0, "%s: %d threads give other bytes than 1", what,
                      thread_counts[t]);
        }
    }
    memcpy(own, room + GUARD, size);
    dst->data = own;
    free(room);
    free(first);
}

/* Many rows may round both factors to BF16 (2^-8 each); few rows of a block format have sixteen-bit activations. */
static double bound(const struct ggml_tensor * a, int64_t m) {
    const double sum = 4e-7 * (1 + (double) a->ne[0] / 256);
    if (a->type == GGML_TYPE_F32 || a->type == GGML_TYPE_F16) {
        return sum;
    }
    return sum + (m > 6 ? 0.004 : 4e-5);
}

static void check(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    char                 what[256];
    struct ggml_tensor * dst = ggml_mul_mat(ctx, a, b);
    snprintf(what, sizeof(what), "%s [%d %d %d %d] x %s [%d %d %d %d]", ggml_type_name(a->type), (int) a->ne[0],
             (int) a->ne[1], (int) a->ne[2], (int) a->ne[3], ggml_type_name(b->type), (int) b->ne[0], (int) b->ne[1],
             (int) b->ne[2], (int) b->ne[3]);
    run(ctx, dst, what);
    const double error = compare(dst, bound(a, b->ne[1]));
    CHECK_MSG(error <= 1.0, "%s: error %.3g of the bound", what, error);
    harness_count_run(1);
}

static void check_plain(enum ggml_type ta, enum ggml_type tb, int64_t k, int64_t n, int64_t m, int64_t a2, int64_t a3,
                        int64_t b2, int64_t b3) {
    struct ggml_context * ctx =
        new_context((size_t) (k * (n * a2 * a3 + m * b2 * b3) * 4 + n * m * b2 * b3 * 4 + 65536));
    struct ggml_tensor * a = ggml_new_tensor_4d(ctx, ta, k, n, a2, a3);
    struct ggml_tensor * b = ggml_new_tensor_4d(ctx, tb, k, m, b2, b3);
    if (!fill(a, -1, 1) || !fill(b, -1, 1)) {
        harness_count_skipped("the format has no encoder", 1);
    } else {
        check(ctx, a, b);
    }
    ggml_free(ctx);
}

/* ---- cases ---- */

TEST(every_format) {
    static const int64_t ms[] = { 1, 2, 6, 7, 16, 33 };
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        const struct ggml_type_traits * traits = ggml_get_type_traits((enum ggml_type) t);
        if (traits->blck_size == 0 || (t != GGML_TYPE_F32 && traits->to_float == NULL)) {
            harness_count_skipped("no number format that a client can decode", 1);
            continue;
        }
        for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
            check_plain((enum ggml_type) t, GGML_TYPE_F32, traits->blck_size == 1 ? 75 : traits->blck_size, 37, ms[i],
                        1, 1, 1, 1);
            check_plain((enum ggml_type) t, GGML_TYPE_F32, 512, 64, ms[i], 1, 1, 1, 1);
        }
    }
}

TEST(odd_shapes) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 };
    static const int64_t        ks[]    = { 1, 3, 16, 31, 33, 129 };
    static const int64_t        ns[]    = { 1, 2, 11, 12, 13, 25 };
    static const int64_t        ms[]    = { 1, 5, 15, 17, 32, 49 };
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 6; i++) { /* every pair of sizes */
            for (int j = 0; j < 6; j++) {
                check_plain(types[t], GGML_TYPE_F32, ks[i], ns[j], ms[(i + j + t) % 6], 1, 1, 1, 1);
            }
        }
    }
}

TEST(block_rows) { /* rows of one block more or less than a group of 256 */
    static const enum ggml_type types[] = { GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,   GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                            GGML_TYPE_Q8_0, GGML_TYPE_IQ4_NL, GGML_TYPE_MXFP4 };
    for (int t = 0; t < 7; t++) {
        for (int64_t k = 32; k <= 608; k += 64) {
            check_plain(types[t], GGML_TYPE_F32, k, 17, 1, 1, 1, 1, 1);
            check_plain(types[t], GGML_TYPE_F32, k, 33, 20, 1, 1, 1, 1);
        }
    }
}

TEST(small_row_counts) { /* every row is written, whatever the thread count */
    n_thread_counts = 5;
    for (int64_t n = 16; n <= 18; n++) {
        for (int64_t m = 1; m <= 4; m++) {
            check_plain(GGML_TYPE_Q4_0, GGML_TYPE_F32, 256, n, m, 1, 1, 1, 1);
            check_plain(GGML_TYPE_Q4_0, GGML_TYPE_F32, 256, n, m, 2, 1, 2, 1);
            check_plain(GGML_TYPE_Q8_0, GGML_TYPE_F32, 256, n, m, 1, 1, 2, 1);
        }
    }
    check_plain(GGML_TYPE_Q4_0, GGML_TYPE_F32, 256, 200, 100, 1, 1, 2, 1);
    check_plain(GGML_TYPE_F32, GGML_TYPE_F32, 64, 16, 17, 1, 1, 6, 1);
    n_thread_counts = 3;
}

TEST(broadcast) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_1 };
    for (int t = 0; t < 3; t++) {
        for (int64_t m = 1; m < 40; m += 19) {
            check_plain(types[t], GGML_TYPE_F32, 64, 30, m, 1, 1, 3, 2);
            check_plain(types[t], GGML_TYPE_F32, 64, 30, m, 3, 1, 9, 1);
            check_plain(types[t], GGML_TYPE_F32, 64, 30, m, 2, 2, 4, 4);
            check_plain(types[t], GGML_TYPE_F16, 64, 30, m, 2, 2, 4, 4);
            check_plain(types[t], GGML_TYPE_BF16, 64, 30, m, 1, 2, 1, 2);
        }
    }
}

TEST(pieces) { /* more rows of b than are packed at one time, and more depth than a panel holds */
    check_plain(GGML_TYPE_F32, GGML_TYPE_F32, 1100, 33, 600, 1, 1, 2, 1);
    check_plain(GGML_TYPE_Q4_1, GGML_TYPE_F32, 4096 + 288, 50, 300, 1, 1, 1, 1);
    check_plain(GGML_TYPE_Q6_K, GGML_TYPE_F32, 8192 + 256, 26, 35, 1, 1, 1, 1);
    check_plain(GGML_TYPE_F32, GGML_TYPE_F32, 5000, 20, 19, 1, 1, 1, 1);
    check_plain(GGML_TYPE_F16, GGML_TYPE_F32, 70000, 13, 33, 1, 1, 1, 1);
}

TEST(views) { /* permuted and sliced: as attention reads its cache */
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0 };
    for (int t = 0; t < 4; t++) {
        for (int64_t m = 1; m <= 33; m += 16) {
            struct ggml_context * ctx = new_context(1 << 22);
            struct ggml_tensor *  kv  = ggml_new_tensor_3d(ctx, types[t], 64, 3, 80); /* head size, heads, positions */
            struct ggml_tensor *  q   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 64, 9, m);
            fill(kv, -1, 1);
            fill(q, -1, 1);
            struct ggml_tensor * slice = ggml_view_3d(ctx, kv, 64, 3, 70, kv->nb[1], kv->nb[2], 5 * kv->nb[2]);
            check(ctx, ggml_permute(ctx, slice, 0, 2, 1, 3), ggml_permute(ctx, q, 0, 2, 1, 3));
            if (types[t] != GGML_TYPE_Q8_0) { /* values of a row apart, on both sides */
                struct ggml_tensor * p  = ggml_new_tensor_2d(ctx, types[t], 40, 50);
                struct ggml_tensor * xt = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, m, 50);
                fill(p, -1, 1);
                fill(xt, -1, 1);
                check(ctx, p, ggml_view_2d(ctx, q, 40, m, q->nb[2], 16));
                struct ggml_tensor * small = ggml_new_tensor_2d(ctx, types[t], 50, 7);
                fill(small, -1, 1);
                check(ctx, small, ggml_transpose(ctx, xt));
                struct ggml_tensor * pt = ggml_transpose(ctx, p);
                /* the builder refuses a transposed a, kernels take it: the labels are swapped after building */
                struct ggml_tensor * a   = ggml_new_tensor_2d(ctx, types[t], 50, 40);
                struct ggml_tensor * dst = ggml_mul_mat(ctx, a, ggml_transpose(ctx, xt));
                dst->src[0]              = pt;
                run(ctx, dst, "transposed a");
                CHECK(compare(dst, bound(a, m)) <= 1.0);
            }
            ggml_free(ctx);
        }
    }
}

TEST(half_precision_sum) { /* 4096 products of 81 leave the range of F16 */
    for (int64_t m = 1; m <= 20; m += 19) {
        struct ggml_context * ctx = new_context(1 << 22);
        struct ggml_tensor *  a   = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4096, 3);
        struct ggml_tensor *  b   = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4096, m);
        fill(a, 9, 9);
        fill(b, 9, 9);
        struct ggml_tensor * dst = ggml_mul_mat(ctx, a, b);
        run(ctx, dst, "9 x 9");
        for (int64_t i = 0; i < 3 * m; i++) {
            CHECK(fabs(((float *) dst->data)[i] - 331776.0) < 331.0);
        }
        ggml_free(ctx);
    }
}

TEST(precision) { /* F32 asked for: no rounding to BF16 */
    struct ggml_context * ctx = new_context(1 << 22);
    struct ggml_tensor *  a   = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_1, 512, 50);
    struct ggml_tensor *  b   = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 512, 40);
    fill(a, -1, 1);
    fill(b, -1, 1);
    struct ggml_tensor * dst = ggml_mul_mat(ctx, a, b);
    ggml_prec_set_acc(dst, GGML_PREC_F32);
    run(ctx, dst, "precision F32");
    CHECK(compare(dst, 2e-6) <= 1.0);
    ggml_free(ctx);
}

TEST(extreme_values) {
    struct ggml_context * ctx = new_context(1 << 22);
    struct ggml_tensor *  a   = ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 20);
    struct ggml_tensor *  b   = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 1);
    fill(a, -1, 1);
    const float scales[] = { 0.0f, 1e-42f, 1e-38f, 1e30f };
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 64; i++) {
            ((float *) b->data)[i] = scales[s] * (float) (i % 7 - 3);
        }
        struct ggml_tensor * dst = ggml_mul_mat(ctx, a, b);
        run(ctx, dst, "extreme values");
        for (int j = 0; j < 20; j++) {
            CHECK(isfinite(((float *) dst->data)[j]));
        }
        if (scales[s] >= 1e-38f) {
            CHECK(compare(dst, 4e-5) <= 1.0);
        }
    }
    ((float *) b->data)[40]  = NAN;
    struct ggml_tensor * dst = ggml_mul_mat(ctx, a, b);
    run(ctx, dst, "NaN");
    CHECK(isnan(((float *) dst->data)[0]));
    ggml_free(ctx);
}

/* ---- MUL_MAT_ID ---- */

static void check_id(enum ggml_type type, int64_t k, int64_t n, int experts, int used, int tokens, int64_t b1) {
    struct ggml_context * ctx =
        new_context((size_t) (k * n * experts * 4 + (k * b1 + 2 * n * used) * tokens * 4 + 65536));
    struct ggml_tensor * as  = ggml_new_tensor_3d(ctx, type, k, n, experts);
    struct ggml_tensor * b   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, k, b1, tokens);
    struct ggml_tensor * all = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, experts, tokens);
    fill(as, -1, 1);
    fill(b, -1, 1);
    for (int t = 0; t < tokens; t++) {
        const int first = (int) (harness_random(&seed) % (uint64_t) experts);
        for (int u = 0; u < experts; u++) {
            ((int32_t *) all->data)[t * experts + u] = (first + u * 3) % experts;
        }
    }
    struct ggml_tensor * ids = ggml_view_2d(ctx, all, used, tokens, all->nb[1], 0);
    struct ggml_tensor * dst = ggml_mul_mat_id(ctx, as, b, ids);
    char                 what[128];
    snprintf(what, sizeof(what), "%s [%d %d %d] ids [%d %d] b1 %d", ggml_type_name(type), (int) k, (int) n, experts,
             used, tokens, (int) b1);
    run(ctx, dst, what);
    /* each token and expert is a product of its own */
    float *row = malloc((size_t) k * 4), *x = malloc((size_t) k * 4);
    double worst = 0;
    for (int t = 0; t < tokens; t++) {
        for (int u = 0; u < used; u++) {
            const int32_t e = ((int32_t *) all->data)[t * experts + u];
            read_row(b, u % b1, t, 0, x);
            for (int64_t j = 0; j < n; j++) {
                read_row(as, j, e, 0, row);
                double sum = 0, size = 0;
                for (int64_t l = 0; l < k; l++) {
                    sum += (double) row[l] * x[l];
                    size += fabs((double) row[l]) * (0.5 * fabs((double) x[l]) + 0.5);
                }
                const double got   = ((float *) dst->data)[(t * used + u) * n + j];
                const double error = fabs(got - sum) / (bound(as, tokens) * size + 1e-30);
                worst              = error > worst || isnan(error) ? error : worst;
            }
        }
    }
    CHECK_MSG(worst <= 1.0, "%s: error %.3g of the bound", what, worst);
    harness_count_run(1);
    free(row);
    free(x);
    ggml_free(ctx);
}

TEST(experts) {
    static const enum ggml_type types[]  = { GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_Q4_0,
                                             GGML_TYPE_Q4_1, GGML_TYPE_Q8_0, GGML_TYPE_MXFP4 };
    static const int            tokens[] = { 1, 2, 7, 33, 70 };
    for (int t = 0; t < 6; t++) {
        for (int i = 0; i < 5; i++) {
            check_id(types[t], 64, 33, 8, 2, tokens[i], 1);
            check_id(types[t], 64, 33, 4, 4, tokens[i], 4);
            check_id(types[t], 96, 50, 2, 1, tokens[i], 1);
            check_id(types[t], 32, 17, 32, 6, tokens[i], 3);
        }
    }
    check_id(GGML_TYPE_Q4_K, 2048, 40, 3, 2, 300, 2);
}

TEST(bad_expert) {
    struct ggml_context * ctx = new_context(1 << 20);
    struct ggml_tensor *  as  = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 32, 8, 4);
    struct ggml_tensor *  b   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 32, 1, 2);
    struct ggml_tensor *  ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 1, 2);
    fill(as, -1, 1);
    fill(b, -1, 1);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_mul_mat_id(ctx, as, b, ids));
    ggml_backend_t own = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(own, 2);
    static const int32_t bad[] = { -1, 4, 1 << 30 };
    for (int i = 0; i < 3; i++) {
        ((int32_t *) ids->data)[0] = 0;
        ((int32_t *) ids->data)[1] = bad[i];
        CHECK(ggml_backend_graph_compute(own, graph) == GGML_STATUS_FAILED);
    }
    ((int32_t *) ids->data)[1] = 3;
    CHECK(ggml_backend_graph_compute(own, graph) == GGML_STATUS_SUCCESS);
    ggml_backend_free(own);
    ggml_free(ctx);
}

/* ---- OUT_PROD ---- */

static void check_out_prod(enum ggml_type type, int64_t n, int64_t m, int64_t k, int64_t a2, int64_t b2, int64_t b3) {
    struct ggml_context * ctx =
        new_context((size_t) ((n * a2 + m * b2 * b3) * k * 4 + 2 * n * m * b2 * b3 * 4 + 65536));
    struct ggml_tensor * a = ggml_new_tensor_3d(ctx, type, n, k, a2);
    struct ggml_tensor * b = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, m, k, b2, b3);
    fill(a, -1, 1);
    fill(b, -1, 1);
    struct ggml_tensor * dst = ggml_out_prod(ctx, a, b);
    char                 what[128];
    snprintf(what, sizeof(what), "out_prod %s [%d %d %d] [%d %d %d %d]", ggml_type_name(type), (int) n, (int) k,
             (int) a2, (int) m, (int) k, (int) b2, (int) b3);
    run(ctx, dst, what);
    float *  row = malloc((size_t) n * 4), *x = malloc((size_t) m * 4);
    double * sum   = calloc((size_t) (n * m), sizeof(double));
    double   worst = 0;
    for (int64_t i = 0; i < b2 * b3; i++) {
        memset(sum, 0, (size_t) (n * m) * sizeof(double));
        for (int64_t l = 0; l < k; l++) {
            read_row(a, l, i % b2 / (b2 / a2), 0, row);
            read_row(b, l, i % b2, i / b2, x);
            for (int64_t e = 0; e < n * m; e++) {
                sum[e] += (double) row[e % n] * x[e / n];
            }
        }
        for (int64_t e = 0; e < n * m; e++) {
            const double error = fabs(((float *) dst->data)[i * n * m + e] - sum[e]);
            worst              = error > worst || isnan(error) ? error : worst;
        }
    }
    CHECK_MSG(worst <= 1e-6 * (double) (k + 8), "%s: error %.3g", what, worst);
    harness_count_run(1);
    free(row);
    free(x);
    free(sum);
    ggml_free(ctx);
}

TEST(out_prod) {
    static const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q6_K };
    for (int t = 0; t < 4; t++) {
        const int64_t n = t == 3 ? 256 : 32;
        check_out_prod(types[t], n, 1, 1, 1, 1, 1);
        check_out_prod(types[t], n * 4, 70, 33, 1, 3, 2);
        check_out_prod(types[t], n * 3, 17, 600, 2, 4, 1);
    }
    check_out_prod(GGML_TYPE_F32, 1, 1, 7, 1, 1, 1);
    check_out_prod(GGML_TYPE_F32, 97, 65, 513, 1, 1, 1);
}

/* ---- packed weights ---- */

static ggml_backend_buffer_type_t pack_type(void) {
    const ggml_backend_reg_t reg                              = ggml_backend_cpu_reg();
    ggml_backend_buffer_type_t * (*extra)(ggml_backend_dev_t) = (ggml_backend_buffer_type_t * (*) (ggml_backend_dev_t))(
        uintptr_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts");
    ggml_backend_buffer_type_t * types = extra != NULL ? extra(ggml_backend_reg_dev_get(reg, 0)) : NULL;
    for (; types != NULL && *types != NULL; types++) {
        if (strcmp(ggml_backend_buft_name(*types), "CPU_REPACK") == 0) {
            return *types;
        }
    }
    return NULL;
}

struct packed {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *  a;
};

/* A copy of a in packed memory. */
static struct packed pack(const struct ggml_tensor * a) {
    const struct ggml_init_params params = { 1 << 16, NULL, true };
    struct packed                 p      = { .ctx = ggml_init(params) };
    p.a                                  = ggml_dup_tensor(p.ctx, a);
    p.buffer                             = ggml_backend_alloc_ctx_tensors_from_buft(p.ctx, pack_type());
    ggml_backend_tensor_set(p.a, a->data, 0, ggml_nbytes(a));
    return p;
}

static void unpack(struct packed * p) {
    ggml_backend_buffer_free(p->buffer);
    ggml_free(p->ctx);
}

static bool packs(enum ggml_type type) {
    struct ggml_context *       ctx    = new_context(1 << 16);
    struct ggml_tensor *        a      = ggml_new_tensor_2d(ctx, type, 256, 16);
    struct ggml_tensor *        b      = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 256, 1);
    const ggml_backend_dev_t    device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    const ggml_backend_buffer_t empty  = ggml_backend_buft_alloc_buffer(pack_type(), 0); /* as llama.cpp asks */
    struct ggml_tensor *        dst    = ggml_mul_mat(ctx, a, b);
    a->buffer                          = empty;
    const bool answer                  = ggml_backend_dev_supports_op(device, dst);
    ggml_backend_buffer_free(empty);
    ggml_free(ctx);
    return answer;
}

TEST(packed_bytes) { /* any part of the original bytes is written and comes back */
    if (pack_type() == NULL) {
        SKIP("no packed weights here");
    }
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        if (ggml_blck_size((enum ggml_type) t) <= 1) {
            continue;
        }
        struct ggml_context * ctx = new_context(1 << 20);
        struct ggml_tensor *  a   = ggml_new_tensor_2d(ctx, (enum ggml_type) t, 512, 48);
        const size_t          n   = ggml_nbytes(a);
        for (size_t i = 0; i < n; i++) {
            ((char *) a->data)[i] = (char) harness_random(&seed);
        }
        struct packed p    = pack(a);
        char *        back = malloc(n);
        for (int round = 0; round < 40; round++) {
            const size_t first = harness_random(&seed) % n,
                         size  = round == 0 ? n - first : harness_random(&seed) % (n - first);
            if (round % 3 == 1) {
                for (size_t i = first; i < first + size; i++) {
                    ((char *) a->data)[i] = (char) harness_random(&seed);
                }
                ggml_backend_tensor_set(p.a, (char *) a->data + first, first, size);
            } else if (round % 3 == 2) {
                memset((char *) a->data + first, round, size);
                ggml_backend_tensor_memset(p.a, (uint8_t) round, first, size);
            }
            ggml_backend_tensor_get(p.a, back, first, size);
            CHECK_MSG(memcmp((char *) a->data + first, back, size) == 0, "%s: bytes %zu + %zu",
                      ggml_type_name((enum ggml_type) t), first, size);
        }
        free(back);
        unpack(&p);
        ggml_free(ctx);
        harness_count_run(1);
    }
}

TEST(packed_products) {
    static const int64_t ms[] = { 1, 2, 5, 12, 13, 31, 64 };
    if (pack_type() == NULL) {
        SKIP("no packed weights here");
    }
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        const int64_t block = ggml_blck_size((enum ggml_type) t);
        if (block <= 1 || !packs((enum ggml_type) t)) {
            harness_count_skipped("the format is not packed on this processor", 1);
            continue;
        }
        for (int i = 0; i < 7; i++) {
            for (int shape = 0; shape < 4; shape++) {
                const int64_t k = shape == 0 ? block : shape == 1 ? 576 / block * block : shape == 2 ? 1280 : 4352;
                const int64_t n = shape == 0 ? 16 : shape == 1 ? 48 : shape == 2 ? 208 : 32;
                struct ggml_context * ctx = new_context((size_t) (k * (n + ms[i]) * 8 + n * ms[i] * 8 + 65536));
                struct ggml_tensor *  a   = ggml_new_tensor_2d(ctx, (enum ggml_type) t, k, n);
                struct ggml_tensor *  b   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, k, ms[i], shape == 1 ? 2 : 1);
                fill(a, -1, 1);
                fill(b, -1, 1);
                struct packed        p   = pack(a);
                struct ggml_tensor * dst = ggml_mul_mat(ctx, p.a, b);
                char                 what[128];
                snprintf(what, sizeof(what), "packed %s [%d %d] x %d", ggml_type_name(a->type), (int) k, (int) n,
                         (int) ms[i]);
                run(ctx, dst, what);
                dst->src[0]        = a; /* the reference reads the plain copy */
                const double error = compare(dst, bound(a, ms[i] <= 12 ? 1 : 16));
                CHECK_MSG(error <= 1.0, "%s: error %.3g of the bound", what, error);
                harness_count_run(1);
                unpack(&p);
                ggml_free(ctx);
            }
        }
    }
}

TEST(packed_is_for_products_alone) {
    if (pack_type() == NULL || !packs(GGML_TYPE_Q4_0)) {
        SKIP("no packed weights here");
    }
    struct ggml_context * ctx = new_context(1 << 18);
    struct ggml_tensor *  a   = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 16);
    struct ggml_tensor *  odd = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 17);
    struct ggml_tensor *  ids = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 2);
    struct ggml_tensor *  b   = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 2);
    fill(a, -1, 1);
    fill(odd, -1, 1);
    struct packed            p = pack(a), q = pack(odd);
    const ggml_backend_dev_t device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    CHECK(ggml_backend_dev_supports_op(device, ggml_mul_mat(ctx, p.a, b)));
    CHECK(!ggml_backend_dev_supports_op(device, ggml_mul_mat(ctx, q.a, b))); /* no whole group of rows */
    CHECK(!ggml_backend_dev_supports_op(device, ggml_mul_mat(ctx, ggml_view_2d(ctx, p.a, 64, 16, p.a->nb[1], 0), b)));
    CHECK(!ggml_backend_dev_supports_op(device, ggml_get_rows(ctx, p.a, ids)));
    CHECK(!ggml_backend_dev_supports_op(device, ggml_cpy(ctx, p.a, ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 16))));
    unpack(&p);
    unpack(&q);
    ggml_free(ctx);
}
