/* SPDX-License-Identifier: MIT
 *
 * Several buffers freed, cleared and labelled as one: what an allocation larger than the buffer type's limit returns.
 * Tensors lie in the parts and know nothing of the whole.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

struct multi_buffer {
    size_t                n;
    ggml_backend_buffer_t parts[];
};

static void multi_free(ggml_backend_buffer_t buffer) {
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n; i++) {
        ggml_backend_buffer_free(multi->parts[i]);
    }
    free(multi);
}

static void multi_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n; i++) {
        ggml_backend_buffer_clear(multi->parts[i], value);
    }
}

static void multi_reset(ggml_backend_buffer_t buffer) {
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n; i++) {
        ggml_backend_buffer_reset(multi->parts[i]);
    }
}

/* Takes the buffers over; on failure (NULL) they stay the caller's. */
ggml_backend_buffer_t ggml_backend_multi_buffer_alloc_buffer(ggml_backend_buffer_t * buffers, size_t n_buffers) {
    size_t                bytes;
    size_t                total = 0;
    struct multi_buffer * multi = NULL;
    if (n_buffers == 0) {
        base_fail(GGML_STATUS_FAILED, "multi buffer: no buffers given");
        return NULL;
    }
    for (size_t i = 0; i < n_buffers; i++) {
        if (!base_size_add(total, ggml_backend_buffer_get_size(buffers[i]), &total)) {
            base_fail(GGML_STATUS_FAILED, "multi buffer: the sizes of %zu buffers do not fit a number", n_buffers);
            return NULL;
        }
    }
    if (!base_size_mul(n_buffers, sizeof(buffers[0]), &bytes) || !base_size_add(bytes, sizeof(*multi), &bytes) ||
        (multi = malloc(bytes)) == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "multi buffer: no memory for a list of %zu buffers", n_buffers);
        return NULL;
    }
    multi->n = n_buffers;
    memcpy(multi->parts, buffers, n_buffers * sizeof(buffers[0]));

    const struct ggml_backend_buffer_i iface  = {.free_buffer = multi_free, .clear = multi_clear, .reset = multi_reset};
    const ggml_backend_buffer_t        buffer = ggml_backend_buffer_init(buffers[0]->buft, iface, multi, total);
    if (buffer == NULL) {
        free(multi);
    }
    return buffer;
}

bool ggml_backend_buffer_is_multi_buffer(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != NULL);
    return buffer->iface.free_buffer == multi_free;
}

void ggml_backend_multi_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    GGML_ASSERT(ggml_backend_buffer_is_multi_buffer(buffer));
    struct multi_buffer * multi = buffer->context;
    for (size_t i = 0; i < multi->n; i++) {
        ggml_backend_buffer_set_usage(multi->parts[i], usage);
    }
}
