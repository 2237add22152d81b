/* SPDX-License-Identifier: MIT
 *
 * Plans: a graph resolved to steps. Kernels are picked and prepared here, once; a run is then a loop over the steps. The
 * arrays of an older plan are used again, so that planning the same kind of graph over and over allocates nothing of
 * our own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "device/device.h"
#include "ext/ext.h"
#include "ext/plan.h"
#include "op/check.h"

/* ---- memory ---- */

static void destroy_steps(struct graft_plan * plan) {
    for (int i = 0; i < plan->n_steps; i++) {
        const struct graft_step * step = &plan->steps[i];
        if (step->kernel != NULL && step->kernel->destroy != NULL && plan->prepared[i]) {
            step->kernel->destroy(step->kernel->user_data, step->plan);
        }
    }
    plan->n_steps        = 0;
    plan->n_nodes        = 0;
    plan->workspace_size = 0;
    plan->worker_size    = 0;
    plan->linked         = false;
}

void graft_plan_free(struct graft_plan * plan) {
    if (plan != NULL) {
        destroy_steps(plan);
        free(plan->steps);
        free(plan->prepared);
        free(plan->nodes);
        free(plan);
    }
}

/* Room for n nodes and as many steps. */
static bool reserve(struct graft_plan * plan, int n) {
    if (n <= plan->capacity) {
        return true;
    }
    struct graft_step *   steps    = calloc((size_t) n, sizeof(*steps));
    bool *                prepared = calloc((size_t) n, sizeof(*prepared));
    struct ggml_tensor ** nodes    = calloc((size_t) n, sizeof(*nodes));
    if (steps == NULL || prepared == NULL || nodes == NULL) {
        free(steps);
        free(prepared);
        free(nodes);
        return false;
    }
    free(plan->steps);
    free(plan->prepared);
    free(plan->nodes);
    plan->steps    = steps;
    plan->prepared = prepared;
    plan->nodes    = nodes;
    plan->capacity = n;
    return true;
}

/* ---- making ---- */

/* Nodes that no step is made for: labels, nodes outside of what is to be computed, and built-in results without elements. */
static bool needs_no_step(const struct ggml_tensor * node) {
    return ggml_op_is_empty(node->op) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 ||
           (ggml_is_empty(node) && ext_op_of(node) == NULL);
}

static struct graft_step * add_step(struct graft_plan * plan, struct ext_kernel * row, struct ggml_tensor * node, int index) {
    struct graft_step * step = &plan->steps[plan->n_steps];
    memset(step, 0, sizeof(*step));
    plan->prepared[plan->n_steps] = false;
    plan->n_steps++;
    step->kernel           = row != NULL ? row->desc : NULL;
    step->row              = row;
    step->nodes            = &plan->nodes[plan->n_nodes];
    step->n_nodes          = 1;
    step->first_node       = index;
    step->last_node        = index;
    plan->nodes[plan->n_nodes++] = node;
    return step;
}

static enum ggml_status prepare_failed(const struct graft_step * step, enum ggml_status status) {
    if (base_error_text()[0] != 0) {
        return status;
    }
    return base_fail(status, "kernel %s: prepare failed for node '%s', %s", step->kernel->name, step->nodes[0]->name,
                     op_describe(step->nodes[0]));
}

/* More than any memory, and so little that sums of workspaces for all workers, and their padding, do not overflow. */
#define MAX_NEED (SIZE_MAX / 8)

static enum ggml_status prepare(struct graft_plan * plan, ggml_backend_t backend, struct graft_step * step) {
    struct ggml_ext_need need = { 0 };
    if (step->kernel->prepare != NULL) {
        base_clear_error();
        const enum ggml_status status =
            step->kernel->prepare(step->kernel->user_data, backend, (const struct ggml_tensor * const *) step->nodes,
                                  step->n_nodes, &step->plan, &need);
        if (status != GGML_STATUS_SUCCESS) {
            return prepare_failed(step, status);
        }
    }
    plan->prepared[step - plan->steps] = true;
    if (need.workspace_size > MAX_NEED || need.worker_size > MAX_NEED / GGML_MAX_N_THREADS) {
        return base_fail(GGML_STATUS_FAILED, "kernel %s asks for a workspace of %zu bytes and %zu for each worker, node '%s'",
                         step->kernel->name, need.workspace_size, need.worker_size, step->nodes[0]->name);
    }
    step->workspace_size               = need.workspace_size;
    step->worker_size                  = need.worker_size;
    step->max_workers                  = need.max_workers;
    if (need.workspace_size > plan->workspace_size) {
        plan->workspace_size = need.workspace_size;
    }
    if (need.worker_size > plan->worker_size) {
        plan->worker_size = need.worker_size;
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status no_kernel(ggml_backend_t backend, const struct ggml_tensor * node) {
    char   sources[600] = "";
    size_t n            = 0;
    for (int k = 0; k < GGML_MAX_SRC && n < sizeof(sources); k++) {
        if (node->src[k] != NULL) {
            n += (size_t) snprintf(sources + n, sizeof(sources) - n, "%s%s", n > 0 ? ", " : "", op_describe(node->src[k]));
        }
    }
    return base_fail(GGML_STATUS_FAILED, "%s: device %s has no kernel for node '%s': %s -> %s", ggml_op_desc(node),
                     ggml_backend_dev_name(backend->device), node->name, sources, op_describe(node));
}

/* Neighbouring nodes that the device's own code runs make one step. */
static bool extend_native(struct graft_plan * plan, struct ggml_tensor * node, int index) {
    struct graft_step * last = plan->n_steps > 0 ? &plan->steps[plan->n_steps - 1] : NULL;
    if (last == NULL || last->kernel != NULL) {
        return false;
    }
    plan->nodes[plan->n_nodes++] = node;
    last->n_nodes++;
    last->last_node = index;
    return true;
}

static enum ggml_status add_node(struct graft_plan * plan, ggml_backend_t backend, struct ggml_tensor * node, int index) {
    struct ext_kernel * row;
    if (needs_no_step(node)) {
        return GGML_STATUS_SUCCESS;
    }
    /* The node may have been edited since it was built: a missing source or extents beyond counting reach no kernel. The
     * rest is for each kernel's `supports`, which may well take more layouts than the builders do. */
    if (op_check_sane(node) != GGML_STATUS_SUCCESS) {
        return GGML_STATUS_FAILED;
    }
    if (!ext_select(backend->device, node, &row)) {
        return no_kernel(backend, node);
    }
    if (row == NULL) {
        if (!extend_native(plan, node, index)) {
            add_step(plan, NULL, node, index);
        }
        return GGML_STATUS_SUCCESS;
    }
    atomic_fetch_add_explicit(&row->n_selected, 1, memory_order_relaxed);
    return prepare(plan, backend, add_step(plan, row, node, index));
}

enum ggml_status graft_plan_make(ggml_backend_t backend, struct ggml_cgraph * graph, struct graft_plan ** out) {
    struct graft_plan * plan = *out;
    if (plan == NULL) {
        plan = calloc(1, sizeof(*plan));
    } else {
        destroy_steps(plan);
    }
    enum ggml_status status = GGML_STATUS_SUCCESS;
    if (plan == NULL || !reserve(plan, graph->n_nodes)) {
        status = base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a plan of %d nodes", graph->n_nodes);
    }
    *out = plan; /* the caller's from here on: a rule of the client's may throw */
    for (int i = 0; status == GGML_STATUS_SUCCESS && i < graph->n_nodes; i++) {
        status = add_node(plan, backend, graph->nodes[i], i);
    }
    if (status != GGML_STATUS_SUCCESS) {
        graft_plan_free(plan);
        *out = NULL;
        return status;
    }
    struct ext_device * device = ext_device_find(backend->device);
    plan->graph                = *graph;
    plan->generation           = device != NULL ? atomic_load(&device->generation) : 0;
    *out                       = plan;
    return GGML_STATUS_SUCCESS;
}

bool graft_plan_is_stale(ggml_backend_t backend, const struct graft_plan * plan) {
    struct ext_device * device = ext_device_find(backend->device);
    return device != NULL && atomic_load(&device->generation) != plan->generation;
}

int graft_plan_n_steps(const struct graft_plan * plan) {
    return plan->n_steps;
}

const struct graft_step * graft_plan_steps(const struct graft_plan * plan) {
    return plan->steps;
}

size_t graft_plan_workspace_size(const struct graft_plan * plan) {
    return plan->workspace_size;
}

size_t graft_plan_worker_size(const struct graft_plan * plan) {
    return plan->worker_size;
}

void graft_plan_set_workspace(struct graft_plan * plan, int step, void * workspace) {
    plan->steps[step].workspace = workspace;
    plan->linked                = false;
}
