/* SPDX-License-Identifier: MIT
 *
 * What the formats of 32 values with 4 or 5 bits share (Q4_0, Q4_1, Q5_0, Q5_1): fitting a block and placing its bits.
 * Value j and value j + 16 share a byte, low nibble first; the fifth bits are one 32-bit word, bit j for value j.
 */
#ifndef GRAFT_TYPE_SMALL_H
#define GRAFT_TYPE_SMALL_H

#include "type/block.h"

#define SMALL_BLOCK 32

/* x ~ scale * (level - half), levels 0 .. 2 half - 1; the value of greatest magnitude gets level 0. Returns the scale. */
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

static inline void small_unpack_fifth_bits(const uint8_t * qh, uint8_t * levels) {
    static const uint8_t bit[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    for (int b = 0; b < SMALL_BLOCK / 8; b++) {
        for (int j = 0; j < 8; j++) {
            levels[8 * b + j] = (uint8_t) (levels[8 * b + j] | ((qh[b] & bit[j]) != 0 ? 16 : 0));
        }
    }
}

#endif /* GRAFT_TYPE_SMALL_H */
