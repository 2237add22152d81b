/* SPDX-License-Identifier: MIT
 *
 * ggml-common.h: blocks of the quantized number formats as they lie in files and memory.
 */
#ifndef MODULE_GGML_COMMON_H
#define MODULE_GGML_COMMON_H

#include <assert.h>
#include <stdint.h>


#ifndef __cplusplus
#ifndef static_assert
#define static_assert _Static_assert
#endif
#endif

/* Marks an anonymous member for compilers that warn about one. */
#define GGML_EXTENSION __extension__

#define QK_K 256
#define K_SCALE_SIZE 12
#define QK1_0 128
#define QK2_0 64
#define QK4_0 32
#define QK4_1 32
#define QK_MXFP4 32
#define QK_NVFP4 64
#define QK_NVFP4_SUB 16
#define QK5_0 32
#define QK5_1 32
#define QK8_0 32
#define QK8_1 32
#define IQ3S_N_SCALE (QK_K / 64)
#define QK4_NL 32

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t ggml_half;
typedef uint32_t ggml_half2;

typedef struct {
    ggml_half d;
    uint8_t qs[16];
} block_q1_0;
static_assert(sizeof(block_q1_0) == 18, "layout of block_q1_0 is a file format");

typedef struct {
    ggml_half d;
    uint8_t qs[16];
} block_q2_0;
static_assert(sizeof(block_q2_0) == 18, "layout of block_q2_0 is a file format");

typedef struct {
    ggml_half d;
    uint8_t qs[16];
} block_q4_0;
static_assert(sizeof(block_q4_0) == 18, "layout of block_q4_0 is a file format");

typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half m;
        };
        ggml_half2 dm;
    };
    uint8_t qs[16];
} block_q4_1;
static_assert(sizeof(block_q4_1) == 20, "layout of block_q4_1 is a file format");

typedef struct {
    uint8_t e;
    uint8_t qs[16];
} block_mxfp4;
static_assert(sizeof(block_mxfp4) == 17, "layout of block_mxfp4 is a file format");

typedef struct {
    uint8_t d[4];
    uint8_t qs[32];
} block_nvfp4;
static_assert(sizeof(block_nvfp4) == 36, "layout of block_nvfp4 is a file format");

typedef struct {
    ggml_half d;
    uint8_t qh[4];
    uint8_t qs[16];
} block_q5_0;
static_assert(sizeof(block_q5_0) == 22, "layout of block_q5_0 is a file format");

typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half m;
        };
        ggml_half2 dm;
    };
    uint8_t qh[4];
    uint8_t qs[16];
} block_q5_1;
static_assert(sizeof(block_q5_1) == 24, "layout of block_q5_1 is a file format");

typedef struct {
    ggml_half d;
    int8_t qs[32];
} block_q8_0;
static_assert(sizeof(block_q8_0) == 34, "layout of block_q8_0 is a file format");

typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half s;
        };
        ggml_half2 ds;
    };
    int8_t qs[32];
} block_q8_1;
static_assert(sizeof(block_q8_1) == 36, "layout of block_q8_1 is a file format");

typedef struct {
    uint8_t qs[48];
    uint8_t qh[4];
    ggml_half d;
} block_tq1_0;
static_assert(sizeof(block_tq1_0) == 54, "layout of block_tq1_0 is a file format");

typedef struct {
    uint8_t qs[64];
    ggml_half d;
} block_tq2_0;
static_assert(sizeof(block_tq2_0) == 66, "layout of block_tq2_0 is a file format");

typedef struct {
    uint8_t scales[16];
    uint8_t qs[64];
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half dmin;
        };
        ggml_half2 dm;
    };
} block_q2_K;
static_assert(sizeof(block_q2_K) == 84, "layout of block_q2_K is a file format");

typedef struct {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    ggml_half d;
} block_q3_K;
static_assert(sizeof(block_q3_K) == 110, "layout of block_q3_K is a file format");

typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half dmin;
        };
        ggml_half2 dm;
    };
    uint8_t scales[12];
    uint8_t qs[128];
} block_q4_K;
static_assert(sizeof(block_q4_K) == 144, "layout of block_q4_K is a file format");

typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half dmin;
        };
        ggml_half2 dm;
    };
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
} block_q5_K;
static_assert(sizeof(block_q5_K) == 176, "layout of block_q5_K is a file format");

typedef struct {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    ggml_half d;
} block_q6_K;
static_assert(sizeof(block_q6_K) == 210, "layout of block_q6_K is a file format");

typedef struct {
    float d;
    int8_t qs[256];
    int16_t bsums[16];
} block_q8_K;
static_assert(sizeof(block_q8_K) == 292, "layout of block_q8_K is a file format");

typedef struct {
    ggml_half d;
    uint16_t qs[32];
} block_iq2_xxs;
static_assert(sizeof(block_iq2_xxs) == 66, "layout of block_iq2_xxs is a file format");

typedef struct {
    ggml_half d;
    uint16_t qs[32];
    uint8_t scales[8];
} block_iq2_xs;
static_assert(sizeof(block_iq2_xs) == 74, "layout of block_iq2_xs is a file format");

typedef struct {
    ggml_half d;
    uint8_t qs[64];
    uint8_t qh[8];
    uint8_t scales[8];
} block_iq2_s;
static_assert(sizeof(block_iq2_s) == 82, "layout of block_iq2_s is a file format");

typedef struct {
    ggml_half d;
    uint8_t qs[96];
} block_iq3_xxs;
static_assert(sizeof(block_iq3_xxs) == 98, "layout of block_iq3_xxs is a file format");

typedef struct {
    ggml_half d;
    uint8_t qs[64];
    uint8_t qh[8];
    uint8_t signs[32];
    uint8_t scales[4];
} block_iq3_s;
static_assert(sizeof(block_iq3_s) == 110, "layout of block_iq3_s is a file format");

typedef struct {
    ggml_half d;
    uint8_t qs[32];
    uint16_t qh[8];
} block_iq1_s;
static_assert(sizeof(block_iq1_s) == 50, "layout of block_iq1_s is a file format");

typedef struct {
    uint8_t qs[32];
    uint8_t qh[16];
    uint8_t scales[8];
} block_iq1_m;
static_assert(sizeof(block_iq1_m) == 56, "layout of block_iq1_m is a file format");

typedef union {
    ggml_half f16;
    uint16_t  u16;
} iq1m_scale_t;

typedef struct {
    ggml_half d;
    uint8_t qs[16];
} block_iq4_nl;
static_assert(sizeof(block_iq4_nl) == 18, "layout of block_iq4_nl is a file format");

typedef struct {
    ggml_half d;
    uint16_t scales_h;
    uint8_t scales_l[4];
    uint8_t qs[128];
} block_iq4_xs;
static_assert(sizeof(block_iq4_xs) == 136, "layout of block_iq4_xs is a file format");


#ifdef __cplusplus
}
#endif

#endif /* MODULE_GGML_COMMON_H */
