/* SPDX-License-Identifier: MIT
 *
 * A graph by numbers: each tensor that takes part is looked up by its address once, and all passes over the graph work
 * on arrays.
 */
#ifndef GRAFT_PLAN_NUMBER_H
#define GRAFT_PLAN_NUMBER_H

#include "ggml-impl.h"
#include "plan/array.h"
#include "plan/map.h"

/* A node (k = -1) or its source k. */
struct plan_ref {
    int32_t number;
    int32_t k;
};

struct plan_numbers {
    struct plan_map map;
    PLAN_ARRAY(struct ggml_tensor *) tensors; /* by number */
    PLAN_ARRAY(int32_t) viewed;               /* by number: of what the tensor views, or -1. Always smaller */
    PLAN_ARRAY(int32_t) leafs;                /* numbers of the graph's leafs */
    PLAN_ARRAY(struct plan_ref) refs;         /* of each node: itself, then its sources */
    PLAN_ARRAY(int32_t) first;                /* by node: where its refs begin; one more element than nodes */
};

void plan_numbers_clear(struct plan_numbers * numbers);
void plan_numbers_free(struct plan_numbers * numbers);

/* Number of a tensor, a new one if need be: then what it views has one too. -1, with a text, when there is no memory.
 */
int32_t plan_numbers_of(struct plan_numbers * numbers, struct ggml_tensor * tensor);

/* A number for a tensor that nobody will look up by its address, and which views nothing. */
int32_t plan_numbers_append(struct plan_numbers * numbers, struct ggml_tensor * tensor);

/* Numbers all tensors of a graph: leafs first, then each node and its sources. False, with a text, when there is no
 * memory. */
bool plan_numbers_graph(struct plan_numbers * numbers, const struct ggml_cgraph * graph);

/* The tensor whose memory a tensor lies in. */
static inline int32_t plan_numbers_root(const struct plan_numbers * numbers, int32_t number) {
    while (numbers->viewed.items[number] >= 0) {
        number = numbers->viewed.items[number];
    }
    return number;
}

/* Operators that compute nothing and whose result is their source under another label. */
static inline bool plan_is_label(const struct ggml_tensor * tensor) {
    return tensor->op != GGML_OP_NONE && ggml_op_is_empty(tensor->op) && tensor->view_src != NULL;
}

#endif /* GRAFT_PLAN_NUMBER_H */
