/* SPDX-License-Identifier: MIT
 *
 * The CPU backend: plans a graph and runs its steps in a team.
 */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "ggml-impl.h"
#include "kernel/kernel.h"

static ggml_guid cpu_guid = { 0x67, 0x72, 0x61, 0x66, 0x74, 0x2d, 0x63, 0x70, 0x75, 0x2d, 0x30, 0x30, 0x30, 0x30, 0x30, 0x31 };

static const char * get_name(ggml_backend_t backend) {
    (void) backend;
    return "CPU";
}

struct cpu_backend * cpu_backend_context(ggml_backend_t backend) {
    return backend->context;
}

static void free_backend(ggml_backend_t backend) {
    struct cpu_backend * cpu = backend->context;
    graft_plan_free(cpu->plan);
    team_free(cpu->own_pool);
    free(cpu->workspace);
    free(cpu);
    free(backend);
}

struct ggml_threadpool * cpu_backend_team(struct cpu_backend * cpu) {
    if (cpu->pool != NULL) {
        return cpu->pool;
    }
    if (cpu->own_pool == NULL) {
        struct ggml_threadpool_params params = ggml_threadpool_params_default(cpu->n_threads);
        cpu->own_pool                        = team_new(&params);
    }
    return cpu->own_pool;
}

enum ggml_status cpu_backend_run_steps(ggml_backend_t backend, const struct graft_plan * plan, int first, int n,
                                       void * workspace, size_t workspace_size) {
    struct cpu_backend *     cpu  = backend->context;
    struct ggml_threadpool * team = cpu_backend_team(cpu);
    if (team == NULL) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    const struct run_options options = {
        .n_threads      = cpu->n_threads,
        .abort_callback = cpu->abort_callback,
        .abort_data     = cpu->abort_data,
        .worker_memory  = cpu->worker_memory,
    };
    TEAM_HOLD(team);
    return run_steps(team, &options, plan, first, n, workspace, workspace_size);
}

enum ggml_status cpu_backend_run(ggml_backend_t backend, struct graft_plan * plan, bool moved) {
    struct cpu_backend * cpu  = backend->context;
    const size_t         size = graft_plan_workspace_size(plan);
    if (size > cpu->workspace_size) {
        void * memory = NULL;
        if (posix_memalign(&memory, 64, size) != 0) {
            return graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a workspace of %zu bytes", size);
        }
        free(cpu->workspace);
        cpu->workspace      = memory;
        cpu->workspace_size = size;
    }
    void * workspace = size > 0 ? cpu->workspace : NULL;
    if (moved) {
        graft_plan_link(plan, workspace);
    }
    return graft_plan_run(backend, plan, workspace);
}

static enum ggml_status graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    struct cpu_backend * cpu = backend->context;
    if (cpu->plan == NULL || graph->uid == 0 || graph->uid != cpu->plan_uid || graft_plan_is_stale(backend, cpu->plan)) {
        cpu->plan_uid                 = 0; /* also when planning is left by an exception */
        const enum ggml_status status = graft_plan_make(backend, graph, &cpu->plan);
        cpu->plan_uid                 = status == GGML_STATUS_SUCCESS ? graph->uid : 0;
        if (status != GGML_STATUS_SUCCESS) {
            GGML_LOG_ERROR("%s\n", ggml_ext_last_error());
            return status;
        }
    }
    const enum ggml_status status = cpu_backend_run(backend, cpu->plan, false);
    if (status != GGML_STATUS_SUCCESS && status != GGML_STATUS_ABORTED) {
        GGML_LOG_ERROR("%s\n", ggml_ext_last_error());
    }
    return status;
}

/* ---- plans made ahead by the client ---- */

struct client_plan {
    struct ggml_cgraph  graph;
    struct graft_plan * plan;
};

static void graph_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    (void) backend;
    struct client_plan * p = plan;
    if (p != NULL) {
        graft_plan_free(p->plan);
        free(p);
    }
}

static void free_unfinished(struct client_plan ** p) {
    graph_plan_free(NULL, *p);
}

static ggml_backend_graph_plan_t graph_plan_create(ggml_backend_t backend, const struct ggml_cgraph * graph) {
    __attribute__((cleanup(free_unfinished))) struct client_plan * p = calloc(1, sizeof(*p));
    if (p == NULL) {
        graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a plan");
        return NULL;
    }
    p->graph = *graph;
    if (graft_plan_make(backend, &p->graph, &p->plan) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", ggml_ext_last_error());
        return NULL;
    }
    struct client_plan * made = p;
    p                         = NULL;
    return made;
}

static enum ggml_status graph_plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    struct client_plan * p = plan;
    return cpu_backend_run(backend, p->plan, true);
}

static const struct ggml_backend_i cpu_backend_i = {
    .get_name           = get_name,
    .free               = free_backend,
    .graph_plan_create  = graph_plan_create,
    .graph_plan_free    = graph_plan_free,
    .graph_plan_compute = graph_plan_compute,
    .graph_compute      = graph_compute,
};

void cpu_backend_lend(struct ggml_backend * backend, struct cpu_backend * cpu) {
    memset(backend, 0, sizeof(*backend));
    backend->guid    = &cpu_guid;
    backend->iface   = cpu_backend_i;
    backend->device  = cpu_device();
    backend->context = cpu;
}

/* ---- public ---- */

ggml_backend_t ggml_backend_cpu_init(void) {
    if (cpu_device_init() != GGML_STATUS_SUCCESS) {
        return NULL;
    }
    struct cpu_backend * cpu     = calloc(1, sizeof(*cpu));
    ggml_backend_t       backend = calloc(1, sizeof(*backend));
    if (cpu == NULL || backend == NULL) {
        free(cpu);
        free(backend);
        graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a CPU backend");
        return NULL;
    }
    cpu->n_threads = GGML_DEFAULT_N_THREADS;
    cpu_backend_lend(backend, cpu);
    return backend;
}

bool ggml_backend_is_cpu(ggml_backend_t backend) {
    return backend != NULL && ggml_guid_matches(backend->guid, &cpu_guid);
}

void ggml_backend_cpu_set_n_threads(ggml_backend_t backend_cpu, int n_threads) {
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
    cpu_backend_context(backend_cpu)->n_threads = n_threads < 1 ? 1 : MIN(n_threads, GGML_MAX_N_THREADS);
}

void ggml_backend_cpu_set_threadpool(ggml_backend_t backend_cpu, ggml_threadpool_t threadpool) {
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
    struct cpu_backend * cpu = cpu_backend_context(backend_cpu);
    if (cpu->pool != NULL && cpu->pool != threadpool) {
        ggml_threadpool_pause(cpu->pool); /* another one works now: this one shall not spin beside it */
    }
    cpu->pool = threadpool;
}

void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend_cpu, ggml_abort_callback abort_callback,
                                         void * abort_callback_data) {
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
    struct cpu_backend * cpu = cpu_backend_context(backend_cpu);
    cpu->abort_callback      = abort_callback;
    cpu->abort_data          = abort_callback_data;
}

/* Every kernel here is its own reference to within the stated bounds; the scalar forms are chosen by GRAFT_CPU=scalar. */
void ggml_backend_cpu_set_use_ref(ggml_backend_t backend_cpu, bool use_ref) {
    (void) use_ref;
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
}
