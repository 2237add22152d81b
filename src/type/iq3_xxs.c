/* SPDX-License-Identifier: MIT
 *
 * IQ3_XXS: blocks of 256 values, x ~ d * (code + 1/2) / 2 * magnitude with four magnitudes from a grid of 256 points.
 * qs has 64 point numbers, then a word for every 32 values: four times seven sign bits and a 4-bit code.
 */
#include "type/lattice.h"

#define GROUP 32

static const struct lattice_format format = {
    .grid          = GRID_IQ3_XXS,
    .group         = GROUP,
    .even_signs    = true,
    .zero          = 1e-8f,
    .sigma2_factor = 2.0f,
    .n_trials      = 15,
    .step          = 0.2f,
    .refit         = LATTICE_REFIT_OFF_GRID,
    .scale_factor  = 1.0125f,
};

static void pack(const struct lattice_block * fit, block_iq3_xxs * block) {
    block->d = fit->d;
    for (int k = 0; k < QK_K / 4; k++) {
        block->qs[k] = (uint8_t) fit->points[k];
    }
    for (int g = 0; g < QK_K / GROUP; g++) {
        uint32_t word = (uint32_t) fit->codes[g] << 28;
        for (int k = 0; k < 4; k++) {
            word |= (uint32_t) fit->signs[4 * g + k] << (7 * k);
        }
        memcpy(block->qs + QK_K / 4 + 4 * g, &word, sizeof(word));
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ3_XXS);
    block_iq3_xxs *          blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct lattice_block fit;
        lattice_fit(&format, &search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        pack(&fit, &blocks[i]);
    }
}

void quantize_row_iq3_xxs_ref(const float * GGML_RESTRICT x, block_iq3_xxs * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

/* 4, 12, 20, ... 52 for levels 0 .. 6, and 62 for level 7. */
static uint64_t magnitudes(const uint8_t * points) {
    const uint64_t levels =
        grid_spread4(grid_points_iq3_xxs[points[0]]) | (uint64_t) grid_spread4(grid_points_iq3_xxs[points[1]]) << 32;
    const uint64_t sevens = levels & levels >> 1 & levels >> 2 & 0x0101010101010101u;
    return levels * 8 + 0x0404040404040404u + sevens * 2;
}

void dequantize_row_iq3_xxs(const block_iq3_xxs * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int g = 0; g < QK_K / GROUP; g++) {
            uint32_t word;
            memcpy(&word, x[i].qs + QK_K / 4 + 4 * g, sizeof(word));
            const float scale = d * (0.5f + (float) (word >> 28)) * 0.5f;
            for (int l = 0; l < 4; l++, y += 8) {
                grid_write(magnitudes(x[i].qs + 8 * g + 2 * l), scale, grid_even_signs(word >> (7 * l) & 127), y);
            }
        }
    }
}

TYPE_ENCODE(iq3_xxs)
TYPE_DECODE(iq3_xxs)
TYPE_VALIDATE_HALF(block_iq3_xxs, d)

size_t quantize_iq3_xxs(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                        const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ3_XXS, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq3_xxs = {
    .id       = GGML_TYPE_IQ3_XXS,
    .traits   = {.type_name      = "iq3_xxs",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_iq3_xxs),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_iq3_xxs,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
