/* SPDX-License-Identifier: MIT
 *
 * The team of threads: struct ggml_threadpool. The thread that computes is worker 0; the others wait for a job, first
 * spinning, then asleep. One job runs at a time; a second thread that brings one waits for its turn.
 *
 * Life of the workers' view of a job: they may look at it only if the word that announces it says they take part, and
 * the caller leaves team_run when all of those are out again. So nothing of a job is touched after team_run returns.
 */
#ifndef GRAFT_CPU_TEAM_H
#define GRAFT_CPU_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-cpu.h"

typedef void (*team_fn)(void * job, int ith, int nth);

/* A pool of at most n_threads (the caller included); grows when a job asks for more. NULL without memory. */
struct ggml_threadpool * team_new(const struct ggml_threadpool_params * params);
void                     team_free(struct ggml_threadpool * team);

/* Runs fn(job, ith, nth) once in each of nth workers and returns when all are done. Fewer run when threads cannot be made: the return
 * value of team_prepare says how many there will be. */
int  team_prepare(struct ggml_threadpool * team, int nth);
void team_run(struct ggml_threadpool * team, team_fn fn, void * job, int nth);

/* Waits, spinning at first, until done(arg). Whoever makes it true calls team_notify afterwards. */
void team_wait(struct ggml_threadpool * team, bool (*done)(void * arg), void * arg);
void team_notify(struct ggml_threadpool * team);

/* Memory that the team keeps from job to job, 64-byte aligned; uninitialised. slot 0: synchronisation, 1: workers' memory.
 * NULL without memory. Call with the team held. */
enum { TEAM_MEMORY_SYNC, TEAM_MEMORY_WORKERS, TEAM_MEMORY_COUNT };
void * team_memory(struct ggml_threadpool * team, int slot, size_t size);

/* One user of the team at a time. */
void team_hold(struct ggml_threadpool * team);
void team_release(struct ggml_threadpool * team);

static inline void team_release_held(struct ggml_threadpool ** team) {
    team_release(*team);
}

/* Holds the team up to the end of the block, whichever way it is left: a client's callback may throw through us. */
#define TEAM_HOLD(team)                                                              \
    __attribute__((cleanup(team_release_held), unused)) struct ggml_threadpool * held = \
        (team_hold(team), (team))

#endif /* GRAFT_CPU_TEAM_H */
