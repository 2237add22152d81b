/* SPDX-License-Identifier: MIT
 *
 * The block formats as unsigned codes with a scale and an offset: value = d * code + m, 32 codes at a time in the order
 * of the values. Panel decoders and one-row products of all x86 instruction sets are made from these functions.
 *
 * A format NAME has
 *   NAME_scales(block, &s)   d and m of every group of values of the block; a group is 32 values, or 16 (see
 *                            CODES_FORMATS)
 *   NAME_codes(block, i)     values 32 * i to 32 * i + 31
 */
#ifndef GRAFT_CPU_PANEL_CODES_H
#define GRAFT_CPU_PANEL_CODES_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "ggml-common.h"

/* NAME, constant of enum ggml_type, block, values in a block, values in a group, greatest code */
#define CODES_FORMATS(X)                         \
    X(q4_0, Q4_0, block_q4_0, 32, 32, 15)        \
    X(q4_1, Q4_1, block_q4_1, 32, 32, 15)        \
    X(q5_0, Q5_0, block_q5_0, 32, 32, 31)        \
    X(q5_1, Q5_1, block_q5_1, 32, 32, 31)        \
    X(q8_0, Q8_0, block_q8_0, 32, 32, 255)       \
    X(iq4_nl, IQ4_NL, block_iq4_nl, 32, 32, 255) \
    X(mxfp4, MXFP4, block_mxfp4, 32, 32, 24)     \
    X(q2_k, Q2_K, block_q2_K, 256, 16, 3)        \
    X(q3_k, Q3_K, block_q3_K, 256, 16, 7)        \
    X(q4_k, Q4_K, block_q4_K, 256, 32, 15)       \
    X(q5_k, Q5_K, block_q5_K, 256, 32, 31)       \
    X(q6_k, Q6_K, block_q6_K, 256, 16, 63)       \
    X(iq4_xs, IQ4_XS, block_iq4_xs, 256, 32, 255)

#define CODES_INLINE static inline __attribute__((always_inline, unused))

struct codes_scales {
    float d[16], m[16];
};

CODES_INLINE float codes_half(uint16_t h) {
    return _cvtsh_ss(h);
}

/* 16 bytes of nibbles: the low ones are values 0 to 15, the high ones 16 to 31. */
CODES_INLINE __m256i codes_nibbles(const uint8_t * qs) {
    const __m128i q = _mm_loadu_si128((const __m128i *) qs);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(q, 4), q), _mm256_set1_epi8(15));
}

/* Bit i of 32 becomes `value` in byte i. */
CODES_INLINE __m256i codes_bits(const uint8_t * bits, char value) {
    uint32_t word;
    memcpy(&word, bits, sizeof(word));
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3,
                                            3, 3, 3, 3, 3, 3, 3);
    const __m256i select = _mm256_set1_epi64x((long long) 0x8040201008040201ull);
    const __m256i bytes  = _mm256_shuffle_epi8(_mm256_set1_epi32((int) word), spread);
    return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, select), select), _mm256_set1_epi8(value));
}

CODES_INLINE void q4_0_scales(const block_q4_0 * b, struct codes_scales * s) {
    s->d[0] = codes_half(b->d);
    s->m[0] = -8.0f * s->d[0];
}
CODES_INLINE __m256i q4_0_codes(const block_q4_0 * b, int i) {
    (void) i;
    return codes_nibbles(b->qs);
}

CODES_INLINE void q4_1_scales(const block_q4_1 * b, struct codes_scales * s) {
    s->d[0] = codes_half(b->d);
    s->m[0] = codes_half(b->m);
}
CODES_INLINE __m256i q4_1_codes(const block_q4_1 * b, int i) {
    (void) i;
    return codes_nibbles(b->qs);
}

CODES_INLINE void q5_0_scales(const block_q5_0 * b, struct codes_scales * s) {
    s->d[0] = codes_half(b->d);
    s->m[0] = -16.0f * s->d[0];
}
CODES_INLINE __m256i q5_0_codes(const block_q5_0 * b, int i) {
    (void) i;
    return _mm256_or_si256(codes_nibbles(b->qs), codes_bits(b->qh, 16));
}

CODES_INLINE void q5_1_scales(const block_q5_1 * b, struct codes_scales * s) {
    s->d[0] = codes_half(b->d);
    s->m[0] = codes_half(b->m);
}
CODES_INLINE __m256i q5_1_codes(const block_q5_1 * b, int i) {
    (void) i;
    return _mm256_or_si256(codes_nibbles(b->qs), codes_bits(b->qh, 16));
}

CODES_INLINE void q8_0_scales(const block_q8_0 * b, struct codes_scales * s) {
    s->d[0] = codes_half(b->d);
    s->m[0] = -128.0f * s->d[0];
}
CODES_INLINE __m256i q8_0_codes(const block_q8_0 * b, int i) {
    (void) i;
    return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *) b->qs), _mm256_set1_epi8((char) 0x80));
}

CODES_INLINE void iq4_nl_scales(const block_iq4_nl * b, struct codes_scales * s) {
    s->d[0] = codes_half(b->d);
    s->m[0] = -128.0f * s->d[0];
}
/* The sixteen levels of IQ4_NL, plus 128. */
CODES_INLINE __m128i codes_iq4_levels(void) {
    return _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, (char) 129, (char) 141, (char) 153, (char) 166, (char) 181,
                         (char) 197, (char) 217, (char) 241);
}
CODES_INLINE __m256i iq4_nl_codes(const block_iq4_nl * b, int i) {
    (void) i;
    const __m128i levels = codes_iq4_levels();
    return _mm256_shuffle_epi8(_mm256_set_m128i(levels, levels), codes_nibbles(b->qs));
}

/* Scale 2^(e - 128) and twice the value of an E2M1 number, plus 12. */
CODES_INLINE void mxfp4_scales(const block_mxfp4 * b, struct codes_scales * s) {
    const uint32_t bits = b->e < 2 ? 0x00200000u << b->e : (uint32_t) (b->e - 1) << 23;
    memcpy(&s->d[0], &bits, sizeof(bits));
    s->m[0] = -12.0f * s->d[0];
}
CODES_INLINE __m128i codes_fp4_levels(void) {
    return _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
}
CODES_INLINE __m256i mxfp4_codes(const block_mxfp4 * b, int i) {
    (void) i;
    const __m128i levels = codes_fp4_levels();
    return _mm256_shuffle_epi8(_mm256_set_m128i(levels, levels), codes_nibbles(b->qs));
}

CODES_INLINE void q2_k_scales(const block_q2_K * b, struct codes_scales * s) {
    const float d = codes_half(b->d), m = codes_half(b->dmin);
    for (int i = 0; i < 16; ++i) {
        s->d[i] = d * (float) (b->scales[i] & 15);
        s->m[i] = -m * (float) (b->scales[i] >> 4);
    }
}
CODES_INLINE __m256i q2_k_codes(const block_q2_K * b, int i) {
    const __m256i q = _mm256_loadu_si256((const __m256i *) (b->qs + i / 4 * 32));
    return _mm256_and_si256(_mm256_srli_epi16(q, 2 * (i % 4)), _mm256_set1_epi8(3));
}

/* Twelve bytes hold sixteen scales of six bits: low nibbles in the first eight, pairs of high bits in the last four. */
CODES_INLINE void q3_k_scales(const block_q3_K * b, struct codes_scales * s) {
    const float d = codes_half(b->d);
    for (int i = 0; i < 16; ++i) {
        const int low  = i < 8 ? b->scales[i] & 15 : b->scales[i - 8] >> 4;
        const int high = b->scales[8 + i % 4] >> (2 * (i / 4)) & 3;
        s->d[i]        = d * (float) ((low | high << 4) - 32);
        s->m[i]        = -4.0f * s->d[i];
    }
}
CODES_INLINE __m256i q3_k_codes(const block_q3_K * b, int i) {
    const __m256i q    = _mm256_loadu_si256((const __m256i *) (b->qs + i / 4 * 32));
    const __m256i low  = _mm256_and_si256(_mm256_srli_epi16(q, 2 * (i % 4)), _mm256_set1_epi8(3));
    const __m256i h    = _mm256_loadu_si256((const __m256i *) b->hmask);
    const __m256i high = _mm256_and_si256(_mm256_slli_epi16(_mm256_srli_epi16(h, i), 2), _mm256_set1_epi8(4));
    return _mm256_or_si256(low, high);
}

/* Twelve bytes hold eight scales and eight minima of six bits: of the first four plain, of the last four the low
 * nibbles in bytes 8 to 11 and the high bits in the top of bytes 0 to 7. */
CODES_INLINE void codes_k_scales(const uint8_t * packed, uint16_t d16, uint16_t m16, struct codes_scales * s) {
    uint32_t w[3];
    memcpy(w, packed, sizeof(w));
    const uint32_t d_high = (w[2] & 0x0f0f0f0f) | (w[0] >> 2 & 0x30303030);
    const uint32_t m_high = (w[2] >> 4 & 0x0f0f0f0f) | (w[1] >> 2 & 0x30303030);
    const __m128i  bytes =
        _mm_setr_epi32((int) (w[0] & 0x3f3f3f3f), (int) d_high, (int) (w[1] & 0x3f3f3f3f), (int) m_high);
    const __m256 d = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    const __m256 m = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)));
    _mm256_storeu_ps(s->d, _mm256_mul_ps(d, _mm256_set1_ps(codes_half(d16))));
    _mm256_storeu_ps(s->m, _mm256_mul_ps(m, _mm256_set1_ps(-codes_half(m16))));
}

CODES_INLINE void q4_k_scales(const block_q4_K * b, struct codes_scales * s) {
    codes_k_scales(b->scales, b->d, b->dmin, s);
}
CODES_INLINE __m256i q4_k_codes(const block_q4_K * b, int i) {
    const __m256i q = _mm256_loadu_si256((const __m256i *) (b->qs + i / 2 * 32));
    return _mm256_and_si256(_mm256_srli_epi16(q, 4 * (i % 2)), _mm256_set1_epi8(15));
}

CODES_INLINE void q5_k_scales(const block_q5_K * b, struct codes_scales * s) {
    codes_k_scales(b->scales, b->d, b->dmin, s);
}
CODES_INLINE __m256i q5_k_codes(const block_q5_K * b, int i) {
    const __m256i q    = _mm256_loadu_si256((const __m256i *) (b->qs + i / 2 * 32));
    const __m256i low  = _mm256_and_si256(_mm256_srli_epi16(q, 4 * (i % 2)), _mm256_set1_epi8(15));
    const __m256i h    = _mm256_loadu_si256((const __m256i *) b->qh);
    const __m256i high = _mm256_and_si256(_mm256_slli_epi16(_mm256_srli_epi16(h, i), 4), _mm256_set1_epi8(16));
    return _mm256_or_si256(low, high);
}

CODES_INLINE void q6_k_scales(const block_q6_K * b, struct codes_scales * s) {
    const __m256  d  = _mm256_set1_ps(codes_half(b->d));
    const __m128i sc = _mm_loadu_si128((const __m128i *) b->scales);
    const __m256  lo = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(sc)));
    const __m256  hi = _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(sc, 8))));
    _mm256_storeu_ps(s->d, lo);
    _mm256_storeu_ps(s->d + 8, hi);
    _mm256_storeu_ps(s->m, _mm256_mul_ps(lo, _mm256_set1_ps(-32.0f)));
    _mm256_storeu_ps(s->m + 8, _mm256_mul_ps(hi, _mm256_set1_ps(-32.0f)));
}
/* Half a block of 128 values: 64 bytes of nibbles and 32 bytes of pairs of high bits. */
CODES_INLINE __m256i q6_k_codes(const block_q6_K * b, int i) {
    const int     half = i / 4, part = i % 4;
    const __m256i q    = _mm256_loadu_si256((const __m256i *) (b->ql + 64 * half + 32 * (part % 2)));
    const __m256i low  = _mm256_and_si256(_mm256_srli_epi16(q, 4 * (part / 2)), _mm256_set1_epi8(15));
    const __m256i h    = _mm256_loadu_si256((const __m256i *) (b->qh + 32 * half));
    const __m256i high = _mm256_and_si256(_mm256_slli_epi16(_mm256_srli_epi16(h, 2 * part), 4), _mm256_set1_epi8(0x30));
    return _mm256_or_si256(low, high);
}

/* Eight scales of six bits: nibbles, and pairs of high bits in one word. */
CODES_INLINE void iq4_xs_scales(const block_iq4_xs * b, struct codes_scales * s) {
    const float d = codes_half(b->d);
    for (int i = 0; i < 8; ++i) {
        const int scale = (b->scales_l[i / 2] >> (4 * (i % 2)) & 15) | (b->scales_h >> (2 * i) & 3) << 4;
        s->d[i]         = d * (float) (scale - 32);
        s->m[i]         = -128.0f * s->d[i];
    }
}
CODES_INLINE __m256i iq4_xs_codes(const block_iq4_xs * b, int i) {
    const __m128i levels = codes_iq4_levels();
    return _mm256_shuffle_epi8(_mm256_set_m128i(levels, levels), codes_nibbles(b->qs + 16 * i));
}

#endif /* GRAFT_CPU_PANEL_CODES_H */
