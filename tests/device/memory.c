/* SPDX-License-Identifier: MIT
 *
 * Every allocation of an operation fails once: the operation fails with a text, leaves nothing behind, and works the
 * next time.
 */
#include "device/support.h"
#include "ggml-opt.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)
#define CAN_FAIL 1

/* The C library's own allocator, below the names that this program takes over for itself and all its libraries. */
void * __libc_malloc(size_t size);
void * __libc_calloc(size_t n, size_t size);
void * __libc_realloc(void * ptr, size_t size);
void * __libc_memalign(size_t align, size_t size);
void   __libc_free(void * ptr);

static long countdown = -1; /* allocations until the one that fails; -1: none does */
static long live;           /* allocated and not freed */
static bool failed;

static bool fails(void) {
    if (countdown < 0) {
        return false;
    }
    if (countdown-- == 0) {
        failed = true;
        return true;
    }
    return false;
}

static void * counted(void * ptr) {
    live += ptr != NULL;
    return ptr;
}

#define TAKE_OVER __attribute__((visibility("default")))

TAKE_OVER void * malloc(size_t size) {
    return fails() ? NULL : counted(__libc_malloc(size));
}

TAKE_OVER void * calloc(size_t n, size_t size) {
    return fails() ? NULL : counted(__libc_calloc(n, size));
}

TAKE_OVER void * realloc(void * ptr, size_t size) {
    if (fails()) {
        return NULL;
    }
    void * grown = __libc_realloc(ptr, size);
    live += ptr == NULL && grown != NULL;
    return grown;
}

TAKE_OVER int posix_memalign(void ** ptr, size_t align, size_t size) {
    *ptr = fails() ? NULL : counted(__libc_memalign(align, size));
    return *ptr != NULL ? 0 : 12; /* ENOMEM */
}

TAKE_OVER void free(void * ptr) {
    live -= ptr != NULL;
    __libc_free(ptr);
}
#endif

/* Runs the operation with its first, second, ... allocation failing, until all of them succeed. */
static void fail_each(const char * name, bool (*operation)(void *), void * data) {
#ifdef CAN_FAIL
    log_begin();
    CHECK_MSG(operation(data), "%s fails with memory at hand", name); /* once before: what is kept for ever is there */
    for (int n = 0; n < 1000; n++) {
        const long before = live;
        logged[0]         = 0;
        failed            = false;
        countdown         = n;
        const bool good   = operation(data);
        countdown         = -1;
        CHECK_MSG(live == before, "%s, allocation %d: %ld blocks stay behind", name, n, live - before);
        if (!failed) {
            CHECK_MSG(good && n > 0, "%s: %d allocations", name, n);
            harness_count_run(n);
            break;
        }
        CHECK_MSG(good || ggml_ext_last_error()[0] != 0, "%s, allocation %d: no text", name, n);
    }
    ggml_log_set(NULL, NULL);
#else
    (void) operation;
    (void) data;
    (void) name;
    harness_count_skipped("allocations cannot be made to fail in this build", 1);
#endif
}

static bool make_host_buffer(void * data) {
    (void) data;
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 1000);
    ggml_backend_buffer_free(buffer);
    return buffer != NULL;
}

static bool make_empty_buffer(void * data) {
    (void) data;
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 0);
    ggml_backend_buffer_free(buffer);
    return buffer != NULL;
}

static bool make_multi_buffer(void * data) {
    (void) data;
    ggml_backend_buffer_t parts[2] = {NULL, NULL};
    ggml_backend_buffer_t whole    = NULL;
    int                   n        = 0;
    while (n < 2 && (parts[n] = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 100)) != NULL) {
        n++;
    }
    if (n == 2) {
        whole = ggml_backend_multi_buffer_alloc_buffer(parts, 2);
    }
    if (whole == NULL) { /* they stayed ours */
        ggml_backend_buffer_free(parts[0]);
        ggml_backend_buffer_free(parts[1]);
    }
    ggml_backend_buffer_free(whole);
    return whole != NULL;
}

TEST(buffers) {
    fail_each("host buffer", make_host_buffer, NULL);
    fail_each("empty buffer", make_empty_buffer, NULL);
    fail_each("multi buffer", make_multi_buffer, NULL);
}

struct graph_case {
    ggml_backend_t       backend;
    struct ggml_cgraph * graph;
    struct ggml_tensor * from, *to;
};

static bool copy_graph(void * data) {
    const struct graph_case *      c    = data;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(c->backend, c->graph);
    ggml_backend_graph_copy_free(copy);
    return copy.graph != NULL;
}

/* Has no way to fail: with no memory for all of it, it goes in small pieces. */
static bool copy_tensor(void * data) {
    const struct graph_case * c = data;
    static char               zero[40000], out[40000];
    ggml_backend_tensor_set(c->to, zero, 0, sizeof(zero));
    ggml_backend_tensor_copy(c->from, c->to);
    ggml_backend_tensor_get(c->to, out, 0, sizeof(out));
    for (size_t i = 0; i < sizeof(out); i++) {
        if (out[i] != 7) {
            return false;
        }
    }
    return true;
}

TEST(copies) {
    struct graph_case     c   = {.backend = test_backend(0)};
    struct ggml_context * ctx = test_context();
    REQUIRE(c.backend != NULL);
    c.from                   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 10000);
    c.to                     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 10000);
    struct ggml_tensor * sum = ggml_add(ctx, c.from, ggml_view_1d(ctx, c.to, 10000, 0));
    c.graph                  = ggml_new_graph(ctx);
    ggml_build_forward_expand(c.graph, sum);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, c.backend);
    REQUIRE(buffer != NULL);
    ggml_backend_tensor_memset(c.from, 7, 0, 40000);
    fail_each("graph copy", copy_graph, &c);
    fail_each("tensor copy", copy_tensor, &c);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    ggml_backend_free(c.backend);
}

static bool make_dataset(void * data) {
    (void) data;
    ggml_opt_dataset_t set = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, 4, 2, 10, 5);
    ggml_opt_dataset_free(set);
    return set != NULL;
}

TEST(datasets) {
    fail_each("dataset", make_dataset, NULL);
}

static const char * registry_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "memory";
}

static size_t registry_devices(ggml_backend_reg_t reg) {
    (void) reg;
    return 1;
}

static ggml_backend_dev_t registry_device(ggml_backend_reg_t reg, size_t index) {
    (void) index;
    return reg->context;
}

static bool register_and_unload(void * data) {
    (void) data;
    static struct ggml_backend_reg reg = {
        .api_version = GGML_BACKEND_API_VERSION,
        .iface = {.get_name = registry_name, .get_device_count = registry_devices, .get_device = registry_device}};
    static struct ggml_backend_device device = {.reg = &reg};
    reg.context                              = &device;
    const size_t n                           = ggml_backend_dev_count();
    ggml_backend_register(&reg);
    if (ggml_backend_reg_by_name("memory") == NULL) {
        return ggml_backend_dev_count() == n ? false : (abort(), false);
    }
    ggml_backend_unload(&reg);
    return ggml_backend_dev_count() == n;
}

static bool load_folder(void * data) {
    (void) data;
    log_begin();
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/exe"); /* loaded already: the search alone */
    return !log_has("no memory");
}

TEST(registries) {
    fail_each("registering", register_and_unload, NULL);
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/exe");
    REQUIRE(ggml_backend_reg_by_name("MUSA") != NULL);
    fail_each("search", load_folder, NULL);
}
