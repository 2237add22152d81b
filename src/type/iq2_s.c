/* SPDX-License-Identifier: MIT
 *
 * IQ2_S: blocks of 256 values, x ~ d * (code + 1/2) / 4 * magnitude with eight magnitudes from a grid of 1024 points (8
 * bits in the first half of qs, 2 bits in qh) and eight sign bits in the second half of qs. Groups of 16 values have a
 * 4-bit code.
 */
#include "type/lattice.h"

#define GROUP 16

static const struct lattice_format format = {
    .grid          = GRID_IQ2_S,
    .group         = GROUP,
    .zero          = 1e-8f,
    .sigma2_factor = 2.0f,
    .plain_part    = 0.25f,
    .n_trials      = 9,
    .step          = 0.1f,
    .refit         = LATTICE_REFIT_OFF_GRID,
    .scale_factor  = 0.9875f,
};

static void pack(const struct lattice_block * fit, block_iq2_s * block) {
    memset(block, 0, sizeof(*block));
    block->d = fit->d;
    for (int k = 0; k < QK_K / 8; k++) {
        block->qs[k]            = fit->points[k] & 255;
        block->qs[QK_K / 8 + k] = fit->signs[k];
        block->qh[k / 4]        = (uint8_t) (block->qh[k / 4] | fit->points[k] >> 8 << (k % 4 * 2));
    }
    for (int g = 0; g < QK_K / GROUP; g += 2) {
        block->scales[g / 2] = (uint8_t) (fit->codes[g] | fit->codes[g + 1] << 4);
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ2_S);
    block_iq2_s *            blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct lattice_block fit;
        lattice_fit(&format, &search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        pack(&fit, &blocks[i]);
    }
}

void quantize_row_iq2_s_ref(const float * GGML_RESTRICT x, block_iq2_s * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

void dequantize_row_iq2_s(const block_iq2_s * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int l = 0; l < QK_K / 8; l++, y += 8) {
            const float    scale = d * (0.5f + (float) (x[i].scales[l / 4] >> (l / 2 % 2 * 4) & 15)) * 0.25f;
            const unsigned point = x[i].qs[l] | (x[i].qh[l / 4] >> (l % 4 * 2) & 3u) << 8;
            grid_write(grid_magnitudes2(grid_points_iq2_s[point]), scale, x[i].qs[QK_K / 8 + l], y);
        }
    }
}

TYPE_ENCODE(iq2_s)
TYPE_DECODE(iq2_s)
TYPE_VALIDATE_HALF(block_iq2_s, d)

size_t quantize_iq2_s(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ2_S, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq2_s = {
    .id       = GGML_TYPE_IQ2_S,
    .traits   = {.type_name      = "iq2_s",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_iq2_s),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_iq2_s,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
