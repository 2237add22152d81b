/* SPDX-License-Identifier: MIT
 *
 * The order of nodes, use counts and flags, against those of ggml 0.25.3 on random graphs.
 */
#include "harness.h"
#include "random_graph.h"

static const uint64_t golden[] = {
#include "golden/order.inc"
};
#define N_GOLDEN (sizeof(golden) / sizeof(golden[0]))

static void compare(size_t size) {
    for (uint64_t seed = 0; seed < N_GOLDEN; seed++) {
        CHECK_MSG(random_graph_digest(seed, size) == golden[seed], "graph %d of size %zu differs", (int) seed, size);
        harness_count_run(1);
    }
}

TEST(random_graphs) {
    compare(RANDOM_MAX_TENSORS);
}

TEST(random_graphs_that_grow) {
    compare(8);
    compare(0);
}

TEST(left_and_right) {
    for (int order = 0; order < 2; order++) {
        struct ggml_context * ctx   = ggml_init((struct ggml_init_params) { 1 << 20, NULL, true });
        struct ggml_cgraph *  graph = ggml_new_graph(ctx);
        struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
        struct ggml_tensor *  a     = ggml_sqr(ctx, x);
        struct ggml_tensor *  b     = ggml_sqrt(ctx, x);
        struct ggml_tensor *  c     = ggml_add(ctx, a, b);
        graph->order                = (enum ggml_cgraph_eval_order) order;
        ggml_build_forward_expand(graph, c);
        CHECK(graph->n_nodes == 3 && graph->n_leafs == 1);
        CHECK(ggml_graph_node(graph, order) == a && ggml_graph_node(graph, 1 - order) == b);
        CHECK(ggml_graph_node(graph, -1) == c && ggml_graph_node(graph, -3) == ggml_graph_node(graph, 0));
        CHECK(ggml_node_get_use_count(graph, order) == 1);
        CHECK(graph->use_counts[ggml_hash_find(&graph->visited_hash_set, x)] == 2);
        ggml_free(ctx);
    }
}

TEST(selected_branches_are_computed) {
    struct ggml_context * ctx   = ggml_init((struct ggml_init_params) { 1 << 20, NULL, true });
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor *  both  = ggml_sqr(ctx, x);
    struct ggml_tensor *  way[] = { ggml_sqrt(ctx, both), ggml_log(ctx, both), ggml_sin(ctx, x) };
    CHECK(ggml_build_forward_select(graph, way, 3, 1) == way[1]);
    CHECK(graph->n_nodes == 4);
    CHECK((way[0]->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 && (way[2]->flags & GGML_TENSOR_FLAG_COMPUTE) == 0);
    CHECK((way[1]->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 && (both->flags & GGML_TENSOR_FLAG_COMPUTE) != 0);
    CHECK((x->flags & GGML_TENSOR_FLAG_COMPUTE) == 0);
    ggml_build_forward_expand(graph, way[0]);
    CHECK(graph->n_nodes == 4 && (way[0]->flags & GGML_TENSOR_FLAG_COMPUTE) != 0);
    ggml_free(ctx);
}
