/* SPDX-License-Identifier: MIT
 *
 * The vector operations that vec_*.inc are written in, for AVX2 with FMA and F16C; see avx512/simd.h for their contract.
 */
#ifndef GRAFT_CPU_AVX2_SIMD_H
#define GRAFT_CPU_AVX2_SIMD_H

#include <immintrin.h>

#include "ggml.h"

#define VF_WIDTH 8

typedef __m256  vf;
typedef __m256i vi;
typedef __m256  vm; /* all bits of a lane */

static inline vi vi_first(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int) n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vm vm_first(int64_t n) {
    return _mm256_castsi256_ps(vi_first(n));
}
static inline vf vf_load(const float * p) {
    return _mm256_loadu_ps(p);
}
static inline void vf_store(float * p, vf v) {
    _mm256_storeu_ps(p, v);
}
static inline vf vf_load_part(const float * p, int64_t n) {
    return _mm256_maskload_ps(p, vi_first(n));
}
static inline void vf_store_part(float * p, vf v, int64_t n) {
    _mm256_maskstore_ps(p, vi_first(n), v);
}
static inline vf vf_set(float x) {
    return _mm256_set1_ps(x);
}
static inline vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return _mm256_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b) {
    return _mm256_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline vf vf_fnma(vf a, vf b, vf c) {
    return _mm256_fnmadd_ps(a, b, c);
}
static inline vf vf_min(vf a, vf b) {
    return _mm256_min_ps(a, b);
}
static inline vf vf_max(vf a, vf b) {
    return _mm256_max_ps(a, b);
}
static inline vf vf_sqrt(vf a) {
    return _mm256_sqrt_ps(a);
}
static inline vi vi_set(int32_t x) {
    return _mm256_set1_epi32(x);
}
static inline vi vi_from_bits(vf a) {
    return _mm256_castps_si256(a);
}
static inline vf vf_from_bits(vi a) {
    return _mm256_castsi256_ps(a);
}
static inline vi vi_add(vi a, vi b) {
    return _mm256_add_epi32(a, b);
}
static inline vi vi_sub(vi a, vi b) {
    return _mm256_sub_epi32(a, b);
}
static inline vi vi_and(vi a, vi b) {
    return _mm256_and_si256(a, b);
}
static inline vi vi_or(vi a, vi b) {
    return _mm256_or_si256(a, b);
}
static inline vi vi_xor(vi a, vi b) {
    return _mm256_xor_si256(a, b);
}
#define vi_shift_left(a, n)        _mm256_slli_epi32(a, n)
#define vi_shift_right(a, n)       _mm256_srli_epi32(a, n)
#define vi_shift_right_signed(a, n) _mm256_srai_epi32(a, n)
static inline vi vi_round(vf a) {
    return _mm256_cvtps_epi32(a);
}
static inline vf vf_from_int(vi a) {
    return _mm256_cvtepi32_ps(a);
}
static inline vf vf_round_even(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf vf_floor(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_ceil(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_trunc(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
static inline vm vf_less(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline vm vf_equal(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
static inline vm vf_is_nan(vf a) {
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
static inline vm vi_equal(vi a, vi b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
static inline vf vf_select(vm m, vf yes, vf no) {
    return _mm256_blendv_ps(no, yes, m);
}
static inline vi vi_select(vm m, vi yes, vi no) {
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(no), _mm256_castsi256_ps(yes), m));
}

static inline float vf_sum_lanes(vf a) {
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    q        = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
static inline float vf_max_lanes(vf a) {
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    q        = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

static inline vf vf_reduce_angle(const double * angle, vi * quadrant) {
    const __m256d per_quarter = _mm256_set1_pd(0.63661977236758134308);
    const __m256d quarter_hi  = _mm256_set1_pd(0x1.921fb54442d18p+0);
    const __m256d quarter_lo  = _mm256_set1_pd(0x1.1a62633145c07p-54);
    __m128        rest[2];
    __m128i       turns[2];
    for (int i = 0; i < 2; i++) {
        const __m256d a = _mm256_loadu_pd(angle + 4 * i);
        const __m256d q = _mm256_round_pd(_mm256_mul_pd(a, per_quarter), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const __m256d r = _mm256_fnmadd_pd(q, quarter_lo, _mm256_fnmadd_pd(q, quarter_hi, a));
        rest[i]         = _mm256_cvtpd_ps(r);
        turns[i]        = _mm256_cvtpd_epi32(q);
    }
    *quadrant = _mm256_set_m128i(turns[1], turns[0]);
    return _mm256_set_m128(rest[1], rest[0]);
}

static inline vf vf_load_f16(const ggml_fp16_t * p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p));
}
/* The low 16 bits of each lane. */
static inline void vi_store_u16(uint16_t * p, vi v) {
    const __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xFFFF));
    _mm_storeu_si128((__m128i *) p, _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}
static inline void vf_store_f16(ggml_fp16_t * p, vf v) {
    const __m128i h   = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m128i nan = _mm_or_si128(_mm_and_si128(h, _mm_set1_epi16((short) 0x8000)), _mm_set1_epi16(0x7E00));
    const __m256i is  = _mm256_castps_si256(vf_is_nan(v));
    const __m128i m   = _mm_packs_epi32(_mm256_castsi256_si128(is), _mm256_extracti128_si256(is, 1));
    _mm_storeu_si128((__m128i *) p, _mm_blendv_epi8(h, nan, m));
}
static inline vf vf_load_bf16(const ggml_bf16_t * p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) p)), 16));
}

static inline void vf_load_pairs(const float * p, vf * even, vf * odd) {
    const __m256 a = _mm256_loadu_ps(p), b = _mm256_loadu_ps(p + 8);
    const __m256 e = _mm256_shuffle_ps(a, b, 0x88), o = _mm256_shuffle_ps(a, b, 0xDD);
    *even = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(e), 0xD8));
    *odd  = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(o), 0xD8));
}
static inline void vf_store_pairs(float * p, vf even, vf odd) {
    const __m256 lo = _mm256_unpacklo_ps(even, odd), hi = _mm256_unpackhi_ps(even, odd);
    _mm256_storeu_ps(p, _mm256_permute2f128_ps(lo, hi, 0x20));
    _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(lo, hi, 0x31));
}

#endif /* GRAFT_CPU_AVX2_SIMD_H */
