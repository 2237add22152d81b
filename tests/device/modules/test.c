/* SPDX-License-Identifier: MIT
 *
 * A backend module written against the module headers alone. Its memory is not the host's: bytes are stored with their
 * bits flipped, so that whoever reads it directly gets wrong values. It computes ADD of F32.
 *
 * Device 0 leaves every optional entry of its tables out, device 1 has them all. Macros make the other test modules of
 * the same source: TEST_NAME, TEST_LABEL, TEST_API_VERSION, TEST_SCORE, TEST_MISSING, TEST_NO_INIT, TEST_NULL_INIT,
 * TEST_MARK.
 */
#include <stdlib.h>
#include <string.h>

#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "test.h"

#ifndef TEST_NAME
#define TEST_NAME "TEST"
#endif
#ifndef TEST_LABEL
#define TEST_LABEL "plain"
#endif
#ifndef TEST_API_VERSION
#define TEST_API_VERSION GGML_BACKEND_API_VERSION
#endif

#define FLIP 0x5A

static struct test_counters counters;

static struct test_counters * get_counters(void) {
    return &counters;
}

static const char * get_label(void) {
    return TEST_LABEL;
}

#ifdef TEST_MARK
/* Tells the process that this file was opened. */
__attribute__((constructor)) static void mark(void) {
    setenv(TEST_MARK, "1", 1);
}
#endif

static void flip(char * to, const char * from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = (char) (from[i] ^ FLIP);
    }
}

/* ---- buffers ---- */

static void buffer_free(ggml_backend_buffer_t buffer) {
    counters.freed++;
    free(buffer->context);
}

static void * buffer_get_base(ggml_backend_buffer_t buffer) {
    return buffer->context;
}

static enum ggml_status buffer_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor) {
    (void) buffer;
    (void) tensor;
    return counters.fail_init_tensor ? GGML_STATUS_FAILED : GGML_STATUS_SUCCESS;
}

static void buffer_memset(ggml_backend_buffer_t buffer, struct ggml_tensor * t, uint8_t value, size_t offset,
                          size_t size) {
    (void) buffer;
    counters.memset++;
    memset((char *) t->data + offset, value ^ FLIP, size);
}

static void buffer_set(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                       size_t size) {
    (void) buffer;
    counters.set++;
    flip((char *) t->data + offset, data, size);
}

static void buffer_get(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                       size_t size) {
    (void) buffer;
    counters.get++;
    flip(data, (const char *) t->data + offset, size);
}

static void buffer_set_2d(ggml_backend_buffer_t buffer, struct ggml_tensor * t, const void * data, size_t offset,
                          size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    (void) buffer;
    counters.set_2d++;
    for (size_t i = 0; i < n; i++) {
        flip((char *) t->data + offset + i * stride_tensor, (const char *) data + i * stride_data, size);
    }
}

static void buffer_get_2d(ggml_backend_buffer_t buffer, const struct ggml_tensor * t, void * data, size_t offset,
                          size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    (void) buffer;
    counters.get_2d++;
    for (size_t i = 0; i < n; i++) {
        flip((char *) data + i * stride_data, (const char *) t->data + offset + i * stride_tensor, size);
    }
}

static ggml_backend_buffer_type_t buffer_type_of(const struct ggml_tensor * t) {
    return (t->view_src != NULL ? t->view_src->buffer : t->buffer)->buft;
}

static bool buffer_copy(ggml_backend_buffer_t buffer, const struct ggml_tensor * src, struct ggml_tensor * dst) {
    if (counters.refuse_copy || buffer_type_of(src)->iface.get_name != buffer->buft->iface.get_name) {
        return false;
    }
    counters.copy++;
    memcpy(dst->data, src->data, ggml_nbytes(src));
    return true;
}

static void buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(buffer->context, value ^ FLIP, buffer->size);
}

static const struct ggml_backend_buffer_i plain_buffer = {
    .free_buffer = buffer_free,
    .get_base    = buffer_get_base,
    .set_tensor  = buffer_set,
    .get_tensor  = buffer_get,
    .clear       = buffer_clear,
};

static const struct ggml_backend_buffer_i full_buffer = {
    .free_buffer   = buffer_free,
    .get_base      = buffer_get_base,
    .init_tensor   = buffer_init_tensor,
    .memset_tensor = buffer_memset,
    .set_tensor    = buffer_set,
    .get_tensor    = buffer_get,
    .set_tensor_2d = buffer_set_2d,
    .get_tensor_2d = buffer_get_2d,
    .cpy_tensor    = buffer_copy,
    .clear         = buffer_clear,
};

static const char * type_name(ggml_backend_buffer_type_t buft) {
    return buft->context != NULL ? TEST_NAME "1" : TEST_NAME "0";
}

static ggml_backend_buffer_t type_alloc(ggml_backend_buffer_type_t buft, size_t size) {
    void * memory = counters.fail_alloc ? NULL : malloc(size);
    if (memory == NULL) {
        return NULL;
    }
    ggml_backend_buffer_t buffer =
        ggml_backend_buffer_init(buft, buft->context != NULL ? full_buffer : plain_buffer, memory, size);
    if (buffer == NULL) {
        free(memory);
    }
    return buffer;
}

static size_t type_alignment(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return 16;
}

/* ---- backends ---- */

static ggml_guid guid = {0x67, 0x72, 0x61, 0x66, 0x74, 0x2d, 0x74, 0x65,
                         0x73, 0x74, 0x2d, 0x6d, 0x6f, 0x64, 0x75, 0x6c};

static const char * backend_name(ggml_backend_t backend) {
    (void) backend;
    return TEST_NAME;
}

static void backend_free(ggml_backend_t backend) {
    free(backend);
}

static void backend_set_async(ggml_backend_t backend, struct ggml_tensor * t, const void * data, size_t offset,
                              size_t size) {
    (void) backend;
    counters.set_async++;
    flip((char *) t->data + offset, data, size);
}

static void backend_get_async(ggml_backend_t backend, const struct ggml_tensor * t, void * data, size_t offset,
                              size_t size) {
    (void) backend;
    counters.get_async++;
    flip(data, (const char *) t->data + offset, size);
}

static void backend_set_2d_async(ggml_backend_t backend, struct ggml_tensor * t, const void * data, size_t offset,
                                 size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    (void) backend;
    counters.set_2d_async++;
    buffer_set_2d(NULL, t, data, offset, size, n, stride_tensor, stride_data);
}

static void backend_get_2d_async(ggml_backend_t backend, const struct ggml_tensor * t, void * data, size_t offset,
                                 size_t size, size_t n, size_t stride_tensor, size_t stride_data) {
    (void) backend;
    counters.get_2d_async++;
    buffer_get_2d(NULL, t, data, offset, size, n, stride_tensor, stride_data);
}

static bool backend_copy_async(ggml_backend_t from, ggml_backend_t to, const struct ggml_tensor * src,
                               struct ggml_tensor * dst) {
    (void) from;
    (void) to;
    const ggml_backend_buffer_t buffer = dst->view_src != NULL ? dst->view_src->buffer : dst->buffer;
    if (counters.refuse_copy || buffer_type_of(src)->iface.get_name != type_name) {
        return false;
    }
    counters.copy_async++;
    (void) buffer;
    memcpy(dst->data, src->data, ggml_nbytes(src));
    return true;
}

static void backend_synchronize(ggml_backend_t backend) {
    (void) backend;
    counters.synchronize++;
}

static float value_at(const struct ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    float        value;
    char         bytes[sizeof(value)];
    const char * at = (const char *) t->data + (size_t) i0 * t->nb[0] + (size_t) i1 * t->nb[1] +
                      (size_t) i2 * t->nb[2] + (size_t) i3 * t->nb[3];
    flip(bytes, at, sizeof(bytes));
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static void compute_add(struct ggml_tensor * node) {
    int64_t i = 0;
    for (int64_t i3 = 0; i3 < node->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < node->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < node->ne[1]; i1++) {
                for (int64_t i0 = 0; i0 < node->ne[0]; i0++, i++) {
                    const float sum = value_at(node->src[0], i0, i1, i2, i3) + value_at(node->src[1], i0, i1, i2, i3);
                    flip((char *) node->data + i * (int64_t) sizeof(sum), (const char *) &sum, sizeof(sum));
                }
            }
        }
    }
}

static enum ggml_status backend_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    (void) backend;
    for (int i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i]->op == GGML_OP_ADD) {
            compute_add(graph->nodes[i]);
        } else if (!ggml_op_is_empty(graph->nodes[i]->op)) {
            return GGML_STATUS_FAILED;
        }
    }
    return GGML_STATUS_SUCCESS;
}

static void backend_event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    (void) backend;
    event->context = (char *) event->context + 1;
}

static void backend_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    (void) backend;
    (void) event;
}

static const struct ggml_backend_i plain_backend = {
    .get_name      = backend_name,
    .free          = backend_free,
    .graph_compute = backend_compute,
};

static const struct ggml_backend_i full_backend = {
    .get_name            = backend_name,
    .free                = backend_free,
    .set_tensor_async    = backend_set_async,
    .get_tensor_async    = backend_get_async,
    .set_tensor_2d_async = backend_set_2d_async,
    .get_tensor_2d_async = backend_get_2d_async,
    .cpy_tensor_async    = backend_copy_async,
    .synchronize         = backend_synchronize,
    .graph_compute       = backend_compute,
    .event_record        = backend_event_record,
    .event_wait          = backend_event_wait,
};

/* ---- devices ---- */

static struct ggml_backend_buffer_type types[2];
static struct ggml_backend_device      devices[2];
static struct ggml_backend_reg         registry;

static const char * device_name(ggml_backend_dev_t device) {
    return device == &devices[1] ? TEST_NAME "1" : TEST_NAME "0";
}

static const char * device_description(ggml_backend_dev_t device) {
    (void) device;
    return "memory with flipped bits";
}

static void device_memory(ggml_backend_dev_t device, size_t * free_bytes, size_t * total_bytes) {
    (void) device;
    *free_bytes  = 1 << 20;
    *total_bytes = 1 << 21;
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t device) {
    (void) device;
    return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void device_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props) {
    props->name        = device_name(device);
    props->description = device_description(device);
    props->type        = device_type(device);
    device_memory(device, &props->memory_free, &props->memory_total);
}

static ggml_backend_t device_init(ggml_backend_dev_t device, const char * params) {
    if (params != NULL && strcmp(params, "fail") == 0) {
        return NULL;
    }
    ggml_backend_t backend = calloc(1, sizeof(*backend));
    if (backend != NULL) {
        backend->guid   = &guid;
        backend->iface  = device == &devices[1] ? full_backend : plain_backend;
        backend->device = device;
    }
    return backend;
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device) {
    return &types[device - devices];
}

static bool device_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) device;
    if (node->op == GGML_OP_CUSTOM || (int) node->type >= GGML_TYPE_COUNT) {
        counters.foreign++;
    }
    return node->op == GGML_OP_ADD || ggml_op_is_empty(node->op);
}

static bool device_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) {
    return buft == &types[device - devices];
}

static bool device_offload_op(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    return device_supports_op(device, node);
}

static ggml_backend_event_t device_event_new(ggml_backend_dev_t device) {
    ggml_backend_event_t event = calloc(1, sizeof(*event));
    if (event != NULL) {
        event->device = device;
    }
    return event;
}

static void device_event_free(ggml_backend_dev_t device, ggml_backend_event_t event) {
    (void) device;
    free(event);
}

static void device_event_synchronize(ggml_backend_dev_t device, ggml_backend_event_t event) {
    (void) device;
    (void) event;
}

/* ---- registry ---- */

static const char * reg_name(ggml_backend_reg_t reg) {
    (void) reg;
    return TEST_NAME;
}

static size_t reg_count(ggml_backend_reg_t reg) {
    (void) reg;
    return 2;
}

static ggml_backend_dev_t reg_get(ggml_backend_reg_t reg, size_t index) {
    (void) reg;
    return &devices[index];
}

static void * reg_proc(ggml_backend_reg_t reg, const char * name) {
    (void) reg;
    if (strcmp(name, "test_counters") == 0) {
        return (void *) (uintptr_t) get_counters;
    }
    return strcmp(name, "test_label") == 0 ? (void *) (uintptr_t) get_label : NULL;
}

static void fill_tables(void) {
    static int full = 1; /* its address marks the buffer type of device 1 */
    for (int i = 0; i < 2; i++) {
        types[i].iface.get_name      = type_name;
        types[i].iface.alloc_buffer  = type_alloc;
        types[i].iface.get_alignment = type_alignment;
        types[i].device              = &devices[i];
        types[i].context             = i == 1 ? &full : NULL;

        devices[i].iface.get_name        = device_name;
        devices[i].iface.get_description = device_description;
        devices[i].iface.get_memory      = device_memory;
        devices[i].iface.get_type        = device_type;
        devices[i].iface.get_props       = device_props;
        devices[i].iface.init_backend    = device_init;
        devices[i].iface.get_buffer_type = device_buffer_type;
        devices[i].iface.supports_op     = device_supports_op;
        devices[i].iface.supports_buft   = device_supports_buft;
        devices[i].reg                   = &registry;
    }
    devices[1].iface.offload_op        = device_offload_op;
    devices[1].iface.event_new         = device_event_new;
    devices[1].iface.event_free        = device_event_free;
    devices[1].iface.event_synchronize = device_event_synchronize;

    registry.api_version            = TEST_API_VERSION;
    registry.iface.get_name         = reg_name;
    registry.iface.get_device_count = reg_count;
    registry.iface.get_device       = reg_get;
    registry.iface.get_proc_address = reg_proc;
}

#ifdef TEST_MISSING
int a_function_that_no_library_has(void);
#endif

ggml_backend_reg_t test_reg(void);
ggml_backend_reg_t test_reg(void) {
#ifdef TEST_MISSING
    a_function_that_no_library_has();
#endif
#ifdef TEST_NULL_INIT
    return NULL;
#endif
    fill_tables();
    return &registry;
}

#ifndef TEST_NO_INIT
GGML_BACKEND_DL_IMPL(test_reg)
#endif

#ifdef TEST_SCORE
static int score(void) {
    return TEST_SCORE;
}
GGML_BACKEND_DL_SCORE_IMPL(score)
#endif
