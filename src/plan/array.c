/* SPDX-License-Identifier: MIT
 *
 * Growth of the arrays that planning works on.
 */
#include "plan/array.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"

enum { MIN_ELEMENTS = 16 };

void * plan_array_grown(void * items, size_t * capacity, size_t n, size_t element_size) {
    size_t larger = *capacity > 0 ? *capacity : MIN_ELEMENTS;
    size_t bytes;
    while (larger < n) {
        larger = larger <= SIZE_MAX / 2 ? 2 * larger : n;
    }
    void * moved = base_size_mul(larger, element_size, &bytes) ? realloc(items, bytes) : NULL;
    if (moved == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for %zu elements of %zu bytes while planning a graph", larger,
                  element_size);
        return items;
    }
    memset((char *) moved + *capacity * element_size, 0, (larger - *capacity) * element_size);
    *capacity = larger;
    return moved;
}
