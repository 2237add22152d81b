/* SPDX-License-Identifier: MIT
 *
 * Q1_0: blocks of 128 signs, x ~ +d or -d, where d is the mean magnitude. Bit j of byte i belongs to value 8 i + j.
 */
#include "type/block.h"
#include "type/grid.h"

/* The mean of a block of such values is still within what a scale can be. */
#define LIMIT (TYPE_HALF_LIMIT * (float) QK1_0)

void quantize_row_q1_0_ref(const float * GGML_RESTRICT x, block_q1_0 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK1_0; i++) {
        float values[QK1_0], sum = 0.0f;
        type_stage(QK1_0, x + i * QK1_0, LIMIT, values);
        memset(y[i].qs, 0, sizeof(y[i].qs));
        for (int j = 0; j < QK1_0; j++) {
            sum += fabsf(values[j]);
            y[i].qs[j / 8] = (uint8_t) (y[i].qs[j / 8] | (values[j] >= 0.0f) << (j % 8));
        }
        y[i].d = type_half(sum / (float) QK1_0);
    }
}

void dequantize_row_q1_0(const block_q1_0 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK1_0; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int j = 0; j < QK1_0; j += 8) {
            grid_write(0x0101010101010101u, d, ~(unsigned) x[i].qs[j / 8], y + i * QK1_0 + j);
        }
    }
}

TYPE_ENCODE(q1_0)
TYPE_DECODE(q1_0)
TYPE_VALIDATE_HALF(block_q1_0, d)

size_t quantize_q1_0(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_Q1_0, encode, src, dst, nrows, n_per_row);
}

const struct type_row type_row_q1_0 = {
    .id       = GGML_TYPE_Q1_0,
    .traits   = {.type_name      = "q1_0",
                 .blck_size      = QK1_0,
                 .type_size      = sizeof(block_q1_0),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q1_0,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
