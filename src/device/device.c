/* SPDX-License-Identifier: MIT
 *
 * Devices and registries. In a module's tables get_host_buffer_type, buffer_from_host_ptr, offload_op, the event
 * entries and get_proc_address may be NULL: the device has no such thing.
 */
#include "device/device.h"

#include <string.h>

#include "base/status.h"
#include "device/hooks.h"
#include "ggml-ext.h"
#include "ggml-impl.h"

struct device_hooks device_hooks;

const char * ggml_backend_dev_name(ggml_backend_dev_t device) {
    GGML_ASSERT(device != NULL);
    return device->iface.get_name(device);
}

const char * ggml_backend_dev_description(ggml_backend_dev_t device) {
    GGML_ASSERT(device != NULL);
    return device->iface.get_description(device);
}

void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total) {
    GGML_ASSERT(device != NULL);
    device->iface.get_memory(device, free, total);
}

enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device) {
    GGML_ASSERT(device != NULL);
    return device->iface.get_type(device);
}

void ggml_backend_dev_get_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props) {
    GGML_ASSERT(device != NULL);
    memset(props, 0, sizeof(*props)); /* a module leaves out what it does not know */
    device->iface.get_props(device, props);
}

ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device) {
    GGML_ASSERT(device != NULL);
    return device->reg;
}

ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params) {
    GGML_ASSERT(device != NULL);
    base_clear_error();
    const ggml_backend_t backend = device->iface.init_backend(device, params);
    if (backend == NULL && base_error_text()[0] == 0) {
        base_fail(GGML_STATUS_FAILED, "device %s: its module made no backend (parameters: %s)",
                  ggml_backend_dev_name(device), params != NULL ? params : "none");
    }
    return backend;
}

ggml_backend_buffer_type_t ggml_backend_dev_buffer_type(ggml_backend_dev_t device) {
    GGML_ASSERT(device != NULL);
    return device->iface.get_buffer_type(device);
}

ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device) {
    GGML_ASSERT(device != NULL);
    return device->iface.get_host_buffer_type != NULL ? device->iface.get_host_buffer_type(device) : NULL;
}

ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void * ptr, size_t size,
                                                            size_t max_tensor_size) {
    GGML_ASSERT(device != NULL);
    if (device->iface.buffer_from_host_ptr == NULL) {
        base_fail(GGML_STATUS_FAILED, "device %s makes no buffers from host memory", ggml_backend_dev_name(device));
        return NULL;
    }
    return device->iface.buffer_from_host_ptr(device, ptr, size, max_tensor_size);
}

/* ---- capabilities ---- */

static bool touches_added_type(const struct ggml_tensor * node) {
    bool added = (int) node->type >= GGML_EXT_TYPE_FIRST;
    for (int k = 0; k < GGML_MAX_SRC && !added; k++) {
        added = node->src[k] != NULL && (int) node->src[k]->type >= GGML_EXT_TYPE_FIRST;
    }
    return added;
}

bool device_native_supports(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    return !touches_added_type(node) && device->iface.supports_op(device, node);
}

bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * op) {
    GGML_ASSERT(device != NULL);
    return device_hooks.supports != NULL ? device_hooks.supports(device, op) : device_native_supports(device, op);
}

bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(device != NULL);
    return device->iface.supports_buft(device, buft);
}

/* A custom operator is a callback on the host or an operator that the module does not know: nothing that it could wish
 * for. */
bool ggml_backend_dev_offload_op(ggml_backend_dev_t device, const struct ggml_tensor * op) {
    GGML_ASSERT(device != NULL);
    return device->iface.offload_op != NULL && op->op != GGML_OP_CUSTOM && !touches_added_type(op) &&
           device->iface.offload_op(device, op);
}

/* ---- events ---- */

ggml_backend_event_t ggml_backend_event_new(ggml_backend_dev_t device) {
    return device != NULL && device->iface.event_new != NULL ? device->iface.event_new(device) : NULL;
}

void ggml_backend_event_free(ggml_backend_event_t event) {
    if (event != NULL) {
        event->device->iface.event_free(event->device, event);
    }
}

void ggml_backend_event_synchronize(ggml_backend_event_t event) {
    GGML_ASSERT(event != NULL);
    GGML_ASSERT(event->device->iface.event_synchronize != NULL);
    event->device->iface.event_synchronize(event->device, event);
}

/* ---- registries ---- */

const char * ggml_backend_reg_name(ggml_backend_reg_t reg) {
    GGML_ASSERT(reg != NULL);
    return reg->iface.get_name(reg);
}

size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg) {
    GGML_ASSERT(reg != NULL);
    return reg->iface.get_device_count(reg);
}

ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index) {
    GGML_ASSERT(reg != NULL);
    return reg->iface.get_device(reg, index);
}

void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name) {
    GGML_ASSERT(reg != NULL);
    return reg->iface.get_proc_address != NULL ? reg->iface.get_proc_address(reg, name) : NULL;
}
