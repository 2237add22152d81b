/* SPDX-License-Identifier: MIT
 *
 * Cutting a graph, whose tensors have their backends, into splits, and finding what has to be copied at the beginning
 * of each. A tensor is copied to a backend once, in the first split there that reads it, and again when it has been
 * written through a view since.
 */
#include "base/status.h"
#include "plan/sched.h"

/* ---- copies ---- */

int32_t sched_find_copy(const struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    int32_t copy = sched->tensors.items[number].copies;
    while (copy >= 0 && sched->copies.items[copy].backend != backend) {
        copy = sched->copies.items[copy].next;
    }
    return copy;
}

/* A tensor of the same layout on a backend. With several pipeline copies it is alive all the time: the graph after this
 * one writes the next copy while this one is read. Returns its number, or -1. */
static int32_t new_copy(struct ggml_backend_sched * sched, const struct ggml_tensor * original, int32_t backend,
                        int c) {
    const int32_t number = sched_new_tensor(sched);
    if (number < 0) {
        return -1;
    }
    struct ggml_tensor * copy = sched_tensor_of(sched, number);
    copy->type                = original->type;
    memcpy(copy->ne, original->ne, sizeof(copy->ne));
    memcpy(copy->nb, original->nb, sizeof(copy->nb));
    ggml_format_name(copy, "%s#%s#%d", ggml_backend_name(sched->backends[backend].backend), original->name, c);
    if (sched->n_copies > 1) {
        copy->flags |= GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT;
    }
    return number;
}

/* is_current: the tensor itself stands for the current copy. Returns the index, or -1. */
static int32_t add_copies(struct ggml_backend_sched * sched, int32_t number, int32_t backend, bool is_current) {
    if (!PLAN_ARRAY_ROOM(sched->copies)) {
        return -1;
    }
    const int32_t       index = (int32_t) sched->copies.n;
    struct sched_copy * copy  = &sched->copies.items[index];
    copy->backend             = backend;
    copy->next                = sched->tensors.items[number].copies;
    copy->split               = (int32_t) sched->splits.n - 1;
    copy->n_readers           = 0;
    for (int c = 0; c < sched->n_copies; c++) {
        const bool itself = is_current && c == sched->cur_copy;
        copy->numbers[c]  = itself ? number : new_copy(sched, sched_tensor_of(sched, number), backend, c);
        if (copy->numbers[c] < 0) {
            return -1;
        }
    }
    sched->copies.n++;
    sched->tensors.items[number].copies = index;
    return index;
}

/* ---- patches ---- */

void sched_patch_apply(struct ggml_backend_sched * sched, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const struct sched_patch * patch = &sched->patches.items[i];
        patch->node->src[patch->k]       = patch->copy;
    }
}

void sched_patch_revert(struct ggml_backend_sched * sched, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const struct sched_patch * patch = &sched->patches.items[i];
        patch->node->src[patch->k]       = patch->original;
    }
}

/* ---- splits ---- */

static struct sched_split * begin_split(struct ggml_backend_sched * sched, int32_t backend, int i_start) {
    if (!PLAN_ARRAY_ROOM(sched->splits)) {
        return NULL;
    }
    struct sched_split * split = &sched->splits.items[sched->splits.n++];
    split->backend             = backend;
    split->i_start             = i_start;
    split->i_end               = i_start;
    split->patch_start         = sched->patches.n;
    split->patch_end           = sched->patches.n;
    split->inputs.n            = 0;
    split->planned             = false;
    return split;
}

static bool needs_copy(const struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    return sched_backend_of(sched, number) != backend && !sched_can_read(sched, number, backend);
}

/* A weight that has to be copied begins a new split: the memory of the weights copied before is free again by then. */
static bool brings_weight(const struct ggml_backend_sched * sched, const struct plan_ref * refs, int n_refs,
                          int32_t backend) {
    for (int r = 1; r < n_refs; r++) {
        const struct ggml_tensor * src = sched_tensor_of(sched, refs[r].number);
        if (src->buffer != NULL && src->buffer->usage == GGML_BACKEND_BUFFER_USAGE_WEIGHTS &&
            needs_copy(sched, refs[r].number, backend)) {
            return true;
        }
    }
    return false;
}

/* Has the copy's original been written since it was made? A view's memory is that of what it views. */
static bool is_outdated(const struct ggml_backend_sched * sched, int32_t number, int32_t copy) {
    const int32_t root = plan_numbers_root(&sched->numbers, number);
    return sched->copies.items[copy].split <= sched->tensors.items[root].written;
}

/* A source is read from a copy, which the split makes unless an earlier one on its backend has. */
static bool read_copy(struct ggml_backend_sched * sched, struct sched_split * split, int32_t node,
                      struct plan_ref * ref) {
    struct ggml_tensor * src  = sched_tensor_of(sched, ref->number);
    int32_t              copy = sched_find_copy(sched, ref->number, split->backend);
    if (copy < 0 || is_outdated(sched, ref->number, copy)) {
        copy = add_copies(sched, ref->number, split->backend, false);
        if (copy < 0 || !PLAN_ARRAY_ROOM(split->inputs)) {
            return false;
        }
        split->inputs.items[split->inputs.n++] = (struct sched_input){src, ref->number, copy};
    }
    if (!PLAN_ARRAY_ROOM(sched->patches)) {
        return false;
    }
    ref->number                              = sched->copies.items[copy].numbers[sched->cur_copy];
    sched->patches.items[sched->patches.n++] = (struct sched_patch){
        .node     = sched_tensor_of(sched, node),
        .original = src,
        .copy     = sched_tensor_of(sched, ref->number),
        .k        = ref->k,
    };
    split->patch_end = sched->patches.n;
    sched->copies.items[copy].n_readers++;
    return true;
}

static bool cut_node(struct ggml_backend_sched * sched, int i) {
    int                  n_refs;
    struct plan_ref *    refs    = sched_refs_of(sched, i, &n_refs);
    const int32_t        backend = sched_backend_of(sched, refs[0].number);
    struct sched_split * split   = sched->splits.n > 0 ? &sched->splits.items[sched->splits.n - 1] : NULL;
    if (sched->tensors.items[refs[0].number].idle) {
        return true;
    }
    if (split == NULL || split->backend != backend ||
        (split->inputs.n > 0 && brings_weight(sched, refs, n_refs, backend))) {
        if (split != NULL) {
            split->i_end = i;
        }
        split =
            begin_split(sched, backend, split == NULL ? 0 : i); /* labels before the first node belong to its split */
        if (split == NULL) {
            return false;
        }
    }
    for (int r = 1; r < n_refs; r++) {
        if (needs_copy(sched, refs[r].number, backend) && !read_copy(sched, split, refs[0].number, &refs[r])) {
            return false;
        }
    }
    if (sched->numbers.viewed.items[refs[0].number] >= 0) { /* computes into what it views */
        const int32_t root                 = plan_numbers_root(&sched->numbers, refs[0].number);
        sched->tensors.items[root].written = (int32_t) sched->splits.n - 1;
    }
    return true;
}

/* With pipeline copies each input leaf has as many of its own; the client's tensor takes their places in turn. Leafs
 * that no node reads as well: the shape of the list must not depend on which inputs a batch uses. */
static bool copy_graph_inputs(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    sched->graph_inputs.n = 0;
    for (int i = 0; sched->n_copies > 1 && i < graph->n_leafs; i++) {
        struct ggml_tensor * leaf = graph->leafs[i];
        if ((leaf->flags & GGML_TENSOR_FLAG_INPUT) == 0) {
            continue;
        }
        const int32_t number  = sched->numbers.leafs.items[i];
        const int32_t backend = sched_backend_of(sched, number);
        if (sched_find_copy(sched, number, backend) < 0) {
            leaf->flags |= GGML_TENSOR_FLAG_OUTPUT; /* alive all the time, like its copies */
            if (add_copies(sched, number, backend, true) < 0) {
                return false;
            }
        }
        if (!PLAN_ARRAY_ROOM(sched->graph_inputs)) {
            return false;
        }
        sched->graph_inputs.items[sched->graph_inputs.n++] = number;
    }
    return true;
}

enum ggml_status sched_cut(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    sched->splits.n  = 0;
    sched->copies.n  = 0;
    sched->patches.n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!cut_node(sched, i)) {
            return GGML_STATUS_ALLOC_FAILED;
        }
    }
    if (sched->splits.n == 0 && begin_split(sched, sched->n_backends - 1, 0) == NULL) { /* nothing but labels */
        return GGML_STATUS_ALLOC_FAILED;
    }
    sched->splits.items[sched->splits.n - 1].i_end = graph->n_nodes;
    for (size_t s = 0; s < sched->splits.n; s++) {
        struct sched_split * split = &sched->splits.items[s];
        split->graph               = ggml_graph_view(graph, split->i_start, split->i_end);
        split->graph.uid           = ggml_graph_next_uid();
    }
    return copy_graph_inputs(sched, graph) ? GGML_STATUS_SUCCESS : GGML_STATUS_ALLOC_FAILED;
}
