/* SPDX-License-Identifier: MIT
 *
 * Contexts: one arena of fixed size in which descriptors of tensors, graphs and small buffers lie one behind the other,
 * each after a header of 32 bytes.
 */
#ifndef GRAFT_GRAPH_CONTEXT_H
#define GRAFT_GRAPH_CONTEXT_H

#include "ggml.h"
#include "graft.h"

/* A new object of `size` bytes at the end of the arena, aligned to GGML_MEM_ALIGN and not cleared. NULL when it does
 * not fit: the text is formed, and the caller decides what becomes of it. */
void * context_new_object(struct ggml_context * ctx, enum ggml_object_type type, size_t size);

/* Bytes that an object takes in the arena beside its own. */
size_t context_object_overhead(void);

/* The consequence of a builder's fault, whose text is base_error_text(). In a context in checked mode it is kept as the
 * first error, if there was none; otherwise the process is aborted with the text. The one place where builders abort.
 */
void context_fault(struct ggml_context * ctx, enum ggml_status status);

/* Memory outside the arena (graphs that outgrow it) that lives until ggml_free or ggml_reset. NULL when there is none;
 * text formed. */
void * context_chain_block(struct ggml_context * ctx, size_t size);

#endif /* GRAFT_GRAPH_CONTEXT_H */
