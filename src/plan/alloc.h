/* SPDX-License-Identifier: MIT
 *
 * The graph allocator inside the library. What ggml-alloc.h has is the case without workspaces and groups; the scheduler
 * adds those, and they lie in the same buffers.
 *
 * Planning has two halves. A scan numbers the tensors of a graph and writes down who reads whom; a plan is made from a
 * scan, and serves every later graph whose scan says the same with sizes no larger.
 */
#ifndef GRAFT_PLAN_ALLOC_H
#define GRAFT_PLAN_ALLOC_H

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-impl.h"
#include "plan/map.h"
#include "plan/pack.h"

/* ---- what to plan ---- */

enum {
    ALLOC_NODE_SKIPPED = 1, /* its own value is never written: no memory */
    ALLOC_NODE_GROUPED = 2, /* computed together with other nodes: never laid over one of its sources */
};

/* A graph, and what is known about its nodes. Arrays of n_nodes (n_leafs) elements; NULL where there is nothing to say. */
struct alloc_request {
    const struct ggml_cgraph * graph;
    const int *     node_buffer_ids; /* NULL: 0 */
    const int *     leaf_buffer_ids;
    bool            any_buffer; /* with a plan at hand, keep its buffer ids */
    bool            own_buffer; /* a result never lies in another buffer than asked for, not even over a source */
    const int32_t * node_times; /* when a node runs, >= 0, never less than that of a node it needs. NULL: its index. The nodes of a
                                   fused group have the time of the last one: then its inputs live until it runs */
    const size_t *  workspaces; /* bytes, alive while the node runs */
    const uint8_t * node_flags; /* ALLOC_NODE_* */
};

enum { ALLOC_WORKSPACE_ALIGNMENT = 64 };

/* ---- the allocator ---- */

/* Plans and allocates. Keeps buffers that are large enough. On failure there is a text and no plan. */
enum ggml_status alloc_reserve(ggml_gallocr_t galloc, const struct alloc_request * request);

/* Plans and reports the size of each buffer as ggml_gallocr_get_buffer_size would after alloc_reserve. Allocates no
 * buffer; a plan and buffers that exist stay as they are. */
enum ggml_status alloc_measure(ggml_gallocr_t galloc, const struct alloc_request * request, size_t * sizes);

/* Does the plan at hand serve this graph? */
bool alloc_fits(ggml_gallocr_t galloc, const struct alloc_request * request);

/* Gives the tensors of the graph last asked about, by alloc_fits (true) or alloc_reserve, their addresses. On failure there is a
 * text, and tensors without memory before have none after. */
enum ggml_status alloc_assign(ggml_gallocr_t galloc);

/* Address of a node's workspace, aligned to ALLOC_WORKSPACE_ALIGNMENT; NULL when it asked for none. */
void * alloc_workspace(ggml_gallocr_t galloc, int node);

/* ---- scan ---- */

/* A tensor of a graph. */
struct alloc_seen {
    struct ggml_tensor * tensor;
    int32_t              root;      /* number of the tensor in whose memory it lies: itself, or what it views */
    int32_t              buffer_id; /* where it goes if it has to be allocated */
    int32_t              n_uses;    /* as a source */
    bool                 own;     /* has no memory and views nothing: it is ours to allocate */
    bool                 listed;  /* a node or leaf of the graph, not merely a source */
    bool                 leaf;
    bool                 skipped; /* ALLOC_NODE_SKIPPED */
};

struct alloc_scan {
    struct plan_map map;
    PLAN_ARRAY(struct alloc_seen) seen;  /* by number */
    PLAN_ARRAY(int32_t) wiring; /* equal for two graphs: their tensors of equal numbers play the same part */
    PLAN_ARRAY(int32_t) refs;   /* of each node: its number, and the numbers of its sources in order, NULL left out */
    PLAN_ARRAY(int32_t) n_src;  /* by node */
};

/* False, with a text, when there is no memory. */
bool alloc_scan_graph(struct alloc_scan * scan, const struct alloc_request * request);
void alloc_scan_free(struct alloc_scan * scan);

/* Operators that compute nothing and whose result is their source under another label. */
static inline bool alloc_is_label(const struct ggml_tensor * node) {
    return node->op != GGML_OP_NONE && ggml_op_is_empty(node->op) && node->view_src != NULL;
}

/* ---- plan ---- */

/* A tensor's place. */
struct alloc_slot {
    size_t  size;    /* bytes, as the buffer type asks */
    int32_t block;   /* -1: not ours to allocate */
    int32_t over;    /* number of the source that it is laid over, or -1 */
    int32_t over_src; /* which of its sources that is */
    int32_t asked_id; /* the buffer it was to go to */
    int32_t buffer_id; /* where it goes: elsewhere when it is laid over a source that lies elsewhere */
    int32_t flags;   /* INPUT and OUTPUT of the tensor */
};

struct alloc_workspace_slot {
    size_t  size;
    int32_t block; /* -1: none */
};

struct alloc_life {
    int32_t start, end;
    int32_t uses_at_end; /* sources that lie in this memory, of nodes at that time */
    bool    keep;        /* read by the client afterwards */
};

struct alloc_plan {
    bool valid;
    PLAN_ARRAY(struct alloc_slot) slots; /* by number */
    PLAN_ARRAY(int32_t) wiring;
    PLAN_ARRAY(struct pack_block) blocks;
    PLAN_ARRAY(struct alloc_workspace_slot) workspaces; /* by node */
    PLAN_ARRAY(struct pack_layout) layouts;             /* by pool */
};

/* One buffer of the allocator; ids with the same buffer type share the memory of the first of them, the pool. */
struct alloc_memory {
    ggml_backend_buffer_type_t buft;
    size_t                     alignment, max_size;
    int32_t                    pool;
    PLAN_ARRAY(ggml_backend_buffer_t) chunks;
};

struct ggml_gallocr {
    struct alloc_memory * memories;
    int32_t               n_memories;
    struct alloc_scan     scan;
    struct alloc_plan     plan, measured;
    struct pack_scratch   scratch;
    PLAN_ARRAY(struct alloc_life) lives;
};

/* Makes a plan from galloc->scan. */
bool alloc_plan_make(ggml_gallocr_t galloc, const struct alloc_request * request, struct alloc_plan * plan);
void alloc_plan_free(struct alloc_plan * plan);

/* Does the plan serve the graph in galloc->scan? */
bool alloc_plan_serves(const struct ggml_gallocr * galloc, const struct alloc_request * request,
                       const struct alloc_plan * plan);

#endif /* GRAFT_PLAN_ALLOC_H */
