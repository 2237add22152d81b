/* SPDX-License-Identifier: MIT
 *
 * The table of number formats: the built-in rows, expanded from type.inc, followed by those registered at run time.
 */
#include "type/type.h"

#include <string.h>

#include "base/check.h"
#include "ggml-ext.h"
#include "type/register.h"

#define TYPE(constant, name) extern const struct type_row type_row_##name;
#include "type/type.inc"
#undef TYPE

static const struct type_row * const by_id[GGML_TYPE_COUNT] = {
#define TYPE(constant, name) [GGML_TYPE_##constant] = &type_row_##name,
#include "type/type.inc"
#undef TYPE
};

static const struct type_row * const in_order[] = {
#define TYPE(constant, name) &type_row_##name,
#include "type/type.inc"
#undef TYPE
};

#define N_BUILTIN (sizeof(in_order) / sizeof(in_order[0]))

const struct type_row * type_row_get(enum ggml_type type) {
    const int64_t id = (int64_t) type;
    if (id >= 0 && id < GGML_TYPE_COUNT) {
        return by_id[id];
    }
    if (id >= GGML_EXT_TYPE_FIRST) {
        return type_registered_at((size_t) (id - GGML_EXT_TYPE_FIRST));
    }
    return NULL;
}

size_t type_row_count(void) {
    return N_BUILTIN + type_registered_count();
}

const struct type_row * type_row_at(size_t i) {
    return i < N_BUILTIN ? in_order[i] : type_registered_at(i - N_BUILTIN);
}

const struct type_row * type_row_by_name(const char * name) {
    const size_t n = type_row_count();
    for (size_t i = 0; name != NULL && i < n; i++) {
        const struct type_row * row = type_row_at(i);
        if (strcmp(row->traits.type_name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

bool type_row_bytes(enum ggml_type type, int64_t ne, size_t * bytes) {
    const struct type_row * row = type_row_get(type);
    if (row == NULL || ne < 0 || ne % row->traits.blck_size != 0) {
        return false;
    }
    const uint64_t blocks = (uint64_t) (ne / row->traits.blck_size);
    return blocks <= SIZE_MAX && base_size_mul((size_t) blocks, row->traits.type_size, bytes);
}
