/* SPDX-License-Identifier: MIT
 *
 * Arithmetic on sizes that says when it overflows. Each returns false and leaves *out alone on overflow.
 */
#ifndef GRAFT_BASE_CHECK_H
#define GRAFT_BASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool base_size_mul(size_t a, size_t b, size_t * out) {
    size_t r;
    if (__builtin_mul_overflow(a, b, &r)) {
        return false;
    }
    *out = r;
    return true;
}

static inline bool base_size_add(size_t a, size_t b, size_t * out) {
    size_t r;
    if (__builtin_add_overflow(a, b, &r)) {
        return false;
    }
    *out = r;
    return true;
}

static inline bool base_int64_mul(int64_t a, int64_t b, int64_t * out) {
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) {
        return false;
    }
    *out = r;
    return true;
}

static inline bool base_int64_add(int64_t a, int64_t b, int64_t * out) {
    int64_t r;
    if (__builtin_add_overflow(a, b, &r)) {
        return false;
    }
    *out = r;
    return true;
}

/* Rounds up to a multiple of align, a power of two. */
static inline bool base_size_pad(size_t a, size_t align, size_t * out) {
    size_t r;
    if (!base_size_add(a, align - 1, &r)) {
        return false;
    }
    *out = r & ~(align - 1);
    return true;
}

#endif /* GRAFT_BASE_CHECK_H */
