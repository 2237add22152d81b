/* SPDX-License-Identifier: MIT
 *
 * graft.h: what graft has beyond the interface of ggml.
 *
 * Checked mode. The builders of ggml.h (ggml_add, ggml_mul_mat, ...) abort the process when they are given shapes or
 * types that make no sense, or when the context is full: that is their contract, and programs rely on it. In a
 * context switched to checked mode they return NULL instead; a builder that is given NULL returns NULL, so that a
 * whole graph can be written down and checked once at its end; and the context keeps the first error, the one that
 * caused all others.
 *
 *   graft_set_checked(ctx, true);
 *   struct ggml_tensor * y = ggml_add(ctx, ggml_mul_mat(ctx, w, x), b);
 *   if (y == NULL) {
 *       fprintf(stderr, "%s\n", graft_context_error(ctx));
 *   }
 *
 * The mode belongs to the context, not to the thread or the process. Graph functions (ggml_new_graph,
 * ggml_build_forward_expand, ggml_build_backward_expand) follow it too: by the context of the graph.
 */
#ifndef GRAFT_H
#define GRAFT_H

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Switches checked mode of a context on or off, and forgets the error. Off at ggml_init. ggml_reset leaves the mode and
 * forgets the error. */
GGML_API void graft_set_checked(struct ggml_context * ctx, bool checked);
GGML_API bool graft_get_checked(const struct ggml_context * ctx);

/* Status and text of the first error since the context was made, switched or reset: GGML_STATUS_SUCCESS and "" when
 * there was none. GGML_STATUS_ALLOC_FAILED: the context has no room; GGML_STATUS_FAILED: anything else. The text
 * names the operator, the tensors with their shapes, and what was expected. It belongs to the context and changes
 * with its errors. */
GGML_API enum ggml_status graft_context_status(const struct ggml_context * ctx);
GGML_API const char *     graft_context_error(const struct ggml_context * ctx);

/* Version of graft itself ("0.1.0"), by semantic versioning; ggml_version() names the interface that it keeps. */
GGML_API const char * graft_version(void);

#ifdef __cplusplus
}
#endif

#endif /* GRAFT_H */
