/* SPDX-License-Identifier: MIT
 *
 * Q4_0: blocks of 32 values, 4 bits each, x ~ d * (level - 8), levels 0 .. 15.
 */
#include "type/small.h"

/* The values a block can hold. */
#define LIMIT (TYPE_HALF_LIMIT * 8.0f)

static void store(block_q4_0 * block, float scale, const uint8_t * levels) {
    block->d = type_half(scale);
    small_pack_nibbles(levels, block->qs);
}

void quantize_row_q4_0_ref(const float * GGML_RESTRICT x, block_q4_0 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / SMALL_BLOCK; i++) {
        float   values[SMALL_BLOCK];
        uint8_t levels[SMALL_BLOCK];
        type_stage(SMALL_BLOCK, x + i * SMALL_BLOCK, LIMIT, values);
        const float scale = small_symmetric(values, 8, levels);
        store(&y[i], scale, levels);
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_q4_0 * blocks = y;
    const float  sigma2 = small_row_sigma2(x, k, LIMIT);
    for (int64_t i = 0; i < k / SMALL_BLOCK; i++) {
        float   values[SMALL_BLOCK], weights[SMALL_BLOCK];
        uint8_t levels[SMALL_BLOCK];
        type_stage(SMALL_BLOCK, x + i * SMALL_BLOCK, LIMIT, values);
        fit_importance(SMALL_BLOCK, values, importance + i * SMALL_BLOCK, sigma2, weights);
        const float scale = small_symmetric_weighted(values, 8, weights, levels);
        store(&blocks[i], scale, levels);
    }
}

void dequantize_row_q4_0(const block_q4_0 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / SMALL_BLOCK; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        uint8_t     levels[SMALL_BLOCK];
        small_unpack_nibbles(x[i].qs, levels);
        for (int j = 0; j < SMALL_BLOCK; j++) {
            y[i * SMALL_BLOCK + j] = (float) (levels[j] - 8) * d;
        }
    }
}

TYPE_ENCODE(q4_0)
TYPE_DECODE(q4_0)
TYPE_VALIDATE_HALF(block_q4_0, d)

size_t quantize_q4_0(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    if (imatrix == NULL) {
        return type_quantize_plain(GGML_TYPE_Q4_0, encode, src, dst, nrows, n_per_row);
    }
    return type_quantize_rows(GGML_TYPE_Q4_0, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_q4_0 = {
    .id       = GGML_TYPE_Q4_0,
    .traits   = {.type_name      = "q4_0",
                 .blck_size      = SMALL_BLOCK,
                 .type_size      = sizeof(block_q4_0),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q4_0,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
