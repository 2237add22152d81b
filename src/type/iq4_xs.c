/* SPDX-License-Identifier: MIT
 *
 * IQ4_XS: blocks of 256 values in 8 groups, 4 bits each, x ~ d * (scale - 32) * value[code] with the values of IQ4_NL
 * and scales of 6 bits: the low nibbles of two groups in a byte of scales_l, the high pairs in the word scales_h.
 */
#include "type/iq4.h"

#define N_GROUPS (QK_K / IQ4_GROUP)
#define LIMIT (TYPE_HALF_LIMIT * 32.0f * 113.0f)

static void encode_block(const float * x, const float * importance, block_iq4_xs * block) {
    float values[QK_K], w[IQ4_GROUP], scales[N_GROUPS];
    type_stage(QK_K, x, LIMIT, values);
    const float sigma2 = fit_sum_squares(QK_K, values, LIMIT) * (2.0f / QK_K);
    for (int g = 0; g < N_GROUPS; g++) {
        const int first = g * IQ4_GROUP;
        iq4_weigh(values + first, importance != NULL ? importance + first : NULL, sigma2, w);
        scales[g] = iq4_fit(values + first, w, 7);
    }
    const float d       = -fit_peak(N_GROUPS, scales) / 32.0f;
    const float inverse = fit_ratio(1.0f, d);
    block->d            = type_half(d);
    block->scales_h     = 0;
    memset(block->scales_l, 0, sizeof(block->scales_l));
    for (int g = 0; g < N_GROUPS; g++) {
        const int scale = fit_level(inverse * scales[g], -32, 31);
        uint8_t   codes[IQ4_GROUP];
        iq4_nearest(values + g * IQ4_GROUP, fit_ratio(1.0f, d * (float) scale), codes);
        iq4_pack(codes, block->qs + g * (IQ4_GROUP / 2));
        block->scales_l[g / 2] = (uint8_t) (block->scales_l[g / 2] | ((scale + 32) & 15) << (g % 2 * 4));
        block->scales_h        = (uint16_t) (block->scales_h | (scale + 32) >> 4 << (2 * g));
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_iq4_xs * blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        encode_block(x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &blocks[i]);
    }
}

void quantize_row_iq4_xs_ref(const float * GGML_RESTRICT x, block_iq4_xs * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

void dequantize_row_iq4_xs(const block_iq4_xs * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int g = 0; g < N_GROUPS; g++) {
            const int low = x[i].scales_l[g / 2] >> (g % 2 * 4) & 15, high = x[i].scales_h >> (2 * g) & 3;
            iq4_decode(x[i].qs + g * (IQ4_GROUP / 2), d * (float) ((low | high << 4) - 32),
                       y + i * QK_K + g * IQ4_GROUP);
        }
    }
}

TYPE_ENCODE(iq4_xs)
TYPE_DECODE(iq4_xs)
TYPE_VALIDATE_HALF(block_iq4_xs, d)

size_t quantize_iq4_xs(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                       const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ4_XS, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq4_xs = {
    .id       = GGML_TYPE_IQ4_XS,
    .traits   = {.type_name      = "iq4_xs",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_iq4_xs),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_iq4_xs,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
