/* SPDX-License-Identifier: MIT
 *
 * What the operators that change labels only (view, reshape, permute, transpose) share.
 */
#ifndef GRAFT_OP_LABEL_H
#define GRAFT_OP_LABEL_H

#include "op/op.h"

/* The node is a view of its source's bytes, of its type, `offset` bytes further. */
enum ggml_status label_check_view(const struct ggml_tensor * node, size_t offset);

/* Source dimension i has become dimension axes[i], with its stride. */
enum ggml_status label_check_axes(const struct ggml_tensor * node, const int32_t axes[GGML_MAX_DIMS]);

/* Puts the source's dimensions in that order. The axes are a permutation. */
void label_move_axes(struct op_draft * draft, const struct ggml_tensor * a, const int32_t axes[GGML_MAX_DIMS]);

/* Nothing is read or written. */
struct op_cost label_cost(const struct ggml_tensor * node);

#endif /* GRAFT_OP_LABEL_H */
