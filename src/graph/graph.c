/* SPDX-License-Identifier: MIT
 *
 * Graphs: memory, growth, copies and the small accessors. How nodes are found is in walk.c.
 */
#include "graph/graph.h"

#include <limits.h>
#include <stdatomic.h>

#include "base/check.h"
#include "base/status.h"
#include "ggml-backend.h"
#include "graph/context.h"

#define BLOCK_MAGIC     UINT64_C(0x6b636f6c62677267)
#define LEAST_GROWTH    64
#define MAX_CAPACITY    ((size_t) INT_MAX) /* nodes are counted in int */
#define HASH_LOAD(size) ((size) - (size) / 4) /* keys that a table takes before it grows: probing stays short */

/* Lies directly before the nodes of a block. */
struct block_header {
    uint64_t              magic;
    struct ggml_context * ctx;
    size_t                capacity; /* of nodes, and of leafs */
    struct ggml_tensor ** nodes;
};

/* Offsets in a block. */
struct block_layout {
    size_t leafs, use_counts, keys, grads, grad_accs, used, total;
    size_t hash_size;
};

/* ---- blocks ---- */

/* The mark depends on the address of the nodes: when a client puts other arrays into its copy of a graph, it no longer
 * fits, and nobody looks for a header before them. */
static uint32_t mark_of(struct ggml_tensor ** nodes) {
    return ((uint32_t) ((uintptr_t) nodes >> 4) * 0x9E3779B1u) | 1u;
}

static char * mark_place(const struct ggml_cgraph * graph) {
    return (char *) &graph->order + sizeof(graph->order);
}

static void set_mark(struct ggml_cgraph * graph, uint32_t mark) {
    memcpy(mark_place(graph), &mark, sizeof(mark));
}

static struct block_header * header_of(const struct ggml_cgraph * graph) {
    uint32_t mark;
    memcpy(&mark, mark_place(graph), sizeof(mark));
    if (graph->nodes == NULL || mark != mark_of(graph->nodes)) {
        return NULL;
    }
    struct block_header * header = (struct block_header *) graph->nodes - 1;
    return header->magic == BLOCK_MAGIC && header->nodes == graph->nodes ? header : NULL;
}

struct ggml_context * graph_context(const struct ggml_cgraph * graph) {
    const struct block_header * header = header_of(graph);
    return header != NULL ? header->ctx : NULL;
}

/* Appends an array of n entries; false on overflow. */
static bool place_array(size_t n, size_t entry, size_t * offset, size_t * total) {
    size_t start, bytes;
    return base_size_pad(*total, entry, &start) && base_size_mul(n, entry, &bytes) &&
           base_size_add(start, bytes, total) && (*offset = start, true);
}

static bool block_layout(size_t capacity, bool grads, struct block_layout * out) {
    const size_t ptr = sizeof(struct ggml_tensor *);
    size_t       nodes;
    if (capacity > MAX_CAPACITY) {
        return false;
    }
    memset(out, 0, sizeof(*out));
    out->hash_size = ggml_hash_size(capacity * 2);
    out->total     = sizeof(struct block_header);
    const size_t n = out->hash_size;
    return place_array(capacity, ptr, &nodes, &out->total) && place_array(capacity, ptr, &out->leafs, &out->total) &&
           place_array(n, sizeof(int32_t), &out->use_counts, &out->total) &&
           place_array(n, ptr, &out->keys, &out->total) &&
           (!grads ||
            (place_array(n, ptr, &out->grads, &out->total) && place_array(n, ptr, &out->grad_accs, &out->total))) &&
           place_array(ggml_bitset_size(n), sizeof(ggml_bitset_t), &out->used, &out->total);
}

/* Points the graph at an empty block. */
static void use_block(struct ggml_cgraph * graph, struct ggml_context * ctx, char * block, size_t capacity,
                      const struct block_layout * layout) {
    struct block_header * header = (struct block_header *) block;
    header->magic                = BLOCK_MAGIC;
    header->ctx                  = ctx;
    header->capacity             = capacity;
    header->nodes                = (struct ggml_tensor **) (header + 1);
    graph->n_nodes               = 0;
    graph->n_leafs               = 0;
    graph->nodes                 = header->nodes;
    graph->leafs                 = (struct ggml_tensor **) (block + layout->leafs);
    graph->use_counts            = (int32_t *) (block + layout->use_counts);
    graph->visited_hash_set      = (struct ggml_hash_set) {
             .size = layout->hash_size,
             .used = (ggml_bitset_t *) (block + layout->used),
             .keys = (struct ggml_tensor **) (block + layout->keys),
    };
    ggml_hash_set_reset(&graph->visited_hash_set);
    graph->grads     = NULL;
    graph->grad_accs = NULL;
    if (layout->grads != 0) {
        graph->grads     = (struct ggml_tensor **) (block + layout->grads);
        graph->grad_accs = (struct ggml_tensor **) (block + layout->grad_accs);
        memset(graph->grads, 0, layout->hash_size * sizeof(graph->grads[0]));
        memset(graph->grad_accs, 0, layout->hash_size * sizeof(graph->grad_accs[0]));
    }
    set_mark(graph, mark_of(graph->nodes));
}

/* ---- contents ---- */

static size_t count_keys(const struct ggml_cgraph * graph) {
    const size_t n_words = ggml_bitset_size(graph->visited_hash_set.size);
    size_t       n       = 0;
    for (size_t i = 0; i < n_words; i++) {
        n += (size_t) __builtin_popcount(graph->visited_hash_set.used[i]);
    }
    return n;
}

/* Copies what src holds into the arrays of dst, which have room for it and are empty. */
static void fill(struct ggml_cgraph * dst, const struct ggml_cgraph * src) {
    if (src->n_nodes > 0) {
        memcpy(dst->nodes, src->nodes, (size_t) src->n_nodes * sizeof(src->nodes[0]));
    }
    if (src->n_leafs > 0) {
        memcpy(dst->leafs, src->leafs, (size_t) src->n_leafs * sizeof(src->leafs[0]));
    }
    dst->n_nodes = src->n_nodes;
    dst->n_leafs = src->n_leafs;
    memcpy(&dst->order, &src->order, sizeof(dst->order)); /* and not the mark beside it */
    for (size_t i = 0; i < src->visited_hash_set.size; i++) {
        if (!ggml_bitset_get(src->visited_hash_set.used, i)) {
            continue;
        }
        const size_t slot     = ggml_hash_find_or_insert(&dst->visited_hash_set, src->visited_hash_set.keys[i]);
        dst->use_counts[slot] = src->use_counts[i];
        if (src->grads != NULL && dst->grads != NULL) {
            dst->grads[slot] = src->grads[i];
        }
        if (src->grad_accs != NULL && dst->grad_accs != NULL) {
            dst->grad_accs[slot] = src->grad_accs[i];
        }
    }
}

/* ---- growth ---- */

static bool grow(struct ggml_cgraph * graph, size_t capacity, bool grads) {
    const struct block_header * header = header_of(graph);
    if (header == NULL) {
        base_fail(
            GGML_STATUS_FAILED,
            "graph: no room for more than %d nodes or leafs, or %zu tensors, "
                  "in arrays that were not made by ggml_new_graph",
            graph->size, graph->visited_hash_set.size);
        return false;
    }
    capacity = MAX(capacity, MIN(header->capacity * 2, MAX_CAPACITY));
    capacity = MAX(capacity, LEAST_GROWTH);
    struct block_layout layout;
    if (!block_layout(capacity, grads, &layout)) {
        base_fail(GGML_STATUS_FAILED, "graph: %zu nodes are more than a graph can hold", capacity);
        return false;
    }
    char * block = context_chain_block(header->ctx, layout.total);
    if (block == NULL) {
        return false;
    }
    const struct ggml_cgraph old = *graph;
    use_block(graph, header->ctx, block, capacity, &layout);
    fill(graph, &old);
    return true;
}

static size_t capacity_of(const struct ggml_cgraph * graph) {
    const struct block_header * header = header_of(graph);
    return header != NULL ? header->capacity : (size_t) graph->size;
}

bool graph_reserve(struct ggml_cgraph * graph, size_t n_nodes, size_t n_leafs, size_t n_keys) {
    const size_t need     = MAX(n_nodes, n_leafs);
    const size_t hash     = graph->visited_hash_set.size;
    const bool   ours     = header_of(graph) != NULL;
    const bool   has_keys = n_keys <= (ours ? HASH_LOAD(hash) : hash);
    if (need <= capacity_of(graph) && has_keys) {
        return true;
    }
    /* a table has two slots for each node, so that room for n_keys nodes is room for n_keys keys below HASH_LOAD */
    return grow(graph, has_keys ? need : MAX(need, n_keys), graph->grads != NULL);
}

bool graph_reserve_grads(struct ggml_cgraph * graph) {
    return (graph->grads != NULL && graph->grad_accs != NULL) || grow(graph, capacity_of(graph), true);
}

/* ---- making and copying ---- */

size_t ggml_graph_overhead_custom(size_t size, bool grads) {
    struct block_layout layout;
    size_t              total;
    if (!block_layout(size, grads, &layout) || !base_size_add(layout.total, sizeof(struct ggml_cgraph), &total) ||
        !base_size_pad(total, GGML_MEM_ALIGN, &total)) {
        return SIZE_MAX / 2; /* no context has it */
    }
    return total + context_object_overhead();
}

size_t ggml_graph_overhead(void) {
    return ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false);
}

struct ggml_cgraph * ggml_new_graph_custom(struct ggml_context * ctx, size_t size, bool grads) {
    struct block_layout  layout;
    struct ggml_cgraph * graph = NULL;
    if (block_layout(size, grads, &layout)) {
        graph = context_new_object(ctx, GGML_OBJECT_TYPE_GRAPH, sizeof(*graph) + layout.total);
    } else {
        base_fail(GGML_STATUS_FAILED, "ggml_new_graph_custom: %zu nodes are more than a graph can hold", size);
    }
    if (graph == NULL) {
        context_fault(ctx, GGML_STATUS_ALLOC_FAILED);
        return NULL;
    }
    memset(graph, 0, sizeof(*graph));
    graph->size  = (int) size;
    graph->order = GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT;
    use_block(graph, ctx, (char *) (graph + 1), size, &layout);
    return graph;
}

struct ggml_cgraph * ggml_new_graph(struct ggml_context * ctx) {
    return ggml_new_graph_custom(ctx, GGML_DEFAULT_GRAPH_SIZE, false);
}

void ggml_graph_clear(struct ggml_cgraph * cgraph) {
    cgraph->n_nodes = 0;
    cgraph->n_leafs = 0;
    cgraph->uid     = 0;
    ggml_hash_set_reset(&cgraph->visited_hash_set);
}

void ggml_graph_cpy(struct ggml_cgraph * src, struct ggml_cgraph * dst) {
    if (src == dst) {
        return;
    }
    ggml_graph_clear(dst);
    if (!graph_reserve(dst, (size_t) src->n_nodes, (size_t) src->n_leafs, count_keys(src)) ||
        (src->grads != NULL && !graph_reserve_grads(dst))) {
        context_fault(graph_context(dst), GGML_STATUS_ALLOC_FAILED);
        return;
    }
    if (dst->grads != NULL) {
        memset(dst->grads, 0, dst->visited_hash_set.size * sizeof(dst->grads[0]));
    }
    if (dst->grad_accs != NULL) {
        memset(dst->grad_accs, 0, dst->visited_hash_set.size * sizeof(dst->grad_accs[0]));
    }
    fill(dst, src);
}

struct ggml_cgraph * ggml_graph_dup(struct ggml_context * ctx, struct ggml_cgraph * cgraph, bool force_grads) {
    if (cgraph == NULL) {
        context_fault(ctx, base_fail(GGML_STATUS_FAILED, "ggml_graph_dup: the graph is NULL"));
        return NULL;
    }
    struct ggml_cgraph * copy = ggml_new_graph_custom(ctx, (size_t) cgraph->size, cgraph->grads != NULL || force_grads);
    if (copy != NULL) {
        ggml_graph_cpy(cgraph, copy);
    }
    return copy;
}

struct ggml_cgraph ggml_graph_view(struct ggml_cgraph * cgraph, int i0, int i1) {
    struct ggml_cgraph view;
    memset(&view, 0, sizeof(view)); /* and with it the mark: a view does not grow */
    view.n_nodes          = i1 - i0;
    view.nodes            = cgraph->nodes + i0;
    view.use_counts       = cgraph->use_counts;
    view.visited_hash_set = cgraph->visited_hash_set;
    view.order            = cgraph->order;
    return view;
}

uint64_t ggml_graph_next_uid(void) {
    static atomic_uint_fast64_t next = 1;
    return atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
}

/* ---- accessors ---- */

int ggml_graph_size(struct ggml_cgraph * cgraph) {
    return cgraph->size;
}

int ggml_graph_n_nodes(struct ggml_cgraph * cgraph) {
    return cgraph->n_nodes;
}

struct ggml_tensor ** ggml_graph_nodes(struct ggml_cgraph * cgraph) {
    return cgraph->nodes;
}

struct ggml_tensor * ggml_graph_node(struct ggml_cgraph * cgraph, int i) {
    const int k = i < 0 ? cgraph->n_nodes + i : i; /* counted from the end */
    if (k < 0 || k >= cgraph->n_nodes) {
        context_fault(
            graph_context(cgraph),
            base_fail(GGML_STATUS_FAILED, "ggml_graph_node: no node %d in a graph of %d", i, cgraph->n_nodes));
        return NULL;
    }
    return cgraph->nodes[k];
}

void ggml_graph_add_node(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor) {
    if (!graph_reserve(cgraph, (size_t) cgraph->n_nodes + 1, (size_t) cgraph->n_leafs, 0)) {
        context_fault(graph_context(cgraph), GGML_STATUS_ALLOC_FAILED);
        return;
    }
    cgraph->nodes[cgraph->n_nodes++] = tensor;
    cgraph->uid                      = 0;
}

struct ggml_tensor * ggml_graph_get_tensor(const struct ggml_cgraph * cgraph, const char * name) {
    for (int i = 0; i < cgraph->n_leafs; i++) {
        if (strcmp(cgraph->leafs[i]->name, name) == 0) {
            return cgraph->leafs[i];
        }
    }
    for (int i = 0; i < cgraph->n_nodes; i++) {
        if (strcmp(cgraph->nodes[i]->name, name) == 0) {
            return cgraph->nodes[i];
        }
    }
    return NULL;
}

static struct ggml_tensor * by_slot(const struct ggml_cgraph * graph, struct ggml_tensor ** values,
                                    const struct ggml_tensor * key) {
    const struct ggml_hash_set * set = &graph->visited_hash_set;
    if (values == NULL || set->size == 0) {
        return NULL;
    }
    const size_t slot = ggml_hash_find(set, key);
    return slot != GGML_HASHSET_FULL && ggml_bitset_get(set->used, slot) ? values[slot] : NULL;
}

struct ggml_tensor * ggml_graph_get_grad(const struct ggml_cgraph * cgraph, const struct ggml_tensor * node) {
    return by_slot(cgraph, cgraph->grads, node);
}

struct ggml_tensor * ggml_graph_get_grad_acc(const struct ggml_cgraph * cgraph, const struct ggml_tensor * node) {
    return by_slot(cgraph, cgraph->grad_accs, node);
}

/* ---- values that a training step starts from ---- */

static void set_one(struct ggml_tensor * t) {
    const float one = 1.0f;
    if (t->type != GGML_TYPE_F32 || !ggml_is_scalar(t) || (t->buffer == NULL && t->data == NULL)) {
        context_fault(NULL, base_fail(GGML_STATUS_FAILED,
                                      "ggml_graph_reset: the gradient '%s' of a loss is no f32 with data", t->name));
    }
    if (t->buffer != NULL) {
        ggml_backend_tensor_set(t, &one, 0, sizeof(one));
    } else {
        memcpy(t->data, &one, sizeof(one));
    }
}

void ggml_graph_reset(struct ggml_cgraph * cgraph) {
    if (cgraph == NULL) {
        return;
    }
    for (int i = 0; i < cgraph->n_nodes; i++) {
        struct ggml_tensor * node = cgraph->nodes[i];
        struct ggml_tensor * acc  = ggml_graph_get_grad_acc(cgraph, node);
        if (node->op == GGML_OP_OPT_STEP_ADAMW) { /* its momenta */
            ggml_set_zero(node->src[2]);
            ggml_set_zero(node->src[3]);
        }
        if (acc != NULL && (node->flags & GGML_TENSOR_FLAG_LOSS) != 0) {
            set_one(acc); /* the derivative of the loss by itself */
        } else {
            ggml_set_zero(acc);
        }
    }
}
