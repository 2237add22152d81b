/* SPDX-License-Identifier: MIT
 *
 * IQ3_S: blocks of 256 values, x ~ d * (2 code + 1) * magnitude with four odd magnitudes 1 .. 15 from a grid of 512
 * points (8 bits in qs, one in qh) and eight sign bits. Groups of 32 values have a 4-bit code.
 */
#include "type/lattice.h"

#define GROUP 32

static const struct lattice_format format = {
    .grid            = GRID_IQ3_S,
    .group           = GROUP,
    .zero            = 1e-30f,
    .sigma2_factor   = 2.0f,
    .n_trials        = 9,
    .step            = 0.2f,
    .refit           = LATTICE_REFIT_ALL,
    .starts_off_grid = true,
    .scale_factor    = 1.033f,
};

static void pack(const struct lattice_block * fit, block_iq3_s * block) {
    memset(block, 0, sizeof(*block));
    block->d = fit->d;
    memcpy(block->signs, fit->signs, sizeof(block->signs));
    for (int k = 0; k < QK_K / 4; k++) {
        block->qs[k]     = fit->points[k] & 255;
        block->qh[k / 8] = (uint8_t) (block->qh[k / 8] | fit->points[k] >> 8 << (k % 8));
    }
    for (int g = 0; g < QK_K / GROUP; g += 2) {
        block->scales[g / 2] = (uint8_t) (fit->codes[g] | fit->codes[g + 1] << 4);
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    const struct grid_search search = grid_search_get(GRID_IQ3_S);
    block_iq3_s *            blocks = y;
    for (int64_t i = 0; i < k / QK_K; i++) {
        struct lattice_block fit;
        lattice_fit(&format, &search, x + i * QK_K, importance != NULL ? importance + i * QK_K : NULL, &fit);
        pack(&fit, &blocks[i]);
    }
}

void quantize_row_iq3_s_ref(const float * GGML_RESTRICT x, block_iq3_s * GGML_RESTRICT y, int64_t k) {
    encode_weighted(x, y, k, NULL);
}

static uint64_t spread(const block_iq3_s * block, int point) {
    const unsigned number = block->qs[point] | (block->qh[point / 8] >> (point % 8) & 1u) << 8;
    return grid_spread4(grid_points_iq3_s[number]);
}

void dequantize_row_iq3_s(const block_iq3_s * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int l = 0; l < QK_K / 8; l++, y += 8) {
            const float    scale  = d * (float) (1 + 2 * (x[i].scales[l / 8] >> (l / 4 % 2 * 4) & 15));
            const uint64_t levels = spread(&x[i], 2 * l) | spread(&x[i], 2 * l + 1) << 32;
            grid_write(levels * 2 + 0x0101010101010101u, scale, x[i].signs[l], y);
        }
    }
}

TYPE_ENCODE(iq3_s)
TYPE_DECODE(iq3_s)
TYPE_VALIDATE_HALF(block_iq3_s, d)

size_t quantize_iq3_s(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    return type_quantize_rows(GGML_TYPE_IQ3_S, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_iq3_s = {
    .id       = GGML_TYPE_IQ3_S,
    .traits   = {.type_name      = "iq3_s",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_iq3_s),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_iq3_s,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
