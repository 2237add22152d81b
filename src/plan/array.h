/* SPDX-License-Identifier: MIT
 *
 * Arrays that grow by doubling and keep their memory, so that planning the same graph again allocates nothing.
 */
#ifndef GRAFT_PLAN_ARRAY_H
#define GRAFT_PLAN_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* The array `items` of *capacity elements, made to hold at least n; new memory is zeroed. When there is no memory,
 * forms a text and returns the array as it was: *capacity tells. */
void * plan_array_grown(void * items, size_t * capacity, size_t n, size_t element_size);

#define PLAN_ARRAY(type) \
    struct {             \
        type * items;    \
        size_t n;        \
        size_t capacity; \
    }

/* Makes room for total elements; false when there is no memory. */
#define PLAN_ARRAY_RESERVE(array, total)                                                                     \
    ((total) <= (array).capacity ||                                                                          \
     ((array).items = plan_array_grown((array).items, &(array).capacity, (total), sizeof((array).items[0])), \
      (total) <= (array).capacity))

/* Room for one more element behind the first n. */
#define PLAN_ARRAY_ROOM(array) PLAN_ARRAY_RESERVE(array, (array).n + 1)

#endif /* GRAFT_PLAN_ARRAY_H */
