/* SPDX-License-Identifier: MIT
 *
 * Packing and unpacking by a table of each format's pieces.
 */
#include "pack/layout.h"

#include <string.h>

#include "ggml-common.h"

struct piece {
    uint16_t offset, size, unit; /* bytes in the block; they follow each other in the packed block in this order */
};

#define PIECE(block, member, unit) \
    { offsetof(block, member), sizeof(((block *) 0)->member), unit }

/* The greatest pieces come first: vectors of codes then begin at multiples of 32 or 64 bytes. */
static const struct piece pieces[GGML_TYPE_COUNT][6] = {
    [GGML_TYPE_Q4_0]   = { PIECE(block_q4_0, qs, 4), PIECE(block_q4_0, d, 2) },
    [GGML_TYPE_Q4_1]   = { PIECE(block_q4_1, qs, 4), PIECE(block_q4_1, d, 2), PIECE(block_q4_1, m, 2) },
    [GGML_TYPE_Q5_0]   = { PIECE(block_q5_0, qs, 4), PIECE(block_q5_0, qh, 4), PIECE(block_q5_0, d, 2) },
    [GGML_TYPE_Q5_1]   = { PIECE(block_q5_1, qs, 4), PIECE(block_q5_1, qh, 4), PIECE(block_q5_1, d, 2),
                           PIECE(block_q5_1, m, 2) },
    [GGML_TYPE_Q8_0]   = { PIECE(block_q8_0, qs, 4), PIECE(block_q8_0, d, 2) },
    [GGML_TYPE_IQ4_NL] = { PIECE(block_iq4_nl, qs, 4), PIECE(block_iq4_nl, d, 2) },
    [GGML_TYPE_Q4_K]   = { PIECE(block_q4_K, qs, 4), PIECE(block_q4_K, scales, 4), PIECE(block_q4_K, d, 2),
                           PIECE(block_q4_K, dmin, 2) },
    [GGML_TYPE_Q5_K]   = { PIECE(block_q5_K, qs, 4), PIECE(block_q5_K, qh, 4), PIECE(block_q5_K, scales, 4),
                           PIECE(block_q5_K, d, 2), PIECE(block_q5_K, dmin, 2) },
    [GGML_TYPE_Q6_K]   = { PIECE(block_q6_K, ql, 4), PIECE(block_q6_K, qh, 4), PIECE(block_q6_K, scales, 1),
                           PIECE(block_q6_K, d, 2) },
};

bool pack_format(enum ggml_type type) {
    return (unsigned) type < GGML_TYPE_COUNT && pieces[type][0].size > 0;
}

/* Moves the units of one group between both layouts. */
static void move_units(enum ggml_type type, char * rows, char * packed, size_t row_size, bool pack) {
    const size_t block = ggml_type_size(type);
    for (size_t at = 0; at < row_size; at += block) {
        char * to = packed + at * PACK_ROWS;
        for (const struct piece * p = pieces[type]; p->size > 0; ++p) {
            for (size_t u = 0; u < p->size; u += p->unit) {
                for (size_t r = 0; r < PACK_ROWS; ++r, to += p->unit) {
                    char * row = rows + r * row_size + at + p->offset + u;
                    memcpy(pack ? to : row, pack ? row : to, p->unit);
                }
            }
        }
    }
}

void pack_group(enum ggml_type type, const void * rows, void * packed, size_t row_size) {
    move_units(type, (char *) (uintptr_t) rows, packed, row_size, true);
}

void pack_ungroup(enum ggml_type type, const void * packed, void * rows, size_t row_size) {
    move_units(type, rows, (char *) (uintptr_t) packed, row_size, false);
}
