/* SPDX-License-Identifier: MIT
 *
 * Bytes between tensors and the host. A range outside the tensor is a broken contract: the process ends with a text
 * that names the tensor. Where a module has no entry for several rows at once, for async or for filling, the plain one
 * does it.
 */
#include <string.h>

#include "base/check.h"
#include "device/device.h"
#include "ggml-impl.h"
#include "op/op.h"

/* n pieces of `size` bytes, `stride` bytes apart in the tensor, from `offset` on. */
struct piece_range {
    size_t offset;
    size_t size;
    size_t n;
    size_t stride;
};

static void broken(const char * function, const struct ggml_tensor * tensor, const char * what) {
    GGML_ABORT("%s: tensor '%s' (%s): %s", function, tensor->name, op_describe(tensor), what);
}

/* False when there is nothing to move; does not return when the range is not inside the tensor. */
static bool check_range(const char * function, const struct ggml_tensor * tensor, const struct piece_range * range) {
    size_t end;
    if (range->size == 0 || range->n == 0) {
        return false;
    }
    if (tensor->data == NULL) {
        broken(function, tensor, "it has no memory yet");
    }
    const size_t bytes = ggml_nbytes(tensor);
    if (!base_size_mul(range->n - 1, range->stride, &end) || !base_size_add(end, range->offset, &end) ||
        !base_size_add(end, range->size, &end) || end > bytes) {
        GGML_ABORT(
            "%s: tensor '%s' (%s) has %zu bytes; asked for %zu x %zu bytes, %zu apart, from offset %zu on: out of bounds",
            function, tensor->name, op_describe(tensor), bytes, range->n, range->size, range->stride, range->offset);
    }
    return true;
}

static ggml_backend_buffer_t buffer_of(const char * function, const struct ggml_tensor * tensor) {
    const ggml_backend_buffer_t buffer = device_tensor_buffer(tensor);
    if (buffer == NULL) {
        broken(function, tensor, "it has no buffer");
    }
    return buffer;
}

/* ---- done on return ---- */

void ggml_backend_tensor_set_2d(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    GGML_ASSERT(tensor != NULL);
    const struct piece_range    range  = {offset, size, n_copies, stride_tensor};
    const ggml_backend_buffer_t buffer = buffer_of(__func__, tensor);
    if (!check_range(__func__, tensor, &range)) {
        return;
    }
    if (n_copies > 1 && buffer->iface.set_tensor_2d != NULL) {
        buffer->iface.set_tensor_2d(buffer, tensor, data, offset, size, n_copies, stride_tensor, stride_data);
        return;
    }
    for (size_t i = 0; i < n_copies; i++) {
        buffer->iface.set_tensor(buffer, tensor, (const char *) data + i * stride_data, offset + i * stride_tensor,
                                 size);
    }
}

void ggml_backend_tensor_get_2d(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    GGML_ASSERT(tensor != NULL);
    const struct piece_range    range  = {offset, size, n_copies, stride_tensor};
    const ggml_backend_buffer_t buffer = buffer_of(__func__, tensor);
    if (!check_range(__func__, tensor, &range)) {
        return;
    }
    if (n_copies > 1 && buffer->iface.get_tensor_2d != NULL) {
        buffer->iface.get_tensor_2d(buffer, tensor, data, offset, size, n_copies, stride_tensor, stride_data);
        return;
    }
    for (size_t i = 0; i < n_copies; i++) {
        buffer->iface.get_tensor(buffer, tensor, (char *) data + i * stride_data, offset + i * stride_tensor, size);
    }
}

void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    GGML_ASSERT(tensor != NULL);
    const struct piece_range    range  = {offset, size, 1, 0};
    const ggml_backend_buffer_t buffer = buffer_of(__func__, tensor);
    if (check_range(__func__, tensor, &range)) {
        buffer->iface.set_tensor(buffer, tensor, data, offset, size);
    }
}

void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size) {
    GGML_ASSERT(tensor != NULL);
    const struct piece_range    range  = {offset, size, 1, 0};
    const ggml_backend_buffer_t buffer = buffer_of(__func__, tensor);
    if (check_range(__func__, tensor, &range)) {
        buffer->iface.get_tensor(buffer, tensor, data, offset, size);
    }
}

void ggml_backend_tensor_memset(struct ggml_tensor * tensor, uint8_t value, size_t offset, size_t size) {
    GGML_ASSERT(tensor != NULL);
    const struct piece_range range = {offset, size, 1, 0};
    if (!check_range(__func__, tensor, &range)) {
        return;
    }
    const ggml_backend_buffer_t buffer = buffer_of(__func__, tensor);
    if (buffer->iface.memset_tensor != NULL) {
        buffer->iface.memset_tensor(buffer, tensor, value, offset, size);
        return;
    }
    char block[4096];
    memset(block, value, sizeof(block));
    for (size_t done = 0; done < size;) {
        const size_t n = MIN(size - done, sizeof(block));
        buffer->iface.set_tensor(buffer, tensor, block, offset + done, n);
        done += n;
    }
}

/* ---- in the order of a backend's work ---- */

void ggml_backend_tensor_set_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                   size_t offset, size_t size) {
    ggml_backend_tensor_set_2d_async(backend, tensor, data, offset, size, 1, 0, 0);
}

void ggml_backend_tensor_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                   size_t offset, size_t size) {
    ggml_backend_tensor_get_2d_async(backend, tensor, data, offset, size, 1, 0, 0);
}

void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                      size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                      size_t stride_data) {
    GGML_ASSERT(backend != NULL);
    GGML_ASSERT(tensor != NULL);
    const struct piece_range range = {offset, size, n_copies, stride_tensor};
    if (!check_range(__func__, tensor, &range)) {
        return;
    }
    if (n_copies > 1 && backend->iface.set_tensor_2d_async != NULL) {
        backend->iface.set_tensor_2d_async(backend, tensor, data, offset, size, n_copies, stride_tensor, stride_data);
    } else if (backend->iface.set_tensor_async != NULL) {
        for (size_t i = 0; i < n_copies; i++) {
            backend->iface.set_tensor_async(backend, tensor, (const char *) data + i * stride_data,
                                            offset + i * stride_tensor, size);
        }
    } else {
        ggml_backend_synchronize(backend);
        ggml_backend_tensor_set_2d(tensor, data, offset, size, n_copies, stride_tensor, stride_data);
    }
}

void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                      size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                      size_t stride_data) {
    GGML_ASSERT(backend != NULL);
    GGML_ASSERT(tensor != NULL);
    const struct piece_range range = {offset, size, n_copies, stride_tensor};
    if (!check_range(__func__, tensor, &range)) {
        return;
    }
    if (n_copies > 1 && backend->iface.get_tensor_2d_async != NULL) {
        backend->iface.get_tensor_2d_async(backend, tensor, data, offset, size, n_copies, stride_tensor, stride_data);
    } else if (backend->iface.get_tensor_async != NULL) {
        for (size_t i = 0; i < n_copies; i++) {
            backend->iface.get_tensor_async(backend, tensor, (char *) data + i * stride_data,
                                            offset + i * stride_tensor, size);
        }
    } else {
        ggml_backend_synchronize(backend);
        ggml_backend_tensor_get_2d(tensor, data, offset, size, n_copies, stride_tensor, stride_data);
    }
}
