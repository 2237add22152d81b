/* SPDX-License-Identifier: MIT
 *
 * A graph with all that it depends on, copied to a buffer of another backend, data too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "device/device.h"
#include "device/tensor_map.h"
#include "ggml-alloc.h"
#include "ggml-impl.h"
#include "graft.h"
#include "op/op.h"

/* ---- everything that the graph's nodes depend on, sources before users ---- */

struct visit {
    size_t pair; /* index in the map */
    int    next; /* of its dependencies: 0 the viewed tensor, then the sources */
};

struct collection {
    struct tensor_map map;
    size_t *          order; /* indexes in the map */
    size_t            n_order, order_capacity;
    struct visit *    stack; /* not the C stack: chains may be as long as memory allows */
    size_t            depth, stack_capacity;
};

static bool reserve(void ** array, size_t * capacity, size_t n, size_t size) {
    size_t bytes;
    if (n < *capacity) {
        return true;
    }
    const size_t more = *capacity == 0 ? 256 : *capacity * 2;
    if (!base_size_mul(more, size, &bytes)) {
        return false;
    }
    void * grown = realloc(*array, bytes);
    if (grown == NULL) {
        return false;
    }
    *array    = grown;
    *capacity = more;
    return true;
}

static void collection_free(struct collection * all) {
    tensor_map_free(&all->map);
    free(all->order);
    free(all->stack);
}

static bool enter(struct collection * all, struct ggml_tensor * t) {
    if (t == NULL || tensor_map_find(&all->map, t) != NULL) {
        return true;
    }
    if (!tensor_map_add(&all->map, t) ||
        !reserve((void **) &all->stack, &all->stack_capacity, all->depth, sizeof(all->stack[0]))) {
        return false;
    }
    all->stack[all->depth++] = (struct visit){all->map.n - 1, 0};
    return true;
}

static bool collect(struct collection * all, struct ggml_tensor * root) {
    if (!enter(all, root)) {
        return false;
    }
    while (all->depth > 0) {
        struct visit *       top  = &all->stack[all->depth - 1];
        struct ggml_tensor * t    = all->map.pairs[top->pair].key;
        const int            next = top->next++;
        if (next <= GGML_MAX_SRC) {
            if (!enter(all, next == 0 ? t->view_src : t->src[next - 1])) {
                return false;
            }
            continue;
        }
        if (!reserve((void **) &all->order, &all->order_capacity, all->n_order, sizeof(all->order[0]))) {
            return false;
        }
        all->order[all->n_order++] = top->pair;
        all->depth--;
    }
    return true;
}

static struct ggml_tensor * copy_of(const struct collection * all, const struct ggml_tensor * t) {
    const struct tensor_pair * pair = t != NULL ? tensor_map_find(&all->map, t) : NULL;
    return pair != NULL ? pair->partner : NULL;
}

/* ---- descriptors, data, graph ---- */

static struct ggml_tensor * copy_descriptor(const struct collection * all, struct ggml_context * ctx,
                                            const struct ggml_tensor * t) {
    struct ggml_tensor * copy = ggml_dup_tensor(ctx, t);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy->nb, t->nb, sizeof(copy->nb));
    memcpy(copy->op_params, t->op_params, sizeof(copy->op_params));
    memcpy(copy->name, t->name, sizeof(copy->name));
    copy->op        = t->op;
    copy->flags     = t->flags;
    copy->view_src  = copy_of(all, t->view_src);
    copy->view_offs = t->view_offs;
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        copy->src[k] = copy_of(all, t->src[k]);
    }
    return copy;
}

static enum ggml_status copy_descriptors(struct collection * all, struct ggml_backend_graph_copy * copy) {
    for (size_t i = 0; i < all->n_order; i++) {
        struct tensor_pair *       pair = &all->map.pairs[all->order[i]];
        const struct ggml_tensor * t    = pair->key;
        if (t->data == NULL && !ggml_is_empty(t)) {
            return base_fail(GGML_STATUS_FAILED,
                             "graph_copy: tensor '%s' (%s) has no memory: the graph must be allocated", t->name,
                             op_describe(t));
        }
        pair->partner = copy_descriptor(all, t->view_src != NULL ? copy->ctx_unallocated : copy->ctx_allocated, t);
        if (pair->partner == NULL) {
            return base_fail(GGML_STATUS_ALLOC_FAILED, "graph_copy: no memory for a copy of tensor '%s' (%s)", t->name,
                             op_describe(t));
        }
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status copy_data(const struct collection * all) {
    for (size_t i = 0; i < all->n_order; i++) {
        const struct tensor_pair * pair = &all->map.pairs[all->order[i]];
        if (pair->key->view_src == NULL) {
            ggml_backend_tensor_copy(pair->key, pair->partner);
        } else if (pair->partner->buffer == NULL) { /* the allocator may have placed it with its source */
            const enum ggml_status status = ggml_backend_view_init(pair->partner);
            if (status != GGML_STATUS_SUCCESS) {
                return status;
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* Slot of a tensor in the graph's hash, which has room for all. A slot's count of uses means nothing until it is taken.
 */
static size_t take_slot(struct ggml_cgraph * graph, struct ggml_tensor * t) {
    if (!ggml_hash_contains(&graph->visited_hash_set, t)) {
        graph->use_counts[ggml_hash_insert(&graph->visited_hash_set, t)] = 0;
    }
    return ggml_hash_find(&graph->visited_hash_set, t);
}

static void copy_list(const struct collection * all, struct ggml_cgraph * graph, struct ggml_tensor ** from, int n,
                      struct ggml_tensor ** to, int * n_to) {
    for (int i = 0; i < n; i++) {
        struct ggml_tensor * copy = copy_of(all, from[i]);
        if (copy != NULL) {
            take_slot(graph, copy);
            to[(*n_to)++] = copy;
        }
    }
}

/* Nodes in the same order, and the counts of uses that fusion checks read. */
static void fill_graph(const struct collection * all, const struct ggml_cgraph * from, struct ggml_cgraph * graph) {
    copy_list(all, graph, from->leafs, from->n_leafs, graph->leafs, &graph->n_leafs);
    copy_list(all, graph, from->nodes, from->n_nodes, graph->nodes, &graph->n_nodes);
    for (int i = 0; i < graph->n_nodes; i++) {
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (graph->nodes[i]->src[k] != NULL) {
                graph->use_counts[take_slot(graph, graph->nodes[i]->src[k])]++;
            }
        }
    }
    graph->order = from->order;
}

static enum ggml_status make_contexts(size_t n_tensors, size_t graph_size, struct ggml_backend_graph_copy * copy) {
    size_t bytes;
    if (!base_size_mul(n_tensors, ggml_tensor_overhead(), &bytes) ||
        !base_size_add(bytes, ggml_graph_overhead_custom(graph_size, false), &bytes)) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "graph_copy: %zu tensors do not fit memory", n_tensors);
    }
    const struct ggml_init_params params = {.mem_size = bytes, .mem_buffer = NULL, .no_alloc = true};
    copy->ctx_allocated                  = ggml_init(params);
    copy->ctx_unallocated                = ggml_init(params);
    if (copy->ctx_allocated == NULL || copy->ctx_unallocated == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "graph_copy: no memory for %zu tensors", n_tensors);
    }
    graft_set_checked(copy->ctx_allocated, true);
    graft_set_checked(copy->ctx_unallocated, true);
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status copy_graph(ggml_backend_t backend, struct ggml_cgraph * graph, struct collection * all,
                                   struct ggml_backend_graph_copy * copy) {
    for (int i = 0; i < graph->n_leafs + graph->n_nodes; i++) {
        if (!collect(all, i < graph->n_leafs ? graph->leafs[i] : graph->nodes[i - graph->n_leafs])) {
            return base_fail(GGML_STATUS_ALLOC_FAILED, "graph_copy: no memory for the list of the graph's tensors");
        }
    }
    /* The copy's lists and hash have room for every tensor, so that none of them has to grow below. */
    const size_t     graph_size = all->n_order + 1;
    enum ggml_status status     = make_contexts(all->n_order, graph_size, copy);
    if (status == GGML_STATUS_SUCCESS) {
        status = copy_descriptors(all, copy);
    }
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    copy->buffer = ggml_backend_alloc_ctx_tensors(copy->ctx_allocated, backend);
    if (copy->buffer == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "graph_copy: no memory for the data of %zu tensors on %s",
                         all->n_order, ggml_backend_name(backend));
    }
    status = copy_data(all);
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    copy->graph = ggml_new_graph_custom(copy->ctx_allocated, graph_size, false);
    if (copy->graph == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "graph_copy: no memory for the graph");
    }
    fill_graph(all, graph, copy->graph);
    return GGML_STATUS_SUCCESS;
}

struct ggml_backend_graph_copy ggml_backend_graph_copy(ggml_backend_t backend, struct ggml_cgraph * graph) {
    GGML_ASSERT(backend != NULL);
    GGML_ASSERT(graph != NULL);
    struct ggml_backend_graph_copy copy = {0};
    struct collection              all  = {0};
    if (copy_graph(backend, graph, &all, &copy) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        ggml_backend_graph_copy_free(copy);
        copy = (struct ggml_backend_graph_copy){0};
    }
    collection_free(&all);
    return copy;
}

void ggml_backend_graph_copy_free(struct ggml_backend_graph_copy copy) {
    ggml_backend_buffer_free(copy.buffer);
    ggml_free(copy.ctx_allocated);
    ggml_free(copy.ctx_unallocated);
}
