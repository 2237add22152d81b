/* SPDX-License-Identifier: MIT
 *
 * F32 GEMM of AVX-512.
 */
#include "kernel/kernel.h"

#include <immintrin.h>
#include <string.h>

#define TILE_DEPTH           1
#define TILE_VECTOR          __m512
#define TILE_LOAD(p)         _mm512_loadu_ps(p)
#define TILE_BROADCAST(p)    _mm512_set1_ps(*(const float *) (p))
#define TILE_STEP(acc, w, x) _mm512_fmadd_ps(w, x, acc)
#include "kernel/avx512/gemm_tile.h"

static void pack(int64_t k, int64_t n, const float * const * rows, void * out) {
    float * to = out;
    for (int64_t l = 0; l < k; l += 16, to += 16 * CPU_GEMM_LANES) {
        const int64_t   left = k - l < 16 ? k - l : 16;
        const __mmask16 mask = (__mmask16) ((1u << left) - 1);
        __m512i         v[16];
        for (int64_t i = 0; i < 16; ++i) {
            v[i] = i < n ? _mm512_maskz_loadu_epi32(mask, rows[i] + l) : _mm512_setzero_si512();
        }
        transpose_16x16(v);
        for (int64_t i = 0; i < left; ++i) {
            _mm512_storeu_si512(to + i * CPU_GEMM_LANES, v[i]);
        }
    }
}

static void row(int64_t k, const float * x, void * out) {
    memcpy(out, x, (size_t) k * sizeof(float));
}

const struct cpu_gemm_kernel f32_gemm__avx512 = { 1, 1, TILE_N, true, multiply, pack, row };
