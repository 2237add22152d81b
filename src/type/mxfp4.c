/* SPDX-License-Identifier: MIT
 *
 * MXFP4 (OCP microscaling): blocks of 32 E2M1 numbers with a power of two as their scale (E8M0). Value j and value j +
 * 16 share a byte.
 */
#include <float.h>

#include "type/block.h"
#include "type/fp4.h"

/* The exponent of the greatest magnitude, less 2 because the greatest E2M1 number is 6 = 1.5 * 2^2. Files are made with
 * the rounded log2f, which takes numbers just below a power of two for that power. */
static uint8_t block_exponent(float magnitude) {
    if (!(magnitude > 0.0f)) {
        return 0;
    }
    return (uint8_t) fit_clamp((int) floorf(log2f(magnitude)) - 2 + 127, 0, 254);
}

void quantize_row_mxfp4_ref(const float * GGML_RESTRICT x, block_mxfp4 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_MXFP4; i++) {
        float   values[QK_MXFP4];
        uint8_t codes[QK_MXFP4];
        type_stage(QK_MXFP4, x + i * QK_MXFP4, FLT_MAX, values);
        y[i].e = block_exponent(fabsf(fit_peak(QK_MXFP4, values)));
        fp4_nearest(QK_MXFP4, values, GGML_E8M0_TO_FP32_HALF(y[i].e), codes);
        for (int j = 0; j < QK_MXFP4 / 2; j++) {
            y[i].qs[j] = (uint8_t) (codes[j] | (codes[j + QK_MXFP4 / 2] << 4));
        }
    }
}

void dequantize_row_mxfp4(const block_mxfp4 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_MXFP4; i++) {
        fp4_write(QK_MXFP4, x[i].qs, GGML_E8M0_TO_FP32_HALF(x[i].e), y + i * QK_MXFP4);
    }
}

TYPE_ENCODE(mxfp4)
TYPE_DECODE(mxfp4)

/* 255 is the NaN of E8M0. */
static bool validate(const void * data, size_t nbytes) {
    const block_mxfp4 * blocks = data;
    for (size_t i = 0; i < nbytes / sizeof(block_mxfp4); i++) {
        if (blocks[i].e == 255) {
            return type_invalid_block("NaN", i);
        }
    }
    return true;
}

size_t quantize_mxfp4(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_MXFP4, encode, src, dst, nrows, n_per_row);
}

const struct type_row type_row_mxfp4 = {
    .id       = GGML_TYPE_MXFP4,
    .traits   = {.type_name      = "mxfp4",
                 .blck_size      = QK_MXFP4,
                 .type_size      = sizeof(block_mxfp4),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_mxfp4,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
