/* SPDX-License-Identifier: MIT
 *
 * Two backends compared by what they make of one graph.
 */
#include "base/status.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

/* One graph on two backends. */
struct comparison {
    ggml_backend_t             backend[2];
    struct ggml_cgraph *       graph[2];
    ggml_backend_eval_callback callback;
    void *                     user_data;
};

static bool compute_both(const struct comparison * c, struct ggml_cgraph * graph0, struct ggml_cgraph * graph1) {
    return ggml_backend_graph_compute(c->backend[0], graph0) == GGML_STATUS_SUCCESS &&
           ggml_backend_graph_compute(c->backend[1], graph1) == GGML_STATUS_SUCCESS;
}

static bool compare_pair(const struct comparison * c, int i) {
    return c->callback(i, c->graph[0]->nodes[i], c->graph[1]->nodes[i], c->user_data);
}

/* The whole graph at once, then the chosen nodes. */
static bool compare_chosen(const struct comparison * c, const struct ggml_tensor * const * chosen, size_t n_chosen) {
    size_t found = 0;
    if (!compute_both(c, c->graph[0], c->graph[1])) {
        return false;
    }
    for (int i = 0; i < c->graph[0]->n_nodes; i++) {
        for (size_t j = 0; j < n_chosen; j++) {
            if (c->graph[0]->nodes[i] == chosen[j]) {
                compare_pair(c, i);
                found++;
            }
        }
    }
    if (found == 0) {
        base_fail(GGML_STATUS_FAILED, "compare_graph_backend: none of the %zu chosen tensors is a node of the graph",
                  n_chosen);
    }
    return found > 0;
}

static bool only_relabels(const struct ggml_tensor * t) {
    return t->op == GGML_OP_VIEW || t->op == GGML_OP_RESHAPE || t->op == GGML_OP_PERMUTE || t->op == GGML_OP_TRANSPOSE;
}

/* Node by node, until the callback has seen enough. */
static bool compare_each(const struct comparison * c) {
    for (int i = 0; i < c->graph[0]->n_nodes; i++) {
        struct ggml_cgraph one[2] = {ggml_graph_view(c->graph[0], i, i + 1), ggml_graph_view(c->graph[1], i, i + 1)};
        if (!compute_both(c, &one[0], &one[1])) {
            return false;
        }
        if (!only_relabels(c->graph[0]->nodes[i]) && !compare_pair(c, i)) {
            break;
        }
    }
    return true;
}

static void free_copy(struct ggml_backend_graph_copy * copy) {
    ggml_backend_graph_copy_free(*copy);
}

bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2, struct ggml_cgraph * graph,
                                        ggml_backend_eval_callback callback, void * user_data,
                                        const struct ggml_tensor * const * test_nodes, size_t num_test_nodes) {
    /* freed also when the callback throws */
    __attribute__((cleanup(free_copy))) struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(backend2, graph);
    if (copy.graph == NULL) {
        return false;
    }
    const struct comparison c = {
        .backend = {backend1, backend2}, .graph = {graph, copy.graph}, .callback = callback, .user_data = user_data};
    return num_test_nodes > 0 ? compare_chosen(&c, test_nodes, num_test_nodes) : compare_each(&c);
}
