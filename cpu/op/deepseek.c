/* SPDX-License-Identifier: MIT
 *
 * LIGHTNING_INDEXER (sparse attention) and DSV4_HC_COMB, DSV4_HC_PRE, DSV4_HC_POST (hyper-connections) of the DeepSeek
 * models. F32; keys of any format with a decoder.
 */
#include "op.h"

/* ---- LIGHTNING_INDEXER: score of each key = sum over heads of max(q k, 0)*weight, plus the mask ---- */

OP_SUPPORTS(supports_indexer) {
    (void) user_data, (void) device;
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *w = node->src[2], *m = node->src[3];
    if (!op_is_f32_dense(q) || !op_can_load(k) || !op_is_f32_dense(w) || m == NULL || !op_is_float(m->type) || !op_is_f32_dense(node)) {
        return false;
    }
    return q->ne[0] == k->ne[0] && q->ne[1] == w->ne[0] && k->ne[1] == 1 && m->ne[0] == k->ne[2] && m->ne[1] == q->ne[2] &&
           w->ne[1] == q->ne[2] && q->ne[3] == k->ne[3] && w->ne[3] == q->ne[3] && m->ne[3] > 0 && w->ne[3] % m->ne[3] == 0 &&
           node->ne[0] == k->ne[2] && node->ne[1] == q->ne[2] && node->ne[2] == 1 && node->ne[3] == q->ne[3];
}

OP_PREPARE(prepare_indexer) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    need->worker_size = op_scratch_bytes(1, nodes[0]->src[1]->ne[0]);
    op_limit_workers(need, ggml_nelements(nodes[0]) * ggml_nelements(nodes[0]->src[0]) / MAX(1, nodes[0]->ne[1]), OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

static float indexer_score(const struct ggml_tensor * node, const float * key, int64_t t, int64_t stream) {
    const struct ggml_tensor * q     = node->src[0];
    const float *              w     = op_row(node->src[2], t, 0, stream);
    float                      score = 0.0f;
    for (int64_t h = 0; h < q->ne[1]; h++) {
        score += fmaxf((float) cpu_kernels.vec.dot(q->ne[0], op_row(q, h, t, stream), key), 0.0f) * w[h];
    }
    return score;
}

OP_TASK(run_indexer) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * k    = node->src[1];
    const struct ggml_tensor * m    = node->src[3];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, k->ne[2] * k->ne[3]); /* keys: each is decoded once */
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t i = u % k->ne[2], stream = u / k->ne[2];
        const float * key = op_load(k->type, op_row(k, 0, i, stream), k->nb[0], k->ne[0], op_scratch(task, 0, k->ne[0]));
        for (int64_t t = 0; t < node->ne[1]; t++) {
            const char * mask = (const char *) op_row(m, t, 0, stream % m->ne[3]) + i * (int64_t) m->nb[0];
            ((float *) op_row(node, t, 0, stream))[i] = indexer_score(node, key, t, stream) + op_get(m->type, mask);
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(lightning_indexer, LIGHTNING_INDEXER, .supports = supports_indexer, .prepare = prepare_indexer, .task = run_indexer);

/* ---- DSV4_HC_COMB: softmax of each row of a 4x4 matrix, then columns and rows normalized in turn (Sinkhorn) ---- */

#define HC 4

static float at(const struct ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2) {
    return *(const float *) (const void *) ((const char *) op_row(t, i1, i2, 0) + i0 * (int64_t) t->nb[0]);
}

static bool all_f32(const struct ggml_tensor * node, int n_src) {
    for (int k = 0; k < n_src; k++) {
        if (!op_is(node->src[k], GGML_TYPE_F32)) {
            return false;
        }
    }
    return op_is(node, GGML_TYPE_F32);
}

OP_SUPPORTS(supports_comb) {
    (void) user_data, (void) device;
    if (!all_f32(node, 3)) {
        return false;
    }
    const struct ggml_tensor *mixes = node->src[0], *scale = node->src[1], *base = node->src[2];
    return mixes->ne[0] == (2 + HC) * HC && node->ne[0] == HC && node->ne[1] == HC && node->ne[2] == mixes->ne[1] && node->ne[3] == 1 &&
           mixes->ne[2] == 1 && mixes->ne[3] == 1 && scale->ne[0] >= 3 && base->ne[0] == mixes->ne[0] && op_i32(node, 1) > 0;
}

/* Four groups of four numbers, `within` apart, the groups `between` apart: each is divided by its sum plus eps. */
static void normalize(float * comb, int between, int within, float eps) {
    for (int g = 0; g < HC; g++) {
        float * v   = comb + g * between;
        float   sum = eps;
        for (int k = 0; k < HC; k++) {
            sum += v[k * within];
        }
        for (int k = 0; k < HC; k++) {
            v[k * within] *= 1.0f / sum;
        }
    }
}

static void comb_token(const struct ggml_tensor * node, int64_t token) {
    const float scale = at(node->src[1], 2, 0, 0), eps = op_f32(node, 0);
    float       comb[HC * HC];
    for (int row = 0; row < HC; row++) {
        float * v   = comb + HC * row;
        float   max = -INFINITY, sum = 0.0f;
        for (int k = 0; k < HC; k++) {
            const int64_t i = 2 * HC + HC * row + k;
            v[k]            = at(node->src[0], i, token, 0) * scale + at(node->src[2], i, 0, 0);
            max             = fmaxf(max, v[k]);
        }
        for (int k = 0; k < HC; k++) {
            v[k] = expf(v[k] - max);
            sum += v[k];
        }
        for (int k = 0; k < HC; k++) {
            v[k] = v[k] * (1.0f / sum) + eps;
        }
    }
    normalize(comb, 1, HC, eps);
    for (int32_t i = 1; i < op_i32(node, 1); i++) {
        normalize(comb, HC, 1, eps);
        normalize(comb, 1, HC, eps);
    }
    for (int i = 0; i < HC * HC; i++) {
        *(float *) (void *) ((char *) op_row(node, i / HC, token, 0) + i % HC * (int64_t) node->nb[0]) = comb[i];
    }
}

OP_TASK(run_comb) {
    (void) user_data, (void) plan, (void) n;
    const struct op_range share = op_share(task, nodes[0]->ne[2]);
    for (int64_t token = share.begin; token < share.end; token++) {
        comb_token(nodes[0], token);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(dsv4_hc_comb, DSV4_HC_COMB, .supports = supports_comb, .prepare = op_prepare_heavy, .task = run_comb);

/* ---- DSV4_HC_PRE: y = scale*sum over streams of x*w, w one number a stream or a gate of each element ---- */

OP_SUPPORTS(supports_pre) {
    (void) user_data, (void) device;
    if (!all_f32(node, 2)) {
        return false;
    }
    const struct ggml_tensor *x = node->src[0], *w = node->src[1];
    const bool weights = op_i32(node, 1) != 0 ? w->ne[0] == x->ne[0] && w->ne[1] == x->ne[1] && w->ne[2] == x->ne[2] :
                                                w->ne[0] == x->ne[1] && w->ne[1] == x->ne[2];
    return weights && op_row_dense(x) && op_row_dense(w) && op_row_dense(node) && node->ne[0] == x->ne[0] && node->ne[1] == x->ne[2] &&
           node->ne[2] == 1 && node->ne[3] == 1 && x->ne[3] == 1;
}

OP_PREPARE(prepare_row) {
    need->worker_size = op_scratch_bytes(1, nodes[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

OP_TASK(run_pre) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node  = nodes[0];
    const struct ggml_tensor * x     = node->src[0];
    const struct ggml_tensor * w     = node->src[1];
    const int64_t              ne0   = node->ne[0];
    const bool                 gated = op_i32(node, 1) != 0;
    float *                    gate  = op_scratch(task, 0, ne0);
    const struct op_range      share = op_share(task, node->ne[1]);
    for (int64_t t = share.begin; t < share.end && ne0 > 0; t++) {
        float * y = op_row(node, t, 0, 0);
        cpu_kernels.vec.fill(ne0, y, 0.0f);
        for (int64_t h = 0; h < x->ne[1]; h++) {
            if (gated) {
                cpu_kernels.vec.unary[GGML_UNARY_OP_SIGMOID](ne0, gate, op_row(w, h, t, 0));
                cpu_kernels.vec.mul(ne0, gate, gate, op_row(x, h, t, 0));
                cpu_kernels.vec.add(ne0, y, y, gate);
            } else {
                cpu_kernels.vec.mad(ne0, y, op_row(x, h, t, 0), at(w, h, t, 0));
            }
        }
        cpu_kernels.vec.scale(ne0, y, y, op_f32(node, 0), 0.0f);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(dsv4_hc_pre, DSV4_HC_PRE, .supports = supports_pre, .prepare = prepare_row, .task = run_pre);

/* ---- DSV4_HC_POST: stream d of the result = x*post(d) + sum over s of residual(s)*comb(d, s); without comb residual(d) ---- */

OP_SUPPORTS(supports_post) {
    (void) user_data, (void) device;
    if (!all_f32(node, 3)) {
        return false;
    }
    const struct ggml_tensor *x = node->src[0], *residual = node->src[1], *post = node->src[2], *comb = node->src[3];
    const int64_t             hc = residual->ne[1], tokens = x->ne[1];
    if (comb != NULL && (comb->type != GGML_TYPE_F32 || comb->ne[0] != hc || comb->ne[1] != hc || comb->ne[2] != tokens)) {
        return false;
    }
    return op_row_dense(x) && op_row_dense(residual) && op_row_dense(node) && residual->ne[0] == x->ne[0] && residual->ne[2] == tokens &&
           post->ne[0] == hc && post->ne[1] == tokens && node->ne[0] == x->ne[0] && node->ne[1] == hc && node->ne[2] == tokens &&
           node->ne[3] == 1 && x->ne[2] == 1 && x->ne[3] == 1;
}

OP_TASK(run_post) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node     = nodes[0];
    const struct ggml_tensor * residual = node->src[1];
    const struct ggml_tensor * comb     = node->src[3];
    const int64_t              ne0      = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const int64_t d = r % node->ne[1], t = r / node->ne[1];
        float *       y = op_row(node, d, t, 0);
        cpu_kernels.vec.scale(ne0, y, op_row(node->src[0], t, 0, 0), at(node->src[2], d, t, 0), 0.0f);
        if (comb == NULL) {
            cpu_kernels.vec.add(ne0, y, y, op_row(residual, d, t, 0));
            continue;
        }
        for (int64_t s = 0; s < node->ne[1]; s++) {
            cpu_kernels.vec.mad(ne0, y, op_row(residual, s, t, 0), at(comb, d, s, t));
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(dsv4_hc_post, DSV4_HC_POST, .supports = supports_post, .prepare = op_prepare_light, .task = run_post);
