/* SPDX-License-Identifier: MIT
 *
 * Common parts of the operators that change labels only.
 */
#include "op/label.h"

#include "op/check.h"

enum ggml_status label_check_view(const struct ggml_tensor * node, size_t offset) {
    const struct ggml_tensor * src  = node->src[0];
    const struct ggml_tensor * root = src->view_src != NULL ? src->view_src : src;
    const size_t               base = src->view_src != NULL ? src->view_offs : 0;
    if (node->type != src->type) {
        return op_refuse(node, "a view has the type of its source");
    }
    if (node->view_src != root || node->view_offs != base + offset) {
        return op_refuse(node, "the result must be a view of source 0 at offset %zu", offset);
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status label_check_axes(const struct ggml_tensor * node, const int32_t axes[GGML_MAX_DIMS]) {
    const struct ggml_tensor * src   = node->src[0];
    unsigned                   taken = 0;
    OP_TRY(op_check_sane(node));
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (axes[i] < 0 || axes[i] >= GGML_MAX_DIMS || (taken & (1u << axes[i])) != 0) {
            return op_refuse(node, "the axes must be 0, 1, 2, 3 in any order, found %d, %d, %d, %d", axes[0], axes[1],
                             axes[2], axes[3]);
        }
        taken |= 1u << axes[i];
    }
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (node->ne[axes[i]] != src->ne[i] || node->nb[axes[i]] != src->nb[i]) {
            return op_refuse(node, "dimension %d of source 0 must become dimension %d of the result", i, axes[i]);
        }
    }
    return label_check_view(node, 0);
}

void label_move_axes(struct op_draft * draft, const struct ggml_tensor * a, const int32_t axes[GGML_MAX_DIMS]) {
    int64_t ne[GGML_MAX_DIMS];
    size_t  nb[GGML_MAX_DIMS];
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        ne[axes[i]] = a->ne[i];
        nb[axes[i]] = a->nb[i];
    }
    op_shape(draft, a->type, ne[0], ne[1], ne[2], ne[3]);
    op_strides(draft, nb[0], nb[1], nb[2], nb[3]);
}

struct op_cost label_cost(const struct ggml_tensor * node) {
    GGML_UNUSED(node);
    return (struct op_cost) { 0, 0 };
}
