/* SPDX-License-Identifier: MIT
 *
 * Copies of graphs to another backend, and the comparison of two backends by them.
 */
#include "device/support.h"

enum { N = 12 };

/* (x[0:6] + y[0:6]) + transposed view of a 2x3 sum, on the host: views, a shared source, an in-place node. */
struct sample {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_cgraph *  graph;
    struct ggml_tensor *  x, *y, *sum, *last;
};

static bool sample_open(struct sample * s, ggml_backend_t backend) {
    s->ctx                    = test_context();
    s->x                      = ggml_set_name(ggml_new_tensor_1d(s->ctx, GGML_TYPE_F32, N), "x");
    s->y                      = ggml_set_name(ggml_new_tensor_1d(s->ctx, GGML_TYPE_F32, N), "y");
    struct ggml_tensor * head = ggml_view_2d(s->ctx, s->x, 3, 2, 3 * 4, 0);
    struct ggml_tensor * tail = ggml_view_2d(s->ctx, s->y, 3, 2, 3 * 4, 6 * 4);
    s->sum                    = ggml_set_name(ggml_add(s->ctx, head, tail), "sum");
    s->last =
        ggml_set_name(ggml_add(s->ctx, ggml_transpose(s->ctx, s->sum), ggml_reshape_2d(s->ctx, tail, 2, 3)), "last");
    ggml_set_output(s->last);
    s->graph = ggml_new_graph(s->ctx);
    ggml_build_forward_expand(s->graph, s->last);
    s->buffer = ggml_backend_alloc_ctx_tensors(s->ctx, backend);
    if (s->buffer == NULL) {
        return false;
    }
    float in[N];
    for (int i = 0; i < N; i++) {
        in[i] = (float) (i * i);
    }
    ggml_backend_tensor_set(s->x, in, 0, sizeof(in));
    ggml_backend_tensor_set(s->y, in, 0, sizeof(in));
    return true;
}

static void sample_close(struct sample * s) {
    ggml_backend_buffer_free(s->buffer);
    ggml_free(s->ctx);
}

static void expected_last(float * out) {
    for (int i1 = 0; i1 < 3; i1++) {
        for (int i0 = 0; i0 < 2; i0++) {
            const int   at   = i0 * 3 + i1; /* in the sum */
            const float sum  = (float) (at * at + (6 + at) * (6 + at));
            const int   flat = i1 * 2 + i0;
            out[flat]        = sum + (float) ((6 + flat) * (6 + flat));
        }
    }
}

TEST(copy_computes_the_same) {
    for (int from = 0; from < 2; from++) {
        ggml_backend_t a = test_backend(from), b = test_backend(1 - from);
        struct sample  s;
        float          expected[6], out[6] = {0};
        REQUIRE(a != NULL && b != NULL && sample_open(&s, a));
        struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(b, s.graph);
        REQUIRE(copy.graph != NULL && copy.buffer != NULL);
        const struct ggml_cgraph * g = copy.graph;
        CHECK(g->n_nodes == s.graph->n_nodes && g->n_leafs == s.graph->n_leafs);
        for (int i = 0; i < g->n_nodes; i++) {
            const struct ggml_tensor * was = s.graph->nodes[i];
            const struct ggml_tensor * is  = g->nodes[i];
            CHECK(is != was && is->op == was->op && is->flags == was->flags && ggml_are_same_layout(is, was));
            CHECK(strcmp(is->name, was->name) == 0);
            CHECK(memcmp(is->op_params, was->op_params, sizeof(is->op_params)) == 0);
            CHECK(is->buffer == copy.buffer && is->data != was->data);
            CHECK((is->view_src == NULL) == (was->view_src == NULL) && is->view_offs == was->view_offs);
            CHECK(ggml_node_get_use_count(g, i) == ggml_node_get_use_count(s.graph, i));
            CHECK(ggml_hash_contains(&g->visited_hash_set, g->nodes[i]));
        }
        CHECK(ggml_backend_graph_compute(b, copy.graph) == GGML_STATUS_SUCCESS);
        expected_last(expected);
        ggml_backend_tensor_get(g->nodes[g->n_nodes - 1], out, 0, sizeof(out));
        CHECK(memcmp(out, expected, sizeof(out)) == 0);
        ggml_backend_graph_copy_free(copy);
        sample_close(&s);
        ggml_backend_free(a);
        ggml_backend_free(b);
    }
}

TEST(copy_of_a_graph_without_memory) {
    ggml_backend_t        backend = test_backend(0);
    struct ggml_context * ctx     = test_context();
    struct ggml_tensor *  lost    = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), "lost");
    struct ggml_cgraph *  graph   = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_add(ctx, lost, lost));
    log_begin();
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(backend, graph);
    CHECK(copy.graph == NULL && copy.buffer == NULL && copy.ctx_allocated == NULL && copy.ctx_unallocated == NULL);
    CHECK(strstr(ggml_ext_last_error(), "'lost' (f32 [4, 1, 1, 1])") != NULL);
    ggml_backend_graph_copy_free(copy);
    ggml_log_set(NULL, NULL);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

TEST(copy_when_the_device_has_no_memory) {
    ggml_backend_t a = test_backend(0), b = test_backend(1);
    struct sample  s;
    REQUIRE(sample_open(&s, a));
    log_begin();
    test_counters()->fail_alloc         = 1;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(b, s.graph);
    CHECK(copy.graph == NULL && copy.ctx_allocated == NULL);
    CHECK(strstr(ggml_ext_last_error(), "no memory") != NULL);
    CHECK(!ggml_backend_compare_graph_backend(a, b, s.graph, NULL, NULL, NULL, 0));
    test_counters()->fail_alloc = 0;
    ggml_log_set(NULL, NULL);
    sample_close(&s);
    ggml_backend_free(a);
    ggml_backend_free(b);
}

/* A chain far deeper than a C stack of frames would like. */
TEST(copy_of_a_long_chain) {
    enum { LENGTH = 200000 };
    const struct ggml_init_params params = {
        .mem_size   = ggml_tensor_overhead() * (LENGTH + 8) + ggml_graph_overhead_custom(LENGTH, false),
        .mem_buffer = NULL,
        .no_alloc   = true,
    };
    struct ggml_context * ctx  = ggml_init(params);
    struct ggml_tensor *  root = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    struct ggml_tensor *  t    = root;
    ggml_backend_t        cpu  = test_backend(0);
    ggml_backend_buffer_t room = ggml_backend_alloc_buffer(cpu, 16);
    ggml_backend_tensor_alloc(room, root, ggml_backend_buffer_get_base(room));
    ggml_backend_tensor_memset(root, 0, 0, 4);
    for (int i = 0; i < LENGTH;
         i++) { /* built by hand: each names the one before, only the last is in the graph's list */
        struct ggml_tensor * next = ggml_dup_tensor(ctx, root);
        next->view_src            = root;
        next->data                = root->data;
        next->buffer              = root->buffer;
        next->op                  = GGML_OP_VIEW;
        next->src[0]              = t;
        t                         = next;
    }
    struct ggml_cgraph * graph          = ggml_new_graph_custom(ctx, 4, false);
    graph->nodes[0]                     = t;
    graph->n_nodes                      = 1;
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(cpu, graph);
    CHECK(copy.graph != NULL && copy.graph->n_nodes == 1);
    ggml_backend_graph_copy_free(copy);
    ggml_backend_buffer_free(room);
    ggml_backend_free(cpu);
    ggml_free(ctx);
}

/* ---- comparison ---- */

struct seen {
    int n, stop_after, wrong;
};

static bool compare(int index, struct ggml_tensor * t1, struct ggml_tensor * t2, void * user_data) {
    struct seen * seen = user_data;
    float         a[N], b[N];
    (void) index;
    ggml_backend_tensor_get(t1, a, 0, ggml_nbytes(t1));
    ggml_backend_tensor_get(t2, b, 0, ggml_nbytes(t2));
    seen->wrong += memcmp(a, b, ggml_nbytes(t1)) != 0 || t1->op != GGML_OP_ADD;
    seen->n++;
    return seen->n != seen->stop_after;
}

TEST(comparison_of_backends) {
    ggml_backend_t a = test_backend(0), b = test_backend(1);
    struct sample  s;
    struct seen    seen = {0};
    REQUIRE(sample_open(&s, a));
    CHECK(ggml_backend_compare_graph_backend(a, b, s.graph, compare, &seen, NULL, 0));
    CHECK(seen.n == 2 && seen.wrong == 0); /* nodes that only relabel are passed over */
    seen = (struct seen){.stop_after = 1};
    CHECK(ggml_backend_compare_graph_backend(a, b, s.graph, compare, &seen, NULL, 0));
    CHECK(seen.n == 1);
    const struct ggml_tensor * chosen[] = {s.last};
    seen                                = (struct seen){0};
    CHECK(ggml_backend_compare_graph_backend(a, b, s.graph, compare, &seen, chosen, 1));
    CHECK(seen.n == 1 && seen.wrong == 0);
    const struct ggml_tensor * none[] = {s.x};
    CHECK(!ggml_backend_compare_graph_backend(a, b, s.graph, compare, &seen, none, 1));
    CHECK(strstr(ggml_ext_last_error(), "chosen") != NULL);
    CHECK(test_counters()->freed == 4); /* the copies' buffers */
    sample_close(&s);
    ggml_backend_free(a);
    ggml_backend_free(b);
}

TEST(comparison_with_the_cpu) {
    ggml_backend_t cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    ggml_backend_t b   = test_backend(1);
    struct sample  s;
    struct seen    seen = {0};
    REQUIRE(cpu != NULL && sample_open(&s, cpu));
    CHECK(ggml_backend_compare_graph_backend(cpu, b, s.graph, compare, &seen, NULL, 0));
    CHECK(seen.n == 2 && seen.wrong == 0);
    sample_close(&s);
    ggml_backend_free(cpu);
    ggml_backend_free(b);
}
