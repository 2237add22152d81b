/* SPDX-License-Identifier: MIT
 *
 * The team of threads under changing counts, abort at every node, pause, several contexts at once, fork and exit.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "harness.h"

#define ROWS 64

/* A chain of adds over [width, ROWS]: each depends on the one before. */
struct chain {
    struct ggml_context * ctx;
    struct ggml_tensor *  a;
    struct ggml_tensor *  last;
    struct ggml_cgraph *  graph;
    int                   n;
};

static struct chain make_chain(int n, int width) {
    struct chain c = { .n = n };
    c.ctx          = ggml_init((struct ggml_init_params){ (size_t) (n + 2) * ((size_t) width * ROWS * 4 + 1024) + (1 << 18), NULL, false });
    c.a            = ggml_new_tensor_2d(c.ctx, GGML_TYPE_F32, width, ROWS);
    for (int64_t i = 0; i < ggml_nelements(c.a); i++) {
        ((float *) c.a->data)[i] = 1.0f;
    }
    c.last = c.a;
    for (int i = 0; i < n; i++) {
        c.last = ggml_add(c.ctx, c.last, c.a);
    }
    c.graph = ggml_new_graph(c.ctx);
    ggml_build_forward_expand(c.graph, c.last);
    return c;
}

static bool is_right(const struct chain * c) {
    for (int64_t i = 0; i < ggml_nelements(c->last); i++) {
        if (((float *) c->last->data)[i] != (float) (c->n + 1)) {
            return false;
        }
    }
    return true;
}

TEST(changing_thread_counts) {
    struct chain   c       = make_chain(20, 257);
    ggml_backend_t backend = ggml_backend_cpu_init();
    static const int counts[] = { 1, 2, 3, 5, 8, 2, 64, 1, 4 };
    for (int round = 0; round < 45; round++) {
        ggml_backend_cpu_set_n_threads(backend, counts[round % 9]);
        memset(c.last->data, 0xFF, ggml_nbytes(c.last));
        CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
        CHECK(is_right(&c));
    }
    ggml_backend_free(backend);
    ggml_free(c.ctx);
}

static bool abort_after(void * arg) {
    return (*(int *) arg)-- <= 0;
}

TEST(abort_at_every_node) {
    for (int threads = 1; threads <= 8; threads++) {
        struct chain   c       = make_chain(6, 300);
        ggml_backend_t backend = ggml_backend_cpu_init();
        ggml_backend_cpu_set_n_threads(backend, threads);
        for (int round = 0; round < 300; round++) {
            int left = round % 7;
            ggml_backend_cpu_set_abort_callback(backend, abort_after, &left);
            const enum ggml_status status = ggml_backend_graph_compute(backend, c.graph);
            CHECK(status == (round % 7 < 6 ? GGML_STATUS_ABORTED : GGML_STATUS_SUCCESS));
        }
        ggml_backend_cpu_set_abort_callback(backend, NULL, NULL);
        CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
        CHECK(is_right(&c));
        ggml_backend_free(backend);
        ggml_free(c.ctx);
    }
}

/* The graph is freed as soon as computing returns; an empty graph is computed too. */
TEST(build_compute_free) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
    struct ggml_threadpool *      pool   = ggml_threadpool_new(&params);
    ggml_backend_t                backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 3);
    ggml_backend_cpu_set_threadpool(backend, pool);
    for (int round = 0; round < 300; round++) {
        struct chain c = make_chain(round % 4, 33);
        CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
        CHECK(is_right(&c));
        ggml_free(c.ctx);
    }
    ggml_backend_cpu_set_threadpool(backend, NULL);
    ggml_threadpool_free(pool);
    ggml_backend_free(backend);
}

TEST(pause_and_resume) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
    params.paused                        = true;
    struct ggml_threadpool * pool        = ggml_threadpool_new(&params);
    struct chain             c           = make_chain(5, 100);
    for (int round = 0; round < 20; round++) {
        struct ggml_cplan plan = ggml_graph_plan(c.graph, 2, pool);
        plan.work_data         = malloc(plan.work_size);
        CHECK(ggml_graph_compute(c.graph, &plan) == GGML_STATUS_SUCCESS);
        CHECK(is_right(&c));
        free(plan.work_data);
        if (round % 3 == 0) {
            ggml_threadpool_pause(pool);
        }
        if (round % 4 == 0) {
            ggml_threadpool_resume(pool);
        }
    }
    ggml_threadpool_free(pool);
    ggml_free(c.ctx);
}

static void * compute_many(void * arg) {
    (void) arg;
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 2);
    bool ok = true;
    for (int round = 0; round < 50; round++) {
        struct chain c = make_chain(8, 65);
        ok             = ok && ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS && is_right(&c);
        ggml_free(c.ctx);
    }
    ggml_backend_free(backend);
    return ok ? arg : NULL;
}

TEST(several_contexts_at_once) {
    pthread_t threads[6];
    int       marks[6];
    for (int i = 0; i < 6; i++) {
        pthread_create(&threads[i], NULL, compute_many, &marks[i]);
    }
    for (int i = 0; i < 6; i++) {
        void * result;
        pthread_join(threads[i], &result);
        CHECK(result == &marks[i]);
    }
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

TEST(fork_leaves_a_working_child) {
#ifdef UNDER_TSAN
    SKIP("fork with threads is not supported by TSan");
#endif
    struct chain   c       = make_chain(4, 65);
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 3);
    CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        memset(c.last->data, 0, ggml_nbytes(c.last));
        const bool ok = ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS && is_right(&c);
        ggml_backend_free(backend);
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
    ggml_backend_free(backend);
    ggml_free(c.ctx);
}

TEST(too_many_threads_is_an_error) {
    struct ggml_threadpool_params params = ggml_threadpool_params_default(2);
    params.n_threads                     = GGML_MAX_N_THREADS + 1;
    CHECK(ggml_threadpool_new(&params) == NULL);
    params.n_threads = 0;
    CHECK(ggml_threadpool_new(&params) == NULL);
}

TEST(exit_with_idle_pool) {
#ifdef UNDER_TSAN
    SKIP("fork with threads is not supported by TSan");
#endif
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        struct chain c = make_chain(4, 65);
        exit(ggml_graph_compute_with_ctx(c.ctx, c.graph, 4) == GGML_STATUS_SUCCESS ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
