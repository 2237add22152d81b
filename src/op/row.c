/* SPDX-License-Identifier: MIT
 *
 * The table of operators, expanded from op.inc, and all that is read from it: names, symbols, aliasing, cost.
 */
#include "op/check.h"

#define OP(constant, basename) [GGML_OP_##constant] = &op_row_##basename,
static const struct op_row * const rows[GGML_OP_COUNT] = {
#include "op/op.inc"
};
#undef OP

#define UNKNOWN "unknown"

const char * (*op_desc_hook)(const struct ggml_tensor * node);

const struct op_row * op_row_get(enum ggml_op op) {
    const unsigned i = (unsigned) op; /* negative values become large ones */
    return i < GGML_OP_COUNT ? rows[i] : NULL;
}

struct op_cost op_cost_of(const struct ggml_tensor * node) {
    const struct op_row * row = op_row_get(node->op);
    return row != NULL && row->cost != NULL ? row->cost(node) : op_cost_bytes(node);
}

bool ggml_op_can_inplace(enum ggml_op op) {
    const struct op_row * row = op_row_get(op);
    return row != NULL && row->inplace_alloc;
}

const char * ggml_op_name(enum ggml_op op) {
    const struct op_row * row = op_row_get(op);
    return row != NULL ? row->name : UNKNOWN;
}

const char * ggml_op_symbol(enum ggml_op op) {
    const struct op_row * row = op_row_get(op);
    return row != NULL ? row->symbol : UNKNOWN;
}

const char * ggml_op_desc(const struct ggml_tensor * t) {
    if (t->op == GGML_OP_UNARY) {
        return ggml_unary_op_name((enum ggml_unary_op) op_get_i32(t, 0));
    }
    if (t->op == GGML_OP_GLU) {
        return ggml_glu_op_name((enum ggml_glu_op) op_get_i32(t, 0));
    }
    if (t->op == GGML_OP_CUSTOM && op_desc_hook != NULL) {
        const char * name = op_desc_hook(t);
        if (name != NULL) {
            return name;
        }
    }
    return ggml_op_name(t->op);
}
