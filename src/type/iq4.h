/* SPDX-License-Identifier: MIT
 *
 * The sixteen values of IQ4_NL and IQ4_XS, denser around zero where weights are, and the fit that both share.
 */
#ifndef GRAFT_TYPE_IQ4_H
#define GRAFT_TYPE_IQ4_H

#include "type/block.h"

#define IQ4_GROUP 32

/* A part of the file format: gguf Python package 0.19, gguf/quants.py, IQ4_NL. */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* Codes of the values nearest to inverse * x, of two equally near ones the greater. */
void iq4_nearest(const float * x, float inverse, uint8_t * codes);

/* Weights of a group: with importance as everywhere, without it the squares. */
void iq4_weigh(const float * x, const float * importance, float sigma2, float * w);

/* The scale of 32 values, from trials that put the value of greatest magnitude at -127 - n_trials .. -127 + n_trials of
 * the scale; without trials (n_trials < 0) from the one that puts it at -127. 0 for a group of zeros. */
float iq4_fit(const float * x, const float * w, int n_trials);

static inline void iq4_pack(const uint8_t * codes, uint8_t * qs) {
    for (int j = 0; j < IQ4_GROUP / 2; j++) {
        qs[j] = (uint8_t) (codes[j] | codes[j + IQ4_GROUP / 2] << 4);
    }
}

static inline void iq4_decode(const uint8_t * qs, float d, float * y) {
    float values[16];
    for (int i = 0; i < 16; i++) {
        values[i] = d * (float) iq4_values[i];
    }
    for (int j = 0; j < IQ4_GROUP / 2; j++) {
        y[j]                 = values[qs[j] & 15];
        y[j + IQ4_GROUP / 2] = values[qs[j] >> 4];
    }
}

#endif /* GRAFT_TYPE_IQ4_H */
