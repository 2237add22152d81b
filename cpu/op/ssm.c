/* SPDX-License-Identifier: MIT
 *
 * SSM_CONV and SSM_SCAN (state space models: Gu and Dao 2023, Dao and Gu 2024), F32. Relative error of the output against the
 * sum of magnitudes: 2e-6 for a token, growing with the tokens as the recurrence does.
 */
#include "op.h"

/* ---- SSM_CONV: out[c, t, s] = sum over k of x[t + k, c, s]*w[k, c] ---- */

OP_SUPPORTS(supports_conv) {
    (void) user_data, (void) device;
    const struct ggml_tensor * x = node->src[0];
    const struct ggml_tensor * w = node->src[1];
    return op_is_f32_dense(x) && op_is_f32_dense(w) && op_is(node, GGML_TYPE_F32) && node->ne[0] == x->ne[1] && w->ne[1] == x->ne[1] &&
           node->ne[1] == x->ne[0] - w->ne[0] + 1 && node->ne[2] == x->ne[2] && x->ne[3] == 1 && node->ne[3] == 1;
}

OP_TASK(run_conv) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node  = nodes[0];
    const struct ggml_tensor * x     = node->src[0];
    const struct ggml_tensor * w     = node->src[1];
    const struct op_range      share = op_share(task, node->ne[0]); /* channels */
    for (int64_t s = 0; s < node->ne[2]; s++) {
        for (int64_t c = share.begin; c < share.end; c++) {
            const float * in      = op_row(x, c, s, 0);
            const float * weights = op_row(w, c, 0, 0);
            for (int64_t t = 0; t < node->ne[1]; t++) {
                float sum = 0.0f;
                for (int64_t k = 0; k < w->ne[0]; k++) {
                    sum += in[t + k] * weights[k];
                }
                *(float *) (void *) ((char *) op_row(node, t, s, 0) + c * (int64_t) node->nb[0]) = sum;
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(ssm_conv, SSM_CONV, .supports = supports_conv, .prepare = op_prepare_light, .task = run_conv);

/* ---- SSM_SCAN ----
 * For each head, with d = softplus(dt): state = state*exp(d*A) + B*(x*d), y = sum of state*C. A is a number for each head, or
 * one for each element of the state. Sources: s [n, dim, heads, states], x [dim, heads, t, seq], dt [heads, t, seq],
 * A, B and C [n, groups, t, seq], ids [seq]. The result holds y, then K states: the last, and of K > 1 the K - 1 before. */

struct scan {
    const struct ggml_tensor *s, *x, *dt, *a, *b, *c, *ids;
    int64_t n, dim, heads, tokens, sequences, snapshots;
};

static struct scan read_scan(const struct ggml_tensor * node) {
    const struct scan s = {
        .s = node->src[0], .x = node->src[1], .dt = node->src[2], .a = node->src[3], .b = node->src[4], .c = node->src[5],
        .ids = node->src[6], .n = node->src[0]->ne[0], .dim = node->src[0]->ne[1], .heads = node->src[1]->ne[1],
        .tokens = node->src[1]->ne[2], .sequences = node->src[1]->ne[3], .snapshots = op_i32(node, 0),
    };
    return s;
}

OP_SUPPORTS(supports_scan) {
    (void) user_data, (void) device;
    for (int k = 0; k < 6; k++) {
        if (!op_is_f32_dense(node->src[k])) {
            return false;
        }
    }
    if (!op_is(node->src[6], GGML_TYPE_I32) || !op_row_dense(node->src[6]) || !op_is(node, GGML_TYPE_F32) || !ggml_is_contiguous(node)) {
        return false;
    }
    const struct scan s = read_scan(node);
    const int64_t *   b = s.b->ne;
    const bool shapes = s.x->ne[0] == s.dim && s.s->ne[2] == s.heads && s.dt->ne[0] == s.heads && s.dt->ne[1] == s.tokens &&
                        s.dt->ne[2] == s.sequences && (s.a->ne[0] == 1 || s.a->ne[0] == s.n) && s.a->ne[1] == s.heads &&
                        b[0] == s.n && b[1] > 0 && s.heads % b[1] == 0 && b[2] == s.tokens && b[3] == s.sequences &&
                        ggml_are_same_shape(s.b, s.c) && s.ids->ne[0] == s.sequences;
    return shapes && s.snapshots >= 1 && (s.snapshots == 1 || s.a->ne[0] == 1) && s.s->nb[1] == (size_t) s.n * sizeof(float) &&
           ggml_nelements(node) == ggml_nelements(s.x) + s.snapshots * s.n * s.dim * s.heads * s.sequences;
}

OP_PREPARE(prepare_scan) {
    need->worker_size = op_scratch_bytes(1, nodes[0]->src[0]->ne[0]); /* decay of a state's elements */
    return op_prepare_heavy(user_data, backend, nodes, n, plan, need);
}

/* One token of one head: from is the state before, to the state after (the same from the second token on). */
static void scan_token(const struct scan * s, int64_t h, int64_t t, int64_t seq, const float * from, float * to, float * y,
                       float * decay) {
    const int64_t group = h / (s->heads / s->b->ne[1]);
    const float * x     = op_row(s->x, h, t, seq);
    const float * b     = op_row(s->b, group, t, seq);
    const float * c     = op_row(s->c, group, t, seq);
    const float * a     = op_row(s->a, h, 0, 0);
    const float   d     = ggml_compute_softplus_f32(((const float *) op_row(s->dt, t, seq, 0))[h]);
    const bool    one   = s->a->ne[0] == 1;
    const float   same  = one ? expf(d * a[0]) : 0.0f;
    if (!one) {
        cpu_kernels.vec.scale(s->n, decay, a, d, 0.0f);
        cpu_kernels.vec.unary[GGML_UNARY_OP_EXP](s->n, decay, decay);
    }
    for (int64_t i = 0; i < s->dim; i++, from += s->n, to += s->n) {
        if (one) {
            cpu_kernels.vec.scale(s->n, to, from, same, 0.0f);
        } else {
            cpu_kernels.vec.mul(s->n, to, from, decay);
        }
        cpu_kernels.vec.mad(s->n, to, b, x[i] * d);
        y[i] = (float) cpu_kernels.vec.dot(s->n, to, c);
    }
}

OP_TASK(run_scan) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node    = nodes[0];
    const struct scan          s       = read_scan(node);
    const int64_t              size    = s.n * s.dim; /* of one head's state */
    float *                    y       = node->data;
    float *                    states  = y + ggml_nelements(s.x);
    const int32_t *            ids     = s.ids->data;
    const struct op_range      share   = op_share(task, s.heads * s.sequences);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t h = u % s.heads, seq = u / s.heads;
        if (ids[seq] < 0 || ids[seq] >= s.s->ne[3]) {
            return graft_fail(GGML_STATUS_FAILED, "SSM_SCAN '%s': index %d in '%s' is outside of the %lld states", node->name, ids[seq],
                              s.ids->name, (long long) s.s->ne[3]);
        }
        const float * from = op_row(s.s, 0, h, ids[seq]);
        float *       to   = states + (seq * s.heads + h) * size;
        if (s.tokens == 0) {
            memcpy(to, from, (size_t) size * sizeof(float));
        }
        for (int64_t t = 0; t < s.tokens; t++) {
            float * out = y + ((seq * s.tokens + t) * s.heads + h) * s.dim;
            scan_token(&s, h, t, seq, t == 0 ? from : to, to, out, op_scratch(task, 0, s.n));
            const int64_t slot = s.tokens - 1 - t;
            if (slot > 0 && slot < s.snapshots) {
                memcpy(to + slot * s.sequences * s.heads * size, to, (size_t) size * sizeof(float));
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(ssm_scan, SSM_SCAN, .supports = supports_scan, .prepare = prepare_scan, .task = run_scan);
