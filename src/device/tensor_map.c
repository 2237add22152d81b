/* SPDX-License-Identifier: MIT
 *
 * Open addressing over indexes, at most half full: a lookup that misses ends at a free slot.
 */
#include "device/tensor_map.h"

#include <stdlib.h>

#include "ggml-impl.h"

#define FIRST_CAPACITY 64

static size_t slot_of(const struct tensor_map * map, const struct ggml_tensor * key) {
    size_t slot = ggml_hash(key) % map->n_slots;
    while (map->slots[slot] != 0 && map->pairs[map->slots[slot] - 1].key != key) {
        slot = slot + 1 == map->n_slots ? 0 : slot + 1;
    }
    return slot;
}

struct tensor_pair * tensor_map_find(const struct tensor_map * map, const struct ggml_tensor * key) {
    if (map->n == 0) {
        return NULL;
    }
    const size_t index = map->slots[slot_of(map, key)];
    return index != 0 ? &map->pairs[index - 1] : NULL;
}

static bool grow(struct tensor_map * map) {
    const size_t         capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2;
    struct tensor_pair * pairs    = realloc(map->pairs, capacity * sizeof(*pairs));
    if (pairs == NULL) {
        return false;
    }
    map->pairs     = pairs;
    size_t * slots = calloc(capacity * 2 + 1, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    free(map->slots);
    map->slots    = slots;
    map->n_slots  = capacity * 2 + 1; /* odd: addresses are multiples of powers of two */
    map->capacity = capacity;
    for (size_t i = 0; i < map->n; i++) {
        map->slots[slot_of(map, pairs[i].key)] = i + 1;
    }
    return true;
}

bool tensor_map_add(struct tensor_map * map, struct ggml_tensor * key) {
    if (map->n == map->capacity && !grow(map)) {
        return false;
    }
    map->pairs[map->n]            = (struct tensor_pair){key, NULL};
    map->slots[slot_of(map, key)] = map->n + 1;
    map->n++;
    return true;
}

void tensor_map_free(struct tensor_map * map) {
    free(map->pairs);
    free(map->slots);
    *map = (struct tensor_map){0};
}
