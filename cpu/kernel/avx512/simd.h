/* SPDX-License-Identifier: MIT
 *
 * The vector operations that vec_*.inc are written in, for AVX-512: vf are floats, vi 32-bit integers, vm a mask of lanes.
 * min and max give their second operand when one is NaN. load_part and store_part touch the first n lanes alone
 * (0 < n < VF_WIDTH); the others read as 0.
 */
#ifndef GRAFT_CPU_AVX512_SIMD_H
#define GRAFT_CPU_AVX512_SIMD_H

#include <immintrin.h>

#include "ggml.h"

#define VF_WIDTH 16

typedef __m512    vf;
typedef __m512i   vi;
typedef __mmask16 vm;

static inline vm vm_first(int64_t n) {
    return (vm) ((1u << n) - 1);
}
static inline vf vf_load(const float * p) {
    return _mm512_loadu_ps(p);
}
static inline void vf_store(float * p, vf v) {
    _mm512_storeu_ps(p, v);
}
static inline vf vf_load_part(const float * p, int64_t n) {
    return _mm512_maskz_loadu_ps(vm_first(n), p);
}
static inline void vf_store_part(float * p, vf v, int64_t n) {
    _mm512_mask_storeu_ps(p, vm_first(n), v);
}
static inline vf vf_set(float x) {
    return _mm512_set1_ps(x);
}
static inline vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return _mm512_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b) {
    return _mm512_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c) { /* a*b + c */
    return _mm512_fmadd_ps(a, b, c);
}
static inline vf vf_fnma(vf a, vf b, vf c) { /* c - a*b */
    return _mm512_fnmadd_ps(a, b, c);
}
static inline vf vf_min(vf a, vf b) {
    return _mm512_min_ps(a, b);
}
static inline vf vf_max(vf a, vf b) {
    return _mm512_max_ps(a, b);
}
static inline vf vf_sqrt(vf a) {
    return _mm512_sqrt_ps(a);
}
static inline vi vi_set(int32_t x) {
    return _mm512_set1_epi32(x);
}
static inline vi vi_from_bits(vf a) {
    return _mm512_castps_si512(a);
}
static inline vf vf_from_bits(vi a) {
    return _mm512_castsi512_ps(a);
}
static inline vi vi_add(vi a, vi b) {
    return _mm512_add_epi32(a, b);
}
static inline vi vi_sub(vi a, vi b) {
    return _mm512_sub_epi32(a, b);
}
static inline vi vi_and(vi a, vi b) {
    return _mm512_and_si512(a, b);
}
static inline vi vi_or(vi a, vi b) {
    return _mm512_or_si512(a, b);
}
static inline vi vi_xor(vi a, vi b) {
    return _mm512_xor_si512(a, b);
}
#define vi_shift_left(a, n)        _mm512_slli_epi32(a, n)
#define vi_shift_right(a, n)       _mm512_srli_epi32(a, n)
#define vi_shift_right_signed(a, n) _mm512_srai_epi32(a, n)
static inline vi vi_round(vf a) { /* to nearest, halves to even */
    return _mm512_cvtps_epi32(a);
}
static inline vf vf_from_int(vi a) {
    return _mm512_cvtepi32_ps(a);
}
static inline vf vf_round_even(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf vf_floor(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_ceil(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
}
static inline vf vf_trunc(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
static inline vm vf_less(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline vm vf_equal(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline vm vf_is_nan(vf a) {
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
static inline vm vi_equal(vi a, vi b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
static inline vf vf_select(vm m, vf yes, vf no) {
    return _mm512_mask_blend_ps(m, no, yes);
}
static inline vi vi_select(vm m, vi yes, vi no) {
    return _mm512_mask_blend_epi32(m, no, yes);
}

/* Sum and maximum of the lanes, by halves. */
static inline float vf_sum_lanes(vf a) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128       q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q              = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
static inline float vf_max_lanes(vf a) {
    return _mm512_reduce_max_ps(a);
}

/* Angles in quarter turns: the nearest multiple of pi/2 in *quadrant, the rest (F64 arithmetic, pi/2 in two parts) as the
 * result. |angle| < 1e8. */
static inline vf vf_reduce_angle(const double * angle, vi * quadrant) {
    const __m512d per_quarter = _mm512_set1_pd(0.63661977236758134308);
    const __m512d quarter_hi  = _mm512_set1_pd(0x1.921fb54442d18p+0);
    const __m512d quarter_lo  = _mm512_set1_pd(0x1.1a62633145c07p-54);
    __m256        rest[2];
    __m256i       turns[2];
    for (int i = 0; i < 2; i++) {
        const __m512d a = _mm512_loadu_pd(angle + 8 * i);
        const __m512d q = _mm512_roundscale_pd(_mm512_mul_pd(a, per_quarter), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const __m512d r = _mm512_fnmadd_pd(q, quarter_lo, _mm512_fnmadd_pd(q, quarter_hi, a));
        rest[i]         = _mm512_cvtpd_ps(r);
        turns[i]        = _mm512_cvtpd_epi32(q);
    }
    *quadrant = _mm512_inserti64x4(_mm512_castsi256_si512(turns[0]), turns[1], 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(rest[0]), rest[1], 1);
}

static inline vf vf_load_f16(const ggml_fp16_t * p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) p));
}
/* NaN becomes 0x7E00 with its sign, as in ggml-impl.h. */
static inline void vf_store_f16(ggml_fp16_t * p, vf v) {
    const __m256i h   = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i nan = _mm256_or_si256(_mm256_and_si256(h, _mm256_set1_epi16((short) 0x8000)), _mm256_set1_epi16(0x7E00));
    _mm256_storeu_si256((__m256i *) p, _mm256_mask_mov_epi16(h, vf_is_nan(v), nan));
}
static inline vf vf_load_bf16(const ggml_bf16_t * p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *) p)), 16));
}
/* The low 16 bits of each lane. */
static inline void vi_store_u16(uint16_t * p, vi v) {
    _mm256_storeu_si256((__m256i *) p, _mm512_cvtepi32_epi16(v));
}

/* x[2i] and x[2i + 1] of 2*VF_WIDTH numbers, and back. */
static inline void vf_load_pairs(const float * p, vf * even, vf * odd) {
    const __m512  a = _mm512_loadu_ps(p), b = _mm512_loadu_ps(p + 16);
    const __m512i e = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *even           = _mm512_permutex2var_ps(a, e, b);
    *odd            = _mm512_permutex2var_ps(a, _mm512_add_epi32(e, _mm512_set1_epi32(1)), b);
}
static inline void vf_store_pairs(float * p, vf even, vf odd) {
    const __m512i lo = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    _mm512_storeu_ps(p, _mm512_permutex2var_ps(even, lo, odd));
    _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(even, _mm512_add_epi32(lo, _mm512_set1_epi32(8)), odd));
}

#endif /* GRAFT_CPU_AVX512_SIMD_H */
