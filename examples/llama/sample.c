/* SPDX-License-Identifier: MIT
 *
 * Sampling walks the cumulative distribution once, in double: no copy of the logits is sorted.
 */
#include "sample.h"

#include <math.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static double uniform(uint64_t * state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z          = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z          = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double) ((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

int32_t sample(struct sampler * sampler, const float * logits, int32_t n) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    if (sampler->temperature <= 0.0f) {
        return best;
    }
    const double scale = 1.0 / (double) sampler->temperature;
    double       total = 0.0;
    for (int32_t i = 0; i < n; i++) {
        total += exp(((double) logits[i] - (double) logits[best]) * scale);
    }
    double left = uniform(&sampler->state) * total;
    for (int32_t i = 0; i < n; i++) {
        left -= exp(((double) logits[i] - (double) logits[best]) * scale);
        if (left < 0.0) {
            return i;
        }
    }
    return best;
}
