/* SPDX-License-Identifier: MIT
 *
 * Every allocation of the reader, of a change and of the writer fails once: the result is NULL, false or a context that
 * refuses to be written, with a text; nothing leaks, nothing crashes. The allocator of this program stands in front of
 * the C library's.
 */
#include "harness.h"

#include "ggml-ext.h"
#include "gguf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#if !defined(OWN_ALLOCATOR) && defined(__GLIBC__)
#define OWN_ALLOCATOR 1
#endif

#if OWN_ALLOCATOR

extern void * __libc_malloc(size_t size);
extern void * __libc_calloc(size_t n, size_t size);
extern void * __libc_realloc(void * ptr, size_t size);
extern void * __libc_memalign(size_t align, size_t size);
extern void   __libc_free(void * ptr);

/* The libraries must find these, though the build hides symbols. */
#define SEEN __attribute__((visibility("default")))

static bool counting;
static int  allocations, fail_at, live;

static bool must_fail(void) {
    return counting && allocations++ == fail_at;
}

static void * counted(void * ptr) {
    live += counting && ptr != NULL;
    return ptr;
}

SEEN void * malloc(size_t size) {
    return must_fail() ? NULL : counted(__libc_malloc(size));
}
SEEN void * calloc(size_t n, size_t size) {
    return must_fail() ? NULL : counted(__libc_calloc(n, size));
}
SEEN void * realloc(void * ptr, size_t size) {
    if (must_fail()) {
        return NULL;
    }
    return ptr == NULL ? counted(__libc_realloc(ptr, size)) : __libc_realloc(ptr, size);
}
SEEN void * memalign(size_t align, size_t size);
void *      memalign(size_t align, size_t size) {
         return must_fail() ? NULL : counted(__libc_memalign(align, size));
}
SEEN void * aligned_alloc(size_t align, size_t size) {
    return memalign(align, size);
}
SEEN int posix_memalign(void ** ptr, size_t align, size_t size) {
    *ptr = memalign(align, size);
    return *ptr == NULL ? ENOMEM : 0;
}
SEEN void free(void * ptr) {
    live -= counting && ptr != NULL;
    __libc_free(ptr);
}

static void count_from(int n) {
    allocations = 0;
    fail_at     = n;
    live        = 0;
    counting    = true;
}

static void quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

static size_t read_sample(const char * name, char * bytes, size_t most) {
    char path[1024];
    snprintf(path, sizeof(path), "%s/gguf/%s", GRAFT_TEST_DATA, name);
    FILE * file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    const size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}

struct source {
    const char * bytes;
    size_t       size;
};

static size_t read_chunk(void * userdata, void * output, uint64_t offset, size_t n) {
    const struct source * source = userdata;
    const size_t          left   = offset < source->size ? source->size - (size_t) offset : 0;
    const size_t          got    = n < left ? n : left;
    memcpy(output, source->bytes + source->size - left, got);
    return got;
}

/* Reads until no allocation fails; returns how many there are. */
static int check_reads(struct source * source, bool callback) {
    for (int n = 0;; n++) {
        struct ggml_context *         data   = NULL;
        const struct gguf_init_params params = {false, &data};
        count_from(n);
        struct gguf_context * ctx    = callback ? gguf_init_from_callback(read_chunk, source, 0, source->size, params)
                                                : gguf_init_from_buffer(source->bytes, source->size, params);
        const int             made   = allocations;
        const bool            failed = ctx == NULL;
        if (failed) {
            counting = false;
            CHECK_MSG(data == NULL && live == 0, "allocation %d fails: %d blocks leak", n, live);
            CHECK_MSG(strstr(ggml_ext_last_error(), "memory") != NULL, "allocation %d fails: '%s'", n,
                      ggml_ext_last_error());
            continue;
        }
        gguf_free(ctx);
        ggml_free(data);
        counting = false;
        CHECK_MSG(live == 0, "%d blocks leak", live);
        if (made <= n) { /* none failed any more */
            return made;
        }
    }
}

static void change(struct gguf_context * ctx) {
    static float       data[4] = {1, 2, 3, 4};
    const char *       words[] = {"a", "bc"};
    struct ggml_tensor t       = {
              .type = GGML_TYPE_F32, .ne = {4, 1, 1, 1}, .nb = {4, 16, 16, 16}, .data = data, .name = "t"};
    struct gguf_context * other = gguf_init_empty();
    gguf_set_val_u32(ctx, "number", 1);
    gguf_set_val_str(ctx, "string", "text");
    gguf_set_arr_str(ctx, "strings", words, 2);
    gguf_set_arr_data(ctx, "array", GGUF_TYPE_FLOAT32, data, 4);
    if (other != NULL) {
        gguf_set_kv(other, ctx);
        gguf_free(other);
    }
    gguf_add_tensor(ctx, &t);
}

TEST(reading_without_memory) {
    static char   bytes[4096];
    struct source source = {bytes, read_sample("peer.gguf", bytes, sizeof(bytes))};
    REQUIRE(source.size > 0);
    ggml_log_set(quiet, NULL);
    CHECK(check_reads(&source, false) > 40);
    CHECK(check_reads(&source, true) > 40);
    source.size = read_sample("python-big.gguf", bytes, sizeof(bytes));
    CHECK(check_reads(&source, false) > 40);
    ggml_log_set(NULL, NULL);
}

TEST(changing_without_memory) {
    static char out[4096];
    ggml_log_set(quiet, NULL);
    for (int n = 0;; n++) {
        struct gguf_context * ctx = gguf_init_empty();
        count_from(n);
        change(ctx);
        const int made        = allocations;
        fail_at               = -1;
        const bool   complete = gguf_get_n_kv(ctx) == 4 && gguf_get_n_tensors(ctx) == 1;
        const size_t size     = gguf_get_meta_size(ctx);
        CHECK_MSG((size > 0) == complete, "allocation %d fails: %s", n,
                  complete ? "complete, but not written" : "written, though incomplete");
        CHECK(complete || strstr(ggml_ext_last_error(), "out of memory") != NULL);
        if (size > 0 && size <= sizeof(out)) {
            gguf_get_meta_data(ctx, out);
        }
        gguf_free(ctx);
        counting = false;
        CHECK_MSG(live == -1, "allocation %d fails: %d blocks leak", n,
                  live + 1); /* the context came before counting */
        if (made <= n) {
            break;
        }
    }
    ggml_log_set(NULL, NULL);
}

#else

TEST(without_memory) {
    SKIP("the allocator of this build cannot be replaced");
}

#endif
