/* SPDX-License-Identifier: MIT
 *
 * Graphs that the client plans and computes itself, without a backend. Kernels are prepared twice, when the work size is
 * asked for and when the graph is computed, as the client's plan has no place for what prepare makes.
 */
#include <pthread.h>
#include <stdlib.h>

#include "backend.h"
#include "ggml-impl.h"

/* prepare is never without a backend: this one is lent. */
static ggml_backend_t lent_backend(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ggml_backend_t  backend;
    pthread_mutex_lock(&lock);
    if (backend == NULL) {
        backend = ggml_backend_cpu_init();
    }
    pthread_mutex_unlock(&lock);
    return backend;
}

/* ---- pools for calls that bring none ---- */

#define MAX_IDLE 8

static struct {
    pthread_mutex_t          lock;
    struct ggml_threadpool * pools[MAX_IDLE];
    int                      n;
} idle = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

struct ggml_cplan ggml_graph_plan(const struct ggml_cgraph * cgraph, int n_threads, struct ggml_threadpool * threadpool) {
    struct ggml_cplan cplan = { 0 };
    ggml_backend_t    lent  = lent_backend();
    if (n_threads <= 0) {
        n_threads = threadpool != NULL ? ggml_threadpool_get_n_threads(threadpool) : GGML_DEFAULT_N_THREADS;
    }
    cplan.n_threads         = MIN(n_threads, GGML_MAX_N_THREADS);
    cplan.threadpool        = threadpool;
    struct graft_plan * plan = NULL;
    if (lent != NULL && graft_plan_make(lent, (struct ggml_cgraph *) cgraph, &plan) == GGML_STATUS_SUCCESS) {
        cplan.work_size = work_size(plan, cplan.n_threads);
    } else {
        GGML_LOG_ERROR("ggml_graph_plan: %s\n", ggml_ext_last_error()); /* and again, as a status, when it is computed */
    }
    graft_plan_free(plan);
    return cplan;
}

/* What graft_plan_run hands back to the team function of the lent backend would be that backend's team; here the call brings
 * its own, so the steps are run directly. */
static enum ggml_status run_whole(struct ggml_threadpool * pool, const struct ggml_cplan * cplan, struct graft_plan * plan) {
    const size_t       workspace_size = graft_plan_workspace_size(plan);
    char *             base           = (char *) GGML_PAD((uintptr_t) cplan->work_data, ALIGNMENT);
    struct run_options options        = { cplan->n_threads, cplan->abort_callback, cplan->abort_callback_data, NULL };
    void *             workspace      = NULL;
    team_hold(pool);
    if (cplan->work_data != NULL && cplan->work_size >= work_size(plan, cplan->n_threads)) {
        workspace             = base;
        options.worker_memory = base + GGML_PAD(workspace_size, ALIGNMENT);
    } else if (workspace_size > 0) {
        workspace = team_memory(pool, TEAM_MEMORY_WORKSPACE, workspace_size);
    }
    enum ggml_status status = GGML_STATUS_SUCCESS;
    if (workspace == NULL && workspace_size > 0) {
        status = graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a workspace of %zu bytes", workspace_size);
    } else {
        graft_plan_link(plan, workspace);
        status = run_steps(pool, &options, plan, 0, graft_plan_n_steps(plan), workspace, workspace_size);
    }
    team_release(pool);
    return status;
}

enum ggml_status ggml_graph_compute(struct ggml_cgraph * cgraph, struct ggml_cplan * cplan) {
    ggml_backend_t      lent   = lent_backend();
    struct graft_plan * plan   = NULL;
    enum ggml_status    status = lent != NULL ? graft_plan_make(lent, cgraph, &plan) : GGML_STATUS_ALLOC_FAILED;
    if (status == GGML_STATUS_SUCCESS) {
        struct ggml_threadpool * pool = cplan->threadpool != NULL ? cplan->threadpool : take_pool(cplan->n_threads);
        status = pool != NULL ? run_whole(pool, cplan, plan) : GGML_STATUS_ALLOC_FAILED;
        if (pool != NULL && cplan->threadpool == NULL) {
            give_pool(pool);
        }
    }
    graft_plan_free(plan);
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
