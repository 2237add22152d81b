/* SPDX-License-Identifier: MIT
 *
 * Graphs that the client plans and computes itself, without a backend. Kernels are prepared twice, when the work size is
 * asked for and when the graph is computed, as the client's plan has no place for what prepare makes.
 */
#include <pthread.h>
#include <stdlib.h>

#include "backend.h"
#include "ggml-impl.h"

/* ---- pools for calls that bring none ---- */

#define MAX_IDLE 8

static struct {
    pthread_mutex_t          lock;
    struct ggml_threadpool * pools[MAX_IDLE];
    int                      n;
} idle = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A child forked while another thread holds the lock would wait for ever. */
static void lock_idle(void) {
    pthread_mutex_lock(&idle.lock);
}

static void unlock_idle(void) {
    pthread_mutex_unlock(&idle.lock);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(lock_idle, unlock_idle, unlock_idle);
}

static struct ggml_threadpool * take_pool(int n_threads) {
    struct ggml_threadpool * pool = NULL;
    pthread_mutex_lock(&idle.lock);
    if (idle.n > 0) {
        pool = idle.pools[--idle.n];
    }
    pthread_mutex_unlock(&idle.lock);
    if (pool == NULL) {
        const struct ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
        pool                                       = team_new(&params);
    }
    return pool;
}

static void give_pool(struct ggml_threadpool * pool) {
    pthread_mutex_lock(&idle.lock);
    if (idle.n < MAX_IDLE) {
        idle.pools[idle.n++] = pool;
        pool                 = NULL;
    }
    pthread_mutex_unlock(&idle.lock);
    team_free(pool);
}

/* Threads must not run our code when the library is unloaded. */
__attribute__((destructor)) static void stop_idle_pools(void) {
    while (idle.n > 0) {
        team_free(idle.pools[--idle.n]);
    }
}

/* ---- work memory: [workspace][worker 0][worker 1]... ---- */

#define ALIGNMENT ((size_t) 64)

static size_t work_size(const struct graft_plan * plan, int n_threads) {
    const size_t size = GGML_PAD(graft_plan_workspace_size(plan), ALIGNMENT) +
                        (size_t) n_threads * run_worker_stride(graft_plan_worker_size(plan));
    return size > 0 ? size + ALIGNMENT : 0; /* the client's memory may be aligned to less */
}

/* What a call holds, let go of whichever way it ends: a client's callback may throw through us. */
struct call {
    struct ggml_backend      backend; /* kernels are never without one: this one is lent */
    struct cpu_backend       cpu;
    struct graft_plan *      plan;
    struct ggml_threadpool * taken; /* a pool of the idle ones, or NULL */
};

static void end_call(struct call * call) {
    graft_plan_free(call->plan);
    if (call->taken != NULL) {
        give_pool(call->taken);
    }
    free(call->cpu.workspace);
}

#define CALL(name) __attribute__((cleanup(end_call))) struct call name = { 0 }

static enum ggml_status begin_call(struct call * call, struct ggml_cgraph * graph) {
    const enum ggml_status status = cpu_device_init();
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    cpu_backend_lend(&call->backend, &call->cpu);
    return graft_plan_make(&call->backend, graph, &call->plan);
}

struct ggml_cplan ggml_graph_plan(const struct ggml_cgraph * cgraph, int n_threads, struct ggml_threadpool * threadpool) {
    struct ggml_cplan cplan = { 0 };
    CALL(call);
    if (n_threads <= 0) {
        n_threads = threadpool != NULL ? ggml_threadpool_get_n_threads(threadpool) : GGML_DEFAULT_N_THREADS;
    }
    cplan.n_threads  = MIN(n_threads, GGML_MAX_N_THREADS);
    cplan.threadpool = threadpool;
    if (begin_call(&call, (struct ggml_cgraph *) cgraph) == GGML_STATUS_SUCCESS) {
        cplan.work_size = work_size(call.plan, cplan.n_threads);
    } else {
        GGML_LOG_ERROR("ggml_graph_plan: %s\n", ggml_ext_last_error()); /* and again, as a status, when it is computed */
    }
    return cplan;
}

/* Memory that is missing or too small (the graph may have changed since it was planned) is replaced by our own. */
static enum ggml_status run_whole(struct call * call, const struct ggml_cplan * cplan) {
    struct cpu_backend * cpu  = &call->cpu;
    char *               base = (char *) GGML_PAD((uintptr_t) cplan->work_data, ALIGNMENT);
    if (cplan->work_data == NULL || cplan->work_size < work_size(call->plan, cpu->n_threads)) {
        return cpu_backend_run(&call->backend, call->plan, false);
    }
    const size_t workspace_size = graft_plan_workspace_size(call->plan);
    cpu->worker_memory          = base + GGML_PAD(workspace_size, ALIGNMENT);
    return graft_plan_run(&call->backend, call->plan, workspace_size > 0 ? base : NULL);
}

enum ggml_status ggml_graph_compute(struct ggml_cgraph * cgraph, struct ggml_cplan * cplan) {
    CALL(call);
    enum ggml_status status = begin_call(&call, cgraph);
    if (status == GGML_STATUS_SUCCESS) {
        call.cpu.n_threads      = cplan->n_threads < 1 ? 1 : MIN(cplan->n_threads, GGML_MAX_N_THREADS);
        call.cpu.abort_callback = cplan->abort_callback;
        call.cpu.abort_data     = cplan->abort_callback_data;
        if (cplan->threadpool == NULL) {
            call.taken = take_pool(call.cpu.n_threads);
        }
        call.cpu.pool = cplan->threadpool != NULL ? cplan->threadpool : call.taken;
        status        = call.cpu.pool != NULL ? run_whole(&call, cplan) : GGML_STATUS_ALLOC_FAILED;
    }
    if (status != GGML_STATUS_SUCCESS && status != GGML_STATUS_ABORTED) {
        GGML_LOG_ERROR("ggml_graph_compute: %s\n", ggml_ext_last_error());
    }
    return status;
}

enum ggml_status ggml_graph_compute_with_ctx(struct ggml_context * ctx, struct ggml_cgraph * cgraph, int n_threads) {
    struct ggml_cplan cplan = ggml_graph_plan(cgraph, n_threads, NULL);
    if (cplan.work_size > 0) {
        cplan.work_data = ggml_new_buffer(ctx, cplan.work_size);
    }
    return ggml_graph_compute(cgraph, &cplan);
}
