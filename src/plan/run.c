/* SPDX-License-Identifier: MIT
 *
 * Running the splits of an allocated graph, one after another as the client's thread sees it; backends with streams go
 * on by themselves. Nothing is allocated here.
 */
#include "base/status.h"
#include "plan/sched.h"

/* The copies that the split's nodes read stand in their sources while this lives, also when a callback throws. */
struct patched {
    struct ggml_backend_sched * sched;
    size_t                      from, to;
};

static void unpatch(struct patched * patched) {
    sched_patch_revert(patched->sched, patched->from, patched->to);
}

static bool observe(const struct ggml_backend_sched * sched, struct ggml_tensor * node, bool ask) {
    return sched->eval_callback(node, ask, sched->eval_user_data);
}

/* Nodes that the callback does not ask for are run together with the next one that it does. Sets *stop when the
 * callback wants no more. */
static enum ggml_status run_observed(struct ggml_backend_sched * sched, struct sched_split * split, bool * stop) {
    ggml_backend_t backend = sched->backends[split->backend].backend;
    if (split->planned && sched->has_groups) {
        return base_fail(GGML_STATUS_FAILED,
                         "scheduler: an evaluation callback was set after the graph was allocated with fused "
                         "nodes, whose values have no memory: set it before");
    }
    for (int first = 0; first < split->graph.n_nodes;) {
        int  end    = first;
        bool wanted = false;
        while (end < split->graph.n_nodes && !wanted) {
            wanted = observe(sched, split->graph.nodes[end++], true);
        }
        struct ggml_cgraph     range  = ggml_graph_view(&split->graph, first, end);
        const enum ggml_status status = ggml_backend_graph_compute_async(backend, &range);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
        ggml_backend_synchronize(backend);
        if (wanted && !observe(sched, split->graph.nodes[end - 1], false)) {
            *stop = true;
            return GGML_STATUS_SUCCESS;
        }
        first = end;
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status run_planned(struct ggml_backend_sched * sched, struct sched_split * split) {
    ggml_backend_t backend = sched->backends[split->backend].backend;
    if (graft_plan_is_stale(backend, split->plan)) {
        return base_fail(GGML_STATUS_FAILED,
                         "scheduler: kernels were registered or their policy changed on %s after the graph was "
                         "allocated: reset the scheduler and allocate again",
                         ggml_backend_name(backend));
    }
    return graft_plan_run(backend, split->plan, NULL);
}

static enum ggml_status run_nodes(struct ggml_backend_sched * sched, struct sched_split * split, bool * stop) {
    if (sched->eval_callback != NULL) {
        return run_observed(sched, split, stop);
    }
    if (split->planned) {
        return run_planned(sched, split);
    }
    return ggml_backend_graph_compute_async(sched->backends[split->backend].backend, &split->graph);
}

static enum ggml_status run_split(struct ggml_backend_sched * sched, struct sched_split * split, bool * stop) {
    const struct sched_backend *                     at      = &sched->backends[split->backend];
    __attribute__((cleanup(unpatch))) struct patched patched = {sched, split->patch_start, split->patch_end};
    sched_patch_apply(sched, patched.from, patched.to);
    enum ggml_status status = sched_copy_inputs(sched, split);
    if (status == GGML_STATUS_SUCCESS && split->graph.n_nodes > 0) {
        status = run_nodes(sched, split, stop);
    }
    if (status == GGML_STATUS_SUCCESS && at->events[sched->cur_copy] != NULL) {
        ggml_backend_event_record(at->events[sched->cur_copy], at->backend);
    }
    return status;
}

enum ggml_status sched_run(struct ggml_backend_sched * sched) {
    bool    stop         = false;
    int32_t previous     = -1;
    sched->expert_source = NULL;
    for (size_t s = 0; s < sched->splits.n && !stop; s++) {
        struct sched_split * split = &sched->splits.items[s];
        /* without inputs to wait for, the memory that the other backend may still be writing could be ours by now */
        if (split->inputs.n == 0 && previous >= 0 && previous != split->backend) {
            sched_wait_for(sched, previous);
        }
        const enum ggml_status status = run_split(sched, split, &stop);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
        previous = split->backend;
    }
    return GGML_STATUS_SUCCESS;
}
