/* SPDX-License-Identifier: MIT
 *
 * Numbering the tensors of a graph.
 */
#include "plan/number.h"

#include <stdlib.h>

#include "base/status.h"

void plan_numbers_clear(struct plan_numbers * numbers) {
    plan_map_clear(&numbers->map);
    numbers->tensors.n = 0;
    numbers->viewed.n  = 0;
    numbers->leafs.n   = 0;
    numbers->refs.n    = 0;
    numbers->first.n   = 0;
}

void plan_numbers_free(struct plan_numbers * numbers) {
    plan_map_free(&numbers->map);
    free(numbers->tensors.items);
    free(numbers->viewed.items);
    free(numbers->leafs.items);
    free(numbers->refs.items);
    free(numbers->first.items);
    memset(numbers, 0, sizeof(*numbers));
}

static bool room_for_tensor(struct plan_numbers * numbers) {
    return PLAN_ARRAY_ROOM(numbers->tensors) && PLAN_ARRAY_RESERVE(numbers->viewed, numbers->tensors.n + 1);
}

static int32_t add_tensor(struct plan_numbers * numbers, struct ggml_tensor * tensor, int32_t viewed) {
    const int32_t number           = (int32_t) numbers->tensors.n++;
    numbers->tensors.items[number] = tensor;
    numbers->viewed.items[number]  = viewed;
    return number;
}

int32_t plan_numbers_of(struct plan_numbers * numbers, struct ggml_tensor * tensor) {
    int32_t known = plan_map_find(&numbers->map, tensor);
    if (known >= 0) {
        return known;
    }
    const int32_t viewed = tensor->view_src != NULL ? plan_numbers_of(numbers, tensor->view_src) : -1;
    if ((tensor->view_src != NULL && viewed < 0) || !room_for_tensor(numbers)) {
        return -1;
    }
    if (!plan_map_add(&numbers->map, tensor, (int32_t) numbers->tensors.n)) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory to number the tensors of a graph");
        return -1;
    }
    return add_tensor(numbers, tensor, viewed);
}

int32_t plan_numbers_append(struct plan_numbers * numbers, struct ggml_tensor * tensor) {
    return room_for_tensor(numbers) ? add_tensor(numbers, tensor, -1) : -1;
}

static bool number_node(struct plan_numbers * numbers, struct ggml_tensor * node) {
    if (!PLAN_ARRAY_RESERVE(numbers->refs, numbers->refs.n + 1 + GGML_MAX_SRC)) {
        return false;
    }
    const int32_t number = plan_numbers_of(numbers, node);
    if (number < 0) {
        return false;
    }
    numbers->refs.items[numbers->refs.n++] = (struct plan_ref){number, -1};
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] == NULL) {
            continue;
        }
        const int32_t source = plan_numbers_of(numbers, node->src[k]);
        if (source < 0) {
            return false;
        }
        numbers->refs.items[numbers->refs.n++] = (struct plan_ref){source, k};
    }
    return true;
}

bool plan_numbers_graph(struct plan_numbers * numbers, const struct ggml_cgraph * graph) {
    if (!PLAN_ARRAY_RESERVE(numbers->leafs, (size_t) graph->n_leafs) ||
        !PLAN_ARRAY_RESERVE(numbers->first, (size_t) graph->n_nodes + 1)) {
        return false;
    }
    for (int i = 0; i < graph->n_leafs; i++) {
        const int32_t number = plan_numbers_of(numbers, graph->leafs[i]);
        if (number < 0) {
            return false;
        }
        numbers->leafs.items[numbers->leafs.n++] = number;
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        numbers->first.items[numbers->first.n++] = (int32_t) numbers->refs.n;
        if (!number_node(numbers, graph->nodes[i])) {
            return false;
        }
    }
    numbers->first.items[numbers->first.n++] = (int32_t) numbers->refs.n;
    return true;
}
