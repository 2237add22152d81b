/* SPDX-License-Identifier: MIT
 *
 * The graph of a batch for the llama architecture. It is built once for a number of tokens and a length of the cache (rounded
 * up), and used again as long as both stay: a token of a generation only sets inputs and computes.
 */
#include "context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "graft.h"

#define KV_STEP         256 /* lengths of the cache that graphs are made for */
#define NODES_PER_LAYER 40

struct context {
    struct model *        model;
    struct context_params params;
    ggml_backend_t        backend;
    ggml_backend_sched_t  sched;

    struct ggml_context * kv_ctx;
    ggml_backend_buffer_t kv_buffer;
    struct ggml_tensor ** k; /* by layer: [head_size * n_heads_kv, n_ctx], F16 */
    struct ggml_tensor ** v;
    uint32_t              used;

    struct ggml_context * graph_ctx;
    struct ggml_cgraph *  graph;
    uint32_t              graph_tokens, graph_kv; /* what the graph is for */
    struct ggml_tensor *  in_tokens;
    struct ggml_tensor *  in_positions;
    struct ggml_tensor *  in_rows; /* of the cache, for the batch's keys and values */
    struct ggml_tensor *  in_mask;
    struct ggml_tensor *  out_logits;

    ggml_fp16_t * mask;
    int64_t *     rows;
    int32_t *     positions;
    float *       logits;
    char          error[512];
};

static bool fail(struct context * c, const char * text) {
    snprintf(c->error, sizeof(c->error), "%s", text);
    return false;
}

/* What the runtime said last, or otherwise when it said nothing. */
static bool fail_runtime(struct context * c, const char * otherwise) {
    const char * text = ggml_ext_last_error();
    return fail(c, text[0] != 0 ? text : otherwise);
}

static size_t max_nodes(const struct context * c) {
    return 64 + NODES_PER_LAYER * (size_t) c->model->n_layers;
}

/* ---- graph ---- */

static struct ggml_tensor * norm(struct context * c, struct ggml_tensor * x, struct ggml_tensor * weight) {
    return ggml_mul(c->graph_ctx, ggml_rms_norm(c->graph_ctx, x, c->model->norm_eps), weight);
}

static struct ggml_tensor * rotate(struct context * c, struct ggml_tensor * x) {
    const struct model * m = c->model;
    return ggml_rope_ext(c->graph_ctx, x, c->in_positions, m->rope_freqs, (int) m->n_rot, GGML_ROPE_TYPE_NORMAL,
                         (int) m->n_ctx_train, m->rope_base, 1.0f / m->rope_scale, 0.0f, 1.0f, 32.0f, 1.0f);
}

/* A matrix product as heads: [head_size, n, tokens]. */
static struct ggml_tensor * heads(struct context * c, struct ggml_tensor * weight, struct ggml_tensor * x, uint32_t n) {
    return ggml_reshape_3d(c->graph_ctx, ggml_mul_mat(c->graph_ctx, weight, x), c->model->head_size, n,
                           c->in_tokens->ne[0]);
}

/* Writes rows of the batch into the cache. */
static void store(struct context * c, struct ggml_tensor * cache, struct ggml_tensor * x) {
    struct ggml_tensor * flat = ggml_reshape_2d(c->graph_ctx, x, cache->ne[0], c->in_tokens->ne[0]);
    struct ggml_tensor * set  = ggml_set_rows(c->graph_ctx, cache, flat, c->in_rows);
    if (set != NULL) {
        ggml_build_forward_expand(c->graph, set);
    }
}

/* The first n_kv rows of the cache, head by head: [head_size, n_kv, n_heads_kv]. */
static struct ggml_tensor * cached(struct context * c, struct ggml_tensor * cache, uint32_t n_kv) {
    const size_t head = ggml_row_size(cache->type, c->model->head_size);
    return ggml_view_3d(c->graph_ctx, cache, c->model->head_size, n_kv, c->model->n_heads_kv, cache->nb[1], head, 0);
}

static struct ggml_tensor * attention(struct context * c, uint32_t i, struct ggml_tensor * x, uint32_t n_kv) {
    const struct model *       m = c->model;
    const struct model_layer * l = &m->layers[i];
    struct ggml_context *      g = c->graph_ctx;
    struct ggml_tensor *       q = rotate(c, heads(c, l->attn_q, x, m->n_heads));
    struct ggml_tensor *       k = rotate(c, heads(c, l->attn_k, x, m->n_heads_kv));
    struct ggml_tensor *       v = heads(c, l->attn_v, x, m->n_heads_kv);
    store(c, c->k[i], k);
    store(c, c->v[i], v);
    struct ggml_tensor * y =
        ggml_flash_attn_ext(g, ggml_permute(g, q, 0, 2, 1, 3), cached(c, c->k[i], n_kv), cached(c, c->v[i], n_kv),
                            c->in_mask, 1.0f / sqrtf((float) m->head_size), 0.0f, 0.0f);
    return ggml_mul_mat(g, l->attn_output, ggml_reshape_2d(g, y, m->n_embd, c->in_tokens->ne[0]));
}

static struct ggml_tensor * feed_forward(struct context * c, const struct model_layer * l, struct ggml_tensor * x) {
    struct ggml_context * g    = c->graph_ctx;
    struct ggml_tensor *  gate = ggml_mul_mat(g, l->ffn_gate, x);
    struct ggml_tensor *  up   = ggml_mul_mat(g, l->ffn_up, x);
    return ggml_mul_mat(g, l->ffn_down, ggml_swiglu_split(g, gate, up));
}

static struct ggml_tensor * input(struct context * c, enum ggml_type type, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = ggml_new_tensor_2d(c->graph_ctx, type, ne0, ne1);
    if (t != NULL) {
        ggml_set_input(t);
    }
    return t;
}

/* The graph's context is in checked mode: a file whose tensors do not fit together makes builders return NULL, and one look at
 * the end tells what was wrong first. */
static bool build(struct context * c, uint32_t n_tokens, uint32_t n_kv) {
    struct model *        m = c->model;
    struct ggml_context * g = c->graph_ctx;
    ggml_reset(g);
    c->graph = ggml_new_graph_custom(g, max_nodes(c), false);
    if (c->graph == NULL) {
        return fail_runtime(c, "no memory for the graph");
    }
    c->in_tokens    = input(c, GGML_TYPE_I32, n_tokens, 1);
    c->in_positions = input(c, GGML_TYPE_I32, n_tokens, 1);
    c->in_rows      = input(c, GGML_TYPE_I64, n_tokens, 1);
    c->in_mask      = input(c, GGML_TYPE_F16, n_kv, n_tokens);
    if (c->in_tokens == NULL) {
        return fail_runtime(c, "no memory for the graph");
    }
    struct ggml_tensor * x = ggml_get_rows(g, m->token_embd, c->in_tokens);
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const struct model_layer * l = &m->layers[i];
        x                            = ggml_add(g, x, attention(c, i, norm(c, x, l->attn_norm), n_kv));
        x                            = ggml_add(g, x, feed_forward(c, l, norm(c, x, l->ffn_norm)));
    }
    /* logits of the last token alone */
    const size_t row = m->n_embd * sizeof(float);
    x                = ggml_view_2d(g, x, m->n_embd, 1, row, (n_tokens - 1) * row);
    c->out_logits    = ggml_mul_mat(g, m->output, norm(c, x, m->output_norm));
    if (graft_context_status(g) != GGML_STATUS_SUCCESS) {
        c->graph = NULL;
        return fail(c, graft_context_error(g));
    }
    ggml_set_output(c->out_logits);
    ggml_build_forward_expand(c->graph, c->out_logits);
    c->graph_tokens = n_tokens;
    c->graph_kv     = n_kv;
    return true;
}

/* ---- evaluation ---- */

static void fill_mask(struct context * c, uint32_t n_tokens, uint32_t n_kv) {
    const ggml_fp16_t seen = ggml_fp32_to_fp16(0.0f), hidden = ggml_fp32_to_fp16(-INFINITY);
    for (uint32_t i = 0; i < n_tokens; i++) {
        for (uint32_t j = 0; j < n_kv; j++) {
            c->mask[(size_t) i * n_kv + j] = j <= c->used + i ? seen : hidden;
        }
    }
}

static bool prepare(struct context * c, uint32_t n_tokens, uint32_t n_kv) {
    if (c->graph != NULL && c->graph_tokens == n_tokens && c->graph_kv == n_kv) {
        return true;
    }
    ggml_backend_sched_reset(c->sched);
    if (!build(c, n_tokens, n_kv)) {
        return false;
    }
    if (!ggml_backend_sched_alloc_graph(c->sched, c->graph)) {
        c->graph = NULL;
        return fail_runtime(c, "no memory for the graph");
    }
    return true;
}

static bool eval_batch(struct context * c, const int32_t * tokens, uint32_t n) {
    const uint32_t padded = (c->used + n + KV_STEP - 1) / KV_STEP * KV_STEP;
    const uint32_t n_kv   = padded < c->params.n_ctx ? padded : c->params.n_ctx;
    if (!prepare(c, n, n_kv)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        c->positions[i] = (int32_t) (c->used + i);
        c->rows[i]      = c->used + i;
    }
    fill_mask(c, n, n_kv);
    ggml_backend_tensor_set(c->in_tokens, tokens, 0, n * sizeof(*tokens));
    ggml_backend_tensor_set(c->in_positions, c->positions, 0, n * sizeof(*c->positions));
    ggml_backend_tensor_set(c->in_rows, c->rows, 0, n * sizeof(*c->rows));
    ggml_backend_tensor_set(c->in_mask, c->mask, 0, (size_t) n * n_kv * sizeof(*c->mask));
    const enum ggml_status status = ggml_backend_sched_graph_compute(c->sched, c->graph);
    if (status != GGML_STATUS_SUCCESS) {
        return fail_runtime(c, ggml_status_to_string(status));
    }
    c->used += n;
    return true;
}

bool context_eval(struct context * c, const int32_t * tokens, uint32_t n, const float ** logits) {
    if (n > c->params.n_ctx - c->used) {
        snprintf(c->error, sizeof(c->error), "the context is full: %u of %u positions are used, %u more are needed",
                 c->used, c->params.n_ctx, n);
        return false;
    }
    const int32_t n_vocab = vocab_size(c->model->vocab);
    for (uint32_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || tokens[i] >= n_vocab) {
            snprintf(c->error, sizeof(c->error), "token %d is not in the vocabulary of %d", tokens[i], n_vocab);
            return false;
        }
    }
    for (uint32_t done = 0; done < n;) {
        const uint32_t batch = n - done < c->params.n_batch ? n - done : c->params.n_batch;
        if (!eval_batch(c, tokens + done, batch)) {
            return false;
        }
        done += batch;
    }
    ggml_backend_tensor_get(c->out_logits, c->logits, 0, (size_t) n_vocab * sizeof(float));
    *logits = c->logits;
    return true;
}

/* ---- life ---- */

static bool make_cache(struct context * c) {
    const struct model *          m      = c->model;
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2 * m->n_layers, NULL, true };
    c->kv_ctx                            = ggml_init(params);
    c->k                                 = calloc(m->n_layers, sizeof(struct ggml_tensor *));
    c->v                                 = calloc(m->n_layers, sizeof(struct ggml_tensor *));
    if (c->kv_ctx == NULL || c->k == NULL || c->v == NULL) {
        return fail(c, "no memory for the KV cache");
    }
    for (uint32_t i = 0; i < m->n_layers; i++) {
        c->k[i] = ggml_new_tensor_2d(c->kv_ctx, GGML_TYPE_F16, (int64_t) m->head_size * m->n_heads_kv, c->params.n_ctx);
        c->v[i] = ggml_new_tensor_2d(c->kv_ctx, GGML_TYPE_F16, (int64_t) m->head_size * m->n_heads_kv, c->params.n_ctx);
    }
    c->kv_buffer = ggml_backend_alloc_ctx_tensors(c->kv_ctx, c->backend);
    if (c->kv_buffer == NULL) {
        return fail(c, "no memory for the KV cache");
    }
    ggml_backend_buffer_clear(c->kv_buffer, 0); /* masked rows are read too: they must not hold NaN */
    return true;
}

static bool init(struct context * c) {
    const size_t overhead = ggml_tensor_overhead() * max_nodes(c) + ggml_graph_overhead_custom(max_nodes(c), false);
    c->backend            = ggml_backend_cpu_init();
    c->graph_ctx          = ggml_init((struct ggml_init_params){ overhead, NULL, true });
    c->mask               = malloc((size_t) c->params.n_batch * c->params.n_ctx * sizeof(*c->mask));
    c->rows               = malloc(c->params.n_batch * sizeof(*c->rows));
    c->positions          = malloc(c->params.n_batch * sizeof(*c->positions));
    c->logits             = malloc((size_t) vocab_size(c->model->vocab) * sizeof(*c->logits));
    if (c->backend == NULL || c->graph_ctx == NULL || c->mask == NULL || c->rows == NULL || c->positions == NULL ||
        c->logits == NULL) {
        return fail(c, "no memory for a context");
    }
    graft_set_checked(c->graph_ctx, true);
    ggml_backend_cpu_set_n_threads(c->backend, c->params.n_threads);
    c->sched = ggml_backend_sched_new(&c->backend, NULL, 1, max_nodes(c), false, true);
    if (c->sched == NULL || !make_cache(c)) {
        return c->error[0] != 0 ? false : fail(c, "no memory for the scheduler");
    }
    if (!build(c, c->params.n_batch, c->params.n_ctx)) { /* the largest graph: memory is reserved once */
        return false;
    }
    const bool ok = ggml_backend_sched_reserve(c->sched, c->graph);
    c->graph      = NULL;
    return ok || fail_runtime(c, "no memory for the graph");
}

struct context * context_new(struct model * model, struct context_params params, char * error, size_t n) {
    struct context * c = calloc(1, sizeof(*c));
    if (c == NULL) {
        snprintf(error, n, "no memory for a context");
        return NULL;
    }
    c->model  = model;
    c->params = params;
    if (!init(c)) {
        snprintf(error, n, "%s", c->error);
        context_free(c);
        return NULL;
    }
    return c;
}

void context_free(struct context * c) {
    if (c == NULL) {
        return;
    }
    ggml_backend_sched_free(c->sched);
    ggml_backend_buffer_free(c->kv_buffer);
    ggml_backend_free(c->backend);
    ggml_free(c->kv_ctx);
    ggml_free(c->graph_ctx);
    free(c->k);
    free(c->v);
    free(c->mask);
    free(c->rows);
    free(c->positions);
    free(c->logits);
    free(c);
}

const char * context_error(const struct context * c) {
    return c->error;
}

uint32_t context_used(const struct context * c) {
    return c->used;
}

size_t context_kv_bytes(const struct context * c) {
    return ggml_backend_buffer_get_size(c->kv_buffer);
}

size_t context_compute_bytes(const struct context * c) {
    return ggml_backend_sched_get_buffer_size(c->sched, c->backend);
}
