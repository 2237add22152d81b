/* SPDX-License-Identifier: MIT
 *
 * May a group of nodes be computed as one? Asked by devices that fuse; the chains among them are answered inline in
 * ggml-impl.h.
 */
#include "ggml-backend.h"
#include "ggml-impl.h"

/* A view of a weight: the bytes do not change while the graph runs. */
static bool is_constant(const struct ggml_tensor * t) {
    return t->buffer != NULL && (t->flags & GGML_TENSOR_FLAG_PARAM) == 0 &&
           ggml_backend_buffer_get_usage(t->buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
}

static bool among(const struct ggml_cgraph * graph, const int * idxs, int n, const struct ggml_tensor * t) {
    for (int i = 0; i < n; i++) {
        if (idxs[i] >= 0 && idxs[i] < graph->n_nodes && graph->nodes[idxs[i]] == t) {
            return true;
        }
    }
    return false;
}

/* Uses of a node by later nodes of the group. */
static int uses_inside(const struct ggml_cgraph * graph, const int * idxs, int n, int i) {
    const struct ggml_tensor * node = graph->nodes[idxs[i]];
    int                        uses = 0;
    for (int j = i + 1; j < n; j++) {
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            uses += graph->nodes[idxs[j]]->src[k] == node;
        }
    }
    return uses;
}

/* Nobody outside the group sees the value of node i. */
static bool is_hidden(const struct ggml_cgraph * graph, const int * idxs, int n, int i) {
    const struct ggml_tensor * node = graph->nodes[idxs[i]];
    if ((node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 ||
        uses_inside(graph, idxs, n, i) != ggml_node_get_use_count(graph, idxs[i])) {
        return false;
    }
    /* a view writes or shows bytes of its source */
    for (const struct ggml_tensor * root = node->view_src; root != NULL; root = root->view_src) {
        if (!among(graph, idxs, n, root) && !is_constant(root)) {
            return false;
        }
    }
    return true;
}

bool ggml_can_fuse_subgraph_ext(const struct ggml_cgraph * cgraph, const int * node_idxs, int count,
                                const enum ggml_op * ops, const int * outputs, int num_outputs) {
    if (outputs == NULL || num_outputs <= 0) {
        return false; /* it would compute nothing */
    }
    for (int i = 0; i < count; i++) {
        if (node_idxs[i] < 0 || node_idxs[i] >= cgraph->n_nodes) {
            return false;
        }
        const struct ggml_tensor * node = cgraph->nodes[node_idxs[i]];
        if (node->op != ops[i] || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (!among(cgraph, outputs, num_outputs, cgraph->nodes[node_idxs[i]]) &&
            !is_hidden(cgraph, node_idxs, count, i)) {
            return false;
        }
    }
    return true;
}
