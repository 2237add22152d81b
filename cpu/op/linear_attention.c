/* SPDX-License-Identifier: MIT
 *
 * RWKV_WKV6, RWKV_WKV7 (Peng et al. 2024, 2025), GATED_LINEAR_ATTN (Yang et al. 2024), GATED_DELTA_NET (Yang et al. 2025):
 * recurrences over a square state for each head, F32. A worker takes whole (sequence, head) pairs, so that the number of
 * workers may exceed the heads. Output, then the new states. Error as in ssm.c.
 */
#include "op.h"

/* ---- WKV6, GLA, WKV7: all sources contiguous, [size, heads, tokens], state [size*size*heads, sequences] ---- */

struct recurrence {
    int64_t       size, heads, tokens, sequences; /* tokens of one sequence */
    float *       out;
    float *       states;
    const float * old_states;
    const float * src[6];
    float         scale;
};

/* One token of one head: rows of the state are `size` long; y is zero at first. `at` is the head's place in a token. */
typedef void (*token_fn)(const struct recurrence * r, int64_t at, int64_t head, const float * from, float * to, float * y);

/* y += r_i*(k_i*v*u_i + S_i), S_i = S_i*w_i + k_i*v */
static void wkv6_token(const struct recurrence * r, int64_t at, int64_t head, const float * from, float * to, float * y) {
    const float *k = r->src[0] + at, *v = r->src[1] + at, *q = r->src[2] + at, *w = r->src[4] + at;
    const float * u = r->src[3] + head * r->size;
    for (int64_t i = 0; i < r->size; i++) {
        const float * s = from + i * r->size;
        cpu_kernels.vec.mad(r->size, y, s, q[i]);
        cpu_kernels.vec.mad(r->size, y, v, q[i] * k[i] * u[i]);
        cpu_kernels.vec.scale(r->size, to + i * r->size, s, w[i], 0.0f);
        cpu_kernels.vec.mad(r->size, to + i * r->size, v, k[i]);
    }
}

/* S_i = S_i*g_i + k_i*v, y += S_i*q_i*scale */
static void gla_token(const struct recurrence * r, int64_t at, int64_t head, const float * from, float * to, float * y) {
    const float *k = r->src[0] + at, *v = r->src[1] + at, *q = r->src[2] + at, *g = r->src[3] + at;
    (void) head;
    for (int64_t i = 0; i < r->size; i++) {
        cpu_kernels.vec.scale(r->size, to + i * r->size, from + i * r->size, g[i], 0.0f);
        cpu_kernels.vec.mad(r->size, to + i * r->size, v, k[i]);
        cpu_kernels.vec.mad(r->size, y, to + i * r->size, q[i] * r->scale);
    }
}

/* S_i = S_i*w + v_i*k + (S_i a)*b, y_i = S_i r */
static void wkv7_token(const struct recurrence * r, int64_t at, int64_t head, const float * from, float * to, float * y) {
    const float *q = r->src[0] + at, *w = r->src[1] + at, *k = r->src[2] + at, *v = r->src[3] + at, *a = r->src[4] + at, *b = r->src[5] + at;
    (void) head;
    for (int64_t i = 0; i < r->size; i++) {
        const float * s   = from + i * r->size;
        float *       new = to + i * r->size;
        const float   sa  = (float) cpu_kernels.vec.dot(r->size, a, s);
        cpu_kernels.vec.mul(r->size, new, s, w);
        cpu_kernels.vec.mad(r->size, new, k, v[i]);
        cpu_kernels.vec.mad(r->size, new, b, sa);
        y[i] = (float) cpu_kernels.vec.dot(r->size, new, q);
    }
}

struct kind {
    int      n_src; /* the last one is the state */
    int      flat;  /* a source that is [size, heads] for all tokens, or -1 */
    token_fn token;
};

static const struct kind wkv6 = {6, 3, wkv6_token}, gla = {5, -1, gla_token}, wkv7 = {7, -1, wkv7_token};

OP_SUPPORTS(supports) {
    (void) device;
    const struct kind *        kind  = user_data;
    const struct ggml_tensor * first = node->src[0];
    const struct ggml_tensor * state = node->src[kind->n_src - 1];
    for (int k = 0; k < kind->n_src; k++) {
        if (!op_is(node->src[k], GGML_TYPE_F32) || !ggml_is_contiguous(node->src[k])) {
            return false;
        }
        const int64_t values = k == kind->flat ? first->ne[0] * first->ne[1] : ggml_nelements(first);
        if (k < kind->n_src - 1 && ggml_nelements(node->src[k]) != values) {
            return false;
        }
    }
    const int64_t size = first->ne[0], heads = first->ne[1], tokens = first->ne[2], sequences = state->ne[1];
    return op_is(node, GGML_TYPE_F32) && ggml_is_contiguous(node) && sequences > 0 && tokens % sequences == 0 && first->ne[3] == 1 &&
           ggml_nelements(state) == size * size * heads * sequences && node->ne[0] == size * heads &&
           node->ne[1] == tokens + size * sequences && node->ne[2] == 1 && node->ne[3] == 1;
}

OP_TASK(run) {
    (void) plan, (void) n;
    const struct kind *        kind  = user_data;
    const struct ggml_tensor * node  = nodes[0];
    const struct ggml_tensor * first = node->src[0];
    const struct ggml_tensor * state = node->src[kind->n_src - 1];
    struct recurrence          r     = {.size = first->ne[0], .heads = first->ne[1], .sequences = state->ne[1],
                                        .tokens = first->ne[2] / state->ne[1], .out = node->data, .old_states = state->data,
                                        .scale = op_f32(node, 0)};
    const int64_t square = r.size * r.size, width = r.size * r.heads;
    r.states = r.out + width * first->ne[2];
    for (int k = 0; k < kind->n_src - 1; k++) {
        r.src[k] = node->src[k]->data;
    }
    const struct op_range share = op_share(task, r.heads * r.sequences);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t head = u % r.heads, seq = u / r.heads;
        float *       to   = r.states + u * square;
        if (r.tokens == 0) {
            memcpy(to, r.old_states + u * square, (size_t) square * sizeof(float));
        }
        for (int64_t t = 0; t < r.tokens; t++) {
            const int64_t at = (seq * r.tokens + t) * width + head * r.size;
            cpu_kernels.vec.fill(r.size, r.out + at, 0.0f);
            kind->token(&r, at, head, t == 0 ? r.old_states + u * square : to, to, r.out + at);
        }
    }
    return GGML_STATUS_SUCCESS;
}

#define RECURRENCE(basename, constant, kind)                                                                       \
    CPU_OP(basename, constant, .user_data = (void *) &kind, .supports = supports, .prepare = op_prepare_heavy, .task = run)

RECURRENCE(rwkv_wkv6, RWKV_WKV6, wkv6);
RECURRENCE(gated_linear_attn, GATED_LINEAR_ATTN, gla);
RECURRENCE(rwkv_wkv7, RWKV_WKV7, wkv7);

/* ---- GATED_DELTA_NET ----
 * Row j of the state M: M_j = M_j*exp(g), d_j = (v_j - M_j k)*beta, M_j += d_j*k, y_j = M_j q/sqrt(size). Sources q and k
 * [size, their heads, tokens, their sequences], v [size, heads, tokens, sequences], g [1 or size, heads, tokens, sequences],
 * beta, state [size, size, heads, sequences]. The result holds y, then K states, the newest first. */

OP_SUPPORTS(supports_delta) {
    (void) user_data, (void) device;
    for (int k = 0; k < 6; k++) {
        if (!op_is_f32_dense(node->src[k])) {
            return false;
        }
    }
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *g = node->src[3], *beta = node->src[4], *s = node->src[5];
    const int64_t size = v->ne[0], heads = v->ne[1], tokens = v->ne[2], sequences = v->ne[3], snapshots = op_i32(node, 0);
    if (q->ne[0] != size || k->ne[0] != size || q->ne[1] <= 0 || k->ne[1] <= 0 || q->ne[2] != tokens || k->ne[2] != tokens ||
        q->ne[3] <= 0 || k->ne[3] <= 0 || sequences % q->ne[3] != 0 || sequences % k->ne[3] != 0) {
        return false;
    }
    const bool gates = (g->ne[0] == 1 || g->ne[0] == size) && g->ne[1] == heads && g->ne[2] == tokens && g->ne[3] == sequences &&
                       beta->ne[0] == 1 && beta->ne[1] == heads && beta->ne[2] == tokens && beta->ne[3] == sequences;
    return gates && snapshots >= 1 && s->ne[0] == size && s->ne[1] == size && s->ne[2] == heads && s->ne[3] == sequences &&
           s->nb[1] == (size_t) size * sizeof(float) && op_is(node, GGML_TYPE_F32) && ggml_is_contiguous(node) &&
           ggml_nelements(node) == size * heads * tokens * sequences + snapshots * size * size * heads * sequences;
}

OP_PREPARE(prepare_delta) {
    const int64_t size = nodes[0]->src[2]->ne[0];
    need->worker_size  = op_scratch_bytes(1, size) + op_scratch_bytes(1, size * size);
    return op_prepare_heavy(user_data, backend, nodes, n, plan, need);
}

static void delta_token(const struct ggml_tensor * node, int64_t h, int64_t t, int64_t seq, float * m, float * gate, float * y) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *g = node->src[3];
    const int64_t             size   = v->ne[0];
    const float *             own_q  = op_row(q, h % q->ne[1], t, seq / (v->ne[3] / q->ne[3]));
    const float *             own_k  = op_row(k, h % k->ne[1], t, seq / (v->ne[3] / k->ne[3]));
    const float *             own_v  = op_row(v, h, t, seq);
    const float               beta   = *(const float *) op_row(node->src[4], h, t, seq);
    const float               factor = 1.0f / sqrtf((float) size);
    cpu_kernels.vec.unary[GGML_UNARY_OP_EXP](g->ne[0], gate, op_row(g, h, t, seq));
    for (int64_t j = 0; j < size; j++, m += size) {
        if (g->ne[0] == 1) {
            cpu_kernels.vec.scale(size, m, m, gate[0], 0.0f);
        } else {
            cpu_kernels.vec.mul(size, m, m, gate);
        }
        const float d = (own_v[j] - (float) cpu_kernels.vec.dot(size, m, own_k)) * beta;
        cpu_kernels.vec.mad(size, m, own_k, d);
        y[j] = (float) cpu_kernels.vec.dot(size, m, own_q) * factor;
    }
}

OP_TASK(run_delta) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node      = nodes[0];
    const struct ggml_tensor * v         = node->src[2];
    const int64_t              size      = v->ne[0], heads = v->ne[1], tokens = v->ne[2], square = size * size;
    const int64_t              snapshots = op_i32(node, 0);
    float *                    y         = node->data;
    float *                    states    = y + ggml_nelements(v);
    float *                    gate      = op_scratch(task, 0, size);
    float *                    m         = gate + op_scratch_floats(size);
    const struct op_range      share     = op_share(task, heads * v->ne[3]);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t h = u % heads, seq = u / heads;
        memcpy(m, op_row(node->src[5], 0, h, seq), (size_t) square * sizeof(float));
        if (tokens == 0) {
            memcpy(states + u * square, m, (size_t) square * sizeof(float));
        }
        for (int64_t t = 0; t < tokens; t++) {
            delta_token(node, h, t, seq, m, gate, y + ((seq * tokens + t) * heads + h) * size);
            const int64_t slot = tokens - 1 - t;
            if (slot < snapshots) {
                memcpy(states + (slot * heads * v->ne[3] + u) * square, m, (size_t) square * sizeof(float));
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(gated_delta_net, GATED_DELTA_NET, .supports = supports_delta, .prepare = prepare_delta, .task = run_delta);
