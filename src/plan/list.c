/* SPDX-License-Identifier: MIT
 *
 * From splits to what the allocator plans: the nodes of all splits in order, each split with the copies of its inputs
 * before it, and dependencies, which are nodes without memory that keep other tensors alive. Where a device has kernel
 * rows the split gets a plan, which says what workspace each node needs and which nodes are computed together.
 */
#include "base/status.h"
#include "ext/ext.h"
#include "plan/sched.h"

/* ---- what backends ask for ---- */

static void keep_until(void * user_data, struct ggml_tensor * tensor, struct ggml_tensor * until) {
    struct ggml_backend_sched * sched = user_data;
    for (size_t i = 0; i < sched->keeps.n; i++) {
        if (sched->keeps.items[i].tensor == tensor && sched->keeps.items[i].until == until) {
            return;
        }
    }
    if (!PLAN_ARRAY_ROOM(sched->keeps)) {
        sched->out_of_memory = true;
        return;
    }
    sched->keeps.items[sched->keeps.n++] = (struct sched_keep){.tensor = tensor, .until = until};
}

/* A backend may reorder the nodes of its split and ask for values to be kept. One that runs by a plan is not asked: the
 * plan is what decides there. */
static enum ggml_status optimize_splits(struct ggml_backend_sched * sched) {
    struct ggml_backend_graph_optimize_params params = {.add_alloc_dep = keep_until, .user_data = sched};
    sched->keeps.n                                   = 0;
    sched->out_of_memory                             = false;
    sched->reordered                                 = false;
    for (size_t s = 0; s < sched->splits.n; s++) {
        struct sched_split *  split   = &sched->splits.items[s];
        struct ggml_backend * backend = sched->backends[split->backend].backend;
        if (!split->planned && backend->iface.graph_optimize != NULL) {
            backend->iface.graph_optimize(backend, &split->graph, &params);
            sched->reordered = true;
        }
    }
    if (sched->out_of_memory) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "scheduler: no memory for the dependencies of optimized splits");
    }
    for (size_t i = 0; i < sched->keeps.n; i++) {
        const int32_t until = plan_map_find(&sched->numbers.map, sched->keeps.items[i].until);
        if (until < 0) {
            return base_fail(GGML_STATUS_FAILED,
                             "scheduler: a backend wants tensor '%s' kept until '%s', which is not a node of the graph",
                             sched->keeps.items[i].tensor->name, sched->keeps.items[i].until->name);
        }
        sched->tensors.items[until].keeps = true;
    }
    return GGML_STATUS_SUCCESS;
}

/* An evaluation callback looks at single nodes, so there is no plan then: every value has its memory. */
static enum ggml_status plan_splits(struct ggml_backend_sched * sched) {
    for (size_t s = 0; s < sched->splits.n; s++) {
        struct sched_split * split   = &sched->splits.items[s];
        ggml_backend_t       backend = sched->backends[split->backend].backend;
        split->planned               = sched->eval_callback == NULL && ext_wants_plan(backend);
        if (!split->planned) {
            continue;
        }
        if (split->plan != NULL && split->plan_backend != split->backend) {
            graft_plan_free(split->plan);
            split->plan = NULL;
        }
        split->plan_backend           = split->backend;
        const enum ggml_status status = graft_plan_make(backend, &split->graph, &split->plan);
        if (status != GGML_STATUS_SUCCESS) {
            split->planned = false;
            return status;
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* ---- the list ---- */

/* Room for all nodes and refs of the list. */
static bool list_reserve(struct ggml_backend_sched * sched, const struct ggml_cgraph * graph) {
    size_t n_own = sched->keeps.n; /* copies and dependencies */
    for (size_t s = 0; s < sched->splits.n; s++) {
        n_own += 2 * sched->splits.items[s].inputs.n;
    }
    const size_t n_nodes = (size_t) graph->n_nodes + n_own;
    return PLAN_ARRAY_RESERVE(sched->list_index, (size_t) graph->n_nodes) &&
           PLAN_ARRAY_RESERVE(sched->list_first, n_nodes + 1) &&
           PLAN_ARRAY_RESERVE(sched->list_refs, sched->numbers.refs.n + 2 * n_own) &&
           PLAN_ARRAY_RESERVE(sched->node_ids, n_nodes) && PLAN_ARRAY_RESERVE(sched->times, n_nodes) &&
           PLAN_ARRAY_RESERVE(sched->workspaces, n_nodes) && PLAN_ARRAY_RESERVE(sched->flags, n_nodes) &&
           PLAN_ARRAY_RESERVE(sched->over, n_nodes);
}

/* Appends a node of n refs. */
static void list_node(struct ggml_backend_sched * sched, int32_t backend, uint8_t flags, const struct plan_ref * refs,
                      int n) {
    const int32_t at = sched->n_list++;
    for (int r = 0; r < n; r++) {
        sched->list_refs.items[sched->list_refs.n++] = refs[r];
    }
    sched->list_first.items[at + 1] = (int32_t) sched->list_refs.n;
    sched->node_ids.items[at]       = backend;
    sched->times.items[at]          = at;
    sched->workspaces.items[at]     = 0;
    sched->flags.items[at]          = flags;
    sched->over.items[at]           = ALLOC_OVER_BY_OPERATOR;
}

static bool list_leaf(struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    if (!PLAN_ARRAY_ROOM(sched->list_leafs) || !PLAN_ARRAY_RESERVE(sched->leaf_ids, sched->list_leafs.n + 1)) {
        return false;
    }
    sched->leaf_ids.items[sched->list_leafs.n]     = backend;
    sched->list_leafs.items[sched->list_leafs.n++] = number;
    return true;
}

/* A node that reads a tensor and is nothing itself. */
static bool list_dependency(struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    const struct plan_ref refs[2] = {{sched_new_tensor(sched), -1}, {number, 0}};
    if (refs[0].number < 0) {
        return false;
    }
    list_node(sched, backend, ALLOC_NODE_SKIPPED, refs, 2);
    return true;
}

/* Copies of a split's inputs, each followed by a dependency: the original must not go before it is copied. */
static bool list_inputs(struct ggml_backend_sched * sched, const struct sched_split * split) {
    for (size_t i = 0; i < split->inputs.n; i++) {
        const struct sched_input * input = &split->inputs.items[i];
        const struct plan_ref      copy  = {sched->copies.items[input->copy].numbers[sched->cur_copy], -1};
        list_node(sched, split->backend, 0, &copy, 1);
        if (!list_dependency(sched, input->number, sched_backend_of(sched, input->number))) {
            return false;
        }
    }
    return true;
}

/* Dependencies on what must be kept until this node has run. */
static bool list_keeps(struct ggml_backend_sched * sched, const struct ggml_tensor * node, int32_t backend) {
    for (size_t i = 0; i < sched->keeps.n; i++) {
        if (sched->keeps.items[i].until == node) {
            const int32_t number = plan_map_find(&sched->numbers.map, sched->keeps.items[i].tensor);
            if (number >= 0 && !list_dependency(sched, number, backend)) {
                return false;
            }
        }
    }
    return true;
}

/* The node's place before backends reordered their splits: that is where its refs are. */
static int original_place(const struct ggml_backend_sched * sched, const struct ggml_cgraph * graph, int i) {
    return sched->reordered ? sched->tensors.items[plan_map_find(&sched->numbers.map, graph->nodes[i])].node : i;
}

static bool list_split(struct ggml_backend_sched * sched, struct ggml_cgraph * graph,
                       const struct sched_split * split) {
    if (!list_inputs(sched, split)) {
        return false;
    }
    for (int i = split->i_start; i < split->i_end; i++) {
        int                     n_refs;
        const struct plan_ref * refs   = sched_refs_of(sched, original_place(sched, graph, i), &n_refs);
        const int32_t           number = refs[0].number;
        sched->list_index.items[i]     = sched->n_list;
        list_node(sched, sched_backend_of(sched, number), 0, refs, n_refs);
        if (sched->tensors.items[number].keeps && !list_keeps(sched, graph->nodes[i], split->backend)) {
            return false;
        }
    }
    return true;
}

static bool list_copies(struct ggml_backend_sched * sched, const struct sched_copy * copy) {
    for (int c = 0; c < sched->n_copies; c++) {
        if (!list_leaf(sched, copy->numbers[c], copy->backend)) {
            return false;
        }
    }
    return true;
}

/* Pipeline copies come first, so that they lie at the same place whichever of them is the current one. */
static bool list_leafs(struct ggml_backend_sched * sched) {
    for (size_t i = 0; i < sched->graph_inputs.n; i++) {
        const int32_t number = sched->graph_inputs.items[i];
        const int32_t copy   = sched_find_copy(sched, number, sched_backend_of(sched, number));
        if (!list_copies(sched, &sched->copies.items[copy])) {
            return false;
        }
    }
    for (size_t s = 0; sched->n_copies > 1 && s < sched->splits.n; s++) {
        const struct sched_split * split = &sched->splits.items[s];
        for (size_t i = 0; i < split->inputs.n; i++) {
            if (!list_copies(sched, &sched->copies.items[split->inputs.items[i].copy])) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < sched->numbers.leafs.n; i++) {
        const int32_t number = sched->numbers.leafs.items[i];
        if (!list_leaf(sched, number, sched_backend_of(sched, number))) {
            return false;
        }
    }
    return true;
}

/* ---- plans ---- */

/* The nodes of a group are all computed in the place of the last one. */
static void mark_group(struct ggml_backend_sched * sched, const struct sched_split * split,
                       const struct graft_step * step) {
    const int32_t when = sched->list_index.items[split->i_start + step->last_node];
    int           at   = step->first_node;
    for (int j = 0; j < step->n_nodes; j++) {
        while (split->graph.nodes[at] != step->nodes[j]) {
            at++;
        }
        const int32_t index       = sched->list_index.items[split->i_start + at];
        const bool    exposed     = j == step->n_nodes - 1 || (step->kernel->exposes >> j & 1) != 0;
        sched->times.items[index] = when;
        sched->flags.items[index] = (uint8_t) (ALLOC_NODE_GROUPED | (exposed ? 0 : ALLOC_NODE_SKIPPED));
    }
    sched->has_groups = true;
}

static void mark_plan(struct ggml_backend_sched * sched, const struct sched_split * split) {
    const struct graft_step * steps = graft_plan_steps(split->plan);
    for (int s = 0; s < graft_plan_n_steps(split->plan); s++) {
        const int32_t index = sched->list_index.items[split->i_start + steps[s].last_node];
        if (steps[s].workspace_size > 0) {
            sched->workspaces.items[index] = steps[s].workspace_size;
            sched->has_workspaces          = true;
        }
        if (steps[s].kernel != NULL && steps[s].n_nodes == 1) {
            sched->over.items[index] = steps[s].kernel->may_overwrite;
        } else if (steps[s].kernel != NULL) {
            mark_group(sched, split, &steps[s]);
        }
    }
}

void sched_set_workspaces(struct ggml_backend_sched * sched) {
    for (size_t s = 0; s < sched->splits.n; s++) {
        struct sched_split * split = &sched->splits.items[s];
        if (!split->planned) {
            continue;
        }
        const struct graft_step * steps = graft_plan_steps(split->plan);
        for (int i = 0; i < graft_plan_n_steps(split->plan); i++) {
            if (steps[i].workspace_size > 0) {
                const int32_t index = sched->list_index.items[split->i_start + steps[i].last_node];
                graft_plan_set_workspace(split->plan, i, alloc_workspace(sched->galloc, index));
            }
        }
    }
}

/* ---- all ---- */

struct alloc_request sched_request(const struct ggml_backend_sched * sched) {
    return (struct alloc_request){
        .tensors         = sched->numbers.tensors.items,
        .viewed          = sched->numbers.viewed.items,
        .n_tensors       = sched->numbers.tensors.n,
        .leafs           = sched->list_leafs.items,
        .n_leafs         = (int32_t) sched->list_leafs.n,
        .n_nodes         = sched->n_list,
        .refs            = sched->list_refs.items,
        .first           = sched->list_first.items,
        .node_buffer_ids = sched->node_ids.items,
        .leaf_buffer_ids = sched->leaf_ids.items,
        .own_buffer      = true, /* who reads it was decided by where it is to lie */
        .node_times      = sched->has_groups ? sched->times.items : NULL,
        .workspaces      = sched->has_workspaces ? sched->workspaces.items : NULL,
        .node_flags      = sched->flags.items,
        .node_over       = sched->over.items,
    };
}

static bool make_list(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    sched->n_list         = 0;
    sched->list_refs.n    = 0;
    sched->list_leafs.n   = 0;
    sched->has_workspaces = false;
    sched->has_groups     = false;
    if (!list_reserve(sched, graph)) {
        return false;
    }
    sched->list_first.items[0] = 0;
    for (size_t s = 0; s < sched->splits.n; s++) {
        if (!list_split(sched, graph, &sched->splits.items[s])) {
            return false;
        }
    }
    return list_leafs(sched);
}

enum ggml_status sched_make_list(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    enum ggml_status status = plan_splits(sched);
    if (status == GGML_STATUS_SUCCESS) {
        status = optimize_splits(sched);
    }
    if (status == GGML_STATUS_SUCCESS && !make_list(sched, graph)) {
        status = GGML_STATUS_ALLOC_FAILED;
    }
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    for (size_t s = 0; s < sched->splits.n; s++) {
        if (sched->splits.items[s].planned) {
            mark_plan(sched, &sched->splits.items[s]);
        }
    }
    sched->previous_list_size = sched->list_size;
    sched->list_size          = sched->n_list + (int) sched->list_leafs.n;
    return GGML_STATUS_SUCCESS;
}
