/* SPDX-License-Identifier: MIT
 *
 * Picking the next token: greedy at temperature 0, else by softmax(logits / temperature) and a seeded generator.
 */
#ifndef LLAMA_SAMPLE_H
#define LLAMA_SAMPLE_H

#include <stdint.h>

struct sampler {
    float    temperature;
    uint64_t state; /* of the generator; the seed at first */
};

int32_t sample(struct sampler * sampler, const float * logits, int32_t n);

#endif /* LLAMA_SAMPLE_H */
