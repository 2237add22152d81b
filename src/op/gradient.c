/* SPDX-License-Identifier: MIT
 *
 * What the backward pass of src/graph asks about operators, answered from their rows.
 */
#include "graph/backward.h"
#include "op/op.h"

bool graph_hook_backward(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad) {
    const struct op_row * row = op_row_get(node->op);
    if (row == NULL || row->backward == NULL) {
        return false;
    }
    row->backward(pass, node, grad);
    return true;
}

bool graph_hook_grad_stops(const struct ggml_tensor * node, int k) {
    const struct op_row * row = op_row_get(node->op);
    return row != NULL && row->grad_stops != NULL && row->grad_stops(node, k);
}
