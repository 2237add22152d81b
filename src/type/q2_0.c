/* SPDX-License-Identifier: MIT
 *
 * Q2_0: blocks of 64 values, 2 bits each, x ~ d * (level - 1), levels 0 .. 3, where d is the greatest magnitude: the
 * encoder uses -d, 0 and d only. Value 4 i + j is in bits 2 j and 2 j + 1 of byte i.
 */
#include "type/block.h"
#include "type/eight.h"

void quantize_row_q2_0_ref(const float * GGML_RESTRICT x, block_q2_0 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK2_0; i++) {
        float values[QK2_0];
        type_stage(QK2_0, x + i * QK2_0, TYPE_HALF_LIMIT, values);
        const float d       = fabsf(fit_peak(QK2_0, values));
        const float inverse = fit_ratio(1.0f, d);
        y[i].d              = type_half(d);
        memset(y[i].qs, 0, sizeof(y[i].qs));
        for (int j = 0; j < QK2_0; j++) {
            const int level = fit_clamp(eight_round(values[j] * inverse) + 1, 0, 3);
            y[i].qs[j / 4]  = (uint8_t) (y[i].qs[j / 4] | level << (j % 4 * 2));
        }
    }
}

void dequantize_row_q2_0(const block_q2_0 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK2_0; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int j = 0; j < QK2_0; j++) {
            y[i * QK2_0 + j] = (float) ((x[i].qs[j / 4] >> (j % 4 * 2) & 3) - 1) * d;
        }
    }
}

TYPE_ENCODE(q2_0)
TYPE_DECODE(q2_0)
TYPE_VALIDATE_HALF(block_q2_0, d)

size_t quantize_q2_0(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_Q2_0, encode, src, dst, nrows, n_per_row);
}

const struct type_row type_row_q2_0 = {
    .id       = GGML_TYPE_Q2_0,
    .traits   = {.type_name      = "q2_0",
                 .blck_size      = QK2_0,
                 .type_size      = sizeof(block_q2_0),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q2_0,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
