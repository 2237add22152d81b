/* SPDX-License-Identifier: MIT
 *
 * Running a plan: stretches of `task` steps go to the device's team at once, `execute` steps are called one by one, and
 * ranges without a row go to the module's own graph code. The first failure ends the run; nothing is tried again.
 */
#include <stdlib.h>

#include "base/os.h"
#include "base/status.h"
#include "device/device.h"
#include "device/hooks.h"
#include "ext/plan.h"
#include "op/op.h"

static bool is_task(const struct graft_step * step) {
    return step->kernel != NULL && step->kernel->task != NULL;
}

static void count(const struct graft_step * step) {
    if (step->row != NULL) {
        atomic_fetch_add_explicit(&((struct ext_kernel *) step->row)->n_executed, 1, memory_order_relaxed);
    }
}

/* Also when the kernel throws. */
static void free_frame(ggml_backend_buffer_t * buffer) {
    ggml_backend_buffer_free(*buffer);
}

/* `execute` gets its workspace as a buffer: a frame around the memory, which it does not own. */
static enum ggml_status run_execute(ggml_backend_t backend, struct graft_step * step, void * workspace) {
    __attribute__((cleanup(free_frame))) ggml_backend_buffer_t buffer = NULL;
    if (step->workspace_size > 0) {
        void * at = step->workspace != NULL ? step->workspace : workspace;
        buffer    = ggml_backend_cpu_buffer_from_ptr(at, step->workspace_size);
        if (buffer == NULL) {
            return base_fail(GGML_STATUS_ALLOC_FAILED, "kernel %s: no memory for a workspace buffer", step->kernel->name);
        }
    }
    base_clear_error();
    const enum ggml_status status = step->kernel->execute(step->kernel->user_data, step->plan, backend, buffer, step->nodes,
                                                          step->n_nodes);
    if (status != GGML_STATUS_SUCCESS && base_error_text()[0] == 0) {
        return base_fail(status, "kernel %s failed on node '%s'", step->kernel->name, step->nodes[step->n_nodes - 1]->name);
    }
    return status;
}

static enum ggml_status run_native(ggml_backend_t backend, struct graft_plan * plan, const struct graft_step * step) {
    struct ggml_cgraph view = ggml_graph_view(&plan->graph, step->first_node, step->last_node + 1);
    return device_native_graph_compute(backend, &view);
}

enum ggml_status graft_plan_run(ggml_backend_t backend, struct graft_plan * plan, void * workspace) {
    struct ext_device * device = ext_device_find(backend->device);
    graft_team_run_fn   team   = device != NULL ? atomic_load_explicit(&device->team, memory_order_acquire) : NULL;
    enum ggml_status    status = GGML_STATUS_SUCCESS;
    if (!plan->linked || plan->linked_workspace != workspace) {
        graft_plan_link(plan, workspace);
    }
    if (plan->unplaced != NULL) {
        plan->linked = false;
        return base_fail(GGML_STATUS_FAILED, "tensor '%s', %s, has no data: allocate the graph first", plan->unplaced->name,
                         op_describe(plan->unplaced));
    }
    for (int i = 0; i < plan->n_steps && status == GGML_STATUS_SUCCESS;) {
        struct graft_step * step = &plan->steps[i];
        int                 n    = 1;
        if (is_task(step)) {
            for (; i + n < plan->n_steps && is_task(&plan->steps[i + n]); n++) {
            }
            status = team(backend, plan, i, n, workspace, plan->workspace_size);
        } else if (step->kernel != NULL) {
            status = run_execute(backend, step, workspace);
        } else {
            status = run_native(backend, plan, step);
        }
        for (int j = i; j < i + n; j++) {
            count(&plan->steps[j]);
        }
        i += n;
    }
    return status;
}

/* Also on the way of an exception that a client's callback throws through us. */
static void free_plan(struct graft_plan ** plan) {
    graft_plan_free(*plan);
}

static void free_workspace(void ** workspace) {
    base_aligned_free(*workspace);
}

/* ---- direct computation on a device with added kernels but no team ---- */

static enum ggml_status graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    struct ext_device * device = ext_device_find(backend->device);
    if (device == NULL || atomic_load(&device->team) != NULL || atomic_load(&device->n_added) == 0) {
        return device_native_graph_compute(backend, graph); /* a device with a team plans for itself */
    }
    __attribute__((cleanup(free_plan))) struct graft_plan * plan      = NULL;
    __attribute__((cleanup(free_workspace))) void *         workspace = NULL;
    enum ggml_status status = graft_plan_make(backend, graph, &plan);
    if (status == GGML_STATUS_SUCCESS && plan->workspace_size > 0) {
        workspace = base_aligned_alloc(64, plan->workspace_size);
        if (workspace == NULL) {
            status = base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a workspace of %zu bytes", plan->workspace_size);
        }
    }
    if (status == GGML_STATUS_SUCCESS) {
        status = graft_plan_run(backend, plan, workspace);
    }
    return status;
}

__attribute__((constructor)) void ext_install_hooks(void) {
    device_hooks.supports      = graft_device_has_kernel;
    device_hooks.graph_compute = graph_compute;
    op_desc_hook               = ggml_ext_op_name;
}

enum ggml_status ggml_ext_graph_plan(ggml_backend_t backend, struct ggml_cgraph * graph, ggml_ext_plan_fn visit,
                                     void * user_data) {
    if (backend == NULL || graph == NULL || visit == NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_graph_plan: %s is NULL",
                         backend == NULL ? "the backend" : graph == NULL ? "the graph" : "visit");
    }
    __attribute__((cleanup(free_plan))) struct graft_plan * plan = NULL;
    const enum ggml_status status = graft_plan_make(backend, graph, &plan);
    for (int i = 0; status == GGML_STATUS_SUCCESS && i < plan->n_steps; i++) {
        const struct graft_step * step = &plan->steps[i];
        const struct ext_kernel * row  = step->row;
        for (int j = 0; j < step->n_nodes; j++) {
            const struct ggml_ext_plan_item item = {
                .split     = -1,
                .group     = -1,
                .node      = step->nodes[j],
                .device    = backend->device,
                .kernel    = row != NULL ? row->desc->name : "native",
                .extension = row != NULL && !row->native,
                .workspace = j == 0 ? step->workspace_size : 0,
            };
            visit(&item, user_data);
        }
    }
    return status;
}
