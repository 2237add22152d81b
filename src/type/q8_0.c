/* SPDX-License-Identifier: MIT
 *
 * Q8_0: blocks of 32 signed bytes, x ~ d * level, levels -127 .. 127.
 */
#include "type/eight.h"

void quantize_row_q8_0_ref(const float * GGML_RESTRICT x, block_q8_0 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK8_0; i++) {
        y[i].d = type_half(eight_encode(x + i * QK8_0, y[i].qs));
    }
}

void dequantize_row_q8_0(const block_q8_0 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK8_0; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int j = 0; j < QK8_0; j++) {
            y[i * QK8_0 + j] = (float) x[i].qs[j] * d;
        }
    }
}

TYPE_ENCODE(q8_0)
TYPE_DECODE(q8_0)
TYPE_VALIDATE_HALF(block_q8_0, d)

size_t quantize_q8_0(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_Q8_0, encode, src, dst, nrows, n_per_row);
}

const struct type_row type_row_q8_0 = {
    .id       = GGML_TYPE_Q8_0,
    .traits   = {.type_name      = "q8_0",
                 .blck_size      = QK8_0,
                 .type_size      = sizeof(block_q8_0),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q8_0,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
