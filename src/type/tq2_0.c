/* SPDX-License-Identifier: MIT
 *
 * TQ2_0: blocks of 256 ternary values, 2 bits each, x ~ d * (trit - 1), where d is the greatest magnitude. Levels are
 * placed as in Q2_K.
 */
#include "type/k_bits.h"
#include "type/ternary.h"

void quantize_row_tq2_0_ref(const float * GGML_RESTRICT x, block_tq2_0 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        uint8_t trits[QK_K];
        y[i].d = type_half(ternary_fit(x + i * QK_K, trits));
        k_pack_pairs(trits, y[i].qs);
    }
}

void dequantize_row_tq2_0(const block_tq2_0 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        uint8_t     levels[QK_K];
        k_unpack_pairs(x[i].qs, levels);
        for (int j = 0; j < QK_K; j++) {
            y[i * QK_K + j] = (float) (levels[j] - 1) * d;
        }
    }
}

TYPE_ENCODE(tq2_0)
TYPE_DECODE(tq2_0)
TYPE_VALIDATE_HALF(block_tq2_0, d)

size_t quantize_tq2_0(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_TQ2_0, encode, src, dst, nrows, n_per_row);
}

const struct type_row type_row_tq2_0 = {
    .id       = GGML_TYPE_TQ2_0,
    .traits   = {.type_name      = "tq2_0",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_tq2_0),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_tq2_0,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
