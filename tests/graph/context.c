/* SPDX-License-Identifier: MIT
 *
 * Contexts: the arena, given or own, full, reset; objects in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "ggml-impl.h"
#include "graft.h"
#include "harness.h"

TEST(overhead_is_what_clients_compute_with) {
    CHECK(ggml_tensor_overhead() == 368);
    CHECK(sizeof(struct ggml_tensor) == 336);
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 3 * ggml_tensor_overhead(), NULL, true });
    for (int i = 0; i < 3; i++) {
        CHECK(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 1000, 1000) != NULL);
        CHECK(ggml_used_mem(ctx) == (size_t) (i + 1) * ggml_tensor_overhead());
    }
    ggml_free(ctx);
}

TEST(caller_buffer_is_used_and_not_exceeded) {
    const size_t size = ggml_tensor_overhead() * 2 + 64;
    char *       area = malloc(size + 64);
    char *       base = (char *) (((uintptr_t) area + 31) & ~(uintptr_t) 31);
    memset(area, 0xA5, size + 64);
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { size, base, false });
    CHECK(ggml_get_mem_buffer(ctx) == base);
    CHECK(ggml_get_mem_size(ctx) == size);
    struct ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    struct ggml_tensor * b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    REQUIRE(a != NULL && b != NULL);
    CHECK((char *) a == base + 32);
    CHECK(a->data == a + 1);
    CHECK((char *) b == base + 32 + 336 + 32 + 32);
    memset(b->data, 0, ggml_nbytes(b));
    CHECK(ggml_used_mem(ctx) == size);
    for (size_t i = size; i < (size_t) (area + size + 64 - base); i++) {
        CHECK((unsigned char) base[i] == 0xA5);
    }
    ggml_free(ctx);
    free(area);
}

TEST(size_zero_and_odd_sizes) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 0, NULL, true });
    REQUIRE(ctx != NULL);
    CHECK(ggml_get_mem_size(ctx) == GGML_MEM_ALIGN);
    CHECK(ggml_used_mem(ctx) == 0);
    CHECK(ggml_get_first_tensor(ctx) == NULL);
    CHECK(ggml_get_max_tensor_size(ctx) == 0);
    ggml_free(ctx);
    ctx = ggml_init((struct ggml_init_params) { 1001, NULL, true });
    CHECK(ggml_get_mem_size(ctx) == 1008);
    ggml_free(ctx);
    ggml_free(NULL);
    ggml_reset(NULL);
}

/* Sanitizers end the program on impossible sizes unless told not to. */
const char * __asan_default_options(void);
const char * __tsan_default_options(void);
const char * __asan_default_options(void) {
    return "allocator_may_return_null=1";
}
const char * __tsan_default_options(void) {
    return "allocator_may_return_null=1";
}

TEST(impossible_contexts_are_null) {
    char area[128] __attribute__((aligned(16)));
    CHECK(ggml_init((struct ggml_init_params) { SIZE_MAX, NULL, true }) == NULL);
    CHECK(ggml_init((struct ggml_init_params) { SIZE_MAX / 2, NULL, true }) == NULL);
    CHECK(ggml_init((struct ggml_init_params) { 64, area + 4, true }) == NULL);
}

TEST(full_arena_in_checked_mode) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 2 * ggml_tensor_overhead(), NULL, true });
    graft_set_checked(ctx, true);
    struct ggml_tensor * a = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor * b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    CHECK(a != NULL && b != NULL);
    const size_t used = ggml_used_mem(ctx);
    CHECK(ggml_add(ctx, a, b) == NULL);
    CHECK(graft_context_status(ctx) == GGML_STATUS_ALLOC_FAILED);
    CHECK(strstr(graft_context_error(ctx), "not enough space in the context's memory") != NULL);
    CHECK(strstr(graft_context_error(ctx), "368 bytes needed, 0 of 736 are free") != NULL);
    CHECK(ggml_new_graph(ctx) == NULL);
    CHECK(ggml_new_buffer(ctx, 1) == NULL);
    CHECK(ggml_new_buffer(ctx, SIZE_MAX) == NULL);
    CHECK(ggml_used_mem(ctx) == used);
    ggml_reset(ctx);
    CHECK(graft_get_checked(ctx));
    CHECK(graft_context_status(ctx) == GGML_STATUS_SUCCESS);
    CHECK(graft_context_error(ctx)[0] == 0);
    CHECK(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4) == a);
    ggml_free(ctx);
}

static void overfill_with_tensors(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 500, NULL, true });
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
}

static void overfill_with_data(void) {
    ggml_new_tensor_1d(ggml_init((struct ggml_init_params) { 500, NULL, false }), GGML_TYPE_F32, 1000);
}

static void overfill_with_graph(void) {
    ggml_new_graph(ggml_init((struct ggml_init_params) { 500, NULL, false }));
}

static void overfill_with_buffer(void) {
    ggml_new_buffer(ggml_init((struct ggml_init_params) { 500, NULL, false }), 481);
}

TEST(full_arena_aborts_with_a_text) {
    CHECK_ABORTS(overfill_with_tensors, "not enough space in the context's memory");
    CHECK_ABORTS(overfill_with_data, "not enough space in the context's memory");
    CHECK_ABORTS(overfill_with_graph, "not enough space in the context's memory");
    CHECK_ABORTS(overfill_with_buffer, "not enough space in the context's memory");
}

TEST(tensors_are_listed_among_other_objects) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 1 << 16, NULL, true });
    void *                buffer = ggml_new_buffer(ctx, 100);
    struct ggml_tensor *  a      = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 5), "a");
    ggml_new_graph_custom(ctx, 4, false);
    struct ggml_tensor * b = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 5, 7), "b");
    CHECK(buffer != NULL && (uintptr_t) buffer % GGML_MEM_ALIGN == 0);
    CHECK(ggml_get_first_tensor(ctx) == a);
    CHECK(ggml_get_next_tensor(ctx, a) == b);
    CHECK(ggml_get_next_tensor(ctx, b) == NULL);
    CHECK(ggml_get_tensor(ctx, "b") == b);
    CHECK(ggml_get_tensor(ctx, "c") == NULL);
    CHECK(ggml_get_max_tensor_size(ctx) == 70);
    ggml_free(ctx);
}

static int  n_lines;
static void count_lines(enum ggml_log_level level, const char * text, void * user_data) {
    GGML_UNUSED(level);
    GGML_UNUSED(user_data);
    n_lines += strchr(text, '\n') != NULL;
}

TEST(objects_are_printed_through_the_log) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 1 << 16, NULL, true });
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 5);
    ggml_new_buffer(ctx, 10);
    n_lines = 0;
    ggml_log_set(count_lines, NULL);
    ggml_print_objects(ctx);
    ggml_log_set(NULL, NULL);
    CHECK(n_lines == 3);
    ggml_free(ctx);
}

TEST(no_alloc_can_be_switched) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 1 << 16, NULL, true });
    CHECK(ggml_get_no_alloc(ctx));
    CHECK(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 5)->data == NULL);
    ggml_set_no_alloc(ctx, false);
    CHECK(!ggml_get_no_alloc(ctx));
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 5);
    CHECK(t->data == t + 1);
    CHECK((uintptr_t) t->data % GGML_MEM_ALIGN == 0);
    ggml_free(ctx);
}
