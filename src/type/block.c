/* SPDX-License-Identifier: MIT
 *
 * Rows and validation for all formats.
 */
#include "type/block.h"

size_t type_quantize_rows(enum ggml_type type, type_row_encoder encoder, const float * src, void * dst, int64_t nrows,
                          int64_t n_per_row, const float * imatrix) {
    const size_t row_bytes = ggml_row_size(type, n_per_row);
    for (int64_t row = 0; row < nrows; row++) {
        encoder(src + row * n_per_row, (char *) dst + (size_t) row * row_bytes, n_per_row, imatrix);
    }
    return (size_t) nrows * row_bytes;
}

size_t type_quantize_plain(enum ggml_type type, ggml_from_float_t encoder, const float * src, void * dst, int64_t nrows,
                           int64_t n_per_row) {
    encoder(src, dst, nrows * n_per_row);
    return (size_t) nrows * ggml_row_size(type, n_per_row);
}

bool type_invalid_block(const char * what, size_t block) {
    GGML_LOG_ERROR("ggml_validate_row_data: %s in block %zu\n", what, block);
    return false;
}

static bool half_is_finite(const unsigned char * at) {
    ggml_half h;
    memcpy(&h, at, sizeof(h));
    return (h & 0x7C00) != 0x7C00;
}

bool type_validate_halves(const void * data, size_t nbytes, size_t block_bytes, size_t first, size_t second) {
    const unsigned char * block = data;
    for (size_t i = 0; i < nbytes / block_bytes; i++, block += block_bytes) {
        if (!half_is_finite(block + first) || !half_is_finite(block + second)) {
            return type_invalid_block("Inf or NaN", i);
        }
    }
    return true;
}
