/* SPDX-License-Identifier: MIT
 *
 * Out of memory at every allocation of the library, one after another, and from each on for good; threads that cannot be made. This
 * program is linked so that the library's calls of malloc and its kin come here first. Wanted: a status or NULL with a
 * text, nothing leaked (this program counts), and everything works afterwards.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "gguf.h"
#include "support.h"

void * __real_malloc(size_t size);
void * __real_calloc(size_t n, size_t size);
void * __real_realloc(void * p, size_t size);
int    __real_posix_memalign(void ** out, size_t alignment, size_t size);
int    __real_pthread_create(pthread_t * thread, const pthread_attr_t * attr, void * (*fn)(void *), void * arg);
void * __wrap_malloc(size_t size);
void * __wrap_calloc(size_t n, size_t size);
void * __wrap_realloc(void * p, size_t size);
int    __wrap_posix_memalign(void ** out, size_t alignment, size_t size);
int    __wrap_pthread_create(pthread_t * thread, const pthread_attr_t * attr, void * (*fn)(void *), void * arg);

static atomic_long n_calls;
static atomic_long fail_at; /* 0: none */
static atomic_bool fail_on; /* all from there on */

static bool refused(void) {
    const long at = atomic_load(&fail_at);
    if (at == 0) {
        return false;
    }
    const long call = atomic_fetch_add(&n_calls, 1) + 1;
    return call == at || (fail_on && call > at);
}

void * __wrap_malloc(size_t size) {
    return refused() ? NULL : __real_malloc(size);
}

void * __wrap_calloc(size_t n, size_t size) {
    return refused() ? NULL : __real_calloc(n, size);
}

void * __wrap_realloc(void * p, size_t size) {
    return refused() ? NULL : __real_realloc(p, size);
}

int __wrap_posix_memalign(void ** out, size_t alignment, size_t size) {
    return refused() ? ENOMEM : __real_posix_memalign(out, alignment, size);
}

int __wrap_pthread_create(pthread_t * thread, const pthread_attr_t * attr, void * (*fn)(void *), void * arg) {
    return refused() ? EAGAIN : __real_pthread_create(thread, attr, fn, arg);
}

static void quiet(enum ggml_log_level level, const char * text, void * ud) {
    (void) level, (void) text, (void) ud;
}

/* What a scene reports. */
enum outcome { DONE, REFUSED, WRONG };

/* Runs the scene with the n-th allocation refused, for n = 1, 2, ... until it is not reached any more. */
static void refuse_each(enum outcome (*scene)(void), bool for_good) {
    ggml_log_set(quiet, NULL);
    CHECK(scene() == DONE); /* what is made once per process is there */
    int n_refused = 0;
    for (long n = 1; n < 100000; n++) {
        atomic_store(&n_calls, 0);
        atomic_store(&fail_on, for_good);
        ggml_ext_set_error("%s", "");
        atomic_store(&fail_at, n);
        const enum outcome outcome = scene();
        atomic_store(&fail_at, 0);
        CHECK_MSG(outcome != WRONG, "allocation %ld%s: wrong", n, for_good ? " and all after" : "");
        if (outcome == REFUSED) {
            n_refused++;
            CHECK_MSG(ggml_ext_last_error()[0] != 0, "allocation %ld%s: no text", n, for_good ? " and all after" : "");
        }
        if (n_calls < n) {
            CHECK(outcome == DONE);
            break;
        }
    }
    CHECK(n_refused > 0);
    CHECK(scene() == DONE);
    ggml_log_set(NULL, NULL);
}

static void refuse(enum outcome (*scene)(void)) {
    refuse_each(scene, false);
    refuse_each(scene, true);
}

/* ---- scenes ---- */

static struct ggml_tensor * grow(struct ggml_context * ctx, struct ggml_tensor * x, int n) {
    for (int i = 0; i < n; i++) {
        x = ggml_add(ctx, ggml_soft_max(ctx, x), ggml_sqr(ctx, x));
    }
    return x;
}

static enum outcome graphs(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    if (ctx == NULL) {
        return REFUSED;
    }
    graft_set_checked(ctx, true);
    struct ggml_tensor * x     = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
    struct ggml_tensor * y     = grow(ctx, x, 20);
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 4, true); /* grows beyond it */
    if (graph != NULL) {
        ggml_build_forward_expand(graph, y);
    }
    const bool whole = graph != NULL && ggml_graph_n_nodes(graph) == 60;
    const bool error = graft_context_status(ctx) != GGML_STATUS_SUCCESS;
    if (error) {
        ggml_ext_set_error("%s", graft_context_error(ctx));
    }
    ggml_free(ctx);
    return whole ? DONE : error ? REFUSED : WRONG;
}

TEST(graphs_that_grow) {
    refuse(graphs);
}

static enum outcome backward(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    if (ctx == NULL) {
        return REFUSED;
    }
    graft_set_checked(ctx, true);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
    ggml_set_param(x);
    struct ggml_tensor * loss  = ggml_sum(ctx, grow(ctx, x, 3));
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 256, true);
    if (loss != NULL && graph != NULL) {
        ggml_set_loss(loss);
        ggml_build_forward_expand(graph, loss);
        ggml_build_backward_expand(ctx, graph, NULL);
    }
    const bool error = graft_context_status(ctx) != GGML_STATUS_SUCCESS;
    const bool whole = graph != NULL && !error && ggml_graph_get_grad(graph, x) != NULL;
    if (error) {
        ggml_ext_set_error("%s", graft_context_error(ctx));
    }
    ggml_free(ctx);
    return whole ? DONE : error ? REFUSED : WRONG;
}

TEST(gradients) {
    refuse(backward);
}

static bool result_is(const struct ggml_tensor * y, float value) {
    return ((const float *) y->data)[0] == value && ((const float *) y->data)[63] == value;
}

static enum outcome allocator(void) {
    enum outcome          outcome = REFUSED;
    struct ggml_context * ctx     = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    ggml_gallocr_t        galloc  = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    ggml_backend_t        backend = ggml_backend_cpu_init();
    if (ctx != NULL && galloc != NULL && backend != NULL) {
        struct ggml_cgraph * graph = ggml_new_graph(ctx);
        struct ggml_tensor * x     = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
        ggml_set_input(x);
        struct ggml_tensor * y = ggml_scale(ctx, grow(ctx, x, 20), 0.0f);
        ggml_build_forward_expand(graph, y);
        if (ggml_gallocr_reserve(galloc, graph) && ggml_gallocr_alloc_graph(galloc, graph)) {
            memset(x->data, 0, ggml_nbytes(x));
            ggml_backend_cpu_set_n_threads(backend, 3);
            if (ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS) {
                outcome = result_is(y, 0.0f) ? DONE : WRONG;
            }
        }
    }
    ggml_backend_free(backend);
    ggml_gallocr_free(galloc);
    ggml_free(ctx);
    return outcome;
}

TEST(allocator_and_backend) {
    refuse(allocator);
}

static enum outcome scheduler(void) {
    enum outcome          outcome = REFUSED;
    struct ggml_context * ctx     = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    ggml_backend_t        backend = ggml_backend_cpu_init();
    ggml_backend_sched_t  sched   = backend != NULL ? ggml_backend_sched_new(&backend, NULL, 1, 4, false, true) : NULL;
    if (ctx != NULL && sched != NULL) {
        struct ggml_cgraph * graph = ggml_new_graph(ctx);
        struct ggml_tensor * x     = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 8);
        ggml_set_input(x);
        struct ggml_tensor * y = ggml_scale(ctx, grow(ctx, x, 20), 0.0f);
        ggml_set_output(y);
        ggml_build_forward_expand(graph, y);
        ggml_backend_cpu_set_n_threads(backend, 2);
        if (ggml_backend_sched_alloc_graph(sched, graph)) {
            memset(x->data, 0, ggml_nbytes(x));
            if (ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS) {
                outcome = result_is(y, 0.0f) ? DONE : WRONG;
            }
        }
    }
    ggml_backend_sched_free(sched);
    ggml_backend_free(backend);
    ggml_free(ctx);
    return outcome;
}

TEST(scheduler_and_backend) {
    refuse(scheduler);
}

/* Matrix product, attention-like product over threads, client's own plan. */
static enum outcome direct(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ 1 << 22, NULL, false });
    if (ctx == NULL) {
        return REFUSED;
    }
    struct ggml_tensor * w = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 32);
    struct ggml_tensor * x = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 5);
    memset(w->data, 0, ggml_nbytes(w));
    memset(x->data, 0, ggml_nbytes(x));
    struct ggml_tensor * y     = ggml_mul_mat(ctx, w, x);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    memset(y->data, 0xFF, ggml_nbytes(y));
    struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
    struct ggml_threadpool *      pool   = ggml_threadpool_new(&params);
    enum outcome                  outcome = REFUSED;
    if (pool != NULL) {
        struct ggml_cplan      plan   = { .n_threads = 3, .threadpool = pool };
        const enum ggml_status status = ggml_graph_compute(graph, &plan);
        if (status == GGML_STATUS_SUCCESS) {
            outcome = result_is(y, 0.0f) ? DONE : WRONG;
        }
    }
    ggml_threadpool_free(pool);
    ggml_free(ctx);
    return outcome;
}

TEST(direct_computation) {
    refuse(direct);
}

static int n_names;

static enum outcome registration(void) {
    char op[GGML_EXT_MAX_NAME], kernel[GGML_EXT_MAX_NAME];
    snprintf(op, sizeof(op), "robust.memory%d.v1", n_names);
    snprintf(kernel, sizeof(kernel), "robust.memory-%d", n_names++);
    if (register_op_named(op) != GGML_STATUS_SUCCESS) {
        return REFUSED;
    }
    const size_t                      before = ggml_ext_kernel_count(cpu_device_of_test());
    const struct ggml_ext_kernel_desc desc   = { .size = sizeof(desc), .name = kernel, .op = GGML_OP_CUSTOM, .op_name = op,
                                                 .supports = supports_all,
                                                 .execute = (enum ggml_status (*)(void *, void *, ggml_backend_t, ggml_backend_buffer_t,
                                                                                  struct ggml_tensor * const *, int)) (void (*)(void)) abort };
    if (ggml_ext_register_kernel(cpu_device_of_test(), &desc) != GGML_STATUS_SUCCESS) {
        return ggml_ext_kernel_count(cpu_device_of_test()) == before ? REFUSED : WRONG;
    }
    return DONE;
}

TEST(registration_of_operators_and_kernels) {
    refuse(registration);
}

/* ---- files ---- */

static char path[64];

static enum outcome read_file(void) {
    struct ggml_context *    ctx    = NULL;
    struct gguf_init_params  params = { .no_alloc = false, .ctx = &ctx };
    struct gguf_context *    file   = gguf_init_from_file(path, params);
    if (file == NULL) {
        return ctx == NULL ? REFUSED : WRONG;
    }
    const bool right = gguf_get_n_tensors(file) == 3 && gguf_get_n_kv(file) == 2 && ggml_get_tensor(ctx, "t2") != NULL;
    gguf_free(file);
    ggml_free(ctx);
    return right ? DONE : WRONG;
}

static enum outcome write_file(void) {
    struct ggml_context * ctx  = ggml_init((struct ggml_init_params){ 1 << 16, NULL, false });
    struct gguf_context * file = gguf_init_empty();
    if (ctx == NULL || file == NULL) {
        gguf_free(file);
        ggml_free(ctx);
        return REFUSED;
    }
    static const char * words[] = { "one", "two", "a longer one, so that it needs memory of its own" };
    gguf_set_val_str(file, "general.name", "a name that is longer than a small string");
    gguf_set_arr_str(file, "words", words, 3);
    for (int i = 0; i < 3; i++) {
        struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 10);
        ggml_format_name(t, "t%d", i);
        memset(t->data, 0, ggml_nbytes(t));
        gguf_add_tensor(file, t);
    }
    const bool written = gguf_write_to_file(file, path, false);
    gguf_free(file);
    ggml_free(ctx);
    return written ? DONE : REFUSED;
}

TEST(files) {
    snprintf(path, sizeof(path), P_tmpdir "/graft-robust-%d.gguf", (int) getpid());
    CHECK(write_file() == DONE);
    refuse(read_file);
    remove(path);
}
