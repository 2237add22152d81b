/* SPDX-License-Identifier: MIT
 *
 * TQ1_0: blocks of 256 ternary values, five to a byte, x ~ d * (trit - 1), where d is the greatest magnitude. A byte is
 * the fraction 0.t0 t1 t2 t3 t4 in base 3, times 256 and rounded up: multiplying it by 3 pushes the next trit out at
 * the top. The bytes come in runs of 32, 16 and 4; byte m of a run of r holds values m, m + r, m + 2 r, ..., the last
 * run only four.
 */
#include "type/ternary.h"

struct run {
    int first_byte; /* the bytes of qs and then of qh */
    int first_value;
    int length;
    int trits; /* in a byte */
};

static const struct run runs[3] = {
    {0, 0, 32, 5},
    {32, 160, 16, 5},
    {48, 240, 4, 4},
};

static uint8_t pack_byte(const uint8_t * trits, int stride, int n) {
    unsigned number = 0;
    for (int i = 0; i < 5; i++) {
        number = number * 3 + (i < n ? trits[i * stride] : 0);
    }
    return (uint8_t) ((number * 256 + 242) / 243);
}

void quantize_row_tq1_0_ref(const float * GGML_RESTRICT x, block_tq1_0 * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        uint8_t trits[QK_K], bytes[sizeof(y->qs) + sizeof(y->qh)];
        y[i].d = type_half(ternary_fit(x + i * QK_K, trits));
        for (int r = 0; r < 3; r++) {
            const struct run * run = &runs[r];
            for (int m = 0; m < run->length; m++) {
                bytes[run->first_byte + m] = pack_byte(trits + run->first_value + m, run->length, run->trits);
            }
        }
        memcpy(y[i].qs, bytes, sizeof(y[i].qs));
        memcpy(y[i].qh, bytes + sizeof(y[i].qs), sizeof(y[i].qh));
    }
}

static void decode_run(const struct run * run, const uint8_t * bytes, float d, float * y) {
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    for (int t = 0; t < run->trits; t++) {
        for (int m = 0; m < run->length; m++) {
            const uint8_t fraction = (uint8_t) (bytes[m] * powers[t]);
            y[t * run->length + m] = (float) ((fraction * 3 >> 8) - 1) * d;
        }
    }
}

void dequantize_row_tq1_0(const block_tq1_0 * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k) {
    for (int64_t i = 0; i < k / QK_K; i++) {
        const float d = GGML_FP16_TO_FP32(x[i].d);
        for (int r = 0; r < 3; r++) {
            const uint8_t * bytes = r < 2 ? x[i].qs + runs[r].first_byte : x[i].qh;
            decode_run(&runs[r], bytes, d, y + i * QK_K + runs[r].first_value);
        }
    }
}

TYPE_ENCODE(tq1_0)
TYPE_DECODE(tq1_0)
TYPE_VALIDATE_HALF(block_tq1_0, d)

size_t quantize_tq1_0(const float * GGML_RESTRICT src, void * GGML_RESTRICT dst, int64_t nrows, int64_t n_per_row,
                      const float * imatrix) {
    (void) imatrix;
    return type_quantize_plain(GGML_TYPE_TQ1_0, encode, src, dst, nrows, n_per_row);
}

const struct type_row type_row_tq1_0 = {
    .id       = GGML_TYPE_TQ1_0,
    .traits   = {.type_name      = "tq1_0",
                 .blck_size      = QK_K,
                 .type_size      = sizeof(block_tq1_0),
                 .is_quantized   = true,
                 .to_float       = decode,
                 .from_float_ref = encode},
    .quantize = quantize_tq1_0,
    .validate = validate,
    .decode   = decode,
    .encode   = encode,
    .dot_type = GGML_TYPE_Q8_K,
};
