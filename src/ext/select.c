/* SPDX-License-Identifier: MIT
 *
 * Which row runs a node: forced rows first, then by priority; a row of the device itself, or its own graph code, stands at
 * priority 0. `supports` decides what is correct; `preferred` only whether an added row goes before a native one, so that a
 * node without native support never fails for a matter of taste.
 */
#include "device/device.h"
#include "ext/ext.h"
#include "ggml-impl.h"

/* Queries in progress on this thread: the same question from inside `supports` answers no, and so does one too deep inside
 * of others, as when a rule asks about a copy of its node, whose rule asks about a copy. */
#define MAX_DEPTH 16

static _Thread_local struct query {
    const struct query *       outer;
    ggml_backend_dev_t         device;
    const struct ggml_tensor * node;
} const * queries;

static bool in_progress(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    int depth = 0;
    for (const struct query * q = queries; q != NULL; q = q->outer) {
        if ((q->device == device && q->node == node) || ++depth == MAX_DEPTH) {
            return true;
        }
    }
    return false;
}

static void end_query(const struct query * q) {
    queries = q->outer; /* also when the rule throws */
}

/* What is asked about. */
struct question {
    ggml_backend_dev_t         device;
    const struct ggml_tensor * node;
    const struct ext_op *      op;     /* of an extension node, or NULL */
    ggml_backend_buffer_type_t layout; /* packed layout that a source lies in, or NULL */
};

/* The packed layout that a source, or the result, lies in. Only rows that declare it are asked. */
static ggml_backend_buffer_type_t layout_of(const struct ext_device * d, const struct ggml_tensor * node) {
    const int n = atomic_load_explicit(&d->n_layouts, memory_order_acquire);
    for (int k = -1; n > 0 && k < GGML_MAX_SRC; k++) {
        const struct ggml_tensor * t = k < 0 ? node : node->src[k];
        const struct ggml_backend_buffer * buffer = t == NULL ? NULL : t->view_src != NULL ? t->view_src->buffer : t->buffer;
        for (int i = 0; buffer != NULL && i < n; i++) {
            if (atomic_load_explicit(&d->layouts[i], memory_order_relaxed) == buffer->buft) {
                return buffer->buft;
            }
        }
    }
    return NULL;
}

static bool row_supports(const struct ext_kernel * row, const struct question * q0) {
    const ggml_backend_dev_t   device = q0->device;
    const struct ggml_tensor * node   = q0->node;
    if (row->op != q0->op || row->layout != q0->layout) {
        return false;
    }
    if (row->native) {
        return row->desc->supports(row->desc->user_data, device, node);
    }
    __attribute__((cleanup(end_query))) const struct query q = { queries, device, node };
    queries                                                 = &q;
    return row->desc->supports(row->desc->user_data, device, node);
}

/* Does the module's own graph code run the node? Not asked about extension nodes; device_native_supports sees to
 * added number formats. */
static bool module_supports(ggml_backend_dev_t device, const struct ggml_tensor * node, const struct ext_op * op) {
    return op == NULL && device_native_supports(device, node);
}

static struct ext_kernel * forced(const struct ext_list * list, const struct question * q) {
    for (int i = 0; list != NULL && i < list->n; i++) {
        struct ext_kernel * row = list->rows[i];
        if (atomic_load_explicit(&row->policy, memory_order_relaxed) == GGML_EXT_POLICY_FORCE &&
            row_supports(row, q)) {
            return row;
        }
    }
    return NULL;
}

bool ext_select(ggml_backend_dev_t device, const struct ggml_tensor * node, struct ext_kernel ** chosen) {
    const struct ext_op * op = ext_op_of(node);
    struct ext_device *   d  = ext_device_find(device);
    *chosen                  = NULL;
    if (d == NULL) {
        return module_supports(device, node, op);
    }
    if (in_progress(device, node)) {
        return false;
    }
    const struct question   q        = { device, node, op, layout_of(d, node) };
    const bool              has_rows = atomic_load_explicit(&d->team, memory_order_acquire) != NULL; /* all of its kernels are rows */
    const struct ext_list * list =
        (unsigned) node->op < GGML_OP_COUNT ? atomic_load_explicit(&d->single[node->op], memory_order_acquire) : NULL;
    struct ext_kernel * other = NULL; /* supported, but rather not */
    int                 native = has_rows ? 0 : -1; /* -1: the module was not asked yet */
    if (atomic_load_explicit(&d->n_added, memory_order_relaxed) > 0) {
        *chosen = forced(list, &q);
        if (*chosen != NULL) {
            return true;
        }
    }
    for (int i = 0; list != NULL && i < list->n; i++) {
        struct ext_kernel * row = list->rows[i];
        if (native < 0 && row->desc->priority < 0) {
            native = module_supports(device, node, op);
            if (native == 1) {
                return true;
            }
        }
        if (atomic_load_explicit(&row->policy, memory_order_relaxed) == GGML_EXT_POLICY_OFF ||
            !row_supports(row, &q)) {
            continue;
        }
        if (row->native || row->desc->preferred == NULL || row->desc->preferred(row->desc->user_data, device, node)) {
            *chosen = row;
            return true;
        }
        if (other == NULL) {
            other = row;
        }
    }
    if (native < 0 && module_supports(device, node, op)) {
        return true;
    }
    *chosen = other;
    return other != NULL;
}

bool graft_device_has_kernel(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    struct ext_kernel * row;
    if (ggml_op_is_empty(node->op)) {
        return device_native_supports(device, node); /* labels have no kernels */
    }
    return ext_select(device, node, &row);
}

bool ext_wants_plan(ggml_backend_t backend) {
    struct ext_device * d = backend != NULL ? ext_device_find(backend->device) : NULL;
    return d != NULL && (atomic_load(&d->team) != NULL || atomic_load(&d->n_added) > 0);
}
