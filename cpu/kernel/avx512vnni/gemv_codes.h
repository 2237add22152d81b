/* SPDX-License-Identifier: MIT
 *
 * What the one-row products of AVX-512 VNNI read of a block format, for up to 256 values of a row:
 *
 *   NAME_codes128(b, left, i, &first, &second)   the unsigned codes of the i-th 128 values in the order of struct cpu_act_q16
 *   NAME_scales(b, left, x, &offset)             d of the groups, in the lanes; offset gets the sums of m * q
 *
 * b is the block in which the values begin and left their number: formats with blocks of 32 take up to eight blocks.
 * Groups are 32 values (d in lanes 0 to 7) or 16 (in all lanes). See panel_codes.h for the formats' bits.
 */
#ifndef GRAFT_CPU_GEMV_CODES_H
#define GRAFT_CPU_GEMV_CODES_H

#include "kernel/avx2/panel_codes.h"
#include "kernel/kernel.h"

#define CODES_PAIR __m512i *first, __m512i *second

/* ---- pieces ---- */

CODES_INLINE __m512i codes_nibble_mask(void) {
    return _mm512_set1_epi8(15);
}

/* Shift counts, one for each 128 bits. */
CODES_INLINE __m512i codes_by_lane(int a, int b, int c, int d) {
    return _mm512_setr_epi64(a * 0x0001000100010001ll, a * 0x0001000100010001ll, b * 0x0001000100010001ll,
                             b * 0x0001000100010001ll, c * 0x0001000100010001ll, c * 0x0001000100010001ll,
                             d * 0x0001000100010001ll, d * 0x0001000100010001ll);
}

/* 16 bytes at p, p + step, p + 2 step, p + 3 step; behind the last of `blocks` blocks that one again (its q are zero).
 * */
CODES_INLINE __m512i codes_4x16(const uint8_t * p, size_t step, int64_t blocks) {
    const size_t at1 = blocks > 1 ? step : 0, at2 = blocks > 2 ? 2 * step : 0, at3 = blocks > 3 ? 3 * step : 0;
    __m512i      v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *) p));
    v              = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const __m128i *) (p + at1)));
    v              = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const __m128i *) (p + at2)));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const __m128i *) (p + at3)));
}

/* The word at p in the first 128 bits, that at p + step in the next, ... */
CODES_INLINE __m512i codes_4x4(const uint8_t * p, size_t step, int64_t blocks) {
    const size_t at1 = blocks > 1 ? step : 0, at2 = blocks > 2 ? 2 * step : 0, at3 = blocks > 3 ? 3 * step : 0;
    int          w[4];
    memcpy(&w[0], p, 4);
    memcpy(&w[1], p + at1, 4);
    memcpy(&w[2], p + at2, 4);
    memcpy(&w[3], p + at3, 4);
    __m512i v = _mm512_set1_epi32(w[0]);
    v         = _mm512_mask_set1_epi32(v, 0x00f0, w[1]);
    v         = _mm512_mask_set1_epi32(v, 0x0f00, w[2]);
    return _mm512_mask_set1_epi32(v, 0xf000, w[3]);
}

CODES_INLINE __m512i codes_16_in_all(const uint8_t * p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *) p));
}

/* Blocks of 32 nibbles: low ones first. */
CODES_INLINE void codes_nibbles128(const uint8_t * qs, size_t size, int64_t blocks, CODES_PAIR) {
    const __m512i q = codes_4x16(qs, size, blocks);
    *first          = _mm512_and_si512(q, codes_nibble_mask());
    *second         = _mm512_and_si512(_mm512_srli_epi16(q, 4), codes_nibble_mask());
}

/* Adds 16 where the bit of the value in the block's word is set. */
CODES_INLINE void codes_fifth_bit(const uint8_t * qh, size_t size, int64_t blocks, CODES_PAIR) {
    const __m512i words  = codes_4x4(qh, size, blocks);
    const __m512i select = _mm512_set1_epi64((long long) 0x8040201008040201ull);
    const __m512i low    = _mm512_set4_epi32(0x01010101, 0x01010101, 0, 0);
    const __m512i a      = _mm512_shuffle_epi8(words, low);
    const __m512i b      = _mm512_shuffle_epi8(words, _mm512_add_epi8(low, _mm512_set1_epi8(2)));
    *first               = _mm512_mask_add_epi8(*first, _mm512_test_epi8_mask(a, select), *first, _mm512_set1_epi8(16));
    *second = _mm512_mask_add_epi8(*second, _mm512_test_epi8_mask(b, select), *second, _mm512_set1_epi8(16));
}

/* Adds `value` where bit 4 * i + (number of 128 bits) of 32 bytes is set. */
CODES_INLINE void codes_bit_of_bytes(const uint8_t * bytes, int i, char value, CODES_PAIR) {
    const uint64_t  bit    = (uint64_t) 0x0101010101010101u << (4 * i);
    const long long bits[] = { (long long) bit, (long long) (bit << 1), (long long) (bit << 2), (long long) (bit << 3) };
    const __m512i   select = _mm512_setr_epi64(bits[0], bits[0], bits[1], bits[1], bits[2], bits[2], bits[3], bits[3]);
    const __mmask64 a      = _mm512_test_epi8_mask(codes_16_in_all(bytes), select),
                    b      = _mm512_test_epi8_mask(codes_16_in_all(bytes + 16), select);
    *first                 = _mm512_mask_add_epi8(*first, a, *first, _mm512_set1_epi8(value));
    *second                = _mm512_mask_add_epi8(*second, b, *second, _mm512_set1_epi8(value));
}

CODES_INLINE void codes_levels(__m128i levels, CODES_PAIR) {
    *first  = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), *first);
    *second = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(levels), *second);
}

/* ---- codes ---- */

/* Blocks from the i-th 128 values on. */
#define CODES_BLOCKS(b, left, i) ((left) / 32 - 4 * (i))

CODES_INLINE void q4_0_codes128(const block_q4_0 * b, int64_t left, int i, CODES_PAIR) {
    codes_nibbles128(b[4 * i].qs, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
}
CODES_INLINE void q4_1_codes128(const block_q4_1 * b, int64_t left, int i, CODES_PAIR) {
    codes_nibbles128(b[4 * i].qs, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
}
CODES_INLINE void q5_0_codes128(const block_q5_0 * b, int64_t left, int i, CODES_PAIR) {
    codes_nibbles128(b[4 * i].qs, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
    codes_fifth_bit(b[4 * i].qh, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
}
CODES_INLINE void q5_1_codes128(const block_q5_1 * b, int64_t left, int i, CODES_PAIR) {
    codes_nibbles128(b[4 * i].qs, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
    codes_fifth_bit(b[4 * i].qh, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
}
CODES_INLINE void q8_0_codes128(const block_q8_0 * b, int64_t left, int i, CODES_PAIR) {
    const uint8_t * qs = (const uint8_t *) b[4 * i].qs;
    *first = _mm512_xor_si512(codes_4x16(qs, sizeof(*b), CODES_BLOCKS(b, left, i)), _mm512_set1_epi8((char) 0x80));
    *second =
        _mm512_xor_si512(codes_4x16(qs + 16, sizeof(*b), CODES_BLOCKS(b, left, i)), _mm512_set1_epi8((char) 0x80));
}
CODES_INLINE void iq4_nl_codes128(const block_iq4_nl * b, int64_t left, int i, CODES_PAIR) {
    codes_nibbles128(b[4 * i].qs, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
    codes_levels(codes_iq4_levels(), first, second);
}
CODES_INLINE void mxfp4_codes128(const block_mxfp4 * b, int64_t left, int i, CODES_PAIR) {
    codes_nibbles128(b[4 * i].qs, sizeof(*b), CODES_BLOCKS(b, left, i), first, second);
    codes_levels(codes_fp4_levels(), first, second);
}

CODES_INLINE void iq4_xs_codes128(const block_iq4_xs * b, int64_t left, int i, CODES_PAIR) {
    (void) left;
    codes_nibbles128(b->qs + 64 * i, 16, 4, first, second);
    codes_levels(codes_iq4_levels(), first, second);
}

/* 64 bytes: of each 32 the low nibbles are one group of 32 values, the high ones the next. */
CODES_INLINE void codes_split128(const uint8_t * qs, CODES_PAIR) {
    const __m512i q = _mm512_loadu_si512(qs), by = codes_by_lane(0, 4, 0, 4);
    *first  = _mm512_and_si512(_mm512_srlv_epi16(_mm512_shuffle_i32x4(q, q, 0xa0), by), codes_nibble_mask());
    *second = _mm512_and_si512(_mm512_srlv_epi16(_mm512_shuffle_i32x4(q, q, 0xf5), by), codes_nibble_mask());
}
CODES_INLINE void q4_k_codes128(const block_q4_K * b, int64_t left, int i, CODES_PAIR) {
    (void) left;
    codes_split128(b->qs + 64 * i, first, second);
}
CODES_INLINE void q5_k_codes128(const block_q5_K * b, int64_t left, int i, CODES_PAIR) {
    (void) left;
    codes_split128(b->qs + 64 * i, first, second);
    codes_bit_of_bytes(b->qh, i, 16, first, second);
}
CODES_INLINE void codes_quarters128(const uint8_t * qs, CODES_PAIR) {
    const __m512i by = codes_by_lane(0, 2, 4, 6), mask = _mm512_set1_epi8(3);
    *first  = _mm512_and_si512(_mm512_srlv_epi16(codes_16_in_all(qs), by), mask);
    *second = _mm512_and_si512(_mm512_srlv_epi16(codes_16_in_all(qs + 16), by), mask);
}
CODES_INLINE void q2_k_codes128(const block_q2_K * b, int64_t left, int i, CODES_PAIR) {
    (void) left;
    codes_quarters128(b->qs + 32 * i, first, second);
}
CODES_INLINE void q3_k_codes128(const block_q3_K * b, int64_t left, int i, CODES_PAIR) {
    (void) left;
    codes_quarters128(b->qs + 32 * i, first, second);
    codes_bit_of_bytes(b->hmask, i, 4, first, second);
}
/* multishift takes 8 bits of a quadword from any bit on: bits 2 l and 2 l + 1 of a byte come to bits 4 and 5. */
CODES_INLINE void q6_k_codes128(const block_q6_K * b, int64_t left, int i, CODES_PAIR) {
    (void) left;
    const long long at = 0x3830282018100800ll, two = 0x0202020202020202ll; /* bit 8 j, less 4 or 2 modulo 64 */
    const long long s0 = (at + 30 * two) & 0x3f3f3f3f3f3f3f3fll, s1 = (at + 31 * two) & 0x3f3f3f3f3f3f3f3fll;
    const __m512i   from = _mm512_setr_epi64(s0, s0, s1, s1, at, at, at + two, at + two);
    const __m512i   q = _mm512_loadu_si512(b->ql + 64 * i), by = codes_by_lane(0, 0, 4, 4), mask = codes_nibble_mask();
    const __m512i   high = _mm512_set1_epi8(0x30);
    const __m512i   a    = _mm512_and_si512(_mm512_multishift_epi64_epi8(from, codes_16_in_all(b->qh + 32 * i)), high);
    const __m512i c = _mm512_and_si512(_mm512_multishift_epi64_epi8(from, codes_16_in_all(b->qh + 32 * i + 16)), high);
    *first  = _mm512_or_si512(a, _mm512_and_si512(_mm512_srlv_epi16(_mm512_shuffle_i32x4(q, q, 0x88), by), mask));
    *second = _mm512_or_si512(c, _mm512_and_si512(_mm512_srlv_epi16(_mm512_shuffle_i32x4(q, q, 0xdd), by), mask));
}

/* ---- scales ---- */

#define SCALES_ARGS(block) const block *b, int64_t left, const struct cpu_act_q16 *x, __m512 *offset

/* d in lanes 0 to 7, m in lanes 8 to 15. */
CODES_INLINE __m512 codes_offset32(__m512 dm, const struct cpu_act_q16 * x, __m512 * offset) {
    *offset = _mm512_mul_ps(dm, _mm512_loadu_ps(x->zeros));
    return dm;
}

/* Bytes [at, at + 64) of n, zeros behind. */
CODES_INLINE __m512i codes_load64(const char * p, int64_t at, int64_t n, bool whole) {
    if (whole) {
        return _mm512_loadu_si512(p + at);
    }
    const int64_t bytes = n - at;
    return _mm512_maskz_loadu_epi8(bytes >= 64  ? ~(__mmask64) 0
                                   : bytes <= 0 ? 0
                                                : ((__mmask64) 1 << bytes) - 1,
                                   p + at);
}

#define CODES_EACH(w, at) \
    (w) * 0 + (at), (w) + (at), (w) *2 + (at), (w) *3 + (at), (w) *4 + (at), (w) *5 + (at), (w) *6 + (at), (w) *7 + (at)

/* Words 0 (lanes 0 to 7) and `second` (lanes 8 to 15) of up to eight blocks of `size` bytes. */
CODES_INLINE __m256i codes_gather_words(const void * b, int size, int second, int64_t blocks) {
    const int     w      = size / 2;
    const short   at[16] = { CODES_EACH((short) w, 0), CODES_EACH((short) w, (short) second) };
    const __m256i index  = _mm256_loadu_si256((const __m256i *) at);
    const __m512i wide   = _mm512_castsi256_si512(index);
    const char *  p      = b;
    const bool    whole  = blocks >= 8 && size * 8 >= 128;
    const int64_t n      = blocks < 8 ? blocks * size : 8 * size;
    const __m512i low    = _mm512_permutex2var_epi16(codes_load64(p, 0, n, whole), wide, codes_load64(p, 64, n, whole));
    if (w * 7 + second < 64) {
        return _mm512_castsi512_si256(low);
    }
    const bool    all  = blocks >= 8 && size * 8 >= 192;
    const __m512i more = size * 8 > 192
                             ? _mm512_permutex2var_epi16(codes_load64(p, 128, n, all), wide,
                                                         codes_load64(p, 192, n, blocks >= 8 && size * 8 >= 256))
                             : _mm512_permutexvar_epi16(wide, codes_load64(p, 128, n, all));
    return _mm256_mask_mov_epi16(_mm512_castsi512_si256(low), _mm256_cmpgt_epi16_mask(index, _mm256_set1_epi16(63)),
                                 _mm512_castsi512_si256(more));
}

CODES_INLINE __m512 codes_d(const void * b, int size, int64_t left, float center, const struct cpu_act_q16 * x,
                            __m512 * offset) {
    const __m512 d = _mm512_cvtph_ps(codes_gather_words(b, size, 0, left / 32));
    return codes_offset32(_mm512_mask_mul_ps(d, 0xff00, d, _mm512_set1_ps(-center)), x, offset);
}
CODES_INLINE __m512 codes_dm(const void * b, int size, int64_t left, const struct cpu_act_q16 * x, __m512 * offset) {
    return codes_offset32(_mm512_cvtph_ps(codes_gather_words(b, size, 1, left / 32)), x, offset);
}
CODES_INLINE __m512 q4_0_scales512(SCALES_ARGS(block_q4_0)) {
    return codes_d(b, sizeof(*b), left, 8.0f, x, offset);
}
CODES_INLINE __m512 q4_1_scales512(SCALES_ARGS(block_q4_1)) {
    return codes_dm(b, sizeof(*b), left, x, offset);
}
CODES_INLINE __m512 q5_0_scales512(SCALES_ARGS(block_q5_0)) {
    return codes_d(b, sizeof(*b), left, 16.0f, x, offset);
}
CODES_INLINE __m512 q5_1_scales512(SCALES_ARGS(block_q5_1)) {
    return codes_dm(b, sizeof(*b), left, x, offset);
}
CODES_INLINE __m512 q8_0_scales512(SCALES_ARGS(block_q8_0)) {
    return codes_d(b, sizeof(*b), left, 128.0f, x, offset);
}
CODES_INLINE __m512 iq4_nl_scales512(SCALES_ARGS(block_iq4_nl)) {
    return codes_d(b, sizeof(*b), left, 128.0f, x, offset);
}
/* Powers of two: see mxfp4_scales. */
CODES_INLINE __m512 mxfp4_scales512(SCALES_ARGS(block_mxfp4)) {
    const char *  p     = (const char *) b;
    const int64_t n     = left / 32 * (int64_t) sizeof(*b);
    const __m512i index = _mm512_castsi128_si512(_mm_setr_epi8(CODES_EACH(17, 0), CODES_EACH(17, 0)));
    const __m512i bytes =
        _mm512_permutex2var_epi8(codes_load64(p, 0, n, left >= 256), index, codes_load64(p, 64, n, left >= 256));
    const __m512i e     = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
    const __m512i big   = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    const __m512i small = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
    const __m512  d =
        _mm512_castsi512_ps(_mm512_mask_mov_epi32(big, _mm512_cmplt_epu32_mask(e, _mm512_set1_epi32(2)), small));
    return codes_offset32(_mm512_mask_mul_ps(d, 0xff00, d, _mm512_set1_ps(-12.0f)), x, offset);
}

/* d, m and twelve bytes of scales in front of the block, see codes_k_scales: the words w0, w2 | w0, w1, w2 | w1. */
CODES_INLINE __m512 codes_k(const void * b, const struct cpu_act_q16 * x, __m512 * offset) {
    const __m128i s    = _mm_loadu_si128((const __m128i *) b);
    const __m128i one  = _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(s, 0xa5), _mm_setr_epi32(0, 2, 0, 2)),
                                       _mm_setr_epi32(0x3f3f3f3f, 0x30303030, 0x3f3f3f3f, 0x30303030));
    const __m128i two  = _mm_and_si128(_mm_srlv_epi32(_mm_shuffle_epi32(s, 0xff), _mm_setr_epi32(0, 0, 0, 4)),
                                       _mm_setr_epi32(0, 0x0f0f0f0f, 0, 0x0f0f0f0f));
    const __m512  v    = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_or_si128(one, two)));
    const __m128  both = _mm_xor_ps(_mm_cvtph_ps(s), _mm_setr_ps(0.0f, -0.0f, 0.0f, 0.0f)); /* d, -m */
    const __m512  dm   = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
                                               _mm512_castps128_ps512(both));
    return codes_offset32(_mm512_mul_ps(v, dm), x, offset);
}
CODES_INLINE __m512 q4_k_scales512(SCALES_ARGS(block_q4_K)) {
    (void) left;
    return codes_k(b, x, offset);
}
CODES_INLINE __m512 q5_k_scales512(SCALES_ARGS(block_q5_K)) {
    (void) left;
    return codes_k(b, x, offset);
}

/* Sixteen signed scales, m = -center * d. */
CODES_INLINE __m512 codes_d16(__m128i scales, float d, float center, const struct cpu_act_q16 * x, __m512 * offset) {
    const __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(scales)), _mm512_set1_ps(d));
    *offset        = _mm512_mul_ps(_mm512_mul_ps(v, _mm512_set1_ps(-center)), _mm512_loadu_ps(x->sum16));
    return v;
}
CODES_INLINE __m512 q6_k_scales512(SCALES_ARGS(block_q6_K)) {
    (void) left;
    return codes_d16(_mm_loadu_si128((const __m128i *) b->scales), codes_half(b->d), 32.0f, x, offset);
}
CODES_INLINE __m512 q2_k_scales512(SCALES_ARGS(block_q2_K)) {
    (void) left;
    const __m128i s = _mm_loadu_si128((const __m128i *) b->scales), low = _mm_set1_epi8(15);
    const __m512  m = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(_mm_srli_epi16(s, 4), low)));
    *offset         = _mm512_mul_ps(_mm512_mul_ps(m, _mm512_set1_ps(-codes_half(b->dmin))), _mm512_loadu_ps(x->sum16));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_and_si128(s, low))),
                         _mm512_set1_ps(codes_half(b->d)));
}
CODES_INLINE __m512 q3_k_scales512(SCALES_ARGS(block_q3_K)) {
    (void) left;
    int word;
    memcpy(&word, b->scales + 8, sizeof(word));
    const __m128i p    = _mm_loadl_epi64((const __m128i *) b->scales);
    const __m128i low  = _mm_and_si128(_mm_unpacklo_epi64(p, _mm_srli_epi16(p, 4)), _mm_set1_epi8(15));
    const __m128i h    = _mm_srlv_epi32(_mm_set1_epi32(word), _mm_setr_epi32(0, 2, 4, 6));
    const __m128i high = _mm_slli_epi16(_mm_and_si128(h, _mm_set1_epi8(3)), 4);
    return codes_d16(_mm_sub_epi8(_mm_or_si128(low, high), _mm_set1_epi8(32)), codes_half(b->d), 4.0f, x, offset);
}

CODES_INLINE __m512 iq4_xs_scales512(SCALES_ARGS(block_iq4_xs)) {
    (void) left;
    struct codes_scales s;
    iq4_xs_scales(b, &s);
    const __m512 d = _mm512_castps256_ps512(_mm256_loadu_ps(s.d));
    return codes_offset32(_mm512_insertf32x8(d, _mm256_loadu_ps(s.m), 1), x, offset);
}

#endif /* GRAFT_CPU_GEMV_CODES_H */
