/* SPDX-License-Identifier: MIT
 *
 * What the files of the formats share: scales in half precision that are always finite, blocks taken into range before
 * they are searched, rows with an importance matrix, validation of scales.
 */
#ifndef GRAFT_TYPE_BLOCK_H
#define GRAFT_TYPE_BLOCK_H

#include <string.h>

#include "ggml-impl.h"
#include "ggml-quants.h"
#include "type/fit.h"
#include "type/type.h"

/* A word whose lowest byte comes first in memory. */
static inline uint64_t type_little_endian(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Just below the smallest number that rounds to an infinite half (65520). A format whose greatest level is n holds
 * values up to n times this; what lies outside is cut, so that its scale saturates at 65504 instead of becoming
 * infinite. */
#define TYPE_HALF_LIMIT 65519.0f

static inline ggml_half type_half(float v) {
    return GGML_FP32_TO_FP16(fit_limit(v, TYPE_HALF_LIMIT));
}

/* Copies n values of a block, cut to +-limit, NaN as 0: the searches then meet finite numbers only. */
static inline void type_stage(int n, const float * x, float limit, float * out) {
    for (int i = 0; i < n; i++) {
        out[i] = fit_limit(x[i], limit);
    }
}

/* The rows of a table take untyped pointers, ggml-quants.h has typed ones. */
#define TYPE_DECODE(name)                                                                  \
    static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) { \
        dequantize_row_##name(x, y, k);                                                    \
    }
#define TYPE_ENCODE(name)                                                                  \
    static void encode(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k) { \
        quantize_row_##name##_ref(x, y, k);                                                \
    }

/* Encodes one row; importance is NULL or has one value a column. */
typedef void (*type_row_encoder)(const float * x, void * y, int64_t k, const float * importance);

/* Encodes rows that lie one after the other; returns the bytes written. */
size_t type_quantize_rows(enum ggml_type type, type_row_encoder encoder, const float * src, void * dst, int64_t nrows,
                          int64_t n_per_row, const float * imatrix);

/* The same for formats whose encoder knows no importance. */
size_t type_quantize_plain(enum ggml_type type, ggml_from_float_t encoder, const float * src, void * dst, int64_t nrows,
                           int64_t n_per_row);

/* Are the halves at these offsets of every block finite? */
bool type_validate_halves(const void * data, size_t nbytes, size_t block_bytes, size_t first, size_t second);

/* A validator of a format with one scale, or two. */
#define TYPE_VALIDATE_HALF(block, member)                                                                           \
    static bool validate(const void * data, size_t nbytes) {                                                        \
        return type_validate_halves(data, nbytes, sizeof(block), offsetof(block, member), offsetof(block, member)); \
    }
#define TYPE_VALIDATE_HALVES(block, member, other)                                                                 \
    static bool validate(const void * data, size_t nbytes) {                                                       \
        return type_validate_halves(data, nbytes, sizeof(block), offsetof(block, member), offsetof(block, other)); \
    }

/* Says in the log which block is bad; returns false. */
bool type_invalid_block(const char * what, size_t block);

#endif /* GRAFT_TYPE_BLOCK_H */
