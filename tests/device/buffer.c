/* SPDX-License-Identifier: MIT
 *
 * Buffers and buffer types: the host's, a module's, several as one, empty ones, and placing tensors.
 */
#include "device/support.h"

TEST(host_buffer_type) {
    const ggml_backend_buffer_type_t cpu = ggml_backend_cpu_buffer_type();
    CHECK(strcmp(ggml_backend_buft_name(cpu), "CPU") == 0);
    CHECK(ggml_backend_buft_is_host(cpu));
    CHECK(ggml_backend_buft_get_alignment(cpu) == TENSOR_ALIGNMENT);
    CHECK(ggml_backend_buft_get_max_size(cpu) == SIZE_MAX);
    for (size_t size = 1; size <= (size_t) 40 << 20; size *= 3) {
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(cpu, size);
        REQUIRE(buffer != NULL);
        unsigned char * base = ggml_backend_buffer_get_base(buffer);
        CHECK((uintptr_t) base % 64 == 0);
        CHECK(ggml_backend_buffer_get_size(buffer) == size);
        CHECK(ggml_backend_buffer_get_type(buffer) == cpu);
        ggml_backend_buffer_clear(buffer, 0xA5);
        CHECK(base[0] == 0xA5 && base[size / 2] == 0xA5 && base[size - 1] == 0xA5);
        ggml_backend_buffer_free(buffer);
    }
    ggml_backend_buffer_free(NULL);
}

TEST(host_buffer_out_of_memory) {
    log_begin();
    CHECK(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), SIZE_MAX / 2) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "no memory") != NULL);
    CHECK(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), SIZE_MAX) == NULL);
    ggml_log_set(NULL, NULL);
}

TEST(module_buffer_out_of_memory) {
    ggml_backend_t backend = test_backend(0);
    REQUIRE(backend != NULL);
    test_counters()->fail_alloc = 1;
    CHECK(ggml_backend_alloc_buffer(backend, 64) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "TEST0: no memory for a buffer of 64 bytes") != NULL);
    test_counters()->fail_alloc = 0;
    ggml_backend_free(backend);
}

TEST(empty_buffer_of_any_type) {
    ggml_backend_t plain = test_backend(0);
    REQUIRE(plain != NULL);
    const ggml_backend_buffer_type_t types[] = {ggml_backend_cpu_buffer_type(),
                                                ggml_backend_get_default_buffer_type(plain)};
    for (int i = 0; i < 2; i++) {
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(types[i], 0);
        REQUIRE(buffer != NULL);
        CHECK(ggml_backend_buffer_get_size(buffer) == 0);
        CHECK(ggml_backend_buffer_get_base(buffer) == NULL);
        CHECK(ggml_backend_buffer_get_type(buffer) == types[i]);
        CHECK(strcmp(ggml_backend_buffer_name(buffer), ggml_backend_buft_name(types[i])) == 0);
        ggml_backend_buffer_clear(buffer, 1);
        ggml_backend_buffer_reset(buffer);
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        CHECK(ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        ggml_backend_buffer_free(buffer);
    }
    CHECK(test_counters()->freed == 0); /* the module never knew of its own */
    ggml_backend_free(plain);
}

TEST(empty_tensor_in_empty_buffer) {
    struct ggml_context * ctx    = test_context();
    struct ggml_tensor *  t      = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 0, 5);
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 0);
    float                 value  = 3;
    CHECK(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)) == GGML_STATUS_SUCCESS);
    ggml_backend_tensor_set(t, &value, 0, 0);
    ggml_backend_tensor_get(t, &value, 0, 0);
    ggml_backend_tensor_memset(t, 0, 0, 0);
    ggml_backend_tensor_set_2d(t, &value, 0, 4, 0, 4, 4);
    CHECK(value == 3);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
}

TEST(mapped_buffer) {
    _Alignas(64) static char memory[256];
    ggml_backend_buffer_t    buffer = ggml_backend_cpu_buffer_from_ptr(memory + 32, 100);
    REQUIRE(buffer != NULL);
    CHECK(strcmp(ggml_backend_buffer_name(buffer), "CPU_Mapped") == 0);
    CHECK(ggml_backend_buffer_get_base(buffer) == memory + 32);
    CHECK(ggml_backend_buffer_is_host(buffer));
    memset(memory, 1, sizeof(memory));
    ggml_backend_buffer_clear(buffer, 2);
    CHECK(memory[31] == 1 && memory[32] == 2 && memory[131] == 2 && memory[132] == 1);
    ggml_backend_buffer_free(buffer);
    CHECK(memory[32] == 2); /* not its own */

    log_begin();
    CHECK(ggml_backend_cpu_buffer_from_ptr(memory + 1, 100) == NULL);
    CHECK(ggml_backend_cpu_buffer_from_ptr(NULL, 100) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "CPU_Mapped") != NULL);
    ggml_log_set(NULL, NULL);
}

TEST(multi_buffer) {
    ggml_backend_t backend = test_backend(1);
    REQUIRE(backend != NULL);
    ggml_backend_buffer_t parts[3];
    for (size_t i = 0; i < 3; i++) {
        parts[i] = ggml_backend_alloc_buffer(backend, 16 * (i + 1));
        REQUIRE(parts[i] != NULL);
    }
    ggml_backend_buffer_t all = ggml_backend_multi_buffer_alloc_buffer(parts, 3);
    REQUIRE(all != NULL);
    CHECK(ggml_backend_buffer_is_multi_buffer(all));
    CHECK(!ggml_backend_buffer_is_multi_buffer(parts[0]));
    CHECK(ggml_backend_buffer_get_size(all) == 96);
    CHECK(ggml_backend_buffer_get_type(all) == parts[0]->buft);
    CHECK(ggml_backend_buffer_get_base(all) == NULL);
    ggml_backend_buffer_set_usage(all, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    ggml_backend_buffer_clear(all, 0x11);
    ggml_backend_buffer_reset(all);
    for (int i = 0; i < 3; i++) {
        const unsigned char * bytes = ggml_backend_buffer_get_base(parts[i]);
        CHECK(bytes[0] == (0x11 ^ 0x5A) && bytes[ggml_backend_buffer_get_size(parts[i]) - 1] == (0x11 ^ 0x5A));
        CHECK(ggml_backend_buffer_get_usage(parts[i]) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    ggml_backend_buffer_free(all);
    CHECK(test_counters()->freed == 3);
    CHECK(ggml_backend_multi_buffer_alloc_buffer(parts, 0) == NULL);
    ggml_backend_free(backend);
}

TEST(placing_tensors) {
    struct ggml_context * ctx    = test_context();
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 256);
    char *                base   = ggml_backend_buffer_get_base(buffer);
    struct ggml_tensor *  t      = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 16), "weight");
    struct ggml_tensor *  view   = ggml_view_1d(ctx, t, 4, 8);
    log_begin();
    CHECK(ggml_backend_view_init(view) == GGML_STATUS_FAILED); /* its source has no memory yet */
    CHECK(strstr(ggml_ext_last_error(), "weight") != NULL);
    CHECK(ggml_backend_view_init(t) == GGML_STATUS_FAILED);

    char * const bad[] = {base - 64, base + 193, base + 256, base + 257, (char *) UINTPTR_MAX - 31};
    for (int i = 0; i < 5; i++) {
        CHECK(ggml_backend_tensor_alloc(buffer, t, bad[i]) == GGML_STATUS_FAILED);
        CHECK(t->buffer == NULL && t->data == NULL);
        CHECK(strstr(ggml_ext_last_error(), "'weight' (f32 [16, 1, 1, 1]) needs 64 bytes") != NULL);
    }
    CHECK(log_has("weight"));
    CHECK(ggml_backend_tensor_alloc(buffer, view, base) == GGML_STATUS_FAILED);
    CHECK(ggml_backend_tensor_alloc(buffer, t, base + 192) == GGML_STATUS_SUCCESS);
    CHECK(t->buffer == buffer && t->data == base + 192);
    CHECK(ggml_backend_tensor_alloc(buffer, t, base) == GGML_STATUS_FAILED); /* twice */
    CHECK(ggml_backend_view_init(view) == GGML_STATUS_SUCCESS);
    CHECK(view->buffer == buffer && view->data == base + 200);
    CHECK(ggml_backend_view_init(view) == GGML_STATUS_FAILED);
    ggml_log_set(NULL, NULL);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
}

TEST(init_tensor_failure_reaches_the_caller) {
    ggml_backend_t        backend = test_backend(1);
    struct ggml_context * ctx     = test_context();
    struct ggml_tensor *  t       = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    REQUIRE(backend != NULL);
    ggml_backend_buffer_t buffer      = ggml_backend_alloc_buffer(backend, 64);
    test_counters()->fail_init_tensor = 1;
    CHECK(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)) == GGML_STATUS_FAILED);
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

TEST(sizes_follow_the_type) {
    struct ggml_context *            ctx = test_context();
    struct ggml_tensor *             t   = ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 3);
    const ggml_backend_buffer_type_t cpu = ggml_backend_cpu_buffer_type();
    CHECK(ggml_backend_buft_get_alloc_size(cpu, t) == 6 * 18);
    CHECK(ggml_op_alloc_size_may_expand(GGML_OP_MUL_MAT));
    CHECK(ggml_op_alloc_size_may_expand(GGML_OP_FLASH_ATTN_EXT));
    CHECK(!ggml_op_alloc_size_may_expand(GGML_OP_ADD));
    ggml_free(ctx);
}

TEST(no_meta_device) {
    log_begin();
    CHECK(ggml_backend_meta_device(NULL, 0, NULL, NULL) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "meta device") != NULL);
    CHECK(strcmp(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_2), "2") == 0);
    CHECK(strcmp(ggml_backend_meta_split_axis_name(GGML_BACKEND_SPLIT_AXIS_MIRRORED), "MIRRORED") == 0);
    CHECK(strcmp(ggml_backend_meta_split_axis_name((enum ggml_backend_meta_split_axis) 55), "UNKNOWN") == 0);
    CHECK(!ggml_backend_buft_is_meta(ggml_backend_cpu_buffer_type()));
    CHECK(ggml_backend_meta_n_backends(NULL) == 0);
    ggml_log_set(NULL, NULL);
}
