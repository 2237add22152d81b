/* SPDX-License-Identifier: MIT
 *
 * ggml-alloc.h: memory for tensors and graphs.
 *
 * Three ways, from the plain to the planned. A linear allocator puts tensors one after another into a buffer that
 * exists. One call gives memory to all tensors of a context: weights, caches, inputs. A graph allocator finds out
 * how long each result of a graph is needed and lets results that never live at once share memory; it is what
 * computation uses.
 *
 * Tensors come from a no_alloc context and have no data before. Memory is a buffer of a device (ggml-backend.h) and
 * ends with it; tensors point into it and are not told when it goes. A text of what failed is in the log and in
 * ggml_ext_last_error. None of these objects may be used by two threads at once.
 */
#ifndef GGML_ALLOC_H
#define GGML_ALLOC_H

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_backend_buffer_type * ggml_backend_buffer_type_t; /* a kind of memory */
typedef struct ggml_backend_buffer *      ggml_backend_buffer_t;      /* a piece of it */
typedef struct ggml_backend *             ggml_backend_t;             /* what computes */

/* ---------------------------------------------------------------- linear */

/* A value, not an object: copy it to remember a place, drop it when done. It does not own the buffer. */
struct ggml_tallocr {
    ggml_backend_buffer_t buffer;
    void *                base;      /* where the buffer begins */
    size_t                alignment; /* of each tensor, in bytes: that of the buffer type */
    size_t                offset;    /* of the next tensor, in bytes */
};

/* Begins at the start of the buffer. */
GGML_API struct ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer);

/* Places a tensor behind the last one. GGML_STATUS_ALLOC_FAILED when it does not fit, GGML_STATUS_FAILED when it has
 * memory already or is a view. */
GGML_API enum ggml_status ggml_tallocr_alloc(struct ggml_tallocr * talloc, struct ggml_tensor * tensor);

/* ---------------------------------------------------------------- graphs */

/* Plans the memory of graphs and keeps buffers for it, one for each buffer type, or several pieces where the type
 * has a greatest size. A result is laid over a source that nobody reads any more where the operator allows that.
 * What the program sees is left alone: inputs (GGML_TENSOR_FLAG_INPUT) and leafs have their place before the first
 * node runs, outputs and results that no node reads keep theirs; tensors that have memory already are not touched.
 *
 * Usual course: reserve with the largest graph that will come, then alloc_graph for each graph before it is computed.
 */
typedef struct ggml_gallocr * ggml_gallocr_t;

/* For one buffer type, or for several that tensors name by index; equal types share one buffer. NULL without memory.
 * The buffers are made when they are first needed. */
GGML_API ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft);
GGML_API ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t * bufts, int n_bufs);

/* Frees the allocator and its buffers. NULL is fine. */
GGML_API void ggml_gallocr_free(ggml_gallocr_t galloc);

/* Plans a graph and makes the buffers so large that every later graph of this shape, or a smaller one, fits without
 * a new allocation. False when a buffer cannot be had. Nothing is given to the tensors yet. _n: with several buffer
 * types, node_buffer_ids[i] and leaf_buffer_ids[i] name that of node i and leaf i; NULL stands for all 0. */
GGML_API bool ggml_gallocr_reserve(ggml_gallocr_t galloc, struct ggml_cgraph * graph);
GGML_API bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, struct ggml_cgraph * graph, const int * node_buffer_ids,
                                     const int * leaf_buffer_ids);

/* Only measures: writes for each buffer type the bytes that reserve_n would have. Allocates no buffer, and keeps a
 * plan that exists. All SIZE_MAX when the graph cannot be planned. */
GGML_API void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, struct ggml_cgraph * graph,
                                          const int * node_buffer_ids, const int * leaf_buffer_ids, size_t * sizes);

/* Gives every tensor of the graph that has no memory its place. With one buffer type, a graph that the plan does not
 * fit is planned anew (and the buffer made larger, so that addresses from before are no longer good); with several,
 * that is an error: only a call of reserve_n can say where its tensors go. False on failure, and the tensors are as
 * they were. */
GGML_API bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, struct ggml_cgraph * graph);

/* Bytes of a buffer; 0 for an index whose type an earlier index has as well. */
GGML_API size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id);

/* ---------------------------------------------------------------- whole contexts */

/* A buffer with room for all tensors of ctx that have no memory, in their order, and the tensors placed in it; views
 * are placed with what they look at. Beyond the buffer type's greatest size it is made of several buffers, which act
 * as one. NULL on failure, with the tensors as they were, and also when no tensor needed memory. The caller frees it
 * with ggml_backend_buffer_free. The second form takes the default buffer type of a backend. */
GGML_API struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors_from_buft(struct ggml_context * ctx,
                                                                               ggml_backend_buffer_type_t buft);
GGML_API struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors(struct ggml_context * ctx, ggml_backend_t backend);

/* The bytes that this would take, without taking them; SIZE_MAX when they cannot be counted. */
GGML_API size_t ggml_backend_alloc_ctx_tensors_from_buft_size(struct ggml_context * ctx,
                                                              ggml_backend_buffer_type_t buft);

#ifdef __cplusplus
}
#endif

#endif /* GGML_ALLOC_H */
