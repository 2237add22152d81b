/* SPDX-License-Identifier: MIT
 *
 * Host memory as a buffer type, here and not in the CPU module because every device copies to and from it: "CPU", which
 * owns its memory, and "CPU_Mapped", memory from outside such as a mapped file.
 */
#include <string.h>

#include "base/os.h"
#include "base/pages.h"
#include "base/status.h"
#include "device/device.h"
#include "ggml-impl.h"

/* The context of a host buffer is its memory. */
static void * host_get_base(ggml_backend_buffer_t buffer) {
    return buffer->context;
}

static void host_free(ggml_backend_buffer_t buffer) {
    base_aligned_free(buffer->context);
}

static void host_memset_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, uint8_t value, size_t offset,
                               size_t size) {
    (void) buffer;
    memset((char *) tensor->data + offset, value, size);
}

static void host_set_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, const void * data, size_t offset,
                            size_t size) {
    (void) buffer;
    memmove((char *) tensor->data + offset, data, size); /* data may be another place of this buffer */
}

static void host_get_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor, void * data, size_t offset,
                            size_t size) {
    (void) buffer;
    memmove(data, (const char *) tensor->data + offset, size);
}

static bool host_copy_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor * src, struct ggml_tensor * dst) {
    (void) buffer;
    const ggml_backend_buffer_t from = device_tensor_buffer(src);
    if (from == NULL || !ggml_backend_buffer_is_host(from)) {
        return false;
    }
    memmove(dst->data, src->data, ggml_nbytes(src));
    return true;
}

static void host_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(buffer->context, value, buffer->size);
}

static struct ggml_backend_buffer_i host_iface(bool own) {
    return (struct ggml_backend_buffer_i){
        .free_buffer   = own ? host_free : NULL,
        .get_base      = host_get_base,
        .memset_tensor = host_memset_tensor,
        .set_tensor    = host_set_tensor,
        .get_tensor    = host_get_tensor,
        .cpy_tensor    = host_copy_tensor,
        .clear         = host_clear,
    };
}

static ggml_backend_buffer_t host_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    void * memory = base_pages_alloc(size);
    if (memory == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "%s: no memory for a buffer of %zu bytes", ggml_backend_buft_name(buft),
                  size);
        GGML_LOG_ERROR("%s\n", base_error_text());
        return NULL;
    }
    const ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, host_iface(true), memory, size);
    if (buffer == NULL) {
        base_aligned_free(memory);
    }
    return buffer;
}

static size_t host_get_alignment(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return TENSOR_ALIGNMENT;
}

static bool host_is_host(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return true;
}

static const char * cpu_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "CPU";
}

static const char * mapped_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "CPU_Mapped";
}

#define HOST_BUFFER_TYPE(name)                   \
    {                                            \
        .iface = {                               \
            .get_name      = (name),             \
            .alloc_buffer  = host_alloc_buffer,  \
            .get_alignment = host_get_alignment, \
            .is_host       = host_is_host,       \
        },                                       \
    }

/* No device: this layer knows of none, and clients take NULL for the CPU. */
static struct ggml_backend_buffer_type cpu_type    = HOST_BUFFER_TYPE(cpu_name);
static struct ggml_backend_buffer_type mapped_type = HOST_BUFFER_TYPE(mapped_name);

ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void) {
    return &cpu_type;
}

ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void * ptr, size_t size) {
    if ((uintptr_t) ptr % TENSOR_ALIGNMENT != 0 || (ptr == NULL && size > 0)) {
        base_fail(GGML_STATUS_FAILED, "CPU_Mapped: %zu bytes at %p: the address must be a multiple of %d", size, ptr,
                  TENSOR_ALIGNMENT);
        GGML_LOG_ERROR("%s\n", base_error_text());
        return NULL;
    }
    return ggml_backend_buffer_init(&mapped_type, host_iface(false), ptr, size);
}
