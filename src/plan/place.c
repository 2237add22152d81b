/* SPDX-License-Identifier: MIT
 *
 * Which backend computes which node. Backends come in the order of preference; the last one can run everything that can
 * be run. Five rules, each for what the ones before left open:
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

static bool supports_alone(struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    uint8_t * known = &sched->supports.items[(size_t) number * (size_t) sched->n_backends + (size_t) backend];
    if (*known == 0) {
        const struct ggml_tensor * node = sched_tensor_of(sched, number);
        *known                          = ggml_backend_supports_op(sched->backends[backend].backend, node) ? 1 : 2;
    }
    return *known == 1;
}

bool sched_supports(struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    int32_t other = number;
    do {
        if (!supports_alone(sched, other, backend)) {
            return false;
        }
        other = sched->tensors.items[other].shares;
    } while (other != number);
    return true;
}

bool sched_can_read(const struct ggml_backend_sched * sched, int32_t number, int32_t backend) {
    const ggml_backend_buffer_t memory = memory_of(sched_tensor_of(sched, number));
    ggml_backend_buffer_type_t  buft   = NULL;
    if (memory != NULL) {
        buft = memory->buft;
    } else {
        const int32_t viewed = sched->numbers.viewed.items[number];
        int32_t       home   = sched_backend_of(sched, number);
        if (home < 0 && viewed >= 0) {
            home = sched_backend_of(sched, viewed);
        }
        buft = home >= 0 ? sched->backends[home].buft : NULL;
    }
    return buft != NULL && ggml_backend_supports_buft(sched->backends[backend].backend, buft);
}

/* A node that computes into what it views must run where that memory is, and so must be possible there: while the
 * memory is still to be placed, what can run the one must be able to run the other. */
static void join_writer(struct ggml_backend_sched * sched, int32_t number) {
    const int32_t         root   = plan_numbers_root(&sched->numbers, number);
    struct sched_tensor * memory = &sched->tensors.items[root];
    struct sched_tensor * writer = &sched->tensors.items[number];
    if (memory_of(sched_tensor_of(sched, root)) == NULL && writer->shares == number) {
        writer->shares = memory->shares;
        memory->shares = number;
    }
}

/* ---- 1. location ---- */

/* The first backend that can use a buffer and run the node. */
static int32_t backend_at(struct ggml_backend_sched * sched, ggml_backend_buffer_t buffer, int32_t number) {
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (ggml_backend_supports_buft(sched->backends[b].backend, buffer->buft) && sched_supports(sched, number, b)) {
            return b;
        }
    }
    return -1;
}

/* The first weight decides, if it can. Small tensors do not: frequencies of a rotation, sinks of an attention. Work on
 * a weight in host memory may be worth sending to a preferred backend, weight and all, if that one says so. */
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
        const int32_t               backend = memory != NULL ? backend_at(sched, memory, number) : -1;
        if (sched->op_offload && backend == last_backend(sched) && ggml_backend_buffer_is_host(src->buffer)) {
            for (int32_t b = 0; b < backend; b++) {
                if (sched_supports(sched, number, b) && ggml_backend_offload_op(sched->backends[b].backend, node)) {
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
    const int32_t               chosen = sched_backend_of(sched, number);
    if (chosen >= 0 && (tensor->op == GGML_OP_NONE || sched_supports(sched, number, chosen))) {
        return GGML_STATUS_SUCCESS;
    }
    if (chosen >= 0) {
        GGML_LOG_WARN("scheduler: backend %s cannot run '%s' (%s), which the client assigned to it\n",
                      ggml_backend_name(sched->backends[chosen].backend), tensor->name, ggml_op_desc(tensor));
        set(sched, number, -1, SCHED_CAUSE_NONE);
    }
    if (memory != NULL) {
        const int32_t backend = backend_at(sched, memory, number);
        if (backend < 0) {
            return base_fail(GGML_STATUS_FAILED,
                             "scheduler: tensor '%s' (%s, %s) lies in a %s buffer, where no backend can run it",
                             tensor->name, ggml_op_desc(tensor), op_describe(tensor), ggml_backend_buffer_name(memory));
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
static void spread(struct ggml_backend_sched * sched, int n_nodes, int step, bool preferred) {
    int32_t backend = -1;
    for (int i = step > 0 ? 0 : n_nodes - 1; i >= 0 && i < n_nodes; i += step) {
        const int32_t number = sched->numbers.refs.items[sched->numbers.first.items[i]].number;
        const int32_t here   = sched_backend_of(sched, number);
        if (sched->tensors.items[number].idle) {
            continue;
        }
        if (here >= 0) {
            backend = preferred && here == last_backend(sched) ? -1 : here;
        } else if (backend >= 0 && sched_supports(sched, number, backend)) {
            set(sched, number, backend, SCHED_CAUSE_NEIGHBOUR);
        }
    }
}

/* ---- 3. sources ---- */

static bool is_placed(const struct ggml_backend_sched * sched, int32_t number) {
    const int32_t viewed = sched->numbers.viewed.items[number];
    return sched_backend_of(sched, number) >= 0 || (viewed >= 0 && sched_backend_of(sched, viewed) >= 0);
}

static int count_readable(const struct ggml_backend_sched * sched, const struct plan_ref * refs, int n_refs,
                          int32_t backend) {
    int n = 0;
    for (int r = 1; r < n_refs; r++) {
        n += is_placed(sched, refs[r].number) && sched_can_read(sched, refs[r].number, backend);
    }
    return n;
}

static bool can_read_all(const struct ggml_backend_sched * sched, const struct plan_ref * refs, int n_refs,
                         int32_t backend) {
    for (int r = 1; r < n_refs; r++) {
        if (!sched_can_read(sched, refs[r].number, backend)) {
            return false;
        }
    }
    return true;
}

static void place_by_sources(struct ggml_backend_sched * sched, const struct plan_ref * refs, int n_refs) {
    int most = -1;
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (!sched_supports(sched, refs[0].number, b)) {
            continue;
        }
        const int readable = count_readable(sched, refs, n_refs, b);
        if (readable > most) {
            most = readable;
            set(sched, refs[0].number, b, SCHED_CAUSE_SOURCES);
        }
    }
}

static void upgrade(struct ggml_backend_sched * sched, const struct plan_ref * refs, int n_refs) {
    const int32_t here = sched_backend_of(sched, refs[0].number);
    for (int32_t b = 0; b < here; b++) {
        if (sched->backends[b].buft == sched->backends[here].buft && sched_supports(sched, refs[0].number, b) &&
            can_read_all(sched, refs, n_refs, b)) {
            set(sched, refs[0].number, b, SCHED_CAUSE_UPGRADE);
            return;
        }
    }
}

/* A node that computes into what it views never works on a copy of it. */
static enum ggml_status place_writer(struct ggml_backend_sched * sched, int32_t number) {
    const int32_t root = plan_numbers_root(&sched->numbers, number);
    const int32_t here = sched_backend_of(sched, number);
    const int32_t home = sched_backend_of(sched, root);
    if (home < 0) {
        set(sched, root, here, SCHED_CAUSE_USER);
        return GGML_STATUS_SUCCESS;
    }
    if (here >= 0 && (here == home || sched_can_read(sched, root, here))) {
        return GGML_STATUS_SUCCESS;
    }
    if (sched_supports(sched, number, home)) {
        set(sched, number, home, SCHED_CAUSE_MEMORY);
        return GGML_STATUS_SUCCESS;
    }
    for (int32_t b = 0; b < sched->n_backends; b++) {
        if (sched_supports(sched, number, b) && sched_can_read(sched, root, b)) {
            set(sched, number, b, SCHED_CAUSE_MEMORY);
            return GGML_STATUS_SUCCESS;
        }
    }
    const struct ggml_tensor * node = sched_tensor_of(sched, number);
    return base_fail(GGML_STATUS_FAILED,
                     "scheduler: node '%s' (%s) writes into '%s' on backend %s, and none that reaches that "
                     "memory can run it",
                     node->name, ggml_op_desc(node), sched_tensor_of(sched, root)->name,
                     ggml_backend_name(sched->backends[home].backend));
}

/* ---- 4 and 5 ---- */

/* A view goes where what it views is, which in turn goes to `otherwise` when it is nowhere yet. */
static void follow(struct ggml_backend_sched * sched, int32_t number, int32_t otherwise, enum sched_cause cause) {
    const int32_t viewed = sched->numbers.viewed.items[number];
    if (sched_backend_of(sched, number) >= 0) {
        return;
    }
    if (viewed >= 0) {
        follow(sched, viewed, otherwise, cause);
        set(sched, number, sched_backend_of(sched, viewed), SCHED_CAUSE_VIEW);
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
    return base_fail(GGML_STATUS_FAILED, "scheduler: none of %d backends can run node '%s': %s(%s) -> %s",
                     sched->n_backends, node->name, ggml_op_desc(node), sources, op_describe(node));
}

/* A node first, then its sources: they may take its backend. */
static enum ggml_status place_rest(struct ggml_backend_sched * sched, const struct plan_ref * refs, int n_refs) {
    const int32_t number = refs[0].number;
    follow(sched, number, -1, SCHED_CAUSE_NONE);
    for (int32_t b = 0; b < sched->n_backends && sched_backend_of(sched, number) < 0; b++) {
        if (sched_supports(sched, number, b)) {
            set(sched, number, b, SCHED_CAUSE_FIRST);
        }
    }
    const int32_t here = sched_backend_of(sched, number);
    if (here < 0) {
        return nobody_can(sched, sched_tensor_of(sched, number));
    }
    for (int r = 1; r < n_refs; r++) {
        follow(sched, refs[r].number, here, SCHED_CAUSE_USER);
    }
    return GGML_STATUS_SUCCESS;
}

/* ---- all ---- */

/* What the client wishes for a tensor. A label lies where its source does, whatever that is. */
static int32_t wish_for(const struct ggml_backend_sched * sched, const struct ggml_tensor * tensor) {
    return sched->pins.count == 0 || plan_is_label(tensor) ? -1 : plan_map_find(&sched->pins, tensor);
}

static bool number_graph(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    plan_numbers_clear(&sched->numbers);
    if (!plan_numbers_graph(&sched->numbers, graph)) {
        return false;
    }
    const size_t n         = sched->numbers.tensors.n;
    const size_t n_answers = n * (size_t) sched->n_backends;
    sched->tensors.n       = 0;
    if (!PLAN_ARRAY_RESERVE(sched->tensors, n) || !PLAN_ARRAY_RESERVE(sched->supports, n_answers)) {
        return false;
    }
    sched->tensors.n = n;
    for (size_t i = 0; i < n_answers; i++) {
        sched->supports.items[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ggml_tensor * tensor = sched->numbers.tensors.items[i];
        const int32_t              wish   = wish_for(sched, tensor);
        sched->tensors.items[i]           = (struct sched_tensor){
                      .backend = wish,
                      .written = -1,
                      .shares  = (int32_t) i,
                      .copies  = -1,
                      .node    = -1,
                      .cause   = wish >= 0 ? SCHED_CAUSE_CLIENT : SCHED_CAUSE_NONE,
                      .idle    = ggml_op_is_empty(tensor->op),
        };
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        const int32_t number              = sched->numbers.refs.items[sched->numbers.first.items[i]].number;
        sched->tensors.items[number].node = i;
        if (!sched->tensors.items[number].idle && sched->numbers.viewed.items[number] >= 0) {
            join_writer(sched, number);
        }
    }
    return true;
}

/* Sources that stand in no list too, and what views look at: they may have memory. */
static enum ggml_status place_located(struct ggml_backend_sched * sched) {
    for (size_t i = 0; i < sched->tensors.n; i++) {
        const struct ggml_tensor * tensor = sched->numbers.tensors.items[i];
        const enum ggml_status     status =
            plan_is_label(tensor) ? GGML_STATUS_SUCCESS : place_by_location(sched, (int32_t) i, tensor);
        if (status != GGML_STATUS_SUCCESS) {
            return status;
        }
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status place_open(struct ggml_backend_sched * sched, int n_nodes) {
    for (int i = 0; i < n_nodes; i++) {
        int                     n_refs;
        const struct plan_ref * refs = sched_refs_of(sched, i, &n_refs);
        if (sched->tensors.items[refs[0].number].idle) {
            continue;
        }
        if (sched_backend_of(sched, refs[0].number) < 0) {
            place_by_sources(sched, refs, n_refs);
        } else if (sched->tensors.items[refs[0].number].cause != SCHED_CAUSE_CLIENT) {
            upgrade(sched, refs, n_refs);
        }
        if (sched->numbers.viewed.items[refs[0].number] >= 0) {
            const enum ggml_status status = place_writer(sched, refs[0].number);
            if (status != GGML_STATUS_SUCCESS) {
                return status;
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* With one backend the rules come down to this: everything is there, if it can be. */
static enum ggml_status place_alone(struct ggml_backend_sched * sched) {
    for (size_t i = 0; i < sched->tensors.n; i++) {
        const struct ggml_tensor *  tensor = sched->numbers.tensors.items[i];
        const ggml_backend_buffer_t memory = memory_of(tensor);
        if (memory != NULL && !ggml_backend_supports_buft(sched->backends[0].backend, memory->buft)) {
            return place_by_location(sched, (int32_t) i, tensor); /* forms the text */
        }
        if (!sched->tensors.items[i].idle && sched->tensors.items[i].node >= 0 &&
            !supports_alone(sched, (int32_t) i, 0)) {
            return memory != NULL ? place_by_location(sched, (int32_t) i, tensor) : nobody_can(sched, tensor);
        }
        set(sched, (int32_t) i, 0, SCHED_CAUSE_FIRST);
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status sched_place(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    if (!number_graph(sched, graph)) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    if (sched->n_backends == 1) {
        return place_alone(sched);
    }
    enum ggml_status status = place_located(sched);
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    spread(sched, graph->n_nodes, 1, true);
    spread(sched, graph->n_nodes, -1, true);
    spread(sched, graph->n_nodes, 1, false);
    spread(sched, graph->n_nodes, -1, false);
    status = place_open(sched, graph->n_nodes);
    for (int i = 0; i < graph->n_nodes && status == GGML_STATUS_SUCCESS; i++) {
        int                     n_refs;
        const struct plan_ref * refs = sched_refs_of(sched, i, &n_refs);
        status                       = place_rest(sched, refs, n_refs);
    }
    for (size_t i = 0; i < sched->tensors.n; i++) { /* leafs that no node reads */
        follow(sched, (int32_t) i, last_backend(sched), SCHED_CAUSE_INPUT);
    }
    return status;
}
