/* SPDX-License-Identifier: MIT
 *
 * The formats that an application registered: rows that are only ever added, read without a lock.
 */
#ifndef GRAFT_TYPE_REGISTER_H
#define GRAFT_TYPE_REGISTER_H

#include "ggml-ext.h"
#include "type/type.h"

size_t                  type_registered_count(void);
const struct type_row * type_registered_at(size_t i); /* NULL from the count on */

/* The descriptor as it was registered (its dot product, for devices); NULL for other types. */
const struct ggml_ext_type_desc * type_registered_desc(enum ggml_type type);

#endif /* GRAFT_TYPE_REGISTER_H */
