/* SPDX-License-Identifier: MIT
 *
 * Which backend computes which node. Backends come in the order of preference; the last one can run everything that can be
 * run. Five rules, each for what the ones before left open:
 *
 * 1. location: a tensor with memory stays there; a graph input is written by the client, in host memory; a node follows
 *    its weights.
 * 2. neighbours: a node goes where the node before it went, or the one after it, so that splits are few. The preferred
 *    backends spread first, the last one takes what is left.
 * 3. sources: a node that no neighbour's backend can run goes where most of its sources can be read. One that shares
 *    its memory with a backend of higher preference, which can run it and read its sources, moves up. One that writes
 *    through a view goes where the memory is.
 * 4. views are where their source is; other sources are where they are first read.
 * 5. what is still open goes to the first backend that can. When none can, that is an error.
 */
#include "base/status.h"
#include "op/op.h"
#include "plan/sched.h"

static int32_t last_backend(const struct ggml_backend_sched * sched) {
    return sched->n_backends - 1;
}

static void set(struct ggml_backend_sched * sched, int32_t number, int32_t backend, enum sched_cause cause) {
    sched->tensors.items[number].backend = backend;
    sched->tensors.items[number].cause   = (uint8_t) cause;
}

static ggml_backend_buffer_t memory_of(const struct ggml_tensor * tensor) {
    return tensor->view_src != NULL ? tensor->view_src->buffer : tensor->buffer;
}

bool sched_supports(struct ggml_backend_sched * sched, int32_t number, const struct ggml_tensor * node, int32_t backend) {
    uint8_t * known = &sched->supports.items[(size_t) number * (size_t) sched->n_backends + (size_t) backend];
    if (*known == 0) {
        *known = ggml_backend_supports_op(sched->backends[backend].backend, node) ? 1 : 2;
    }
    return *known == 1;
}

bool sched_can_read(const struct ggml_backend_sched * sched, int32_t number, const struct ggml_tensor * tensor,
                    int32_t backend) {
    const ggml_backend_buffer_t memory = memory_of(tensor);
    ggml_backend_buffer_type_t  buft   = NULL;
    if (memory != NULL) {
        buft = memory->buft;
    } else {
        const struct sched_tensor * known = &sched->tensors.items[number];
        int32_t                     home  = known->backend;
        if (home < 0 && known->viewed >= 0) {
            home = sched->tensors.items[known->viewed].backend;
        }
        buft = home >= 0 ? sched->backends[home].buft : NULL;
    }
    return buft != NULL && ggml_backend_supports_buft(sched->backends[backend].backend, buft);
}

/* ---- 1. location ---- */

/* The first backend that can use a buffer and run the node. */
static int32_t backend_at(struct ggml_backend_sched * sched, ggml_backend_buffer_t buffer, int32_t number,
                          const struct ggml_tensor * node) {
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (ggml_backend_supports_buft(sched->backends[b].backend, buffer->buft) && sched_supports(sched, number, node, b)) {
            return b;
        }
    }
    return -1;
}

/* The first weight decides, if it can. Small tensors do not: frequencies of a rotation, sinks of an attention. Work on a
 * weight in host memory may be worth sending to a preferred backend, weight and all, if that one says so. */
static void place_by_weight(struct ggml_backend_sched * sched, int32_t number, const struct ggml_tensor * node) {
    if (node->op == GGML_OP_ROPE || node->op == GGML_OP_FLASH_ATTN_EXT) {
        return;
    }
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        const struct ggml_tensor * src = node->src[k];
        if (src == NULL || src->buffer == NULL || src->buffer->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS) {
            continue;
        }
        const ggml_backend_buffer_t memory  = memory_of(src);
        const int32_t               backend = memory != NULL ? backend_at(sched, memory, number, node) : -1;
        if (sched->op_offload && backend == last_backend(sched) && ggml_backend_buffer_is_host(src->buffer)) {
            for (int32_t b = 0; b < backend; b++) {
                if (sched_supports(sched, number, node, b) && ggml_backend_offload_op(sched->backends[b].backend, node)) {
                    set(sched, number, b, SCHED_CAUSE_OFFLOAD);
                    return;
                }
            }
        }
        if (backend >= 0) {
            set(sched, number, backend, SCHED_CAUSE_WEIGHT);
        }
        return;
    }
}

static enum ggml_status place_by_location(struct ggml_backend_sched * sched, int32_t number,
                                          const struct ggml_tensor * tensor) {
    const ggml_backend_buffer_t memory = memory_of(tensor);
    if (sched->tensors.items[number].backend >= 0) {
        return GGML_STATUS_SUCCESS; /* the client's choice */
    }
    if (memory != NULL) {
        const int32_t backend = backend_at(sched, memory, number, tensor);
        if (backend < 0) {
            return base_fail(GGML_STATUS_FAILED,
                             "scheduler: tensor '%s' (%s, %s) lies in a %s buffer, where no backend can run it", tensor->name,
                             ggml_op_desc(tensor), op_describe(tensor), ggml_backend_buffer_name(memory));
        }
        set(sched, number, backend, SCHED_CAUSE_MEMORY);
    } else if ((tensor->flags & GGML_TENSOR_FLAG_INPUT) != 0) {
        set(sched, number, last_backend(sched), SCHED_CAUSE_INPUT);
    } else {
        place_by_weight(sched, number, tensor);
    }
    return GGML_STATUS_SUCCESS;
}

/* ---- 2. neighbours ---- */

/* One sweep, down (step 1) or up (-1) the nodes. preferred: the last backend does not spread. */
static void spread(struct ggml_backend_sched * sched, struct ggml_cgraph * graph, const int32_t * numbers, int step,
                   bool preferred) {
    int32_t backend = -1;
    for (int i = step > 0 ? 0 : graph->n_nodes - 1; i >= 0 && i < graph->n_nodes; i += step) {
        const struct ggml_tensor * node = graph->nodes[i];
        if (ggml_op_is_empty(node->op)) {
            continue;
        }
        const int32_t here = sched->tensors.items[numbers[i]].backend;
        if (here >= 0) {
            backend = preferred && here == last_backend(sched) ? -1 : here;
        } else if (backend >= 0 && sched_supports(sched, numbers[i], node, backend)) {
            set(sched, numbers[i], backend, SCHED_CAUSE_NEIGHBOUR);
        }
    }
}

/* ---- 3. sources ---- */

static int count_readable(const struct ggml_backend_sched * sched, const struct ggml_tensor * node, const int32_t * refs,
                          int32_t backend) {
    int n = 0;
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] == NULL) {
            continue;
        }
        const int32_t               number = *++refs;
        const struct sched_tensor * src    = &sched->tensors.items[number];
        const bool                  placed =
            src->backend >= 0 || (src->viewed >= 0 && sched->tensors.items[src->viewed].backend >= 0);
        n += placed && sched_can_read(sched, number, node->src[k], backend);
    }
    return n;
}

static bool can_read_all(const struct ggml_backend_sched * sched, const struct ggml_tensor * node, const int32_t * refs,
                         int32_t backend) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] != NULL && !sched_can_read(sched, *++refs, node->src[k], backend)) {
            return false;
        }
    }
    return true;
}

static void place_by_sources(struct ggml_backend_sched * sched, const struct ggml_tensor * node, const int32_t * refs) {
    int most = -1;
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (!sched_supports(sched, refs[0], node, b)) {
            continue;
        }
        const int readable = count_readable(sched, node, refs, b);
        if (readable > most) {
            most = readable;
            set(sched, refs[0], b, SCHED_CAUSE_SOURCES);
        }
    }
}

static void upgrade(struct ggml_backend_sched * sched, const struct ggml_tensor * node, const int32_t * refs) {
    const int32_t here = sched->tensors.items[refs[0]].backend;
    for (int32_t b = 0; b < here; b++) {
        if (sched->backends[b].buft == sched->backends[here].buft && sched_supports(sched, refs[0], node, b) &&
            can_read_all(sched, node, refs, b)) {
            set(sched, refs[0], b, SCHED_CAUSE_UPGRADE);
            return;
        }
    }
}

/* A node that computes into what it views never works on a copy of it. */
static enum ggml_status place_writer(struct ggml_backend_sched * sched, const struct ggml_tensor * node, int32_t number) {
    int32_t root = sched->tensors.items[number].viewed;
    while (sched->tensors.items[root].viewed >= 0) {
        root = sched->tensors.items[root].viewed;
    }
    const struct ggml_tensor * memory = sched->tensors.items[root].tensor;
    const int32_t              here   = sched->tensors.items[number].backend;
    const int32_t              home   = sched->tensors.items[root].backend;
    if (home < 0) {
        set(sched, root, here, SCHED_CAUSE_USER);
        return GGML_STATUS_SUCCESS;
    }
    if (here >= 0 && (here == home || sched_can_read(sched, root, memory, here))) {
        return GGML_STATUS_SUCCESS;
    }
    if (sched_supports(sched, number, node, home)) {
        set(sched, number, home, SCHED_CAUSE_MEMORY);
        return GGML_STATUS_SUCCESS;
    }
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (sched_supports(sched, number, node, b) && sched_can_read(sched, root, memory, b)) {
            set(sched, number, b, SCHED_CAUSE_MEMORY);
            return GGML_STATUS_SUCCESS;
        }
    }
    return base_fail(GGML_STATUS_FAILED, "scheduler: node '%s' (%s) writes into '%s' on backend %s, and none that reaches that "
                                         "memory can run it",
                     node->name, ggml_op_desc(node), memory->name, ggml_backend_name(sched->backends[home].backend));
}

/* ---- 4 and 5 ---- */

/* A view goes where what it views is, which in turn goes to `otherwise` when it is nowhere yet. */
static void follow(struct ggml_backend_sched * sched, int32_t number, int32_t otherwise, enum sched_cause cause) {
    const struct sched_tensor * tensor = &sched->tensors.items[number];
    if (tensor->backend >= 0) {
        return;
    }
    if (tensor->viewed >= 0) {
        follow(sched, tensor->viewed, otherwise, cause);
        set(sched, number, sched->tensors.items[tensor->viewed].backend, SCHED_CAUSE_VIEW);
    } else {
        set(sched, number, otherwise, cause);
    }
}

static enum ggml_status nobody_can(const struct ggml_backend_sched * sched, const struct ggml_tensor * node) {
    char   sources[512] = "";
    size_t n            = 0;
    for (int k = 0; k < GGML_MAX_SRC && n < sizeof(sources); k++) {
        const struct ggml_tensor * src = node->src[k];
        if (src != NULL) {
            const ggml_backend_buffer_t memory = memory_of(src);
            n += (size_t) snprintf(sources + n, sizeof(sources) - n, "%s'%s' %s%s%s", n > 0 ? ", " : "", src->name,
                                   op_describe(src), memory != NULL ? " in " : "",
                                   memory != NULL ? ggml_backend_buffer_name(memory) : "");
        }
    }
    return base_fail(GGML_STATUS_FAILED, "scheduler: none of %d backends can run node '%s': %s(%s) -> %s", sched->n_backends,
                     node->name, ggml_op_desc(node), sources, op_describe(node));
}

/* A node first, then its sources: they may take its backend. */
static enum ggml_status place_rest(struct ggml_backend_sched * sched, const struct ggml_tensor * node, const int32_t * refs) {
    const int32_t number = refs[0];
    follow(sched, number, -1, SCHED_CAUSE_NONE);
    for (int32_t b = 0; b < sched->n_backends && sched->tensors.items[number].backend < 0; b++) {
        if (sched_supports(sched, number, node, b)) {
            set(sched, number, b, SCHED_CAUSE_FIRST);
        }
    }
    const int32_t here = sched->tensors.items[number].backend;
    if (here < 0) {
        return nobody_can(sched, node);
    }
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] != NULL) {
            follow(sched, *++refs, here, SCHED_CAUSE_USER);
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* ---- all ---- */

/* Numbers of the graph's tensors. Leafs first; sources that stand in no list are numbered with the node that reads them. */
static bool number_graph(struct ggml_backend_sched * sched, struct ggml_cgraph * graph, int32_t ** node_numbers) {
    sched->refs.n = 0;
    for (int i = 0; i < graph->n_leafs; i++) {
        if (sched_number(sched, graph->leafs[i]) < 0) {
            return false;
        }
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!PLAN_ARRAY_RESERVE(sched->refs, sched->refs.n + 1 + GGML_MAX_SRC)) {
            return false;
        }
        const int32_t number = sched_number(sched, graph->nodes[i]);
        sched->refs.items[sched->refs.n++] = number;
        for (int k = 0; k < GGML_MAX_SRC && number >= 0; k++) {
            if (graph->nodes[i]->src[k] != NULL) {
                const int32_t source = sched_number(sched, graph->nodes[i]->src[k]);
                if (source < 0) {
                    return false;
                }
                sched->refs.items[sched->refs.n++] = source;
            }
        }
        if (number < 0) {
            return false;
        }
    }
    const size_t n_answers = sched->tensors.n * (size_t) sched->n_backends;
    /* the nodes' own numbers once more, in a row, for the sweeps */
    if (!PLAN_ARRAY_RESERVE(sched->supports, n_answers) || !PLAN_ARRAY_RESERVE(sched->list_index, (size_t) graph->n_nodes)) {
        return false;
    }
    memset(sched->supports.items, 0, n_answers);
    *node_numbers = sched->list_index.items;
    return true;
}

static const int32_t * next_refs(const int32_t * refs, const struct ggml_tensor * node) {
    refs++;
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        refs += node->src[k] != NULL;
    }
    return refs;
}

/* Sources that stand in no list too, and what views look at: they may have memory. */
static enum ggml_status place_located(struct ggml_backend_sched * sched) {
    for (size_t i = 0; i < sched->tensors.n; i++) {
        const struct ggml_tensor * tensor = sched->tensors.items[i].tensor;
        const enum ggml_status     status =
            alloc_is_label(tensor) ? GGML_STATUS_SUCCESS : place_by_location(sched, (int32_t) i, tensor);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status sched_place(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    int32_t * numbers = NULL;
    if (!number_graph(sched, graph, &numbers)) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    const int32_t * refs = sched->refs.items;
    for (int i = 0; i < graph->n_nodes; i++) {
        numbers[i] = refs[0];
        refs       = next_refs(refs, graph->nodes[i]);
    }
    enum ggml_status status = place_located(sched);
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    spread(sched, graph, numbers, 1, true);
    spread(sched, graph, numbers, -1, true);
    spread(sched, graph, numbers, 1, false);
    spread(sched, graph, numbers, -1, false);

    refs = sched->refs.items;
    for (int i = 0; i < graph->n_nodes && status == GGML_STATUS_SUCCESS; i++) {
        const struct ggml_tensor * node = graph->nodes[i];
        if (!ggml_op_is_empty(node->op)) {
            if (sched->tensors.items[numbers[i]].backend < 0) {
                place_by_sources(sched, node, refs);
            } else {
                upgrade(sched, node, refs);
            }
            if (node->view_src != NULL) {
                status = place_writer(sched, node, numbers[i]);
            }
        }
        refs = next_refs(refs, node);
    }
    refs = sched->refs.items;
    for (int i = 0; i < graph->n_nodes && status == GGML_STATUS_SUCCESS; i++) {
        status = place_rest(sched, graph->nodes[i], refs);
        refs   = next_refs(refs, graph->nodes[i]);
    }
    for (size_t i = 0; i < sched->tensors.n; i++) { /* leafs that no node reads */
        follow(sched, (int32_t) i, last_backend(sched), SCHED_CAUSE_INPUT);
    }
    return status;
}
