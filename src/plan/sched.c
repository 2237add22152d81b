/* SPDX-License-Identifier: MIT
 *
 * The scheduler as its clients see it.
 */
#include "plan/sched.h"

#include <stdlib.h>

#include "base/os.h"
#include "base/status.h"

enum { SLAB_TENSORS = 32 };

/* ---- numbers and tensors of our own ---- */

int32_t sched_backend_index(const struct ggml_backend_sched * sched, ggml_backend_t backend) {
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (sched->backends[b].backend == backend) {
            return b;
        }
    }
    return -1;
}

int32_t sched_new_tensor(struct ggml_backend_sched * sched) {
    struct sched_arena * arena = &sched->arena;
    if (arena->used == arena->slabs.n * SLAB_TENSORS) {
        struct ggml_tensor * slab = PLAN_ARRAY_ROOM(arena->slabs) ? calloc(SLAB_TENSORS, sizeof(*slab)) : NULL;
        if (slab == NULL) {
            base_fail(GGML_STATUS_ALLOC_FAILED, "scheduler: no memory for the descriptors of copies");
            return -1;
        }
        arena->slabs.items[arena->slabs.n++] = slab;
    }
    struct ggml_tensor * tensor = &arena->slabs.items[arena->used / SLAB_TENSORS][arena->used % SLAB_TENSORS];
    memset(tensor, 0, sizeof(*tensor));
    arena->used++;
    return plan_numbers_append(&sched->numbers, tensor);
}

/* ---- life ---- */

void ggml_backend_sched_free(ggml_backend_sched_t sched) {
    if (sched == NULL) {
        return;
    }
    for (int32_t b = 0; b < sched->n_backends; b++) {
        for (int c = 0; c < sched->n_copies; c++) {
            ggml_backend_event_free(sched->backends[b].events[c]);
        }
    }
    for (size_t s = 0; s < sched->splits.capacity; s++) {
        graft_plan_free(sched->splits.items[s].plan);
        free(sched->splits.items[s].inputs.items);
    }
    for (size_t i = 0; i < sched->arena.slabs.n; i++) {
        free(sched->arena.slabs.items[i]);
    }
    ggml_gallocr_free(sched->galloc);
    plan_numbers_free(&sched->numbers);
    plan_map_free(&sched->pins);
    free(sched->backends);
    free(sched->tensors.items);
    free(sched->supports.items);
    free(sched->arena.slabs.items);
    free(sched->splits.items);
    free(sched->copies.items);
    free(sched->patches.items);
    free(sched->keeps.items);
    free(sched->graph_inputs.items);
    free(sched->list_refs.items);
    free(sched->list_first.items);
    free(sched->list_leafs.items);
    free(sched->node_ids.items);
    free(sched->leaf_ids.items);
    free(sched->list_index.items);
    free(sched->times.items);
    free(sched->workspaces.items);
    free(sched->flags.items);
    free(sched->over.items);
    free(sched->expert_ids.items);
    free(sched->expert_used.items);
    free(sched);
}

static ggml_backend_sched_t new_failed(ggml_backend_sched_t sched) {
    GGML_LOG_ERROR("%s\n", base_error_text());
    ggml_backend_sched_free(sched);
    return NULL;
}

static int env_number(const char * name) {
    const char * text = base_getenv(name);
    return text != NULL ? atoi(text) : 0;
}

static bool check_backends(ggml_backend_t * backends, int n_backends) {
    for (int b = 0; b < n_backends; b++) {
        if (backends[b] == NULL) {
            base_fail(GGML_STATUS_FAILED, "sched_new: backend %d of %d is NULL", b, n_backends);
            return false;
        }
    }
    const ggml_backend_dev_t last = n_backends > 0 ? ggml_backend_get_device(backends[n_backends - 1]) : NULL;
    if (last == NULL || ggml_backend_dev_type(last) != GGML_BACKEND_DEVICE_TYPE_CPU) {
        base_fail(GGML_STATUS_FAILED, "sched_new: %s",
                  n_backends > 0 ? "the last backend must be one of a CPU device, which runs "
                                   "what the others cannot"
                                 : "no backends were given");
        return false;
    }
    return true;
}

/* Buffer types and events of each backend, and the allocator for all of them. */
static bool set_up_backends(struct ggml_backend_sched * sched, ggml_backend_t * backends,
                            ggml_backend_buffer_type_t * bufts) {
    const size_t                 n    = (size_t) sched->n_backends;
    ggml_backend_buffer_type_t * used = calloc(n, sizeof(*used));
    if (used == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "sched_new: no memory for %zu backends", n);
        return false;
    }
    bool ok = true;
    for (size_t b = 0; b < n && ok; b++) {
        used[b]                    = bufts != NULL ? bufts[b] : ggml_backend_get_default_buffer_type(backends[b]);
        sched->backends[b].backend = backends[b];
        sched->backends[b].buft    = used[b];
        if (!ggml_backend_supports_buft(backends[b], used[b])) {
            base_fail(GGML_STATUS_FAILED, "sched_new: backend %s cannot use the buffer type %s given for it",
                      ggml_backend_name(backends[b]), ggml_backend_buft_name(used[b]));
            ok = false;
        }
        for (int c = 0; ok && sched->n_copies > 1 && c < sched->n_copies; c++) {
            sched->backends[b].events[c] = ggml_backend_event_new(backends[b]->device);
        }
    }
    sched->galloc = ok ? ggml_gallocr_new_n(used, sched->n_backends) : NULL;
    free(used);
    return sched->galloc != NULL;
}

ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts,
                                            int n_backends, size_t graph_size, bool parallel, bool op_offload) {
    (void) graph_size; /* all of our tables grow */
    if (!check_backends(backends, n_backends)) {
        return new_failed(NULL);
    }
    struct ggml_backend_sched * sched = calloc(1, sizeof(*sched));
    if (sched == NULL || (sched->backends = calloc((size_t) n_backends, sizeof(sched->backends[0]))) == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "sched_new: no memory");
        return new_failed(sched);
    }
    sched->n_backends    = n_backends;
    sched->n_copies      = parallel ? SCHED_MAX_COPIES : 1;
    sched->op_offload    = op_offload;
    sched->debug         = env_number("GGML_SCHED_DEBUG");
    sched->debug_realloc = env_number("GGML_SCHED_DEBUG_REALLOC");
    return set_up_backends(sched, backends, bufts) ? sched : new_failed(sched);
}

void ggml_backend_sched_reset(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != NULL);
    plan_numbers_clear(&sched->numbers);
    plan_map_clear(&sched->pins);
    sched->tensors.n = 0;
    sched->allocated = false;
}

/* ---- planning ---- */

/* Places, cuts and lists a graph. On success the patches are applied: what follows must see the copies. */
static enum ggml_status split(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    sched->allocated        = false;
    sched->arena.used       = 0;
    sched->splits.n         = 0;
    graph->uid              = ggml_graph_next_uid();
    enum ggml_status status = sched_place(sched, graph);
    if (status == GGML_STATUS_SUCCESS) {
        status = sched_cut(sched, graph);
    }
    if (status != GGML_STATUS_SUCCESS) {
        sched->splits.n = 0;
        return status;
    }
    sched_patch_apply(sched, 0, sched->patches.n);
    status = sched_make_list(sched, graph);
    if (status != GGML_STATUS_SUCCESS) {
        sched_patch_revert(sched, 0, sched->patches.n);
        sched->splits.n = 0;
        return status;
    }
    if (sched->debug > 0) {
        sched_print(sched, graph);
    }
    return GGML_STATUS_SUCCESS;
}

static void synchronize_backends(struct ggml_backend_sched * sched) {
    for (int32_t b = 0; b < sched->n_backends; b++) {
        ggml_backend_synchronize(sched->backends[b].backend);
    }
}

static enum ggml_status allocate(struct ggml_backend_sched * sched) {
    const struct alloc_request request = sched_request(sched);
    if (!alloc_fits(sched->galloc, &request)) {
        const bool same_size = sched->list_size == sched->previous_list_size;
        if (sched->debug_realloc > 1 || (sched->debug_realloc == 1 && same_size)) {
            return base_fail(
                GGML_STATUS_FAILED,
                "scheduler: unexpected reallocation of a graph (%d nodes, %d leafs), as GGML_SCHED_DEBUG_REALLOC=%d "
                "wants to know",
                sched->n_list, (int) sched->list_leafs.n, sched->debug_realloc);
        }
        synchronize_backends(sched); /* the buffers may go */
        const enum ggml_status status = alloc_reserve(sched->galloc, &request);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
    }
    const enum ggml_status status = alloc_assign(sched->galloc);
    if (status == GGML_STATUS_SUCCESS) {
        sched_set_workspaces(sched);
    }
    return status;
}

static enum ggml_status split_and_allocate(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    sched->cur_copy         = sched->next_copy;
    sched->next_copy        = (sched->next_copy + 1) % sched->n_copies;
    enum ggml_status status = split(sched, graph);
    if (status == GGML_STATUS_SUCCESS) {
        status           = allocate(sched);
        sched->allocated = status == GGML_STATUS_SUCCESS;
        sched_patch_revert(sched, 0, sched->patches.n);
    }
    if (status != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
    }
    return status;
}

void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    GGML_ASSERT(sched != NULL && graph != NULL);
    if (split(sched, graph) == GGML_STATUS_SUCCESS) {
        sched_patch_revert(sched, 0, sched->patches.n);
    } else {
        GGML_LOG_ERROR("%s\n", base_error_text());
    }
}

void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph, size_t * sizes) {
    GGML_ASSERT(sched != NULL && measure_graph != NULL && sizes != NULL);
    ggml_backend_sched_synchronize(sched);
    enum ggml_status status = split(sched, measure_graph);
    if (status == GGML_STATUS_SUCCESS) {
        const struct alloc_request request = sched_request(sched);
        status                             = alloc_measure(sched->galloc, &request, sizes);
        sched_patch_revert(sched, 0, sched->patches.n);
    }
    if (status != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        for (int32_t b = 0; b < sched->n_backends; b++) {
            sizes[b] = SIZE_MAX; /* fits nowhere */
        }
    }
}

bool ggml_backend_sched_reserve(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph) {
    GGML_ASSERT(sched != NULL && measure_graph != NULL);
    ggml_backend_sched_synchronize(sched);
    enum ggml_status status = split(sched, measure_graph);
    if (status == GGML_STATUS_SUCCESS) {
        const struct alloc_request request = sched_request(sched);
        status                             = alloc_reserve(sched->galloc, &request);
        sched_patch_revert(sched, 0, sched->patches.n);
    }
    if (status != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        return false;
    }
    ggml_backend_sched_reset(sched);
    return true;
}

bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    GGML_ASSERT(sched != NULL && graph != NULL);
    return split_and_allocate(sched, graph) == GGML_STATUS_SUCCESS;
}

/* ---- running ---- */

enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    GGML_ASSERT(sched != NULL && graph != NULL);
    if (!sched->allocated) {
        const enum ggml_status status = split_and_allocate(sched, graph);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
    }
    return sched_run(sched);
}

enum ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched, struct ggml_cgraph * graph) {
    const enum ggml_status status = ggml_backend_sched_graph_compute_async(sched, graph);
    ggml_backend_sched_synchronize(sched);
    return status;
}

void ggml_backend_sched_synchronize(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != NULL);
    synchronize_backends(sched);
    if (!sched->allocated) {
        /* nothing is under way, so every graph may have the same copy: backends that keep graphs find theirs again */
        sched->next_copy = 0;
    }
}

void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched, ggml_backend_sched_eval_callback callback,
                                          void * user_data) {
    GGML_ASSERT(sched != NULL);
    sched->eval_callback  = callback;
    sched->eval_user_data = user_data;
}

/* ---- questions ---- */

int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != NULL);
    return (int) sched->splits.n;
}

int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != NULL);
    return sched->n_copies;
}

int ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched) {
    GGML_ASSERT(sched != NULL);
    return sched->n_backends;
}

ggml_backend_t ggml_backend_sched_get_backend(ggml_backend_sched_t sched, int i) {
    GGML_ASSERT(sched != NULL && i >= 0 && i < sched->n_backends);
    return sched->backends[i].backend;
}

ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched, ggml_backend_t backend) {
    GGML_ASSERT(sched != NULL);
    const int32_t b = sched_backend_index(sched, backend);
    return b >= 0 ? sched->backends[b].buft : NULL;
}

size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend) {
    GGML_ASSERT(sched != NULL);
    const int32_t b = sched_backend_index(sched, backend);
    return b >= 0 ? ggml_gallocr_get_buffer_size(sched->galloc, b) : 0;
}

void ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node,
                                           ggml_backend_t backend) {
    GGML_ASSERT(sched != NULL && node != NULL);
    const int32_t b = sched_backend_index(sched, backend);
    if (b < 0) {
        GGML_LOG_ERROR("%s: tensor '%s' was not assigned: the backend is none of the scheduler's\n", __func__,
                       node->name);
        return;
    }
    if (!plan_map_add(&sched->pins, node, b)) {
        GGML_LOG_ERROR("%s: tensor '%s' was not assigned: no memory\n", __func__, node->name);
        return;
    }
    const int32_t number = plan_map_find(&sched->numbers.map, node);
    if (number >= 0 && (size_t) number < sched->tensors.n) {
        sched->tensors.items[number].backend = b;
        sched->tensors.items[number].cause   = SCHED_CAUSE_CLIENT;
    }
}

ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node) {
    GGML_ASSERT(sched != NULL);
    const int32_t number = plan_map_find(&sched->numbers.map, node);
    const bool    known  = number >= 0 && (size_t) number < sched->tensors.n;
    const int32_t b      = known ? sched_backend_of(sched, number) : plan_map_find(&sched->pins, node);
    return b >= 0 ? sched->backends[b].backend : NULL;
}
