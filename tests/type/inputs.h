/* SPDX-License-Identifier: MIT
 *
 * Inputs of the tests of formats, the same on every machine: they are made from the harness's generator with additions
 * and multiplications only.
 */
#ifndef GRAFT_TESTS_TYPE_INPUTS_H
#define GRAFT_TESTS_TYPE_INPUTS_H

#include <stdint.h>
#include <string.h>

#include "harness.h"

enum input_kind {
    INPUT_NOISE,    /* nearly normal, deviation 1 */
    INPUT_UNIFORM,  /* -1 .. 1 */
    INPUT_TINY,     /* nearly normal, deviation 1e-6 */
    INPUT_HUGE,     /* nearly normal, deviation 1000 */
    INPUT_SPARSE,   /* nine of ten are zero, but never sixteen in a row */
    INPUT_POSITIVE, /* 0.5 and more */
    INPUT_OUTLIERS, /* weights of a layer with a few large columns */
    INPUT_COUNT,
};

/* The sum of twelve uniform numbers, less its mean. */
static inline float input_normal(uint64_t * state) {
    float sum = -6.0f;
    for (int i = 0; i < 12; i++) {
        sum += harness_random_float(state, 0.0f, 1.0f);
    }
    return sum;
}

static inline void input_fill(enum input_kind kind, uint64_t seed, float * x, int n) {
    uint64_t state = seed * 0x9E3779B97F4A7C15u + (uint64_t) kind + 1;
    for (int i = 0; i < n; i++) {
        const float v = input_normal(&state);
        switch (kind) {
            case INPUT_UNIFORM:
                x[i] = harness_random_float(&state, -1.0f, 1.0f);
                break;
            case INPUT_TINY:
                x[i] = v * 1e-6f;
                break;
            case INPUT_HUGE:
                x[i] = v * 1000.0f;
                break;
            case INPUT_SPARSE:
                x[i] = harness_random(&state) % 10 != 0 && i % 16 != 3 ? 0.0f : v;
                break;
            case INPUT_POSITIVE:
                x[i] = (v < 0.0f ? -v : v) + 0.5f;
                break;
            case INPUT_OUTLIERS:
                x[i] = i % 37 == 5 ? v * 2.0f : v * 0.02f;
                break;
            default:
                x[i] = v;
                break;
        }
    }
}

/* Importance of columns: between 0.01 and about 10, most of them small. */
static inline void input_importance(uint64_t seed, float * w, int n) {
    uint64_t state = seed * 0xD1B54A32D192ED03u + 7;
    for (int i = 0; i < n; i++) {
        const float u = harness_random_float(&state, 0.0f, 1.0f);
        w[i]          = 0.01f + 10.0f * u * u * u;
    }
}

static inline void input_bytes(uint64_t seed, unsigned char * bytes, size_t n) {
    uint64_t state = seed * 0xBF58476D1CE4E5B9u + 3;
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char) (harness_random(&state) >> 40);
    }
}

/* FNV-1a, 64 bits. */
static inline uint64_t input_hash(const void * data, size_t n) {
    const unsigned char * bytes = data;
    uint64_t              hash  = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    }
    return hash;
}

/* The same for numbers; every NaN counts as one. */
static inline uint64_t input_hash_floats(float * x, int n) {
    for (int i = 0; i < n; i++) {
        if (x[i] != x[i]) {
            const uint32_t nan = 0x7FC00000u;
            memcpy(&x[i], &nan, sizeof(nan));
        }
    }
    return input_hash(x, (size_t) n * sizeof(float));
}

#define INPUT_ROWS 3
#define INPUT_COLUMNS 512
#define INPUT_VALUES (INPUT_ROWS * INPUT_COLUMNS)
#define INPUT_BYTES (INPUT_VALUES * 8)

#endif /* GRAFT_TESTS_TYPE_INPUTS_H */
