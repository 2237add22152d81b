/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan in a team.
 */
#ifndef GRAFT_CPU_RUN_H
#define GRAFT_CPU_RUN_H

#include "graft-module.h"
#include "team.h"

struct run_options {
    int                 n_threads;
    ggml_abort_callback abort_callback; /* asked by the caller's thread before each step; or NULL */
    void *              abort_data;
    void *              worker_memory; /* n_threads blocks of the plan's worker size, 64-byte aligned; NULL: the team's own */
};

/* Runs steps [first, first + n) of a plan. The team is held by the caller. */
enum ggml_status run_steps(struct ggml_threadpool * team, const struct run_options * options, const struct graft_plan * plan,
                           int first, int n, void * workspace, size_t workspace_size);

/* Bytes for each worker, rounded so that workers share no cache line. */
size_t run_worker_stride(size_t worker_size);

/* Runs one function on the team with barriers, chunks and abort as a step has them: the service "ggml_ext_cpu_parallel_v1". */
enum ggml_status run_parallel(struct ggml_threadpool * team, const struct run_options * options, ggml_ext_cpu_fn fn,
                              void * user_data);

#endif /* GRAFT_CPU_RUN_H */
