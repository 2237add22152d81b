/* SPDX-License-Identifier: MIT
 *
 * What the device layer asks of the layer above it: kernels that were added to a device answer capability queries and
 * take part in graph computation. src/ext fills the table once; where there is none, or an entry is NULL, the device's
 * module is asked directly.
 */
#ifndef GRAFT_DEVICE_HOOKS_H
#define GRAFT_DEVICE_HOOKS_H

#include "ggml-backend.h"

struct device_hooks {
    /* Instead of the module; asks it in turn with device_native_supports. */
    bool (*supports)(ggml_backend_dev_t device, const struct ggml_tensor * node);
    /* Instead of the module; hands it what is left with device_native_graph_compute. */
    enum ggml_status (*graph_compute)(ggml_backend_t backend, struct ggml_cgraph * graph);
    /* The backend is about to go: drop what is kept for it. */
    void (*backend_freed)(ggml_backend_t backend);
};

/* Filled before main, read-only afterwards. */
extern struct device_hooks device_hooks;

#endif /* GRAFT_DEVICE_HOOKS_H */
