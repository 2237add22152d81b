/* SPDX-License-Identifier: MIT
 *
 * ggml-backend.h: registries, devices, backends, buffers, and the scheduler that spreads a graph over several of them.
 *
 * Objects. A registry is a module's list of devices ("CPU", "CUDA"). A device is a piece of hardware; it has buffer
 * types, kinds of memory that tensors can lie in, and makes backends. A backend is a stream of work on a device:
 * graphs that are computed on it, and transfers, happen in the order in which they are given. A buffer is a piece of
 * memory of a type.
 *
 * Ownership. Registries, devices and buffer types live as long as the process (or the module: ggml_backend_unload)
 * and are never freed. Backends, buffers, events, plans, schedulers and graph copies are freed by who made them,
 * with the function that stands beside the maker; all of these take NULL. A buffer ends after the last tensor in it
 * is used, a backend after the scheduler that uses it.
 *
 * Threads. Questions about registries, devices and buffer types may be asked on any thread. A backend, a buffer that is
 * written, and a scheduler belong to one thread at a time; different ones may work at once.
 *
 * Errors. Functions return a status, NULL, false or 0 where they can fail, and ggml_ext_last_error (ggml-ext.h) has the
 * text. A NULL object, and a range outside of its tensor, are a broken contract: the process ends with a text.
 */
#ifndef GGML_BACKEND_H
#define GGML_BACKEND_H

#include "ggml-alloc.h"
#include "ggml.h"

/* Marks what a backend module exports. */
#if defined(_WIN32) && !defined(__MINGW32__)
#define GGML_BACKEND_API __declspec(dllimport) extern
#elif defined(__GNUC__)
#define GGML_BACKEND_API __attribute__((visibility("default"))) extern
#else
#define GGML_BACKEND_API extern
#endif

/* Devices that a meta device may join. */
#define GGML_BACKEND_META_MAX_DEVICES 16

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_backend_reg *    ggml_backend_reg_t;
typedef struct ggml_backend_device * ggml_backend_dev_t;
typedef struct ggml_backend_event *  ggml_backend_event_t;      /* a place in the order of a backend's work */
typedef void *                       ggml_backend_graph_plan_t; /* a graph prepared by a backend */

/* ---------------------------------------------------------------- buffer types */

/* Name ("CPU", "CUDA0"), by which programs match them; the device it belongs to, NULL for memory of the host itself. */
GGML_API const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft);
GGML_API ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t buft);

/* A buffer of at least size bytes. 0 bytes give a valid, empty buffer: programs probe types this way. NULL when the
 * device has no such memory left. */
GGML_API ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size);

/* Bytes: the alignment that tensors need, the greatest size of one buffer (SIZE_MAX: none), and what a tensor takes,
 * which may be more than ggml_nbytes where a device pads. */
GGML_API size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft);
GGML_API size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft);
GGML_API size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft, const struct ggml_tensor * tensor);

/* Can the processor read and write tensors there through their data pointers, in the usual layout? */
GGML_API bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft);

/* ---------------------------------------------------------------- buffers */

/* What a buffer holds: the scheduler runs operators where their weights are. */
enum ggml_backend_buffer_usage {
    GGML_BACKEND_BUFFER_USAGE_ANY     = 0, /* not said */
    GGML_BACKEND_BUFFER_USAGE_WEIGHTS = 1, /* weights of a model, written once */
    GGML_BACKEND_BUFFER_USAGE_COMPUTE = 2, /* results of graphs */
};

/* Frees the memory; tensors in it must not be used any more. */
GGML_API void ggml_backend_buffer_free(ggml_backend_buffer_t buffer);

/* The type, and what it says about the buffer (see above). */
GGML_API ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer);
GGML_API const char * ggml_backend_buffer_name(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_alignment(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_max_size(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer, const struct ggml_tensor * tensor);
GGML_API bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer);

/* First address (NULL when the buffer is empty; on a device perhaps no address of the host) and bytes. */
GGML_API void * ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer);
GGML_API size_t ggml_backend_buffer_get_size(ggml_backend_buffer_t buffer);

GGML_API void                           ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer,
                                                                      enum ggml_backend_buffer_usage usage);
GGML_API enum ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer);

/* Sets all bytes. */
GGML_API void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value);

/* Tells the buffer that all tensors in it are forgotten, so that it drops what it kept about them. */
GGML_API void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer);

/* ---- placing tensors: allocators (ggml-alloc.h) do this ---- */

/* Puts a tensor without memory at addr inside of the buffer. Fails when it has memory already, is a view, or does
 * not fit. */
GGML_API enum ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor,
                                                    void * addr);

/* Puts a view where what it looks at is. Fails when that has no memory yet, or the view has a buffer. */
GGML_API enum ggml_status ggml_backend_view_init(struct ggml_tensor * tensor);

/* Lets the buffer prepare itself for a tensor that was placed; both of the above call it. */
GGML_API enum ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer, struct ggml_tensor * tensor);

/* ---- memory of the host ---- */

/* The buffer type of plain memory, "CPU". Every device can copy from and to it. */
GGML_API ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void);

/* A buffer over memory that the caller has and keeps, such as a mapped file; type "CPU_Mapped". The address is
 * aligned to 32 bytes; NULL when it is not. */
GGML_API ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void * ptr, size_t size);

/* ---------------------------------------------------------------- data of tensors
 *
 * offset and size count bytes from the tensor's first one, as they lie in its own format. The range lies inside of the
 * tensor, which has memory; of 0 bytes nothing happens. */

/* Copies from or to memory of the host; done on return. */
GGML_API void ggml_backend_tensor_set(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size);
GGML_API void ggml_backend_tensor_get(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size);

/* n_copies pieces of size bytes, stride_tensor apart in the tensor and stride_data apart in host memory. */
GGML_API void ggml_backend_tensor_set_2d(struct ggml_tensor * tensor, const void * data, size_t offset, size_t size,
                                         size_t n_copies, size_t stride_tensor, size_t stride_data);
GGML_API void ggml_backend_tensor_get_2d(const struct ggml_tensor * tensor, void * data, size_t offset, size_t size,
                                         size_t n_copies, size_t stride_tensor, size_t stride_data);

/* Sets size bytes to a value. */
GGML_API void ggml_backend_tensor_memset(struct ggml_tensor * tensor, uint8_t value, size_t offset, size_t size);

/* Copies between tensors of one type, shape and strides, wherever they lie; done on return. Other tensors abort. */
GGML_API void ggml_backend_tensor_copy(const struct ggml_tensor * src, struct ggml_tensor * dst);

/* The same in the order of a backend's work: these may return before the copy is made, so the memory of the host stays
 * untouched until ggml_backend_synchronize. Backends without streams of their own do it at once. */
GGML_API void ggml_backend_tensor_set_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                            size_t offset, size_t size);
GGML_API void ggml_backend_tensor_get_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                            size_t offset, size_t size);
GGML_API void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, struct ggml_tensor * tensor, const void * data,
                                               size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                               size_t stride_data);
GGML_API void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const struct ggml_tensor * tensor, void * data,
                                               size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                               size_t stride_data);

/* After what backend_src was given so far and before what backend_dst is given later. */
GGML_API void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                             const struct ggml_tensor * src, struct ggml_tensor * dst);

/* ---------------------------------------------------------------- backends */

/* Sixteen bytes that name the implementation; the name of the backend. */
GGML_API ggml_guid_t ggml_backend_guid(ggml_backend_t backend);
GGML_API const char * ggml_backend_name(ggml_backend_t backend);

/* Call ggml_backend_synchronize first when work may be under way. */
GGML_API void ggml_backend_free(ggml_backend_t backend);

GGML_API ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend);

/* The buffer type that the backend likes best, and a buffer, the alignment and the greatest size of it. */
GGML_API ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend);
GGML_API ggml_backend_buffer_t      ggml_backend_alloc_buffer(ggml_backend_t backend, size_t size);
GGML_API size_t ggml_backend_get_alignment(ggml_backend_t backend);
GGML_API size_t ggml_backend_get_max_size(ggml_backend_t backend);

/* Waits until all work given to the backend is done. */
GGML_API void ggml_backend_synchronize(ggml_backend_t backend);

/* ---- computing ---- */

/* Computes the nodes of a graph in their order. Every tensor has memory that the backend can use
 * (ggml_backend_supports_buft), and every node is supported. The second form may return while the device still
 * works. */
GGML_API enum ggml_status ggml_backend_graph_compute(ggml_backend_t backend, struct ggml_cgraph * cgraph);
GGML_API enum ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, struct ggml_cgraph * cgraph);

/* A graph prepared once and computed many times with the same shapes and addresses. NULL, or GGML_STATUS_FAILED,
 * where the backend has no plans. The graph stays unchanged as long as its plan is used. */
GGML_API ggml_backend_graph_plan_t ggml_backend_graph_plan_create(ggml_backend_t backend, struct ggml_cgraph * cgraph);
GGML_API void ggml_backend_graph_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan);
GGML_API enum ggml_status ggml_backend_graph_plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan);

/* ---- what it can do: the answers of its device ---- */

/* Can it compute this node, with these types, shapes and strides? Nodes of registered operators count (ggml-ext.h). */
GGML_API bool ggml_backend_supports_op(ggml_backend_t backend, const struct ggml_tensor * op);

/* Can it use tensors in memory of this type? */
GGML_API bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft);

/* Is this node worth copying its weights from host memory to the device (a large batch)? */
GGML_API bool ggml_backend_offload_op(ggml_backend_t backend, const struct ggml_tensor * op);

/* ---- events: order between backends ---- */

/* A new event; NULL where the device has none. */
GGML_API ggml_backend_event_t ggml_backend_event_new(ggml_backend_dev_t device);
GGML_API void ggml_backend_event_free(ggml_backend_event_t event);

/* The event happens when the backend gets this far. */
GGML_API void ggml_backend_event_record(ggml_backend_event_t event, ggml_backend_t backend);

/* Until it has happened: the calling thread waits, or the backend does before it goes on. */
GGML_API void ggml_backend_event_synchronize(ggml_backend_event_t event);
GGML_API void ggml_backend_event_wait(ggml_backend_t backend, ggml_backend_event_t event);

/* ---------------------------------------------------------------- devices */

enum ggml_backend_dev_type {
    GGML_BACKEND_DEVICE_TYPE_CPU   = 0, /* the processor, with the host's memory */
    GGML_BACKEND_DEVICE_TYPE_GPU   = 1, /* with memory of its own */
    GGML_BACKEND_DEVICE_TYPE_IGPU  = 2, /* that shares the host's memory */
    GGML_BACKEND_DEVICE_TYPE_ACCEL = 3, /* runs some operators for the CPU (a BLAS library, a matrix unit) */
    GGML_BACKEND_DEVICE_TYPE_META  = 4, /* several devices joined */
};

struct ggml_backend_dev_caps {
    bool async;                /* computation and transfers go on after the call */
    bool host_buffer;          /* has host memory that it transfers faster (pinned) */
    bool buffer_from_host_ptr; /* makes buffers over memory that the program has */
    bool events;
    bool mmap_support;         /* weights may stay in a mapped file */
};

struct ggml_backend_dev_props {
    const char *                 name;         /* "CPU", "CUDA0" */
    const char *                 description;  /* of the hardware, for people */
    size_t                       memory_free;  /* bytes */
    size_t                       memory_total; /* bytes */
    enum ggml_backend_dev_type   type;
    const char *                 device_id;    /* "0000:01:00.0": the same whichever module names it; or NULL */
    struct ggml_backend_dev_caps caps;
};

/* The same one by one. Strings live as long as the device. */
GGML_API const char * ggml_backend_dev_name(ggml_backend_dev_t device);
GGML_API const char * ggml_backend_dev_description(ggml_backend_dev_t device);
GGML_API void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, size_t * total);
GGML_API enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device);
GGML_API void ggml_backend_dev_get_props(ggml_backend_dev_t device, struct ggml_backend_dev_props * props);
GGML_API ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device);

/* A new backend; params is text for the module, or NULL. NULL on failure. */
GGML_API ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, const char * params);

/* The buffer type for weights and results; that of host memory which the device transfers faster, or NULL. */
GGML_API ggml_backend_buffer_type_t ggml_backend_dev_buffer_type(ggml_backend_dev_t device);
GGML_API ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device);

/* A buffer over memory of the program, where the caps say so; max_tensor_size: bytes of the largest tensor that will
 * lie in it. The memory stays the caller's. NULL when the device cannot. */
GGML_API ggml_backend_buffer_t ggml_backend_dev_buffer_from_host_ptr(ggml_backend_dev_t device, void * ptr, size_t size,
                                                                     size_t max_tensor_size);

/* As the functions of backends with these names. */
GGML_API bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const struct ggml_tensor * op);
GGML_API bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft);
GGML_API bool ggml_backend_dev_offload_op(ggml_backend_dev_t device, const struct ggml_tensor * op);

/* ---------------------------------------------------------------- registries */

/* Name and devices of a registry. An index past the end is a broken contract. */
GGML_API const char * ggml_backend_reg_name(ggml_backend_reg_t reg);
GGML_API size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg);
GGML_API ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index);

/* A function of the module by name, of a type that both sides know; NULL when it has none. The types below belong to
 * names that several modules have. */
GGML_API void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, const char * name);

/* "ggml_backend_split_buffer_type": a buffer type that spreads the rows of a matrix over the devices by these
 * proportions. */
typedef ggml_backend_buffer_type_t (*ggml_backend_split_buffer_type_t)(int main_device, const float * tensor_split);

/* "ggml_backend_set_n_threads": threads for the graphs to come. */
typedef void (*ggml_backend_set_n_threads_t)(ggml_backend_t backend, int n_threads);

/* "ggml_backend_dev_get_extra_bufts": more buffer types of a device, such as packed weights; ended by NULL, static. */
typedef ggml_backend_buffer_type_t * (*ggml_backend_dev_get_extra_bufts_t)(ggml_backend_dev_t device);

/* "ggml_backend_set_abort_callback": asked now and then during a computation; true stops it. */
typedef void (*ggml_backend_set_abort_callback_t)(ggml_backend_t backend, ggml_abort_callback abort_callback,
                                                  void * abort_callback_data);

/* "ggml_backend_get_features": what the hardware and the build have ("AVX2", "1"), ended by a NULL name; static. */
struct ggml_backend_feature {
    const char * name;
    const char * value;
};
typedef struct ggml_backend_feature * (*ggml_backend_get_features_t)(ggml_backend_reg_t reg);

/* "ggml_backend_comm_init", "..._free", "..._allreduce_tensor": sums of tensors over several devices, for meta
 * devices. A communicator for n backends; tensors holds one tensor for each of them, which all become the sum. */
typedef void * (*ggml_backend_comm_init_t)(ggml_backend_t * backends, size_t n_backends);
typedef void (*ggml_backend_comm_free_t)(void * comm_ctx);
typedef bool (*ggml_backend_comm_allreduce_tensor_t)(void * comm_ctx, struct ggml_tensor ** tensors);

/* ---- those of the process ----
 *
 * The CPU is always the first. Names are compared without regard to case. */

/* Adds a registry with its devices, or one device. A registry whose name is taken is refused, with a text in the log.
 */
GGML_API void ggml_backend_register(ggml_backend_reg_t reg);
GGML_API void ggml_backend_device_register(ggml_backend_dev_t device);

/* By number, which aborts past the end; by name or type, NULL when there is none: the first that fits. */
GGML_API size_t ggml_backend_reg_count(void);
GGML_API ggml_backend_reg_t ggml_backend_reg_get(size_t index);
GGML_API ggml_backend_reg_t ggml_backend_reg_by_name(const char * name);
GGML_API size_t ggml_backend_dev_count(void);
GGML_API ggml_backend_dev_t ggml_backend_dev_get(size_t index);
GGML_API ggml_backend_dev_t ggml_backend_dev_by_name(const char * name);
GGML_API ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type);

/* A backend of the device found so; NULL when there is no device or it fails. best: a GPU, else an integrated one,
 * else the CPU. */
GGML_API ggml_backend_t ggml_backend_init_by_name(const char * name, const char * params);
GGML_API ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char * params);
GGML_API ggml_backend_t ggml_backend_init_best(void);

/* ---- loadable modules ---- */

/* Opens one module and adds its registry. NULL, with a text in the log, when it cannot be opened, has another
 * version of the module interface, does not support this machine, or a registry of its name is live. */
GGML_API ggml_backend_reg_t ggml_backend_load(const char * path);

/* Takes a registry off the list and closes its module (which stays open while kernels are registered for its
 * devices). Nothing of it may be in use. The CPU stays. */
GGML_API void ggml_backend_unload(ggml_backend_reg_t reg);

/* Loads for each known name the best of the modules libggml-NAME-*.so, by what they say about this machine, else
 * libggml-NAME.so: from a given folder, from which modules of other names are loaded as well, or from the folder of
 * the build and that of the program (and the working directory with GRAFT_SEARCH_CWD=1 in the environment).
 * GGML_BACKEND_PATH names one more module. Problems are told in the log. */
GGML_API void ggml_backend_load_all(void);
GGML_API void ggml_backend_load_all_from_path(const char * dir_path);

/* ---------------------------------------------------------------- scheduler
 *
 * Runs one graph on several backends. It decides for each node where it runs (with its weights, if that backend can;
 * where the program said; near its neighbours; where it is possible at all), cuts the graph into splits of one
 * backend each, plans memory for results and for copies of what crosses from one backend to another, and runs the
 * splits in order.
 *
 *   sched = ggml_backend_sched_new(backends, NULL, n, 0, false, true);
 *   ggml_backend_sched_reserve(sched, largest_graph);        once: no allocation later
 *   for each batch:
 *       build a graph
 *       ggml_backend_sched_reset(sched);
 *       ggml_backend_sched_alloc_graph(sched, graph);
 *       ggml_backend_tensor_set(input, ...);
 *       ggml_backend_sched_graph_compute(sched, graph);
 *       ggml_backend_tensor_get(output, ...);
 *
 * Environment: GGML_SCHED_DEBUG=1 prints the splits to the log, 2 the nodes too. GGML_SCHED_DEBUG_REALLOC=1 makes an
 * allocation that a reserved size should have covered a failure; 2 every allocation after the first. */

typedef struct ggml_backend_sched * ggml_backend_sched_t;

/* For n_backends backends in the order of preference, the last one of a CPU device. bufts: memory of the results of
 * each; NULL: their default types. graph_size is a hint and may be 0. parallel: several copies of inputs and of what
 * crosses splits, so that a graph can be prepared while the one before still runs. op_offload: let devices take
 * large operations whose weights are in host memory. NULL on failure. The backends stay the caller's, and outlive
 * it. */
GGML_API ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t * backends, ggml_backend_buffer_type_t * bufts,
                                                     int n_backends, size_t graph_size, bool parallel, bool op_offload);
GGML_API void ggml_backend_sched_free(ggml_backend_sched_t sched);

/* Makes buffers large enough for a graph and those smaller than it; forgets what it was told about tensors. False
 * when memory cannot be had. */
GGML_API bool ggml_backend_sched_reserve(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph);

/* Only measures: bytes for each backend, without allocation of a buffer; SIZE_MAX on failure. */
GGML_API void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph,
                                              size_t * sizes);

/* The backends, and their number. */
GGML_API int ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched);
GGML_API ggml_backend_t ggml_backend_sched_get_backend(ggml_backend_sched_t sched, int i);

/* Of the last graph: splits; copies of each input (1, or more with parallel). */
GGML_API int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched);
GGML_API int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched);

/* Type and bytes of the memory for results on a backend; NULL and 0 for a backend that is not of this scheduler. */
GGML_API ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched,
                                                                       ggml_backend_t backend);
GGML_API size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend);

/* Where a node has to run, to be said between reset and alloc; NULL as the answer: not decided. */
GGML_API void ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node,
                                                    ggml_backend_t backend);
GGML_API ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node);

/* Decides and cuts without allocating; for those who want to look at the result. */
GGML_API void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph);

/* Gives memory to the graph: decides, cuts, plans. False on failure (a node that no backend can run, no memory). */
GGML_API bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph);

/* Computes, after alloc_graph or, without it, after an implicit one. The second form may return before the work is
 * done. A failure is that of the split in which it happened; later splits do not run. */
GGML_API enum ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched, struct ggml_cgraph * graph);
GGML_API enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched,
                                                                 struct ggml_cgraph * graph);

/* Waits for all backends. */
GGML_API void ggml_backend_sched_synchronize(ggml_backend_sched_t sched);

/* Forgets the graph and what was said about its tensors: call it before the next graph is allocated. Memory is kept. */
GGML_API void ggml_backend_sched_reset(ggml_backend_sched_t sched);

/* Looks at results while a graph runs. Called for each node in order, first with ask = true: true when it wants the
 * node's value, and then again with ask = false when the value is there; false stops the computation. Nodes that
 * nobody asks for run together with the next one asked for. Set it before the graph is allocated; NULL for none. */
typedef bool (*ggml_backend_sched_eval_callback)(struct ggml_tensor * t, bool ask, void * user_data);
GGML_API void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched,
                                                   ggml_backend_sched_eval_callback callback, void * user_data);

/* ---------------------------------------------------------------- meta device
 *
 * Several devices as one, each with a part of every matrix. */

/* How a tensor is spread over the devices. */
enum ggml_backend_meta_split_axis {
    GGML_BACKEND_SPLIT_AXIS_0        = 0,  /* each device has a slice along this dimension */
    GGML_BACKEND_SPLIT_AXIS_1        = 1,
    GGML_BACKEND_SPLIT_AXIS_2        = 2,
    GGML_BACKEND_SPLIT_AXIS_3        = 3,
    GGML_BACKEND_SPLIT_AXIS_MIRRORED = 10, /* each has all of it */
    GGML_BACKEND_SPLIT_AXIS_PARTIAL  = 11, /* each has a summand: the value is their sum */
    GGML_BACKEND_SPLIT_AXIS_NONE     = 98, /* not spread */
    GGML_BACKEND_SPLIT_AXIS_UNKNOWN  = 99, /* not decided yet */
};

/* "0", "MIRRORED", ...; never NULL. */
GGML_API const char * ggml_backend_meta_split_axis_name(enum ggml_backend_meta_split_axis split_axis);

/* A tensor may be several matrices in one along the axis (query, key and value of attention), each of which is to be
 * spread by itself. Such a segment s repeats nr[s] times, and device j of n has ne[s*n + j] of each repeat. All of
 * them add up to the extent. */
struct ggml_backend_meta_split_state {
    enum ggml_backend_meta_split_axis axis;
    int64_t  ne[16 * GGML_BACKEND_META_MAX_DEVICES];
    uint32_t nr[16];
    uint32_t n_segments; /* at most 16; 1 for an ordinary tensor */
};

/* Decides for a weight; for results it is derived. */
typedef struct ggml_backend_meta_split_state (*ggml_backend_meta_get_split_state_t)(const struct ggml_tensor * tensor,
                                                                                     void * userdata);

/* Joins devices; NULL when this library cannot. */
GGML_API ggml_backend_dev_t ggml_backend_meta_device(ggml_backend_dev_t * devs, size_t n_devs,
                                                     ggml_backend_meta_get_split_state_t get_split_state,
                                                     void * get_split_state_ud);

/* ---------------------------------------------------------------- comparing backends */

/* A graph with all tensors that it depends on, in a buffer of another backend, with the same data. */
struct ggml_backend_graph_copy {
    ggml_backend_buffer_t buffer;
    struct ggml_context * ctx_allocated;   /* tensors with memory of their own */
    struct ggml_context * ctx_unallocated; /* views */
    struct ggml_cgraph *  graph;           /* nodes in the same order; NULL when the copy failed */
};

/* The graph has memory already. On failure all members are NULL. */
GGML_API struct ggml_backend_graph_copy ggml_backend_graph_copy(ggml_backend_t backend, struct ggml_cgraph * graph);
GGML_API void ggml_backend_graph_copy_free(struct ggml_backend_graph_copy copy);

/* Gets node number node_index as the two backends have computed it; true: go on. */
typedef bool (*ggml_backend_eval_callback)(int node_index, struct ggml_tensor * t1, struct ggml_tensor * t2,
                                           void * user_data);

/* Computes a graph on both backends node by node, each with the sources of its own, and calls back after each node;
 * with test_nodes, all at once, and calls back for those. False when a computation, or the copy, failed, or none of
 * the test nodes is in the graph. */
GGML_API bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2,
                                                 struct ggml_cgraph * graph, ggml_backend_eval_callback callback,
                                                 void * user_data, const struct ggml_tensor * const * test_nodes,
                                                 size_t num_test_nodes);

#ifdef __cplusplus
}
#endif

#endif /* GGML_BACKEND_H */
