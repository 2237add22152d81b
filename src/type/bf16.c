/* SPDX-License-Identifier: MIT
 *
 * BF16: the upper half of single precision, rounded to nearest even.
 */
#include "type/block.h"

static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    ggml_bf16_to_fp32_row(x, y, k);
}

static void encode(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k) {
    ggml_fp32_to_bf16_row_ref(x, y, k);
}

static size_t quantize(const float * src, void * dst, int64_t nrows, int64_t n_per_row, const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_BF16, encode, src, dst, nrows, n_per_row);
}

static bool validate(const void * data, size_t nbytes) {
    const ggml_bf16_t * values = data;
    for (size_t i = 0; i < nbytes / sizeof(ggml_bf16_t); i++) {
        if ((values[i].bits & 0x7F80) == 0x7F80) {
            return type_invalid_block("Inf or NaN", i);
        }
    }
    return true;
}

const struct type_row type_row_bf16 = {
    .id       = GGML_TYPE_BF16,
    .traits   = {.type_name      = "bf16",
                 .blck_size      = 1,
                 .type_size      = sizeof(ggml_bf16_t),
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_BF16,
};
