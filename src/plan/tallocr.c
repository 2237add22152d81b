/* SPDX-License-Identifier: MIT
 *
 * The linear allocator: tensors one after another in a buffer that exists, never given back.
 */
#include "base/check.h"
#include "base/status.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-impl.h"

struct ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer) {
    void * const    base      = ggml_backend_buffer_get_base(buffer);
    const size_t    alignment = ggml_backend_buffer_get_alignment(buffer);
    const uintptr_t past      = (uintptr_t) base % alignment;
    return (struct ggml_tallocr){
        .buffer    = buffer,
        .base      = base,
        .alignment = alignment,
        .offset    = past > 0 ? alignment - past : 0,
    };
}

enum ggml_status ggml_tallocr_alloc(struct ggml_tallocr * talloc, struct ggml_tensor * tensor) {
    const size_t capacity = ggml_backend_buffer_get_size(talloc->buffer);
    const size_t left     = capacity > talloc->offset ? capacity - talloc->offset : 0;
    size_t       size     = ggml_backend_buffer_get_alloc_size(talloc->buffer, tensor);
    if (!base_size_pad(size, talloc->alignment, &size) || size > left) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "tallocr_alloc: tensor '%s' needs %zu bytes, and %zu of %zu are left in %s",
                  tensor->name, size, left, capacity, ggml_backend_buffer_name(talloc->buffer));
        GGML_LOG_ERROR("%s\n", base_error_text());
        return GGML_STATUS_ALLOC_FAILED;
    }
    char * const address = (char *) talloc->base + talloc->offset;
    talloc->offset += size;
    return ggml_backend_tensor_alloc(talloc->buffer, tensor, address);
}
