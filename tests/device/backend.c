/* SPDX-License-Identifier: MIT
 *
 * Devices, backends, events and registries, with and without the optional entries of a module's tables.
 */
#include "device/support.h"

TEST(plain_device) {
    ggml_backend_reg_t reg = test_registry();
    REQUIRE(reg != NULL);
    ggml_backend_dev_t            device = ggml_backend_reg_dev_get(reg, 0);
    struct ggml_backend_dev_props props;
    size_t                        free_bytes = 0, total_bytes = 0;
    CHECK(strcmp(ggml_backend_dev_name(device), "TEST0") == 0);
    CHECK(ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_ACCEL);
    CHECK(strstr(ggml_backend_dev_description(device), "flipped") != NULL);
    CHECK(ggml_backend_dev_backend_reg(device) == reg);
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    CHECK(free_bytes == 1 << 20 && total_bytes == 1 << 21);
    memset(&props, 0xFF, sizeof(props));
    ggml_backend_dev_get_props(device, &props);
    CHECK(strcmp(props.name, "TEST0") == 0 && props.memory_total == 1 << 21);
    CHECK(props.device_id == NULL && !props.caps.async && !props.caps.events); /* what the module left out is 0 */

    CHECK(ggml_backend_dev_host_buffer_type(device) == NULL);
    CHECK(ggml_backend_dev_buffer_from_host_ptr(device, &props, sizeof(props), 16) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "TEST0") != NULL);
    CHECK(ggml_backend_event_new(device) == NULL);
    CHECK(ggml_backend_event_new(NULL) == NULL);
    ggml_backend_event_free(NULL);
    CHECK(ggml_backend_dev_supports_buft(device, ggml_backend_dev_buffer_type(device)));
    CHECK(!ggml_backend_dev_supports_buft(device, ggml_backend_cpu_buffer_type()));
    CHECK(ggml_backend_buft_get_device(ggml_backend_dev_buffer_type(device)) == device);
    CHECK(!ggml_backend_buft_is_host(ggml_backend_dev_buffer_type(device)));
    CHECK(ggml_backend_dev_init(device, "fail") == NULL);
    CHECK(strstr(ggml_ext_last_error(), "TEST0") != NULL && strstr(ggml_ext_last_error(), "fail") != NULL);
    CHECK(ggml_backend_reg_get_proc_address(reg, "nothing of this name") == NULL);
}

TEST(plain_backend) {
    ggml_backend_t backend = test_backend(0);
    REQUIRE(backend != NULL);
    CHECK(strcmp(ggml_backend_name(backend), "TEST") == 0);
    CHECK(strcmp(ggml_backend_name(NULL), "NULL") == 0);
    CHECK(ggml_backend_guid(NULL) == NULL);
    CHECK(ggml_guid_matches(ggml_backend_guid(backend), ggml_backend_guid(backend)));
    CHECK(ggml_backend_get_alignment(backend) == 16);
    CHECK(ggml_backend_get_max_size(backend) == SIZE_MAX);
    CHECK(ggml_backend_get_default_buffer_type(backend) ==
          ggml_backend_dev_buffer_type(ggml_backend_get_device(backend)));
    ggml_backend_synchronize(backend);
    CHECK(test_counters()->synchronize == 0);

    struct ggml_context * ctx   = test_context();
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS); /* no nodes */
    CHECK(ggml_backend_graph_plan_create(backend, graph) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "no graph plans") != NULL);
    CHECK(ggml_backend_graph_plan_compute(backend, NULL) == GGML_STATUS_FAILED);
    ggml_backend_graph_plan_free(backend, NULL);
    ggml_free(ctx);
    ggml_backend_free(backend);
    ggml_backend_free(NULL);
}

TEST(computation_and_its_failure) {
    for (int i = 0; i < 2; i++) {
        ggml_backend_t        backend = test_backend(i);
        struct ggml_context * ctx     = test_context();
        struct ggml_tensor *  a       = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3);
        struct ggml_tensor *  sum     = ggml_add(ctx, a, a);
        struct ggml_tensor *  product = ggml_mul(ctx, sum, a);
        struct ggml_cgraph *  good    = ggml_new_graph(ctx);
        struct ggml_cgraph *  bad     = ggml_new_graph(ctx);
        const float           in[]    = {1, 2, 3};
        float                 out[3]  = {0};
        ggml_build_forward_expand(good, sum);
        ggml_build_forward_expand(bad, product);
        CHECK(ggml_backend_supports_op(backend, sum) && !ggml_backend_supports_op(backend, product));
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, backend);
        REQUIRE(buffer != NULL);
        ggml_backend_tensor_set(a, in, 0, sizeof(in));
        CHECK(ggml_backend_graph_compute(backend, good) == GGML_STATUS_SUCCESS);
        CHECK(test_counters()->synchronize == i);
        ggml_backend_tensor_get(sum, out, 0, sizeof(out));
        CHECK(out[0] == 2 && out[1] == 4 && out[2] == 6);
        CHECK(ggml_backend_graph_compute_async(backend, bad) == GGML_STATUS_FAILED);
        ggml_backend_buffer_free(buffer);
        ggml_backend_free(backend);
        ggml_free(ctx);
    }
}

TEST(events) {
    ggml_backend_t       backend = test_backend(1);
    ggml_backend_event_t event   = ggml_backend_event_new(ggml_backend_get_device(backend));
    REQUIRE(event != NULL);
    ggml_backend_event_record(event, backend);
    ggml_backend_event_record(event, backend);
    ggml_backend_event_wait(backend, event);
    ggml_backend_event_synchronize(event);
    CHECK(event->context == (void *) 2);
    ggml_backend_event_free(event);
    ggml_backend_free(backend);
}

/* A module indexes tables by type and takes a custom node for a callback: it is never asked about what it cannot know.
 */
TEST(modules_are_not_asked_about_additions) {
    for (int i = 0; i < 2; i++) {
        ggml_backend_t        backend = test_backend(i);
        ggml_backend_dev_t    device  = ggml_backend_get_device(backend);
        struct ggml_context * ctx     = test_context();
        struct ggml_tensor *  a       = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
        struct ggml_tensor *  node    = ggml_add(ctx, a, a);
        CHECK(ggml_backend_dev_supports_op(device, node));
        CHECK(ggml_backend_dev_offload_op(device, node) == (i == 1));
        CHECK(ggml_backend_offload_op(backend, node) == (i == 1));
        a->type = (enum ggml_type) GGML_EXT_TYPE_FIRST;
        CHECK(!ggml_backend_dev_supports_op(device, node));
        CHECK(!ggml_backend_dev_offload_op(device, node));
        a->type    = GGML_TYPE_F32;
        node->type = (enum ggml_type)(GGML_EXT_TYPE_FIRST + 5);
        CHECK(!ggml_backend_supports_op(backend, node));
        node->type = GGML_TYPE_F32;
        node->op   = GGML_OP_CUSTOM;
        CHECK(!ggml_backend_dev_offload_op(device, node));
        CHECK(test_counters()->foreign == 0);
        ggml_free(ctx);
        ggml_backend_free(backend);
    }
}

/* ---- the list of the process ---- */

static struct ggml_backend_reg copy_of_reg;

static const char * other_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "Other";
}

static size_t no_devices(ggml_backend_reg_t reg) {
    (void) reg;
    return 0;
}

TEST(cpu_is_always_first) {
    ggml_backend_reg_t cpu = ggml_backend_reg_get(0);
    CHECK(cpu == ggml_backend_cpu_reg());
    CHECK(strcmp(ggml_backend_reg_name(cpu), "CPU") == 0);
    CHECK(ggml_backend_dev_get(0) == ggml_backend_reg_dev_get(cpu, 0));
    CHECK(ggml_backend_reg_by_name("cpu") == cpu && ggml_backend_reg_by_name("CPU") == cpu);
    CHECK(ggml_backend_reg_by_name("CP") == NULL && ggml_backend_reg_by_name("CPU0") == NULL);
    CHECK(ggml_backend_reg_by_name(NULL) == NULL && ggml_backend_dev_by_name(NULL) == NULL);
    CHECK(ggml_backend_dev_by_name("cPu") == ggml_backend_dev_get(0));
    CHECK(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) == ggml_backend_dev_get(0));
    CHECK(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) == NULL);

    log_begin();
    const size_t n = ggml_backend_reg_count();
    ggml_backend_unload(cpu);
    CHECK(ggml_backend_reg_count() == n && ggml_backend_reg_get(0) == cpu);
    CHECK(strstr(ggml_ext_last_error(), "always there") != NULL);
    ggml_backend_unload(NULL);
    ggml_backend_unload(&copy_of_reg);
    CHECK(strstr(ggml_ext_last_error(), "not on the list") != NULL);
    ggml_log_set(NULL, NULL);
}

TEST(registering) {
    const size_t n_regs = ggml_backend_reg_count();
    const size_t n_devs = ggml_backend_dev_count();
    log_begin();
    ggml_backend_register(NULL);
    ggml_backend_register(ggml_backend_cpu_reg());
    ggml_backend_device_register(ggml_backend_dev_get(0));
    ggml_backend_device_register(NULL);
    CHECK(ggml_backend_reg_count() == n_regs && ggml_backend_dev_count() == n_devs);

    copy_of_reg = *ggml_backend_cpu_reg(); /* another registry of a live name */
    ggml_backend_register(&copy_of_reg);
    CHECK(ggml_backend_reg_count() == n_regs && ggml_backend_dev_count() == n_devs);
    CHECK(strstr(ggml_ext_last_error(), "CPU is live already") != NULL && log_has("CPU is live already"));

    copy_of_reg.iface.get_name         = other_name;
    copy_of_reg.iface.get_device_count = no_devices;
    ggml_backend_register(&copy_of_reg);
    CHECK(ggml_backend_reg_count() == n_regs + 1 && ggml_backend_dev_count() == n_devs);
    CHECK(ggml_backend_reg_by_name("OTHER") == &copy_of_reg);
    ggml_backend_unload(&copy_of_reg);
    CHECK(ggml_backend_reg_count() == n_regs && ggml_backend_reg_by_name("OTHER") == NULL);
    copy_of_reg.iface.get_device = NULL;
    ggml_backend_register(&copy_of_reg);
    CHECK(ggml_backend_reg_count() == n_regs);
    ggml_log_set(NULL, NULL);
}

TEST(backends_by_what_they_are) {
    ggml_backend_t best = ggml_backend_init_best();
    ggml_backend_t cpu  = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    REQUIRE(test_registry() != NULL);
    ggml_backend_t test = ggml_backend_init_by_name("test1", NULL);
    CHECK(best != NULL && ggml_backend_get_device(best) == ggml_backend_dev_get(0));
    CHECK(cpu != NULL && test != NULL);
    CHECK(ggml_backend_init_by_name("nobody", NULL) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "nobody") != NULL);
    CHECK(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_GPU, NULL) == NULL);
    ggml_backend_free(best);
    ggml_backend_free(cpu);
    ggml_backend_free(test);
}

static void reg_past_the_end(void * data) {
    (void) data;
    ggml_backend_reg_get(1000);
}

static void dev_past_the_end(void * data) {
    (void) data;
    ggml_backend_dev_get(1000);
}

TEST(indexes_past_the_end_end_the_process) {
    CHECK(aborts_with(reg_past_the_end, NULL, "no registry 1000"));
    CHECK(aborts_with(dev_past_the_end, NULL, "no device 1000"));
}
