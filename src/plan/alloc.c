/* SPDX-License-Identifier: MIT
 *
 * The graph allocator: plans, and the buffers that they are carried out in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "plan/alloc.h"

/* ---- life ---- */

static void free_chunks(struct alloc_memory * memory) {
    for (size_t c = 0; c < memory->chunks.n; c++) {
        ggml_backend_buffer_free(memory->chunks.items[c]);
    }
    memory->chunks.n = 0;
}

void ggml_gallocr_free(ggml_gallocr_t galloc) {
    if (galloc == NULL) {
        return;
    }
    for (int32_t i = 0; i < galloc->n_memories; i++) {
        free_chunks(&galloc->memories[i]);
        free(galloc->memories[i].chunks.items);
    }
    plan_numbers_free(&galloc->numbers);
    alloc_scan_free(&galloc->scan);
    alloc_plan_free(&galloc->plan);
    alloc_plan_free(&galloc->measured);
    pack_scratch_free(&galloc->scratch);
    free(galloc->lives.items);
    free(galloc->memories);
    free(galloc);
}

ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t * bufts, int n_bufs) {
    struct ggml_gallocr * galloc   = calloc(1, sizeof(*galloc));
    struct alloc_memory * memories = calloc(n_bufs > 0 ? (size_t) n_bufs : 1, sizeof(*memories));
    if (galloc == NULL || memories == NULL || n_bufs < 1) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "gallocr_new: no memory for an allocator of %d buffers", n_bufs);
        free(galloc);
        free(memories);
        return NULL;
    }
    for (int i = 0; i < n_bufs; i++) {
        memories[i].buft      = bufts[i];
        memories[i].alignment = ggml_backend_buft_get_alignment(bufts[i]);
        memories[i].max_size  = ggml_backend_buft_get_max_size(bufts[i]);
        memories[i].pool      = i;
        for (int j = i - 1; j >= 0; j--) {
            if (bufts[j] == bufts[i]) {
                memories[i].pool = j;
            }
        }
    }
    galloc->memories   = memories;
    galloc->n_memories = n_bufs;
    return galloc;
}

ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft) {
    return ggml_gallocr_new_n(&buft, 1);
}

/* ---- buffers ---- */

static bool is_large_enough(const struct alloc_memory * memory, const struct pack_layout * layout) {
    if (layout->n > memory->chunks.n) {
        return false;
    }
    for (size_t c = 0; c < layout->n; c++) {
        if (layout->sizes[c] > ggml_backend_buffer_get_size(memory->chunks.items[c])) {
            return false;
        }
    }
    return true;
}

static size_t memory_size(const struct alloc_memory * memory) {
    size_t size = 0;
    for (size_t c = 0; c < memory->chunks.n; c++) {
        size += ggml_backend_buffer_get_size(memory->chunks.items[c]);
    }
    return size;
}

/* The old buffers go first: there may be no room for both. */
static enum ggml_status replace_chunks(struct alloc_memory * memory, const struct pack_layout * layout) {
    if (!PLAN_ARRAY_RESERVE(memory->chunks, layout->n)) {
        return GGML_STATUS_ALLOC_FAILED;
    }
#ifndef NDEBUG
    if (memory->chunks.n > 0) {
        GGML_LOG_DEBUG("%s: graph memory in %s goes from %zu to %zu bytes\n", __func__,
                       ggml_backend_buft_name(memory->buft), memory_size(memory), layout->total);
    }
#endif
    free_chunks(memory);
    for (size_t c = 0; c < layout->n; c++) {
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(memory->buft, layout->sizes[c]);
        if (buffer == NULL) {
            free_chunks(memory);
            return base_fail(GGML_STATUS_ALLOC_FAILED,
                             "no memory for the graph: %s refused buffer %zu of %zu, of %zu bytes (%zu bytes in all)",
                             ggml_backend_buft_name(memory->buft), c + 1, layout->n, layout->sizes[c], layout->total);
        }
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
        memory->chunks.items[memory->chunks.n++] = buffer;
    }
    return GGML_STATUS_SUCCESS;
}

/* Takes our memory from the tensors of the last scan: what they have is of an earlier allocation. */
static void forget_memory(const struct ggml_gallocr * galloc) {
    for (size_t i = 0; i < galloc->scan.seen.n; i++) {
        const struct alloc_seen * seen = &galloc->scan.seen.items[i];
        if (galloc->scan.seen.items[seen->root].own) {
            seen->tensor->buffer = NULL;
            seen->tensor->data   = NULL;
        }
    }
}

static enum ggml_status grow_buffers(ggml_gallocr_t galloc) {
    for (int32_t i = 0; i < galloc->n_memories; i++) {
        const struct pack_layout * layout = &galloc->plan.layouts.items[i];
        if (!is_large_enough(&galloc->memories[i], layout)) {
            forget_memory(galloc); /* before its buffers go */
            const enum ggml_status status = replace_chunks(&galloc->memories[i], layout);
            if (status != GGML_STATUS_SUCCESS) {
                return status;
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id) {
    GGML_ASSERT(galloc != NULL && buffer_id >= 0 && buffer_id < galloc->n_memories);
    return memory_size(&galloc->memories[buffer_id]); /* none under an id that shares the memory of an earlier one */
}

/* ---- inside the library ---- */

enum ggml_status alloc_reserve(ggml_gallocr_t galloc, const struct alloc_request * request) {
    if (!alloc_scan_graph(galloc, request) || !alloc_plan_make(galloc, request, &galloc->plan)) {
        galloc->plan.valid = false;
        return GGML_STATUS_ALLOC_FAILED;
    }
    const enum ggml_status status = grow_buffers(galloc);
    galloc->plan.valid            = status == GGML_STATUS_SUCCESS;
    return status;
}

enum ggml_status alloc_measure(ggml_gallocr_t galloc, const struct alloc_request * request, size_t * sizes) {
    if (!alloc_scan_graph(galloc, request) || !alloc_plan_make(galloc, request, &galloc->measured)) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    for (int32_t i = 0; i < galloc->n_memories; i++) {
        sizes[i] = galloc->measured.layouts.items[i].total;
    }
    return GGML_STATUS_SUCCESS;
}

bool alloc_fits(ggml_gallocr_t galloc, const struct alloc_request * request) {
    return alloc_scan_graph(galloc, request) && alloc_plan_serves(galloc, request, &galloc->plan);
}

static char * block_address(const struct ggml_gallocr * galloc, int32_t index, ggml_backend_buffer_t * buffer) {
    const struct pack_block * block = &galloc->plan.blocks.items[index];
    *buffer                         = galloc->memories[block->pool].chunks.items[block->chunk];
    return (char *) ggml_backend_buffer_get_base(*buffer) + block->offset;
}

void * alloc_workspace(ggml_gallocr_t galloc, int node) {
    const struct alloc_plan * plan = &galloc->plan;
    ggml_backend_buffer_t     buffer;
    if ((size_t) node >= plan->workspaces.n || plan->workspaces.items[node].block < 0) {
        return NULL;
    }
    char * const    address = block_address(galloc, plan->workspaces.items[node].block, &buffer);
    const uintptr_t past    = (uintptr_t) address % ALLOC_WORKSPACE_ALIGNMENT;
    return past > 0 ? address + (ALLOC_WORKSPACE_ALIGNMENT - past) : address;
}

static enum ggml_status assign(const struct ggml_gallocr * galloc, size_t number) {
    struct ggml_tensor *      tensor = galloc->scan.seen.items[number].tensor;
    const struct alloc_slot * slot   = &galloc->plan.slots.items[number];
    if (tensor->buffer != NULL) {
        return GGML_STATUS_SUCCESS;
    }
    if (tensor->view_src != NULL) {
        /* what it views may lie in the client's own memory, or nowhere */
        if (tensor->view_src->buffer == NULL || tensor->view_src->data == NULL) {
            return GGML_STATUS_SUCCESS;
        }
        return ggml_backend_view_init(tensor);
    }
    if (tensor->data != NULL || slot->block < 0) {
        return GGML_STATUS_SUCCESS;
    }
    ggml_backend_buffer_t buffer;
    char * const          address = block_address(galloc, slot->block, &buffer);
    return ggml_backend_tensor_alloc(buffer, tensor, address);
}

enum ggml_status alloc_assign(ggml_gallocr_t galloc) {
    if (galloc->scan.again) {
        forget_memory(galloc);
    }
    for (int32_t i = 0; i < galloc->n_memories; i++) {
        for (size_t c = 0; c < galloc->memories[i].chunks.n; c++) {
            ggml_backend_buffer_reset(galloc->memories[i].chunks.items[c]);
        }
    }
    for (size_t i = 0; i < galloc->scan.seen.n; i++) {
        const enum ggml_status status = assign(galloc, i);
        if (status != GGML_STATUS_SUCCESS) {
            const struct ggml_tensor * tensor = galloc->scan.seen.items[i].tensor;
            base_fail(status, "tensor '%s' (%s) was refused by its buffer (%s)", tensor->name, ggml_op_desc(tensor),
                      tensor->buffer != NULL ? ggml_backend_buffer_name(tensor->buffer) : "none");
            forget_memory(galloc);
            return status;
        }
    }
    return GGML_STATUS_SUCCESS;
}

struct alloc_request alloc_request_of(const struct plan_numbers * numbers) {
    return (struct alloc_request){
        .tensors   = numbers->tensors.items,
        .viewed    = numbers->viewed.items,
        .n_tensors = numbers->tensors.n,
        .leafs     = numbers->leafs.items,
        .n_leafs   = (int32_t) numbers->leafs.n,
        .n_nodes   = (int32_t) numbers->first.n - 1,
        .refs      = numbers->refs.items,
        .first     = numbers->first.items,
    };
}

/* ---- ggml-alloc.h ---- */

/* False, with a text in the log, when there is no memory. */
static bool number_graph(ggml_gallocr_t galloc, const struct ggml_cgraph * graph, struct alloc_request * request) {
    plan_numbers_clear(&galloc->numbers);
    if (!plan_numbers_graph(&galloc->numbers, graph)) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        return false;
    }
    *request = alloc_request_of(&galloc->numbers);
    return true;
}

void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, struct ggml_cgraph * graph, const int * node_buffer_ids,
                                 const int * leaf_buffer_ids, size_t * sizes) {
    struct alloc_request request;
    bool                 ok = number_graph(galloc, graph, &request);
    if (ok) {
        request.node_buffer_ids = node_buffer_ids;
        request.leaf_buffer_ids = leaf_buffer_ids;
        ok                      = alloc_measure(galloc, &request, sizes) == GGML_STATUS_SUCCESS;
    }
    if (!ok) {
        GGML_LOG_ERROR("%s: %s\n", __func__, base_error_text());
        for (int32_t i = 0; i < galloc->n_memories; i++) {
            sizes[i] = SIZE_MAX; /* fits nowhere */
        }
    }
}

static bool reserve(ggml_gallocr_t galloc, const struct alloc_request * request) {
    if (alloc_reserve(galloc, request) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        return false;
    }
    return true;
}

bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, struct ggml_cgraph * graph, const int * node_buffer_ids,
                            const int * leaf_buffer_ids) {
    struct alloc_request request;
    if (!number_graph(galloc, graph, &request)) {
        return false;
    }
    request.node_buffer_ids = node_buffer_ids;
    request.leaf_buffer_ids = leaf_buffer_ids;
    return reserve(galloc, &request);
}

bool ggml_gallocr_reserve(ggml_gallocr_t galloc, struct ggml_cgraph * graph) {
    return ggml_gallocr_reserve_n(galloc, graph, NULL, NULL);
}

bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, struct ggml_cgraph * graph) {
    struct alloc_request request;
    if (!number_graph(galloc, graph, &request)) {
        return false;
    }
    request.any_buffer = true;
    if (!alloc_fits(galloc, &request)) {
        if (galloc->n_memories > 1) {
            base_fail(
                GGML_STATUS_FAILED,
                "gallocr_alloc_graph: the graph differs from the reserved one, and with %d buffers only a call of "
                "gallocr_reserve_n can say where its tensors go",
                galloc->n_memories);
            return false;
        }
        if (!reserve(galloc, &request)) {
            return false;
        }
    }
    if (alloc_assign(galloc) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        return false;
    }
    return true;
}
