/* SPDX-License-Identifier: MIT
 *
 * F16: IEEE half precision. Encoding rounds to nearest even and overflows to infinity, as the format is defined.
 */
#include "type/block.h"

static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    ggml_fp16_to_fp32_row(x, y, k);
}

static void encode(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k) {
    ggml_fp32_to_fp16_row(x, y, k);
}

static size_t quantize(const float * src, void * dst, int64_t nrows, int64_t n_per_row, const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_F16, encode, src, dst, nrows, n_per_row);
}

static bool validate(const void * data, size_t nbytes) {
    return type_validate_halves(data, nbytes, sizeof(ggml_fp16_t), 0, 0);
}

const struct type_row type_row_f16 = {
    .id       = GGML_TYPE_F16,
    .traits   = {.type_name      = "f16",
                 .blck_size      = 1,
                 .type_size      = sizeof(ggml_fp16_t),
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_F16,
};
