/* SPDX-License-Identifier: MIT
 *
 * BF16 GEMM of AMX. Weights are the A tile (16 rows by 32 of k, as they lie in the panel), a packed block is the B
 * tile, and the C tile is 16 rows of W by 16 rows of X: it is transposed on its way out. Four C tiles are in flight: 32
 * rows of W by 32 rows of X, 4 loads for 4 products.
 */
#include "kernel/kernel.h"

#include <immintrin.h>
#include <string.h>

#include "kernel/avx512bf16/gemm_pack.h"

#define TILE_N 32

struct __attribute__((aligned(64))) tile_config {
    uint8_t  palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t  rows[16];
};

/* GCC 12 takes only the first 8 bytes for an input of the intrinsic and drops the other stores: hence the barrier. */
static void configure_tiles(void) {
    struct tile_config config;
    memset(&config, 0, sizeof(config));
    config.palette = 1;
    for (int i = 0; i < 8; ++i) {
        config.row_bytes[i] = 64;
        config.rows[i]      = 16;
    }
    __asm__ volatile("" : : "m"(config) : "memory");
    _tile_loadconfig(&config);
}

/* A C tile from memory, 16 rows of W. */
static inline void store_tile(const float * tile, int64_t m, int64_t n, float * c, size_t c_stride, int how) {
    __m512 acc[16];
    for (int j = 0; j < 16; ++j) {
        acc[j] = _mm512_load_ps(tile + 16 * j);
    }
    if (how & CPU_GEMM_ACROSS) {
        store_across(acc, m, n, c, c_stride, how & CPU_GEMM_ADD);
    } else {
        store_transposed(acc, m, n, c, c_stride, how & CPU_GEMM_ADD);
    }
}

static void block_multiply(int64_t k, const char * w, size_t w_stride, const char * x0, const char * x1, float * c,
                           size_t c_stride, int64_t n, int64_t m, int how) {
    float __attribute__((aligned(64))) out[4][256];
    __asm__ volatile("" : : : "memory"); /* GCC 12 does not know either that tile loads read memory */
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t l = 0; l < k; l += 32) {
        _tile_loadd(4, w + l * 2, w_stride);
        _tile_loadd(6, x0 + l * 32, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, x1 + l * 32, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, w + 16 * w_stride + l * 2, w_stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    if (how == CPU_GEMM_ACROSS && m >= 32 && n >= 32) { /* as it lies */
        _tile_stored(0, c, c_stride * sizeof(float));
        _tile_stored(1, c + 16, c_stride * sizeof(float));
        _tile_stored(2, c + 16 * c_stride, c_stride * sizeof(float));
        _tile_stored(3, c + 16 * c_stride + 16, c_stride * sizeof(float));
        return;
    }
    _tile_stored(0, out[0], 64);
    _tile_stored(1, out[1], 64);
    _tile_stored(2, out[2], 64);
    _tile_stored(3, out[3], 64);
    for (int i = 0; i < 2 && 16 * i < m; ++i) {
        for (int j = 0; j < 2 && 16 * j < n; ++j) {
            float * to = how & CPU_GEMM_ACROSS ? c + (size_t) (16 * j) * c_stride + 16 * i
                                               : c + (size_t) (16 * i) * c_stride + 16 * j;
            store_tile(out[2 * j + i], m - 16 * i, n - 16 * j, to, c_stride, how);
        }
    }
}

static void multiply(int64_t k, int64_t n, int64_t m, const void * panel, size_t panel_stride, const void * pack,
                     size_t pack_stride, float * c, size_t c_stride, int how) {
    configure_tiles();
    for (int64_t i = 0; i < m; i += 32) {
        const char * x0 = (const char *) pack + (size_t) (i / 16) * pack_stride;
        const char * x1 = m - i > 16 ? x0 + pack_stride : x0;
        for (int64_t j = 0; j < n; j += TILE_N) {
            float * out = how & CPU_GEMM_ACROSS ? c + (size_t) j * c_stride + i : c + (size_t) i * c_stride + j;
            block_multiply(k, (const char *) panel + (size_t) j * panel_stride, panel_stride, x0, x1, out, c_stride,
                           n - j, m - i, how);
        }
    }
    _tile_release();
}

const struct cpu_gemm_kernel bf16_gemm__amx = { 2, 32, TILE_N, true, multiply, gemm_pack_bf16, gemm_row_bf16 };
