/* SPDX-License-Identifier: MIT
 *
 * A growing table from the address of a tensor to a number.
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
    size_t                  count;
};

void plan_map_clear(struct plan_map * map);
void plan_map_free(struct plan_map * map);

/* -1 when the tensor is not there. */
int32_t plan_map_find(const struct plan_map * map, const struct ggml_tensor * key);

/* Sets the number, >= 0, of a tensor. False when there is no memory. */
bool plan_map_add(struct plan_map * map, const struct ggml_tensor * key, int32_t value);

#endif /* GRAFT_PLAN_MAP_H */
