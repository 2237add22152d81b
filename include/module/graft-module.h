/* SPDX-License-Identifier: MIT
 *
 * graft-module.h: what the core and graft's own device modules share beyond ggml's module headers: kernel rows of a
 * device, plans (a graph resolved to steps), and the team that runs them.
 *
 * A device module that knows nothing of this works as it does with ggml: its graph_compute gets whole graphs, or the
 * ranges between nodes that extensions run. A module that has a team (the CPU) registers its own kernels as rows at
 * priority 0 and gets every step through the team.
 *
 * Functions that return a status leave a text for ggml_ext_last_error when they fail. Registration may happen on any
 * thread; a plan is made and run by one thread at a time. This header is for modules that are built together with
 * the core: unlike those of ggml, its structures may change with any version.
 */
#ifndef GRAFT_MODULE_H
#define GRAFT_MODULE_H

#include "ggml-backend.h"
#include "ggml-ext.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- steps and plans */

/* One unit of work of a plan: a kernel on its nodes, or (kernel NULL) a range of nodes for the device's own code. */
struct graft_step {
    const struct ggml_ext_kernel_desc * kernel;
    void *                              plan; /* what the kernel's prepare made */
    struct ggml_tensor **               nodes; /* in graph order; several for a fused group, or a range */
    int                                 n_nodes;
    int                                 first_node, last_node; /* their indexes in the graph (a group may have gaps) */
    int                                 max_workers;           /* 0: all there are */
    void *                              workspace;      /* where it lies; NULL: where graft_plan_run is told */
    size_t                              workspace_size; /* bytes, shared by the workers */
    size_t                              worker_size;    /* bytes for each worker */
    bool                                barrier; /* workers wait for each other after this step: a later one needs it */
    void *                              row;     /* private: the row in the table, for counters */
};

/* The steps of one graph on one backend. */
struct graft_plan;

/* Resolves a graph: picks kernels, prepares them, finds where barriers are needed. *plan may come with an older plan
 * of the same backend, whose memory is used again; on failure it is freed and NULL. Every node without a kernel is
 * an error. */
GGML_API enum ggml_status graft_plan_make(ggml_backend_t backend, struct ggml_cgraph * graph,
                                          struct graft_plan ** plan);
GGML_API void             graft_plan_free(struct graft_plan * plan);

/* Was a kernel registered or a policy changed on the device since the plan was made? It must then be made anew. */
GGML_API bool graft_plan_is_stale(ggml_backend_t backend, const struct graft_plan * plan);

/* The steps in the order in which they run; they belong to the plan. */
GGML_API int                       graft_plan_n_steps(const struct graft_plan * plan);
GGML_API const struct graft_step * graft_plan_steps(const struct graft_plan * plan);

/* Bytes: the greatest workspace of a step, and the greatest memory per worker. */
GGML_API size_t graft_plan_workspace_size(const struct graft_plan * plan);
GGML_API size_t graft_plan_worker_size(const struct graft_plan * plan);

/* Gives one step a workspace of its own (of its workspace_size, 64-byte aligned), so that workspaces can be planned
 * among the tensors of the graph. Steps whose workspaces overlap are kept apart. */
GGML_API void graft_plan_set_workspace(struct graft_plan * plan, int step, void * workspace);

/* Finds where workers must wait for each other; graft_plan_run does it when needed. Data addresses must be there. */
GGML_API void graft_plan_link(struct graft_plan * plan, const void * workspace);

/* Runs all steps. workspace: at least graft_plan_workspace_size bytes, 64-byte aligned, in host memory; NULL: the
 * steps have workspaces of their own or need none, or the device's team brings memory. */
GGML_API enum ggml_status graft_plan_run(ggml_backend_t backend, struct graft_plan * plan, void * workspace);

/* ---------------------------------------------------------------- a device with kernels of its own */

/* Registers a kernel of the device itself, at priority 0: the device's answer to supports_op comes from these rows. The
 * descriptor is static data of the module and is not copied. */
GGML_API enum ggml_status graft_register_native(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * desc);
/* The same for a kernel that reads a packed weight layout: it is asked only about nodes with a source in that buffer type, and from
 * the first such registration on no other row of the device is asked about them. */
GGML_API enum ggml_status graft_register_packed(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * desc,
                                                ggml_backend_buffer_type_t layout);

/* Runs steps [first, first + n) of a plan, workspace of workspace_size bytes. Called on the thread that computes. */
typedef enum ggml_status (*graft_team_run_fn)(ggml_backend_t backend, const struct graft_plan * plan, int first, int n,
                                              void * workspace, size_t workspace_size);
GGML_API void graft_device_set_team(ggml_backend_dev_t device, graft_team_run_fn run);

/* Does a row of the device, native or added, run this node? */
GGML_API bool graft_device_has_kernel(ggml_backend_dev_t device, const struct ggml_tensor * node);

/* ---------------------------------------------------------------- small services */

/* Error text of the calling thread, for modules: stores it and returns status. */
GGML_API enum ggml_status graft_fail(enum ggml_status status, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

/* The operating system's environment as the core reads it: NULL in a setuid process. */
GGML_API const char * graft_getenv(const char * name);

/* Places the calling thread: on the processors of mask (n entries; NULL: as it is), one of them when strict >= 0
 * (the strict-th, in turn), at a priority of enum ggml_sched_priority. Best effort: what the system refuses is left
 * as it is. */
GGML_API void graft_thread_place(const bool * mask, int n, int strict, int priority);

/* The processor's brand string, cut at n bytes; the machine's memory in bytes; the processors that this process may
 * use. */
GGML_API void graft_cpu_name(char * text, size_t n);
GGML_API void graft_memory(size_t * free, size_t * total);
GGML_API int  graft_cpu_count(void);

/* Decoder and encoder of a number format for internal use, also where ggml_get_type_traits shows none. NULL when it
 * has none. */
GGML_API ggml_to_float_t   graft_type_decoder(enum ggml_type type);
GGML_API ggml_from_float_t graft_type_encoder(enum ggml_type type);

#ifdef __cplusplus
}
#endif

#endif /* GRAFT_MODULE_H */
