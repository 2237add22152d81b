/* SPDX-License-Identifier: MIT
 *
 * Conversions between single precision and the short floating-point formats, one value and whole rows.
 */
#include "ggml-impl.h"

float ggml_fp16_to_fp32(ggml_fp16_t x) {
    return GGML_FP16_TO_FP32(x);
}

ggml_fp16_t ggml_fp32_to_fp16(float x) {
    return GGML_FP32_TO_FP16(x);
}

/* The conversions of ggml-impl.h with masks in place of choices: compilers that may not move a floating-point operation
 * into a branch, or out of one, then vectorise the rows. */
static inline float half_to_float(ggml_fp16_t h) {
    const uint32_t w         = (uint32_t) h << 16;
    const uint32_t magnitude = w + w;
    const uint32_t normal    = fp32_to_bits(fp32_from_bits((magnitude >> 4) + (0xE0u << 23)) * 0x1.0p-112f);
    const uint32_t subnormal = fp32_to_bits(fp32_from_bits((magnitude >> 17) | (126u << 23)) - 0.5f);
    const uint32_t small     = -(uint32_t) (magnitude < (1u << 27));
    return fp32_from_bits((w & 0x80000000u) | (subnormal & small) | (normal & ~small));
}

static inline ggml_fp16_t float_to_half(float f) {
    const uint32_t w       = fp32_to_bits(f);
    const uint32_t twice   = w + w;
    const uint32_t bias    = twice & 0xFF000000u;
    const uint32_t floor   = bias < 0x71000000u ? 0x71000000u : bias;
    const float    scaled  = (fabsf(f) * 0x1.0p+112f) * 0x1.0p-110f; /* overflows where the half does */
    const uint32_t bits    = fp32_to_bits(fp32_from_bits((floor >> 1) + 0x07800000u) + scaled);
    const uint32_t rounded = ((bits >> 13) & 0x7C00u) + (bits & 0x0FFFu);
    const uint32_t nan     = -(uint32_t) (twice > 0xFF000000u);
    return (ggml_fp16_t) ((w >> 16 & 0x8000u) | (rounded & ~nan) | (0x7E00u & nan));
}

void ggml_fp16_to_fp32_row(const ggml_fp16_t * x, float * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = half_to_float(x[i]);
    }
}

void ggml_fp32_to_fp16_row(const float * x, ggml_fp16_t * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = float_to_half(x[i]);
    }
}

float ggml_bf16_to_fp32(ggml_bf16_t x) {
    return GGML_BF16_TO_FP32(x);
}

ggml_bf16_t ggml_fp32_to_bf16(float x) {
    return GGML_FP32_TO_BF16(x);
}

void ggml_bf16_to_fp32_row(const ggml_bf16_t * x, float * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = GGML_BF16_TO_FP32(x[i]);
    }
}

void ggml_fp32_to_bf16_row_ref(const float * x, ggml_bf16_t * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = GGML_FP32_TO_BF16(x[i]);
    }
}

void ggml_fp32_to_bf16_row(const float * x, ggml_bf16_t * y, int64_t n) {
    ggml_fp32_to_bf16_row_ref(x, y, n);
}

/* Unsigned E4M3, rounded to nearest with ties away from zero; zero, negative numbers and NaN give 0. Everything from
 * 256 on takes the greatest code, 0x7E (448); the subnormals, multiples of 2^-9, end at 7: both as files have it. */
uint8_t graft_fp32_to_ue4m3(float x) {
    if (!(x > 0.0f)) {
        return 0;
    }
    const uint32_t bits = fp32_to_bits(x);
    if (bits >= fp32_to_bits(256.0f)) {
        return 0x7E;
    }
    if (bits < fp32_to_bits(0x1p-6f)) {
        const int steps = (int) (x * 512.0f + 0.5f);
        return (uint8_t) (steps < 7 ? steps : 7);
    }
    /* Half of the last place is added to the fraction; a carry goes into the exponent, whose bias falls from 127 to 7.
     */
    const uint32_t code = ((bits + (1u << 19)) >> 20) - (120u << 3);
    return (uint8_t) (code < 0x78 ? code : 0x7E);
}
