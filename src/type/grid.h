/* SPDX-License-Identifier: MIT
 *
 * Grids: the formats IQ1, IQ2 and IQ3 store groups of eight or four values as the number of a point of a fixed set,
 * whose coordinates are small levels. A packed point has the levels in its bits, the first in the lowest.
 */
#ifndef GRAFT_TYPE_GRID_H
#define GRAFT_TYPE_GRID_H

#include <stdint.h>

#include "type/block.h"

enum grid_id {
    GRID_IQ2_XXS,
    GRID_IQ2_XS,
    GRID_IQ2_S,
    GRID_IQ1,
    GRID_IQ3_XXS,
    GRID_IQ3_S,
    GRID_COUNT,
};

extern const uint16_t grid_points_iq2_xxs[256];
extern const uint16_t grid_points_iq2_xs[512];
extern const uint16_t grid_points_iq2_s[1024];
extern const uint16_t grid_points_iq1[2048];
extern const uint16_t grid_points_iq3_xxs[256];
extern const uint16_t grid_points_iq3_s[512];

struct grid {
    const uint16_t * points; /* ascending */
    int              n_points;
    int              dimensions; /* 8 or 4 */
    int              bits;       /* of a level: 2 or 3 */
    int              top;        /* greatest level */
    int              shells;     /* the neighbours of a place are the points at this many least distances from it */
};

/* Tables for the encoders: which point lies at a place, and which are the neighbours of a place that has none. Without
 * memory for them the members are NULL and every question is computed anew, with the same answers. */
struct grid_search {
    const struct grid * grid;
    const int32_t *     place;      /* by packed levels: the point, or -1 - the start of a list in neighbours */
    const uint16_t *    neighbours; /* lists: a length, then points */
};

/* The tables of a grid, made on first use. Any thread. */
struct grid_search grid_search_get(enum grid_id id);

/* The point at packed levels, or -1. */
int grid_find(const struct grid_search * search, unsigned packed);

/* Of the neighbours of a place without a point, the one that is nearest to x: least sum of w (scale * values[level] -
 * x)^2. */
int grid_nearest(const struct grid_search * search, unsigned packed, const float * x, const float * w, float scale,
                 const float * values);

/* Level i of a packed point. */
static inline int grid_level(const struct grid * grid, int point, int i) {
    return grid->points[point] >> (i * grid->bits) & ((1 << grid->bits) - 1);
}

/* Makes the tables of a format ahead of their first use; nothing for formats that have none. */
void grid_prepare(enum ggml_type type);

/* Frees all tables. Not while an encoder runs. */
void grid_free_all(void);

/* Eight levels of two bits to the eight bytes of a word, first level in the lowest byte. */
static inline uint64_t grid_spread8(unsigned packed) {
    uint64_t x = packed;
    x          = (x | x << 24) & 0x000000FF000000FFu;
    x          = (x | x << 12) & 0x000F000F000F000Fu;
    return (x | x << 6) & 0x0303030303030303u;
}

/* Four levels of three bits to the four bytes of a word. */
static inline uint32_t grid_spread4(unsigned packed) {
    uint32_t x = packed;
    x          = (x | x << 10) & 0x003F003Fu;
    return (x | x << 5) & 0x07070707u;
}

/* Magnitudes of the IQ2 formats: 8, 25 and 43 for levels 0, 1 and 2, in eight bytes. */
static inline uint64_t grid_magnitudes2(unsigned packed) {
    const uint64_t levels = grid_spread8(packed);
    return levels * 17 + 0x0808080808080808u + (levels >> 1 & 0x0101010101010101u);
}

/* A sign byte from its seven stored bits: the eighth makes the number of minus signs even. */
static inline unsigned grid_even_signs(unsigned seven) {
    return seven | (unsigned) __builtin_parity(seven) << 7;
}

/* The eight bytes of a word, lowest first. */
static inline void grid_bytes(uint64_t word, uint8_t * bytes) {
    word = type_little_endian(word);
    memcpy(bytes, &word, sizeof(word));
}

/* Writes eight magnitudes times scale with the signs of the bits of `signs`. */
static inline void grid_write(uint64_t magnitudes, float scale, unsigned signs, float * y) {
    static const uint32_t bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    uint8_t               bytes[8];
    grid_bytes(magnitudes, bytes);
    for (int j = 0; j < 8; j++) {
        const uint32_t minus = (signs & bit[j]) != 0 ? 0x80000000u : 0u;
        y[j]                 = fp32_from_bits(fp32_to_bits(scale * (float) bytes[j]) ^ minus);
    }
}

#endif /* GRAFT_TYPE_GRID_H */
