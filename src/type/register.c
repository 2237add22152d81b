/* SPDX-License-Identifier: MIT
 *
 * Number formats added at run time. The table is append only: a slot changes once, from NULL to a finished entry, and
 * only when all slots before it are taken. A writer that loses a slot to another compares itself with the winner and
 * tries the next one, so no name is in the table twice and readers need no lock.
 */
#include "type/register.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

#define MAX_REGISTERED 4096
#define MAX_BLOCK_VALUES ((int64_t) 1 << 20)
#define MAX_BLOCK_BYTES ((size_t) 1 << 24)

struct entry {
    struct type_row           row;
    struct ggml_ext_type_desc desc;
    char                      name[GGML_EXT_MAX_NAME];
};

static _Atomic(struct entry *) table[MAX_REGISTERED];
static atomic_size_t           n_registered; /* at most the number of taken slots */

static struct entry * entry_at(size_t i) {
    return i < MAX_REGISTERED ? atomic_load_explicit(&table[i], memory_order_acquire) : NULL;
}

size_t type_registered_count(void) {
    return atomic_load_explicit(&n_registered, memory_order_acquire);
}

const struct type_row * type_registered_at(size_t i) {
    const struct entry * entry = entry_at(i);
    return entry != NULL ? &entry->row : NULL;
}

const struct ggml_ext_type_desc * type_registered_desc(enum ggml_type type) {
    const int64_t        id    = (int64_t) type;
    const struct entry * entry = id >= GGML_EXT_TYPE_FIRST ? entry_at((size_t) (id - GGML_EXT_TYPE_FIRST)) : NULL;
    return entry != NULL ? &entry->desc : NULL;
}

static enum ggml_status check_size(const struct ggml_ext_type_desc * desc) {
    const size_t known = sizeof(struct ggml_ext_type_desc);
    if (desc->size < known) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: descriptor of %zu bytes, expected at least %zu",
                         desc->size, known);
    }
    const unsigned char * bytes = (const unsigned char *) desc;
    for (size_t i = known; i < desc->size; i++) {
        if (bytes[i] != 0) {
            return base_fail(GGML_STATUS_FAILED,
                             "ggml_ext_register_type: descriptor of %zu bytes sets fields behind the %zu known here: "
                             "made for a newer version",
                             desc->size, known);
        }
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_name(const char * name) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t      length    = name != NULL ? strnlen(name, GGML_EXT_MAX_NAME) : 0;
    if (length == 0 || length >= GGML_EXT_MAX_NAME) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: a name has 1 to %d characters",
                         GGML_EXT_MAX_NAME - 1);
    }
    if (strspn(name, allowed) != length) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: name \"%s\" does not match [A-Za-z0-9_.-]+",
                         name);
    }
    return GGML_STATUS_SUCCESS;
}

static bool is_dot_type(enum ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16 || type == GGML_TYPE_Q8_0 ||
           type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K;
}

static enum ggml_status check_content(const struct ggml_ext_type_desc * desc) {
    if (desc->block_elements < 1 || desc->block_elements > MAX_BLOCK_VALUES || desc->block_bytes < 1 ||
        desc->block_bytes > MAX_BLOCK_BYTES) {
        return base_fail(
            GGML_STATUS_FAILED,
            "ggml_ext_register_type: %s has blocks of %lld values in %zu bytes; expected 1 to %lld values in 1 "
            "to %zu bytes",
            desc->name, (long long) desc->block_elements, desc->block_bytes, (long long) MAX_BLOCK_VALUES,
            MAX_BLOCK_BYTES);
    }
    if (desc->to_float == NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: %s has no decoder (to_float)", desc->name);
    }
    if (desc->vec_dot != NULL && !is_dot_type(desc->dot_type)) {
        return base_fail(
            GGML_STATUS_FAILED,
            "ggml_ext_register_type: %s has a dot product with type %d; expected F32, F16, BF16, Q8_0, Q8_1 or "
            "Q8_K",
            desc->name, (int) desc->dot_type);
    }
    return GGML_STATUS_SUCCESS;
}

static struct entry * make_entry(const struct ggml_ext_type_desc * desc) {
    struct entry * entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    memcpy(entry->name, desc->name, strlen(desc->name) + 1);
    memcpy(&entry->desc, desc, sizeof(entry->desc));
    entry->desc.size = sizeof(entry->desc);
    entry->desc.name = entry->name;

    struct ggml_type_traits * traits = &entry->row.traits;
    traits->type_name                = entry->name;
    traits->blck_size                = desc->block_elements;
    traits->type_size                = desc->block_bytes;
    traits->is_quantized             = desc->block_elements > 1;
    traits->to_float                 = desc->to_float;
    traits->from_float_ref           = desc->from_float;
    entry->row.decode                = desc->to_float;
    entry->row.encode                = desc->from_float;
    entry->row.dot_type              = desc->vec_dot != NULL ? desc->dot_type : GGML_TYPE_COUNT;
    return entry;
}

/* Takes the first free slot, unless the name is there already. */
static enum ggml_status append(struct entry * entry) {
    for (size_t i = 0; i < MAX_REGISTERED; i++) {
        const struct entry * found = entry_at(i);
        if (found == NULL) {
            struct entry * expected = NULL;
            entry->row.id           = (enum ggml_type)(GGML_EXT_TYPE_FIRST + (int) i);
            if (atomic_compare_exchange_strong_explicit(&table[i], &expected, entry, memory_order_acq_rel,
                                                        memory_order_acquire)) {
                atomic_fetch_add_explicit(&n_registered, 1, memory_order_acq_rel);
                return GGML_STATUS_SUCCESS;
            }
            found = expected;
        }
        if (strcmp(found->name, entry->name) == 0) {
            return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: the name %s is taken", entry->name);
        }
    }
    return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: no room for %s: %d formats are registered",
                     entry->name, MAX_REGISTERED);
}

enum ggml_status ggml_ext_register_type(const struct ggml_ext_type_desc * desc, enum ggml_type * id) {
    if (id != NULL) {
        *id = GGML_TYPE_COUNT;
    }
    if (desc == NULL || id == NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: %s is NULL", desc == NULL ? "desc" : "id");
    }
    enum ggml_status status = check_size(desc);
    if (status == GGML_STATUS_SUCCESS) {
        status = check_name(desc->name);
    }
    if (status == GGML_STATUS_SUCCESS) {
        status = check_content(desc);
    }
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    if (type_row_by_name(desc->name) != NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_type: the name %s is taken", desc->name);
    }
    struct entry * entry = make_entry(desc);
    if (entry == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "ggml_ext_register_type: no memory for %s", desc->name);
    }
    status = append(entry);
    if (status != GGML_STATUS_SUCCESS) {
        free(entry);
        return status;
    }
    *id = entry->row.id;
    base_clear_error();
    return GGML_STATUS_SUCCESS;
}

enum ggml_status ggml_ext_type_by_name(const char * name, enum ggml_type * id) {
    const struct type_row * row = type_row_by_name(name);
    if (id == NULL || row == NULL) {
        if (id != NULL) {
            *id = GGML_TYPE_COUNT;
        }
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_type_by_name: %s%s",
                         id == NULL ? "id is NULL" : "no format is called ",
                         id == NULL     ? ""
                         : name != NULL ? name
                                        : "(null)");
    }
    *id = row->id;
    base_clear_error();
    return GGML_STATUS_SUCCESS;
}
