/* SPDX-License-Identifier: MIT
 *
 * Random graphs from a seed, the same from the same seed: elementwise chains, products, norms, labels, copies, results
 * in place, with leafs of every kind. The reference for their values gives every tensor memory of its own.
 */
#ifndef GRAFT_TESTS_PLAN_RANDOM_GRAPH_H
#define GRAFT_TESTS_PLAN_RANDOM_GRAPH_H

#include "toy.h"

enum { RANDOM_MAX = 512 };

struct random_graph {
    struct ggml_context * ctx;     /* what the allocator under test gives memory to */
    struct ggml_context * weights; /* leafs that have memory before */
    struct ggml_cgraph *  graph;
    struct ggml_tensor *  tensors[RANDOM_MAX]; /* in order of making; sources are drawn from here */
    struct ggml_tensor *  leafs[RANDOM_MAX];
    int                   n, n_leafs;
    uint64_t              state;
};

static int random_below(struct random_graph * g, int n) {
    return (int) (harness_random(&g->state) % (uint64_t) n);
}

static struct ggml_tensor * random_pick(struct random_graph * g) {
    /* mostly recent ones, so that lifetimes differ */
    const int recent = g->n < 8 || random_below(g, 4) == 0 ? g->n : 8;
    return g->tensors[g->n - 1 - random_below(g, recent)];
}

static struct ggml_tensor * random_contiguous(struct random_graph * g) {
    struct ggml_tensor * t = random_pick(g);
    return ggml_is_contiguous(t) && t->nb[1] == (size_t) t->ne[0] * t->nb[0] ? t : NULL;
}

static void random_leaf(struct random_graph * g) {
    const int            kind = random_below(g, 4); /* 0: weight, 1: input, 2: plain leaf, 3: input and output */
    struct ggml_tensor * t = ggml_new_tensor_2d(kind == 0 ? g->weights : g->ctx, GGML_TYPE_F32, 1 + random_below(g, 9),
                                                1 + random_below(g, 9));
    if (kind == 1 || kind == 3) {
        ggml_set_input(t);
    }
    if (kind == 3) {
        ggml_set_output(t);
    }
    ggml_format_name(t, "leaf%d", g->n_leafs);
    g->leafs[g->n_leafs++] = t;
    g->tensors[g->n++]     = t;
}

/* A leaf of the given shape, for a second operand. */
static struct ggml_tensor * random_partner(struct random_graph * g, int64_t ne0, int64_t ne1) {
    for (int tries = 0; tries < 6; tries++) {
        struct ggml_tensor * t = random_pick(g);
        if (t->ne[0] == ne0 && t->ne[1] == ne1 && t->ne[2] == 1 && t->ne[3] == 1 && t->nb[0] == 4) {
            return t;
        }
    }
    struct ggml_tensor * t = ggml_new_tensor_2d(random_below(g, 2) ? g->weights : g->ctx, GGML_TYPE_F32, ne0, ne1);
    ggml_format_name(t, "leaf%d", g->n_leafs);
    g->leafs[g->n_leafs++] = t;
    return t;
}

static struct ggml_tensor * random_node(struct random_graph * g) {
    struct ggml_context * ctx = g->ctx;
    struct ggml_tensor *  a   = random_pick(g);
    struct ggml_tensor *  c   = random_contiguous(g);
    switch (random_below(g, 15)) {
        case 0:
        case 1:
            return ggml_add(ctx, a, random_partner(g, a->ne[0], a->ne[1]));
        case 2:
            return ggml_add(ctx, a, random_partner(g, a->ne[0], 1)); /* broadcast */
        case 3:
            return ggml_mul(ctx, a, random_partner(g, a->ne[0], a->ne[1]));
        case 4:
            return ggml_sub(ctx, random_partner(g, a->ne[0], a->ne[1]), a);
        case 5:
            return c != NULL ? ggml_scale(ctx, c, 0.5f) : NULL;
        case 6:
            return c != NULL ? ggml_neg(ctx, c) : NULL;
        case 7:
            return c != NULL && c->ne[2] == 1
                       ? ggml_mul_mat(ctx, random_partner(g, c->ne[0], 1 + random_below(g, 6)), c)
                       : NULL;
        case 8:
            return c != NULL ? ggml_reshape_2d(ctx, c, ggml_nelements(c), 1) : NULL;
        case 9:
            return ggml_cont(ctx, ggml_transpose(ctx, a));
        case 10:
            return ggml_transpose(ctx, a);
        case 11:
            return a->ne[1] > 1
                       ? ggml_view_2d(ctx, a, a->ne[0], a->ne[1] - 1, a->nb[1], random_below(g, 2) ? a->nb[1] : 0)
                       : NULL;
        case 12:
            return c != NULL ? ggml_rms_norm(ctx, c, 1.0f) : NULL;
        case 13:
            return c != NULL && c->op != GGML_OP_NONE ? ggml_scale_inplace(ctx, c, 2.0f) : NULL;
        default:
            return ggml_cpy(ctx, a, random_partner(g, a->ne[0], a->ne[1]));
    }
}

/* A graph of n_nodes draws. Everything that nobody reads stays readable, so all of it is compared. */
static TOY_UNUSED struct random_graph random_graph_make(uint64_t seed, int n_nodes) {
    struct random_graph g = {.state = seed * 0x9E3779B97F4A7C15u + 1};
    g.ctx                 = toy_context(RANDOM_MAX);
    g.weights             = toy_context(RANDOM_MAX);
    g.graph               = ggml_new_graph_custom(g.ctx, RANDOM_MAX, false);
    for (int i = 0; i < 3; i++) {
        random_leaf(&g);
    }
    for (int i = 0; i < n_nodes; i++) {
        struct ggml_tensor * node = random_node(&g);
        if (node == NULL) {
            continue;
        }
        ggml_format_name(node, "node%d", i);
        if (random_below(&g, 16) == 0) {
            ggml_set_output(node);
        }
        ggml_build_forward_expand(g.graph, node);
        g.tensors[g.n++] = node;
    }
    return g;
}

static TOY_UNUSED void random_graph_free(struct random_graph * g) {
    ggml_free(g->ctx);
    ggml_free(g->weights);
}

static TOY_UNUSED void random_graph_fill(const struct random_graph * g, uint64_t seed) {
    for (int i = 0; i < g->n_leafs; i++) {
        if (g->leafs[i]->buffer != NULL) { /* else nothing reads it */
            toy_fill(g->leafs[i], seed + (uint64_t) i);
        }
    }
}

/* Is the node's value there when the graph has run? Yes for outputs and for what nobody reads, provided that nobody
 * writes into its memory afterwards. */
static TOY_UNUSED bool random_graph_kept(const struct ggml_cgraph * graph, int i) {
    const struct ggml_tensor * node = graph->nodes[i];
    const struct ggml_tensor * root = node->view_src != NULL ? node->view_src : node;
    for (int j = 0; j < graph->n_nodes; j++) {
        const struct ggml_tensor * other = graph->nodes[j];
        if (j > i && other->view_src == root && !ggml_op_is_empty(other->op)) {
            return false; /* written again */
        }
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (other->src[k] == node && (node->flags & GGML_TENSOR_FLAG_OUTPUT) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Values of all kept nodes of `g`, which has run, against a run of the same graph where nothing shares memory. */
static TOY_UNUSED void random_graph_compare(const struct random_graph * g, uint64_t seed, int n_nodes, uint64_t fill) {
    struct toy          alone;
    struct random_graph reference = random_graph_make(seed, n_nodes);
    toy_init(&alone, "alone", GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(reference.weights, &alone.buft);
    ggml_backend_buffer_t memory  = ggml_backend_alloc_ctx_tensors_from_buft(reference.ctx, &alone.buft);
    random_graph_fill(&reference, fill);
    CHECK(ggml_backend_graph_compute(&alone.backend, reference.graph) == GGML_STATUS_SUCCESS);
    CHECK(reference.graph->n_nodes == g->graph->n_nodes);
    for (int i = 0; i < g->graph->n_nodes; i++) {
        struct ggml_tensor * got  = g->graph->nodes[i];
        struct ggml_tensor * want = reference.graph->nodes[i];
        if (!random_graph_kept(g->graph, i) || ggml_nelements(got) == 0) {
            continue;
        }
        const size_t bytes = ggml_nbytes(want);
        char *       a     = malloc(bytes);
        char *       b     = malloc(bytes);
        ggml_backend_tensor_get(got, a, 0, bytes);
        ggml_backend_tensor_get(want, b, 0, bytes);
        for (int64_t j = 0; j < ggml_nelements(got); j++) {
            const size_t at = (size_t) (j % got->ne[0]) * got->nb[0] +
                              (size_t) (j / got->ne[0] % got->ne[1]) * got->nb[1] +
                              (size_t) (j / (got->ne[0] * got->ne[1])) * got->nb[2];
            if (memcmp(a + at, b + at, sizeof(float)) != 0) {
                CHECK_MSG(false, "seed %llu: node %d '%s' (%s), element %lld: %g, expected %g",
                          (unsigned long long) seed, i, got->name, ggml_op_name(got->op), (long long) j,
                          *(float *) (a + at), *(float *) (b + at));
                break;
            }
        }
        free(a);
        free(b);
    }
    ggml_backend_buffer_free(weights);
    ggml_backend_buffer_free(memory);
    random_graph_free(&reference);
    toy_free(&alone);
}

#endif /* GRAFT_TESTS_PLAN_RANDOM_GRAPH_H */
