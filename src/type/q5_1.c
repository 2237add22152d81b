/* SPDX-License-Identifier: MIT
 *
 * Q5_1: blocks of 32 values, 5 bits each, x ~ d * level + m, levels 0 .. 31.
 */
#include "type/small.h"

/* The values a block can hold. */
#define LIMIT (TYPE_HALF_LIMIT * 31.0f)

static void store(block_q5_1 * block, float scale, float min, const uint8_t * levels) {
    block->d = type_half(scale);
    block->m = type_half(min);
    small_pack_nibbles(levels, block->qs);
    small_pack_fifth_bits(levels, block->qh);
}

void quantize_row_q5_1_ref(const float * GGML_RESTRICT x, block_q5_1 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / SMALL_BLOCK; i++) {
        float   values[SMALL_BLOCK], min;
        uint8_t levels[SMALL_BLOCK];
        type_stage(SMALL_BLOCK, x + i * SMALL_BLOCK, LIMIT, values);
        const float scale = small_affine(values, 31, levels, &min);
        store(&y[i], scale, min, levels);
    }
}

static void encode_weighted(const float * x, void * y, int64_t k, const float * importance) {
    block_q5_1 * blocks = y;
    const float  sigma2 = small_row_sigma2(x, k, LIMIT);
    for (int64_t i = 0; i < k / SMALL_BLOCK; i++) {
        float   values[SMALL_BLOCK], weights[SMALL_BLOCK], min;
        uint8_t levels[SMALL_BLOCK];
        type_stage(SMALL_BLOCK, x + i * SMALL_BLOCK, LIMIT, values);
        fit_importance(SMALL_BLOCK, values, importance + i * SMALL_BLOCK, sigma2, weights);
        const float scale = small_affine_weighted(values, 31, weights, levels, &min);
        store(&blocks[i], scale, min, levels);
    }
}

void dequantize_row_q5_1(const block_q5_1 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / SMALL_BLOCK; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        const float m = GGML_FP16_TO_FP32(x[i].m);
        for (int b = 0; b < SMALL_BLOCK / 8; b++) {
            uint8_t levels[8];
            small_unpack_five(x[i].qs, x[i].qh, b, levels);
            for (int j = 0; j < 8; j++) {
                y[i * SMALL_BLOCK + 8 * b + j] = (float) levels[j] * d + m;
            }
        }
    }
}

TYPE_ENCODE(q5_1)
TYPE_DECODE(q5_1)
TYPE_VALIDATE_HALVES(block_q5_1, d, m)

size_t quantize_q5_1(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                     const float * imatrix) {
    if (imatrix == NULL) {
        return type_quantize_plain(GGML_TYPE_Q5_1, encode, src, dst, nrows, n_per_row);
    }
    return type_quantize_rows(GGML_TYPE_Q5_1, encode_weighted, src, dst, nrows, n_per_row, imatrix);
}

const struct type_row type_row_q5_1 = {
    .id       = GGML_TYPE_Q5_1,
    .traits   = {.type_name      = "q5_1",
                 .blck_size      = SMALL_BLOCK,
                 .type_size      = sizeof(block_q5_1),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_q5_1,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_1,
};
