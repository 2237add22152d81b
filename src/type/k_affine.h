/* SPDX-License-Identifier: MIT
 *
 * The fit that Q2_K, Q4_K and Q5_K share: 256 values in groups of 16 or 32, each group x ~ d * scale * level - dmin *
 * min, where scale and min are small integers of the group and d and dmin are halves of the block.
 */
#ifndef GRAFT_TYPE_K_AFFINE_H
#define GRAFT_TYPE_K_AFFINE_H

#include "type/block.h"

#define K_AFFINE_MAX_GROUPS 16

struct k_affine_format {
    int   group; /* values in a group */
    int   max_level;
    int   max_scale;          /* of scale and min */
    bool  rms_weights;        /* without an importance matrix: weight |x| + root mean square of the group, not |x| */
    float sigma2_factor;      /* with one: multiplies the mean square of the block */
    struct fit_trials trials; /* of the reference encoder */
};

struct k_affine_block {
    uint8_t   levels[QK_K];
    uint8_t   scales[K_AFFINE_MAX_GROUPS];
    uint8_t   mins[K_AFFINE_MAX_GROUPS];
    ggml_half d;
    ggml_half dmin;
};

/* Fits one block; importance: 256 weights, or NULL for the reference encoder. */
void k_affine_fit(const struct k_affine_format * format, const float * x, const float * importance,
                  struct k_affine_block * out);

#endif /* GRAFT_TYPE_K_AFFINE_H */
