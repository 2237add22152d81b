/* SPDX-License-Identifier: MIT
 *
 * What the formats of 32 values with 4 or 5 bits share (Q4_0, Q4_1, Q5_0, Q5_1): fitting a block and placing its bits.
 * Value j and value j + 16 share a byte, low nibble first; the fifth bits are one 32-bit word, bit j for value j.
 */
#ifndef GRAFT_TYPE_SMALL_H
#define GRAFT_TYPE_SMALL_H

#include "type/block.h"

#define SMALL_BLOCK 32

/* x ~ scale * (level - half), levels 0 .. 2 half - 1; the value of greatest magnitude gets level 0. Returns the scale.
 */
float small_symmetric(const float * x, int half, uint8_t * levels);

/* x ~ scale * level + *min, levels 0 .. nmax. */
float small_affine(const float * x, int nmax, uint8_t * levels, float * min);

/* The same two with weights of the values, by search. */
float small_symmetric_weighted(const float * x, int half, const float * weights, uint8_t * levels);
float small_affine_weighted(const float * x, int nmax, const float * weights, uint8_t * levels, float * min);

/* Mean of the squares of a row, and with it the weights of a block. */
float small_row_sigma2(const float * x, int64_t k, float limit);

static inline void small_pack_nibbles(const uint8_t * levels, uint8_t * qs) {
    for (int j = 0; j < SMALL_BLOCK / 2; j++) {
        qs[j] = (uint8_t) ((levels[j] & 15) | (levels[j + SMALL_BLOCK / 2] << 4));
    }
}

static inline void small_pack_fifth_bits(const uint8_t * levels, uint8_t * qh) {
    uint32_t bits = 0;
    for (int j = 0; j < SMALL_BLOCK; j++) {
        bits |= (uint32_t) (levels[j] >> 4) << j;
    }
    memcpy(qh, &bits, sizeof(bits));
}

static inline void small_unpack_nibbles(const uint8_t * qs, uint8_t * levels) {
    for (int j = 0; j < SMALL_BLOCK / 2; j++) {
        levels[j]                   = qs[j] & 15;
        levels[j + SMALL_BLOCK / 2] = qs[j] >> 4;
    }
}

/* Five-bit levels 8 b .. 8 b + 7: nibbles, and the bits of one byte of qh spread over the bytes of a word: copies of
 * the byte, a bit kept in each, moved to bit 7 by a carry. Eight at a time, so that no store is read in another width.
 */
static inline void small_unpack_five(const uint8_t * qs, const uint8_t * qh, int b, uint8_t * levels) {
    const uint64_t kept = qh[b] * 0x0101010101010101u & 0x8040201008040201u;
    const uint64_t ones = (kept + 0x7F7F7F7F7F7F7F7Fu) >> 7 & 0x0101010101010101u;
    uint64_t       word;
    memcpy(&word, qs + b % 2 * 8, sizeof(word));
    word = (word >> (b / 2 * 4) & 0x0F0F0F0F0F0F0F0Fu) | type_little_endian(ones << 4);
    memcpy(levels, &word, sizeof(word));
}

#endif /* GRAFT_TYPE_SMALL_H */
