/* SPDX-License-Identifier: MIT
 *
 * The scheduler on two and three devices with memory of their own: where nodes go, what is copied, and what happens
 * when something fails.
 */
#include "ggml-ext.h"
#include "random_graph.h"

enum { N_DRAWS = 60 };

/* A preferred device and the CPU. */
struct pair {
    struct toy            gpu, cpu;
    ggml_backend_sched_t  sched;
    struct ggml_context * ctx;
    struct ggml_context * gpu_weights;
    struct ggml_context * cpu_weights;
    struct ggml_cgraph *  graph;
    ggml_backend_buffer_t gpu_memory, cpu_memory;
};

static void open_pair(struct pair * p, bool parallel) {
    toy_init(&p->gpu, "gpu", GGML_BACKEND_DEVICE_TYPE_GPU);
    toy_init(&p->cpu, "cpu", GGML_BACKEND_DEVICE_TYPE_CPU);
    p->gpu.has_events = p->cpu.has_events = parallel;
    ggml_backend_t backends[2]            = {&p->gpu.backend, &p->cpu.backend};
    p->sched                              = ggml_backend_sched_new(backends, NULL, 2, 16, parallel, false);
    p->ctx                                = toy_context(2048);
    p->gpu_weights                        = toy_context(512);
    p->cpu_weights                        = toy_context(512);
    p->graph                              = ggml_new_graph_custom(p->ctx, 2048, false);
    p->gpu_memory = p->cpu_memory = NULL;
}

static void open_weights(struct pair * p) {
    p->gpu_memory                 = ggml_backend_alloc_ctx_tensors_from_buft(p->gpu_weights, &p->gpu.buft);
    p->cpu_memory                 = ggml_backend_alloc_ctx_tensors_from_buft(p->cpu_weights, &p->cpu.buft);
    ggml_backend_buffer_t both[2] = {p->gpu_memory, p->cpu_memory};
    for (int i = 0; i < 2; i++) {
        if (both[i] != NULL) {
            ggml_backend_buffer_set_usage(both[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        }
    }
}

static void close_pair(struct pair * p) {
    ggml_backend_sched_free(p->sched);
    ggml_backend_buffer_free(p->gpu_memory);
    ggml_backend_buffer_free(p->cpu_memory);
    ggml_free(p->ctx);
    ggml_free(p->gpu_weights);
    ggml_free(p->cpu_weights);
    toy_free(&p->gpu);
    toy_free(&p->cpu);
}

static struct ggml_tensor * weight(struct ggml_context * ctx, int64_t ne0, int64_t ne1, const char * name) {
    return ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, ne0, ne1), name);
}

static struct ggml_tensor * input(struct pair * p, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = ggml_new_tensor_2d(p->ctx, GGML_TYPE_F32, ne0, ne1);
    ggml_set_input(t);
    return t;
}

static float value(const struct ggml_tensor * t, int64_t i) {
    float v = NAN;
    ggml_backend_tensor_get(t, &v, (size_t) i * sizeof(v), sizeof(v));
    return v;
}

static void set_all(struct ggml_tensor * t, float v) {
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        ggml_backend_tensor_set(t, &v, (size_t) i * sizeof(v), sizeof(v));
    }
}

static ggml_backend_t where(struct pair * p, struct ggml_tensor * t) {
    return ggml_backend_sched_get_tensor_backend(p->sched, t);
}

static bool on_gpu(struct pair * p, struct ggml_tensor * t) {
    return where(p, t) == &p->gpu.backend;
}

static bool on_cpu(struct pair * p, struct ggml_tensor * t) {
    return where(p, t) == &p->cpu.backend;
}

static bool text_names(const char * word) {
    return strstr(ggml_ext_last_error(), word) != NULL;
}

/* ---- placement ---- */

TEST(nodes_follow_their_weights) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_tensor * w1 = weight(p.gpu_weights, 8, 8, "w1");
    struct ggml_tensor * w2 = weight(p.cpu_weights, 8, 8, "w2");
    struct ggml_tensor * w3 = weight(p.gpu_weights, 8, 8, "w3");
    open_weights(&p);
    struct ggml_tensor * x  = input(&p, 8, 4);
    struct ggml_tensor * n0 = ggml_sqr(p.ctx, x); /* before: spreads up from the gpu */
    struct ggml_tensor * n1 = ggml_mul_mat(p.ctx, w1, n0);
    struct ggml_tensor * n2 = ggml_sqr(p.ctx, n1); /* after: spreads down */
    struct ggml_tensor * n3 = ggml_mul_mat(p.ctx, w2, n2);
    struct ggml_tensor * v  = ggml_reshape_2d(p.ctx, n3, 4, 8);
    struct ggml_tensor * n4 = ggml_sqr(p.ctx, ggml_reshape_2d(p.ctx, v, 8, 4));
    struct ggml_tensor * n5 = ggml_mul_mat(p.ctx, w3, n4);
    ggml_build_forward_expand(p.graph, n5);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(on_cpu(&p, x) && on_gpu(&p, n0) && on_gpu(&p, n1) && on_gpu(&p, n2) && on_cpu(&p, n3) && on_cpu(&p, v));
    CHECK(on_gpu(&p, n4) && on_gpu(&p, n5)); /* the preferred device spreads up past the label */
    CHECK(ggml_backend_sched_get_n_splits(p.sched) == 3);
    CHECK(ggml_backend_sched_get_n_copies(p.sched) == 1);
    CHECK(n0->src[0] == x); /* the client's graph is as it was */
    set_all(x, 1.0f);
    set_all(w1, 1.0f);
    set_all(w2, 1.0f);
    set_all(w3, 1.0f);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK(value(n5, 31) == 8.0f * 512.0f * 512.0f);
    CHECK(n0->src[0] == x && n3->src[1] == n2);
    close_pair(&p);
}

TEST(what_the_preferred_device_refuses_goes_to_the_cpu) {
    struct pair p;
    open_pair(&p, false);
    p.gpu.refuses[GGML_OP_RMS_NORM] = true;
    struct ggml_tensor * w          = weight(p.gpu_weights, 8, 8, "w");
    open_weights(&p);
    struct ggml_tensor * x = input(&p, 8, 4);
    struct ggml_tensor * a = ggml_mul_mat(p.ctx, w, x);
    struct ggml_tensor * b = ggml_rms_norm(p.ctx, a, 1.0f);
    struct ggml_tensor * c = ggml_sqr(p.ctx, b);
    ggml_build_forward_expand(p.graph, c);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(on_gpu(&p, a) && on_cpu(&p, b) && on_gpu(&p, c));
    CHECK(ggml_backend_sched_get_n_splits(p.sched) == 3);
    close_pair(&p);
}

/* S4 */
TEST(weight_on_a_device_that_refuses_the_operator) {
    struct pair p;
    open_pair(&p, false);
    p.gpu.refuses[GGML_OP_MUL_MAT] = true;
    struct ggml_tensor * w         = weight(p.gpu_weights, 8, 8, "w");
    open_weights(&p);
    struct ggml_tensor * x = input(&p, 8, 4);
    struct ggml_tensor * y = ggml_mul_mat(p.ctx, w, x);
    ggml_build_forward_expand(p.graph, y);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(on_cpu(&p, y));
    set_all(x, 1.0f);
    set_all(w, 2.0f);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK(value(y, 31) == 16.0f);
    close_pair(&p);
}

TEST(operator_that_nobody_runs_is_an_error_that_names_the_node) {
    struct pair p;
    open_pair(&p, false);
    p.gpu.refuses[GGML_OP_SQR] = p.cpu.refuses[GGML_OP_SQR] = true;
    struct ggml_tensor * y = ggml_set_name(ggml_sqr(p.ctx, input(&p, 8, 4)), "impossible");
    ggml_build_forward_expand(p.graph, y);
    CHECK(!ggml_backend_sched_reserve(p.sched, p.graph));
    CHECK_MSG(text_names("impossible") && text_names("SQR"), "text: %s", ggml_ext_last_error());
    CHECK(!ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_FAILED);
    ggml_backend_sched_split_graph(p.sched, p.graph);
    CHECK(ggml_backend_sched_get_n_splits(p.sched) == 0);
    /* and the scheduler goes on */
    p.cpu.refuses[GGML_OP_SQR] = false;
    CHECK(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    close_pair(&p);
}

TEST(result_in_memory_that_no_device_can_work_on) {
    struct pair p;
    open_pair(&p, false);
    p.gpu.refuses[GGML_OP_CPY] = true;
    struct ggml_tensor * cache = weight(p.gpu_weights, 8, 4, "cache");
    open_weights(&p);
    struct ggml_tensor * y = ggml_set_name(ggml_cpy(p.ctx, input(&p, 8, 4), cache), "store");
    ggml_build_forward_expand(p.graph, y);
    CHECK(!ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK_MSG(text_names("store") && text_names("gpu"), "text: %s", ggml_ext_last_error());
    close_pair(&p);
}

TEST(the_client_chooses) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_tensor * w = weight(p.gpu_weights, 8, 8, "w");
    open_weights(&p);
    struct ggml_tensor * x = input(&p, 8, 4);
    struct ggml_tensor * a = ggml_mul_mat(p.ctx, w, x);
    struct ggml_tensor * b = ggml_sqr(p.ctx, a);
    ggml_build_forward_expand(p.graph, b);
    set_all(w, 1.0f);
    for (int round = 0; round < 2; round++) {
        ggml_backend_sched_reset(p.sched);
        ggml_backend_sched_set_tensor_backend(p.sched, a, &p.cpu.backend);
        CHECK(on_cpu(&p, a));
        if (round == 1) { /* also with an allocation of its own */
            CHECK(ggml_backend_sched_alloc_graph(p.sched, p.graph));
        }
        CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
        CHECK(on_cpu(&p, a));
    }
    ggml_backend_sched_reset(p.sched);
    CHECK(where(&p, a) == NULL);
    close_pair(&p);
}

TEST(memory_that_several_read_needs_no_copies) {
    struct pair p;
    open_pair(&p, false);
    ggml_backend_sched_free(p.sched);
    p.gpu.also_reads                       = &p.cpu;
    ggml_backend_t             backends[2] = {&p.gpu.backend, &p.cpu.backend};
    ggml_backend_buffer_type_t bufts[2]    = {&p.cpu.buft, &p.cpu.buft};
    p.sched                                = ggml_backend_sched_new(backends, bufts, 2, 16, false, false);
    REQUIRE(p.sched != NULL);
    p.gpu.refuses[GGML_OP_ADD] = true;
    struct ggml_tensor * x     = input(&p, 8, 4);
    struct ggml_tensor * a     = ggml_add(p.ctx, x, x);
    struct ggml_tensor * b     = ggml_sqr(p.ctx, a); /* moves up: same memory, a device that comes first */
    ggml_build_forward_expand(p.graph, b);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(on_cpu(&p, a) && on_gpu(&p, b));
    CHECK(ggml_backend_sched_get_buffer_size(p.sched, &p.cpu.backend) == 0);
    CHECK(ggml_backend_sched_get_buffer_size(p.sched, &p.gpu.backend) == 2 * 128);
    set_all(x, 1.0f);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK(value(b, 0) == 4.0f);
    close_pair(&p);
}

TEST(results_lie_in_the_memory_of_their_own_device) {
    struct pair p;
    open_pair(&p, false);
    p.gpu.also_reads       = &p.cpu;
    struct ggml_tensor * x = input(&p, 8, 4);
    struct ggml_tensor * y = ggml_sqr(p.ctx, x); /* read in place, but not written over it */
    ggml_build_forward_expand(p.graph, y);
    ggml_backend_sched_set_tensor_backend(p.sched, y, &p.gpu.backend);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(x->buffer == p.cpu.buffers[0] && y->buffer == p.gpu.buffers[0]);
    close_pair(&p);
}

TEST(work_on_host_weights_is_offered_to_the_preferred_device) {
    for (int offload = 0; offload < 2; offload++) {
        struct pair p;
        open_pair(&p, false);
        ggml_backend_sched_free(p.sched);
        ggml_backend_t backends[2] = {&p.gpu.backend, &p.cpu.backend};
        p.sched                    = ggml_backend_sched_new(backends, NULL, 2, 16, false, offload);
        p.gpu.offloads             = true;
        struct ggml_tensor * w1    = weight(p.cpu_weights, 8, 8, "w1");
        struct ggml_tensor * w2    = weight(p.cpu_weights, 8, 8, "w2");
        open_weights(&p);
        struct ggml_tensor * x = input(&p, 8, 4);
        struct ggml_tensor * y = ggml_mul_mat(p.ctx, w2, ggml_mul_mat(p.ctx, w1, x));
        ggml_build_forward_expand(p.graph, y);
        REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
        CHECK(offload ? on_gpu(&p, y) : on_cpu(&p, y));
        /* a copied weight begins a split, so that the memory of the one before can be used again */
        CHECK(ggml_backend_sched_get_n_splits(p.sched) == (offload ? 2 : 1));
        set_all(x, 1.0f);
        set_all(w1, 1.0f);
        set_all(w2, 1.0f);
        CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
        CHECK(value(y, 0) == 64.0f);
        close_pair(&p);
    }
}

/* ---- copies ---- */

TEST(splits_with_any_number_of_inputs) {
    for (int n = 1; n <= 200; n += n < 40 ? 1 : 20) {
        struct pair p;
        open_pair(&p, false);
        struct ggml_tensor * in[200];
        struct ggml_tensor * out[200];
        for (int i = 0; i < n; i++) {
            in[i]  = input(&p, 3, 2);
            out[i] = ggml_sqr(p.ctx, in[i]);
            ggml_build_forward_expand(p.graph, out[i]);
            ggml_backend_sched_set_tensor_backend(p.sched, out[i], &p.gpu.backend);
        }
        REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
        CHECK(ggml_backend_sched_get_n_splits(p.sched) == 1);
        for (int i = 0; i < n; i++) {
            set_all(in[i], (float) i);
        }
        CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
        for (int i = 0; i < n; i++) {
            CHECK_MSG(value(out[i], 5) == (float) (i * i), "%d inputs, %d: %g", n, i, value(out[i], 5));
            CHECK(out[i]->src[0] == in[i]);
        }
        close_pair(&p);
    }
}

/* A2 */
TEST(strided_view_is_copied_whole) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_tensor * x     = input(&p, 5, 7);
    struct ggml_tensor * t     = ggml_transpose(p.ctx, x);                             /* 7 x 5 */
    struct ggml_tensor * slice = ggml_view_2d(p.ctx, x, 3, 4, x->nb[1], x->nb[1] + 8); /* with gaps and an offset */
    struct ggml_tensor * a     = ggml_cont(p.ctx, t);
    struct ggml_tensor * b     = ggml_add(p.ctx, slice, slice);
    ggml_build_forward_expand(p.graph, a);
    ggml_build_forward_expand(p.graph, b);
    ggml_backend_sched_set_tensor_backend(p.sched, a, &p.gpu.backend);
    ggml_backend_sched_set_tensor_backend(p.sched, b, &p.gpu.backend);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    for (int i = 0; i < 35; i++) {
        const float v = (float) i;
        ggml_backend_tensor_set(x, &v, (size_t) i * 4, 4);
    }
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    for (int i = 0; i < 35; i++) {
        CHECK(value(a, i) == (float) (i % 7 * 5 + i / 7));
    }
    for (int i = 0; i < 12; i++) {
        CHECK(value(b, i) == 2.0f * (float) ((i / 3 + 1) * 5 + i % 3 + 2));
    }
    CHECK(toy_all_guards_intact(&p.gpu) && toy_all_guards_intact(&p.cpu));
    close_pair(&p);
}

TEST(a_copy_is_made_again_when_its_original_was_written) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_tensor * x          = ggml_sqr(p.ctx, input(&p, 8, 1));
    struct ggml_tensor * a          = ggml_neg(p.ctx, x);                  /* gpu: reads a copy of x */
    struct ggml_tensor * s          = ggml_scale_inplace(p.ctx, x, 10.0f); /* cpu: writes x */
    struct ggml_tensor * b          = ggml_neg(p.ctx, x);                  /* gpu: must see that */
    struct ggml_tensor * in_order[] = {x, a, s, b};
    for (int i = 0; i < 4; i++) {
        ggml_build_forward_expand(p.graph, in_order[i]);
        ggml_backend_sched_set_tensor_backend(p.sched, in_order[i], i % 2 == 0 ? &p.cpu.backend : &p.gpu.backend);
    }
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    set_all(x->src[0], 2.0f);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK_MSG(value(a, 0) == -4.0f && value(b, 0) == -40.0f, "%g %g", value(a, 0), value(b, 0));
    close_pair(&p);
}

TEST(a_node_that_writes_through_a_view_goes_where_the_memory_is) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_tensor * x = ggml_sqr(p.ctx, input(&p, 8, 1));
    struct ggml_tensor * y = ggml_scale_inplace(p.ctx, x, 10.0f);
    ggml_build_forward_expand(p.graph, y);
    ggml_backend_sched_set_tensor_backend(p.sched, x, &p.cpu.backend);
    ggml_backend_sched_set_tensor_backend(p.sched, y, &p.gpu.backend);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(on_cpu(&p, y));
    close_pair(&p);
}

TEST(only_used_experts_are_copied) {
    struct pair p;
    open_pair(&p, false);
    ggml_backend_sched_free(p.sched);
    ggml_backend_t backends[2] = {&p.gpu.backend, &p.cpu.backend};
    p.sched                    = ggml_backend_sched_new(backends, NULL, 2, 16, false, true);
    p.gpu.offloads             = true;
    struct ggml_tensor * w     = ggml_set_name(ggml_new_tensor_3d(p.cpu_weights, GGML_TYPE_F32, 4, 200, 6), "experts");
    open_weights(&p);
    struct ggml_tensor * x   = ggml_new_tensor_3d(p.ctx, GGML_TYPE_F32, 4, 1, 3);
    struct ggml_tensor * ids = ggml_new_tensor_2d(p.ctx, GGML_TYPE_I32, 2, 3);
    ggml_set_input(x);
    ggml_set_input(ids);
    struct ggml_tensor * y = ggml_mul_mat_id(p.ctx, w, x, ids);
    ggml_build_forward_expand(p.graph, y);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(on_gpu(&p, y));
    toy_fill(w, 3);
    set_all(x, 1.0f);
    const int32_t used[6] = {1, 2, 4, 1, 2, 2};
    ggml_backend_tensor_set(ids, used, 0, sizeof(used));
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    for (int64_t i = 0; i < ggml_nelements(y); i++) {
        const int64_t row = i % 200, expert = used[i / 200];
        float         sum = 0.0f;
        for (int64_t k = 0; k < 4; k++) {
            sum += value(w, (expert * 200 + row) * 4 + k);
        }
        CHECK(value(y, i) == sum);
    }
    const int32_t wild[6] = {1, 2, 4, 1, 6, 2};
    ggml_backend_tensor_set(ids, wild, 0, sizeof(wild));
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_FAILED);
    CHECK(text_names("expert 6"));
    close_pair(&p);
}

/* ---- random graphs on several devices ---- */

struct trial {
    struct toy           toys[3];
    int                  n_toys;
    ggml_backend_sched_t sched;
};

static void open_trial(struct trial * t, uint64_t seed, bool parallel, bool deferred) {
    static const char * const names[] = {"gpu", "npu", "cpu"};
    ggml_backend_t            backends[3];
    t->n_toys = 2 + (int) (seed % 2);
    for (int i = 0; i < t->n_toys; i++) {
        const bool last = i == t->n_toys - 1;
        toy_init(&t->toys[i], names[last ? 2 : i], last ? GGML_BACKEND_DEVICE_TYPE_CPU : GGML_BACKEND_DEVICE_TYPE_GPU);
        t->toys[i].has_events = parallel;
        t->toys[i].deferred   = deferred && !last;
        backends[i]           = &t->toys[i].backend;
    }
    /* each device but the last lacks some operators */
    t->toys[0].refuses[seed % 3 == 0 ? GGML_OP_ADD : GGML_OP_MUL_MAT] = true;
    t->toys[0].refuses[seed % 5 == 0 ? GGML_OP_CONT : GGML_OP_MUL]    = true;
    if (t->n_toys == 3) {
        t->toys[1].refuses[seed % 7 == 0 ? GGML_OP_RMS_NORM : GGML_OP_SCALE] = true;
    }
    t->sched = ggml_backend_sched_new(backends, NULL, t->n_toys, 8, parallel, false);
}

static void close_trial(struct trial * t) {
    ggml_backend_sched_free(t->sched);
    for (int i = 0; i < t->n_toys; i++) {
        toy_free(&t->toys[i]);
    }
}

static size_t total_bytes(const struct trial * t) {
    size_t bytes = 0;
    for (int i = 0; i < t->n_toys; i++) {
        bytes += toy_bytes(&t->toys[i]);
    }
    return bytes;
}

/* The client sends some nodes somewhere, so that there are many splits. */
static void scatter(struct trial * t, struct random_graph * g) {
    for (int i = 0; i < g->graph->n_nodes; i++) {
        struct toy * toy = &t->toys[random_below(g, t->n_toys)];
        if (random_below(g, 3) == 0 && !toy->refuses[g->graph->nodes[i]->op]) {
            ggml_backend_sched_set_tensor_backend(t->sched, g->graph->nodes[i], &toy->backend);
        }
    }
}

static void run_trial(struct trial * t, uint64_t seed, int runs) {
    struct random_graph   g       = random_graph_make(seed, N_DRAWS);
    ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &t->toys[seed % 3 == 1].buft);
    if (weights != NULL) {
        ggml_backend_buffer_set_usage(weights, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    ggml_backend_sched_reset(t->sched);
    scatter(t, &g);
    const bool ok = ggml_backend_sched_alloc_graph(t->sched, g.graph);
    if (!ok) {
        /* a copy into a weight that lies where the operator is refused cannot be run anywhere */
        CHECK_MSG(strstr(ggml_ext_last_error(), "can run it") != NULL, "seed %llu: %s", (unsigned long long) seed,
                  ggml_ext_last_error());
        harness_count_skipped("random graph that writes into memory of a device which refuses the operator", 1);
    }
    for (int i = 0; ok && i < runs; i++) {
        random_graph_fill(&g, seed + (uint64_t) i);
        CHECK(ggml_backend_sched_graph_compute(t->sched, g.graph) == GGML_STATUS_SUCCESS);
        random_graph_compare(&g, seed, N_DRAWS, seed + (uint64_t) i);
    }
    ggml_backend_buffer_free(weights);
    random_graph_free(&g);
}

TEST(random_graphs) {
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct trial t;
        open_trial(&t, seed, false, false);
        run_trial(&t, seed, 2);
        close_trial(&t);
    }
}

TEST(random_graphs_on_one_scheduler) {
    struct trial t;
    open_trial(&t, 1, false, false);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        run_trial(&t, seed, 1);
    }
    close_trial(&t);
}

TEST(random_graphs_on_devices_with_streams) {
    for (int parallel = 0; parallel < 2; parallel++) {
        for (uint64_t seed = 1; seed <= 150; seed++) {
            struct trial t;
            open_trial(&t, seed, parallel, true);
            run_trial(&t, seed, 2);
            run_trial(&t, seed + 1000, 1);
            close_trial(&t);
        }
    }
}

TEST(memory_is_not_used_again_before_another_stream_has_read_it) {
    struct pair p;
    open_pair(&p, false);
    ggml_backend_sched_free(p.sched);
    p.gpu.also_reads                       = &p.cpu;
    p.gpu.deferred                         = true;
    ggml_backend_t             backends[2] = {&p.gpu.backend, &p.cpu.backend};
    ggml_backend_buffer_type_t bufts[2]    = {&p.cpu.buft, &p.cpu.buft};
    p.sched                                = ggml_backend_sched_new(backends, bufts, 2, 16, false, false);
    struct ggml_tensor * w                 = weight(p.cpu_weights, 8, 8, "w");
    open_weights(&p);
    struct ggml_tensor * x = input(&p, 8, 8);
    struct ggml_tensor * a = ggml_cont(p.ctx, ggml_transpose(p.ctx, x)); /* gpu: when somebody waits for it */
    struct ggml_tensor * b = ggml_cont(p.ctx, ggml_transpose(p.ctx, w)); /* cpu: may lie where x was */
    ggml_build_forward_expand(p.graph, a);
    ggml_build_forward_expand(p.graph, b);
    ggml_backend_sched_set_tensor_backend(p.sched, a, &p.gpu.backend);
    ggml_backend_sched_set_tensor_backend(p.sched, b, &p.cpu.backend);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    CHECK(b->data == x->data); /* else this test shows nothing */
    set_all(x, 1.0f);
    set_all(w, 2.0f);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK_MSG(value(a, 0) == 1.0f && value(b, 0) == 2.0f, "%g %g", value(a, 0), value(b, 0));
    close_pair(&p);
}

/* ---- pipeline copies ---- */

TEST(graphs_follow_one_another_without_waiting) {
    struct pair p;
    open_pair(&p, true);
    CHECK(ggml_backend_sched_get_n_copies(p.sched) == 4);
    p.gpu.deferred          = true;
    struct ggml_tensor * w1 = weight(p.gpu_weights, 8, 8, "w1");
    struct ggml_tensor * w2 = weight(p.cpu_weights, 8, 8, "w2");
    struct ggml_tensor * w3 = weight(p.gpu_weights, 8, 8, "w3");
    struct ggml_tensor * o  = weight(p.gpu_weights, 8, 40, "out"); /* results of all rounds */
    open_weights(&p);
    set_all(w1, 1.0f);
    set_all(w2, 1.0f);
    set_all(w3, 1.0f);
    int allocations = 0;
    for (int round = 0; round < 40; round++) {
        struct ggml_context * ctx   = toy_context(32);
        struct ggml_cgraph *  graph = ggml_new_graph(ctx);
        struct ggml_tensor *  x     = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 1);
        ggml_set_input(x);
        struct ggml_tensor * y = ggml_mul_mat(ctx, w3, ggml_mul_mat(ctx, w2, ggml_mul_mat(ctx, w1, x)));
        ggml_build_forward_expand(graph,
                                  ggml_cpy(ctx, y, ggml_view_2d(ctx, o, 8, 1, o->nb[1], (size_t) round * o->nb[1])));
        ggml_backend_sched_reset(p.sched);
        REQUIRE(ggml_backend_sched_alloc_graph(p.sched, graph));
        set_all(x, (float) round);
        CHECK(ggml_backend_sched_graph_compute_async(p.sched, graph) == GGML_STATUS_SUCCESS);
        set_all(x, -1000.0f); /* the client's tensor is its own again */
        ggml_free(ctx);
        if (round == 0) {
            allocations = p.gpu.n_allocations + p.cpu.n_allocations;
        }
    }
    ggml_backend_sched_synchronize(p.sched);
    CHECK(p.gpu.n_allocations + p.cpu.n_allocations == allocations); /* the plan serves every copy */
    for (int round = 0; round < 40; round++) {
        CHECK_MSG(value(o, round * 8 + 3) == 512.0f * (float) round, "round %d: %g", round, value(o, round * 8 + 3));
    }
    close_pair(&p);
}

/* ---- memory ---- */

/* S1: the size is a hint. */
TEST(graphs_larger_than_announced) {
    struct toy cpu;
    toy_init(&cpu, "cpu", GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_t       backend = &cpu.backend;
    ggml_backend_sched_t sched   = ggml_backend_sched_new(&backend, NULL, 1, 1, false, false);
    for (int n = 1; n <= 3000; n = n < 70 ? n + 1 : n * 4) {
        struct ggml_context * ctx   = toy_context((size_t) n + 8);
        struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, (size_t) n + 8, false);
        struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
        ggml_set_input(x);
        struct ggml_tensor * y = x;
        for (int i = 0; i < n; i++) {
            y = ggml_add(ctx, y, x);
        }
        ggml_build_forward_expand(graph, y);
        ggml_backend_sched_reset(sched);
        REQUIRE(ggml_backend_sched_alloc_graph(sched, graph));
        set_all(x, 1.0f);
        CHECK(ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS);
        CHECK(value(y, 3) == (float) (n + 1));
        ggml_free(ctx);
    }
    ggml_backend_sched_free(sched);
    toy_free(&cpu);
}

/* S5: a leaf in a buffer of its own, before and after a reset. */
TEST(external_leaf_over_a_reset) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_context * own    = toy_context(4);
    struct ggml_tensor *  leaf   = ggml_new_tensor_2d(own, GGML_TYPE_F32, 184, 80);
    ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors_from_buft(own, &p.cpu.buft);
    set_all(leaf, 1.0f);
    for (int round = 0; round < 4; round++) {
        struct ggml_context * ctx   = toy_context(32);
        struct ggml_cgraph *  graph = ggml_new_graph(ctx);
        struct ggml_tensor *  y     = ggml_add(ctx, leaf, leaf);
        for (int i = 0; i < round; i++) {
            y = ggml_add(ctx, y, leaf);
        }
        ggml_build_forward_expand(graph, y);
        REQUIRE(ggml_backend_sched_alloc_graph(p.sched, graph));
        CHECK(ggml_backend_sched_graph_compute(p.sched, graph) == GGML_STATUS_SUCCESS);
        CHECK(value(y, 184 * 80 - 1) == (float) (round + 2));
        ggml_backend_sched_reset(p.sched);
        ggml_free(ctx);
    }
    ggml_backend_buffer_free(memory);
    ggml_free(own);
    close_pair(&p);
}

TEST(reserve_twice_is_reserve_once) {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct trial        t;
        struct random_graph g        = random_graph_make(seed, N_DRAWS);
        size_t              sizes[3] = {0};
        open_trial(&t, seed, seed % 4 == 0, false);
        ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &t.toys[t.n_toys - 1].buft);
        const size_t          before  = total_bytes(&t);
        ggml_backend_sched_reserve_size(t.sched, g.graph, sizes);
        CHECK(total_bytes(&t) == before);
        REQUIRE(ggml_backend_sched_reserve(t.sched, g.graph));
        size_t sum = 0;
        for (int b = 0; b < t.n_toys; b++) {
            CHECK_MSG(ggml_backend_sched_get_buffer_size(t.sched, &t.toys[b].backend) == sizes[b],
                      "seed %llu, device %d", (unsigned long long) seed, b);
            sum += sizes[b];
        }
        CHECK(total_bytes(&t) - before == sum);
        int allocations = 0;
        for (int b = 0; b < t.n_toys; b++) {
            allocations += t.toys[b].n_allocations;
        }
        for (int i = 0; i < 3; i++) {
            CHECK(ggml_backend_sched_reserve(t.sched, g.graph));
        }
        CHECK(ggml_backend_sched_alloc_graph(t.sched, g.graph));
        for (int b = 0; b < t.n_toys; b++) {
            allocations -= t.toys[b].n_allocations;
        }
        CHECK(allocations == 0 && total_bytes(&t) - before == sum);
        ggml_backend_buffer_free(weights);
        random_graph_free(&g);
        close_trial(&t);
    }
}

TEST(out_of_memory_at_every_allocation) {
    for (int n = 1; n < 50; n++) {
        struct trial        t;
        struct random_graph g = random_graph_make(11, N_DRAWS);
        open_trial(&t, 11, false, false);
        for (int b = 0; b < t.n_toys; b++) {
            t.toys[b].max_size = 512;
        }
        ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &t.toys[t.n_toys - 1].buft);
        struct toy *          failing = &t.toys[n % t.n_toys];
        failing->fail_alloc           = 1 + n / t.n_toys;
        const enum ggml_status status = ggml_backend_sched_graph_compute(t.sched, g.graph);
        const bool             hit    = failing->fail_alloc == 0;
        CHECK(status == (hit ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_SUCCESS));
        failing->fail_alloc = 0;
        ggml_backend_sched_reset(t.sched);
        REQUIRE(ggml_backend_sched_alloc_graph(t.sched, g.graph));
        random_graph_fill(&g, 11);
        CHECK(ggml_backend_sched_graph_compute(t.sched, g.graph) == GGML_STATUS_SUCCESS);
        random_graph_compare(&g, 11, N_DRAWS, 11);
        ggml_backend_buffer_free(weights);
        random_graph_free(&g);
        close_trial(&t);
        if (!hit && n / 3 > 8) {
            return;
        }
    }
}

/* ---- running ---- */

TEST(failure_of_any_node_reaches_the_caller) {
    static const enum ggml_status statuses[] = {GGML_STATUS_FAILED, GGML_STATUS_ABORTED, GGML_STATUS_ALLOC_FAILED};
    for (int n = 1; n < 200; n++) {
        struct trial        t;
        struct random_graph g = random_graph_make(17, N_DRAWS);
        open_trial(&t, 17, false, false);
        ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &t.toys[t.n_toys - 1].buft);
        struct toy *          failing = &t.toys[n % t.n_toys];
        failing->fail_node            = 1 + n / t.n_toys;
        failing->fail_status          = statuses[n % 3];
        const enum ggml_status status = ggml_backend_sched_graph_compute(t.sched, g.graph);
        const bool             hit    = failing->fail_node == 0;
        CHECK(status == (hit ? statuses[n % 3] : GGML_STATUS_SUCCESS));
        failing->fail_node = 0;
        random_graph_fill(&g, 17);
        CHECK(ggml_backend_sched_graph_compute(t.sched, g.graph) == GGML_STATUS_SUCCESS); /* still allocated */
        random_graph_compare(&g, 17, N_DRAWS, 17);
        ggml_backend_buffer_free(weights);
        random_graph_free(&g);
        close_trial(&t);
    }
}

struct watch {
    struct pair * p;
    int           n_asked, n_seen, stop_at, want_every;
    char          seen[8][GGML_MAX_NAME];
    float         values[8];
};

static bool watch_node(struct ggml_tensor * t, bool ask, void * user_data) {
    struct watch * w = user_data;
    if (ask) {
        return w->n_asked++ % w->want_every == w->want_every - 1;
    }
    snprintf(w->seen[w->n_seen], sizeof(w->seen[0]), "%s", t->name);
    w->values[w->n_seen++] = value(t, 0);
    return w->n_seen != w->stop_at;
}

TEST(evaluation_callback) {
    for (int every = 1; every <= 3; every++) {
        for (int stop_at = 0; stop_at <= 3; stop_at++) {
            struct pair  p;
            struct watch w = {.want_every = every, .stop_at = stop_at};
            open_pair(&p, false);
            struct ggml_tensor * x = input(&p, 4, 1);
            struct ggml_tensor * y = x;
            for (int i = 0; i < 6; i++) { /* three on each device, by turns of two: splits of 2 nodes */
                y = ggml_scale(p.ctx, y, 2.0f);
                ggml_format_name(y, "n%d", i);
                ggml_build_forward_expand(p.graph, y);
                ggml_backend_sched_set_tensor_backend(p.sched, y, i / 2 % 2 == 0 ? &p.gpu.backend : &p.cpu.backend);
            }
            ggml_backend_sched_set_eval_callback(p.sched, watch_node, &w);
            REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
            set_all(x, 1.0f);
            CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
            const int seen = 6 / every; /* nodes 1, 3, 5 when every second one is wanted */
            const int want = stop_at > 0 && stop_at < seen ? stop_at : seen;
            CHECK_MSG(w.n_seen == want, "every %d, stop at %d: saw %d", every, stop_at, w.n_seen);
            for (int i = 0; i < w.n_seen; i++) {
                const int node = (i + 1) * every - 1;
                char      name[16];
                snprintf(name, sizeof(name), "n%d", node);
                CHECK_MSG(strcmp(name, w.seen[i]) == 0, "saw %s, expected %s", w.seen[i], name);
                CHECK(w.values[i] == (float) (2 << node));
            }
            if (stop_at == 0) {
                CHECK(w.n_asked == 6);
            }
            close_pair(&p);
        }
    }
}

TEST(unwanted_nodes_run_together) {
    struct toy cpu;
    toy_init(&cpu, "cpu", GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_t        backend = &cpu.backend;
    ggml_backend_sched_t  sched   = ggml_backend_sched_new(&backend, NULL, 1, 1, false, false);
    struct ggml_context * ctx     = toy_context(32);
    struct ggml_cgraph *  graph   = ggml_new_graph(ctx);
    struct ggml_tensor *  y       = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct watch          w       = {.want_every = 4};
    for (int i = 0; i < 10; i++) {
        y = ggml_scale(ctx, y, 1.0f);
    }
    ggml_build_forward_expand(graph, y);
    ggml_backend_sched_set_eval_callback(sched, watch_node, &w);
    CHECK(ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS);
    CHECK(cpu.n_graphs == 3 && w.n_seen == 2 && cpu.n_nodes == 10); /* 4, 4, 2 */
    ggml_free(ctx);
    ggml_backend_sched_free(sched);
    toy_free(&cpu);
}

TEST(graph_ids) {
    struct pair p;
    open_pair(&p, false);
    struct ggml_tensor * y = ggml_sqr(p.ctx, input(&p, 4, 1));
    ggml_build_forward_expand(p.graph, y);
    REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
    set_all(y->src[0], 1.0f);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    const struct toy * ran   = p.cpu.n_graphs > 0 ? &p.cpu : &p.gpu;
    const uint64_t     first = ran->last_uid;
    CHECK(first != 0);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK(ran->last_uid == first); /* unchanged */
    ggml_backend_sched_reset(p.sched);
    CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
    CHECK(ran->last_uid != first && ran->last_uid != 0);
    close_pair(&p);
}

TEST(one_graph_on_two_schedulers) {
    struct pair p, q;
    open_pair(&p, false);
    open_pair(&q, false);
    struct ggml_context * weights = toy_context(4);
    struct ggml_tensor *  x       = ggml_new_tensor_1d(weights, GGML_TYPE_F32, 4);
    struct ggml_tensor *  z       = ggml_new_tensor_1d(weights, GGML_TYPE_F32, 4);
    ggml_backend_buffer_t memory  = ggml_backend_alloc_ctx_tensors_from_buft(weights, &p.cpu.buft);
    struct ggml_tensor *  y       = ggml_cpy(p.ctx, ggml_sqr(p.ctx, x), z);
    ggml_build_forward_expand(p.graph, y);
    ggml_backend_sched_set_tensor_backend(p.sched, y->src[0], &p.gpu.backend);
    for (int round = 0; round < 3; round++) {
        set_all(x, (float) (round + 2));
        REQUIRE(ggml_backend_sched_alloc_graph(p.sched, p.graph));
        CHECK(ggml_backend_sched_graph_compute(p.sched, p.graph) == GGML_STATUS_SUCCESS);
        CHECK(value(z, 3) == (float) ((round + 2) * (round + 2)));
        CHECK(y->src[0]->src[0] == x);
    }
    ggml_backend_buffer_free(memory);
    ggml_free(weights);
    close_pair(&q);
    close_pair(&p);
}

TEST(wrong_arguments) {
    struct toy gpu;
    toy_init(&gpu, "gpu", GGML_BACKEND_DEVICE_TYPE_GPU);
    ggml_backend_t backends[2] = {&gpu.backend, NULL};
    CHECK(ggml_backend_sched_new(backends, NULL, 0, 1, false, false) == NULL);
    CHECK(ggml_backend_sched_new(backends, NULL, 1, 1, false, false) == NULL); /* no CPU */
    CHECK(text_names("CPU"));
    CHECK(ggml_backend_sched_new(backends, NULL, 2, 1, false, false) == NULL); /* NULL */
    ggml_backend_sched_free(NULL);
    toy_free(&gpu);
}
