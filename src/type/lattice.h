/* SPDX-License-Identifier: MIT
 *
 * The fit that the formats of signed grid points share (IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S): magnitudes of eight or
 * four values are a point with odd coordinates 2 level + 1, signs are kept apart, groups of 16 or 32 have a scale of 4
 * bits.
 */
#ifndef GRAFT_TYPE_LATTICE_H
#define GRAFT_TYPE_LATTICE_H

#include "type/block.h"
#include "type/grid.h"

/* Which points are chosen again once the best trial's scale is known. */
enum lattice_refit {
    LATTICE_REFIT_OFF_GRID, /* those whose rounded values were no point */
    LATTICE_REFIT_ALL,      /* all, when any was none */
    LATTICE_REFIT_ALWAYS,
};

struct lattice_format {
    enum grid_id       grid;
    int                group;          /* values in a group */
    bool               even_signs;     /* seven sign bits for eight values: the number of minus signs is made even */
    bool               range_from_fit; /* trials start from a fitted scale instead of the greatest value */
    float              zero;           /* groups whose greatest value is below are zeros */
    float              sigma2_factor;  /* multiplies the mean square of the block */
    float              plain_part;     /* weights without importance: x^2 + plain_part * sigma2 */
    int                n_trials;       /* on each side */
    float              step;
    enum lattice_refit refit;
    bool               starts_off_grid; /* counts points as off the grid until a trial succeeds */
    float              scale_factor;    /* of the scale of the block, found by experiment */
};

#define LATTICE_MAX_POINTS (QK_K / 4)
#define LATTICE_MAX_GROUPS (QK_K / 16)

struct lattice_block {
    ggml_half d;
    uint8_t   codes[LATTICE_MAX_GROUPS];  /* scales of the groups: d * (code + 1/2), up to a factor of the format */
    uint16_t  points[LATTICE_MAX_POINTS]; /* numbers of the points */
    uint8_t   signs[QK_K / 8];            /* a bit for a minus; seven bits with even_signs */
};

/* Fits 256 values; importance may be NULL. */
void lattice_fit(const struct lattice_format * format, const struct grid_search * search, const float * x,
                 const float * importance, struct lattice_block * out);

#endif /* GRAFT_TYPE_LATTICE_H */
