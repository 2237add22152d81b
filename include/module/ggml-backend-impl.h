/* SPDX-License-Identifier: MIT
 *
 * ggml-backend-impl.h: the function tables that a backend module fills, and the structures behind the handles of
 * ggml-backend.h.
 *
 * Each object is a table of functions, a pointer to what it belongs to, and a context of the module. The module
 * makes registries, devices and buffer types as static data; it allocates backends, events and contexts itself and
 * frees them in its functions; descriptors of buffers come from ggml_backend_buffer_init and are freed by the core.
 *
 * An entry marked "optional" may be NULL; what happens then stands beside it. The core checks what programs pass
 * before it calls a table, so that entries get tensors with memory and ranges inside of them. Several threads may
 * call registry, device and buffer type entries at once; those of one backend, and of one buffer, are called by one
 * thread at a time.
 *
 * Layouts are frozen: modules are built against them and loaded as they are.
 */
#ifndef MODULE_GGML_BACKEND_IMPL_H
#define MODULE_GGML_BACKEND_IMPL_H

#include "ggml-backend.h"

/* Version of these tables. A registry says which it was built for, and another one is refused. */
#define GGML_BACKEND_API_VERSION 2

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- buffer type */

struct ggml_backend_buffer_type_i {
    const char * (*get_name)(ggml_backend_buffer_type_t buft);

    /* size > 0. NULL when there is no memory. */
    ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t buft, size_t size);

    size_t (*get_alignment)(ggml_backend_buffer_type_t buft); /* bytes, a power of two */
    size_t (*get_max_size)(ggml_backend_buffer_type_t buft);  /* optional: no limit */

    /* Bytes that a tensor takes, at least ggml_nbytes. Optional: that. */
    size_t (*get_alloc_size)(ggml_backend_buffer_type_t buft, const struct ggml_tensor * tensor);

    /* Is it memory of the host in the usual layout? Optional: no. */
    bool (*is_host)(ggml_backend_buffer_type_t buft);
};

struct ggml_backend_buffer_type {
    struct ggml_backend_buffer_type_i iface;
    ggml_backend_dev_t                device; /* NULL: of the host */
    void *                            context;
};

/* Operators for whose results a device may ask for more bytes than the tensor has: a remote device asks its server
 * about these alone. */
GGML_API bool ggml_op_alloc_size_may_expand(enum ggml_op op);

/* ---------------------------------------------------------------- buffer */

struct ggml_backend_buffer_i {
    void (*free_buffer)(ggml_backend_buffer_t buffer); /* the context. Optional: nothing to free */
    void * (*get_base)(ggml_backend_buffer_t buffer);  /* what offsets of tensors are added to */

    /* A tensor was placed: set what the device keeps in tensor->extra. Optional. */
    enum ggml_status (*init_tensor)(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor);

    /* Bytes [offset, offset + size) of a tensor. memset is optional: written as data. */
    void (*memset_tensor)(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, uint8_t value, size_t offset,
                          size_t size);
    void (*set_tensor)(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, const void * data, size_t offset,
                       size_t size);
    void (*get_tensor)(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor, void * data, size_t offset,
                       size_t size);

    /* n_copies pieces at once, as ggml_backend_tensor_set_2d. Optional: one by one. */
    void (*set_tensor_2d)(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor, const void * data, size_t offset,
                          size_t size, size_t n_copies, size_t stride_tensor, size_t stride_data);
    void (*get_tensor_2d)(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor, void * data, size_t offset,
                          size_t size, size_t n_copies, size_t stride_tensor, size_t stride_data);

    /* buffer is that of dst. False when it cannot copy from where src is: the host then does it. Optional: never. */
    bool (*cpy_tensor)(ggml_backend_buffer_t buffer, const struct ggml_tensor * src, struct ggml_tensor * dst);

    void (*clear)(ggml_backend_buffer_t buffer, uint8_t value); /* all bytes */
    void (*reset)(ggml_backend_buffer_t buffer);                /* forget what init_tensor made. Optional */
};

struct ggml_backend_buffer {
    struct ggml_backend_buffer_i   iface;
    ggml_backend_buffer_type_t     buft;
    void *                         context;
    size_t                         size; /* bytes */
    enum ggml_backend_buffer_usage usage;
};

/* The descriptor of a buffer, for alloc_buffer. NULL without memory; context is then still the module's to free. */
GGML_API ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t buft,
                                                        struct ggml_backend_buffer_i iface, void * context,
                                                        size_t size);

/* Copies if the buffer of dst can by itself; false: it cannot, and nothing was done. Layouts are equal. */
GGML_API bool ggml_backend_buffer_copy_tensor(const struct ggml_tensor * src, struct ggml_tensor * dst);

/* ---- several buffers as one ---- */

/* Takes n_buffers > 0 buffers over; freeing the result frees them. NULL on failure: they stay the caller's. Tensors
 * lie in the parts and know nothing of the whole. */
GGML_API ggml_backend_buffer_t ggml_backend_multi_buffer_alloc_buffer(ggml_backend_buffer_t * buffers,
                                                                      size_t n_buffers);
GGML_API bool ggml_backend_buffer_is_multi_buffer(ggml_backend_buffer_t buffer);
GGML_API void ggml_backend_multi_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage);

/* ---------------------------------------------------------------- backend */

/* What graph_optimize may ask for: that the memory of `tensor` is not reused before `until` has run. For backends that
 * compute several nodes as one, and so read a source later than the graph says. */
struct ggml_backend_graph_optimize_params {
    void (*add_alloc_dep)(void * user_data, struct ggml_tensor * tensor, struct ggml_tensor * until);
    void * user_data;
};

struct ggml_backend_i {
    const char * (*get_name)(ggml_backend_t backend);
    void (*free)(ggml_backend_t backend); /* the backend itself too */

    /* In the order of the backend's work. Optional: done at once, after all work. */
    void (*set_tensor_async)(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data, size_t offset,
                             size_t size);
    void (*get_tensor_async)(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data, size_t offset,
                             size_t size);
    void (*set_tensor_2d_async)(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data, size_t offset,
                                size_t size, size_t n_copies, size_t stride_tensor, size_t stride_data);
    void (*get_tensor_2d_async)(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data, size_t offset,
                                size_t size, size_t n_copies, size_t stride_tensor, size_t stride_data);

    /* Asked of the destination's backend. False when it cannot. Optional: never. */
    bool (*cpy_tensor_async)(ggml_backend_t backend_src, ggml_backend_t backend_dst, const struct ggml_tensor * src,
                             struct ggml_tensor * dst);

    void (*synchronize)(ggml_backend_t backend); /* waits. Optional: all is done when a call returns */

    /* Plans: optional, all or none; the program keeps the graph as long as the plan. update is for a graph of the same
     * nodes with other addresses or parameters; the core does not call it. */
    ggml_backend_graph_plan_t (*graph_plan_create)(ggml_backend_t backend, const struct ggml_cgraph * cgraph);
    void (*graph_plan_free)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);
    void (*graph_plan_update)(ggml_backend_t backend, ggml_backend_graph_plan_t plan,
                              const struct ggml_cgraph * cgraph);
    enum ggml_status (*graph_plan_compute)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);

    /* Computes the nodes in order, or gives them to the device and returns. cgraph may be a view without leafs. */
    enum ggml_status (*graph_compute)(ggml_backend_t backend, struct ggml_cgraph * cgraph);

    /* Events: optional, as in the device's table. wait: the backend waits, not the caller. */
    void (*event_record)(ggml_backend_t backend, ggml_backend_event_t event);
    void (*event_wait)(ggml_backend_t backend, ggml_backend_event_t event);

    /* Before memory is planned: may change the order of the nodes, and ask through params for memory to be kept.
     * Optional: the graph stays as it is. */
    void (*graph_optimize)(ggml_backend_t backend, struct ggml_cgraph * cgraph,
                           struct ggml_backend_graph_optimize_params * params);
};

struct ggml_backend {
    ggml_guid_t           guid; /* of the implementation: the same for all its backends */
    struct ggml_backend_i iface;
    ggml_backend_dev_t    device;
    void *                context;
};

struct ggml_backend_event {
    struct ggml_backend_device * device;
    void *                       context;
};

/* ---------------------------------------------------------------- device */

struct ggml_backend_device_i {
    /* As the functions of ggml-backend.h with these names. props is zeroed before. */
    const char * (*get_name)(ggml_backend_dev_t dev);
    const char * (*get_description)(ggml_backend_dev_t dev);
    void (*get_memory)(ggml_backend_dev_t dev, size_t * free, size_t * total);
    enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t dev);
    void (*get_props)(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props);

    ggml_backend_t (*init_backend)(ggml_backend_dev_t dev, const char * params); /* NULL on failure */

    ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t dev);
    ggml_backend_buffer_type_t (*get_host_buffer_type)(ggml_backend_dev_t dev); /* optional: none */

    /* Optional: the device cannot. */
    ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t dev, void * ptr, size_t size,
                                                  size_t max_tensor_size);

    /* Metadata only; tensors may have no memory yet. Never asked about registered operators and types. */
    bool (*supports_op)(ggml_backend_dev_t dev, const struct ggml_tensor * op);
    bool (*supports_buft)(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft);
    bool (*offload_op)(ggml_backend_dev_t dev, const struct ggml_tensor * op); /* optional: never */

    /* Events: optional, all or none. */
    ggml_backend_event_t (*event_new)(ggml_backend_dev_t dev);
    void (*event_free)(ggml_backend_dev_t dev, ggml_backend_event_t event);
    void (*event_synchronize)(ggml_backend_dev_t dev, ggml_backend_event_t event);
};

struct ggml_backend_device {
    struct ggml_backend_device_i iface;
    ggml_backend_reg_t           reg;
    void *                       context;
};

/* ---------------------------------------------------------------- registry */

struct ggml_backend_reg_i {
    const char * (*get_name)(ggml_backend_reg_t reg); /* one registry of a name is live at a time */
    size_t (*get_device_count)(ggml_backend_reg_t reg);
    ggml_backend_dev_t (*get_device)(ggml_backend_reg_t reg, size_t index);

    /* A function of the module by name, or NULL. Optional: there is none. */
    void * (*get_proc_address)(ggml_backend_reg_t reg, const char * name);
};

struct ggml_backend_reg {
    int                       api_version; /* GGML_BACKEND_API_VERSION as the module was built */
    struct ggml_backend_reg_i iface;
    void *                    context;
};

/* ---------------------------------------------------------------- meta devices
 *
 * Questions that modules ask about them. This library makes none: the answers are no, 0 and NULL. */

GGML_API bool ggml_backend_is_meta(ggml_backend_t backend);
GGML_API bool ggml_backend_buffer_is_meta(ggml_backend_buffer_t buf);
GGML_API bool ggml_backend_buft_is_meta(ggml_backend_buffer_type_t buft);

/* The backends that are joined in one. */
GGML_API size_t ggml_backend_meta_n_backends(ggml_backend_t meta_backend);
GGML_API ggml_backend_t ggml_backend_meta_simple_backend(ggml_backend_t meta_backend, size_t index);

GGML_API void ggml_backend_meta_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage);

/* ggml_backend_alloc_ctx_tensors_from_buft for such a buffer type. */
GGML_API struct ggml_backend_buffer * ggml_backend_meta_alloc_ctx_tensors_from_buft(struct ggml_context * ctx,
                                                                                    ggml_backend_buffer_type_t buft);

/* ---------------------------------------------------------------- loadable modules */

/* What a module exports: ggml_backend_init returns its registry (NULL: it cannot run here). Optional:
 * ggml_backend_score says how well it fits this machine, 0 for not at all; of several modules of one name the
 * greatest is loaded. */
typedef ggml_backend_reg_t (*ggml_backend_init_t)(void);
typedef int (*ggml_backend_score_t)(void);

/* They define these two from functions of the module when it is built as one (GGML_BACKEND_DL), and nothing when it
 * is linked into the program. */
#ifdef GGML_BACKEND_DL
#ifdef __cplusplus
#define GGML_BACKEND_DL_IMPL(reg_fn)                                     \
    extern "C" {                                                         \
    GGML_BACKEND_API ggml_backend_reg_t ggml_backend_init(void);         \
    }                                                                    \
    ggml_backend_reg_t ggml_backend_init(void) { return reg_fn(); }
#define GGML_BACKEND_DL_SCORE_IMPL(score_fn)                             \
    extern "C" {                                                         \
    GGML_BACKEND_API int ggml_backend_score(void);                       \
    }                                                                    \
    int ggml_backend_score(void) { return score_fn(); }
#else
#define GGML_BACKEND_DL_IMPL(reg_fn)                                     \
    GGML_BACKEND_API ggml_backend_reg_t ggml_backend_init(void);         \
    ggml_backend_reg_t ggml_backend_init(void) { return reg_fn(); }
#define GGML_BACKEND_DL_SCORE_IMPL(score_fn)                             \
    GGML_BACKEND_API int ggml_backend_score(void);                       \
    int ggml_backend_score(void) { return score_fn(); }
#endif
#else
#define GGML_BACKEND_DL_IMPL(reg_fn)
#define GGML_BACKEND_DL_SCORE_IMPL(score_fn)
#endif

#ifdef __cplusplus
}
#endif

#endif /* MODULE_GGML_BACKEND_IMPL_H */
