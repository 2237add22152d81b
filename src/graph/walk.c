/* SPDX-License-Identifier: MIT
 *
 * Adding a tensor and all that it depends on to a graph: depth first, sources before the node that uses them. The walk
 * keeps its own stack, so that the depth of a graph is limited by memory alone.
 *
 * The order of nodes is part of the interface: clients address nodes by index, and devices fuse neighbours.
 */
#include <stdlib.h>

#include "base/status.h"
#include "graph/context.h"
#include "graph/graph.h"

#define FRAMES_ON_STACK 64

struct frame {
    struct ggml_tensor * node;
    size_t               slot;    /* in the graph's hash set */
    int                  next;    /* source to look at next, in the order of the walk */
    bool                 revisit; /* the node was in the graph before: only flags are passed on */
};

struct walk {
    struct ggml_cgraph * graph;
    bool                 compute; /* what is met must be computed */
    struct frame *       frames;
    size_t               n, capacity;
    size_t               n_open; /* nodes that are in the hash set and not yet among nodes or leafs */
    struct frame         few[FRAMES_ON_STACK];
};

static bool push(struct walk * walk, struct frame frame) {
    if (walk->n == walk->capacity) {
        const size_t   capacity = walk->capacity * 2;
        struct frame * frames   = realloc(walk->frames != walk->few ? walk->frames : NULL, capacity * sizeof(frame));
        if (frames == NULL) {
            base_fail(GGML_STATUS_ALLOC_FAILED, "graph: no memory to follow sources %zu deep", walk->n);
            return false;
        }
        if (walk->frames == walk->few) {
            memcpy(frames, walk->few, sizeof(walk->few));
        }
        walk->frames   = frames;
        walk->capacity = capacity;
    }
    walk->frames[walk->n++] = frame;
    return true;
}

/* Room for n more nodes, leafs and keys; slots on the stack follow when the graph grows. */
static bool reserve(struct walk * walk, size_t n_nodes, size_t n_leafs, size_t n_keys) {
    struct ggml_cgraph * graph  = walk->graph;
    const size_t         known  = (size_t) graph->n_nodes + (size_t) graph->n_leafs + walk->n_open;
    const size_t         before = graph->visited_hash_set.size;
    if (!graph_reserve(graph, (size_t) graph->n_nodes + n_nodes, (size_t) graph->n_leafs + n_leafs, known + n_keys)) {
        return false;
    }
    if (graph->visited_hash_set.size != before) {
        for (size_t i = 0; i < walk->n; i++) {
            walk->frames[i].slot = ggml_hash_find(&graph->visited_hash_set, walk->frames[i].node);
        }
    }
    return true;
}

static size_t find(struct walk * walk, const struct ggml_tensor * node) {
    size_t slot = ggml_hash_find(&walk->graph->visited_hash_set, node);
    if (slot == GGML_HASHSET_FULL) {
        /* keys that the walk knows nothing of: the client put them there */
        if (!reserve(walk, 0, 0, walk->graph->visited_hash_set.size)) {
            return GGML_HASHSET_FULL;
        }
        slot = ggml_hash_find(&walk->graph->visited_hash_set, node);
    }
    return slot;
}

static bool enter(struct walk * walk, struct ggml_tensor * node) {
    struct ggml_hash_set * set = &walk->graph->visited_hash_set;
    if (node->op != GGML_OP_NONE && walk->compute) {
        node->flags |= GGML_TENSOR_FLAG_COMPUTE;
    }
    size_t slot = find(walk, node);
    if (slot == GGML_HASHSET_FULL) {
        return false;
    }
    if (ggml_bitset_get(set->used, slot)) {
        /* every step down such nodes sets a flag that was not set, or ends at a leaf; leafs in a circle do not */
        if (walk->n > 2 * set->size + 2) {
            base_fail(GGML_STATUS_FAILED, "graph: the sources of '%s' run in a circle", node->name);
            return false;
        }
        return push(walk, (struct frame) { node, slot, walk->compute ? 0 : GGML_MAX_SRC, true });
    }
    const size_t before = set->size;
    if (!reserve(walk, 0, 0, 1)) {
        return false;
    }
    if (set->size != before) {
        slot = ggml_hash_find(set, node);
    }
    ggml_bitset_set(set->used, slot);
    set->keys[slot]               = node;
    walk->graph->use_counts[slot] = 0;
    walk->n_open++;
    return push(walk, (struct frame) { node, slot, 0, false });
}

/* "node_12". Most nodes of a graph have no other name, so this is not left to printf. */
static void set_number_name(struct ggml_tensor * t, const char * prefix, int number) {
    char   digits[12];
    size_t n = 0;
    do {
        digits[n++] = (char) ('0' + number % 10);
        number /= 10;
    } while (number > 0);
    const size_t length = strlen(prefix);
    memcpy(t->name, prefix, length);
    for (size_t i = 0; i < n; i++) {
        t->name[length + i] = digits[n - 1 - i];
    }
    t->name[length + n] = 0;
}

/* All sources are in the graph: now the node is. */
static bool place(struct walk * walk, struct ggml_tensor * node) {
    struct ggml_cgraph * graph = walk->graph;
    const bool           leaf  = node->op == GGML_OP_NONE && (node->flags & GGML_TENSOR_FLAG_PARAM) == 0;
    if (!reserve(walk, leaf ? 0 : 1, leaf ? 1 : 0, 0)) {
        return false;
    }
    walk->n_open--;
    if (node->name[0] == 0) {
        set_number_name(node, leaf ? "leaf_" : "node_", leaf ? graph->n_leafs : graph->n_nodes);
    }
    if (leaf) {
        graph->leafs[graph->n_leafs++] = node;
    } else {
        graph->nodes[graph->n_nodes++] = node;
    }
    return true;
}

/* The next source of a frame to enter; NULL when there is none left. */
static struct ggml_tensor * next_source(struct frame * frame, enum ggml_cgraph_eval_order order) {
    while (frame->next < GGML_MAX_SRC) {
        const int            i        = frame->next++;
        const bool           reversed = order == GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT && !frame->revisit;
        struct ggml_tensor * src      = frame->node->src[reversed ? GGML_MAX_SRC - 1 - i : i];
        if (src != NULL && !(frame->revisit && (src->flags & GGML_TENSOR_FLAG_COMPUTE) != 0)) {
            return src;
        }
    }
    return NULL;
}

static bool run(struct walk * walk, struct ggml_tensor * root) {
    struct ggml_cgraph * graph = walk->graph;
    if (!enter(walk, root)) {
        return false;
    }
    while (walk->n > 0) {
        struct frame *       top = &walk->frames[walk->n - 1];
        struct ggml_tensor * src = next_source(top, graph->order);
        if (src != NULL) {
            if (!enter(walk, src)) {
                return false;
            }
            continue;
        }
        if (!top->revisit && !place(walk, top->node)) {
            return false;
        }
        const size_t slot = walk->frames[--walk->n].slot;
        if (walk->n > 0 && !walk->frames[walk->n - 1].revisit) {
            graph->use_counts[slot]++;
        }
    }
    return true;
}

/* A tensor that is NULL is mostly the result of a builder that was refused. */
static void add(struct ggml_cgraph * graph, struct ggml_tensor * tensor, bool compute, const char * function) {
    if (graph == NULL) {
        return; /* in checked mode ggml_new_graph gave none, and recorded why */
    }
    if (tensor == NULL) {
        context_fault(graph_context(graph), base_fail(GGML_STATUS_FAILED, "%s: the tensor is NULL", function));
        return;
    }
    struct walk walk;
    walk.graph    = graph;
    walk.compute  = compute;
    walk.frames   = walk.few;
    walk.n        = 0;
    walk.capacity = FRAMES_ON_STACK;
    walk.n_open   = 0;
    graph->uid    = 0;
    const bool ok = run(&walk, tensor);
    if (walk.frames != walk.few) {
        free(walk.frames);
    }
    if (!ok) {
        context_fault(graph_context(graph), GGML_STATUS_FAILED);
    }
}

void ggml_build_forward_expand(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor) {
    add(cgraph, tensor, true, __func__);
}

void ggml_build_forward_order(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor) {
    add(cgraph, tensor, false, __func__);
}

struct ggml_tensor * ggml_build_forward_select(struct ggml_cgraph * cgraph, struct ggml_tensor ** tensors,
                                               int n_tensors, int idx) {
    if (idx < 0 || idx >= n_tensors) {
        context_fault(cgraph != NULL ? graph_context(cgraph) : NULL,
                      base_fail(GGML_STATUS_FAILED, "%s: no tensor %d among %d", __func__, idx, n_tensors));
        return NULL;
    }
    for (int i = 0; i < n_tensors; i++) {
        add(cgraph, tensors[i], i == idx, __func__);
    }
    return tensors[idx];
}
