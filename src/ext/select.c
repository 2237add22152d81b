/* SPDX-License-Identifier: MIT
 *
 * Which row runs a node: forced rows first, then by priority; a row of the device itself, or its own graph code, stands at
 * priority 0. `supports` decides what is correct; `preferred` only whether an added row goes before a native one, so that a
 * node without native support never fails for a matter of taste.
 */
#include "device/device.h"
#include "ext/ext.h"
#include "ggml-impl.h"

/* Queries in progress on this thread: the same question from inside `supports` answers no. */
static _Thread_local struct query {
    const struct query *       outer;
    ggml_backend_dev_t         device;
    const struct ggml_tensor * node;
} const * queries;

static bool in_progress(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    for (const struct query * q = queries; q != NULL; q = q->outer) {
        if (q->device == device && q->node == node) {
            return true;
        }
    }
    return false;
}

static bool row_supports(const struct ext_kernel * row, ggml_backend_dev_t device, const struct ggml_tensor * node,
                         const struct ext_op * op) {
    if (row->op != op) {
        return false;
    }
    if (row->native) {
        return row->desc->supports(row->desc->user_data, device, node);
    }
    const struct query q = { queries, device, node };
    queries              = &q;
    const bool yes       = row->desc->supports(row->desc->user_data, device, node);
    queries              = q.outer;
    return yes;
}

/* Does the module's own graph code run the node? Not asked about extension nodes; device_native_supports sees to
 * added number formats. */
static bool module_supports(ggml_backend_dev_t device, const struct ggml_tensor * node, const struct ext_op * op) {
    return op == NULL && device_native_supports(device, node);
}

static struct ext_kernel * forced(const struct ext_list * list, ggml_backend_dev_t device, const struct ggml_tensor * node,
                                  const struct ext_op * op) {
    for (int i = 0; list != NULL && i < list->n; i++) {
        struct ext_kernel * row = list->rows[i];
        if (atomic_load_explicit(&row->policy, memory_order_relaxed) == GGML_EXT_POLICY_FORCE &&
            row_supports(row, device, node, op)) {
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
    const bool              has_rows = atomic_load_explicit(&d->team, memory_order_acquire) != NULL; /* all of its kernels are rows */
    const struct ext_list * list =
        (unsigned) node->op < GGML_OP_COUNT ? atomic_load_explicit(&d->single[node->op], memory_order_acquire) : NULL;
    struct ext_kernel * other = NULL; /* supported, but rather not */
    int                 native = has_rows ? 0 : -1; /* -1: the module was not asked yet */
    if (atomic_load_explicit(&d->n_added, memory_order_relaxed) > 0) {
        *chosen = forced(list, device, node, op);
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
            !row_supports(row, device, node, op)) {
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
