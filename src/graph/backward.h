/* SPDX-License-Identifier: MIT
 *
 * The backward pass of ggml_build_backward_expand: what an operator's row calls to hand gradients to the sources of a
 * node.
 *
 * Reverse mode: nodes are visited from the last to the first, each with the complete gradient of the loss by its value,
 * and pass on the chain rule's terms to their sources. Terms for one tensor are added up; where the client gave an
 * accumulator (or for the loss), in its memory, so that several runs add up too.
 */
#ifndef GRAFT_GRAPH_BACKWARD_H
#define GRAFT_GRAPH_BACKWARD_H

#include "ggml-impl.h"

struct op_backward {
    struct ggml_context * ctx; /* of the nodes that are built */
    struct ggml_cgraph *  graph;
    struct ggml_hash_set  needed; /* tensors whose gradient somebody needs */
};

/* Is the gradient of this source asked for? Rows build nothing for others. NULL: no. */
bool op_grad_needed(const struct op_backward * pass, const struct ggml_tensor * src);

/* The gradient of src grows by a term of its shape; these do nothing when it is not needed. */
void op_grad_add(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term);
void op_grad_sub(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term);
/* The term is one value, for every element. */
void op_grad_add_scalar(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term);
/* The term is for a part of src: strides and offset in bytes of the gradient, which is f32 and contiguous. */
void op_grad_add_region(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term, size_t nb1,
                        size_t nb2, size_t nb3, size_t offset);

/* The node has no derivative that can be formed: records the fault (or aborts, as builders do). */
void op_grad_refuse(struct op_backward * pass, const struct ggml_tensor * node, const char * why);

/* ---- asked of the layer above, the operators ---- */

/* Calls the row of the node; false when it has no gradient. */
bool graph_hook_backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad);
/* Has source k no influence that a gradient could follow? */
bool graph_hook_grad_stops(const struct ggml_tensor * node, int k);

#endif /* GRAFT_GRAPH_BACKWARD_H */
