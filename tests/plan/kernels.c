/* SPDX-License-Identifier: MIT
 *
 * Kernels that are added to a device, as the scheduler plans them: their workspaces lie in the graph's memory among the
 * tensors, are counted, and are used again; a plan that has become stale is an error.
 */
#include "ggml-ext.h"
#include "toy.h"

enum { WORKSPACE = 3000 };

/* Registrations stay for the life of the process, so the device does too. */
static struct toy gpu, cpu;
static int        n_prepared, n_destroyed, n_executed;
static char *     workspaces[64];
static bool       bad_workspace;

static bool supports(void * user_data, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) user_data;
    (void) device;
    return ggml_is_contiguous(node->src[0]);
}

static enum ggml_status prepare(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes,
                                int n, void ** plan, struct ggml_ext_need * need) {
    (void) user_data;
    (void) backend;
    (void) nodes;
    (void) n;
    *plan                = &n_prepared;
    need->workspace_size = WORKSPACE;
    n_prepared++;
    return GGML_STATUS_SUCCESS;
}

static void destroy(void * user_data, void * plan) {
    (void) user_data;
    CHECK(plan == &n_prepared);
    n_destroyed++;
}

/* Cubes, by way of the workspace, all of which is overwritten. */
static enum ggml_status execute(void * user_data, void * plan, ggml_backend_t backend, ggml_backend_buffer_t workspace,
                                struct ggml_tensor * const * nodes, int n) {
    (void) user_data;
    (void) plan;
    (void) backend;
    struct ggml_tensor * t    = nodes[0];
    char *               base = workspace != NULL ? ggml_backend_buffer_get_base(workspace) : NULL;
    if (n != 1 || base == NULL || (uintptr_t) base % 64 != 0 || ggml_backend_buffer_get_size(workspace) < WORKSPACE) {
        bad_workspace = true;
        return GGML_STATUS_FAILED;
    }
    workspaces[n_executed++ % 64] = base;
    memset(base, 0x7F, WORKSPACE);
    float * values = (float *) base;
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        const float x = ((const float *) t->src[0]->data)[i];
        values[i]     = x * x * x;
    }
    memcpy(t->data, values, ggml_nbytes(t));
    return GGML_STATUS_SUCCESS;
}

static struct ggml_ext_kernel_desc kernel_named(const char * name) {
    return (struct ggml_ext_kernel_desc){
        .size     = sizeof(struct ggml_ext_kernel_desc),
        .name     = name,
        .op       = GGML_OP_SQR,
        .priority = 10,
        .supports = supports,
        .prepare  = prepare,
        .destroy  = destroy,
        .execute  = execute,
    };
}

static ggml_backend_sched_t new_sched(void) {
    static bool open;
    if (!open) {
        toy_init(&gpu, "gpu", GGML_BACKEND_DEVICE_TYPE_GPU);
        toy_init(&cpu, "cpu", GGML_BACKEND_DEVICE_TYPE_CPU);
        const struct ggml_ext_kernel_desc desc = kernel_named("test.cube");
        CHECK(ggml_ext_register_kernel(&gpu.device, &desc) == GGML_STATUS_SUCCESS);
        open = true;
    }
    n_prepared = n_destroyed = n_executed = 0;
    bad_workspace                         = false;
    ggml_backend_t backends[2]            = {&gpu.backend, &cpu.backend};
    return ggml_backend_sched_new(backends, NULL, 2, 8, false, false);
}

struct chain {
    struct ggml_context * ctx;
    struct ggml_cgraph *  graph;
    struct ggml_tensor *  x;
    struct ggml_tensor *  nodes[6];
};

/* sqr, transpose + cont, sqr, transpose + cont on the gpu, the last add on the cpu */
static struct chain new_chain(ggml_backend_sched_t sched) {
    struct chain c = {.ctx = toy_context(64)};
    c.graph        = ggml_new_graph(c.ctx);
    c.x            = ggml_new_tensor_2d(c.ctx, GGML_TYPE_F32, 16, 16);
    ggml_set_input(c.x);
    c.nodes[0] = ggml_sqr(c.ctx, c.x);
    c.nodes[1] = ggml_cont(c.ctx, ggml_transpose(c.ctx, c.nodes[0]));
    c.nodes[2] = ggml_sqr(c.ctx, c.nodes[1]);
    c.nodes[3] = ggml_cont(c.ctx, ggml_transpose(c.ctx, c.nodes[2]));
    c.nodes[4] = ggml_add(c.ctx, c.nodes[3], c.nodes[1]);
    c.nodes[5] = ggml_add(c.ctx, c.nodes[4], c.nodes[4]);
    ggml_build_forward_expand(c.graph, c.nodes[5]);
    for (int i = 0; i < 6; i++) {
        ggml_backend_sched_set_tensor_backend(sched, c.nodes[i], i < 5 ? &gpu.backend : &cpu.backend);
    }
    return c;
}

static void check_values(const struct chain * c) {
    float x[256], y[256];
    for (int i = 0; i < 256; i++) {
        x[i] = (float) (i % 3) - 1.0f;
    }
    ggml_backend_tensor_get(c->nodes[5], y, 0, sizeof(y));
    for (int i = 0; i < 256; i++) {
        const int   j     = i % 16 * 16 + i / 16; /* transposed once */
        const float cubed = x[j] * x[j] * x[j];
        const float again = x[i] * x[i] * x[i];
        CHECK(y[i] == 2.0f * (again * again * again + cubed));
    }
}

static void set_values(struct ggml_tensor * t) {
    float x[256];
    for (int i = 0; i < 256; i++) {
        x[i] = (float) (i % 3) - 1.0f;
    }
    ggml_backend_tensor_set(t, x, 0, sizeof(x));
}

static void count_item(const struct ggml_ext_plan_item * item, void * user_data) {
    int * counts = user_data;
    counts[0]++;
    if (item->extension) {
        counts[1]++;
        CHECK(strcmp(item->kernel, "test.cube") == 0 && item->workspace == WORKSPACE && item->group == -1);
        CHECK(item->node->op == GGML_OP_SQR && item->device == &gpu.device && item->split == 0);
    } else {
        CHECK(strcmp(item->kernel, "native") == 0);
    }
}

TEST(workspaces_are_planned_with_the_graph) {
    ggml_backend_sched_t sched    = new_sched();
    struct chain         c        = new_chain(sched);
    size_t               sizes[2] = {0};
    ggml_backend_sched_reserve_size(sched, c.graph, sizes);
    CHECK_MSG(sizes[0] > WORKSPACE && sizes[0] < 2 * WORKSPACE + 1024, "%zu bytes", sizes[0]);
    CHECK(gpu.n_buffers == 0);
    CHECK(ggml_ext_sched_plan(sched, count_item, NULL) == GGML_STATUS_FAILED);
    REQUIRE(ggml_backend_sched_alloc_graph(sched, c.graph));
    CHECK(ggml_backend_sched_get_buffer_size(sched, &gpu.backend) == sizes[0]);
    int counts[2] = {0};
    CHECK(ggml_ext_sched_plan(sched, count_item, counts) == GGML_STATUS_SUCCESS);
    CHECK(counts[0] == 6 && counts[1] == 2);
    for (int round = 0; round < 3; round++) {
        set_values(c.x);
        CHECK(ggml_backend_sched_graph_compute(sched, c.graph) == GGML_STATUS_SUCCESS);
        check_values(&c);
    }
    CHECK(n_executed == 6 && !bad_workspace);
    const char * base = ggml_backend_buffer_get_base(gpu.buffers[0]);
    for (int i = 0; i < 6; i++) {
        CHECK(workspaces[i] >= base && workspaces[i] + WORKSPACE <= base + gpu.buffers[0]->size);
        CHECK(workspaces[i] == workspaces[i % 2]); /* the same in every round */
    }
    CHECK(toy_all_guards_intact(&gpu));
    ggml_free(c.ctx);
    ggml_backend_sched_free(sched);
    CHECK(n_prepared == n_destroyed && n_prepared == 4); /* measured and allocated */
}

TEST(graphs_one_after_another_keep_the_memory) {
    ggml_backend_sched_t sched       = new_sched();
    int                  allocations = 0;
    for (int round = 0; round < 10; round++) {
        struct chain c = new_chain(sched);
        REQUIRE(ggml_backend_sched_alloc_graph(sched, c.graph));
        set_values(c.x);
        CHECK(ggml_backend_sched_graph_compute(sched, c.graph) == GGML_STATUS_SUCCESS);
        check_values(&c);
        ggml_backend_sched_reset(sched);
        ggml_free(c.ctx);
        if (round == 0) {
            allocations = gpu.n_allocations;
        }
    }
    CHECK(gpu.n_allocations == allocations);
    ggml_backend_sched_free(sched);
    CHECK(n_prepared == n_destroyed && n_prepared == 20);
}

static bool see_all(struct ggml_tensor * t, bool ask, void * user_data) {
    (void) t;
    *(int *) user_data += !ask;
    return true;
}

TEST(evaluation_callback_sees_every_node) {
    ggml_backend_sched_t sched = new_sched();
    int                  seen  = 0;
    ggml_backend_sched_set_eval_callback(sched, see_all, &seen);
    struct chain c = new_chain(sched);
    REQUIRE(ggml_backend_sched_alloc_graph(sched, c.graph));
    set_values(c.x);
    CHECK(ggml_backend_sched_graph_compute(sched, c.graph) == GGML_STATUS_SUCCESS);
    check_values(&c);
    CHECK(seen == c.graph->n_nodes && n_executed == 2);
    ggml_free(c.ctx);
    ggml_backend_sched_free(sched);
}

TEST(stale_plan_is_an_error) {
    ggml_backend_sched_t sched = new_sched();
    struct chain         c     = new_chain(sched);
    REQUIRE(ggml_backend_sched_alloc_graph(sched, c.graph));
    set_values(c.x);
    CHECK(ggml_ext_set_policy(&gpu.device, "test.cube", GGML_EXT_POLICY_FORCE) == GGML_STATUS_SUCCESS);
    CHECK(ggml_backend_sched_graph_compute(sched, c.graph) == GGML_STATUS_FAILED);
    CHECK_MSG(strstr(ggml_ext_last_error(), "policy") != NULL, "text: %s", ggml_ext_last_error());
    ggml_backend_sched_reset(sched);
    REQUIRE(ggml_backend_sched_alloc_graph(sched, c.graph));
    set_values(c.x);
    CHECK(ggml_backend_sched_graph_compute(sched, c.graph) == GGML_STATUS_SUCCESS);
    check_values(&c); /* its tensors had memory from before: workspaces and copies still lie elsewhere */
    CHECK(ggml_ext_set_policy(&gpu.device, "test.cube", GGML_EXT_POLICY_AUTO) == GGML_STATUS_SUCCESS);
    ggml_free(c.ctx);
    ggml_backend_sched_free(sched);
}
