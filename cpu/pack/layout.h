/* SPDX-License-Identifier: MIT
 *
 * The layout of packed weights. 16 neighbouring rows form a group; of a group, block after block of the format, the
 * pieces of a block (scales, nibbles, high bits) lie row beside row in units of 1, 2 or 4 bytes: unit u of row r of a
 * piece stands at u * 16 + r. A group takes the bytes of its 16 rows, so that row numbers that are multiples of 16 have
 * their plain addresses, and nothing is lost: unpacking gives the original bytes.
 *
 * Vector lanes are rows then: a one-row product needs no sum over lanes, and panels are decoded without a
 * transposition.
 */
#ifndef GRAFT_CPU_PACK_LAYOUT_H
#define GRAFT_CPU_PACK_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml.h"

#define PACK_ROWS 16

/* Can this format be packed? */
bool pack_format(enum ggml_type type);

/* Packs 16 rows of row_size bytes, and back. */
void pack_group(enum ggml_type type, const void * rows, void * packed, size_t row_size);
void pack_ungroup(enum ggml_type type, const void * packed, void * rows, size_t row_size);

#endif /* GRAFT_CPU_PACK_LAYOUT_H */
