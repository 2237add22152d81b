/* SPDX-License-Identifier: MIT
 *
 * Builds the same random graph from the same seed on any library with this interface, and gives a number that depends
 * on the order of its nodes and leafs, their names and flags, and the use counts. Nodes are wired by hand, so that the
 * graphs take forms that no builder makes.
 */
#ifndef GRAFT_TESTS_GRAPH_RANDOM_GRAPH_H
#define GRAFT_TESTS_GRAPH_RANDOM_GRAPH_H

#include <string.h>

#include "ggml-impl.h"

#define RANDOM_MAX_TENSORS 400

static inline uint64_t random_next(uint64_t * state) { /* xorshift64* */
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1Du;
}

static inline void digest_bytes(uint64_t * digest, const void * data, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; i++) {
        *digest = (*digest ^ ((const unsigned char *) data)[i]) * UINT64_C(0x100000001B3);
    }
}

static inline void digest_int(uint64_t * digest, int64_t value) {
    digest_bytes(digest, &value, sizeof(value));
}

/* Sources: mostly earlier tensors, few or many, with gaps, sometimes the tensor itself. */
static inline void random_sources(uint64_t * state, struct ggml_tensor ** tensors, int i) {
    struct ggml_tensor * t       = tensors[i];
    const uint64_t       density = 1 + random_next(state) % 5;
    for (int k = 0; k < GGML_MAX_SRC && i > 0; k++) {
        if (random_next(state) % 8 >= density) {
            continue;
        }
        const uint64_t span = random_next(state) % 2 == 0 ? 6 : (uint64_t) i; /* near or anywhere */
        const uint64_t back = 1 + random_next(state) % (span < (uint64_t) i ? span : (uint64_t) i);
        t->src[k]           = tensors[i - (int) back];
    }
    if (random_next(state) % 16 == 0) {
        t->src[1] = t; /* as ggml_cast does */
    }
}

static inline int random_tensors(uint64_t * state, struct ggml_context * ctx, struct ggml_tensor ** tensors) {
    const int n = 2 + (int) (random_next(state) % (RANDOM_MAX_TENSORS - 2));
    for (int i = 0; i < n; i++) {
        struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, i + 1);
        tensors[i]             = t;
        if (random_next(state) % 4 == 0) {
            t->flags |= random_next(state) % 3 == 0 ? GGML_TENSOR_FLAG_PARAM : 0;
        } else {
            t->op = GGML_OP_CUSTOM;
        }
        if (t->op != GGML_OP_NONE || random_next(state) % 16 == 0) {
            random_sources(state, tensors, i);
            if (t->op == GGML_OP_NONE && t->src[1] == t) {
                t->src[1] = NULL; /* a leaf that is its own source has no end elsewhere */
            }
        }
        if (random_next(state) % 4 == 0) {
            ggml_format_name(t, "named_%d", i);
        }
        if (random_next(state) % 32 == 0 && t->op != GGML_OP_NONE) {
            t->flags |= GGML_TENSOR_FLAG_COMPUTE; /* from another graph */
        }
    }
    return n;
}

/* The other library wants the root to be the last node of those that a call adds: true of these. */
static inline bool random_is_root(const struct ggml_cgraph * graph, struct ggml_tensor * t, bool changed) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (t->op == GGML_OP_NONE && (t->flags & GGML_TENSOR_FLAG_PARAM) == 0 && t->src[k] != NULL) {
            return false;
        }
    }
    return !changed || !ggml_hash_contains(&graph->visited_hash_set, t);
}

static inline void random_calls(uint64_t * state, struct ggml_cgraph * graph, struct ggml_tensor ** tensors, int n) {
    const int n_calls = 1 + (int) (random_next(state) % 6);
    bool      changed = false;
    for (int call = 0; call < n_calls; call++) {
        struct ggml_tensor * some[3];
        bool                 ok = true;
        for (int i = 0; i < 3; i++) {
            some[i] = tensors[random_next(state) % (uint64_t) n];
            ok      = ok && random_is_root(graph, some[i], changed);
        }
        const uint64_t kind = random_next(state) % 4;
        const int      pick = (int) (random_next(state) % 3);
        if (ok && kind == 0) {
            ggml_build_forward_order(graph, some[pick]);
        } else if (ok && kind == 1 && !changed) {
            ggml_build_forward_select(graph, some, 3, pick);
        } else if (ok) {
            ggml_build_forward_expand(graph, some[pick]);
        }
        if (random_next(state) % 4 == 0) { /* a source that comes later */
            const int            i = 1 + (int) (random_next(state) % (uint64_t) (n - 1));
            struct ggml_tensor * t = tensors[i];
            if (t->op != GGML_OP_NONE) {
                t->src[random_next(state) % GGML_MAX_SRC] = tensors[random_next(state) % (uint64_t) i];
                changed                                   = true;
            }
        }
    }
}

static inline uint64_t graph_digest(const struct ggml_cgraph * graph, struct ggml_tensor ** tensors, int n) {
    uint64_t digest = UINT64_C(0xCBF29CE484222325);
    digest_int(&digest, graph->n_nodes);
    digest_int(&digest, graph->n_leafs);
    for (int i = 0; i < graph->n_nodes; i++) {
        digest_int(&digest, graph->nodes[i]->ne[0]);
    }
    for (int i = 0; i < graph->n_leafs; i++) {
        digest_int(&digest, graph->leafs[i]->ne[0]);
    }
    for (int i = 0; i < n; i++) {
        const size_t slot = ggml_hash_find(&graph->visited_hash_set, tensors[i]);
        const bool   in   = slot != GGML_HASHSET_FULL && ggml_bitset_get(graph->visited_hash_set.used, slot);
        digest_int(&digest, in ? graph->use_counts[slot] : -1);
        digest_int(&digest, tensors[i]->flags);
        digest_bytes(&digest, tensors[i]->name, strlen(tensors[i]->name));
    }
    return digest;
}

/* size: what the graph is made for; the digest does not depend on it. */
static inline uint64_t random_graph_digest(uint64_t seed, size_t size) {
    struct ggml_tensor * tensors[RANDOM_MAX_TENSORS];
    uint64_t             state = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    struct ggml_context * ctx  = ggml_init((struct ggml_init_params) {
         RANDOM_MAX_TENSORS * ggml_tensor_overhead() + ggml_graph_overhead_custom(size, false), NULL, true });
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, size, false);
    if (random_next(&state) % 3 == 0) {
        graph->order = GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;
    }
    const int n = random_tensors(&state, ctx, tensors);
    random_calls(&state, graph, tensors, n);
    const uint64_t digest = graph_digest(graph, tensors, n);
    ggml_free(ctx);
    return digest;
}

#endif /* GRAFT_TESTS_GRAPH_RANDOM_GRAPH_H */
