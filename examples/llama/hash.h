/* SPDX-License-Identifier: MIT
 *
 * A map from byte strings to numbers, for the tokenizer: open addressing, keys are borrowed.
 */
#ifndef LLAMA_HASH_H
#define LLAMA_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hash_entry {
    const char * key;
    uint32_t     length;
    int32_t      value; /* -1: free */
};

struct hash {
    struct hash_entry * entries;
    size_t              size; /* a power of two, at least twice the number of keys */
};

static inline uint64_t hash_bytes(const char * key, size_t n) {
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint8_t) key[i]) * 1099511628211u;
    }
    return h ^ (h >> 29);
}

static inline bool hash_init(struct hash * hash, size_t n_keys) {
    hash->size = 16;
    while (hash->size < 2 * n_keys) {
        hash->size *= 2;
    }
    hash->entries = malloc(hash->size * sizeof(*hash->entries));
    for (size_t i = 0; hash->entries != NULL && i < hash->size; i++) {
        hash->entries[i].value = -1;
    }
    return hash->entries != NULL;
}

static inline struct hash_entry * hash_slot(const struct hash * hash, const char * key, size_t n) {
    size_t i = hash_bytes(key, n) & (hash->size - 1);
    while (hash->entries[i].value >= 0 && (hash->entries[i].length != n || memcmp(hash->entries[i].key, key, n) != 0)) {
        i = (i + 1) & (hash->size - 1);
    }
    return &hash->entries[i];
}

/* The first value given to a key stays. */
static inline void hash_add(struct hash * hash, const char * key, size_t n, int32_t value) {
    struct hash_entry * e = hash_slot(hash, key, n);
    if (e->value < 0) {
        *e = (struct hash_entry){ key, (uint32_t) n, value };
    }
}

static inline int32_t hash_get(const struct hash * hash, const char * key, size_t n) {
    return hash_slot(hash, key, n)->value;
}

#endif /* LLAMA_HASH_H */
