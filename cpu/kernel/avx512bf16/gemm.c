/* SPDX-License-Identifier: MIT
 *
 * BF16 GEMM by vdpbf16ps: 32 products an instruction, accumulated in F32.
 */
#include "kernel/kernel.h"

#include <immintrin.h>
#include <string.h>

#include "kernel/avx512bf16/gemm_pack.h"

static inline __attribute__((always_inline)) __m512i broadcast_pair(const char * p) {
    int32_t pair;
    memcpy(&pair, p, sizeof(pair));
    return _mm512_set1_epi32(pair);
}

/* clang 16 crashes on the intrinsic with a broadcast operand: it gets the instruction by name. */
static inline __attribute__((always_inline)) __m512 dot_pairs(__m512 acc, __m512i w, __m512i x) {
#if defined(__clang__)
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(w), "v"(x));
    return acc;
#else
    return _mm512_dpbf16_ps(acc, (__m512bh) w, (__m512bh) x);
#endif
}

#define TILE_DEPTH           2
#define TILE_VECTOR          __m512i
#define TILE_LOAD(p)         _mm512_loadu_si512(p)
#define TILE_BROADCAST(p)    broadcast_pair(p)
#define TILE_STEP(acc, w, x) dot_pairs(acc, w, x)
#include "kernel/avx512/gemm_tile.h"

const struct cpu_gemm_kernel bf16_gemm__avx512bf16 = { 2, 32, TILE_N, true, multiply, gemm_pack_bf16, gemm_row_bf16 };
