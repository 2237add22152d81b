/* SPDX-License-Identifier: MIT
 *
 * The register-tiled GEMM of AVX-512, for a compute type that the including file gives by five definitions:
 *
 *   TILE_DEPTH             values of k in one step, 4 bytes of a panel row and one vector of the pack
 *   TILE_VECTOR            type of a vector of activations
 *   TILE_LOAD(p)           such a vector from the pack
 *   TILE_BROADCAST(p)      4 bytes of a panel row in all lanes
 *   TILE_STEP(acc, w, x)   acc + w * x
 *
 * A tile is 12 rows of W by two vectors (32 rows of X): 24 sums, and 14 loads for 24 multiply-adds.
 */
#include "kernel/avx512/gemm_transpose.h"

#define TILE_N 12

static inline __attribute__((always_inline)) void tile_multiply(int vectors, int64_t steps, const char * w,
                                                                size_t w_stride, const char * x, size_t x_stride,
                                                                float * c, size_t c_stride, int64_t n, int64_t m,
                                                                int how) {
    __m512       acc[2][16];
    const char * rows[4] = { w, w + 3 * w_stride, w + 6 * w_stride, w + 9 * w_stride };
    for (int v = 0; v < vectors; ++v) {
        for (int j = 0; j < 16; ++j) {
            acc[v][j] = _mm512_setzero_ps();
        }
    }
    for (int64_t l = 0; l < steps; ++l) {
        TILE_VECTOR in[2];
        for (int v = 0; v < vectors; ++v) {
            in[v] = TILE_LOAD(x + (size_t) v * x_stride + (size_t) l * 64);
        }
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 3
            for (int j = 0; j < 3; ++j) {
                const TILE_VECTOR b = TILE_BROADCAST(rows[r] + (size_t) j * w_stride + (size_t) l * 4);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v) {
                    acc[v][3 * r + j] = TILE_STEP(acc[v][3 * r + j], b, in[v]);
                }
            }
        }
    }
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
        if (how & CPU_GEMM_ACROSS) {
            store_across(acc[v], m - 16 * v, n, c + v * 16, c_stride, how & CPU_GEMM_ADD);
        } else {
            store_transposed(acc[v], m - 16 * v, n, c + (size_t) v * 16 * c_stride, c_stride, how & CPU_GEMM_ADD);
        }
    }
}

static void multiply(int64_t k, int64_t n, int64_t m, const void * panel, size_t panel_stride, const void * pack,
                     size_t pack_stride, float * c, size_t c_stride, int how) {
    const int64_t steps = k / TILE_DEPTH;
    for (int64_t i = 0; i < m; i += 32) {
        const char * x = (const char *) pack + (size_t) (i / 16) * pack_stride;
        for (int64_t j = 0; j < n; j += TILE_N) {
            const char *  w    = (const char *) panel + (size_t) j * panel_stride;
            float *       out  = how & CPU_GEMM_ACROSS ? c + (size_t) j * c_stride + i : c + (size_t) i * c_stride + j;
            const int64_t cols = n - j < TILE_N ? n - j : TILE_N;
            if (m - i > 16) {
                tile_multiply(2, steps, w, panel_stride, x, pack_stride, out, c_stride, cols, m - i, how);
            } else {
                tile_multiply(1, steps, w, panel_stride, x, pack_stride, out, c_stride, cols, m - i, how);
            }
        }
    }
}
