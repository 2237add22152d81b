/* SPDX-License-Identifier: MIT
 *
 * Numbers for tensors: a growing table from a tensor's address to 0, 1, 2, ... in the order of first sight. Planning works
 * on arrays over these numbers, so that each address is looked up once.
 */
#ifndef GRAFT_PLAN_MAP_H
#define GRAFT_PLAN_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggml_tensor;

struct plan_map_entry {
    const struct ggml_tensor * key; /* NULL: free */
    int32_t                    value;
};

struct plan_map {
    struct plan_map_entry * entries;
    size_t                  capacity; /* a power of two, or 0 */
    int32_t                 count;
};

void plan_map_clear(struct plan_map * map);
void plan_map_free(struct plan_map * map);

/* -1 when the tensor is not there. */
int32_t plan_map_find(const struct plan_map * map, const struct ggml_tensor * key);

/* The tensor's number, the next one (map->count before the call) when it is new. -1 when there is no memory. */
int32_t plan_map_add(struct plan_map * map, const struct ggml_tensor * key);

#endif /* GRAFT_PLAN_MAP_H */
