/* SPDX-License-Identifier: MIT
 *
 * Backends: the streams of a device. In a module's table synchronize, the async transfers, graph plans, events and
 * graph_optimize may be NULL: then everything is done when a call returns, and there are no plans or events.
 */
#include "base/status.h"
#include "device/device.h"
#include "device/hooks.h"
#include "ggml-impl.h"

ggml_guid_t ggml_backend_guid(ggml_backend_t backend) {
    return backend != NULL ? backend->guid : NULL;
}

const char * ggml_backend_name(ggml_backend_t backend) {
    return backend != NULL ? backend->iface.get_name(backend) : "NULL";
}

void ggml_backend_free(ggml_backend_t backend) {
    if (backend == NULL) {
        return;
    }
    if (device_hooks.backend_freed != NULL) {
        device_hooks.backend_freed(backend);
    }
    backend->iface.free(backend);
}

ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) {
    GGML_ASSERT(backend != NULL);
    return backend->device;
}

ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend) {
    GGML_ASSERT(backend != NULL);
    return ggml_backend_dev_buffer_type(backend->device);
}

ggml_backend_buffer_t ggml_backend_alloc_buffer(ggml_backend_t backend, size_t size) {
    return ggml_backend_buft_alloc_buffer(ggml_backend_get_default_buffer_type(backend), size);
}

size_t ggml_backend_get_alignment(ggml_backend_t backend) {
    return ggml_backend_buft_get_alignment(ggml_backend_get_default_buffer_type(backend));
}

size_t ggml_backend_get_max_size(ggml_backend_t backend) {
    return ggml_backend_buft_get_max_size(ggml_backend_get_default_buffer_type(backend));
}

void ggml_backend_synchronize(ggml_backend_t backend) {
    GGML_ASSERT(backend != NULL);
    if (backend->iface.synchronize != NULL) {
        backend->iface.synchronize(backend);
    }
}

/* ---- computation ---- */

ggml_backend_graph_plan_t ggml_backend_graph_plan_create(ggml_backend_t backend, struct ggml_cgraph * cgraph) {
    GGML_ASSERT(backend != NULL);
    if (backend->iface.graph_plan_create == NULL) {
        base_fail(GGML_STATUS_FAILED, "backend %s has no graph plans", ggml_backend_name(backend));
        return NULL;
    }
    return backend->iface.graph_plan_create(backend, cgraph);
}

void ggml_backend_graph_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    GGML_ASSERT(backend != NULL);
    if (plan != NULL && backend->iface.graph_plan_free != NULL) {
        backend->iface.graph_plan_free(backend, plan);
    }
}

enum ggml_status ggml_backend_graph_plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    GGML_ASSERT(backend != NULL);
    if (plan == NULL || backend->iface.graph_plan_compute == NULL) {
        return base_fail(GGML_STATUS_FAILED, "backend %s: %s", ggml_backend_name(backend),
                         plan == NULL ? "the graph plan is NULL" : "it has no graph plans");
    }
    return backend->iface.graph_plan_compute(backend, plan);
}

enum ggml_status device_native_graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    return backend->iface.graph_compute(backend, graph);
}

enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, struct ggml_cgraph * cgraph) {
    GGML_ASSERT(backend != NULL);
    return device_hooks.graph_compute != NULL ? device_hooks.graph_compute(backend, cgraph)
                                              : device_native_graph_compute(backend, cgraph);
}

enum ggml_status ggml_backend_graph_compute(ggml_backend_t backend, struct ggml_cgraph * cgraph) {
    const enum ggml_status status = ggml_backend_graph_compute_async(backend, cgraph);
    ggml_backend_synchronize(backend);
    return status;
}

/* ---- capabilities: those of the device ---- */

bool ggml_backend_supports_op(ggml_backend_t backend, const struct ggml_tensor * op) {
    GGML_ASSERT(backend != NULL);
    return ggml_backend_dev_supports_op(backend->device, op);
}

bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(backend != NULL);
    return ggml_backend_dev_supports_buft(backend->device, buft);
}

bool ggml_backend_offload_op(ggml_backend_t backend, const struct ggml_tensor * op) {
    GGML_ASSERT(backend != NULL);
    return ggml_backend_dev_offload_op(backend->device, op);
}

/* ---- events ---- */

void ggml_backend_event_record(ggml_backend_event_t event, ggml_backend_t backend) {
    GGML_ASSERT(backend != NULL);
    GGML_ASSERT(backend->iface.event_record != NULL);
    backend->iface.event_record(backend, event);
}

void ggml_backend_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    GGML_ASSERT(backend != NULL);
    GGML_ASSERT(backend->iface.event_wait != NULL);
    backend->iface.event_wait(backend, event);
}
