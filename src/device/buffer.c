/* SPDX-License-Identifier: MIT
 *
 * Buffers. In a module's table init_tensor, reset, cpy_tensor, memset_tensor and the 2d entries may be NULL;
 * free_buffer too when the memory is not the buffer's own; all of it when the buffer is empty.
 */
#include <stdlib.h>

#include "base/status.h"
#include "device/device.h"
#include "ggml-impl.h"
#include "op/op.h"

ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t buft, struct ggml_backend_buffer_i iface,
                                               void * context, size_t size) {
    ggml_backend_buffer_t buffer = malloc(sizeof(*buffer));
    if (buffer == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for the descriptor of a buffer");
        return NULL;
    }
    buffer->iface   = iface;
    buffer->buft    = buft;
    buffer->context = context;
    buffer->size    = size;
    buffer->usage   = GGML_BACKEND_BUFFER_USAGE_ANY;
    return buffer;
}

void ggml_backend_buffer_free(ggml_backend_buffer_t buffer) {
    if (buffer == NULL) {
        return;
    }
    if (buffer->iface.free_buffer != NULL) {
        buffer->iface.free_buffer(buffer);
    }
    free(buffer);
}

const char * ggml_backend_buffer_name(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_name(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_size(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != NULL);
    return buffer->size;
}

void * ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != NULL);
    const bool empty = buffer->size == 0 && !ggml_backend_buffer_is_meta(buffer);
    if (empty || buffer->iface.get_base == NULL) {
        return NULL;
    }
    return buffer->iface.get_base(buffer);
}

enum ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor) {
    GGML_ASSERT(buffer != NULL);
    return buffer->iface.init_tensor != NULL ? buffer->iface.init_tensor(buffer, tensor) : GGML_STATUS_SUCCESS;
}

void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    GGML_ASSERT(buffer != NULL);
    if (buffer->size > 0) {
        buffer->iface.clear(buffer, value);
    }
}

size_t ggml_backend_buffer_get_alignment(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_alignment(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_max_size(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_max_size(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor) {
    return ggml_backend_buft_get_alloc_size(ggml_backend_buffer_get_type(buffer), tensor);
}

bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_is_host(ggml_backend_buffer_get_type(buffer));
}

void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    GGML_ASSERT(buffer != NULL);
    buffer->usage = usage;
    if (ggml_backend_buffer_is_multi_buffer(buffer)) {
        ggml_backend_multi_buffer_set_usage(buffer, usage);
    } else if (ggml_backend_buffer_is_meta(buffer)) {
        ggml_backend_meta_buffer_set_usage(buffer, usage);
    }
}

enum ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != NULL);
    return buffer->usage;
}

ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != NULL);
    return buffer->buft;
}

void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != NULL);
    if (buffer->iface.reset != NULL) {
        buffer->iface.reset(buffer);
    }
}

/* ---- placing tensors ---- */

/* Many programs do not look at the status of placement: they find out why in the log. */
static enum ggml_status placement_failed(void) {
    GGML_LOG_ERROR("%s\n", base_error_text());
    return GGML_STATUS_FAILED;
}

enum ggml_status ggml_backend_view_init(struct ggml_tensor * tensor) {
    GGML_ASSERT(tensor != NULL);
    const struct ggml_tensor * viewed = tensor->view_src;
    if (viewed == NULL || tensor->buffer != NULL) {
        base_fail(GGML_STATUS_FAILED, "view_init: tensor '%s' (%s) %s", tensor->name, op_describe(tensor),
                  viewed == NULL ? "is not a view" : "has a buffer already");
        return placement_failed();
    }
    if (viewed->buffer == NULL || viewed->data == NULL) {
        base_fail(GGML_STATUS_FAILED, "view_init: tensor '%s' (%s) views '%s' (%s), which has no memory yet",
                  tensor->name, op_describe(tensor), viewed->name, op_describe(viewed));
        return placement_failed();
    }
    tensor->buffer = viewed->buffer;
    tensor->data   = (char *) viewed->data + tensor->view_offs;
    return ggml_backend_buffer_init_tensor(tensor->buffer, tensor);
}

/* Does [addr, addr + bytes) lie in the buffer? */
static bool range_in_buffer(ggml_backend_buffer_t buffer, const void * addr, size_t bytes) {
    const uintptr_t base = (uintptr_t) ggml_backend_buffer_get_base(buffer);
    const size_t    size = ggml_backend_buffer_get_size(buffer);
    const uintptr_t at   = (uintptr_t) addr;
    return at >= base && at - base <= size && bytes <= size - (at - base);
}

enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, void * addr) {
    GGML_ASSERT(buffer != NULL);
    GGML_ASSERT(tensor != NULL);
    if (tensor->buffer != NULL || tensor->data != NULL || tensor->view_src != NULL) {
        base_fail(GGML_STATUS_FAILED, "tensor_alloc: tensor '%s' (%s) %s", tensor->name, op_describe(tensor),
                  tensor->view_src != NULL ? "is a view, which lies where its source does" : "has memory already");
        return placement_failed();
    }
    const size_t bytes = ggml_backend_buffer_get_alloc_size(buffer, tensor);
    if (!ggml_backend_buffer_is_meta(buffer) && !range_in_buffer(buffer, addr, bytes)) {
        base_fail(GGML_STATUS_FAILED,
                  "tensor_alloc: tensor '%s' (%s) needs %zu bytes at %p: not inside the %s buffer of %zu bytes at %p",
                  tensor->name, op_describe(tensor), bytes, addr, ggml_backend_buffer_name(buffer), buffer->size,
                  ggml_backend_buffer_get_base(buffer));
        return placement_failed();
    }
    tensor->buffer = buffer;
    tensor->data   = addr;
    return ggml_backend_buffer_init_tensor(buffer, tensor);
}
