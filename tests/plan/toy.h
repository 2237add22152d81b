/* SPDX-License-Identifier: MIT
 *
 * Devices for the tests of planning: memory of their own with guard bytes, scalar kernels for a few operators, and
 * switches that make them refuse operators, run out of memory at a chosen allocation, fail at a chosen node, or work
 * deferred (nothing happens until somebody waits, so that a missing wait gives wrong values). Every kernel checks that
 * its tensors lie in memory that the device can read and is told of every fault by a failed check.
 */
#ifndef GRAFT_TESTS_PLAN_TOY_H
#define GRAFT_TESTS_PLAN_TOY_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "harness.h"

enum { TOY_GUARD = 256, TOY_MAX_BUFFERS = 512, TOY_MAX_QUEUE = 4096 };

struct toy;

/* A task of a deferred device. */
struct toy_task {
    enum { TOY_COMPUTE, TOY_COPY, TOY_SET, TOY_WAIT } kind;
    struct ggml_tensor node;
    struct ggml_tensor src[GGML_MAX_SRC];
    void *             data; /* TOY_SET */
    size_t             offset, size;
    struct toy *       other; /* TOY_WAIT: for this device */
    size_t             until; /* ... to have done so many tasks */
};

struct toy {
    const char *                    name;
    struct ggml_backend_reg         reg;
    struct ggml_backend_device      device;
    struct ggml_backend_buffer_type buft;
    struct ggml_backend             backend;
    enum ggml_backend_dev_type      type;
    size_t                          alignment, max_size;
    bool                            is_host; /* other devices may read its memory */
    bool                            refuses[GGML_OP_COUNT];
    bool                            offloads;
    struct toy *                    also_reads; /* memory of another device that it reads in place */
    bool                            has_events;

    /* faults */
    int              fail_alloc; /* n-th allocation from now on fails; 0: none */
    int              fail_node;  /* n-th node from now on returns fail_status; 0: none */
    enum ggml_status fail_status;

    /* what happened */
    ggml_backend_buffer_t buffers[TOY_MAX_BUFFERS];
    int                   n_buffers, n_allocations, n_nodes, n_graphs, n_copies;
    uint64_t              last_uid;

    /* deferred work */
    bool              deferred;
    struct toy_task * queue;
    size_t            queued, done;
};

#define TOY_UNUSED __attribute__((unused))

static void toy_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) text;
    (void) user_data;
}

/* Many of these tests provoke errors: what is logged about them would hide the failed checks. */
__attribute__((constructor)) static void toy_quiet(void) {
    if (getenv("GRAFT_TEST_LOG") == NULL) {
        ggml_log_set(toy_log, NULL);
    }
}

static TOY_UNUSED struct toy * toy_of(ggml_backend_t backend) {
    return backend->context;
}

/* ---- buffers ---- */

static const char * toy_buft_name(ggml_backend_buffer_type_t buft) {
    return ((struct toy *) buft->context)->name;
}

static size_t toy_buft_alignment(ggml_backend_buffer_type_t buft) {
    return ((struct toy *) buft->context)->alignment;
}

static size_t toy_buft_max_size(ggml_backend_buffer_type_t buft) {
    return ((struct toy *) buft->context)->max_size;
}

static bool toy_buft_is_host(ggml_backend_buffer_type_t buft) {
    return ((struct toy *) buft->context)->is_host;
}

static bool toy_guards_intact(ggml_backend_buffer_t buffer) {
    const unsigned char * memory = buffer->context;
    for (size_t i = 0; i < TOY_GUARD; i++) {
        if (memory[i] != 0xA5 || memory[TOY_GUARD + buffer->size + i] != 0xA5) {
            return false;
        }
    }
    return true;
}

static void toy_free_buffer(ggml_backend_buffer_t buffer) {
    struct toy * toy = buffer->buft->context;
    CHECK_MSG(toy_guards_intact(buffer), "%s: guard bytes of a buffer of %zu bytes were overwritten", toy->name,
              buffer->size);
    for (int i = 0; i < toy->n_buffers; i++) {
        if (toy->buffers[i] == buffer) {
            toy->buffers[i] = toy->buffers[--toy->n_buffers];
            free(buffer->context);
            return;
        }
    }
    CHECK_MSG(false, "%s: a buffer was freed twice", toy->name);
}

static void * toy_get_base(ggml_backend_buffer_t buffer) {
    return (char *) buffer->context + TOY_GUARD;
}

static void toy_set_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, const void * data, size_t offset,
                           size_t size) {
    (void) buffer;
    memcpy((char *) tensor->data + offset, data, size);
}

static void toy_get_tensor(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor, void * data, size_t offset,
                           size_t size) {
    (void) buffer;
    memcpy(data, (const char *) tensor->data + offset, size);
}

static void toy_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    memset(toy_get_base(buffer), value, buffer->size);
}

static ggml_backend_buffer_t toy_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    struct toy *                       toy   = buft->context;
    const struct ggml_backend_buffer_i iface = {
        .free_buffer = toy_free_buffer,
        .get_base    = toy_get_base,
        .set_tensor  = toy_set_tensor,
        .get_tensor  = toy_get_tensor,
        .clear       = toy_clear,
    };
    toy->n_allocations++;
    if (toy->fail_alloc > 0 && --toy->fail_alloc == 0) {
        return NULL;
    }
    const size_t    padded = (size + 2 * TOY_GUARD + 255) / 256 * 256;
    unsigned char * memory = aligned_alloc(256, padded);
    if (memory == NULL || toy->n_buffers == TOY_MAX_BUFFERS) {
        free(memory);
        return NULL;
    }
    memset(memory, 0xA5, padded);
    memset(memory + TOY_GUARD, 0xFF, size); /* NaN */
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, iface, memory, size);
    if (buffer == NULL) {
        free(memory);
        return NULL;
    }
    toy->buffers[toy->n_buffers++] = buffer;
    return buffer;
}

/* ---- scalar kernels ---- */

static float * toy_at(const struct ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (float *) ((char *) t->data + (size_t) i0 * t->nb[0] + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] +
                      (size_t) i3 * t->nb[3]);
}

#define TOY_EACH(t)                                     \
    for (int64_t i3 = 0; i3 < (t)->ne[3]; i3++)         \
        for (int64_t i2 = 0; i2 < (t)->ne[2]; i2++)     \
            for (int64_t i1 = 0; i1 < (t)->ne[1]; i1++) \
                for (int64_t i0 = 0; i0 < (t)->ne[0]; i0++)

static void toy_binary(struct ggml_tensor * t) {
    const struct ggml_tensor * a = t->src[0];
    const struct ggml_tensor * b = t->src[1];
    TOY_EACH(t) {
        const float x              = *toy_at(a, i0, i1, i2, i3);
        const float y              = *toy_at(b, i0 % b->ne[0], i1 % b->ne[1], i2 % b->ne[2], i3 % b->ne[3]);
        *toy_at(t, i0, i1, i2, i3) = t->op == GGML_OP_ADD ? x + y : t->op == GGML_OP_SUB ? x - y : x * y;
    }
}

static void toy_unary(struct ggml_tensor * t) {
    float scale = 1.0f, shift = 0.0f;
    if (t->op == GGML_OP_SCALE) {
        scale = ggml_get_op_params_f32(t, 0);
        shift = ggml_get_op_params_f32(t, 1);
    }
    TOY_EACH(t) {
        const float x              = *toy_at(t->src[0], i0, i1, i2, i3);
        *toy_at(t, i0, i1, i2, i3) = t->op == GGML_OP_SQR ? x * x : t->op == GGML_OP_UNARY ? -x : x * scale + shift;
    }
}

/* Element by element in the order of the elements. */
static void toy_copy(struct ggml_tensor * t) {
    const struct ggml_tensor * a = t->src[0];
    int64_t                    n = 0;
    TOY_EACH(t) {
        const int64_t j = n++;
        *toy_at(t, i0, i1, i2, i3) =
            *toy_at(a, j % a->ne[0], j / a->ne[0] % a->ne[1], j / (a->ne[0] * a->ne[1]) % a->ne[2],
                    j / (a->ne[0] * a->ne[1] * a->ne[2]));
    }
}

static void toy_mul_mat(struct ggml_tensor * t) {
    const struct ggml_tensor * a = t->src[0];
    const struct ggml_tensor * b = t->src[1];
    TOY_EACH(t) {
        float sum = 0.0f;
        for (int64_t k = 0; k < a->ne[0]; k++) {
            sum +=
                *toy_at(a, k, i0, i2 / (b->ne[2] / a->ne[2]), i3 / (b->ne[3] / a->ne[3])) * *toy_at(b, k, i1, i2, i3);
        }
        *toy_at(t, i0, i1, i2, i3) = sum;
    }
}

static void toy_mul_mat_id(struct ggml_tensor * t) {
    const struct ggml_tensor * a   = t->src[0];
    const struct ggml_tensor * b   = t->src[1];
    const struct ggml_tensor * ids = t->src[2];
    TOY_EACH(t) {
        const int32_t expert = *(const int32_t *) toy_at(ids, i1, i2, 0, 0);
        float         sum    = 0.0f;
        for (int64_t k = 0; k < a->ne[0]; k++) {
            sum += *toy_at(a, k, i0, expert, 0) * *toy_at(b, k, i1 % b->ne[1], i2, i3);
        }
        *toy_at(t, i0, i1, i2, i3) = sum;
    }
}

static void toy_rms_norm(struct ggml_tensor * t) {
    for (int64_t row = 0; row < ggml_nrows(t); row++) {
        const int64_t i1 = row % t->ne[1], i2 = row / t->ne[1] % t->ne[2], i3 = row / (t->ne[1] * t->ne[2]);
        float         sum = 0.0f;
        for (int64_t i0 = 0; i0 < t->ne[0]; i0++) {
            const float x = *toy_at(t->src[0], i0, i1, i2, i3);
            sum += x * x;
        }
        const float scale = 1.0f / sqrtf(sum / (float) t->ne[0] + ggml_get_op_params_f32(t, 0));
        for (int64_t i0 = 0; i0 < t->ne[0]; i0++) {
            *toy_at(t, i0, i1, i2, i3) = *toy_at(t->src[0], i0, i1, i2, i3) * scale;
        }
    }
}

struct toy_kernel {
    enum ggml_op op;
    void (*run)(struct ggml_tensor * t);
};

static const struct toy_kernel toy_kernels[] = {
    {GGML_OP_ADD, toy_binary},
    {GGML_OP_SUB, toy_binary},
    {GGML_OP_MUL, toy_binary},
    {GGML_OP_SCALE, toy_unary},
    {GGML_OP_SQR, toy_unary},
    {GGML_OP_UNARY, toy_unary},
    {GGML_OP_CPY, toy_copy},
    {GGML_OP_CONT, toy_copy},
    {GGML_OP_DUP, toy_copy},
    {GGML_OP_MUL_MAT, toy_mul_mat},
    {GGML_OP_MUL_MAT_ID, toy_mul_mat_id},
    {GGML_OP_RMS_NORM, toy_rms_norm},
};

static const struct toy_kernel * toy_find_kernel(enum ggml_op op) {
    for (size_t i = 0; i < sizeof(toy_kernels) / sizeof(toy_kernels[0]); i++) {
        if (toy_kernels[i].op == op) {
            return &toy_kernels[i];
        }
    }
    return NULL;
}

static bool toy_reads(const struct toy * toy, ggml_backend_buffer_type_t buft) {
    return buft == &toy->buft || (toy->also_reads != NULL && buft == &toy->also_reads->buft);
}

static void toy_check_place(const struct toy * toy, const struct ggml_tensor * t, const struct ggml_tensor * node) {
    const bool placed = t->buffer != NULL && (t->data != NULL || ggml_nelements(t) == 0);
    CHECK_MSG(placed, "%s: '%s' of node '%s' has no memory", toy->name, t->name, node->name);
    if (placed && ggml_nelements(t) > 0) {
        CHECK_MSG(toy_reads(toy, t->buffer->buft), "%s: '%s' of node '%s' lies in %s", toy->name, t->name, node->name,
                  ggml_backend_buffer_name(t->buffer));
        const char * base = ggml_backend_buffer_get_base(t->buffer);
        CHECK_MSG((char *) t->data >= base && (char *) t->data + ggml_nbytes(t) <= base + t->buffer->size,
                  "%s: '%s' lies outside of its buffer", toy->name, t->name);
    }
}

static void toy_run_node(struct toy * toy, struct ggml_tensor * node) {
    const struct toy_kernel * kernel = toy_find_kernel(node->op);
    CHECK_MSG(kernel != NULL && !toy->refuses[node->op], "%s: was given %s, which it refuses", toy->name,
              ggml_op_name(node->op));
    if (kernel == NULL) {
        return;
    }
    toy_check_place(toy, node, node);
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] != NULL) {
            toy_check_place(toy, node->src[k], node);
        }
    }
    kernel->run(node);
}

/* ---- streams ---- */

static void toy_drain(struct toy * toy, size_t until) {
    while (toy->done < until && toy->done < toy->queued) {
        struct toy_task * task = &toy->queue[toy->done % TOY_MAX_QUEUE];
        toy->done++;
        switch (task->kind) {
            case TOY_COMPUTE:
                for (int k = 0; k < GGML_MAX_SRC; k++) {
                    task->node.src[k] = task->node.src[k] != NULL ? &task->src[k] : NULL;
                }
                toy_run_node(toy, &task->node);
                break;
            case TOY_COPY:
                memcpy(task->src[1].data, task->src[0].data, ggml_nbytes(&task->src[0]));
                break;
            case TOY_SET:
                memcpy((char *) task->src[0].data + task->offset, task->data, task->size);
                free(task->data);
                break;
            case TOY_WAIT:
                toy_drain(task->other, task->until);
                break;
        }
    }
}

static struct toy_task * toy_push(struct toy * toy, int kind) {
    if (toy->queued - toy->done == TOY_MAX_QUEUE) {
        toy_drain(toy, toy->done + 1);
    }
    struct toy_task * task = &toy->queue[toy->queued++ % TOY_MAX_QUEUE];
    memset(task, 0, sizeof(*task));
    task->kind = kind;
    return task;
}

static void toy_synchronize(ggml_backend_t backend) {
    struct toy * toy = backend->context;
    toy_drain(toy, toy->queued);
}

static enum ggml_status toy_graph_compute(ggml_backend_t backend, struct ggml_cgraph * graph) {
    struct toy * toy = backend->context;
    toy->n_graphs++;
    toy->last_uid = graph->uid;
    for (int i = 0; i < graph->n_nodes; i++) {
        struct ggml_tensor * node = graph->nodes[i];
        if (ggml_op_is_empty(node->op) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            continue;
        }
        toy->n_nodes++;
        if (toy->fail_node > 0 && --toy->fail_node == 0) {
            return toy->fail_status;
        }
        if (!toy->deferred) {
            toy_run_node(toy, node);
            continue;
        }
        struct toy_task * task = toy_push(toy, TOY_COMPUTE);
        task->node             = *node;
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (node->src[k] != NULL) {
                task->src[k] = *node->src[k];
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

static void toy_set_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data, size_t offset,
                          size_t size) {
    struct toy * toy = backend->context;
    if (!toy->deferred) {
        memcpy((char *) tensor->data + offset, data, size);
        return;
    }
    struct toy_task * task = toy_push(toy, TOY_SET);
    task->src[0]           = *tensor;
    task->data             = malloc(size > 0 ? size : 1); /* the caller may change its own at once */
    task->offset           = offset;
    task->size             = size;
    memcpy(task->data, data, size);
}

static void toy_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data, size_t offset,
                          size_t size) {
    toy_synchronize(backend);
    memcpy(data, (const char *) tensor->data + offset, size);
}

static bool toy_cpy_async(ggml_backend_t from, ggml_backend_t to, const struct ggml_tensor * src,
                          struct ggml_tensor * dst) {
    struct toy * a = from->context;
    struct toy * b = to->context;
    if (!b->deferred || from->iface.get_name != to->iface.get_name || !a->deferred) {
        return false; /* only from stream to stream */
    }
    b->n_copies++;
    struct toy_task * wait = toy_push(b, TOY_WAIT);
    wait->other            = a;
    wait->until            = a->queued;
    struct toy_task * task = toy_push(b, TOY_COPY);
    task->src[0]           = *src;
    task->src[1]           = *dst;
    wait                   = toy_push(a, TOY_WAIT); /* the source's stream goes on when the copy is done */
    wait->other            = b;
    wait->until            = b->queued;
    return true;
}

/* ---- events ---- */

struct toy_mark {
    struct toy * toy;
    size_t       until;
};

static ggml_backend_event_t toy_event_new(ggml_backend_dev_t device) {
    struct toy *         toy   = device->context;
    ggml_backend_event_t event = toy->has_events ? calloc(1, sizeof(*event)) : NULL;
    if (event != NULL) {
        event->device  = device;
        event->context = calloc(1, sizeof(struct toy_mark));
    }
    return event;
}

static void toy_event_free(ggml_backend_dev_t device, ggml_backend_event_t event) {
    (void) device;
    free(event->context);
    free(event);
}

static void toy_event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    struct toy_mark * mark = event->context;
    mark->toy              = backend->context;
    mark->until            = mark->toy->queued;
}

static void toy_event_synchronize(ggml_backend_dev_t device, ggml_backend_event_t event) {
    struct toy_mark * mark = event->context;
    (void) device;
    if (mark->toy != NULL) {
        toy_drain(mark->toy, mark->until);
    }
}

static void toy_event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    struct toy *      toy  = backend->context;
    struct toy_mark * mark = event->context;
    if (mark->toy == NULL || mark->toy == toy) {
        return; /* a stream does not wait for itself */
    }
    if (!toy->deferred) {
        toy_drain(mark->toy, mark->until);
        return;
    }
    struct toy_task * task = toy_push(toy, TOY_WAIT);
    task->other            = mark->toy;
    task->until            = mark->until;
}

/* ---- device ---- */

static const char * toy_device_name(ggml_backend_dev_t device) {
    return ((struct toy *) device->context)->name;
}

static enum ggml_backend_dev_type toy_device_type(ggml_backend_dev_t device) {
    return ((struct toy *) device->context)->type;
}

static ggml_backend_buffer_type_t toy_device_buft(ggml_backend_dev_t device) {
    return &((struct toy *) device->context)->buft;
}

static bool toy_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    const struct toy * toy = device->context;
    return ggml_op_is_empty(node->op) || (toy_find_kernel(node->op) != NULL && !toy->refuses[node->op]);
}

static bool toy_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) {
    return toy_reads(device->context, buft);
}

static bool toy_offload_op(ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) node;
    return ((struct toy *) device->context)->offloads;
}

static void toy_get_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props) {
    memset(props, 0, sizeof(*props));
    props->name = ((struct toy *) device->context)->name;
    props->type = ((struct toy *) device->context)->type;
}

static const char * toy_backend_name(ggml_backend_t backend) {
    return ((struct toy *) backend->context)->name;
}

static const char * toy_reg_name(ggml_backend_reg_t reg) {
    return ((struct toy *) reg->context)->name;
}

static TOY_UNUSED void toy_init(struct toy * toy, const char * name, enum ggml_backend_dev_type type) {
    memset(toy, 0, sizeof(*toy));
    toy->name      = name;
    toy->type      = type;
    toy->alignment = 32;
    toy->max_size  = SIZE_MAX;
    toy->is_host   = type == GGML_BACKEND_DEVICE_TYPE_CPU;
    toy->queue     = calloc(TOY_MAX_QUEUE, sizeof(toy->queue[0]));

    toy->reg.context        = toy;
    toy->reg.iface.get_name = toy_reg_name;

    toy->device.context                 = toy;
    toy->device.reg                     = &toy->reg;
    toy->device.iface.get_name          = toy_device_name;
    toy->device.iface.get_description   = toy_device_name;
    toy->device.iface.get_type          = toy_device_type;
    toy->device.iface.get_props         = toy_get_props;
    toy->device.iface.get_buffer_type   = toy_device_buft;
    toy->device.iface.supports_op       = toy_supports_op;
    toy->device.iface.supports_buft     = toy_supports_buft;
    toy->device.iface.offload_op        = toy_offload_op;
    toy->device.iface.event_new         = toy_event_new;
    toy->device.iface.event_free        = toy_event_free;
    toy->device.iface.event_synchronize = toy_event_synchronize;

    toy->buft.context             = toy;
    toy->buft.device              = &toy->device;
    toy->buft.iface.get_name      = toy_buft_name;
    toy->buft.iface.alloc_buffer  = toy_alloc_buffer;
    toy->buft.iface.get_alignment = toy_buft_alignment;
    toy->buft.iface.get_max_size  = toy_buft_max_size;
    toy->buft.iface.is_host       = toy_buft_is_host;

    toy->backend.context                = toy;
    toy->backend.device                 = &toy->device;
    toy->backend.iface.get_name         = toy_backend_name;
    toy->backend.iface.synchronize      = toy_synchronize;
    toy->backend.iface.graph_compute    = toy_graph_compute;
    toy->backend.iface.set_tensor_async = toy_set_async;
    toy->backend.iface.get_tensor_async = toy_get_async;
    toy->backend.iface.cpy_tensor_async = toy_cpy_async;
    toy->backend.iface.event_record     = toy_event_record;
    toy->backend.iface.event_wait       = toy_event_wait;
}

static TOY_UNUSED void toy_free(struct toy * toy) {
    CHECK_MSG(toy->n_buffers == 0, "%s: %d buffers were not freed", toy->name, toy->n_buffers);
    free(toy->queue);
}

static TOY_UNUSED size_t toy_bytes(const struct toy * toy) {
    size_t bytes = 0;
    for (int i = 0; i < toy->n_buffers; i++) {
        bytes += toy->buffers[i]->size;
    }
    return bytes;
}

static TOY_UNUSED bool toy_all_guards_intact(const struct toy * toy) {
    bool intact = true;
    for (int i = 0; i < toy->n_buffers; i++) {
        intact = intact && toy_guards_intact(toy->buffers[i]);
    }
    return intact;
}

/* ---- graphs ---- */

static TOY_UNUSED struct ggml_context * toy_context(size_t n_tensors) {
    const size_t nodes = 4 * n_tensors + 64;
    return ggml_init((struct ggml_init_params){
        .mem_size = nodes * ggml_tensor_overhead() + ggml_graph_overhead_custom(nodes, false) + ggml_graph_overhead(),
        .no_alloc = true,
    });
}

/* Small whole numbers: sums of products are exact, so any order gives the same bytes. */
static TOY_UNUSED void toy_fill(struct ggml_tensor * t, uint64_t seed) {
    uint64_t state = seed * 2654435761u + 1;
    float *  data  = malloc(ggml_nbytes(t) + 1);
    for (size_t i = 0; i < ggml_nbytes(t) / sizeof(float); i++) {
        data[i] = (float) (int) (harness_random(&state) % 5) - 2.0f;
    }
    ggml_backend_tensor_set(t, data, 0, ggml_nbytes(t));
    free(data);
}

#endif /* GRAFT_TESTS_PLAN_TOY_H */
