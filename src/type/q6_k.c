/* SPDX-License-Identifier: MIT
 *
 * Q6_K: blocks of 256 values in 16 groups, 6 bits each, x ~ d * scale * (level - 32) with scales of 8 bits. In each
 * half of 128 values, ql holds the low nibbles of values l and l + 64, then of l + 32 and l + 96, and qh the high pairs
 * of all four.
 */
#include "type/k_bits.h"

#define GROUP 16
#define N_GROUPS (QK_K / GROUP)
#define LIMIT (TYPE_HALF_LIMIT * 128.0f * 32.0f)

static void pack_levels(const uint8_t * levels, uint8_t * ql, uint8_t * qh) {
    uint8_t high[QK_K];
    for (int j = 0; j < QK_K; j++) {
        high[j] = levels[j] >> 4;
    }
    k_pack_pairs(high, qh);
    for (int half = 0; half < QK_K; half += 128, ql += 64) {
        for (int l = 0; l < 64; l++) {
            ql[l] = (uint8_t) ((levels[half + l] & 15) | levels[half + l + 64] << 4);
        }
    }
}

static void unpack_levels(const uint8_t * ql, const uint8_t * qh, uint8_t * levels) {
    k_unpack_pairs(qh, levels);
    for (int half = 0; half < QK_K; half += 128, ql += 64) {
        uint8_t * out = levels + half;
        for (int l = 0; l < 64; l++) {
            out[l]      = (uint8_t) (out[l] << 4 | (ql[l] & 15));
            out[l + 64] = (uint8_t) (out[l + 64] << 4 | ql[l] >> 4);
        }
    }
}

static void encode_block(const float * x, const float * importance, block_q6_K * block) {
    float   values[QK_K], group_scales[N_GROUPS];
    int8_t  fitted[QK_K];
    uint8_t levels[QK_K];
    type_stage(QK_K, x, LIMIT, values);
    for (int g = 0; g < N_GROUPS; g++) {
        group_scales[g] = fit_symmetric(GROUP, 32, values + g * GROUP,
                                        importance != NULL ? importance + g * GROUP : NULL, fitted + g * GROUP);
    }
    const float peak = fit_peak(N_GROUPS, group_scales);
    if (fabsf(peak) < FIT_ZERO) {
        memset(block, 0, sizeof(*block));
        return;
    }
    const float inverse = -128.0f / peak;
    block->d            = type_half(1.0f / inverse);
    for (int g = 0; g < N_GROUPS; g++) {
        block->scales[g] = (int8_t) fit_level(inverse * group_scales[g], -128, 127);
        const float d    = GGML_FP16_TO_FP32(block->d) * (float) block->scales[g];
        for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
            levels[j] = (uint8_t) (d != 0.0f ? fit_level(values[j] / d, -32, 31) + 32 : fitted[j]);
        }
    }
    pack_levels(levels, block->ql, block->qh);
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_q6_K * blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        encode_block(x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &blocks[i]);
    }
}

void quantize_row_q6_K_ref(const float * GGML_RESTRICT x, block_q6_K * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

void dequantize_row_q6_K(const block_q6_K * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++, y += QK_K) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        uint8_t     levels[QK_K];
        unpack_levels(x[i].ql, x[i].qh, levels);
        for (int g = 0; g < N_GROUPS; g++) {
            const float scale = d * (float) x[i].scales[g];
            for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
                y[j] = scale * (float) (levels[j] - 32);
            }
        }
    }
}

TYPE_ENCODE(q6_K)
TYPE_DECODE(q6_K)
TYPE_VALIDATE_HALF(block_q6_K, d)

size_t quantize_q6_K(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_Q6_K, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_q6_k = {
    .id       = GGML_TYPE_Q6_K,
    .traits   = {.type_name      = "q6_K",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_q6_K),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q6_K,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
