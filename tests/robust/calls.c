/* SPDX-License-Identifier: MIT
 *
 * Calls in the wrong order and with nothing in their arguments: a status and a text, or what the headers promise for NULL.
 */
#include "ggml-opt.h"
#include "gguf.h"
#include "support.h"

TEST(freeing_nothing) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_free(NULL);
    ggml_backend_free(NULL);
    ggml_backend_buffer_free(NULL);
    ggml_backend_event_free(NULL);
    ggml_backend_graph_plan_free(backend, NULL);
    ggml_gallocr_free(NULL);
    ggml_backend_sched_free(NULL);
    ggml_threadpool_free(NULL);
    gguf_free(NULL);
    ggml_opt_free(NULL);
    ggml_opt_result_free(NULL);
    ggml_opt_dataset_free(NULL);
    ggml_backend_graph_copy_free((struct ggml_backend_graph_copy){ 0 });
    ggml_backend_free(backend);
}

#define FAILS(call)                                                              \
    do {                                                                         \
        ggml_ext_set_error("%s", "");                                            \
        CHECK((call) != GGML_STATUS_SUCCESS);                                    \
        CHECK_MSG(ggml_ext_last_error()[0] != 0, "no text: %s", #call);          \
    } while (0)

static void visit(const struct ggml_ext_plan_item * item, void * ud) {
    (void) item;
    (*(int *) ud)++;
}

TEST(extension_functions_given_nothing) {
    ggml_backend_t              backend = ggml_backend_cpu_init();
    struct chain                c       = make_chain(NULL, 2, 8);
    struct ggml_ext_kernel_info info    = { .size = sizeof(info) };
    struct ggml_tensor          out;
    enum ggml_type              type;
    size_t                      size = 7;
    int                         n    = 0;
    FAILS(ggml_ext_register_op(NULL));
    FAILS(ggml_ext_register_kernel(NULL, NULL));
    FAILS(ggml_ext_register_kernel(cpu_device_of_test(), NULL));
    FAILS(ggml_ext_set_policy(NULL, NULL, GGML_EXT_POLICY_OFF));
    FAILS(ggml_ext_set_policy(cpu_device_of_test(), NULL, GGML_EXT_POLICY_OFF));
    FAILS(ggml_ext_kernel_get(NULL, 0, &info));
    FAILS(ggml_ext_kernel_get(cpu_device_of_test(), 0, NULL));
    FAILS(ggml_ext_kernel_get(cpu_device_of_test(), SIZE_MAX, &info));
    FAILS(ggml_ext_register_type(NULL, NULL));
    FAILS(ggml_ext_register_type(NULL, &type));
    FAILS(ggml_ext_type_by_name(NULL, &type));
    FAILS(ggml_ext_type_by_name("f32", NULL));
    FAILS(ggml_ext_op_create_multi(NULL, NULL, NULL, 0, NULL, 0, NULL, 0));
    FAILS(ggml_ext_graph_plan(NULL, c.graph, visit, &n));
    FAILS(ggml_ext_graph_plan(backend, NULL, visit, &n));
    FAILS(ggml_ext_graph_plan(backend, c.graph, NULL, &n));
    FAILS(ggml_ext_sched_plan(NULL, visit, &n));
    CHECK(n == 0);
    CHECK(ggml_ext_op_create(NULL, "x.v1", NULL, 0, NULL, 0) == NULL);
    CHECK(ggml_ext_op_create(c.ctx, NULL, NULL, 0, NULL, 0) == NULL);
    CHECK(ggml_ext_op_name(NULL) == NULL);
    CHECK(ggml_ext_op_attrs(NULL, NULL) == NULL);
    CHECK(ggml_ext_op_attrs(NULL, &size) == NULL && size == 0);
    CHECK(ggml_ext_op_n_outputs(NULL) == 0);
    CHECK(ggml_ext_op_output(NULL, 0, &out) != GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_kernel_count(NULL) == 0);
    CHECK(ggml_ext_op_get(SIZE_MAX) == NULL);
    ggml_free(c.ctx);
    ggml_backend_free(backend);
}

/* ---- nothing to work on ---- */

static void quiet(enum ggml_log_level level, const char * text, void * ud) {
    (void) level, (void) text, (void) ud;
}

TEST(graph_without_data) {
    ggml_log_set(quiet, NULL);
    struct ggml_context * ctx     = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    struct ggml_tensor *  a       = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 16, 4);
    struct ggml_tensor *  y       = ggml_soft_max(ctx, ggml_add(ctx, a, a));
    struct ggml_cgraph *  graph   = ggml_new_graph(ctx);
    ggml_backend_t        backend = ggml_backend_cpu_init();
    ggml_build_forward_expand(graph, y);
    ggml_set_name(a, "leaf_without_data");
    FAILS(ggml_backend_graph_compute(backend, graph));
    CHECK_MSG(strstr(ggml_ext_last_error(), "leaf_without_data") != NULL, "%s", ggml_ext_last_error());
    FAILS(ggml_graph_compute_with_ctx(ctx, graph, 2));
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(backend, graph); /* planning needs no memory */
    REQUIRE(plan != NULL);
    FAILS(ggml_backend_graph_plan_compute(backend, plan));

    /* after allocation all of them work, the plan too */
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, backend);
    REQUIRE(buffer != NULL);
    memset(a->data, 0, ggml_nbytes(a));
    CHECK(ggml_backend_graph_plan_compute(backend, plan) == GGML_STATUS_SUCCESS);
    CHECK(((float *) y->data)[63] == 1.0f / 16);
    memset(y->data, 0xFF, ggml_nbytes(y));
    CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    CHECK(((float *) y->data)[63] == 1.0f / 16);
    ggml_log_set(NULL, NULL);
    ggml_backend_graph_plan_free(backend, plan);
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

TEST(leaf_without_buffer_through_the_allocator) {
    struct ggml_context * ctx    = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    struct ggml_tensor *  a      = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 16);
    struct ggml_tensor *  y      = ggml_sqr(ctx, a);
    struct ggml_cgraph *  graph  = ggml_new_graph(ctx);
    ggml_gallocr_t        galloc = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    ggml_backend_t        backend = ggml_backend_cpu_init();
    ggml_build_forward_expand(graph, y);
    FAILS(ggml_backend_graph_compute(backend, graph));
    CHECK(ggml_gallocr_alloc_graph(galloc, graph));
    CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    ggml_gallocr_free(galloc);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

TEST(an_empty_graph) {
    struct ggml_context * ctx     = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    struct ggml_cgraph *  graph   = ggml_new_graph(ctx);
    ggml_backend_t        backend = ggml_backend_cpu_init();
    ggml_backend_sched_t  sched   = ggml_backend_sched_new(&backend, NULL, 1, 16, false, true);
    ggml_gallocr_t        galloc  = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    int                   n       = 0;
    CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    CHECK(ggml_graph_compute_with_ctx(ctx, graph, 3) == GGML_STATUS_SUCCESS);
    CHECK(ggml_gallocr_alloc_graph(galloc, graph));
    CHECK(ggml_backend_sched_reserve(sched, graph));
    CHECK(ggml_backend_sched_alloc_graph(sched, graph));
    CHECK(ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_graph_plan(backend, graph, visit, &n) == GGML_STATUS_SUCCESS && n == 0);
    ggml_gallocr_free(galloc);
    ggml_backend_sched_free(sched);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

/* ---- orders ---- */

static struct ggml_tensor * build(struct ggml_context * ctx, struct ggml_cgraph ** graph, int n, struct ggml_tensor ** leaf) {
    *leaf                  = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 32, 4);
    struct ggml_tensor * y = *leaf;
    ggml_set_input(*leaf);
    for (int i = 0; i < n; i++) {
        y = ggml_add(ctx, ggml_scale(ctx, y, 1.0f), *leaf);
    }
    ggml_set_output(y);
    *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(*graph, y);
    return y;
}

static bool is_all(const struct ggml_tensor * t, float value) {
    bool yes = true;
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        yes = yes && ((const float *) t->data)[i] == value;
    }
    return yes;
}

static void fill(struct ggml_tensor * t, float value) {
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        ((float *) t->data)[i] = value;
    }
}

/* Every order of reserve, reset, alloc and compute over graphs of two sizes whose contexts come and go. What is computed is right. */
TEST(the_scheduler_in_every_order) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 2);
    for (int order = 0; order < 4 * 4 * 4 * 4 * 4; order++) {
        ggml_backend_sched_t  sched = ggml_backend_sched_new(&backend, NULL, 1, 8, false, true);
        struct ggml_context * ctx   = ggml_init((struct ggml_init_params){ 1 << 18, NULL, true });
        struct ggml_tensor *  leaf;
        struct ggml_cgraph *  graph;
        int                   length    = 3;
        struct ggml_tensor *  y         = build(ctx, &graph, length, &leaf);
        bool                  allocated = false;
        for (int step = 0, rest = order; step < 5; step++, rest /= 4) {
            switch (rest % 4) {
                case 0:
                    CHECK(ggml_backend_sched_reserve(sched, graph));
                    allocated = false;
                    /* the graph's own tensors are as they were: make it anew, as clients do */
                    ggml_reset(ctx);
                    y = build(ctx, &graph, length, &leaf);
                    break;
                case 1:
                    ggml_backend_sched_reset(sched);
                    ggml_reset(ctx);
                    length    = length == 3 ? 9 : 3;
                    y         = build(ctx, &graph, length, &leaf);
                    allocated = false;
                    break;
                case 2:
                    if (!allocated) {
                        ggml_backend_sched_reset(sched);
                        CHECK(ggml_backend_sched_alloc_graph(sched, graph));
                        allocated = true;
                    }
                    break;
                default:
                    /* without an allocation compute makes it; with one it computes */
                    if (allocated) {
                        fill(leaf, 2.0f);
                    }
                    CHECK(ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS);
                    if (allocated) {
                        CHECK_MSG(is_all(y, 2.0f * (float) (length + 1)), "order %d step %d", order, step);
                    }
                    allocated = true;
            }
        }
        ggml_backend_sched_free(sched);
        ggml_free(ctx);
    }
    ggml_backend_free(backend);
}

/* A graph that grew or changed after it was allocated: allocated again it is right. */
TEST(graph_changed_after_allocation) {
    ggml_backend_t        backend = ggml_backend_cpu_init();
    ggml_gallocr_t        galloc  = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    struct ggml_context * ctx     = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    struct ggml_tensor *  leaf;
    struct ggml_cgraph *  graph;
    struct ggml_tensor *  y = build(ctx, &graph, 3, &leaf);
    CHECK(ggml_gallocr_alloc_graph(galloc, graph));
    for (int round = 0; round < 10; round++) {
        y = ggml_sub(ctx, ggml_add(ctx, y, y), y); /* nodes without memory behind nodes with */
        ggml_set_output(y);
        ggml_build_forward_expand(graph, y);
        FAILS(ggml_backend_graph_compute(backend, graph));
        CHECK(ggml_gallocr_alloc_graph(galloc, graph));
        fill(leaf, 1.0f);
        CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
        CHECK(is_all(y, 4.0f));
    }
    ggml_gallocr_free(galloc);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

/* One backend, graphs of many contexts at the same addresses: a plan is never taken for another graph's. */
TEST(plans_are_not_mixed_up) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 2);
    char * memory = malloc(1 << 20);
    for (int round = 0; round < 200; round++) {
        struct ggml_context * ctx   = ggml_init((struct ggml_init_params){ 1 << 20, memory, false });
        struct ggml_tensor *  a     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100);
        struct ggml_tensor *  y     = round % 2 ? ggml_add(ctx, ggml_sqr(ctx, a), a) : ggml_mul(ctx, ggml_neg(ctx, a), a);
        struct ggml_cgraph *  graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, y);
        fill(a, 3.0f);
        CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
        CHECK(is_all(y, round % 2 ? 12.0f : -9.0f));
        ggml_free(ctx);
    }
    free(memory);
    ggml_backend_free(backend);
}

/* A scheduler leaves its id on the graph; afterwards an allocator lays the graph out anew and it is computed directly, twice. */
TEST(direct_computation_after_the_scheduler) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, 4);
    for (int round = 0; round < 30; round++) {
        ggml_backend_sched_t  sched  = ggml_backend_sched_new(&backend, NULL, 1, 64, false, true);
        ggml_gallocr_t        galloc = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
        struct ggml_context * ctx    = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
        struct ggml_tensor *  leaf;
        struct ggml_cgraph *  graph;
        struct ggml_tensor *  y = build(ctx, &graph, 8, &leaf);
        CHECK(ggml_backend_sched_alloc_graph(sched, graph));
        fill(leaf, 1.0f);
        CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
        CHECK(is_all(y, 9.0f));
        ggml_backend_sched_free(sched);
        for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
            t->data   = NULL;
            t->buffer = NULL;
        }
        CHECK(ggml_gallocr_alloc_graph(galloc, graph));
        fill(leaf, 2.0f);
        CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
        CHECK(is_all(y, 18.0f));
        ggml_gallocr_free(galloc);
        ggml_free(ctx);
    }
    ggml_backend_free(backend);
}

/* A work plan made for another graph, with too little memory, with none, and with a thread count of zero. */
TEST(work_plans_that_do_not_fit) {
    struct chain      small = make_chain(NULL, 2, 64);
    struct chain      large = make_chain(NULL, 9, 100000);
    struct ggml_cplan plan  = ggml_graph_plan(small.graph, 2, NULL);
    plan.work_data          = malloc(plan.work_size > 0 ? plan.work_size : 1);
    CHECK(ggml_graph_compute(large.graph, &plan) == GGML_STATUS_SUCCESS);
    CHECK(chain_is_right(&large));
    static const int counts[] = { 0, -1, -1000000000, 513, 1000000000 };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct ggml_cplan wild = { .n_threads = counts[i], .work_data = plan.work_data, .work_size = 1 };
        CHECK(ggml_graph_compute(small.graph, &wild) == GGML_STATUS_SUCCESS);
        CHECK(chain_is_right(&small));
    }
    free(plan.work_data);
    ggml_free(small.ctx);
    ggml_free(large.ctx);
}
