/* SPDX-License-Identifier: MIT
 *
 * The sorted index of names: search in O(log n) whatever the names are, duplicates found by one sort.
 */
#include "gguf/context.h"

#include <stdlib.h>
#include <string.h>

/* Place of the first entry whose name is not less. */
static size_t lower_bound(const struct gguf_names * names, const char * name) {
    size_t low = 0, high = names->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(names->entries[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct gguf_names * names, size_t place, const char * name) {
    return place < names->n && strcmp(names->entries[place].name, name) == 0;
}

size_t gguf_names_find(const struct gguf_names * names, const char * name) {
    const size_t place = lower_bound(names, name);
    return is_at(names, place, name) ? names->entries[place].id : GGUF_NO_ID;
}

bool gguf_names_reserve(struct gguf_names * names) {
    struct gguf_name * entries = gguf_grow(names->entries, &names->capacity, names->n + 1, sizeof(*entries));
    if (entries == NULL) {
        return false;
    }
    names->entries = entries;
    return true;
}

void gguf_names_add(struct gguf_names * names, const char * name, size_t id) {
    const size_t       place = lower_bound(names, name);
    struct gguf_name * entry = &names->entries[place];
    memmove(entry + 1, entry, (names->n - place) * sizeof(*entry));
    entry->name = name;
    entry->id   = id;
    names->n++;
}

void gguf_names_remove(struct gguf_names * names, const char * name) {
    const size_t place = lower_bound(names, name);
    if (!is_at(names, place, name)) {
        return;
    }
    struct gguf_name * entry = &names->entries[place];
    const size_t       id    = entry->id;
    names->n--;
    memmove(entry, entry + 1, (names->n - place) * sizeof(*entry));
    for (size_t i = 0; i < names->n; i++) {
        names->entries[i].id -= names->entries[i].id > id;
    }
}

static int compare(const void * a, const void * b) {
    const struct gguf_name * x     = a;
    const struct gguf_name * y     = b;
    const int                order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

size_t gguf_names_sort(struct gguf_names * names) {
    if (names->n > 1) {
        qsort(names->entries, names->n, sizeof(*names->entries), compare);
    }
    for (size_t i = 1; i < names->n; i++) {
        if (strcmp(names->entries[i - 1].name, names->entries[i].name) == 0) {
            return names->entries[i].id;
        }
    }
    return GGUF_NO_ID;
}
