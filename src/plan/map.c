/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing, at most half full.
 */
#include "plan/map.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_CAPACITY = 64 };

/* Fibonacci hashing: arenas place tensors at regular distances, so the low bits of their addresses say little. */
static size_t home(const struct plan_map * map, const struct ggml_tensor * key) {
    const uint64_t mixed = ((uint64_t) (uintptr_t) key >> 4) * 0x9E3779B97F4A7C15u;
    return (size_t) (mixed >> 32) & (map->capacity - 1);
}

static struct plan_map_entry * slot_of(const struct plan_map * map, const struct ggml_tensor * key) {
    size_t slot = home(map, key);
    while (map->entries[slot].key != NULL && map->entries[slot].key != key) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return &map->entries[slot];
}

static bool grow(struct plan_map * map) {
    struct plan_map bigger = {.capacity = map->capacity > 0 ? 2 * map->capacity : MIN_CAPACITY, .count = map->count};
    bigger.entries         = calloc(bigger.capacity, sizeof(bigger.entries[0]));
    if (bigger.entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].key != NULL) {
            *slot_of(&bigger, map->entries[i].key) = map->entries[i];
        }
    }
    free(map->entries);
    *map = bigger;
    return true;
}

void plan_map_clear(struct plan_map * map) {
    if (map->count > 0) {
        memset(map->entries, 0, map->capacity * sizeof(map->entries[0]));
        map->count = 0;
    }
}

void plan_map_free(struct plan_map * map) {
    free(map->entries);
    memset(map, 0, sizeof(*map));
}

int32_t plan_map_find(const struct plan_map * map, const struct ggml_tensor * key) {
    if (map->count == 0 || key == NULL) {
        return -1;
    }
    const struct plan_map_entry * entry = slot_of(map, key);
    return entry->key != NULL ? entry->value : -1;
}

bool plan_map_add(struct plan_map * map, const struct ggml_tensor * key, int32_t value) {
    if (2 * (map->count + 1) > map->capacity && !grow(map)) {
        return false;
    }
    struct plan_map_entry * entry = slot_of(map, key);
    map->count += entry->key == NULL;
    entry->key   = key;
    entry->value = value;
    return true;
}
