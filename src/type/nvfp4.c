/* SPDX-License-Identifier: MIT
 *
 * NVFP4: blocks of 64 E2M1 numbers in four groups of 16, each with a scale in unsigned E4M3. In a group value j and
 * value j + 8 share a byte. The scale of the whole tensor is kept apart, in a tensor of its own.
 */
#include "type/block.h"
#include "type/fp4.h"

#define GROUP QK_NVFP4_SUB
#define N_GROUPS (QK_NVFP4 / QK_NVFP4_SUB)

/* The greatest scale, 448, times the greatest E2M1 number: what lies outside is cut. */
#define LIMIT (448.0f * 6.0f)

static void encode_group(const float * x, uint8_t * scale, uint8_t * qs) {
    float   values[GROUP];
    uint8_t codes[GROUP];
    type_stage(GROUP, x, LIMIT, values);
    *scale = ggml_fp32_to_ue4m3(fabsf(fit_peak(GROUP, values)) / 6.0f);
    fp4_nearest(GROUP, values, ggml_ue4m3_to_fp32(*scale), codes);
    for (int j = 0; j < GROUP / 2; j++) {
        qs[j] = (uint8_t) (codes[j] | (codes[j + GROUP / 2] << 4));
    }
}

void quantize_row_nvfp4_ref(const float * GGML_RESTRICT x, block_nvfp4 * GGML_RESTRICT y, int64_t k) {
    for (int64_t g = 0; g < k / QK_NVFP4 * N_GROUPS; g++) {
        block_nvfp4 * block = &y[g / N_GROUPS];
        encode_group(x + g * GROUP, &block->d[g % N_GROUPS], block->qs + g % N_GROUPS * (GROUP / 2));
    }
}

void dequantize_row_nvfp4(const block_nvfp4 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t g = 0; g < k / QK_NVFP4 * N_GROUPS; g++) {
        const block_nvfp4 * block = &x[g / N_GROUPS];
        const float         d     = ggml_ue4m3_to_fp32(block->d[g % N_GROUPS]);
        fp4_write(GROUP, block->qs + g % N_GROUPS * (GROUP / 2), d, y + g * GROUP);
    }
}

TYPE_ENCODE(nvfp4)
TYPE_DECODE(nvfp4)

size_t quantize_nvfp4(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_NVFP4, encode, src, dst, nrows, n_per_row);
}

/* No validate: every scale byte has a finite value. */
const struct type_row type_row_nvfp4 = {
    .id       = GGML_TYPE_NVFP4,
    .traits   = {.type_name      = "nvfp4",
                 .blck_size      = QK_NVFP4,
                 .type_size      = sizeof(block_nvfp4),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_nvfp4,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_0,
};
