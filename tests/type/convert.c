/* SPDX-License-Identifier: MIT
 *
 * Conversions of short floating-point formats against exact arithmetic in double precision, over all codes, and the
 * rounding helpers of the encoders against libm.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ggml-impl.h"
#include "harness.h"
#include "inputs.h"
#include "type/eight.h"
#include "type/fit.h"

static double half_value(uint16_t h) {
    const int    exponent = h >> 10 & 31, fraction = h & 1023;
    const double sign = h & 0x8000 ? -1.0 : 1.0;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

TEST(half_to_float_is_exact) {
    for (int h = 0; h < 65536; h++) {
        const float f = ggml_fp16_to_fp32((ggml_fp16_t) h);
        if ((h & 0x7C00) == 0x7C00) {
            CHECK((h & 0x3FF) != 0 ? isnan(f) : isinf(f) && (f < 0.0f) == (h > 0x8000));
        } else {
            CHECK((double) f == half_value((uint16_t) h) && (signbit(f) != 0) == (h >= 0x8000));
            CHECK(ggml_fp32_to_fp16(f) == h);
        }
    }
}

/* Between every two neighbouring halves: below, at and above the middle. */
TEST(float_to_half_rounds_to_even) {
    for (int h = 0; h < 0x7BFF; h++) {
        const double low = half_value((uint16_t) h), high = half_value((uint16_t) (h + 1));
        const float  middle = (float) ((low + high) / 2.0);
        CHECK(ggml_fp32_to_fp16(middle) == h + (h & 1));
        CHECK(ggml_fp32_to_fp16(nextafterf(middle, 0.0f)) == h);
        CHECK(ggml_fp32_to_fp16(nextafterf(middle, FLT_MAX)) == h + 1);
        CHECK(ggml_fp32_to_fp16(-middle) == (0x8000 | (h + (h & 1))));
    }
    CHECK(ggml_fp32_to_fp16(65519.0f) == 0x7BFF && ggml_fp32_to_fp16(65520.0f) == 0x7C00);
    CHECK(ggml_fp32_to_fp16(FLT_MAX) == 0x7C00 && ggml_fp32_to_fp16(-INFINITY) == 0xFC00);
    CHECK((ggml_fp32_to_fp16(NAN) & 0x7FFF) > 0x7C00 && ggml_fp32_to_fp16(1e-45f) == 0 &&
          ggml_fp32_to_fp16(-0.0f) == 0x8000);
}

TEST(bf16_rounds_to_even) {
    uint64_t state = 17;
    for (int i = 0; i < 200000; i++) {
        const uint32_t bits = (uint32_t) (harness_random(&state) >> 32);
        const float    f    = fp32_from_bits(bits);
        const uint16_t b    = ggml_fp32_to_bf16(f).bits;
        const float    back = ggml_bf16_to_fp32(ggml_fp32_to_bf16(f));
        if (isnan(f)) {
            CHECK(isnan(back) && (b & 0x40) != 0 && b >> 15 == bits >> 31);
            continue;
        }
        const uint32_t down = bits & 0xFFFF0000u, rest = bits & 0xFFFFu;
        const bool     up = rest > 0x8000u || (rest == 0x8000u && (down >> 16 & 1));
        CHECK(b == (down >> 16) + (up ? 1 : 0));
    }
    ggml_bf16_t  codes[65536], back[65536];
    static float values[65536];
    for (int i = 0; i < 65536; i++) {
        codes[i].bits = (uint16_t) i;
    }
    ggml_bf16_to_fp32_row(codes, values, 65536);
    ggml_fp32_to_bf16_row(values, back, 65536);
    for (int i = 0; i < 65536; i++) {
        CHECK(back[i].bits == i || isnan(values[i]));
    }
    ggml_fp32_to_bf16_row_ref(values, back, 65536);
    CHECK(back[0x3F80].bits == 0x3F80);
}

TEST(rows_equal_single_values) {
    float       x[77], back[77];
    ggml_fp16_t h[77];
    input_fill(INPUT_NOISE, 4, x, 77);
    ggml_fp32_to_fp16_row(x, h, 77);
    ggml_fp16_to_fp32_row(h, back, 77);
    for (int i = 0; i < 77; i++) {
        CHECK(h[i] == ggml_fp32_to_fp16(x[i]) && back[i] == ggml_fp16_to_fp32(h[i]));
    }
    uint64_t state = 23;
    for (int i = 0; i < 65536; i += 64) {
        for (int j = 0; j < 64; j++) {
            h[j] = (ggml_fp16_t) (i + j);
            x[j] = fp32_from_bits((uint32_t) (harness_random(&state) >> 32));
        }
        ggml_fp16_to_fp32_row(h, back, 64);
        ggml_fp32_to_fp16_row(x, h, 64);
        for (int j = 0; j < 64; j++) {
            CHECK(fp32_to_bits(back[j]) == fp32_to_bits(ggml_fp16_to_fp32((ggml_fp16_t) (i + j))) || isnan(back[j]));
            CHECK_MSG(h[j] == ggml_fp32_to_fp16(x[j]), "%g", (double) x[j]);
        }
    }
    ggml_fp32_to_fp16_row(NULL, NULL, 0);
    ggml_fp16_to_fp32_row(NULL, NULL, 0);
}

/* The nearest code below the top range, where every number takes the greatest one. */
TEST(ue4m3) {
    for (int code = 1; code < 0x78; code++) {
        const float value = ggml_ue4m3_to_fp32((uint8_t) code) * 2.0f,
                    next  = ggml_ue4m3_to_fp32((uint8_t) (code + 1)) * 2.0f;
        CHECK_MSG(graft_fp32_to_ue4m3(value) == code, "code %d", code);
        if (code != 7 && code != 0x77) {
            CHECK(graft_fp32_to_ue4m3((value + next) / 2.0f) == code + 1);
        }
        CHECK(graft_fp32_to_ue4m3(nextafterf((value + next) / 2.0f, 0.0f)) == code);
    }
    CHECK(graft_fp32_to_ue4m3(0.0f) == 0 && graft_fp32_to_ue4m3(-1.0f) == 0 && graft_fp32_to_ue4m3(NAN) == 0);
    CHECK(graft_fp32_to_ue4m3(1e-45f) == 0 && graft_fp32_to_ue4m3(0x1p-10f) == 1);
    CHECK(graft_fp32_to_ue4m3(256.0f) == 0x7E && graft_fp32_to_ue4m3(448.0f) == 0x7E &&
          graft_fp32_to_ue4m3(INFINITY) == 0x7E);
}

TEST(rounding_helpers) {
    uint64_t state = 5;
    for (int i = 0; i < 300000; i++) {
        const float v = harness_random_float(&state, -1000.0f, 1000.0f);
        const float h = floorf(v) + 0.5f;
        CHECK(fit_round(v) == (int) rintf(v) && eight_round(v) == (int) roundf(v));
        CHECK(fit_round(h) == (int) rintf(h) && eight_round(h) == (int) roundf(h));
        CHECK(eight_round(nextafterf(h, -1e9f)) == (int) roundf(nextafterf(h, -1e9f)));
        CHECK(eight_round(nextafterf(h, 1e9f)) == (int) roundf(nextafterf(h, 1e9f)));
    }
    CHECK(fit_round(INFINITY) == 4194303 && fit_round(-INFINITY) == -4194303 && fit_round(-1e30f) == -4194303);
    CHECK(fit_round(NAN) == -4194303 && fit_level(NAN, 0, 15) == 0);
    CHECK(fit_ratio(1.0f, 0.0f) == 0.0f && fit_ratio(1.0f, 1e-45f) == 0.0f && fit_ratio(1.0f, 4.0f) == 0.25f);
    CHECK(fit_limit(NAN, 5.0f) == 0.0f && fit_limit(9.0f, 5.0f) == 5.0f && fit_limit(-INFINITY, 5.0f) == -5.0f);
}
