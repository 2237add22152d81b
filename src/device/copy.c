/* SPDX-License-Identifier: MIT
 *
 * Tensor to tensor, of the same layout, between any two buffers. A tensor that owns its place is copied as one extent,
 * gaps between its strides included; into a view with gaps only the values go, because the gaps are other tensors'
 * values.
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "device/device.h"
#include "ggml-impl.h"
#include "op/op.h"

#define SMALL_BOUNCE 4096

static bool is_host(ggml_backend_buffer_t buffer) {
    return buffer == NULL || ggml_backend_buffer_is_host(buffer); /* data without a buffer lies in a context */
}

bool ggml_backend_buffer_copy_tensor(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    const ggml_backend_buffer_t buffer = device_tensor_buffer(dst);
    return buffer != NULL && buffer->iface.cpy_tensor != NULL && buffer->iface.cpy_tensor(buffer, src, dst);
}

/* Through host memory: in one piece, for buffers that take nothing else; in small ones when there is no memory for it.
 */
static void copy_bounced(const struct ggml_tensor * src, struct ggml_tensor * dst, size_t offset, size_t size) {
    char         small[SMALL_BOUNCE];
    char *       whole = size > sizeof(small) ? malloc(size) : NULL;
    char *       bytes = whole != NULL ? whole : small;
    const size_t piece = whole != NULL ? size : sizeof(small);
    for (size_t done = 0; done < size;) {
        const size_t n = MIN(size - done, piece);
        ggml_backend_tensor_get(src, bytes, offset + done, n);
        ggml_backend_tensor_set(dst, bytes, offset + done, n);
        done += n;
    }
    free(whole);
}

static void copy_range(const struct ggml_tensor * src, struct ggml_tensor * dst, size_t offset, size_t size) {
    const ggml_backend_buffer_t from = device_tensor_buffer(src);
    const ggml_backend_buffer_t to   = device_tensor_buffer(dst);
    if (is_host(from) && to != NULL) {
        ggml_backend_tensor_set(dst, (const char *) src->data + offset, offset, size);
    } else if (is_host(to) && from != NULL) {
        ggml_backend_tensor_get(src, (char *) dst->data + offset, offset, size);
    } else if (from == NULL && to == NULL) {
        memmove((char *) dst->data + offset, (const char *) src->data + offset, size);
    } else {
        copy_bounced(src, dst, offset, size);
    }
}

/* One run of adjacent values at a time: rows where the values of a row are adjacent, else single values or blocks. */
static void copy_values(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    const size_t  value   = ggml_type_size(dst->type);
    const bool    rows    = dst->nb[0] == value;
    const int64_t n_runs  = rows ? 1 : dst->ne[0] / ggml_blck_size(dst->type);
    const size_t  run     = rows ? ggml_row_size(dst->type, dst->ne[0]) : value;
    const int64_t n_outer = dst->ne[1] * dst->ne[2] * dst->ne[3];
    for (int64_t i = 0; i < n_outer; i++) {
        const int64_t i1    = i % dst->ne[1];
        const int64_t i2    = i / dst->ne[1] % dst->ne[2];
        const int64_t i3    = i / dst->ne[1] / dst->ne[2];
        const size_t  begin = (size_t) i1 * dst->nb[1] + (size_t) i2 * dst->nb[2] + (size_t) i3 * dst->nb[3];
        for (int64_t i0 = 0; i0 < n_runs; i0++) {
            copy_range(src, dst, begin + (size_t) i0 * dst->nb[0], run);
        }
    }
}

static void check_layouts(const char * function, const struct ggml_tensor * src, const struct ggml_tensor * dst) {
    GGML_ASSERT(src != NULL && dst != NULL);
    if (!ggml_are_same_layout(src, dst)) {
        GGML_ABORT("%s: tensors '%s' (%s) and '%s' (%s) differ in type, shape or strides", function, src->name,
                   op_describe(src), dst->name, op_describe(dst));
    }
}

void ggml_backend_tensor_copy(const struct ggml_tensor * src, struct ggml_tensor * dst) {
    check_layouts(__func__, src, dst);
    if (src == dst || ggml_is_empty(src)) {
        return;
    }
    if (dst->view_src != NULL && !ggml_is_contiguously_allocated(dst)) {
        copy_values(src, dst);
        return;
    }
    const bool by_host = is_host(device_tensor_buffer(src)) || is_host(device_tensor_buffer(dst));
    if (by_host || !ggml_backend_buffer_copy_tensor(src, dst)) {
        copy_range(src, dst, 0, ggml_nbytes(src));
    }
}

void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                    const struct ggml_tensor * src, struct ggml_tensor * dst) {
    check_layouts(__func__, src, dst);
    GGML_ASSERT(backend_dst != NULL);
    if (src == dst || ggml_is_empty(src)) {
        return;
    }
    if (backend_dst->iface.cpy_tensor_async != NULL &&
        backend_dst->iface.cpy_tensor_async(backend_src, backend_dst, src, dst)) {
        return;
    }
    /* A copy in the order of both streams: with both idle, a blocking one is that. */
    if (backend_src != NULL) {
        ggml_backend_synchronize(backend_src);
    }
    ggml_backend_synchronize(backend_dst);
    ggml_backend_tensor_copy(src, dst);
}
