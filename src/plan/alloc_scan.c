/* SPDX-License-Identifier: MIT
 *
 * Scanning a graph for the allocator. Tensors are numbered in the order of first sight: leafs, then each node and its
 * sources. The wiring is the sequence of those numbers with the kind of each node: where two graphs have the same
 * wiring, a plan of one is a plan of the other, whatever the addresses of their descriptors.
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "plan/alloc.h"

/* Words of the wiring in place of a number, see is_permanent. */
enum { PERMANENT = -1, NEW_PERMANENT = -2 };

void alloc_scan_free(struct alloc_scan * scan) {
    free(scan->renumbered.items);
    free(scan->seen.items);
    free(scan->wiring.items);
    free(scan->refs.items);
    memset(scan, 0, sizeof(*scan));
}

/* All arrays get their greatest size at once: the scan itself cannot fail. */
static bool make_room(struct alloc_scan * scan, const struct alloc_request * request) {
    const size_t n_refs = (size_t) request->first[request->n_nodes];
    const size_t words  = 2 + 2 * (size_t) request->n_leafs + 2 * (size_t) request->n_nodes + 2 * n_refs;
    if (!PLAN_ARRAY_RESERVE(scan->renumbered, request->n_tensors) ||
        !PLAN_ARRAY_RESERVE(scan->seen, request->n_tensors) || !PLAN_ARRAY_RESERVE(scan->wiring, words) ||
        !PLAN_ARRAY_RESERVE(scan->refs, n_refs)) {
        return false;
    }
    scan->seen.n   = 0;
    scan->wiring.n = 0;
    scan->refs.n   = n_refs;
    scan->again    = false;
    for (size_t i = 0; i < request->n_tensors; i++) {
        scan->renumbered.items[i] = -1;
    }
    return true;
}

static void push_word(struct alloc_scan * scan, int32_t word) {
    scan->wiring.items[scan->wiring.n++] = word;
}

static bool is_ours(const struct ggml_gallocr * galloc, ggml_backend_buffer_t buffer) {
    for (int32_t i = 0; i < galloc->n_memories; i++) {
        for (size_t c = 0; c < galloc->memories[i].chunks.n; c++) {
            if (galloc->memories[i].chunks.items[c] == buffer) {
                return true;
            }
        }
    }
    return false;
}

/* A graph that is allocated a second time has tensors in our memory already. They are planned again like the others:
 * nothing but the plan says what is free. */
static bool is_own(const struct ggml_gallocr * galloc, const struct ggml_tensor * tensor) {
    if (tensor->view_src != NULL) {
        return false;
    }
    return tensor->buffer != NULL ? is_ours(galloc, tensor->buffer) : tensor->data == NULL;
}

/* The scan's number of the request's; what the tensor views comes before it. */
static int32_t renumber(ggml_gallocr_t galloc, const struct alloc_request * request, int32_t number, int buffer_id) {
    struct alloc_scan * scan  = &galloc->scan;
    const int32_t       known = scan->renumbered.items[number];
    if (known >= 0) {
        return known;
    }
    const int32_t viewed =
        request->viewed[number] >= 0 ? renumber(galloc, request, request->viewed[number], buffer_id) : -1;
    struct ggml_tensor * tensor = request->tensors[number];
    const int32_t        result = (int32_t) scan->seen.n++;
    scan->seen.items[result]    = (struct alloc_seen){
           .tensor    = tensor,
           .root      = viewed >= 0 ? scan->seen.items[viewed].root : result,
           .buffer_id = buffer_id,
           .over      = ALLOC_OVER_BY_OPERATOR,
           .own       = is_own(galloc, tensor),
    };
    scan->again |= tensor->buffer != NULL && scan->seen.items[result].own;
    scan->renumbered.items[number] = result;
    return result;
}

/* Input and output at once: alive from before the first node for ever, so that it does not matter to the plan who reads
 * it. The scheduler's pipeline copies are such, and take turns under the same nodes. */
static bool is_permanent(const struct ggml_tensor * tensor) {
    const int32_t both = GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT;
    return (tensor->flags & both) == both && tensor->view_src == NULL;
}

/* Renumbers a tensor that a node names, and says so in the wiring. */
static int32_t refer(ggml_gallocr_t galloc, const struct alloc_request * request, int32_t number, int buffer_id) {
    struct alloc_scan *       scan   = &galloc->scan;
    const size_t              before = scan->seen.n;
    const int32_t             result = renumber(galloc, request, number, buffer_id);
    const struct alloc_seen * seen   = &scan->seen.items[result];
    const bool                is_new = scan->seen.n > before;
    if (is_permanent(seen->tensor)) {
        push_word(scan, is_new ? NEW_PERMANENT : PERMANENT);
        return result;
    }
    push_word(scan, result);
    if (is_new) {
        push_word(scan, seen->root);
    }
    return result;
}

static void scan_leaf(ggml_gallocr_t galloc, const struct alloc_request * request, int i) {
    struct alloc_scan * scan      = &galloc->scan;
    const int           buffer_id = request->leaf_buffer_ids != NULL ? request->leaf_buffer_ids[i] : 0;
    const size_t        before    = scan->seen.n;
    const int32_t       number    = renumber(galloc, request, request->leafs[i], buffer_id);
    struct alloc_seen * seen      = &scan->seen.items[number];
    seen->listed                  = true;
    seen->leaf                    = true;
    if (scan->seen.n == before && is_permanent(seen->tensor)) {
        push_word(scan, PERMANENT); /* listed twice */
        return;
    }
    push_word(scan, number);
    push_word(scan, seen->root);
}

/* What decides a node's part besides its sources: is it a label, a mere dependency or a computation, and how does it
 * run? */
static void push_kind(struct alloc_scan * scan, const struct alloc_request * request, int i) {
    const struct plan_ref *    refs    = &request->refs[request->first[i]];
    const int32_t              n       = request->first[i + 1] - request->first[i];
    const struct ggml_tensor * node    = request->tensors[refs[0].number];
    const uint32_t             flags   = request->node_flags != NULL ? request->node_flags[i] : 0;
    const bool                 works   = request->workspaces != NULL && request->workspaces[i] > 0;
    uint32_t                   sources = 0; /* which ones there are */
    for (int32_t r = 1; r < n; r++) {
        sources |= 1u << refs[r].k;
    }
    push_word(scan, (int32_t) (sources | (plan_is_label(node) ? 1u << 16 : 0) |
                               (node->op == GGML_OP_NONE ? 1u << 17 : 0) | (works ? 1u << 18 : 0) | flags << 20));
    if (request->node_times != NULL) {
        push_word(scan, request->node_times[i]);
    }
}

static void scan_node(ggml_gallocr_t galloc, const struct alloc_request * request, int i) {
    struct alloc_scan * scan      = &galloc->scan;
    const int           buffer_id = request->node_buffer_ids != NULL ? request->node_buffer_ids[i] : 0;
    push_kind(scan, request, i);
    for (int32_t r = request->first[i]; r < request->first[i + 1]; r++) {
        const int32_t number = refer(galloc, request, request->refs[r].number, buffer_id);
        scan->refs.items[r]  = (struct plan_ref){number, request->refs[r].k};
        scan->seen.items[number].n_uses += request->refs[r].k >= 0;
    }
    struct alloc_seen * seen = &scan->seen.items[scan->refs.items[request->first[i]].number];
    seen->listed             = true;
    seen->over               = request->node_over != NULL ? request->node_over[i] : ALLOC_OVER_BY_OPERATOR;
    seen->skipped =
        seen->skipped || (request->node_flags != NULL && (request->node_flags[i] & ALLOC_NODE_SKIPPED) != 0);
}

bool alloc_scan_graph(ggml_gallocr_t galloc, const struct alloc_request * request) {
    struct alloc_scan * scan = &galloc->scan;
    if (!make_room(scan, request)) {
        return false;
    }
    push_word(scan, request->n_leafs);
    push_word(scan, request->n_nodes);
    for (int32_t i = 0; i < request->n_leafs; i++) {
        scan_leaf(galloc, request, i);
    }
    for (int32_t i = 0; i < request->n_nodes; i++) {
        scan_node(galloc, request, i);
    }
    return true;
}
