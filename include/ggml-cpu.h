/* SPDX-License-Identifier: MIT
 *
 * ggml-cpu.h: the CPU backend, its threads, direct computation of graphs, and single values of tensors.
 *
 * There are two ways to compute on the CPU. As a backend (ggml_backend_cpu_init and the functions of
 * ggml-backend.h), with memory from allocators: the usual one. Or directly, for graphs whose tensors have their data
 * in a context: ggml_graph_plan, memory of the caller, ggml_graph_compute.
 *
 * Sums have a fixed order, so that results do not depend on the number of threads. Which instruction set is used is
 * found out at run time; GRAFT_CPU=avx2 (or scalar, ...) in the environment sets a limit.
 */
#ifndef GGML_CPU_H
#define GGML_CPU_H

#include "ggml-backend.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- backend */

/* A CPU backend with GGML_DEFAULT_N_THREADS threads; NULL without memory. Free it with ggml_backend_free. */
GGML_BACKEND_API ggml_backend_t ggml_backend_cpu_init(void);

/* Is the backend one of these? NULL is none. The functions below abort for another one. */
GGML_BACKEND_API bool ggml_backend_is_cpu(ggml_backend_t backend);

/* Threads of the next computations, the calling one included: 1 to GGML_MAX_N_THREADS, other numbers are brought
 * there. May change from call to call. */
GGML_BACKEND_API void ggml_backend_cpu_set_n_threads(ggml_backend_t backend_cpu, int n_threads);

/* Runs the next computations in a pool of the caller's, which outlives its use and may serve several backends in
 * turn; the pool set before is paused. NULL: the backend's own pool, made when it is first needed. */
GGML_BACKEND_API void ggml_backend_cpu_set_threadpool(ggml_backend_t backend_cpu, ggml_threadpool_t threadpool);

/* Asked between the steps of a graph; true: the computation returns GGML_STATUS_ABORTED. NULL for none. */
GGML_BACKEND_API void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend_cpu,
                                                          ggml_abort_callback abort_callback,
                                                          void * abort_callback_data);

/* Asks for reference kernels. Every kernel here keeps the bound of its reference, so that nothing changes. */
GGML_BACKEND_API void ggml_backend_cpu_set_use_ref(ggml_backend_t backend_cpu, bool use_ref);

/* The registry of the CPU; initialises on the first call, as ggml_cpu_init does. Neither is needed before other
 * calls. Any thread. */
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_cpu_reg(void);
GGML_BACKEND_API void ggml_cpu_init(void);

/* ---------------------------------------------------------------- threads */

/* A pool as the parameters say; params is read during the call. The threads start with the first work. NULL, with a
 * text in the log, when n_threads is not in 1 to GGML_MAX_N_THREADS or there is no memory. One computation at a
 * time: another one that comes waits for its turn. A pool survives fork only in the parent; in the child it starts
 * anew. */
GGML_BACKEND_API struct ggml_threadpool * ggml_threadpool_new(struct ggml_threadpool_params * params);
GGML_BACKEND_API void ggml_threadpool_free(struct ggml_threadpool * threadpool);

GGML_BACKEND_API int ggml_threadpool_get_n_threads(struct ggml_threadpool * threadpool);

/* Paused workers sleep at once instead of spinning for a while, so that they take nothing from another pool. Work
 * wakes them all the same, and ends the pause. */
GGML_BACKEND_API void ggml_threadpool_pause(struct ggml_threadpool * threadpool);
GGML_BACKEND_API void ggml_threadpool_resume(struct ggml_threadpool * threadpool);

/* ---------------------------------------------------------------- direct computation */

/* How to compute a graph: made by ggml_graph_plan, completed by the caller. */
struct ggml_cplan {
    size_t    work_size; /* bytes of scratch memory that the graph takes */
    uint8_t * work_data; /* that many, from the caller; with NULL the pool's own memory is used */

    int                      n_threads;
    struct ggml_threadpool * threadpool; /* NULL: one is lent for the call */

    ggml_abort_callback abort_callback; /* or NULL; see ggml_backend_cpu_set_abort_callback */
    void *              abort_callback_data;

    bool use_ref; /* as ggml_backend_cpu_set_use_ref */
};

/* n_threads <= 0: those of the pool, or GGML_DEFAULT_N_THREADS. A graph that cannot be computed is told in the log,
 * and again as the status of ggml_graph_compute. */
GGML_BACKEND_API struct ggml_cplan ggml_graph_plan(const struct ggml_cgraph * cgraph, int n_threads,
                                                   struct ggml_threadpool * threadpool);

/* Computes the nodes in order. GGML_STATUS_FAILED for a node without a kernel, or when a kernel fails (an index
 * outside of its range); GGML_STATUS_ABORTED; GGML_STATUS_ALLOC_FAILED. */
GGML_BACKEND_API enum ggml_status ggml_graph_compute(struct ggml_cgraph * cgraph, struct ggml_cplan * cplan);

/* Both in one, with scratch memory from the context, which must have room for it. */
GGML_BACKEND_API enum ggml_status ggml_graph_compute_with_ctx(struct ggml_context * ctx, struct ggml_cgraph * cgraph,
                                                              int n_threads);

/* ---------------------------------------------------------------- memory nodes */

/* How threads and memory are spread over the memory nodes of a large machine. Memory lies where the thread runs that
 * writes it first; what the strategies add to that is up to the system. */
enum ggml_numa_strategy {
    GGML_NUMA_STRATEGY_DISABLED   = 0, /* nothing is done */
    GGML_NUMA_STRATEGY_DISTRIBUTE = 1, /* over all nodes */
    GGML_NUMA_STRATEGY_ISOLATE    = 2, /* on the node of the calling thread */
    GGML_NUMA_STRATEGY_NUMACTL    = 3, /* as the process was started */
    GGML_NUMA_STRATEGY_MIRROR     = 4, /* a copy of the weights on each node; not made here, with a warning */
    GGML_NUMA_STRATEGY_COUNT      = 5,
};

/* Once, before the first computation; later calls do nothing. Then: does the machine have several nodes? */
GGML_BACKEND_API void ggml_numa_init(enum ggml_numa_strategy numa);
GGML_BACKEND_API bool ggml_is_numa(void);

/* ---------------------------------------------------------------- single values
 *
 * For tests and small programs, on data in host memory: F32, F16, BF16, I32, I16, I8, with a conversion as in C. Any
 * other type aborts. Not checked: indices. */

/* A tensor of one value; in a no_alloc context the value is lost. */
GGML_BACKEND_API struct ggml_tensor * ggml_new_i32(struct ggml_context * ctx, int32_t value);
GGML_BACKEND_API struct ggml_tensor * ggml_new_f32(struct ggml_context * ctx, float value);

/* All values the same; returns the tensor. */
GGML_BACKEND_API struct ggml_tensor * ggml_set_i32(struct ggml_tensor * tensor, int32_t value);
GGML_BACKEND_API struct ggml_tensor * ggml_set_f32(struct ggml_tensor * tensor, float value);

/* Element i in row-major order, whatever the strides are. */
GGML_BACKEND_API int32_t ggml_get_i32_1d(const struct ggml_tensor * tensor, int i);
GGML_BACKEND_API void ggml_set_i32_1d(const struct ggml_tensor * tensor, int i, int32_t value);
GGML_BACKEND_API float ggml_get_f32_1d(const struct ggml_tensor * tensor, int i);
GGML_BACKEND_API void ggml_set_f32_1d(const struct ggml_tensor * tensor, int i, float value);

/* Element [i0, i1, i2, i3]. */
GGML_BACKEND_API int32_t ggml_get_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3);
GGML_BACKEND_API void ggml_set_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3, int32_t value);
GGML_BACKEND_API float ggml_get_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3);
GGML_BACKEND_API void ggml_set_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3, float value);

/* ---------------------------------------------------------------- number formats on the CPU */

/* Dot products of nrc rows of x with nrc rows of y, n values each: *s, and for more than one row results bs floats
 * apart, rows bx and by bytes apart. Here nrc is 1. */
typedef void (*ggml_vec_dot_t)(int n, float * GGML_RESTRICT s, size_t bs, const void * GGML_RESTRICT x, size_t bx,
                               const void * GGML_RESTRICT y, size_t by, int nrc);

struct ggml_type_traits_cpu {
    ggml_from_float_t from_float;   /* encoder; NULL where a format has no plain one */
    ggml_vec_dot_t    vec_dot;      /* rows of this type times rows of vec_dot_type; NULL: none */
    enum ggml_type    vec_dot_type; /* what activations are encoded to for it */
    int64_t           nrows;        /* rows that vec_dot takes at once */
};

/* Never NULL; all zero for types that the CPU has no functions for. */
GGML_BACKEND_API const struct ggml_type_traits_cpu * ggml_get_type_traits_cpu(enum ggml_type type);

/* n values converted as ggml.h says for one; I32 by cutting off the fraction. */
GGML_BACKEND_API void ggml_cpu_fp32_to_fp32(const float * x, float * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp32_to_i32(const float * x, int32_t * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp32_to_fp16(const float * x, ggml_fp16_t * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp16_to_fp32(const ggml_fp16_t * x, float * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_fp32_to_bf16(const float * x, ggml_bf16_t * y, int64_t n);
GGML_BACKEND_API void ggml_cpu_bf16_to_fp32(const ggml_bf16_t * x, float * y, int64_t n);

/* ---------------------------------------------------------------- instruction sets
 *
 * 1 where this processor has it, and the library is built to make use of it, else 0. To find out on any machine,
 * also one for which the kernels were not made, ask "ggml_backend_get_features" (ggml-backend.h), which lists what
 * is true alone. */

/* x86. */
GGML_BACKEND_API int ggml_cpu_has_sse3(void);
GGML_BACKEND_API int ggml_cpu_has_ssse3(void);
GGML_BACKEND_API int ggml_cpu_has_avx(void);
GGML_BACKEND_API int ggml_cpu_has_avx_vnni(void);
GGML_BACKEND_API int ggml_cpu_has_avx2(void);
GGML_BACKEND_API int ggml_cpu_has_bmi2(void);
GGML_BACKEND_API int ggml_cpu_has_f16c(void);
GGML_BACKEND_API int ggml_cpu_has_fma(void);
GGML_BACKEND_API int ggml_cpu_has_avx512(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_vbmi(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_vnni(void);
GGML_BACKEND_API int ggml_cpu_has_avx512_bf16(void);
GGML_BACKEND_API int ggml_cpu_has_amx_int8(void);

/* Arm; bytes of an SVE vector, 0 without. */
GGML_BACKEND_API int ggml_cpu_has_neon(void);
GGML_BACKEND_API int ggml_cpu_has_arm_fma(void);
GGML_BACKEND_API int ggml_cpu_has_fp16_va(void);
GGML_BACKEND_API int ggml_cpu_has_dotprod(void);
GGML_BACKEND_API int ggml_cpu_has_matmul_int8(void);
GGML_BACKEND_API int ggml_cpu_has_sve(void);
GGML_BACKEND_API int ggml_cpu_get_sve_cnt(void);
GGML_BACKEND_API int ggml_cpu_has_sme(void);
GGML_BACKEND_API int ggml_cpu_has_sme2(void);

/* RISC-V, with the bytes of a vector; Power; z/Architecture; WebAssembly. */
GGML_BACKEND_API int ggml_cpu_has_riscv_v(void);
GGML_BACKEND_API int ggml_cpu_get_rvv_vlen(void);
GGML_BACKEND_API int ggml_cpu_has_vsx(void);
GGML_BACKEND_API int ggml_cpu_has_vxe(void);
GGML_BACKEND_API int ggml_cpu_has_wasm_simd(void);

/* Matrix kernels of the llamafile project in the build. */
GGML_BACKEND_API int ggml_cpu_has_llamafile(void);

#ifdef __cplusplus
}
#endif

#endif /* GGML_CPU_H */
