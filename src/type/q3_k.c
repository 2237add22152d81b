/* SPDX-License-Identifier: MIT
 *
 * Q3_K: blocks of 256 values in 16 groups, 3 bits each, x ~ d * (scale - 32) * (level - 4) with scales of 6 bits: low
 * nibbles of groups g and g + 8 in byte g, high pairs of groups g, g + 4, g + 8 and g + 12 in byte 8 + g. The third
 * bits of the levels are apart in hmask.
 */
#include "type/k_bits.h"

#define GROUP 16
#define N_GROUPS (QK_K / GROUP)
#define LIMIT (TYPE_HALF_LIMIT * 32.0f * 4.0f)

static void pack_scales(const uint8_t * scales, uint8_t * packed) {
    memset(packed, 0, 12);
    for (int g = 0; g < N_GROUPS; g++) {
        packed[g % 8]     = (uint8_t) (packed[g % 8] | (scales[g] & 15) << (g / 8 * 4));
        packed[8 + g % 4] = (uint8_t) (packed[8 + g % 4] | (scales[g] >> 4) << (g / 4 * 2));
    }
}

static void unpack_scales(const uint8_t * packed, uint8_t * scales) {
    for (int g = 0; g < N_GROUPS; g++) {
        const int low = packed[g % 8] >> (g / 8 * 4) & 15, high = packed[8 + g % 4] >> (g / 4 * 2) & 3;
        scales[g] = (uint8_t) (low | high << 4);
    }
}

/* Scales of the groups as integers with 32 added; the greatest magnitude gets -32. Returns their unit. */
static float round_scales(const float * scales, uint8_t * out) {
    const float inverse = fit_ratio(-32.0f, fit_peak(N_GROUPS, scales));
    for (int g = 0; g < N_GROUPS; g++) {
        out[g] = inverse != 0.0f ? (uint8_t) (fit_level(inverse * scales[g], -32, 31) + 32) : 0;
    }
    return fit_ratio(1.0f, inverse);
}

static float fit_plain(const float * x, int8_t * levels, uint8_t * scales) {
    float group_scales[N_GROUPS];
    for (int g = 0; g < N_GROUPS; g++) {
        group_scales[g] = fit_symmetric_descent(GROUP, 4, x + g * GROUP, levels + g * GROUP);
    }
    return round_scales(group_scales, scales);
}

static float fit_weighted(const float * x, const float * importance, int8_t * levels, uint8_t * scales) {
    const float sigma2 = 2.0f * fit_sum_squares(QK_K, x, LIMIT) / (float) QK_K;
    float       group_scales[N_GROUPS], group_weights[N_GROUPS], w[GROUP];
    int8_t      shifted[N_GROUPS];
    for (int g = 0; g < N_GROUPS; g++) {
        fit_importance(GROUP, x + g * GROUP, importance + g * GROUP, sigma2, w);
        group_weights[g] = 0.0f;
        for (int j = 0; j < GROUP; j++) {
            group_weights[g] += w[j];
        }
        group_scales[g] = fit_symmetric(GROUP, 4, x + g * GROUP, w, levels + g * GROUP);
    }
    const float d = fit_symmetric(N_GROUPS, 32, group_scales, group_weights, shifted);
    for (int g = 0; g < N_GROUPS; g++) {
        scales[g] = (uint8_t) shifted[g];
    }
    return d;
}

static void encode_block(const float * x, const float * importance, block_q3_K * block) {
    float   values[QK_K];
    int8_t  fitted[QK_K];
    uint8_t scales[N_GROUPS], levels[QK_K];
    type_stage(QK_K, x, LIMIT, values);
    block->d = type_half(importance != NULL ? fit_weighted(values, importance, fitted, scales)
                                            : fit_plain(values, fitted, scales));
    pack_scales(scales, block->scales);
    for (int g = 0; g < N_GROUPS; g++) {
        const float d = GGML_FP16_TO_FP32(block->d) * (float) (scales[g] - 32);
        for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
            levels[j] = (uint8_t) (d != 0.0f ? fit_level(values[j] / d, -4, 3) + 4 : fitted[j]);
        }
    }
    k_pack_pairs(levels, block->qs);
    k_pack_bit(levels, 2, block->hmask);
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_q3_K * blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        encode_block(x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &blocks[i]);
    }
}

void quantize_row_q3_K_ref(const float * GGML_RESTRICT x, block_q3_K * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

void dequantize_row_q3_K(const block_q3_K * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++, y += QK_K) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        uint8_t     scales[N_GROUPS], levels[QK_K];
        unpack_scales(x[i].scales, scales);
        k_unpack_pairs(x[i].qs, levels);
        k_unpack_bit(x[i].hmask, 2, levels);
        for (int g = 0; g < N_GROUPS; g++) {
            const float scale = d * (float) (scales[g] - 32);
            for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
                y[j] = scale * (float) (levels[j] - 4);
            }
        }
    }
}

TYPE_ENCODE(q3_K)
TYPE_DECODE(q3_K)
TYPE_VALIDATE_HALF(block_q3_K, d)

size_t quantize_q3_K(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_Q3_K, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_q3_k = {
    .id       = GGML_TYPE_Q3_K,
    .traits   = {.type_name      = "q3_K",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_q3_K),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q3_K,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
