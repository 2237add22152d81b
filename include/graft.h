/* SPDX-License-Identifier: MIT
 *
 * graft.h: what graft has beyond the interface of ggml.
 *
 * Checked mode. The builders of ggml.h (ggml_add, ggml_mul_mat, ...) abort the process when they are given shapes or types
 * that make no sense: that is their contract, and programs rely on it. In a context switched to checked mode they
 * return NULL instead; a builder that is given NULL returns NULL, so that a whole graph can be written down and
 * checked once at its end; and the context keeps the first error.
 */
#ifndef GRAFT_H
#define GRAFT_H

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Switches checked mode of a context on or off. Off at ggml_init. ggml_reset leaves it and forgets the error. */
GGML_API void graft_set_checked(struct ggml_context * ctx, bool checked);
GGML_API bool graft_get_checked(const struct ggml_context * ctx);

/* Status and text of the first error since the context was made, switched or reset: GGML_STATUS_SUCCESS and "" when
 * there was none. The text names the operator, the tensors with their shapes, and what was expected. It belongs to the context. */
GGML_API enum ggml_status graft_context_status(const struct ggml_context * ctx);
GGML_API const char *     graft_context_error(const struct ggml_context * ctx);

/* Version of graft itself ("0.1.0"); ggml_version() names the interface that it keeps. */
GGML_API const char * graft_version(void);

#ifdef __cplusplus
}
#endif

#endif /* GRAFT_H */
