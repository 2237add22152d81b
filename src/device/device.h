/* SPDX-License-Identifier: MIT
 *
 * Calls into a device's own module, and what the files of this folder share. Entries of a module's tables that the
 * module may leave NULL are given their default here and in the public functions, nowhere else.
 */
#ifndef GRAFT_DEVICE_DEVICE_H
#define GRAFT_DEVICE_DEVICE_H

#include "ggml-backend-impl.h"

/* The module's own answer, without added kernels. False without asking for a node that touches a number format added at
 * run time: modules index tables by type. */
bool device_native_supports(ggml_backend_dev_t device, const struct ggml_tensor * node);

/* The module's own graph code. */
enum ggml_status device_native_graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph);

/* The buffer that holds the tensor's data: of a view, the buffer of the tensor that it views. NULL when there is none.
 */
static inline ggml_backend_buffer_t device_tensor_buffer(const struct ggml_tensor * tensor) {
    return tensor->view_src != NULL ? tensor->view_src->buffer : tensor->buffer;
}

#endif /* GRAFT_DEVICE_DEVICE_H */
