/* SPDX-License-Identifier: MIT
 *
 * Who runs what, after a scheduler has allocated a graph.
 */
#include "base/status.h"
#include "ext/ext.h"
#include "plan/sched.h"

static void visit_step(const struct graft_step * step, struct ggml_ext_plan_item * item, int * n_groups,
                       ggml_ext_plan_fn visit, void * user_data) {
    const struct ext_kernel * row   = step->row;
    const bool                group = step->kernel != NULL && step->n_nodes > 1;
    item->group                     = group ? (*n_groups)++ : -1;
    item->kernel                    = step->kernel != NULL ? step->kernel->name : "native";
    item->extension                 = row != NULL && !row->native;
    for (int j = 0; j < step->n_nodes; j++) {
        item->node      = step->nodes[j];
        item->workspace = j == 0 ? step->workspace_size : 0;
        visit(item, user_data);
    }
}

/* A split without a plan: the device's own code runs all of it. */
static void visit_native(const struct sched_split * split, struct ggml_ext_plan_item * item, ggml_ext_plan_fn visit,
                         void * user_data) {
    item->group     = -1;
    item->kernel    = "native";
    item->extension = false;
    item->workspace = 0;
    for (int i = 0; i < split->graph.n_nodes; i++) {
        item->node = split->graph.nodes[i];
        if (!ggml_op_is_empty(item->node->op)) {
            visit(item, user_data);
        }
    }
}

enum ggml_status ggml_ext_sched_plan(ggml_backend_sched_t sched, ggml_ext_plan_fn visit, void * user_data) {
    int n_groups = 0;
    if (sched == NULL || visit == NULL || !sched->allocated) {
        return base_fail(GGML_STATUS_FAILED, "ext_sched_plan: %s",
                         sched == NULL || visit == NULL ? "scheduler or callback is NULL" : "no graph is allocated");
    }
    for (size_t s = 0; s < sched->splits.n; s++) {
        const struct sched_split * split = &sched->splits.items[s];
        struct ggml_ext_plan_item  item  = {
              .split  = (int) s,
              .device = ggml_backend_get_device(sched->backends[split->backend].backend),
        };
        if (!split->planned) {
            visit_native(split, &item, visit, user_data);
            continue;
        }
        const struct graft_step * steps = graft_plan_steps(split->plan);
        for (int i = 0; i < graft_plan_n_steps(split->plan); i++) {
            visit_step(&steps[i], &item, &n_groups, visit, user_data);
        }
    }
    return GGML_STATUS_SUCCESS;
}
