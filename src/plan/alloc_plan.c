/* SPDX-License-Identifier: MIT
 *
 * From a scan to a plan: how long each tensor's memory is needed, which results are laid over a source that nobody
 * needs any more, and blocks of memory for the rest.
 *
 * Memory lives from the node that writes it to the last node that reads it, by itself or through a view. It lives from
 * before the first node when the client fills it (leafs, inputs, sources that no node computes), and for ever when the
 * client may read it: outputs, and nodes that no other node reads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "plan/alloc.h"

enum { CLIENT_FLAGS = GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT };

void alloc_plan_free(struct alloc_plan * plan) {
    for (size_t i = 0; i < plan->layouts.capacity; i++) {
        free(plan->layouts.items[i].sizes);
    }
    free(plan->layouts.items);
    free(plan->slots.items);
    free(plan->wiring.items);
    free(plan->blocks.items);
    free(plan->workspaces.items);
    memset(plan, 0, sizeof(*plan));
}

static int32_t time_of(const struct alloc_request * request, int node) {
    return request->node_times != NULL ? request->node_times[node] : node;
}

static bool is_grouped(const struct alloc_request * request, int node) {
    return request->node_flags != NULL && (request->node_flags[node] & ALLOC_NODE_GROUPED) != 0;
}

/* ---- lifetimes ---- */

static void touch(struct alloc_life * life, int32_t time, int uses) {
    if (time > life->end) {
        life->end         = time;
        life->uses_at_end = 0;
    }
    if (time == life->end) {
        life->uses_at_end += uses;
    }
}

/* A label reads nothing: its source's memory is needed when somebody reads the label's. */
static void touch_node(const struct alloc_scan * scan, const struct alloc_request * request, int i,
                       struct alloc_life * lives) {
    const struct plan_ref *    refs   = &scan->refs.items[request->first[i]];
    const int32_t              n_refs = request->first[i + 1] - request->first[i];
    const struct ggml_tensor * node   = scan->seen.items[refs[0].number].tensor;
    const int32_t              time   = time_of(request, i);
    const int32_t              root   = scan->seen.items[refs[0].number].root;
    if (root == refs[0].number) {
        const bool from_client = (node->flags & GGML_TENSOR_FLAG_INPUT) != 0 || scan->seen.items[root].leaf;
        lives[root].start      = from_client ? PACK_BEFORE : time;
        touch(&lives[root], time, 0);
    }
    if (plan_is_label(node)) {
        return;
    }
    if (root != refs[0].number && node->op != GGML_OP_NONE) {
        touch(&lives[root], time, 0); /* writes through a view */
    }
    for (int32_t r = 1; r < n_refs; r++) {
        touch(&lives[scan->seen.items[refs[r].number].root], time, 1);
    }
}

static bool find_lives(ggml_gallocr_t galloc, const struct alloc_request * request) {
    const struct alloc_scan * scan = &galloc->scan;
    if (!PLAN_ARRAY_RESERVE(galloc->lives, scan->seen.n)) {
        return false;
    }
    struct alloc_life * lives = galloc->lives.items;
    for (size_t i = 0; i < scan->seen.n; i++) {
        lives[i] = (struct alloc_life){.start = PACK_BEFORE, .end = PACK_BEFORE};
    }
    for (int32_t i = 0; i < request->n_nodes; i++) {
        touch_node(scan, request, i, lives);
    }
    for (size_t i = 0; i < scan->seen.n; i++) {
        const struct alloc_seen * seen = &scan->seen.items[i];
        const bool dependency = seen->tensor->op == GGML_OP_NONE && seen->tensor->view_src != NULL; /* nobody's value */
        if ((seen->tensor->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 ||
            (seen->listed && seen->n_uses == 0 && !dependency)) {
            lives[seen->root].keep = true;
        }
    }
    return true;
}

/* ---- blocks ---- */

static bool new_block(struct alloc_plan * plan, const struct alloc_memory * memory, size_t size, int32_t start,
                      int32_t end, int32_t * block) {
    size_t padded;
    if (!base_size_pad(size, memory->alignment, &padded)) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "a tensor of %zu bytes is too large for any memory", size);
        return false;
    }
    if (!PLAN_ARRAY_ROOM(plan->blocks)) {
        return false;
    }
    *block                               = (int32_t) plan->blocks.n;
    plan->blocks.items[plan->blocks.n++] = (struct pack_block){
        .size  = padded,
        .start = start,
        .end   = end > start ? end : start,
        .pool  = memory->pool,
    };
    return true;
}

static int32_t end_of(const struct alloc_life * life) {
    return life->keep ? PACK_FOREVER : life->end;
}

static bool place_new(ggml_gallocr_t galloc, struct alloc_plan * plan, int32_t number) {
    const struct alloc_life *   life   = &galloc->lives.items[number];
    struct alloc_slot *         slot   = &plan->slots.items[number];
    const struct alloc_memory * memory = &galloc->memories[slot->buffer_id];
    return new_block(plan, memory, slot->size, life->start, end_of(life), &slot->block);
}

/* Operators that read both of their sources element by element as they write: the result may lie over either. Of the
 * others that work in place only the first source will do, since a later one may be read again for another row. An
 * added operator has no rule of its own: its kernel says. */
static bool may_lie_over(const struct alloc_seen * node, int k) {
    static const enum ggml_op either[] = {GGML_OP_ADD, GGML_OP_SUB, GGML_OP_MUL, GGML_OP_DIV};
    const enum ggml_op        op       = node->tensor->op;
    if ((node->over >> k & 1) == 0) {
        return false;
    }
    if (op == GGML_OP_CUSTOM) {
        return node->over != ALLOC_OVER_BY_OPERATOR;
    }
    bool fits = k == 0;
    for (size_t i = 0; k == 1 && i < sizeof(either) / sizeof(either[0]); i++) {
        fits = fits || op == either[i];
    }
    return fits && ggml_op_can_inplace(op);
}

/* May a result of this layout lie where the source lies, as far as the two descriptors say? */
static bool layouts_agree(const struct ggml_tensor * node, const struct ggml_tensor * source) {
    return ggml_are_same_layout(node, source) && (source->view_src == NULL || source->view_offs == 0);
}

/* Lays a node over a source when it is the last to read that memory, and the memory is ours and no longer than needed.
 */
static bool place_over(ggml_gallocr_t galloc, struct alloc_plan * plan, int32_t number, int32_t source, int32_t time,
                       bool own_buffer) {
    const struct alloc_seen * seen = galloc->scan.seen.items;
    const int32_t             root = seen[source].root;
    const struct alloc_life * life = &galloc->lives.items[root];
    struct alloc_slot *       slot = &plan->slots.items[number];
    const struct alloc_slot * base = &plan->slots.items[root];
    if (base->block < 0 || life->keep || life->end != time || life->uses_at_end != 1 || life->start >= time) {
        return false;
    }
    const struct alloc_memory * memory = &galloc->memories[base->buffer_id];
    struct pack_block *         block  = &plan->blocks.items[base->block];
    const bool                  moves  = block->pool != galloc->memories[slot->buffer_id].pool;
    if ((moves && own_buffer) || !layouts_agree(seen[number].tensor, seen[source].tensor)) {
        return false;
    }
    const size_t size = moves ? ggml_backend_buft_get_alloc_size(memory->buft, seen[number].tensor) : slot->size;
    if (size == 0 || size > base->size || GGML_PAD(size, memory->alignment) != block->size) {
        return false;
    }
    const int32_t end = end_of(&galloc->lives.items[number]);
    block->end        = end > block->end ? end : block->end;
    slot->size        = size;
    slot->block       = base->block;
    slot->over        = source;
    slot->buffer_id   = base->buffer_id;
    return true;
}

static bool place_node(ggml_gallocr_t galloc, const struct alloc_request * request, struct alloc_plan * plan, int i) {
    const struct plan_ref *   refs   = &galloc->scan.refs.items[request->first[i]];
    const int32_t             n_refs = request->first[i + 1] - request->first[i];
    const int32_t             number = refs[0].number;
    const struct alloc_seen * seen   = &galloc->scan.seen.items[number];
    if (!seen->own || seen->skipped || plan->slots.items[number].block >= 0) {
        return true;
    }
    for (int32_t r = 1; r < n_refs && !is_grouped(request, i); r++) {
        if (may_lie_over(seen, refs[r].k) &&
            place_over(galloc, plan, number, refs[r].number, time_of(request, i), request->own_buffer)) {
            plan->slots.items[number].over_src = refs[r].k;
            return true;
        }
    }
    return place_new(galloc, plan, number);
}

static bool place_workspace(ggml_gallocr_t galloc, const struct alloc_request * request, struct alloc_plan * plan,
                            int i) {
    const int                     id     = request->node_buffer_ids != NULL ? request->node_buffer_ids[i] : 0;
    const struct alloc_memory *   memory = &galloc->memories[id];
    struct alloc_workspace_slot * slot   = &plan->workspaces.items[i];
    const int32_t                 time   = time_of(request, i);
    size_t                        size   = request->workspaces[i];
    slot->size                           = size;
    slot->block                          = -1;
    if (size == 0) {
        return true;
    }
    /* where the memory itself promises less, the address is aligned inside a block with room for that */
    if (memory->alignment < ALLOC_WORKSPACE_ALIGNMENT &&
        !base_size_add(size, ALLOC_WORKSPACE_ALIGNMENT - memory->alignment, &size)) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "a workspace of %zu bytes is too large for any memory", size);
        return false;
    }
    return new_block(plan, memory, size, time, time, &slot->block);
}

/* Slots of all tensors, and blocks of those that are there before the first node runs. */
static bool place_first(ggml_gallocr_t galloc, struct alloc_plan * plan) {
    for (size_t i = 0; i < galloc->scan.seen.n; i++) {
        const struct alloc_seen * seen = &galloc->scan.seen.items[i];
        struct alloc_slot *       slot = &plan->slots.items[i];
        *slot                          = (struct alloc_slot){
                                     .block     = -1,
                                     .over      = -1,
                                     .asked_id  = seen->buffer_id,
                                     .buffer_id = seen->buffer_id,
                                     .flags     = seen->tensor->flags & CLIENT_FLAGS,
        };
        if (!seen->own || seen->skipped) {
            continue;
        }
        slot->size = ggml_backend_buft_get_alloc_size(galloc->memories[slot->buffer_id].buft, seen->tensor);
        if (galloc->lives.items[i].start == PACK_BEFORE && !place_new(galloc, plan, (int32_t) i)) {
            return false;
        }
    }
    return true;
}

/* ---- packing ---- */

/* Blocks of no bytes still need an address in a buffer. */
static bool give_room_for_nothing(const struct alloc_plan * plan, const struct alloc_memory * memory,
                                  struct pack_layout * layout) {
    bool any = false;
    for (size_t i = 0; i < plan->blocks.n && layout->n == 0 && !any; i++) {
        any = plan->blocks.items[i].pool == memory->pool;
    }
    if (!any) {
        return true;
    }
    if (layout->capacity == 0) {
        layout->sizes = plan_array_grown(layout->sizes, &layout->capacity, 1, sizeof(layout->sizes[0]));
    }
    if (layout->capacity == 0) {
        return false;
    }
    layout->n        = 1;
    layout->sizes[0] = memory->alignment;
    layout->total    = memory->alignment;
    return true;
}

static bool pack(ggml_gallocr_t galloc, struct alloc_plan * plan) {
    if (!PLAN_ARRAY_RESERVE(plan->layouts, (size_t) galloc->n_memories)) {
        return false;
    }
    plan->layouts.n = (size_t) galloc->n_memories;
    for (int32_t i = 0; i < galloc->n_memories; i++) {
        struct alloc_memory * memory = &galloc->memories[i];
        struct pack_layout *  layout = &plan->layouts.items[i];
        layout->n                    = 0;
        layout->total                = 0;
        if (memory->pool == i &&
            (!pack_pool(&galloc->scratch, plan->blocks.items, plan->blocks.n, i, memory->max_size, layout) ||
             !give_room_for_nothing(plan, memory, layout))) {
            return false;
        }
    }
    return true;
}

static bool keep_wiring(const struct alloc_scan * scan, struct alloc_plan * plan) {
    if (!PLAN_ARRAY_RESERVE(plan->wiring, scan->wiring.n)) {
        return false;
    }
    memcpy(plan->wiring.items, scan->wiring.items, scan->wiring.n * sizeof(int32_t));
    plan->wiring.n = scan->wiring.n;
    return true;
}

bool alloc_plan_make(ggml_gallocr_t galloc, const struct alloc_request * request, struct alloc_plan * plan) {
    const struct alloc_scan * scan    = &galloc->scan;
    const size_t              n_nodes = (size_t) request->n_nodes;
    plan->valid                       = false;
    plan->blocks.n                    = 0;
    plan->workspaces.n                = 0;
    if (!PLAN_ARRAY_RESERVE(plan->slots, scan->seen.n) || !find_lives(galloc, request) || !place_first(galloc, plan)) {
        return false;
    }
    plan->slots.n = scan->seen.n;
    if (request->workspaces != NULL) {
        if (!PLAN_ARRAY_RESERVE(plan->workspaces, n_nodes)) {
            return false;
        }
        plan->workspaces.n = n_nodes;
    }
    for (size_t i = 0; i < n_nodes; i++) {
        if (!place_node(galloc, request, plan, (int) i) ||
            (request->workspaces != NULL && !place_workspace(galloc, request, plan, (int) i))) {
            return false;
        }
    }
    plan->valid = pack(galloc, plan) && keep_wiring(scan, plan);
    return plan->valid;
}

/* ---- reuse ---- */

static bool slot_serves(const struct ggml_gallocr * galloc, const struct alloc_request * request,
                        const struct alloc_plan * plan, size_t number) {
    const struct alloc_seen * seen = &galloc->scan.seen.items[number];
    const struct alloc_slot * slot = &plan->slots.items[number];
    if ((seen->tensor->flags & CLIENT_FLAGS) != slot->flags) {
        return false;
    }
    if (!seen->own || seen->skipped) {
        return true;
    }
    if (slot->block < 0) {
        return false; /* had memory of its own then */
    }
    const struct alloc_memory * memory = &galloc->memories[slot->buffer_id];
    if (!request->any_buffer && galloc->memories[seen->buffer_id].pool != galloc->memories[slot->asked_id].pool) {
        return false;
    }
    if (ggml_backend_buft_get_alloc_size(memory->buft, seen->tensor) > slot->size) {
        return false;
    }
    /* sizes may have shrunk in another way for the source that it lies over */
    return slot->over < 0 || (may_lie_over(seen, slot->over_src) &&
                              layouts_agree(seen->tensor, galloc->scan.seen.items[slot->over].tensor));
}

bool alloc_plan_serves(const struct ggml_gallocr * galloc, const struct alloc_request * request,
                       const struct alloc_plan * plan) {
    const struct alloc_scan * scan = &galloc->scan;
    if (!plan->valid || plan->wiring.n != scan->wiring.n || plan->slots.n != scan->seen.n ||
        memcmp(plan->wiring.items, scan->wiring.items, scan->wiring.n * sizeof(int32_t)) != 0) {
        return false;
    }
    for (size_t i = 0; i < scan->seen.n; i++) {
        if (!slot_serves(galloc, request, plan, i)) {
            return false;
        }
    }
    for (int i = 0; request->workspaces != NULL && i < request->n_nodes; i++) {
        const size_t planned = (size_t) i < plan->workspaces.n ? plan->workspaces.items[i].size : 0;
        if (request->workspaces[i] > planned) {
            return false;
        }
    }
    return true;
}
