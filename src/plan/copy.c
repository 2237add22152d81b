/* SPDX-License-Identifier: MIT
 *
 * Copying a split's inputs to its backend, by the device itself where it can, and never before the backend has finished
 * with what is overwritten.
 *
 * The weights of a mixture of experts that lie in host memory are large, and a node reads few of them: only the experts
 * that its ids name are copied.
 */
#include "base/status.h"
#include "plan/sched.h"

void sched_wait_for(struct ggml_backend_sched * sched, int32_t backend) {
    const struct sched_backend * at = &sched->backends[backend];
    if (at->events[sched->cur_copy] != NULL) {
        ggml_backend_event_synchronize(at->events[sched->cur_copy]);
    } else {
        ggml_backend_synchronize(at->backend);
    }
}

/* ---- experts ---- */

enum { EXPERT_PADDING = 512 }; /* bytes read past an expert by kernels that work in tiles: they must not be NaN */

/* The node that reads the copy, if it is the one at the head of the split and reads single experts. */
static const struct ggml_tensor * expert_reader(const struct ggml_backend_sched * sched,
                                                const struct sched_split * split, const struct sched_input * input,
                                                const struct ggml_tensor * copy) {
    const struct ggml_tensor *  node   = split->graph.n_nodes > 0 ? split->graph.nodes[0] : NULL;
    const ggml_backend_buffer_t memory = input->tensor->buffer;
    if (node == NULL || node->op != GGML_OP_MUL_MAT_ID || node->src[0] != copy || memory == NULL ||
        memory->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS || !ggml_backend_buffer_is_host(memory) ||
        sched->copies.items[input->copy].n_readers > 1) {
        return NULL;
    }
    return node;
}

/* The ids may be an input of the same split that is not copied yet: then the original has them. */
static const struct ggml_tensor * find_ids(const struct ggml_backend_sched * sched, const struct sched_split * split,
                                           const struct ggml_tensor * node, size_t done, int32_t * backend) {
    *backend = split->backend;
    for (size_t i = done + 1; i < split->inputs.n; i++) {
        const struct sched_input * input = &split->inputs.items[i];
        if (sched_current_copy(sched, input->copy) == node->src[2]) {
            *backend = sched_backend_of(sched, input->number);
            return input->tensor;
        }
    }
    return node->src[2];
}

/* Sets the bit of each expert that the ids name. */
static enum ggml_status find_used(struct ggml_backend_sched * sched, const struct ggml_tensor * ids, int32_t backend,
                                  int64_t n_expert) {
    if (sched->expert_source == ids) {
        return GGML_STATUS_SUCCESS;
    }
    const size_t bytes = ggml_nbytes(ids);
    const size_t words = ggml_bitset_size((size_t) n_expert);
    if (!PLAN_ARRAY_RESERVE(sched->expert_ids, bytes / sizeof(int32_t) + 1) ||
        !PLAN_ARRAY_RESERVE(sched->expert_used, words)) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    ggml_backend_tensor_get_async(sched->backends[backend].backend, ids, sched->expert_ids.items, 0, bytes);
    ggml_backend_synchronize(sched->backends[backend].backend);
    memset(sched->expert_used.items, 0, words * sizeof(sched->expert_used.items[0]));
    for (int64_t i = 0; i < ids->ne[1] * ids->ne[0]; i++) {
        const size_t  at = (size_t) (i / ids->ne[0]) * ids->nb[1] + (size_t) (i % ids->ne[0]) * ids->nb[0];
        const int32_t id = sched->expert_ids.items[at / sizeof(int32_t)];
        if (id < 0 || id >= n_expert) {
            return base_fail(GGML_STATUS_FAILED, "scheduler: '%s' names expert %d of %lld", ids->name, id,
                             (long long) n_expert);
        }
        ggml_bitset_set(sched->expert_used.items, (size_t) id);
    }
    sched->expert_source = ids;
    return GGML_STATUS_SUCCESS;
}

/* Runs of experts that are used, each by one transfer. */
static void copy_used(struct ggml_backend_sched * sched, int32_t backend, const struct ggml_tensor * weights,
                      struct ggml_tensor * copy) {
    const int64_t n_expert = weights->ne[2];
    const size_t  size     = weights->nb[2];
    const size_t  padding  = size < EXPERT_PADDING ? size : EXPERT_PADDING;
    for (int64_t first = 0; first < n_expert; first++) {
        int64_t end = first;
        while (end < n_expert && ggml_bitset_get(sched->expert_used.items, (size_t) end)) {
            end++;
        }
        if (end > first) {
            const size_t offset = (size_t) first * size;
            const size_t bytes  = (size_t) (end - first) * size + (end < n_expert ? padding : 0);
            ggml_backend_tensor_set_async(sched->backends[backend].backend, copy, (const char *) weights->data + offset,
                                          offset, bytes);
            first = end;
        }
    }
}

static enum ggml_status copy_experts(struct ggml_backend_sched * sched, const struct sched_split * split, size_t i,
                                     const struct ggml_tensor * node, struct ggml_tensor * copy) {
    const struct sched_input * input = &split->inputs.items[i];
    int32_t                    backend;
    const struct ggml_tensor * ids = find_ids(sched, split, node, i, &backend);
    if (ggml_nelements(ids) == 0) {
        return GGML_STATUS_SUCCESS;
    }
    ggml_backend_synchronize(sched->backends[sched_backend_of(sched, input->number)].backend);
    const enum ggml_status status = find_used(sched, ids, backend, input->tensor->ne[2]);
    if (status == GGML_STATUS_SUCCESS) {
        copy_used(sched, split->backend, input->tensor, copy);
    }
    return status;
}

/* ---- all inputs ---- */

static void copy_whole(struct ggml_backend_sched * sched, const struct sched_split * split,
                       const struct sched_input * input, struct ggml_tensor * copy) {
    ggml_backend_t from = sched->backends[sched_backend_of(sched, input->number)].backend;
    ggml_backend_t to   = sched->backends[split->backend].backend;
    if (to->iface.cpy_tensor_async != NULL && to->iface.cpy_tensor_async(from, to, input->tensor, copy)) {
        return;
    }
    ggml_backend_synchronize(from);
    sched_wait_for(sched, split->backend);
    ggml_backend_tensor_copy(input->tensor, copy);
}

static enum ggml_status copy_input(struct ggml_backend_sched * sched, const struct sched_split * split, size_t i) {
    const struct sched_input *   input = &split->inputs.items[i];
    const struct sched_backend * to    = &sched->backends[split->backend];
    struct ggml_tensor *         copy  = sched_current_copy(sched, input->copy);
    if ((input->tensor->flags & GGML_TENSOR_FLAG_INPUT) != 0) {
        /* at once: the client may write the next values as soon as this call returns */
        sched_wait_for(sched, split->backend);
        ggml_backend_tensor_copy(input->tensor, copy);
        return GGML_STATUS_SUCCESS;
    }
    if (to->events[sched->cur_copy] != NULL) {
        ggml_backend_event_wait(to->backend, to->events[sched->cur_copy]);
    } else {
        ggml_backend_synchronize(to->backend);
    }
    const struct ggml_tensor * reader = expert_reader(sched, split, input, copy);
    if (reader != NULL) {
        return copy_experts(sched, split, i, reader, copy);
    }
    copy_whole(sched, split, input, copy);
    return GGML_STATUS_SUCCESS;
}

enum ggml_status sched_copy_inputs(struct ggml_backend_sched * sched, struct sched_split * split) {
    for (size_t i = 0; i < split->inputs.n; i++) {
        const enum ggml_status status = copy_input(sched, split, i);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
    }
    return GGML_STATUS_SUCCESS;
}
