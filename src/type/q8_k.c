/* SPDX-License-Identifier: MIT
 *
 * Q8_K: blocks of 256 signed bytes with a single-precision scale, and the sums of every 16 levels for formats that have
 * an offset. Activations only: no file has it.
 */
#include "type/block.h"

#define GROUP 16

/* Just below the greatest number: 127 times the rounded scale must not overflow. */
#define LIMIT 0x1.fffffp+127f

static void encode_block(const float * x, block_q8_K * block) {
    float values[QK_K];
    type_stage(QK_K, x, LIMIT, values);
    /* The value of greatest magnitude gets -127. Where the inverse overflows, all values are as good as zero. */
    const float inverse = fit_ratio(-127.0f, fit_peak(QK_K, values));
    for (int j = 0; j < QK_K; j++) {
        block->qs[j] = (int8_t) fit_level(inverse * values[j], -127, 127);
    }
    for (int g = 0; g < QK_K / GROUP; g++) {
        int sum = 0;
        for (int j = 0; j < GROUP; j++) {
            sum += block->qs[g * GROUP + j];
        }
        block->bsums[g] = (int16_t) sum;
    }
    block->d = fit_ratio(1.0f, inverse);
}

void quantize_row_q8_K_ref(const float * GGML_RESTRICT x, block_q8_K * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        encode_block(x + i * QK_K, &y[i]);
    }
}

void dequantize_row_q8_K(const block_q8_K * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        for (int j = 0; j < QK_K; j++) {
            y[i * QK_K + j] = x[i].d * (float) x[i].qs[j];
        }
    }
}

TYPE_ENCODE(q8_K)
TYPE_DECODE(q8_K)

static bool validate(const void * data, size_t nbytes) {
    const block_q8_K * blocks = data;
    for (size_t i = 0; i < nbytes / sizeof(block_q8_K); i++) {
        if (!isfinite(blocks[i].d)) {
            return type_invalid_block("Inf or NaN", i);
        }
    }
    return true;
}

const struct type_row type_row_q8_k = {
    .id       = GGML_TYPE_Q8_K,
    .traits   = {.type_name = "q8_K", .blck_size = QK_K, .type_size = sizeof(block_q8_K), .is_quantized = true},
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_COUNT,
};
