/* SPDX-License-Identifier: MIT
 *
 * How the K formats place bits. The 6-bit scales and mins of Q4_K and Q5_K: groups 0 .. 3 in the low bits of bytes 0 ..
 * 3 (scale) and 4 .. 7 (min); of groups 4 .. 7 the low nibbles are in bytes 8 .. 11 (scale low, min high) and the two
 * high bits in the high bits of bytes 0 .. 3 and 4 .. 7. Two-bit levels: in each half of 128 values, byte l holds
 * values l, l + 32, l + 64 and l + 96.
 */
#ifndef GRAFT_TYPE_K_BITS_H
#define GRAFT_TYPE_K_BITS_H

#include "type/block.h"

static inline void k_pack_scales(const uint8_t * scales, const uint8_t * mins, uint8_t * packed) {
    for (int g = 0; g < 4; g++) {
        packed[g]     = (uint8_t) (scales[g] | (scales[g + 4] >> 4) << 6);
        packed[g + 4] = (uint8_t) (mins[g] | (mins[g + 4] >> 4) << 6);
        packed[g + 8] = (uint8_t) ((scales[g + 4] & 15) | (mins[g + 4] & 15) << 4);
    }
}

static inline void k_unpack_scales(const uint8_t * packed, uint8_t * scales, uint8_t * mins) {
    for (int g = 0; g < 4; g++) {
        scales[g]     = packed[g] & 63;
        mins[g]       = packed[g + 4] & 63;
        scales[g + 4] = (uint8_t) ((packed[g + 8] & 15) | (packed[g] >> 6) << 4);
        mins[g + 4]   = (uint8_t) (packed[g + 8] >> 4 | (packed[g + 4] >> 6) << 4);
    }
}

/* Levels 0 .. 3 of 256 values to 64 bytes; higher bits are ignored. */
static inline void k_pack_pairs(const uint8_t * levels, uint8_t * qs) {
    for (int half = 0; half < QK_K; half += 128, qs += 32) {
        const uint8_t * l = levels + half;
        for (int j = 0; j < 32; j++) {
            qs[j] = (uint8_t) ((l[j] & 3) | (l[j + 32] & 3) << 2 | (l[j + 64] & 3) << 4 | (l[j + 96] & 3) << 6);
        }
    }
}

static inline void k_unpack_pairs(const uint8_t * qs, uint8_t * levels) {
    for (int j = 0; j < QK_K; j += 32) {
        const uint8_t * q     = qs + j / 128 * 32;
        const int       shift = j % 128 / 32 * 2;
        for (int l = 0; l < 32; l++) {
            levels[j + l] = (q[l] >> shift) & 3;
        }
    }
}

/* Low nibbles of 256 levels to 128 bytes: byte l of each 32 holds values l and l + 32 of a quarter of the block. */
static inline void k_pack_nibbles(const uint8_t * levels, uint8_t * qs) {
    for (int quarter = 0; quarter < QK_K; quarter += 64, qs += 32) {
        for (int j = 0; j < 32; j++) {
            qs[j] = (uint8_t) ((levels[quarter + j] & 15) | levels[quarter + j + 32] << 4);
        }
    }
}

static inline void k_unpack_nibbles(const uint8_t * qs, uint8_t * levels) {
    for (int quarter = 0; quarter < QK_K; quarter += 64, qs += 32) {
        for (int j = 0; j < 32; j++) {
            levels[quarter + j]      = qs[j] & 15;
            levels[quarter + j + 32] = qs[j] >> 4;
        }
    }
}

/* One bit of every level, bit `from` on: byte l of 32 holds values l, l + 32, ... from the lowest bit on. */
static inline void k_pack_bit(const uint8_t * levels, int from, uint8_t * qh) {
    for (int l = 0; l < 32; l++) {
        unsigned byte = 0;
        for (int j = 0; j < 8; j++) {
            byte |= ((unsigned) levels[32 * j + l] >> from & 1u) << j;
        }
        qh[l] = (uint8_t) byte;
    }
}

static inline void k_unpack_bit(const uint8_t * qh, int to, uint8_t * levels) {
    for (int j = 0; j < 8; j++) {
        for (int l = 0; l < 32; l++) {
            levels[32 * j + l] = (uint8_t) (levels[32 * j + l] | (qh[l] >> j & 1) << to);
        }
    }
}

#endif /* GRAFT_TYPE_K_BITS_H */
