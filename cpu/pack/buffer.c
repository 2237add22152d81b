/* SPDX-License-Identifier: MIT
 *
 * The buffer type of packed weights. set_tensor packs, get_tensor unpacks: who writes and reads through the buffer sees
 * the bytes of the format. Memory is a host buffer's.
 */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "graft-module.h"
#include "kernel/kernel.h"
#include "pack/layout.h"
#include "pack/pack.h"

bool cpu_pack_holds(const struct ggml_tensor * t) {
    const ggml_backend_buffer_t buffer = t->view_src != NULL ? t->view_src->buffer : t->buffer;
    return buffer != NULL && buffer->buft == cpu_pack_buffer_type();
}

bool cpu_pack_packs(const struct ggml_tensor * t) {
    cpu_kernels_init();
    return pack_format(t->type) && cpu_kernels.gemm.gemv_packed[t->type] != NULL && t->view_src == NULL &&
           ggml_is_contiguous(t) && t->ne[1] % PACK_ROWS == 0;
}

/* ---- buffers: the context is the host buffer behind ---- */

static void buffer_free(ggml_backend_buffer_t buffer) {
    ggml_backend_buffer_free(buffer->context);
}

static void * buffer_base(ggml_backend_buffer_t buffer) {
    return ggml_backend_buffer_get_base(buffer->context);
}

static void buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    ggml_backend_buffer_clear(buffer->context, value); /* equal bytes are packed as they are */
}

enum access { ACCESS_SET, ACCESS_GET, ACCESS_FILL };

static void move_bytes(enum access access, char * at, char * data, uint8_t value, size_t size) {
    if (access == ACCESS_SET) {
        memcpy(at, data, size);
    } else if (access == ACCESS_GET) {
        memcpy(data, at, size);
    } else {
        memset(at, value, size);
    }
}

/* Bytes [offset, offset + size) of the tensor as its format has them, group by group: whole ones directly, others by
 * way of their unpacked rows. */
static void access_tensor(const struct ggml_tensor * t, enum access access, char * data, uint8_t value, size_t offset,
                          size_t size) {
    char * const base = t->data;
    if (!cpu_pack_packs(t)) {
        move_bytes(access, base + offset, data, value, size);
        return;
    }
    const size_t row = t->nb[1], group = row * PACK_ROWS;
    char *       rows = malloc(group);
    if (rows == NULL) {
        GGML_ABORT("%s: no memory to unpack %zu bytes", t->name, group); /* the interface knows no failure */
    }
    for (size_t at = offset; at < offset + size;) {
        char *       packed = base + at / group * group;
        const size_t first  = at % group;
        const size_t n      = group - first < offset + size - at ? group - first : offset + size - at;
        if (access == ACCESS_SET && n == group) {
            pack_group(t->type, data, packed, row);
        } else {
            pack_ungroup(t->type, packed, rows, row);
            move_bytes(access, rows + first, data, value, n);
            if (access != ACCESS_GET) {
                pack_group(t->type, rows, packed, row);
            }
        }
        at += n;
        data = data != NULL ? data + n : NULL;
    }
    free(rows);
}

static void buffer_set(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                       size_t size) {
    (void) buffer;
    access_tensor(t, ACCESS_SET, (char *) (uintptr_t) data, 0, offset, size);
}

static void buffer_get(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                       size_t size) {
    (void) buffer;
    access_tensor(t, ACCESS_GET, data, 0, offset, size);
}

static void buffer_fill(ggml_backend_buffer_t buffer, struct ggml_tensor * t, uint8_t value, size_t offset,
                        size_t size) {
    (void) buffer;
    access_tensor(t, ACCESS_FILL, NULL, value, offset, size);
}

/* ---- the type ---- */

static const char * type_name(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return "CPU_REPACK";
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t buft, size_t size) {
    const ggml_backend_buffer_t host = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
    if (host == NULL) {
        return NULL;
    }
    const struct ggml_backend_buffer_i iface = {
        .free_buffer   = buffer_free,
        .get_base      = buffer_base,
        .memset_tensor = buffer_fill,
        .set_tensor    = buffer_set,
        .get_tensor    = buffer_get,
        .clear         = buffer_clear,
    };
    const ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, iface, host, size);
    if (buffer == NULL) {
        ggml_backend_buffer_free(host);
    }
    return buffer;
}

static size_t type_alignment(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return 64;
}

ggml_backend_buffer_type_t cpu_pack_buffer_type(void) {
    static struct ggml_backend_buffer_type type = {
        .iface = { .get_name = type_name, .alloc_buffer = type_alloc, .get_alignment = type_alignment },
    };
    __atomic_store_n(&type.device, cpu_device(), __ATOMIC_RELAXED);
    return &type;
}
