/* SPDX-License-Identifier: MIT
 *
 * IQ2_XS: blocks of 256 values, x ~ d * (code + 1/2) / 4 * magnitude with eight magnitudes from a grid of 512 points: 9
 * bits of point and seven of sign in a 16-bit word. Groups of 16 values have a 4-bit code.
 */
#include "type/lattice.h"

#define GROUP 16

static const struct lattice_format format = {
    .grid          = GRID_IQ2_XS,
    .group         = GROUP,
    .even_signs    = true,
    .zero          = 1e-15f,
    .sigma2_factor = 1.0f,
    .n_trials      = 9,
    .step          = 0.1f,
    .refit         = LATTICE_REFIT_OFF_GRID,
    .scale_factor  = 1.0f,
};

static void pack(const struct lattice_block * fit, block_iq2_xs * block) {
    block->d = fit->d;
    for (int k = 0; k < QK_K / 8; k++) {
        block->qs[k] = (uint16_t) (fit->points[k] | fit->signs[k] << 9);
    }
    for (int g = 0; g < QK_K / GROUP; g += 2) {
        block->scales[g / 2] = (uint8_t) (fit->codes[g] | fit->codes[g + 1] << 4);
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ2_XS);
    block_iq2_xs *           blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct lattice_block fit;
        lattice_fit(&format, &search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        pack(&fit, &blocks[i]);
    }
}

void dequantize_row_iq2_xs(const block_iq2_xs * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int l = 0; l < QK_K / 8; l++, y += 8) {
            const float    scale = d * (0.5f + (float) (x[i].scales[l / 4] >> (l / 2 % 2 * 4) & 15)) * 0.25f;
            const unsigned word  = x[i].qs[l];
            grid_write(grid_magnitudes2(grid_points_iq2_xs[word & 511]), scale, grid_even_signs(word >> 9), y);
        }
    }
}

TYPE_DECODE(iq2_xs)
TYPE_VALIDATE_HALF(block_iq2_xs, d)

size_t quantize_iq2_xs(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                       const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ2_XS, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq2_xs = {
    .id            = GGML_TYPE_IQ2_XS,
    .traits        = {.type_name    = "iq2_xs",
                      .blck_size    = QK_K,
                      .type_size    = sizeof(block_iq2_xs),
                      .is_quantized = true,
                      .to_float     = decode},
    .quantize      = quantize_iq2_xs,
    .validate      = validate,
    .needs_imatrix = true,
    .decode        = decode,
    .dot_type      = GGML_TYPE_Q8_K,
};
