/* SPDX-License-Identifier: MIT
 *
 * Scanning a graph for the allocator. Tensors are numbered in the order of first sight: leafs, then each node's sources
 * and the node. The wiring is the sequence of those numbers with the kind of each node: where two graphs have the same
 * wiring, a plan of one is a plan of the other, whatever the addresses of their descriptors.
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "plan/alloc.h"

/* Words of the wiring in place of a number, see `refer`. */
enum { PERMANENT = -1, NEW_PERMANENT = -2 };

void alloc_scan_free(struct alloc_scan * scan) {
    plan_map_free(&scan->map);
    free(scan->seen.items);
    free(scan->wiring.items);
    free(scan->refs.items);
    free(scan->n_src.items);
    memset(scan, 0, sizeof(*scan));
}

static bool push_word(struct alloc_scan * scan, int32_t word) {
    if (!PLAN_ARRAY_ROOM(scan->wiring)) {
        return false;
    }
    scan->wiring.items[scan->wiring.n++] = word;
    return true;
}

/* Number of a tensor, which has a place in `seen` from then on. What it views comes before it. */
static int32_t number_of(struct alloc_scan * scan, struct ggml_tensor * tensor, int buffer_id) {
    const int32_t known = plan_map_find(&scan->map, tensor);
    if (known >= 0) {
        return known;
    }
    const int32_t viewed = tensor->view_src != NULL ? number_of(scan, tensor->view_src, buffer_id) : -1;
    if (tensor->view_src != NULL && viewed < 0) {
        return -1;
    }
    const int32_t number = plan_map_add(&scan->map, tensor);
    if (number < 0) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory to number the tensors of a graph");
        return -1;
    }
    if (!PLAN_ARRAY_ROOM(scan->seen)) {
        return -1;
    }
    scan->seen.items[scan->seen.n++] = (struct alloc_seen) {
        .tensor    = tensor,
        .root      = viewed >= 0 ? scan->seen.items[viewed].root : number,
        .buffer_id = buffer_id,
        .own       = tensor->data == NULL && tensor->buffer == NULL && tensor->view_src == NULL,
    };
    return number;
}

/* Input and output at once: alive from before the first node for ever, so that it does not matter to the plan who reads
 * it. The scheduler's pipeline copies are such, and take turns under the same nodes. */
static bool is_permanent(const struct ggml_tensor * tensor) {
    const int32_t both = GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT;
    return tensor->view_src == NULL && (tensor->flags & both) == both;
}

/* Numbers a tensor that a node names, and says so in the wiring. */
static int32_t refer(struct alloc_scan * scan, struct ggml_tensor * tensor, int buffer_id) {
    const size_t  before = scan->seen.n;
    const int32_t number = number_of(scan, tensor, buffer_id);
    if (number < 0 || !PLAN_ARRAY_ROOM(scan->refs)) {
        return -1;
    }
    scan->refs.items[scan->refs.n++] = number;
    const bool is_new = scan->seen.n > before;
    if (is_permanent(tensor)) {
        return push_word(scan, is_new ? NEW_PERMANENT : PERMANENT) ? number : -1;
    }
    if (!push_word(scan, number) || (is_new && !push_word(scan, scan->seen.items[number].root))) {
        return -1;
    }
    return number;
}

static int buffer_id_of(const int * ids, int i) {
    return ids != NULL ? ids[i] : 0;
}

static bool scan_leaf(struct alloc_scan * scan, const struct alloc_request * request, int i) {
    struct ggml_tensor * leaf   = request->graph->leafs[i];
    const size_t         before = scan->seen.n;
    const int32_t        number = number_of(scan, leaf, buffer_id_of(request->leaf_buffer_ids, i));
    if (number < 0) {
        return false;
    }
    scan->seen.items[number].listed = true;
    scan->seen.items[number].leaf   = true;
    if (is_permanent(leaf) && scan->seen.n == before) {
        return push_word(scan, PERMANENT); /* listed twice */
    }
    return push_word(scan, number) && push_word(scan, scan->seen.items[number].root);
}

/* What decides a node's part besides its sources: is it a label, a mere dependency or a computation, and how does it run? */
static bool push_kind(struct alloc_scan * scan, const struct alloc_request * request, int i) {
    const struct ggml_tensor * node    = request->graph->nodes[i];
    const uint8_t              flags   = request->node_flags != NULL ? request->node_flags[i] : 0;
    const bool                 works   = request->workspaces != NULL && request->workspaces[i] > 0;
    uint32_t                   sources = 0; /* which ones there are */
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        sources |= node->src[k] != NULL ? 1u << k : 0;
    }
    const uint32_t word = sources | (alloc_is_label(node) ? 1u << 16 : 0) | (node->op == GGML_OP_NONE ? 1u << 17 : 0) |
                          (works ? 1u << 18 : 0) | ((uint32_t) flags << 20);
    return push_word(scan, (int32_t) word) && (request->node_times == NULL || push_word(scan, request->node_times[i]));
}

static bool scan_node(struct alloc_scan * scan, const struct alloc_request * request, int i) {
    struct ggml_tensor * node      = request->graph->nodes[i];
    const int            buffer_id = buffer_id_of(request->node_buffer_ids, i);
    const size_t         at        = scan->refs.n; /* the node's own number goes before its sources' */
    int32_t              n_src     = 0;
    if (!PLAN_ARRAY_ROOM(scan->refs) || !push_kind(scan, request, i)) {
        return false;
    }
    scan->refs.n++;
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] == NULL) {
            continue;
        }
        const int32_t source = refer(scan, node->src[k], buffer_id);
        if (source < 0) {
            return false;
        }
        scan->seen.items[source].n_uses++;
        n_src++;
    }
    const int32_t number = refer(scan, node, buffer_id);
    if (number < 0) {
        return false;
    }
    scan->refs.n--; /* refer appended it */
    scan->refs.items[at]            = number;
    scan->seen.items[number].listed = true;
    if (request->node_flags != NULL && (request->node_flags[i] & ALLOC_NODE_SKIPPED) != 0) {
        scan->seen.items[number].skipped = true;
    }
    scan->n_src.items[i] = n_src;
    return true;
}

bool alloc_scan_graph(struct alloc_scan * scan, const struct alloc_request * request) {
    const struct ggml_cgraph * graph = request->graph;
    plan_map_clear(&scan->map);
    scan->seen.n   = 0;
    scan->wiring.n = 0;
    scan->refs.n   = 0;
    if (!PLAN_ARRAY_RESERVE(scan->n_src, (size_t) graph->n_nodes)) {
        return false;
    }
    bool ok = push_word(scan, graph->n_leafs) && push_word(scan, graph->n_nodes);
    for (int i = 0; ok && i < graph->n_leafs; i++) {
        ok = scan_leaf(scan, request, i);
    }
    for (int i = 0; ok && i < graph->n_nodes; i++) {
        ok = scan_node(scan, request, i);
    }
    return ok;
}
