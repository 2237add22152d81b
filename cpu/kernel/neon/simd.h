/* SPDX-License-Identifier: MIT
 *
 * The vector operations that vec_*.inc are written in, for NEON on aarch64; see avx512/simd.h for their contract.
 */
#ifndef GRAFT_CPU_NEON_SIMD_H
#define GRAFT_CPU_NEON_SIMD_H

#include <arm_neon.h>
#include <string.h>

#include "ggml.h"

#define VF_WIDTH 4

typedef float32x4_t vf;
typedef int32x4_t   vi;
typedef uint32x4_t  vm; /* all bits of a lane */

static inline vm vm_first(int64_t n) {
    const int32_t lanes[4] = {0, 1, 2, 3};
    return vcltq_s32(vld1q_s32(lanes), vdupq_n_s32((int32_t) n));
}
static inline vf vf_load(const float * p) {
    return vld1q_f32(p);
}
static inline void vf_store(float * p, vf v) {
    vst1q_f32(p, v);
}
static inline vf vf_load_part(const float * p, int64_t n) {
    float all[4] = {0};
    memcpy(all, p, (size_t) n * sizeof(float));
    return vld1q_f32(all);
}
static inline void vf_store_part(float * p, vf v, int64_t n) {
    float all[4];
    vst1q_f32(all, v);
    memcpy(p, all, (size_t) n * sizeof(float));
}
static inline vf vf_set(float x) {
    return vdupq_n_f32(x);
}
static inline vf vf_add(vf a, vf b) {
    return vaddq_f32(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return vsubq_f32(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return vmulq_f32(a, b);
}
static inline vf vf_div(vf a, vf b) {
    return vdivq_f32(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return vfmaq_f32(c, a, b);
}
static inline vf vf_fnma(vf a, vf b, vf c) {
    return vfmsq_f32(c, a, b);
}
static inline vf vf_min(vf a, vf b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
static inline vf vf_max(vf a, vf b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline vf vf_sqrt(vf a) {
    return vsqrtq_f32(a);
}
static inline vi vi_set(int32_t x) {
    return vdupq_n_s32(x);
}
static inline vi vi_from_bits(vf a) {
    return vreinterpretq_s32_f32(a);
}
static inline vf vf_from_bits(vi a) {
    return vreinterpretq_f32_s32(a);
}
static inline vi vi_add(vi a, vi b) {
    return vaddq_s32(a, b);
}
static inline vi vi_sub(vi a, vi b) {
    return vsubq_s32(a, b);
}
static inline vi vi_and(vi a, vi b) {
    return vandq_s32(a, b);
}
static inline vi vi_or(vi a, vi b) {
    return vorrq_s32(a, b);
}
static inline vi vi_xor(vi a, vi b) {
    return veorq_s32(a, b);
}
#define vi_shift_left(a, n)         vshlq_n_s32(a, n)
#define vi_shift_right(a, n)        vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), n))
#define vi_shift_right_signed(a, n) vshrq_n_s32(a, n)
static inline vi vi_round(vf a) {
    return vcvtnq_s32_f32(a);
}
static inline vf vf_from_int(vi a) {
    return vcvtq_f32_s32(a);
}
static inline vf vf_round_even(vf a) {
    return vrndnq_f32(a);
}
static inline vf vf_floor(vf a) {
    return vrndmq_f32(a);
}
static inline vf vf_ceil(vf a) {
    return vrndpq_f32(a);
}
static inline vf vf_trunc(vf a) {
    return vrndq_f32(a);
}
static inline vm vf_less(vf a, vf b) {
    return vcltq_f32(a, b);
}
static inline vm vf_equal(vf a, vf b) {
    return vceqq_f32(a, b);
}
static inline vm vf_is_nan(vf a) {
    return vmvnq_u32(vceqq_f32(a, a));
}
static inline vm vi_equal(vi a, vi b) {
    return vceqq_s32(a, b);
}
static inline vf vf_select(vm m, vf yes, vf no) {
    return vbslq_f32(m, yes, no);
}
static inline vi vi_select(vm m, vi yes, vi no) {
    return vbslq_s32(m, yes, no);
}

static inline float vf_sum_lanes(vf a) {
    return vaddvq_f32(a);
}
static inline float vf_max_lanes(vf a) {
    return vmaxvq_f32(a);
}

static inline vf vf_reduce_angle(const double * angle, vi * quadrant) {
    float32x2_t rest[2];
    int32x2_t   turns[2];
    for (int i = 0; i < 2; i++) {
        const float64x2_t a = vld1q_f64(angle + 2 * i);
        const float64x2_t q = vrndnq_f64(vmulq_n_f64(a, 0.63661977236758134308));
        const float64x2_t h = vfmsq_f64(a, q, vdupq_n_f64(0x1.921fb54442d18p+0));
        rest[i]             = vcvt_f32_f64(vfmsq_f64(h, q, vdupq_n_f64(0x1.1a62633145c07p-54)));
        turns[i]            = vmovn_s64(vcvtq_s64_f64(q));
    }
    *quadrant = vcombine_s32(turns[0], turns[1]);
    return vcombine_f32(rest[0], rest[1]);
}

static inline vf vf_load_f16(const ggml_fp16_t * p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
/* The low 16 bits of each lane. */
static inline void vi_store_u16(uint16_t * p, vi v) {
    vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(v)));
}
static inline void vf_store_f16(ggml_fp16_t * p, vf v) {
    const uint16x4_t h   = vreinterpret_u16_f16(vcvt_f16_f32(v));
    const uint16x4_t nan = vorr_u16(vand_u16(h, vdup_n_u16(0x8000)), vdup_n_u16(0x7E00));
    vst1_u16(p, vbsl_u16(vmovn_u32(vf_is_nan(v)), nan, h));
}
static inline vf vf_load_bf16(const ggml_bf16_t * p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16((const uint16_t *) (const void *) p), 16));
}

static inline void vf_load_pairs(const float * p, vf * even, vf * odd) {
    const float32x4x2_t v = vld2q_f32(p);
    *even                 = v.val[0];
    *odd                  = v.val[1];
}
static inline void vf_store_pairs(float * p, vf even, vf odd) {
    const float32x4x2_t v = {{even, odd}};
    vst2q_f32(p, v);
}

#endif /* GRAFT_CPU_NEON_SIMD_H */
