/* SPDX-License-Identifier: MIT
 *
 * The ggml_context with the tensors of a file.
 */
#ifndef GRAFT_GGUF_LOAD_H
#define GRAFT_GGUF_LOAD_H

#include "gguf/context.h"
#include "gguf/source.h"

/* Makes *data: a context with one tensor for each of the file, in its order. With no_alloc they have no data; else the
 * data section, which begins at the source's position, is read into a first tensor that they point into. On failure
 * (text formed) *data may be set and is the caller's to free. */
bool gguf_load_tensors(struct gguf_context * ctx, struct gguf_source * source, bool no_alloc,
                       struct ggml_context ** data);

#endif /* GRAFT_GGUF_LOAD_H */
