/* SPDX-License-Identifier: MIT
 *
 * Kernels that misbehave: they fail on any worker at any node, leave before their barriers, draw chunks and stop, ask for
 * impossible memory, register and query from where they should not. The run ends with a status, the text is theirs, what was
 * prepared is destroyed exactly once, and the team works afterwards.
 */
#include <stdatomic.h>

#include "support.h"

#define LENGTH 7

enum mode { WORKS, TASK_FAILS, LEAVES_EARLY, DRAWS_SOME, PREPARE_FAILS, WANTS_ALL_MEMORY, WANTS_ALL_WORKER_MEMORY, FAILS_WITHOUT_TEXT };

static struct {
    enum mode  mode;
    int        at_node, at_worker;
    atomic_int n_prepared, n_destroyed, n_nodes;
} now;

/* Index of the node in its chain: how many extension nodes stand before it. */
static int depth_of(const struct ggml_tensor * node) {
    int depth = 0;
    for (const struct ggml_tensor * t = node->src[0]; t->src[0] != NULL; t = t->src[0]) {
        depth++;
    }
    return depth;
}

static enum ggml_status prepare(void * ud, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n, void ** plan,
                                struct ggml_ext_need * need) {
    (void) ud, (void) n, (void) backend;
    const bool here = depth_of(nodes[0]) == now.at_node;
    if (now.mode == PREPARE_FAILS && here) {
        ggml_ext_set_error("prepare refuses node %d", now.at_node);
        return GGML_STATUS_ALLOC_FAILED;
    }
    if (now.mode == WANTS_ALL_MEMORY && here) {
        need->workspace_size = SIZE_MAX - (size_t) now.at_worker;
    }
    if (now.mode == WANTS_ALL_WORKER_MEMORY && here) {
        need->worker_size = SIZE_MAX >> now.at_worker;
    }
    need->max_workers = -now.at_worker; /* no such number: as many as there are */
    *plan             = malloc(1);
    atomic_fetch_add(&now.n_prepared, 1);
    return GGML_STATUS_SUCCESS;
}

static void destroy(void * ud, void * plan) {
    (void) ud;
    free(plan); /* a second time would be found by a sanitizer or malloc */
    atomic_fetch_add(&now.n_destroyed, 1);
}

static enum ggml_status task(void * ud, void * plan, struct ggml_ext_task * t, struct ggml_tensor * const * nodes, int n) {
    (void) ud, (void) plan, (void) n;
    const bool here = depth_of(nodes[0]) == now.at_node && t->ith == now.at_worker % t->nth;
    if (here && now.mode == TASK_FAILS) {
        ggml_ext_set_error("worker %d refuses node %d", now.at_worker, now.at_node);
        return GGML_STATUS_FAILED;
    }
    if (here && now.mode == FAILS_WITHOUT_TEXT) {
        return GGML_STATUS_FAILED;
    }
    if (here && now.mode == LEAVES_EARLY) {
        return GGML_STATUS_SUCCESS; /* counts as having reached what comes */
    }
    t->barrier(t);
    if (now.mode == DRAWS_SOME) {
        t->next(t, 1000); /* and the rest is left */
        t->barrier(t);
        if (t->next(t, 1) == 0 && t->next(t, 1) != -1) {
            return GGML_STATUS_FAILED;
        }
    }
    t->barrier(t);
    if (t->aborted(t)) {
        return GGML_STATUS_SUCCESS;
    }
    add_one(nodes[0], t->ith, t->nth);
    atomic_fetch_add(&now.n_nodes, t->ith == 0);
    return GGML_STATUS_SUCCESS;
}

static void setup(void) {
    static bool done;
    if (!done) {
        done                                   = true;
        const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = "robust.bad", .op = GGML_OP_CUSTOM, .op_name = "robust.bad.v1",
                                                   .supports = supports_all, .prepare = prepare, .task = task, .destroy = destroy };
        CHECK(register_op_named("robust.bad.v1") == GGML_STATUS_SUCCESS);
        CHECK(ggml_ext_register_kernel(cpu_device_of_test(), &desc) == GGML_STATUS_SUCCESS);
    }
    now.mode = WORKS;
    atomic_store(&now.n_prepared, 0);
    atomic_store(&now.n_destroyed, 0);
}

enum way { DIRECT, GRAPH_COMPUTE, GRAPH_PLAN, SCHEDULER, N_WAYS };

static enum ggml_status compute(enum way way, struct chain * c, int threads) {
    ggml_backend_t   backend = ggml_backend_cpu_init();
    enum ggml_status status  = GGML_STATUS_FAILED;
    ggml_backend_cpu_set_n_threads(backend, threads);
    if (way == DIRECT) {
        status = ggml_backend_graph_compute(backend, c->graph);
    } else if (way == GRAPH_COMPUTE) {
        struct ggml_cplan plan = { .n_threads = threads };
        status                 = ggml_graph_compute(c->graph, &plan);
    } else if (way == GRAPH_PLAN) {
        ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(backend, c->graph);
        status                         = plan != NULL ? ggml_backend_graph_plan_compute(backend, plan) : GGML_STATUS_FAILED;
        ggml_backend_graph_plan_free(backend, plan);
    } else {
        ggml_backend_sched_t sched = ggml_backend_sched_new(&backend, NULL, 1, 64, false, true);
        status = ggml_backend_sched_alloc_graph(sched, c->graph) ? ggml_backend_sched_graph_compute(sched, c->graph) : GGML_STATUS_FAILED;
        ggml_backend_sched_free(sched);
    }
    ggml_backend_free(backend);
    return status;
}

static void quiet(enum ggml_log_level level, const char * text, void * ud) {
    (void) level, (void) text, (void) ud;
}

/* A mode at every node, on every worker, in every way of computing. text: what the error must say, NULL when it succeeds. */
static void everywhere(enum mode mode, const char * text, int max_threads) {
    setup();
    ggml_log_set(quiet, NULL);
    struct chain c = make_chain("robust.bad.v1", LENGTH, 500);
    for (int way = 0; way < N_WAYS; way++) {
        for (int threads = 1; threads <= max_threads; threads++) {
            for (int node = 0; node < LENGTH; node += 3) {
                for (int worker = 0; worker < threads; worker += 1 + (threads > 3)) {
                    now.mode      = mode;
                    now.at_node   = node;
                    now.at_worker = worker;
                    ggml_ext_set_error("%s", "stale");
                    const enum ggml_status status = compute((enum way) way, &c, threads);
                    CHECK((status == GGML_STATUS_SUCCESS) == (text == NULL));
                    CHECK_MSG(text == NULL || strstr(ggml_ext_last_error(), text) != NULL, "way %d threads %d node %d worker %d: %s", way,
                              threads, node, worker, ggml_ext_last_error());
                    CHECK_MSG(now.n_prepared == now.n_destroyed, "%d prepared, %d destroyed", now.n_prepared, now.n_destroyed);
                    now.mode = WORKS;
                    CHECK(compute((enum way) way, &c, threads) == GGML_STATUS_SUCCESS);
                    CHECK(chain_is_right(&c));
                    CHECK(now.n_prepared == now.n_destroyed);
                }
            }
        }
    }
    ggml_log_set(NULL, NULL);
    ggml_free(c.ctx);
}

TEST(a_task_fails) {
    everywhere(TASK_FAILS, "refuses node", 4);
}

TEST(a_task_fails_without_a_text) {
    everywhere(FAILS_WITHOUT_TEXT, "robust.bad", 3);
}

TEST(a_worker_leaves_before_its_barriers) {
    everywhere(LEAVES_EARLY, NULL, 1);
    setup();
    struct chain c = make_chain("robust.bad.v1", LENGTH, 500);
    for (int round = 0; round < 400; round++) {
        now.mode      = LEAVES_EARLY; /* its share is missing, but nobody waits for ever */
        now.at_node   = round % LENGTH;
        now.at_worker = round / LENGTH;
        CHECK(compute((enum way)(round % N_WAYS), &c, 2 + round % 5) == GGML_STATUS_SUCCESS);
    }
    ggml_free(c.ctx);
}

TEST(chunks_are_drawn_and_left) {
    everywhere(DRAWS_SOME, NULL, 1);
    setup();
    struct chain c = make_chain("robust.bad.v1", LENGTH, 500);
    now.mode       = DRAWS_SOME;
    for (int round = 0; round < 200; round++) {
        CHECK(compute((enum way)(round % N_WAYS), &c, 2 + round % 5) == GGML_STATUS_SUCCESS);
        CHECK(chain_is_right(&c));
    }
    ggml_free(c.ctx);
}

TEST(prepare_fails) {
    everywhere(PREPARE_FAILS, "prepare refuses node", 2);
}

TEST(impossible_memory) {
    everywhere(WANTS_ALL_MEMORY, "workspace", 3);
    everywhere(WANTS_ALL_WORKER_MEMORY, "worker", 3);
}

/* ggml_graph_plan of what cannot be prepared: a size that is no lie, and the error again when it is computed. */
TEST(a_work_plan_of_impossible_memory) {
    setup();
    ggml_log_set(quiet, NULL);
    struct chain c          = make_chain("robust.bad.v1", 1, 10);
    now.mode                = WANTS_ALL_MEMORY;
    now.at_node             = 0;
    now.at_worker           = 0;
    struct ggml_cplan plan  = ggml_graph_plan(c.graph, 4, NULL);
    CHECK(plan.work_size < 1 << 20);
    plan.work_data = malloc(plan.work_size > 0 ? plan.work_size : 1);
    CHECK(ggml_graph_compute(c.graph, &plan) != GGML_STATUS_SUCCESS);
    CHECK(strstr(ggml_ext_last_error(), "robust.bad") != NULL);
    free(plan.work_data);
    ggml_log_set(NULL, NULL);
    ggml_free(c.ctx);
}

/* ---- abort ---- */

static bool count_down(void * arg) {
    return (*(int *) arg)-- <= 0;
}

TEST(abort_before_every_node) {
    setup();
    struct chain          c      = make_chain("robust.bad.v1", LENGTH, 500);
    ggml_backend_t        backend = ggml_backend_cpu_init();
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    for (int round = 0; round < 500; round++) {
        int                    left    = round % (LENGTH + 1);
        const bool             own     = round % 3 != 0;
        const enum ggml_status wanted  = left < LENGTH ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS;
        ggml_backend_cpu_set_threadpool(backend, own ? NULL : pool);
        ggml_backend_cpu_set_n_threads(backend, 1 + round % 5);
        ggml_backend_cpu_set_abort_callback(backend, count_down, &left);
        CHECK(ggml_backend_graph_compute(backend, c.graph) == wanted);
        left                   = round % (LENGTH + 1);
        struct ggml_cplan plan = { .n_threads = 1 + round % 4, .abort_callback = count_down, .abort_callback_data = &left,
                                   .threadpool = own ? NULL : pool };
        CHECK(ggml_graph_compute(c.graph, &plan) == wanted);
    }
    ggml_backend_free(backend);
    ggml_threadpool_free(pool);
    ggml_free(c.ctx);
}

/* ---- execute on the CPU: with a workspace, in every way, and the parallel service from inside ---- */

static atomic_int bad_workspace;
static ggml_ext_cpu_parallel_v1_t parallel;

static enum ggml_status execute_prepare(void * ud, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n, void ** plan,
                                        struct ggml_ext_need * need) {
    (void) ud, (void) backend, (void) nodes, (void) n, (void) plan;
    need->workspace_size = 1000;
    return GGML_STATUS_SUCCESS;
}

static void parallel_fn(struct ggml_ext_task * task, void * ud) {
    task->barrier(task);
    add_one(ud, task->ith, task->nth);
    task->barrier(task);
}

static enum ggml_status execute(void * ud, void * plan, ggml_backend_t backend, ggml_backend_buffer_t workspace,
                                struct ggml_tensor * const * nodes, int n) {
    (void) ud, (void) plan, (void) n;
    char * base = workspace != NULL ? ggml_backend_buffer_get_base(workspace) : NULL;
    if (base == NULL || ((uintptr_t) base & 63) != 0 || ggml_backend_buffer_get_size(workspace) < 1000) {
        atomic_fetch_add(&bad_workspace, 1);
        return GGML_STATUS_FAILED;
    }
    memset(base, 3, 1000);
    return parallel(backend, parallel_fn, nodes[0]);
}

TEST(execute_kernels_on_the_cpu) {
    const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = "robust.execute", .op = GGML_OP_CUSTOM, .op_name = "robust.execute.v1",
                                               .supports = supports_all, .prepare = execute_prepare, .execute = execute };
    parallel = (ggml_ext_cpu_parallel_v1_t) ggml_backend_reg_get_proc_address(ggml_backend_cpu_reg(), "ggml_ext_cpu_parallel_v1");
    REQUIRE(parallel != NULL);
    CHECK(register_op_named("robust.execute.v1") == GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_register_kernel(cpu_device_of_test(), &desc) == GGML_STATUS_SUCCESS);
    setup();
    struct chain c = make_chain("robust.execute.v1", LENGTH, 500);
    for (int way = 0; way < N_WAYS; way++) {
        for (int threads = 1; threads <= 4; threads++) {
            memset(c.last->data, 0xFF, ggml_nbytes(c.last));
            CHECK_MSG(compute((enum way) way, &c, threads) == GGML_STATUS_SUCCESS, "way %d: %s", way, ggml_ext_last_error());
            CHECK(chain_is_right(&c));
        }
    }
    CHECK(bad_workspace == 0);
    ggml_free(c.ctx);
}

/* ---- supports that asks and registers ---- */

static atomic_int depth, deepest;

static bool supports_asks(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) ud;
    struct ggml_tensor copy = *node; /* another address: not the same question */
    const int          d    = atomic_fetch_add(&depth, 1) + 1;
    if (d > deepest) {
        atomic_store(&deepest, d);
    }
    const bool native = ggml_backend_dev_supports_op(device, &copy);
    atomic_fetch_sub(&depth, 1);
    return !native || d == 1;
}

TEST(supports_that_asks_about_copies_of_the_node) {
    const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = "robust.asks", .op = GGML_OP_CUSTOM, .op_name = "robust.asks.v1",
                                               .supports = supports_asks, .prepare = prepare, .task = task, .destroy = destroy };
    CHECK(register_op_named("robust.asks.v1") == GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_register_kernel(cpu_device_of_test(), &desc) == GGML_STATUS_SUCCESS);
    setup();
    struct chain c = make_chain("robust.asks.v1", 3, 10);
    CHECK(compute(DIRECT, &c, 2) == GGML_STATUS_SUCCESS);
    CHECK_MSG(deepest < 100, "%d questions deep", deepest);
    ggml_free(c.ctx);
}

static atomic_int n_registered;

static bool supports_registers(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) ud, (void) node;
    char      name[GGML_EXT_MAX_NAME];
    const int i = atomic_fetch_add(&n_registered, 1);
    if (i < 50) { /* forbidden by the contract; it must not hang or crash all the same */
        snprintf(name, sizeof(name), "robust.late-%d", i);
        const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = name, .op = GGML_OP_CUSTOM, .op_name = "robust.registers.v1",
                                                   .priority = -1, .supports = supports_all, .prepare = prepare, .task = task, .destroy = destroy };
        ggml_ext_register_kernel(device, &desc);
    }
    return true;
}

TEST(supports_that_registers) {
    const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = "robust.registers", .op = GGML_OP_CUSTOM, .op_name = "robust.registers.v1",
                                               .supports = supports_registers, .prepare = prepare, .task = task, .destroy = destroy };
    CHECK(register_op_named("robust.registers.v1") == GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_register_kernel(cpu_device_of_test(), &desc) == GGML_STATUS_SUCCESS);
    setup();
    struct chain c = make_chain("robust.registers.v1", 3, 10);
    for (int round = 0; round < 20; round++) {
        CHECK(compute(DIRECT, &c, 2) == GGML_STATUS_SUCCESS);
        CHECK(chain_is_right(&c));
    }
    CHECK(now.n_prepared == now.n_destroyed);
    ggml_free(c.ctx);
}
