/* SPDX-License-Identifier: MIT
 *
 * Buffer types: the kinds of memory that a device offers. In a module's table get_max_size, get_alloc_size and is_host
 * may be NULL: no limit, the bytes of the tensor, not the host's.
 */
#include "base/status.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != NULL);
    return buft->iface.get_name(buft);
}

ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    GGML_ASSERT(buft != NULL);
    if (size == 0) { /* valid and empty: clients probe buffer types this way, and modules need not know the case */
        return ggml_backend_buffer_init(buft, (struct ggml_backend_buffer_i){0}, NULL, 0);
    }
    base_clear_error();
    const ggml_backend_buffer_t buffer = buft->iface.alloc_buffer(buft, size);
    if (buffer == NULL && base_error_text()[0] == 0) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "%s: no memory for a buffer of %zu bytes", ggml_backend_buft_name(buft),
                  size);
    }
    return buffer;
}

size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != NULL);
    return buft->iface.get_alignment(buft);
}

size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != NULL);
    return buft->iface.get_max_size != NULL ? buft->iface.get_max_size(buft) : SIZE_MAX;
}

size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft, const struct ggml_tensor * tensor) {
    GGML_ASSERT(buft != NULL);
    return buft->iface.get_alloc_size != NULL ? buft->iface.get_alloc_size(buft, tensor) : ggml_nbytes(tensor);
}

bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != NULL);
    return buft->iface.is_host != NULL && buft->iface.is_host(buft);
}

ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != NULL);
    return buft->device;
}

/* Operators of which some device wants more memory behind a tensor than its bytes, for scratch values: remote devices
 * ask the server for the size of these alone. */
bool ggml_op_alloc_size_may_expand(enum ggml_op op) {
    static const enum ggml_op expanding[] = {
        GGML_OP_FLASH_ATTN_EXT, GGML_OP_MUL_MAT, GGML_OP_MUL_MAT_ID, GGML_OP_CUMSUM, GGML_OP_ARGSORT, GGML_OP_TOP_K,
    };
    for (size_t i = 0; i < sizeof(expanding) / sizeof(expanding[0]); i++) {
        if (expanding[i] == op) {
            return true;
        }
    }
    return false;
}
