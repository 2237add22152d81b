/* SPDX-License-Identifier: MIT
 *
 * What planning asks of malloc: nothing when an allocated graph is computed again, or when the same kind of graph is
 * allocated again; and every refusal is an error, not a crash or a leak. This program brings its own malloc, so the
 * tests are left out where a sanitizer has one already.
 */
#include "toy.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(SANITIZED) || !defined(__GLIBC__)

TEST(malloc_is_not_ours) {
    SKIP("malloc cannot be replaced in this build");
}

#else

void * __libc_malloc(size_t size);
void * __libc_calloc(size_t n, size_t size);
void * __libc_realloc(void * p, size_t size);
void * __libc_memalign(size_t alignment, size_t size);
void   __libc_free(void * p);

/* volatile: compilers know what malloc does, and that it changes nothing of ours */
static volatile long n_calls; /* that give memory */
static volatile long n_live;
static volatile long fail_at; /* 0: none; all from there on fail when fail_on is set */
static volatile bool fail_on;

static bool refused(void) {
    n_calls++;
    return fail_at > 0 && (n_calls == fail_at || (fail_on && n_calls > fail_at));
}

#pragma GCC visibility push(default) /* the libraries must find these */

void * malloc(size_t size) {
    void * p = refused() ? NULL : __libc_malloc(size);
    n_live += p != NULL;
    return p;
}

void * calloc(size_t n, size_t size) {
    void * p = refused() ? NULL : __libc_calloc(n, size);
    n_live += p != NULL;
    return p;
}

void * realloc(void * old, size_t size) {
    void * p = refused() ? NULL : __libc_realloc(old, size);
    n_live += p != NULL && old == NULL;
    return p;
}

void * aligned_alloc(size_t alignment, size_t size) {
    void * p = refused() ? NULL : __libc_memalign(alignment, size);
    n_live += p != NULL;
    return p;
}

int posix_memalign(void ** out, size_t alignment, size_t size) {
    *out = aligned_alloc(alignment, size);
    return *out != NULL ? 0 : 12; /* ENOMEM */
}

void free(void * p) {
    n_live -= p != NULL;
    __libc_free(p);
}

#pragma GCC visibility pop

struct scene {
    struct toy            gpu, cpu;
    struct ggml_context * ctx;
    struct ggml_cgraph *  graph;
    struct ggml_tensor *  x;
    struct ggml_tensor *  y;
};

static void build(struct scene * s) {
    ggml_reset(s->ctx);
    s->graph = ggml_new_graph_custom(s->ctx, 256, false);
    s->x     = ggml_new_tensor_2d(s->ctx, GGML_TYPE_F32, 8, 8);
    ggml_set_input(s->x);
    s->y = s->x;
    for (int i = 0; i < 20; i++) {
        s->y = ggml_add(s->ctx, ggml_rms_norm(s->ctx, s->y, 1.0f), ggml_sqr(s->ctx, s->y));
    }
    ggml_build_forward_expand(s->graph, s->y);
}

static void open_scene(struct scene * s) {
    toy_init(&s->gpu, "gpu", GGML_BACKEND_DEVICE_TYPE_GPU);
    toy_init(&s->cpu, "cpu", GGML_BACKEND_DEVICE_TYPE_CPU);
    s->ctx = toy_context(256);
    build(s);
}

static void close_scene(struct scene * s) {
    ggml_free(s->ctx);
    toy_free(&s->gpu);
    toy_free(&s->cpu);
}

static ggml_backend_sched_t new_sched(struct scene * s) {
    ggml_backend_t backends[2] = {&s->gpu.backend, &s->cpu.backend};
    return ggml_backend_sched_new(backends, NULL, 2, 4, false, false);
}

/* Splits on both devices, so that copies are part of it. */
static void scatter(struct scene * s, ggml_backend_sched_t sched) {
    for (int i = 0; i < s->graph->n_nodes; i++) {
        ggml_backend_sched_set_tensor_backend(sched, s->graph->nodes[i], i / 6 % 2 ? &s->gpu.backend : &s->cpu.backend);
    }
}

TEST(computing_again_allocates_nothing) {
    struct scene s;
    open_scene(&s);
    ggml_backend_sched_t sched = new_sched(&s);
    scatter(&s, sched);
    REQUIRE(ggml_backend_sched_alloc_graph(sched, s.graph));
    toy_fill(s.x, 1);
    CHECK(ggml_backend_sched_graph_compute(sched, s.graph) == GGML_STATUS_SUCCESS);
    const long before = n_calls;
    for (int i = 0; i < 10; i++) {
        CHECK(ggml_backend_sched_graph_compute(sched, s.graph) == GGML_STATUS_SUCCESS);
    }
    CHECK_MSG(n_calls == before, "%ld calls of malloc", n_calls - before);
    ggml_backend_sched_free(sched);
    close_scene(&s);
}

TEST(allocating_again_allocates_nothing) {
    struct scene s;
    open_scene(&s);
    ggml_backend_sched_t sched  = new_sched(&s);
    long                 before = 0;
    for (int i = 0; i < 10; i++) {
        build(&s);
        if (i == 2) {
            before = n_calls;
        }
        ggml_backend_sched_reset(sched);
        scatter(&s, sched);
        REQUIRE(ggml_backend_sched_alloc_graph(sched, s.graph));
        CHECK(ggml_backend_sched_graph_compute(sched, s.graph) == GGML_STATUS_SUCCESS);
    }
    CHECK_MSG(n_calls == before, "%ld calls of malloc", n_calls - before);
    ggml_backend_sched_free(sched);
    close_scene(&s);
}

/* Everything that a scheduler does, with the n-th call of malloc refused (on: and all after it). */
static bool survive(long n, bool on) {
    struct scene s;
    open_scene(&s);
    const long live            = n_live;
    bool       ok              = true;
    size_t     sizes[2]        = {0};
    fail_at                    = n_calls + n;
    fail_on                    = on;
    ggml_backend_sched_t sched = new_sched(&s);
    if (sched != NULL) {
        scatter(&s, sched);
        ggml_backend_sched_reserve_size(sched, s.graph, sizes);
        ok      = ggml_backend_sched_reserve(sched, s.graph) && ok;
        ok      = ggml_backend_sched_graph_compute(sched, s.graph) == GGML_STATUS_SUCCESS && ok;
        fail_at = fail_at > n_calls ? fail_at : 0;
        if (fail_at == 0) { /* memory is back: everything works */
            ggml_backend_sched_reset(sched);
            CHECK(ggml_backend_sched_alloc_graph(sched, s.graph));
            toy_fill(s.x, 1);
            CHECK(ggml_backend_sched_graph_compute(sched, s.graph) == GGML_STATUS_SUCCESS);
        }
    }
    const bool hit = fail_at == 0 || sched == NULL;
    fail_at        = 0;
    ggml_backend_sched_free(sched);
    CHECK_MSG(n_live == live, "allocation %ld refused: %ld blocks leaked", n, n_live - live);
    CHECK(hit || ok);
    close_scene(&s);
    return hit;
}

TEST(every_allocation_refused_once) {
    long n = 1;
    while (n < 2000 && survive(n, false)) {
        n++;
    }
    CHECK_MSG(n > 20 && n < 2000, "%ld allocations", n);
    harness_count_run((int) n);
}

TEST(everything_refused_from_some_allocation_on) {
    long n = 1;
    while (n < 2000 && survive(n, true)) {
        n++;
    }
    harness_count_run((int) n);
}

#endif
