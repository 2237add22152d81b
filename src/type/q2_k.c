/* SPDX-License-Identifier: MIT
 *
 * Q2_K: blocks of 256 values in 16 groups, 2 bits each, x ~ d * scale * level - dmin * min with scales and mins of 4
 * bits (a byte of a group: scale low, min high).
 */
#include "type/k_affine.h"
#include "type/k_bits.h"

#define GROUP 16

static const struct k_affine_format format = {
    .group         = GROUP,
    .max_level     = 3,
    .max_scale     = 15,
    .sigma2_factor = 1.0f,
    .trials        = {-0.5f, 0.1f, 15, true},
};

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_q2_K * blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct k_affine_block fit;
        k_affine_fit(&format, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        blocks[i].d    = fit.d;
        blocks[i].dmin = fit.dmin;
        for (int g = 0; g < QK_K / GROUP; g++) {
            blocks[i].scales[g] = (uint8_t) (fit.scales[g] | fit.mins[g] << 4);
        }
        k_pack_pairs(fit.levels, blocks[i].qs);
    }
}

void quantize_row_q2_K_ref(const float * GGML_RESTRICT x, block_q2_K * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

void dequantize_row_q2_K(const block_q2_K * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++, y += QK_K) {
        const float d = GGML_FP16_TO_FP32(x[i].d), dmin = GGML_FP16_TO_FP32(x[i].dmin);
        uint8_t     levels[QK_K];
        k_unpack_pairs(x[i].qs, levels);
        for (int g = 0; g < QK_K / GROUP; g++) {
            const float scale = d * (float) (x[i].scales[g] & 15);
            const float min   = dmin * (float) (x[i].scales[g] >> 4);
            for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
                y[j] = scale * (float) levels[j] - min;
            }
        }
    }
}

TYPE_ENCODE(q2_K)
TYPE_DECODE(q2_K)
TYPE_VALIDATE_HALVES(block_q2_K, d, dmin)

size_t quantize_q2_K(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_Q2_K, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_q2_k = {
    .id       = GGML_TYPE_Q2_K,
    .traits   = {.type_name      = "q2_K",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_q2_K),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q2_K,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
