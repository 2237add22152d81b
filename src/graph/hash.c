/* SPDX-License-Identifier: MIT
 *
 * Hash sets of tensors. Search and insertion are inline in ggml-impl.h, because backend modules compile them in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "ggml-impl.h"

/* The first prime after each power of two: a table is at most twice too large, and strides of arenas, multiples of
 * powers of two, do not fall on few slots. */
static const size_t primes[] = {
    2,       3,       5,        11,       17,       37,        67,        131,       257,        521,        1031,
    2053,    4099,    8209,     16411,    32771,    65537,     131101,    262147,    524309,     1048583,    2097169,
    4194319, 8388617, 16777259, 33554467, 67108879, 134217757, 268435459, 536870923, 1073741827, 2147483659,
};

size_t ggml_hash_size(size_t min_sz) {
    for (size_t i = 0; i < sizeof(primes) / sizeof(primes[0]); i++) {
        if (primes[i] >= min_sz) {
            return primes[i];
        }
    }
    return min_sz | 1;
}

struct ggml_hash_set ggml_hash_set_new(size_t size) {
    struct ggml_hash_set set;
    set.size = ggml_hash_size(size);
    set.used = calloc(ggml_bitset_size(set.size), sizeof(set.used[0]));
    set.keys = calloc(set.size, sizeof(set.keys[0]));
    if (set.used == NULL || set.keys == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a hash set of %zu tensors", set.size);
        ggml_hash_set_free(&set);
        memset(&set, 0, sizeof(set));
    }
    return set;
}

void ggml_hash_set_free(struct ggml_hash_set * hash_set) {
    free(hash_set->used);
    free(hash_set->keys);
}

void ggml_hash_set_reset(struct ggml_hash_set * hash_set) {
    memset(hash_set->used, 0, ggml_bitset_size(hash_set->size) * sizeof(hash_set->used[0]));
}
