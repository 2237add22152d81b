/* SPDX-License-Identifier: MIT
 *
 * SSM_CONV, SSM_SCAN, RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN, GATED_DELTA_NET, SOLVE_TRI, CROSS_ENTROPY_LOSS and its
 * gradient, OPT_STEP_ADAMW, OPT_STEP_SGD, LIGHTNING_INDEXER, DSV4_HC_*: whole results computed in F64 first, then compared.
 * Bound: 2e-5 of the greatest magnitude of the result.
 */
#include "cpu/drive.h"

/* The result in F64, contiguous: filled before drive_check. */
static double expected[1 << 16];
static double tolerance;

static double exact(const struct ggml_tensor * node, struct at at, double * bound) {
    *bound = tolerance;
    return expected[((at.i[3] * node->ne[2] + at.i[2]) * node->ne[1] + at.i[1]) * node->ne[0] + at.i[0]];
}

static void check(struct drive * d, struct ggml_tensor * node, const char * detail) {
    double max = 0.0;
    REQUIRE(ggml_nelements(node) <= (int64_t) (sizeof(expected) / sizeof(expected[0])));
    for (int64_t i = 0; i < ggml_nelements(node); i++) {
        max = fmax(max, fabs(expected[i]));
    }
    tolerance = 2e-5 * max;
    drive_check(d, node, exact, detail);
}

static struct ggml_tensor * f32(struct drive * d, int64_t a, int64_t b, int64_t c, int64_t e, double low, double high) {
    const int64_t ne[4] = {a, b, c, e};
    return drive_tensor(d, GGML_TYPE_F32, ne, DRIVE_PLAIN, low, high);
}

/* ---- state space ---- */

TEST(ssm_conv) {
    for (int k = 0; k < 4; k++) {
        struct drive         d    = drive_begin();
        const int64_t        t = 1 + 3 * k, channels = 37, size = 4, sequences = 1 + k % 2;
        struct ggml_tensor * x    = f32(&d, t + size - 1, channels, sequences, 1, -1, 1);
        struct ggml_tensor * w    = f32(&d, size, channels, 1, 1, -1, 1);
        struct ggml_tensor * node = ggml_ssm_conv(d.ctx, x, w);
        for (int64_t s = 0; s < sequences; s++) {
            for (int64_t i = 0; i < t * channels; i++) {
                double sum = 0.0;
                for (int64_t e = 0; e < size; e++) {
                    sum += ref_get(x, AT(i / channels + e, i % channels, s, 0)) * ref_get(w, AT(e, i % channels, 0, 0));
                }
                expected[s * t * channels + i] = sum;
            }
        }
        drive_place(&d, node, DRIVE_PLAIN);
        check(&d, node, "");
        drive_end(&d);
    }
}

static void expect_scan(const struct ggml_tensor * node) {
    const struct ggml_tensor *s = node->src[0], *x = node->src[1], *dt = node->src[2], *a = node->src[3], *b = node->src[4], *c = node->src[5], *ids = node->src[6];
    const int64_t n = s->ne[0], dim = s->ne[1], heads = x->ne[1], tokens = x->ne[2], sequences = x->ne[3], snapshots = ref_i32(node, 0);
    double *      states = expected + ggml_nelements(x);
    for (int64_t q = 0; q < sequences; q++) {
        for (int64_t h = 0; h < heads; h++) {
            for (int64_t i = 0; i < dim; i++) {
                double state[256];
                for (int64_t e = 0; e < n; e++) {
                    state[e] = ref_get(s, AT(e, i, h, (int64_t) ref_get(ids, AT(q, 0, 0, 0))));
                }
                for (int64_t t = 0; t < tokens; t++) {
                    const double delta = log1p(exp(ref_get(dt, AT(h, t, q, 0)))), own = ref_get(x, AT(i, h, t, q));
                    const int64_t group = h / (heads / b->ne[1]);
                    double        y     = 0.0;
                    for (int64_t e = 0; e < n; e++) {
                        state[e] = state[e] * exp(delta * ref_get(a, AT(a->ne[0] == 1 ? 0 : e, h, 0, 0))) + ref_get(b, AT(e, group, t, q)) * own * delta;
                        y += state[e] * ref_get(c, AT(e, group, t, q));
                    }
                    expected[((q * tokens + t) * heads + h) * dim + i] = y;
                    if (tokens - 1 - t < snapshots) {
                        for (int64_t e = 0; e < n; e++) {
                            states[((((tokens - 1 - t) * sequences + q) * heads + h) * dim + i) * n + e] = state[e];
                        }
                    }
                }
            }
        }
    }
}

TEST(ssm_scan) {
    for (int k = 0; k < 6; k++) {
        struct drive         d    = drive_begin();
        const int64_t        n = 16, dim = k % 2 ? 5 : 1, heads = 4, tokens = 7, sequences = 2, three[4] = {2, 1, 1, 1};
        const bool           scalar = k % 3 != 0;
        struct ggml_tensor * ids    = drive_tensor(&d, GGML_TYPE_I32, three, DRIVE_PLAIN, 0, 3);
        struct ggml_tensor * node   = ggml_ssm_scan(d.ctx, f32(&d, n, dim, heads, 3, -1, 1), f32(&d, dim, heads, tokens, sequences, -1, 1),
                                                    f32(&d, heads, tokens, sequences, 1, -2, 2), f32(&d, scalar ? 1 : n, heads, 1, 1, -2, 0),
                                                    f32(&d, n, k % 2 ? 2 : 1, tokens, sequences, -1, 1), f32(&d, n, k % 2 ? 2 : 1, tokens, sequences, -1, 1), ids,
                                                    scalar && k > 3 ? 3 : 1);
        expect_scan(node);
        drive_place(&d, node, DRIVE_PLAIN);
        check(&d, node, scalar ? "Mamba-2" : "Mamba");
        ref_set(ids, AT(1, 0, 0, 0), 3);
        CHECK(drive_run(&d, node, 2, NULL) == GGML_STATUS_FAILED);
        drive_end(&d);
    }
}

/* ---- linear attention ---- */

enum kind { WKV6, GLA, WKV7 };

static double element(const struct ggml_tensor * t, int64_t i, int64_t h, int64_t token) {
    return ref_get(t, AT(i, h, token, 0));
}

static void expect_recurrence(const struct ggml_tensor * node, enum kind kind) {
    const struct ggml_tensor * const * src   = (const struct ggml_tensor * const *) node->src;
    const struct ggml_tensor *         state = src[kind == WKV6 ? 5 : kind == GLA ? 4 : 6];
    const int64_t size = src[0]->ne[0], heads = src[0]->ne[1], sequences = state->ne[1], tokens = src[0]->ne[2] / sequences, width = size * heads;
    for (int64_t u = 0; u < heads * sequences; u++) {
        static double s[64][64];
        const int64_t h = u % heads, q = u / heads;
        for (int64_t i = 0; i < size * size; i++) {
            s[i / size][i % size] = ((const float *) state->data)[u * size * size + i];
        }
        for (int64_t t = q * tokens; t < (q + 1) * tokens; t++) {
            double y[64] = {0};
            for (int64_t i = 0; i < size; i++) {
                double sa = 0.0;
                for (int64_t j = 0; j < size && kind == WKV7; j++) {
                    sa += element(src[4], j, h, t) * s[i][j];
                }
                for (int64_t j = 0; j < size; j++) {
                    if (kind == WKV6) { /* k v r u w */
                        const double kv = element(src[0], i, h, t) * element(src[1], j, h, t);
                        y[j] += element(src[2], i, h, t) * (kv * element(src[3], i, h, 0) + s[i][j]);
                        s[i][j] = s[i][j] * element(src[4], i, h, t) + kv;
                    } else if (kind == GLA) { /* k v q g */
                        s[i][j] = s[i][j] * element(src[3], i, h, t) + element(src[0], i, h, t) * element(src[1], j, h, t);
                        y[j] += s[i][j] * element(src[2], i, h, t) * ref_f32(node, 0);
                    } else { /* r w k v a b */
                        s[i][j] = s[i][j] * element(src[1], j, h, t) + element(src[3], i, h, t) * element(src[2], j, h, t) + sa * element(src[5], j, h, t);
                        y[i] += s[i][j] * element(src[0], j, h, t);
                    }
                }
            }
            for (int64_t i = 0; i < size; i++) {
                expected[t * width + h * size + i] = y[i];
            }
        }
        for (int64_t i = 0; i < size * size; i++) {
            expected[width * tokens * sequences + u * size * size + i] = s[i / size][i % size];
        }
    }
}

/* Two heads of size 64, more workers than heads: every head once, with all of them. */
TEST(recurrences) {
    for (int k = 0; k < 9; k++) {
        struct drive         d = drive_begin();
        const enum kind      kind = (enum kind) (k % 3);
        const int64_t        size = k < 3 ? 64 : 17, heads = 2, sequences = 1 + k / 6, tokens = 4 * sequences;
        struct ggml_tensor * in[6];
        for (int i = 0; i < 6; i++) {
            in[i] = f32(&d, size, heads, tokens, 1, kind == GLA && i == 3 ? 0.5 : -0.5, kind == GLA && i == 3 ? 1.0 : 0.5);
        }
        struct ggml_tensor * u     = f32(&d, size, heads, 1, 1, -1, 1);
        struct ggml_tensor * state = f32(&d, size * size * heads, sequences, 1, 1, -1, 1);
        struct ggml_tensor * node  = kind == WKV6 ? ggml_rwkv_wkv6(d.ctx, in[0], in[1], in[2], u, in[3], state) :
                                     kind == GLA  ? ggml_gated_linear_attn(d.ctx, in[0], in[1], in[2], in[3], state, 0.3f) :
                                                    ggml_rwkv_wkv7(d.ctx, in[0], in[1], in[2], in[3], in[4], in[5], state);
        expect_recurrence(node, kind);
        drive_place(&d, node, DRIVE_PLAIN);
        check(&d, node, "");
        drive_end(&d);
    }
}

static void expect_delta(const struct ggml_tensor * node) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *g = node->src[3], *beta = node->src[4], *state = node->src[5];
    const int64_t size = v->ne[0], heads = v->ne[1], tokens = v->ne[2], sequences = v->ne[3], snapshots = ref_i32(node, 0);
    for (int64_t u = 0; u < heads * sequences; u++) {
        static double m[64][64];
        const int64_t h = u % heads, s = u / heads, sq = s / (sequences / q->ne[3]), sk = s / (sequences / k->ne[3]);
        for (int64_t i = 0; i < size * size; i++) {
            m[i / size][i % size] = ref_get(state, AT(i % size, i / size, h, s));
        }
        for (int64_t t = 0; t < tokens; t++) {
            for (int64_t j = 0; j < size; j++) {
                double dot = 0.0, y = 0.0;
                for (int64_t i = 0; i < size; i++) {
                    m[j][i] *= exp(ref_get(g, AT(g->ne[0] == 1 ? 0 : i, h, t, s)));
                    dot += m[j][i] * ref_get(k, AT(i, h % k->ne[1], t, sk));
                }
                const double delta = (ref_get(v, AT(j, h, t, s)) - dot) * ref_get(beta, AT(0, h, t, s));
                for (int64_t i = 0; i < size; i++) {
                    m[j][i] += delta * ref_get(k, AT(i, h % k->ne[1], t, sk));
                    y += m[j][i] * ref_get(q, AT(i, h % q->ne[1], t, sq));
                }
                expected[((s * tokens + t) * heads + h) * size + j] = y / sqrt((double) size);
            }
            for (int64_t i = 0; i < size * size && tokens - 1 - t < snapshots; i++) {
                expected[ggml_nelements(v) + ((tokens - 1 - t) * heads * sequences + u) * size * size + i] = m[i / size][i % size];
            }
        }
    }
}

TEST(gated_delta_net) {
    for (int k = 0; k < 6; k++) {
        struct drive  d    = drive_begin();
        const int64_t size = 24, heads = 4, tokens = 5, sequences = 2, qh = k % 2 ? 2 : 4;
        struct ggml_tensor * node =
            ggml_gated_delta_net(d.ctx, f32(&d, size, qh, tokens, sequences, -0.3, 0.3), f32(&d, size, qh, tokens, sequences, -0.3, 0.3),
                                 f32(&d, size, heads, tokens, sequences, -1, 1), f32(&d, k % 3 ? 1 : size, heads, tokens, sequences, -1, 0),
                                 f32(&d, 1, heads, tokens, sequences, 0, 1), f32(&d, size, size, heads, sequences, -1, 1), k > 3 ? 3 : 1);
        expect_delta(node);
        drive_place(&d, node, DRIVE_PLAIN);
        check(&d, node, "");
        drive_end(&d);
    }
}

/* ---- triangles ---- */

TEST(solve_tri) {
    static const int64_t sizes[][2] = {{1, 1}, {7, 3}, {20, 70}, {33, 130}};
    for (int k = 0; k < 4; k++) {
        struct drive         d = drive_begin();
        const int64_t        n = sizes[k][0], columns = sizes[k][1];
        struct ggml_tensor * a    = f32(&d, n, n, 2, 2, -0.2, 0.2);
        struct ggml_tensor * b    = f32(&d, columns, n, 2, 2, -1, 1);
        struct ggml_tensor * node = ggml_solve_tri(d.ctx, a, b, true, true, false);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t m = 0; m < 4; m++) {
                ref_set(a, AT(i, i, m % 2, m / 2), 1.0 + 0.1 * (double) i);
            }
        }
        for (int64_t m = 0; m < 4; m++) {
            for (int64_t c = 0; c < columns; c++) {
                double * x = expected + m * n * columns + c;
                for (int64_t i = 0; i < n; i++) {
                    double sum = ref_get(b, AT(c, i, m % 2, m / 2));
                    for (int64_t t = 0; t < i; t++) {
                        sum -= ref_get(a, AT(t, i, m % 2, m / 2)) * x[t * columns];
                    }
                    x[i * columns] = sum / ref_get(a, AT(i, i, m % 2, m / 2));
                }
            }
        }
        drive_place(&d, node, DRIVE_PLAIN);
        check(&d, node, "");
        drive_end(&d);
    }
}

/* ---- training ---- */

TEST(cross_entropy) {
    for (int k = 0; k < 3; k++) {
        struct drive         d = drive_begin();
        const int64_t        n = k == 0 ? 1 : 300, rows = 7;
        struct ggml_tensor * a      = f32(&d, n, rows, 1, 1, -4, 4);
        struct ggml_tensor * labels = f32(&d, n, rows, 1, 1, 0, 1);
        struct ggml_tensor * dy     = f32(&d, 1, 1, 1, 1, 0.5, 2);
        struct ggml_tensor * loss   = ggml_cross_entropy_loss(d.ctx, a, labels);
        struct ggml_tensor * back   = ggml_cross_entropy_loss_back(d.ctx, dy, a, labels);
        double               total  = 0.0;
        drive_place(&d, loss, DRIVE_PLAIN);
        drive_place(&d, back, DRIVE_PLAIN);
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0.0;
            for (int64_t i = 0; i < n; i++) {
                sum += exp(ref_get(a, AT(i, r, 0, 0)));
            }
            for (int64_t i = 0; i < n; i++) {
                const double x = ref_get(a, AT(i, r, 0, 0)), y = ref_get(labels, AT(i, r, 0, 0));
                total += y * (x - log(sum));
                expected[r * n + i] = (exp(x) / sum - y) * ref_get(dy, AT(0, 0, 0, 0)) / (double) rows;
            }
        }
        check(&d, back, "");
        expected[0] = -total / (double) rows;
        check(&d, loss, "");
        drive_end(&d);
    }
}

TEST(optimizer_steps) {
    struct drive         d = drive_begin();
    struct ggml_tensor * w = f32(&d, 33, 5, 2, 1, -1, 1);
    struct ggml_tensor * g = f32(&d, 33, 5, 2, 1, -1, 1);
    struct ggml_tensor * m = f32(&d, 33, 5, 2, 1, -1, 1);
    struct ggml_tensor * v = f32(&d, 33, 5, 2, 1, 0, 1);
    struct ggml_tensor * p = f32(&d, 7, 1, 1, 1, 0, 1);
    struct ggml_tensor * s = f32(&d, 2, 1, 1, 1, 0, 1);
    const float          adamw[7] = {1e-2f, 0.9f, 0.999f, 1e-8f, 0.1f, 1.0f / (1.0f - 0.9f), 1.0f / (1.0f - 0.999f)};
    memcpy(p->data, adamw, sizeof(adamw));
    ggml_set_param(w);
    struct ggml_tensor * step = ggml_opt_step_adamw(d.ctx, w, g, m, v, p);
    struct ggml_tensor * sgd  = ggml_opt_step_sgd(d.ctx, w, g, s);
    drive_place(&d, step, DRIVE_PLAIN);
    drive_place(&d, sgd, DRIVE_PLAIN);
    for (int64_t i = 0; i < 330; i++) {
        const struct at at = ref_at(w, i);
        const double    new_m = ref_get(m, at) * adamw[1] + ref_get(g, at) * (1.0 - adamw[1]);
        const double    new_v = ref_get(v, at) * adamw[2] + ref_get(g, at) * ref_get(g, at) * (1.0 - adamw[2]);
        expected[i] = ref_get(w, at) * (1.0 - adamw[0] * adamw[4]) - adamw[0] * new_m * adamw[5] / (sqrt(new_v * adamw[6]) + adamw[3]);
    }
    check(&d, step, "");
    for (int64_t i = 0; i < 330; i++) {
        const struct at at = ref_at(w, i);
        expected[i] = ref_get(w, at) * (1.0 - ref_get(s, AT(0, 0, 0, 0)) * ref_get(s, AT(1, 0, 0, 0))) - ref_get(s, AT(0, 0, 0, 0)) * ref_get(g, at);
    }
    check(&d, sgd, "");
    /* the moments change too */
    const double old_m = ref_get(m, AT(3, 2, 1, 0)), own_g = ref_get(g, AT(3, 2, 1, 0)), own_v = ref_get(v, AT(3, 2, 1, 0));
    CHECK(drive_run(&d, step, 3, NULL) == GGML_STATUS_SUCCESS);
    CHECK(fabs(ref_get(m, AT(3, 2, 1, 0)) - (old_m * 0.9 + own_g * 0.1)) < 1e-6);
    CHECK(fabs(ref_get(v, AT(3, 2, 1, 0)) - (own_v * 0.999 + own_g * own_g * 0.001)) < 1e-6);
    drive_end(&d);
}

/* ---- DeepSeek ---- */

TEST(lightning_indexer) {
    static const enum ggml_type keys[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0};
    for (int kind = 0; kind < 3; kind++) {
        struct drive         d = drive_begin();
        const int64_t        size = 64, heads = 3, tokens = 5, kv = 11, streams = 2, nk[4] = {size, 1, kv, streams}, nm[4] = {kv, tokens, 1, 1};
        struct ggml_tensor * q    = f32(&d, size, heads, tokens, streams, -1, 1);
        struct ggml_tensor * k    = drive_tensor(&d, keys[kind], nk, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * w    = f32(&d, heads, tokens, 1, streams, -1, 1);
        struct ggml_tensor * m    = drive_tensor(&d, GGML_TYPE_F16, nm, DRIVE_PLAIN, -1, 0);
        struct ggml_tensor * node = ggml_lightning_indexer(d.ctx, q, k, w, m);
        for (int64_t i = 0; i < kv * tokens * streams; i++) {
            const int64_t key = i % kv, t = i / kv % tokens, s = i / kv / tokens;
            double        score = ref_get(m, AT(key, t, 0, 0));
            for (int64_t h = 0; h < heads; h++) {
                double dot = 0.0;
                for (int64_t e = 0; e < size; e++) {
                    dot += ref_get(q, AT(e, h, t, s)) * ref_get(k, AT(e, 0, key, s));
                }
                score += fmax(dot, 0.0) * ref_get(w, AT(h, t, 0, s));
            }
            expected[i] = score;
        }
        drive_place(&d, node, DRIVE_PLAIN);
        check(&d, node, "");
        drive_end(&d);
    }
}

static void normalize(double * c, int between, int within, double eps) {
    for (int g = 0; g < 4; g++) {
        double sum = eps;
        for (int k = 0; k < 4; k++) {
            sum += c[g * between + k * within];
        }
        for (int k = 0; k < 4; k++) {
            c[g * between + k * within] /= sum;
        }
    }
}

TEST(hyper_connections) {
    struct drive         d = drive_begin();
    const int64_t        width = 37, hc = 4, tokens = 5;
    const double         eps = 1e-6f;
    struct ggml_tensor * mixes = f32(&d, 24, tokens, 1, 1, -2, 2);
    struct ggml_tensor * scale = f32(&d, 3, 1, 1, 1, -1, 1);
    struct ggml_tensor * base  = f32(&d, 24, 1, 1, 1, -1, 1);
    struct ggml_tensor * comb  = ggml_dsv4_hc_comb(d.ctx, mixes, scale, base, 1e-6f, 5);
    for (int64_t t = 0; t < tokens; t++) {
        double * c = expected + 16 * t;
        for (int row = 0; row < 4; row++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++) {
                const int64_t i = 8 + 4 * row + k;
                c[4 * row + k]  = exp(ref_get(mixes, AT(i, t, 0, 0)) * ref_get(scale, AT(2, 0, 0, 0)) + ref_get(base, AT(i, 0, 0, 0)));
                sum += c[4 * row + k];
            }
            for (int k = 0; k < 4; k++) {
                c[4 * row + k] = c[4 * row + k] / sum + eps;
            }
        }
        normalize(c, 1, 4, eps);
        for (int i = 1; i < 5; i++) {
            normalize(c, 4, 1, eps);
            normalize(c, 1, 4, eps);
        }
    }
    drive_place(&d, comb, DRIVE_PLAIN);
    check(&d, comb, "");
    struct ggml_tensor * x        = f32(&d, width, hc, tokens, 1, -1, 1);
    struct ggml_tensor * w        = f32(&d, hc, tokens, 1, 1, -1, 1);
    struct ggml_tensor * gate     = f32(&d, width, hc, tokens, 1, -2, 2);
    struct ggml_tensor * own      = f32(&d, width, tokens, 1, 1, -1, 1);
    struct ggml_tensor * mix      = f32(&d, hc, hc, tokens, 1, -1, 1);
    struct ggml_tensor * nodes[4] = {ggml_dsv4_hc_pre(d.ctx, x, w), ggml_dsv4_hc_pre_gated(d.ctx, x, gate, 0.7f),
                                     ggml_dsv4_hc_post(d.ctx, own, x, w, mix), ggml_dsv4_hc_post(d.ctx, own, x, w, NULL)};
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < ggml_nelements(nodes[k]); i++) {
            const int64_t e = i % width, h = k < 2 ? 0 : i / width % hc, t = k < 2 ? i / width : i / width / hc;
            double        sum = k < 2 ? 0.0 : ref_get(own, AT(e, t, 0, 0)) * ref_get(w, AT(h, t, 0, 0));
            for (int64_t s = 0; s < hc; s++) {
                const double v = ref_get(x, AT(e, s, t, 0));
                sum += k == 0 ? v * ref_get(w, AT(s, t, 0, 0)) :
                       k == 1 ? 0.7 * v / (1.0 + exp(-ref_get(gate, AT(e, s, t, 0)))) :
                       k == 2 ? v * ref_get(mix, AT(h, s, t, 0)) :
                                (s == h ? v : 0.0);
            }
            expected[i] = sum;
        }
        drive_place(&d, nodes[k], DRIVE_PLAIN);
        check(&d, nodes[k], "");
    }
    drive_end(&d);
}
