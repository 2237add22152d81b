/* SPDX-License-Identifier: MIT
 *
 * IQ4_NL: blocks of 32 values, 4 bits each, x ~ d * value[code] with sixteen values that are not evenly spaced.
 */
#include "type/iq4.h"

#define LIMIT (TYPE_HALF_LIMIT * 113.0f)

static void encode_block(const float * x, const float * importance, int n_trials, block_iq4_nl * block) {
    float   values[QK4_NL], w[QK4_NL];
    uint8_t codes[QK4_NL];
    type_stage(QK4_NL, x, LIMIT, values);
    iq4_weigh(values, importance, fit_sum_squares(QK4_NL, values, LIMIT) * (2.0f / QK4_NL), w);
    const float scale = iq4_fit(values, w, n_trials);
    /* Without trials the codes are those of the first scale, not of the least squares one. */
    const float first = n_trials > 0 ? scale : fit_peak(QK4_NL, values) / iq4_values[0];
    iq4_nearest(values, fit_ratio(1.0f, first), codes);
    block->d = type_half(scale);
    iq4_pack(codes, block->qs);
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_iq4_nl * blocks = y;
    for (int64_t i = 0; i < k / QK4_NL; i++) {
        encode_block(x + i * QK4_NL, importance != NULL ? importance + i * QK4_NL : NULL, 7, &blocks[i]);
    }
}

void quantize_row_iq4_nl_ref(const float * GGML_RESTRICT x, block_iq4_nl * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK4_NL; i++) {
        encode_block(x + i * QK4_NL, NULL, -1, &y[i]);
    }
}

void dequantize_row_iq4_nl(const block_iq4_nl * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK4_NL; i++) {
        iq4_decode(x[i].qs, GGML_FP16_TO_FP32(x[i].d), y + i * QK4_NL);
    }
}

TYPE_ENCODE(iq4_nl)
TYPE_DECODE(iq4_nl)
TYPE_VALIDATE_HALF(block_iq4_nl, d)

size_t quantize_iq4_nl(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                       const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ4_NL, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq4_nl = {
    .id       = GGML_TYPE_IQ4_NL,
    .traits   = {.type_name      = "iq4_nl",
                 .blck_size      = QK4_NL,
                 .type_size      = sizeof(block_iq4_nl),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_iq4_nl,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
