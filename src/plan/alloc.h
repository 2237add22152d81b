/* SPDX-License-Identifier: MIT
 *
 * The graph allocator inside the library. What ggml-alloc.h has is the case without workspaces and groups; the
 * scheduler adds those, and they lie in the same buffers.
 *
 * Planning has two halves. A scan numbers the tensors of a graph anew, in the order in which the graph names them, and
 * writes down who reads whom; a plan is made from a scan, and serves every later graph whose scan says the same with
 * sizes no larger.
 */
#ifndef GRAFT_PLAN_ALLOC_H
#define GRAFT_PLAN_ALLOC_H

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-impl.h"
#include "plan/number.h"
#include "plan/pack.h"

/* ---- what to plan ---- */

enum {
    ALLOC_NODE_SKIPPED = 1, /* its own value is never written: no memory */
    ALLOC_NODE_GROUPED = 2, /* computed together with other nodes: never laid over one of its sources */
};

/* A graph by numbers, and what is known about its nodes: arrays of n_nodes (n_leafs) elements, NULL where there is
 * nothing to say. */
struct alloc_request {
    struct ggml_tensor * const * tensors; /* by number */
    const int32_t *              viewed;  /* by number: what the tensor views, or -1; a smaller number */
    size_t                       n_tensors;
    const int32_t *              leafs;
    int32_t                      n_leafs, n_nodes;
    const struct plan_ref *      refs;  /* of each node: itself, then its sources */
    const int32_t *              first; /* by node: where its refs begin; n_nodes + 1 elements */

    const int * node_buffer_ids; /* NULL: 0 */
    const int * leaf_buffer_ids;
    bool        any_buffer; /* with a plan at hand, keep its buffer ids */
    bool        own_buffer; /* a result never lies in another buffer than asked for, not even over a source */
    /* When a node runs, >= 0, never less than that of a node it needs; NULL: its index. The nodes of a fused group have
     * the time of the last one: then its inputs live until it runs. */
    const int32_t * node_times;
    const size_t *  workspaces; /* bytes, alive while the node runs */
    const uint8_t * node_flags; /* ALLOC_NODE_* */
    /* Bit k: the node's kernel permits that the result is laid over source k. ALLOC_OVER_BY_OPERATOR when the kernel is
     * not known. */
    const uint32_t * node_over;
};

#define ALLOC_OVER_BY_OPERATOR UINT32_MAX

/* The graph of numbers, everything else empty. */
struct alloc_request alloc_request_of(const struct plan_numbers * numbers);

enum { ALLOC_WORKSPACE_ALIGNMENT = 64 };

/* ---- the allocator ---- */

/* Plans and allocates. Keeps buffers that are large enough. On failure there is a text and no plan. */
enum ggml_status alloc_reserve(ggml_gallocr_t galloc, const struct alloc_request * request);

/* Plans and reports the size of each buffer as ggml_gallocr_get_buffer_size would after alloc_reserve. Allocates no
 * buffer; a plan and buffers that exist stay as they are. */
enum ggml_status alloc_measure(ggml_gallocr_t galloc, const struct alloc_request * request, size_t * sizes);

/* Does the plan at hand serve this graph? */
bool alloc_fits(ggml_gallocr_t galloc, const struct alloc_request * request);

/* Gives the tensors of the graph last asked about, by alloc_fits (true) or alloc_reserve, their addresses. On failure
 * there is a text, and tensors without memory before have none after. */
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
    bool     own;    /* views nothing, and has no memory or, from an earlier allocation, ours: it is ours to allocate */
    bool     listed; /* a node or leaf of the graph, not merely a source */
    bool     leaf;
    bool     skipped; /* ALLOC_NODE_SKIPPED */
    uint32_t over;    /* of a node, see alloc_request */
};

struct alloc_scan {
    PLAN_ARRAY(int32_t) renumbered;     /* by the request's number: the scan's, or -1 */
    PLAN_ARRAY(struct alloc_seen) seen; /* by number */
    PLAN_ARRAY(int32_t) wiring;         /* equal for two graphs: their tensors of equal numbers play the same part */
    PLAN_ARRAY(struct plan_ref) refs;   /* the request's, by the scan's numbers */
    bool again;                         /* some tensors have our memory from an earlier allocation */
};

/* False, with a text, when there is no memory. */
bool alloc_scan_graph(ggml_gallocr_t galloc, const struct alloc_request * request);
void alloc_scan_free(struct alloc_scan * scan);

/* ---- plan ---- */

/* A tensor's place. */
struct alloc_slot {
    size_t  size;      /* bytes, as the buffer type asks */
    int32_t block;     /* -1: not ours to allocate */
    int32_t over;      /* number of the source that it is laid over, or -1 */
    int32_t over_src;  /* which of its sources that is */
    int32_t asked_id;  /* the buffer it was to go to */
    int32_t buffer_id; /* where it goes: elsewhere when it is laid over a source that lies elsewhere */
    int32_t flags;     /* INPUT and OUTPUT of the tensor */
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
    struct plan_numbers   numbers; /* of graphs that come by ggml-alloc.h */
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
