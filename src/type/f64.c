/* SPDX-License-Identifier: MIT
 *
 * F64: double precision.
 */
#include "type/block.h"

static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    const double * values = x;
    for (int64_t i = 0; i < k; i++) {
        y[i] = (float) values[i];
    }
}

static void encode(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k) {
    double * values = y;
    for (int64_t i = 0; i < k; i++) {
        values[i] = (double) x[i];
    }
}

static bool validate(const void * data, size_t nbytes) {
    const double * values = data;
    for (size_t i = 0; i < nbytes / sizeof(double); i++) {
        if (!isfinite(values[i])) {
            return type_invalid_block("Inf or NaN", i);
        }
    }
    return true;
}

const struct type_row type_row_f64 = {
    .id       = GGML_TYPE_F64,
    .traits   = {.type_name = "f64", .blck_size = 1, .type_size = sizeof(double)},
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_COUNT,
};
