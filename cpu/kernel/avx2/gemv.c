/* SPDX-License-Identifier: MIT
 *
 * One-row products times F32: rows of plain numbers, and of the block formats, whose codes become numbers on the way.
 */
#include "kernel/kernel.h"

#include "kernel/avx2/panel_codes.h"

static inline float sum_8(__m256 v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s        = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* ---- plain numbers ---- */

static inline __m256 load_f32(const void * row, int64_t l) {
    return _mm256_loadu_ps((const float *) row + l);
}
static inline __m256 load_f16(const void * row, int64_t l) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) ((const uint16_t *) row + l)));
}
static inline __m256 load_bf16(const void * row, int64_t l) {
    const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) ((const uint16_t *) row + l)));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}
static inline float one_f32(const void * row, int64_t l) {
    return ((const float *) row)[l];
}
static inline float one_f16(const void * row, int64_t l) {
    return _cvtsh_ss(((const uint16_t *) row)[l]);
}
static inline float one_bf16(const void * row, int64_t l) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int) ((uint32_t) ((const uint16_t *) row)[l] << 16))));
}

#define GEMV_PLAIN(name)                                                                                               \
    static void name##_multiply(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y) {  \
        const float * x = act;                                                                                         \
        for (int64_t j = 0; j < n; ++j) {                                                                              \
            const void * row = (const char *) w + (size_t) j * w_stride;                                               \
            __m256  sum[4]   = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps() }; \
            int64_t l        = 0;                                                                                      \
            for (; l + 32 <= k; l += 32) {                                                                             \
                for (int i = 0; i < 4; ++i) {                                                                          \
                    sum[i] = _mm256_fmadd_ps(load_##name(row, l + 8 * i), _mm256_loadu_ps(x + l + 8 * i), sum[i]);     \
                }                                                                                                      \
            }                                                                                                          \
            for (; l + 8 <= k; l += 8) {                                                                               \
                sum[0] = _mm256_fmadd_ps(load_##name(row, l), _mm256_loadu_ps(x + l), sum[0]);                         \
            }                                                                                                          \
            float rest = 0.0f;                                                                                         \
            for (; l < k; ++l) {                                                                                       \
                rest += one_##name(row, l) * x[l];                                                                     \
            }                                                                                                          \
            y[j] = sum_8(_mm256_add_ps(_mm256_add_ps(sum[0], sum[2]), _mm256_add_ps(sum[1], sum[3]))) + rest;          \
        }                                                                                                              \
    }                                                                                                                  \
    const struct cpu_gemv_kernel name##_gemv__avx2 = { CPU_ACT_F32, name##_multiply };
GEMV_PLAIN(f32)
GEMV_PLAIN(f16)
GEMV_PLAIN(bf16)

/* ---- block formats ---- */

/* acc + sums of (d * code + m) * x over 16 values: x stays in registers for both. */
static inline __attribute__((always_inline)) __m256 dot_16(__m128i codes, const float * x, float d, float m,
                                                           __m256 acc) {
    const __m256 x0 = _mm256_loadu_ps(x), x1 = _mm256_loadu_ps(x + 8), vd = _mm256_set1_ps(d), vm = _mm256_set1_ps(m);
    const __m256 c0 = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(codes));
    const __m256 c1 = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(codes, 8)));
    return _mm256_fmadd_ps(_mm256_fmadd_ps(c1, vd, vm), x1, _mm256_fmadd_ps(_mm256_fmadd_ps(c0, vd, vm), x0, acc));
}

#define GEMV(name, type, block, values, group, greatest)                                                              \
    static void name##_multiply(int64_t k, int64_t n, const void * w, size_t w_stride, const void * act, float * y) { \
        for (int64_t j = 0; j < n; ++j) {                                                                             \
            const block * b    = (const block *) ((const char *) w + (size_t) j * w_stride);                          \
            const float * x    = act;                                                                                 \
            __m256        even = _mm256_setzero_ps(), odd = _mm256_setzero_ps();                                      \
            for (int64_t l = 0; l < k; l += (values), ++b) {                                                          \
                struct codes_scales s;                                                                                \
                name##_scales(b, &s);                                                                                 \
                for (int i = 0; i < (values) / 32; ++i, x += 32) {                                                    \
                    const int     g = i * 32 / (group), h = (i * 32 + 16) / (group);                                  \
                    const __m256i c = name##_codes(b, i);                                                             \
                    even            = dot_16(_mm256_castsi256_si128(c), x, s.d[g], s.m[g], even);                     \
                    odd             = dot_16(_mm256_extracti128_si256(c, 1), x + 16, s.d[h], s.m[h], odd);            \
                }                                                                                                     \
            }                                                                                                         \
            y[j] = sum_8(_mm256_add_ps(even, odd));                                                                   \
        }                                                                                                             \
    }                                                                                                                 \
    const struct cpu_gemv_kernel name##_gemv__avx2 = { CPU_ACT_F32, name##_multiply };
CODES_FORMATS(GEMV)
