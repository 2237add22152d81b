/* SPDX-License-Identifier: MIT
 *
 * Many threads at once: contexts on one pool and on pools of their own, thread counts far beyond the processors, aborts at
 * random, kernels and operators that are registered while graphs are planned elsewhere, error texts by thread.
 */
#include <pthread.h>
#include <unistd.h>

#include "support.h"

#define N_THREADS 8
#ifdef UNDER_TSAN
#define ROUNDS 8
#else
#define ROUNDS 40
#endif

static struct ggml_threadpool * shared;
static atomic_bool              stop_registering;

static bool at_random(void * arg) {
    return harness_random(arg) % 16 == 0;
}

/* CHECK is not for threads: faults are counted. */
static atomic_int n_wrong;

static void expect(bool yes) {
    if (!yes) {
        atomic_fetch_add(&n_wrong, 1);
    }
}

static void * computes(void * arg) {
    const int      id      = (int) (intptr_t) arg;
    uint64_t       seed    = (uint64_t) id + 1;
    ggml_backend_t backend = ggml_backend_cpu_init();
    for (int round = 0; round < ROUNDS; round++) {
        const int    n       = 1 + (int) (harness_random(&seed) % 12);
        const int    threads = 1 + (int) (harness_random(&seed) % 64 >> harness_random(&seed) % 6);
        struct chain c       = make_chain(round % 2 ? "robust.many.v1" : NULL, n, 1 + (int64_t) (harness_random(&seed) % 3000));
        ggml_backend_cpu_set_threadpool(backend, harness_random(&seed) % 2 ? shared : NULL);
        ggml_backend_cpu_set_n_threads(backend, threads);
        ggml_backend_cpu_set_abort_callback(backend, harness_random(&seed) % 2 ? at_random : NULL, &seed);
        enum ggml_status status = ggml_backend_graph_compute(backend, c.graph);
        expect(status == GGML_STATUS_SUCCESS ? chain_is_right(&c) : status == GGML_STATUS_ABORTED);
        memset(c.last->data, 0xFF, ggml_nbytes(c.last));
        struct ggml_cplan plan = ggml_graph_plan(c.graph, threads, harness_random(&seed) % 2 ? shared : NULL);
        plan.work_data         = malloc(plan.work_size + 1);
        status                 = ggml_graph_compute(c.graph, &plan);
        expect(status == GGML_STATUS_SUCCESS && chain_is_right(&c));
        free(plan.work_data);
        ggml_free(c.ctx);
    }
    ggml_backend_free(backend);
    return NULL;
}

static enum ggml_status task(void * ud, void * plan, struct ggml_ext_task * t, struct ggml_tensor * const * nodes, int n) {
    (void) ud, (void) plan, (void) n;
    t->barrier(t);
    add_one(nodes[0], t->ith, t->nth);
    return GGML_STATUS_SUCCESS;
}

static void * registers(void * arg) {
    (void) arg;
    char name[GGML_EXT_MAX_NAME];
    for (int i = 0; i < 200 && !atomic_load(&stop_registering); i++) {
        snprintf(name, sizeof(name), "robust.many%d.v1", i);
        expect(register_op_named(name) == GGML_STATUS_SUCCESS);
        expect(register_op_named(name) != GGML_STATUS_SUCCESS);
        expect(strstr(ggml_ext_last_error(), name) != NULL);
        snprintf(name, sizeof(name), "robust.many-%d", i);
        const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = name, .op = GGML_OP_CUSTOM, .op_name = "robust.many.v1",
                                                   .priority = i % 5 - 2, .supports = supports_all, .task = task };
        expect(ggml_ext_register_kernel(cpu_device_of_test(), &desc) == GGML_STATUS_SUCCESS);
        expect(ggml_ext_set_policy(cpu_device_of_test(), name, (enum ggml_ext_policy)(i % 3)) == GGML_STATUS_SUCCESS);
        usleep(2000);
    }
    return NULL;
}

/* What clients ask at start, from any thread. */
static void * asks(void * arg) {
    (void) arg;
    ggml_backend_reg_t reg = ggml_backend_cpu_reg();
    ggml_backend_get_features_t features = (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features");
    ggml_backend_dev_get_extra_bufts_t bufts =
        (ggml_backend_dev_get_extra_bufts_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts");
    for (int i = 0; i < 200; i++) {
        struct ggml_ext_kernel_info info = { .size = sizeof(info) };
        int                         n    = 0;
        for (struct ggml_backend_feature * f = features(reg); f->name != NULL; f++) {
            n++;
        }
        expect(n > 0);
        for (ggml_backend_buffer_type_t * b = bufts(cpu_device_of_test()); *b != NULL; b++) {
            expect(ggml_backend_buft_name(*b) != NULL);
        }
        const size_t count = ggml_ext_kernel_count(cpu_device_of_test());
        expect(ggml_ext_kernel_get(cpu_device_of_test(), count - 1, &info) == GGML_STATUS_SUCCESS && info.name[0] != 0);
        expect(ggml_ext_kernel_get(cpu_device_of_test(), SIZE_MAX, &info) != GGML_STATUS_SUCCESS);
        expect(strstr(ggml_ext_last_error(), "18446744073709551615") != NULL);
        usleep(500);
    }
    return NULL;
}

TEST(all_at_once) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = "robust.many", .op = GGML_OP_CUSTOM, .op_name = "robust.many.v1",
                                               .supports = supports_all, .task = task };
    pthread_t threads[N_THREADS], registering, asking[2];
    CHECK(register_op_named("robust.many.v1") == GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_register_kernel(cpu_device_of_test(), &desc) == GGML_STATUS_SUCCESS);
    shared = ggml_threadpool_new(&params);
    REQUIRE(shared != NULL);
    pthread_create(&registering, NULL, registers, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_create(&asking[i], NULL, asks, NULL);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_create(&threads[i], NULL, computes, (void *) (intptr_t) i);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&stop_registering, true);
    pthread_join(registering, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(asking[i], NULL);
    }
    ggml_threadpool_free(shared);
    CHECK_MSG(n_wrong == 0, "%d wrong", n_wrong);
}

/* ---- error texts ---- */

static pthread_barrier_t together;

static void * fails(void * arg) {
    char name[32], text[64];
    snprintf(name, sizeof(name), "thread-%d", (int) (intptr_t) arg);
    for (int i = 0; i < 200; i++) {
        ggml_ext_set_policy(cpu_device_of_test(), name, GGML_EXT_POLICY_OFF);
        pthread_barrier_wait(&together);
        snprintf(text, sizeof(text), "'%s'", name);
        expect(strstr(ggml_ext_last_error(), text) != NULL);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

TEST(texts_belong_to_threads) {
    pthread_t threads[N_THREADS];
    atomic_store(&n_wrong, 0);
    pthread_barrier_init(&together, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_create(&threads[i], NULL, fails, (void *) (intptr_t) i);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&together);
    CHECK(n_wrong == 0);
}

/* Pools that are paused and resumed by others while they work, and freed while paused. */
static void * pauses(void * arg) {
    struct ggml_threadpool * pool = arg;
    for (int i = 0; i < 300; i++) {
        ggml_threadpool_pause(pool);
        usleep(100);
        ggml_threadpool_resume(pool);
    }
    return NULL;
}

TEST(paused_while_it_works) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(4);
    struct ggml_threadpool *      pool   = ggml_threadpool_new(&params);
    struct chain                  c      = make_chain(NULL, 5, 1000);
    pthread_t                     thread;
    pthread_create(&thread, NULL, pauses, pool);
    for (int i = 0; i < 300; i++) {
        struct ggml_cplan plan = { .n_threads = 1 + i % 7, .threadpool = pool };
        CHECK(ggml_graph_compute(c.graph, &plan) == GGML_STATUS_SUCCESS);
        CHECK(chain_is_right(&c));
    }
    pthread_join(thread, NULL);
    ggml_threadpool_pause(pool);
    ggml_threadpool_free(pool);
    ggml_free(c.ctx);
}
