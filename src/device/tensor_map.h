/* SPDX-License-Identifier: MIT
 *
 * A set of tensors that grows, with one partner for each: original and copy. Keys keep the order in which they came.
 */
#ifndef GRAFT_DEVICE_TENSOR_MAP_H
#define GRAFT_DEVICE_TENSOR_MAP_H

#include "ggml.h"

struct tensor_pair {
    struct ggml_tensor * key;
    struct ggml_tensor * partner;
};

/* All zero is empty. */
struct tensor_map {
    struct tensor_pair * pairs;
    size_t               n, capacity;
    size_t *             slots; /* index in pairs plus one; 0: free */
    size_t               n_slots;
};

/* The pair of a tensor, which stays in place until the next addition; NULL when there is none. */
struct tensor_pair * tensor_map_find(const struct tensor_map * map, const struct ggml_tensor * key);

/* Adds a tensor that is not in the map. False when memory is out. */
bool tensor_map_add(struct tensor_map * map, struct ggml_tensor * key);

void tensor_map_free(struct tensor_map * map);

#endif /* GRAFT_DEVICE_TENSOR_MAP_H */
