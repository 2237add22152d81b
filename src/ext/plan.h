/* SPDX-License-Identifier: MIT
 *
 * What a plan is made of.
 */
#ifndef GRAFT_EXT_PLAN_H
#define GRAFT_EXT_PLAN_H

#include "ext/ext.h"
#include "ggml-impl.h"

struct graft_plan {
    struct graft_step *   steps;
    bool *                prepared; /* by step: owes a destroy */
    struct ggml_tensor ** nodes;    /* of all steps, one after another */
    int                   n_steps, n_nodes, capacity;
    size_t                workspace_size, worker_size; /* greatest of a step */
    struct ggml_cgraph    graph;      /* by value, for ranges that the module's own code runs */
    uint64_t              generation; /* of the device's table when the plan was made */
    bool                  linked;     /* barriers are known */
    const void *          linked_workspace; /* for this common workspace */
    const struct ggml_tensor * unplaced;    /* linking found no data where a kernel will look */
};

#endif /* GRAFT_EXT_PLAN_H */
