/* SPDX-License-Identifier: MIT
 *
 * ggml-common.h: blocks of the quantized number formats as they lie in files and in memory.
 *
 * A row of a quantized tensor is an array of blocks. A block holds a fixed number of consecutive values as small
 * integers, levels, and what turns them back to numbers: halves (IEEE binary16) d and m, and integer scales of
 * groups of values. Formulas are given as x = ... for a value x. All fields are little-endian. Sizes and offsets are
 * file formats and never change. Only byte alignment is promised for blocks in memory beyond that of their widest
 * field's type.
 *
 * Nibble order, where 4-bit levels of n values share n/2 bytes: byte j has value j in its low and value j + n/2 in
 * its high nibble. Tables of the "I" formats are in the library, which has functions for all formats
 * (ggml-quants.h).
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

/* Values in a block. QK_K is that of all formats with two levels of scales ("K") and of most with tables. */
#define QK_K         256
#define QK1_0        128
#define QK2_0        64
#define QK4_0        32
#define QK4_1        32
#define QK5_0        32
#define QK5_1        32
#define QK8_0        32
#define QK8_1        32
#define QK4_NL       32
#define QK_MXFP4     32
#define QK_NVFP4     64
#define QK_NVFP4_SUB 16 /* values that share a scale */

#define K_SCALE_SIZE 12          /* bytes of the packed 6-bit scales and minimums of Q4_K and Q5_K */
#define IQ3S_N_SCALE (QK_K / 64) /* bytes of scales in IQ3_S */

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t ggml_half;  /* bits of an IEEE binary16 */
typedef uint32_t ggml_half2; /* two of them, the first in the lower half: read at once */

/* ---- one level of scales ---- */

/* Q1_0: 128 signs. x = d or -d. Value 8 i + j has bit j of qs[i]; 1 is plus. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK1_0 / 8];
} block_q1_0;
static_assert(sizeof(block_q1_0) == 18, "layout of block_q1_0 is a file format");

/* Q2_0: 64 values. x = d (level - 1), levels 0 to 3. Value 4 i + j has bits 2 j and 2 j + 1 of qs[i]. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK2_0 / 4];
} block_q2_0;
static_assert(sizeof(block_q2_0) == 18, "layout of block_q2_0 is a file format");

/* Q4_0: 32 values. x = d (level - 8), levels 0 to 15, in nibble order. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK4_0 / 2];
} block_q4_0;
static_assert(sizeof(block_q4_0) == 18, "layout of block_q4_0 is a file format");

/* Q4_1: 32 values. x = d level + m, levels 0 to 15, in nibble order. dm: both at once. */
typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half m;
        };
        ggml_half2 dm;
    };
    uint8_t qs[QK4_1 / 2];
} block_q4_1;
static_assert(sizeof(block_q4_1) == 20, "layout of block_q4_1 is a file format");

/* Q5_0: 32 values. x = d (level - 16), levels 0 to 31: four bits in nibble order in qs, the fifth of value j in bit
 * j of the word qh. */
typedef struct {
    ggml_half d;
    uint8_t   qh[4];
    uint8_t   qs[QK5_0 / 2];
} block_q5_0;
static_assert(sizeof(block_q5_0) == 22, "layout of block_q5_0 is a file format");

/* Q5_1: 32 values. x = d level + m, levels 0 to 31, placed as in Q5_0. */
typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half m;
        };
        ggml_half2 dm;
    };
    uint8_t qh[4];
    uint8_t qs[QK5_1 / 2];
} block_q5_1;
static_assert(sizeof(block_q5_1) == 24, "layout of block_q5_1 is a file format");

/* Q8_0: 32 values. x = d level, levels -127 to 127. */
typedef struct {
    ggml_half d;
    int8_t    qs[QK8_0];
} block_q8_0;
static_assert(sizeof(block_q8_0) == 34, "layout of block_q8_0 is a file format");

/* Q8_1: as Q8_0, and s = d times the sum of the levels, which a product with a format that has a minimum needs. For
 * activations: no file has it. */
typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half s;
        };
        ggml_half2 ds;
    };
    int8_t qs[QK8_1];
} block_q8_1;
static_assert(sizeof(block_q8_1) == 36, "layout of block_q8_1 is a file format");

/* ---- small floating-point numbers ---- */

/* MXFP4 (OCP microscaling formats 1.0): 32 numbers of E2M1, 0 0.5 1 1.5 2 3 4 6 with a sign in the highest bit, in
 * nibble order. x = 2^(e - 127) number; 255 is the scale's NaN. */
typedef struct {
    uint8_t e;
    uint8_t qs[QK_MXFP4 / 2];
} block_mxfp4;
static_assert(sizeof(block_mxfp4) == 17, "layout of block_mxfp4 is a file format");

/* NVFP4: 64 numbers of E2M1 in four groups of 16, each in nibble order of its own. x = d[group] number, d in unsigned
 * E4M3 (exponent bias 7). The scale of the whole tensor is another tensor. */
typedef struct {
    uint8_t d[QK_NVFP4 / QK_NVFP4_SUB];
    uint8_t qs[QK_NVFP4 / 2];
} block_nvfp4;
static_assert(sizeof(block_nvfp4) == 36, "layout of block_nvfp4 is a file format");

/* ---- ternary ---- */

/* TQ1_0: 256 trits. x = d (trit - 1). A byte of qs holds five: the fraction 0.t0 t1 t2 t3 t4 in base 3, times 256,
 * rounded up; multiplying by 3 pushes the next one out at the top. Bytes come in runs of 32 and 16 (qs) and 4 (qh,
 * four trits each); byte m of a run of r holds values m, m + r, m + 2 r, ... of the run. */
typedef struct {
    uint8_t   qs[48]; /* 240 values */
    uint8_t   qh[4];  /* the last 16 */
    ggml_half d;
} block_tq1_0;
static_assert(sizeof(block_tq1_0) == 54, "layout of block_tq1_0 is a file format");

/* TQ2_0: 256 trits of 2 bits. x = d (trit - 1). In each half of 128 values, byte l holds values l + 32 j in bits 2 j
 * and 2 j + 1. */
typedef struct {
    uint8_t   qs[QK_K / 4];
    ggml_half d;
} block_tq2_0;
static_assert(sizeof(block_tq2_0) == 66, "layout of block_tq2_0 is a file format");

/* ---- two levels of scales ---- */

/* Q2_K: 256 values in 16 groups. x = d scale level - dmin min, levels 0 to 3. scales[g]: scale in the low, min in
 * the high nibble. In each half of 128 values, byte l of qs holds values l + 32 j in bits 2 j and 2 j + 1. */
typedef struct {
    uint8_t scales[QK_K / 16];
    uint8_t qs[QK_K / 4];
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half dmin;
        };
        ggml_half2 dm;
    };
} block_q2_K;
static_assert(sizeof(block_q2_K) == 84, "layout of block_q2_K is a file format");

/* Q3_K: 256 values in 16 groups. x = d (scale - 32) (level - 4), levels 0 to 7: two bits in qs placed as in Q2_K,
 * the third of value l + 32 j in bit j of hmask[l]. Scales of 6 bits: low nibbles of groups g and g + 8 in
 * scales[g], high pairs of groups g, g + 4, g + 8, g + 12 in scales[8 + g]. */
typedef struct {
    uint8_t   hmask[QK_K / 8];
    uint8_t   qs[QK_K / 4];
    uint8_t   scales[12];
    ggml_half d;
} block_q3_K;
static_assert(sizeof(block_q3_K) == 110, "layout of block_q3_K is a file format");

/* Q4_K: 256 values in 8 groups. x = d scale level - dmin min, levels 0 to 15: byte l of each 32 of qs holds values l
 * and l + 32 of 64. Scales and minimums of 6 bits: of groups 0 to 3 in the low bits of bytes 0 to 3 and 4 to 7; of
 * groups 4 to 7 the low nibbles in bytes 8 to 11 (scale low, min high), the high pairs above those of groups 0 to 3. */
typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half dmin;
        };
        ggml_half2 dm;
    };
    uint8_t scales[K_SCALE_SIZE];
    uint8_t qs[QK_K / 2];
} block_q4_K;
static_assert(sizeof(block_q4_K) == 144, "layout of block_q4_K is a file format");

/* Q5_K: 256 values in 8 groups. x = d scale level - dmin min, levels 0 to 31: four bits in qs and scales placed as
 * in Q4_K, the fifth of value l + 32 j in bit j of qh[l]. */
typedef struct {
    GGML_EXTENSION union {
        struct {
            ggml_half d;
            ggml_half dmin;
        };
        ggml_half2 dm;
    };
    uint8_t scales[K_SCALE_SIZE];
    uint8_t qh[QK_K / 8];
    uint8_t qs[QK_K / 2];
} block_q5_K;
static_assert(sizeof(block_q5_K) == 176, "layout of block_q5_K is a file format");

/* Q6_K: 256 values in 16 groups. x = d scale (level - 32), levels 0 to 63. In each half of 128 values ql holds the
 * low nibbles of l and l + 64, then of l + 32 and l + 96, and qh the high pairs of l, l + 32, l + 64, l + 96. */
typedef struct {
    uint8_t   ql[QK_K / 2];
    uint8_t   qh[QK_K / 4];
    int8_t    scales[QK_K / 16];
    ggml_half d;
} block_q6_K;
static_assert(sizeof(block_q6_K) == 210, "layout of block_q6_K is a file format");

/* Q8_K: 256 values. x = d level, d in single precision; bsums: sums of every 16 levels, for formats with a minimum.
 * For activations: no file has it. */
typedef struct {
    float   d;
    int8_t  qs[QK_K];
    int16_t bsums[QK_K / 16];
} block_q8_K;
static_assert(sizeof(block_q8_K) == 292, "layout of block_q8_K is a file format");

/* ---- values from tables: the number of a point stands for eight or four magnitudes at once ---- */

/* IQ2_XXS: x = d (code + 1/2)/4 magnitude, signed; points of eight magnitudes 8, 25, 43 from a table of 256. Each 32
 * values have two words in qs: four point numbers; four times seven sign bits and a 4-bit code. The eighth sign
 * makes the number of minus signs even. */
typedef struct {
    ggml_half d;
    uint16_t  qs[QK_K / 8];
} block_iq2_xxs;
static_assert(sizeof(block_iq2_xxs) == 66, "layout of block_iq2_xxs is a file format");

/* IQ2_XS: as IQ2_XXS with a table of 512. A 16-bit word of qs for eight values: 9 bits of point, seven of sign.
 * scales: a 4-bit code for each 16 values. */
typedef struct {
    ggml_half d;
    uint16_t  qs[QK_K / 8];
    uint8_t   scales[QK_K / 32];
} block_iq2_xs;
static_assert(sizeof(block_iq2_xs) == 74, "layout of block_iq2_xs is a file format");

/* IQ2_S: as IQ2_XXS with a table of 1024. The first half of qs has the lower eight bits of point numbers, the second
 * all eight signs; qh two more bits of each point; scales: a 4-bit code for each 16 values. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK_K / 4];
    uint8_t   qh[QK_K / 32];
    uint8_t   scales[QK_K / 32];
} block_iq2_s;
static_assert(sizeof(block_iq2_s) == 82, "layout of block_iq2_s is a file format");

/* IQ3_XXS: x = d (code + 1/2)/2 magnitude, signed; points of four magnitudes from a table of 256. 64 point numbers,
 * then for each 32 values a word: four times seven sign bits and a 4-bit code. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK_K / 4 + QK_K / 8]; /* points, then words */
} block_iq3_xxs;
static_assert(sizeof(block_iq3_xxs) == 98, "layout of block_iq3_xxs is a file format");

/* IQ3_S: x = d (2 code + 1) magnitude, signed; points of four odd magnitudes 1 to 15 from a table of 512: eight bits
 * in qs, the ninth in qh. signs: one bit a value. scales: a 4-bit code for each 32 values. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK_K / 4];
    uint8_t   qh[QK_K / 32];
    uint8_t   signs[QK_K / 8];
    uint8_t   scales[IQ3S_N_SCALE];
} block_iq3_s;
static_assert(sizeof(block_iq3_s) == 110, "layout of block_iq3_s is a file format");

/* IQ1_S: x = d (2 code + 1) (level - 1 + shift), levels 0, 1, 2, shift 1/8 or -1/8; points of eight levels from a
 * table of 2048. qs: lower eight bits of points. A word of qh for 32 values: three more bits of four points, a 3-bit
 * code, the sign of the shift on top. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK_K / 8];
    uint16_t  qh[QK_K / 32];
} block_iq1_s;
static_assert(sizeof(block_iq1_s) == 50, "layout of block_iq1_s is a file format");

/* IQ1_M: as IQ1_S, with a nibble of qh for eight values: three bits of point, and the sign of the shift. scales are
 * four 16-bit words: a 3-bit code for each of four groups of 16 values, and on top a nibble of d, the lowest first. */
typedef struct {
    uint8_t qs[QK_K / 8];
    uint8_t qh[QK_K / 16];
    uint8_t scales[QK_K / 32];
} block_iq1_m;
static_assert(sizeof(block_iq1_m) == 56, "layout of block_iq1_m is a file format");

/* For putting d of IQ1_M together. */
typedef union {
    ggml_half f16;
    uint16_t  u16;
} iq1m_scale_t;

/* ---- sixteen levels that are not evenly spaced ---- */

/* IQ4_NL: 32 values. x = d value[level] in nibble order, value = -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69
 * 89 113. */
typedef struct {
    ggml_half d;
    uint8_t   qs[QK4_NL / 2];
} block_iq4_nl;
static_assert(sizeof(block_iq4_nl) == 18, "layout of block_iq4_nl is a file format");

/* IQ4_XS: 256 values in 8 groups of 32. x = d (scale - 32) value[level], levels of a group in nibble order. Scales
 * of 6 bits: low nibbles of two groups in a byte of scales_l, high pairs in scales_h. */
typedef struct {
    ggml_half d;
    uint16_t  scales_h;
    uint8_t   scales_l[QK_K / 64];
    uint8_t   qs[QK_K / 2];
} block_iq4_xs;
static_assert(sizeof(block_iq4_xs) == 136, "layout of block_iq4_xs is a file format");

#ifdef __cplusplus
}
#endif

#endif /* MODULE_GGML_COMMON_H */
