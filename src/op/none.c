/* SPDX-License-Identifier: MIT
 *
 * NONE: tensors that no operator computes, weights and inputs. Builders are in src/graph/tensor.c.
 */
#include "op/op.h"

static void backward_none(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    GGML_UNUSED(pass); /* a leaf: gradients end here */
    GGML_UNUSED(node);
    GGML_UNUSED(grad);
}

static struct op_cost cost_none(const struct ggml_tensor * node) {
    GGML_UNUSED(node);
    return (struct op_cost) { 0, 0 };
}

const struct op_row op_row_none = {
    .op       = GGML_OP_NONE,
    .name     = "NONE",
    .symbol   = "none",
    .backward = backward_none,
    .cost     = cost_none,
};
