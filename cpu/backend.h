/* SPDX-License-Identifier: MIT
 *
 * The CPU backend's parts as they know each other.
 */
#ifndef GRAFT_CPU_BACKEND_H
#define GRAFT_CPU_BACKEND_H

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "graft-module.h"
#include "run.h"
#include "team.h"

struct cpu_backend {
    int                      n_threads;
    struct ggml_threadpool * pool;     /* given by the user, or NULL */
    struct ggml_threadpool * own_pool; /* made at the first run without one */
    ggml_abort_callback      abort_callback;
    void *                   abort_data;
    void *                   workspace; /* for kernels whose workspace was not planned among the tensors */
    size_t                   workspace_size;
    void *                   worker_memory; /* the workers' memory, given by the client; NULL: the team's own */
    struct graft_plan *      plan;     /* of the last graph; its memory serves the next */
    uint64_t                 plan_uid; /* of that graph, 0: unknown */
    ggml_guid                guid;
};

struct cpu_backend * cpu_backend_context(ggml_backend_t backend);

/* Makes *backend a CPU backend whose state is *cpu, for the time of a call: nothing to free. */
void cpu_backend_lend(struct ggml_backend * backend, struct cpu_backend * cpu);

/* Runs a plan with the backend's own workspace. moved: tensors may lie elsewhere than at the last run of this plan. */
enum ggml_status cpu_backend_run(ggml_backend_t backend, struct graft_plan * plan, bool moved);

/* The team that runs for this backend; NULL without memory. */
struct ggml_threadpool * cpu_backend_team(struct cpu_backend * cpu);

/* How a plan's `task` steps are run: the device's team function. */
enum ggml_status cpu_backend_run_steps(ggml_backend_t backend, const struct graft_plan * plan, int first, int n,
                                       void * workspace, size_t workspace_size);

ggml_backend_dev_t cpu_device(void);

/* Registers the kernel rows of all operators on the device, those that an earlier call had no memory for. */
enum ggml_status cpu_register_rows(ggml_backend_dev_t device);

/* Makes the device ready; what ran out of memory is tried again by the next call. */
enum ggml_status cpu_device_init(void);

/* Instruction sets and the like as name and value, ended by a NULL name. */
struct ggml_backend_feature * cpu_features(ggml_backend_reg_t reg);

#endif /* GRAFT_CPU_BACKEND_H */
