/* SPDX-License-Identifier: MIT
 *
 * Making descriptors of tensors, with arithmetic on shapes that says when it overflows.
 */
#ifndef GRAFT_GRAPH_TENSOR_H
#define GRAFT_GRAPH_TENSOR_H

#include <string.h>

#include "ggml.h"

/* Strides and bytes of a contiguous tensor. Fails, with a text, on an unknown type, a negative extent, a first extent
 * that is no multiple of the type's block, and numbers of elements or bytes beyond 63 bits. */
enum ggml_status graph_contiguous_layout(enum ggml_type type, const int64_t ne[GGML_MAX_DIMS], size_t nb[GGML_MAX_DIMS],
                                         size_t * bytes);

/* ggml_nbytes for strides that nobody has checked: distance from the first byte to the end of the last element. False
 * when it exceeds 63 bits, as it does with a stride that was negative once. Type and extents as graph_contiguous_layout
 * accepts them. */
bool graph_strided_bytes(enum ggml_type type, const int64_t ne[GGML_MAX_DIMS], const size_t nb[GGML_MAX_DIMS],
                         size_t * bytes);

/* Do `bytes` bytes at an offset from src lie inside the tensor that src is a view of (or src itself)? No bytes fit
 * anywhere. */
bool graph_view_fits(const struct ggml_tensor * src, size_t offset, size_t bytes);

/* All members zero: small pieces, which compilers turn into a few stores. */
static inline void graph_clear_tensor(struct ggml_tensor * t) {
    t->type   = (enum ggml_type) 0;
    t->buffer = NULL;
    memset(t->ne, 0, sizeof(t->ne));
    memset(t->nb, 0, sizeof(t->nb));
    t->op = GGML_OP_NONE;
    memset(t->op_params, 0, sizeof(t->op_params));
    t->flags = 0;
    memset(t->src, 0, sizeof(t->src));
    t->view_src  = NULL;
    t->view_offs = 0;
    t->data      = NULL;
    memset(t->name, 0, sizeof(t->name));
    t->extra = NULL;
    memset(t->padding, 0, sizeof(t->padding));
}

/* A new contiguous tensor, op NONE. Its data lies behind the descriptor, unless the context is no_alloc. NULL after a
 * fault in checked mode. */
struct ggml_tensor * graph_new_tensor(struct ggml_context * ctx, enum ggml_type type, const int64_t ne[GGML_MAX_DIMS]);

/* The same where the layout is known and checked: `bytes` as graph_contiguous_layout says, strides perhaps in another
 * order. */
struct ggml_tensor * graph_new_laid_out(struct ggml_context * ctx, enum ggml_type type, const int64_t ne[GGML_MAX_DIMS],
                                        const size_t nb[GGML_MAX_DIMS], size_t bytes);

/* A new view, op NONE, of src at an offset. When src is a view itself, the result is a view of its root. Extents and
 * strides are taken as they are: the caller has checked them, and gives the view its name. */
struct ggml_tensor * graph_new_view(struct ggml_context * ctx, enum ggml_type type, const int64_t ne[GGML_MAX_DIMS],
                                    const size_t nb[GGML_MAX_DIMS], struct ggml_tensor * src, size_t offset);

#endif /* GRAFT_GRAPH_TENSOR_H */
