/* SPDX-License-Identifier: MIT
 *
 * F32: single precision, the format that all others are decoded to.
 */
#include "type/block.h"

static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    if (k > 0) {
        memcpy(y, x, (size_t) k * sizeof(float));
    }
}

static void encode(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k) {
    if (k > 0) {
        memcpy(y, x, (size_t) k * sizeof(float));
    }
}

static size_t quantize(const float * src, void * dst, int64_t nrows, int64_t n_per_row, const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_F32, encode, src, dst, nrows, n_per_row);
}

static bool validate(const void * data, size_t nbytes) {
    const float * values = data;
    for (size_t i = 0; i < nbytes / sizeof(float); i++) {
        if (!isfinite(values[i])) {
            return type_invalid_block("Inf or NaN", i);
        }
    }
    return true;
}

const struct type_row type_row_f32 = {
    .id       = GGML_TYPE_F32,
    .traits   = {.type_name = "f32", .blck_size = 1, .type_size = sizeof(float)},
    .quantize = quantize,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_F32,
};
