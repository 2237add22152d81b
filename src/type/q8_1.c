/* SPDX-License-Identifier: MIT
 *
 * Q8_1: Q8_0 with the sum of the levels times the scale, which the dot product with a format that has an offset needs.
 * Activations only: no file has it.
 */
#include "type/eight.h"

void quantize_row_q8_1_ref(const float * GGML_RESTRICT x, block_q8_1 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK8_1; i++) {
        const float d   = eight_encode(x + i * QK8_1, y[i].qs);
        int         sum = 0;
        for (int j = 0; j < QK8_1; j++) {
            sum += y[i].qs[j];
        }
        y[i].d = type_half(d);
        y[i].s = type_half((float) sum * d);
    }
}

static void decode(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    const block_q8_1 * blocks = x;
    for (int64_t i = 0; i < k / QK8_1; i++) {
        const float d = GGML_FP16_TO_FP32(blocks[i].d);
        for (int j = 0; j < QK8_1; j++) {
            y[i * QK8_1 + j] = (float) blocks[i].qs[j] * d;
        }
    }
}

TYPE_ENCODE(q8_1)
TYPE_VALIDATE_HALVES(block_q8_1, d, s)

const struct type_row type_row_q8_1 = {
    .id       = GGML_TYPE_Q8_1,
    .traits   = {.type_name      = "q8_1",
                 .blck_size      = QK8_1,
                 .type_size      = sizeof(block_q8_1),
                 .is_quantized   = true,
                 .from_float_ref = encode},
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_1,
};
