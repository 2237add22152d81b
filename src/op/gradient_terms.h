/* SPDX-License-Identifier: MIT
 *
 * Forms of gradient terms that several operators need.
 */
#ifndef GRAFT_OP_GRADIENT_TERMS_H
#define GRAFT_OP_GRADIENT_TERMS_H

#include "graph/backward.h"

/* A term for a source that was repeated to the term's shape: the sum over its repetitions. */
struct ggml_tensor * op_term_folded(struct op_backward * pass, struct ggml_tensor * term,
                                    const struct ggml_tensor * like);

/* The same elements in the shape of a tensor, contiguous. */
struct ggml_tensor * op_term_reshaped(struct op_backward * pass, struct ggml_tensor * term,
                                      const struct ggml_tensor * like);

struct ggml_tensor * op_term_contiguous(struct op_backward * pass, struct ggml_tensor * term);

/* grad_stops of operators whose source 1 holds indices, positions or a shape. */
bool op_grad_stops_at_src1(const struct ggml_tensor * node, int k);

#endif /* GRAFT_OP_GRADIENT_TERMS_H */
