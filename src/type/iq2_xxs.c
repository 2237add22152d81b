/* SPDX-License-Identifier: MIT
 *
 * IQ2_XXS: blocks of 256 values, x ~ d * (code + 1/2) / 4 * magnitude with eight magnitudes from a grid of 256 points
 * and seven sign bits. A group of 32 values is two words: four point numbers; four times seven sign bits and a 4-bit
 * code.
 */
#include "type/lattice.h"

#define GROUP 32

static const struct lattice_format format = {
    .grid           = GRID_IQ2_XXS,
    .group          = GROUP,
    .even_signs     = true,
    .range_from_fit = true,
    .zero           = 1e-15f,
    .sigma2_factor  = 1.0f,
    .n_trials       = 6,
    .step           = 0.1f,
    .refit          = LATTICE_REFIT_ALWAYS,
    .scale_factor   = 1.0f,
};

static void pack(const struct lattice_block * fit, block_iq2_xxs * block) {
    block->d = fit->d;
    for (int g = 0; g < QK_K / GROUP; g++) {
        uint32_t words[2] = {0, (uint32_t) fit->codes[g] << 28};
        for (int k = 0; k < 4; k++) {
            words[0] |= (uint32_t) fit->points[4 * g + k] << (8 * k);
            words[1] |= (uint32_t) fit->signs[4 * g + k] << (7 * k);
        }
        memcpy(block->qs + 4 * g, words, sizeof(words));
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ2_XXS);
    block_iq2_xxs *          blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct lattice_block fit;
        lattice_fit(&format, &search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        pack(&fit, &blocks[i]);
    }
}

void dequantize_row_iq2_xxs(const block_iq2_xxs * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int g = 0; g < QK_K / GROUP; g++) {
            uint32_t words[2];
            memcpy(words, x[i].qs + 4 * g, sizeof(words));
            const float scale = d * (0.5f + (float) (words[1] >> 28)) * 0.25f;
            for (int l = 0; l < 4; l++, y += 8) {
                const uint64_t magnitudes = grid_magnitudes2(grid_points_iq2_xxs[words[0] >> (8 * l) & 255]);
                grid_write(magnitudes, scale, grid_even_signs(words[1] >> (7 * l) & 127), y);
            }
        }
    }
}

TYPE_DECODE(iq2_xxs)
TYPE_VALIDATE_HALF(block_iq2_xxs, d)

size_t quantize_iq2_xxs(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                        const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ2_XXS, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq2_xxs = {
    .id            = GGML_TYPE_IQ2_XXS,
    .traits        = {.type_name    = "iq2_xxs",
                      .blck_size    = QK_K,
                      .type_size    = sizeof(block_iq2_xxs),
                      .is_quantized = true,
                      .to_float     = decode},
    .quantize      = quantize_iq2_xxs,
    .validate      = validate,
    .needs_imatrix = true,
    .decode        = decode,
    .dot_type      = GGML_TYPE_Q8_K,
};
