/* SPDX-License-Identifier: MIT
 *
 * Rows of plain integer types: decoding widens, encoding cuts the fraction off and saturates; NaN becomes 0.
 */
#ifndef GRAFT_TYPE_NUMBER_H
#define GRAFT_TYPE_NUMBER_H

#include "type/type.h"

#define TYPE_INTEGER_ROW(row_name, constant, text, c_type, low, high)                                            \
    static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {                       \
        const c_type * values = x;                                                                               \
        for (int64_t i = 0; i < k; i++) {                                                                        \
            y[i] = (float) values[i];                                                                            \
        }                                                                                                        \
    }                                                                                                            \
    static void encode(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k) {                       \
        c_type * values = y;                                                                                     \
        for (int64_t i = 0; i < k; i++) {                                                                        \
            const float v = x[i];                                                                                \
            values[i]     = v >= (float) (high) ? (high) : v <= (float) (low) ? (low) : v == v ? (c_type) v : 0; \
        }                                                                                                        \
    }                                                                                                            \
    const struct type_row row_name = {                                                                           \
        .id       = constant,                                                                                    \
        .traits   = {.type_name = text, .blck_size = 1, .type_size = sizeof(c_type)},                            \
        .decode   = decode,                                                                                      \
        .encode   = encode,                                                                                      \
        .dot_type = GGML_TYPE_COUNT,                                                                             \
    }

#endif /* GRAFT_TYPE_NUMBER_H */
