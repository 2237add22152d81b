/* SPDX-License-Identifier: MIT
 *
 * The scheduler inside: a graph is numbered, each of its tensors gets a backend (place.c), the nodes are cut into
 * splits of one backend each with the copies that they need (split.c), the splits become one list for the allocator
 * and, where a device has kernel rows, plans (list.c), and are run (run.c, copy.c).
 *
 * The client's graph is changed only while a call runs: nodes that read a copy have it as their source then, and get
 * their own source back before the call returns. So a graph may be computed by several schedulers, or again after a
 * reset.
 */
#ifndef GRAFT_PLAN_SCHED_H
#define GRAFT_PLAN_SCHED_H

#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "graft-module.h"
#include "plan/alloc.h"

enum { SCHED_MAX_COPIES = 4 }; /* of each input, when splits of successive graphs overlap */

/* Why a tensor is where it is; for the debug print. */
enum sched_cause {
    SCHED_CAUSE_NONE,
    SCHED_CAUSE_CLIENT, /* ggml_backend_sched_set_tensor_backend */
    SCHED_CAUSE_MEMORY, /* has memory there */
    SCHED_CAUSE_INPUT,
    SCHED_CAUSE_OFFLOAD,
    SCHED_CAUSE_WEIGHT,
    SCHED_CAUSE_NEIGHBOUR,
    SCHED_CAUSE_SOURCES, /* most of its sources are there */
    SCHED_CAUSE_UPGRADE, /* same memory, but a backend that comes first */
    SCHED_CAUSE_VIEW,
    SCHED_CAUSE_USER,  /* the first node that reads it is there */
    SCHED_CAUSE_FIRST, /* the first backend that can */
};

/* A tensor of the graph, by number. */
struct sched_tensor {
    int32_t backend; /* -1: none yet */
    int32_t written; /* last split that writes into it through a view, -1: none */
    int32_t shares;  /* next in the ring of tensors that must be on one backend with it, itself when there are none */
    int32_t copies;  /* first of the list of its copies, -1: none */
    int32_t node;    /* its place in the graph before backends reorder, -1: no node */
    uint8_t cause;
    bool    idle;  /* computes nothing: a label or a leaf */
    bool    keeps; /* the backend wants other tensors kept until this node has run */
};

/* Copies of a tensor on one backend. */
struct sched_copy {
    int32_t backend;
    int32_t next;  /* older copies of the same tensor, or on another backend */
    int32_t split; /* made at its beginning */
    int32_t n_readers;
    int32_t numbers[SCHED_MAX_COPIES];
};

/* A tensor that is copied at the beginning of a split. */
struct sched_input {
    struct ggml_tensor * tensor;
    int32_t              number;
    int32_t              copy;
};

/* Source k of a node, and what stands in its place while a call runs. */
struct sched_patch {
    struct ggml_tensor * node;
    struct ggml_tensor * original;
    struct ggml_tensor * copy;
    int32_t              k;
};

/* Nodes i_start .. i_end - 1, on one backend. */
struct sched_split {
    int32_t backend;
    int     i_start, i_end;
    size_t  patch_start, patch_end;
    PLAN_ARRAY(struct sched_input) inputs;
    struct ggml_cgraph  graph;
    struct graft_plan * plan; /* memory of an older plan is kept for the next */
    int32_t             plan_backend;
    bool                planned; /* runs by its plan */
};

/* A tensor that must stay until a node has run, as a backend's graph_optimize asked. */
struct sched_keep {
    struct ggml_tensor * tensor;
    struct ggml_tensor * until;
};

struct sched_backend {
    ggml_backend_t             backend;
    ggml_backend_buffer_type_t buft;
    ggml_backend_event_t       events[SCHED_MAX_COPIES];
};

/* Tensors of our own: they stay where they are while more come, and their memory is used again for the next graph. */
struct sched_arena {
    PLAN_ARRAY(struct ggml_tensor *) slabs;
    size_t used;
};

struct ggml_backend_sched {
    struct sched_backend * backends;
    int32_t                n_backends;
    ggml_gallocr_t         galloc;
    bool                   op_offload;
    bool                   allocated; /* the splits stand for an allocated graph */
    int                    debug, debug_realloc;

    /* tensors that the client assigned since the last reset; they may be gone, so only their addresses count */
    struct plan_map pins; /* address -> backend */

    /* the graph; from sched_cut on, its refs name the copies that the nodes read */
    struct plan_numbers numbers;
    PLAN_ARRAY(struct sched_tensor) tensors; /* by number, without our own tensors */
    PLAN_ARRAY(uint8_t) supports;            /* [number][backend]: 0 not asked yet, 1 yes, 2 no */
    struct sched_arena arena;

    /* splits */
    PLAN_ARRAY(struct sched_split) splits;
    PLAN_ARRAY(struct sched_copy) copies;
    PLAN_ARRAY(struct sched_patch) patches;
    PLAN_ARRAY(struct sched_keep) keeps;
    PLAN_ARRAY(int32_t) graph_inputs; /* numbers of the leafs that are copied for each pipeline copy */
    bool out_of_memory;               /* in a callback that cannot say so */
    bool reordered;                   /* a backend has been asked to optimize its splits */

    /* pipeline copies */
    int n_copies, cur_copy, next_copy;

    /* what the allocator gets: all nodes with copies and dependencies among them */
    PLAN_ARRAY(struct plan_ref) list_refs;
    PLAN_ARRAY(int32_t) list_first;
    PLAN_ARRAY(int32_t) list_leafs;
    PLAN_ARRAY(int) node_ids;
    PLAN_ARRAY(int) leaf_ids;
    PLAN_ARRAY(int32_t) list_index; /* of each node of the client's graph */
    PLAN_ARRAY(int32_t) times;
    PLAN_ARRAY(size_t) workspaces;
    PLAN_ARRAY(uint8_t) flags;
    PLAN_ARRAY(uint32_t) over;
    int32_t n_list;
    bool    has_workspaces, has_groups;
    int     list_size, previous_list_size;

    /* copies of experts */
    PLAN_ARRAY(int32_t) expert_ids;
    PLAN_ARRAY(uint32_t) expert_used;
    const struct ggml_tensor * expert_source; /* whose ids are in expert_used, during one run */

    ggml_backend_sched_eval_callback eval_callback;
    void *                           eval_user_data;
};

/* ---- numbers (sched.c) ---- */

int32_t sched_backend_index(const struct ggml_backend_sched * sched, ggml_backend_t backend);

/* The node or source behind a ref. */
static inline struct ggml_tensor * sched_tensor_of(const struct ggml_backend_sched * sched, int32_t number) {
    return sched->numbers.tensors.items[number];
}

static inline int32_t sched_backend_of(const struct ggml_backend_sched * sched, int32_t number) {
    return sched->tensors.items[number].backend;
}

/* Refs of node i (by its place before any reordering); *n counts them all, the node itself too. */
static inline struct plan_ref * sched_refs_of(const struct ggml_backend_sched * sched, int i, int * n) {
    const int32_t first = sched->numbers.first.items[i];
    *n                  = sched->numbers.first.items[i + 1] - first;
    return &sched->numbers.refs.items[first];
}

static inline struct ggml_tensor * sched_current_copy(const struct ggml_backend_sched * sched, int32_t copy) {
    return sched->numbers.tensors.items[sched->copies.items[copy].numbers[sched->cur_copy]];
}

/* A zeroed tensor of our own and its number; -1 with a text. */
int32_t sched_new_tensor(struct ggml_backend_sched * sched);

/* Can the backend run the node, and what must run beside it? Asks a device once for each node. */
bool sched_supports(struct ggml_backend_sched * sched, int32_t number, int32_t backend);

/* Can the backend read the tensor where it is, or will be? */
bool sched_can_read(const struct ggml_backend_sched * sched, int32_t number, int32_t backend);

/* ---- the steps of planning, in order ---- */

enum ggml_status sched_place(struct ggml_backend_sched * sched, struct ggml_cgraph * graph);
enum ggml_status sched_cut(struct ggml_backend_sched * sched, struct ggml_cgraph * graph);
enum ggml_status sched_make_list(struct ggml_backend_sched * sched, struct ggml_cgraph * graph);

/* The list as the allocator takes it. */
struct alloc_request sched_request(const struct ggml_backend_sched * sched);
/* Tells the plans where their workspaces lie. */
void sched_set_workspaces(struct ggml_backend_sched * sched);

/* Puts copies in the place of their originals in patches [from, to), and back. */
void sched_patch_apply(struct ggml_backend_sched * sched, size_t from, size_t to);
void sched_patch_revert(struct ggml_backend_sched * sched, size_t from, size_t to);

/* The newest copies (index of sched->copies, -1: none) of a tensor on a backend. */
int32_t sched_find_copy(const struct ggml_backend_sched * sched, int32_t number, int32_t backend);

/* ---- running ---- */

enum ggml_status sched_copy_inputs(struct ggml_backend_sched * sched, struct sched_split * split);
enum ggml_status sched_run(struct ggml_backend_sched * sched);

/* Waits until the backend has finished with what an earlier graph of the same pipeline copy did. */
void sched_wait_for(struct ggml_backend_sched * sched, int32_t backend);

/* ---- debug.c ---- */

void sched_print(struct ggml_backend_sched * sched, struct ggml_cgraph * graph);

#endif /* GRAFT_PLAN_SCHED_H */
