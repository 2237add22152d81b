/* SPDX-License-Identifier: MIT
 *
 * Q4_K: blocks of 256 values in 8 groups, 4 bits each, x ~ d * scale * level - dmin * min with scales and mins of 6
 * bits.
 */
#include "type/k_affine.h"
#include "type/k_bits.h"

#define GROUP 32
#define N_GROUPS (QK_K / GROUP)

static const struct k_affine_format format = {
    .group         = GROUP,
    .max_level     = 15,
    .max_scale     = 63,
    .rms_weights   = true,
    .sigma2_factor = 2.0f,
    .trials        = {-1.0f, 0.1f, 20, false},
};

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_q4_K * blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct k_affine_block fit;
        k_affine_fit(&format, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        blocks[i].d    = fit.d;
        blocks[i].dmin = fit.dmin;
        k_pack_scales(fit.scales, fit.mins, blocks[i].scales);
        k_pack_nibbles(fit.levels, blocks[i].qs);
    }
}

void quantize_row_q4_K_ref(const float * GGML_RESTRICT x, block_q4_K * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

void dequantize_row_q4_K(const block_q4_K * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++, y += QK_K) {
        const float d = GGML_FP16_TO_FP32(x[i].d), dmin = GGML_FP16_TO_FP32(x[i].dmin);
        uint8_t     scales[N_GROUPS], mins[N_GROUPS], levels[QK_K];
        k_unpack_scales(x[i].scales, scales, mins);
        k_unpack_nibbles(x[i].qs, levels);
        for (int g = 0; g < N_GROUPS; g++) {
            const float scale = d * (float) scales[g];
            const float min   = dmin * (float) mins[g];
            for (int j = g * GROUP; j < (g + 1) * GROUP; j++) {
                y[j] = scale * (float) levels[j] - min;
            }
        }
    }
}

TYPE_ENCODE(q4_K)
TYPE_DECODE(q4_K)
TYPE_VALIDATE_HALVES(block_q4_K, d, dmin)

size_t quantize_q4_K(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_Q4_K, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_q4_k = {
    .id       = GGML_TYPE_Q4_K,
    .traits   = {.type_name      = "q4_K",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_q4_K),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q4_K,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
