/* SPDX-License-Identifier: MIT
 *
 * What IQ1_S and IQ1_M share: groups of values near -1, 0 and 1 times a scale, all shifted by an eighth up or down,
 * eight to a point of a grid.
 */
#ifndef GRAFT_TYPE_IQ1_H
#define GRAFT_TYPE_IQ1_H

#include "type/block.h"
#include "type/grid.h"

#define IQ1_DELTA 0.125f
#define IQ1_MAX_GROUP 32

/* The numbers that levels 0, 1 and 2 stand for, shifted up and down. */
extern const float iq1_values[2][3];

/* Packed levels of eight zeros: a point of the grid. */
#define IQ1_CENTRE 0x5555u

/* Order of the values, ascending; equal ones stay in order. */
void iq1_sort(int n, const float * x, int * order);

/* Levels 0 for the first i1 in order, 1 up to i2, 2 for the rest; turned: the other way round. */
void iq1_assign(int n, const int * order, int i1, int i2, bool turned, int * levels);

/* Points for n / 8 times eight levels, each with values of its own; where levels are no point, neighbours are searched
 * at the scale. Returns the scale, fitted again when that happened. */
float iq1_snap(const struct grid_search * search, int n, const float * x, const float * w, const int * levels,
               const float * const * values, float scale, uint16_t * points);

/* Weights of a group: with importance as everywhere, without it the squares. */
void iq1_weigh(int n, const float * x, const float * importance, float sigma2, float * w);

static inline void iq1_write(unsigned point, float scale, float delta, float * y) {
    uint8_t levels[8];
    grid_bytes(grid_spread8(grid_points_iq1[point]), levels);
    for (int j = 0; j < 8; j++) {
        y[j] = scale * ((float) (levels[j] - 1) + delta);
    }
}

#endif /* GRAFT_TYPE_IQ1_H */
