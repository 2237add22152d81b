/* SPDX-License-Identifier: MIT
 *
 * Packed weights (pack/layout.h) as AVX-512 reads them: the lanes are 16 rows. Of the i-th 32 values of a packed block,
 *
 *   NAME_quads(b, i, q)       q[j]: values 4 j to 4 j + 3 of each row, a byte each, as unsigned codes
 *   NAME_lanes(b, i, &d, &m)  scale and offset of each row: of all values (d[0], m[0]), or of the first and the second 16
 *
 * b points to the packed block: 16 blocks of the format.
 */
#ifndef GRAFT_CPU_GEMV_QUADS_H
#define GRAFT_CPU_GEMV_QUADS_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "ggml-common.h"
#include "kernel/avx2/panel_codes.h"

/* NAME, type, block, values in a block, values in a group */
#define PACKED_FORMATS(X)                   \
    X(q4_0, Q4_0, block_q4_0, 32, 32)       \
    X(q4_1, Q4_1, block_q4_1, 32, 32)       \
    X(q5_0, Q5_0, block_q5_0, 32, 32)       \
    X(q5_1, Q5_1, block_q5_1, 32, 32)       \
    X(q8_0, Q8_0, block_q8_0, 32, 32)       \
    X(iq4_nl, IQ4_NL, block_iq4_nl, 32, 32) \
    X(q4_k, Q4_K, block_q4_K, 256, 32)      \
    X(q5_k, Q5_K, block_q5_K, 256, 32)      \
    X(q6_k, Q6_K, block_q6_K, 256, 16)

/* ---- pieces ---- */

CODES_INLINE __m512i quads_load(const char * p) {
    return _mm512_loadu_si512(p);
}
CODES_INLINE __m512 quads_halves(const char * p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p));
}
CODES_INLINE __m512i quads_low(__m512i v) {
    return _mm512_and_si512(v, _mm512_set1_epi8(15));
}
CODES_INLINE __m512i quads_high(__m512i v) {
    return _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));
}

/* 16 bytes of nibbles a row: low ones first. */
CODES_INLINE void quads_nibbles(const char * qs, __m512i q[8]) {
    for (int j = 0; j < 4; ++j) {
        const __m512i v = quads_load(qs + 64 * j);
        q[j]            = quads_low(v);
        q[4 + j]        = quads_high(v);
    }
}

/* Bits 4 j to 4 j + 3 of each row's word come to bit 4 of the four bytes of q[j]: multishift takes the eight bits of a
 * quadword (two rows) that begin at 4 j + byte - 4. */
CODES_INLINE void quads_fifth_bit(const char * qh, __m512i q[8]) {
    const __m512i words = quads_load(qh);
    for (int j = 0; j < 8; ++j) {
        const uint64_t low = (uint64_t) ((4 * j + 60) % 64) | (uint64_t) ((4 * j + 61) % 64) << 8 |
                             (uint64_t) ((4 * j + 62) % 64) << 16 | (uint64_t) ((4 * j + 63) % 64) << 24;
        const uint64_t high = (uint64_t) (4 * j + 28) | (uint64_t) (4 * j + 29) << 8 | (uint64_t) (4 * j + 30) << 16 |
                              (uint64_t) (4 * j + 31) << 24;
        const __m512i bits = _mm512_multishift_epi64_epi8(_mm512_set1_epi64((long long) (low | high << 32)), words);
        q[j]               = _mm512_ternarylogic_epi32(q[j], bits, _mm512_set1_epi8(16), 0xf8); /* q | bits & 16 */
    }
}

/* ---- blocks of 32 ---- */

CODES_INLINE void q4_0_quads(const char * b, int i, __m512i q[8]) {
    (void) i;
    quads_nibbles(b, q);
}
CODES_INLINE void q4_1_quads(const char * b, int i, __m512i q[8]) {
    (void) i;
    quads_nibbles(b, q);
}
CODES_INLINE void q5_0_quads(const char * b, int i, __m512i q[8]) {
    (void) i;
    quads_nibbles(b, q);
    quads_fifth_bit(b + 256, q);
}
CODES_INLINE void q5_1_quads(const char * b, int i, __m512i q[8]) {
    (void) i;
    quads_nibbles(b, q);
    quads_fifth_bit(b + 256, q);
}
CODES_INLINE void q8_0_quads(const char * b, int i, __m512i q[8]) {
    (void) i;
    for (int j = 0; j < 8; ++j) {
        q[j] = _mm512_xor_si512(quads_load(b + 64 * j), _mm512_set1_epi8((char) 0x80));
    }
}
CODES_INLINE void iq4_nl_quads(const char * b, int i, __m512i q[8]) {
    (void) i;
    quads_nibbles(b, q);
    for (int j = 0; j < 8; ++j) {
        q[j] = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(codes_iq4_levels()), q[j]);
    }
}

CODES_INLINE void quads_d(const char * d, float center, __m512 * vd, __m512 * vm) {
    *vd = quads_halves(d);
    *vm = _mm512_mul_ps(*vd, _mm512_set1_ps(-center));
}
CODES_INLINE void q4_0_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    (void) i;
    quads_d(b + 256, 8.0f, d, m);
}
CODES_INLINE void q4_1_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    (void) i;
    *d = quads_halves(b + 256);
    *m = quads_halves(b + 288);
}
CODES_INLINE void q5_0_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    (void) i;
    quads_d(b + 320, 16.0f, d, m);
}
CODES_INLINE void q5_1_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    (void) i;
    *d = quads_halves(b + 320);
    *m = quads_halves(b + 352);
}
CODES_INLINE void q8_0_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    (void) i;
    quads_d(b + 512, 128.0f, d, m);
}
CODES_INLINE void iq4_nl_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    (void) i;
    quads_d(b + 256, 128.0f, d, m);
}

/* ---- K formats ---- */

/* 32 bytes a row for two groups of 32: low nibbles the first, high ones the second. */
CODES_INLINE void quads_split(const char * qs, int i, __m512i q[8]) {
    for (int j = 0; j < 8; ++j) {
        const __m512i v = quads_load(qs + 512 * (i / 2) + 64 * j);
        q[j]            = i % 2 == 0 ? quads_low(v) : quads_high(v);
    }
}
CODES_INLINE void q4_k_quads(const char * b, int i, __m512i q[8]) {
    quads_split(b, i, q);
}
CODES_INLINE void q5_k_quads(const char * b, int i, __m512i q[8]) {
    quads_split(b, i, q);
    for (int j = 0; j < 8; ++j) { /* bit i of each byte */
        const __m512i h   = quads_load(b + 2048 + 64 * j);
        const __m512i bit = i < 4 ? _mm512_slli_epi16(h, i < 4 ? 4 - i : 0) : _mm512_srli_epi16(h, i > 4 ? i - 4 : 0);
        q[j]              = _mm512_ternarylogic_epi32(q[j], bit, _mm512_set1_epi8(16), 0xf8);
    }
}
CODES_INLINE void q6_k_quads(const char * b, int i, __m512i q[8]) {
    const int half = i / 4, part = i % 4;
    for (int j = 0; j < 8; ++j) {
        const __m512i v   = quads_load(b + 1024 * half + 512 * (part % 2) + 64 * j);
        const __m512i h   = quads_load(b + 2048 + 512 * half + 64 * j);
        const __m512i low = part < 2 ? quads_low(v) : quads_high(v);
        const __m512i bits =
            part < 2 ? _mm512_slli_epi16(h, part < 2 ? 4 - 2 * part : 0) : _mm512_srli_epi16(h, part == 3 ? 2 : 0);
        q[j] = _mm512_ternarylogic_epi32(low, bits, _mm512_set1_epi8(0x30), 0xf8);
    }
}

/* Byte i % 4 of the words of six-bit scales, see codes_k_scales. */
CODES_INLINE void quads_k_lanes(const char * scales, int i, __m512 * d, __m512 * m) {
    const __m512i w0 = quads_load(scales), w1 = quads_load(scales + 64), w2 = quads_load(scales + 128);
    const __m512i low = _mm512_set1_epi32(15), high = _mm512_set1_epi32(0x30), six = _mm512_set1_epi32(63);
    const int     at = 8 * (i % 4);
    __m512i       sd, sm;
    if (i < 4) {
        sd = _mm512_and_si512(_mm512_srli_epi32(w0, (unsigned) at), six);
        sm = _mm512_and_si512(_mm512_srli_epi32(w1, (unsigned) at), six);
    } else {
        sd = _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi32(w2, (unsigned) at), low),
                                       _mm512_srli_epi32(w0, (unsigned) at + 2), high, 0xf8);
        sm = _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi32(w2, (unsigned) at + 4), low),
                                       _mm512_srli_epi32(w1, (unsigned) at + 2), high, 0xf8);
    }
    *d = _mm512_mul_ps(_mm512_cvtepi32_ps(sd), quads_halves(scales + 192));
    *m = _mm512_xor_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sm), quads_halves(scales + 224)), _mm512_set1_ps(-0.0f));
}
CODES_INLINE void q4_k_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    quads_k_lanes(b + 2048, i, d, m);
}
CODES_INLINE void q5_k_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    quads_k_lanes(b + 2560, i, d, m);
}
CODES_INLINE void q6_k_lanes(const char * b, int i, __m512 * d, __m512 * m) {
    const __m512 all = quads_halves(b + 3328);
    for (int h = 0; h < 2; ++h) {
        const __m128i s = _mm_loadu_si128((const __m128i *) (b + 3072 + 16 * (2 * i + h)));
        d[h]            = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(s)), all);
        m[h]            = _mm512_mul_ps(d[h], _mm512_set1_ps(-32.0f));
    }
}

#endif /* GRAFT_CPU_GEMV_QUADS_H */
