/* SPDX-License-Identifier: MIT
 *
 * Tensors as F64, element by element along nb[]: what the tests of operators compute with, apart from all kernels.
 */
#ifndef GRAFT_TESTS_CPU_REFERENCE_H
#define GRAFT_TESTS_CPU_REFERENCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-impl.h"
#include "graft-module.h"

struct at {
    int64_t i[4];
};

#define AT(a, b, c, d) ((struct at){{a, b, c, d}})

__attribute__((unused)) static char * ref_address(const struct ggml_tensor * t, struct at at) {
    const int64_t block = ggml_blck_size(t->type);
    return (char *) t->data + at.i[0] / block * (int64_t) t->nb[0] + at.i[1] * (int64_t) t->nb[1] +
           at.i[2] * (int64_t) t->nb[2] + at.i[3] * (int64_t) t->nb[3];
}

/* One value. Of formats with blocks, the block is decoded by the format's own decoder. */
__attribute__((unused)) static double ref_get(const struct ggml_tensor * t, struct at at) {
    const void * p = ref_address(t, at);
    switch ((int) t->type) {
        case GGML_TYPE_F32: {
            float v;
            memcpy(&v, p, sizeof(v));
            return (double) v;
        }
        case GGML_TYPE_F16: {
            ggml_fp16_t v;
            memcpy(&v, p, sizeof(v));
            return (double) ggml_compute_fp16_to_fp32(v);
        }
        case GGML_TYPE_BF16: {
            ggml_bf16_t v;
            memcpy(&v, p, sizeof(v));
            return (double) ggml_compute_bf16_to_fp32(v);
        }
        case GGML_TYPE_I8:
            return (double) *(const int8_t *) p;
        case GGML_TYPE_I16: {
            int16_t v;
            memcpy(&v, p, sizeof(v));
            return (double) v;
        }
        case GGML_TYPE_I32: {
            int32_t v;
            memcpy(&v, p, sizeof(v));
            return (double) v;
        }
        case GGML_TYPE_I64: {
            int64_t v;
            memcpy(&v, p, sizeof(v));
            return (double) v;
        }
        case GGML_TYPE_F64: {
            double v;
            memcpy(&v, p, sizeof(v));
            return v;
        }
        default: {
            float values[256];
            graft_type_decoder(t->type)(p, values, ggml_blck_size(t->type));
            return (double) values[at.i[0] % ggml_blck_size(t->type)];
        }
    }
}

__attribute__((unused)) static void ref_set(const struct ggml_tensor * t, struct at at, double x) {
    void * p = ref_address(t, at);
    switch ((int) t->type) {
        case GGML_TYPE_F32: {
            const float v = (float) x;
            memcpy(p, &v, sizeof(v));
            break;
        }
        case GGML_TYPE_F16: {
            const ggml_fp16_t v = ggml_compute_fp32_to_fp16((float) x);
            memcpy(p, &v, sizeof(v));
            break;
        }
        case GGML_TYPE_BF16: {
            const ggml_bf16_t v = ggml_compute_fp32_to_bf16((float) x);
            memcpy(p, &v, sizeof(v));
            break;
        }
        case GGML_TYPE_I8:
            *(int8_t *) p = (int8_t) x;
            break;
        case GGML_TYPE_I16: {
            const int16_t v = (int16_t) x;
            memcpy(p, &v, sizeof(v));
            break;
        }
        case GGML_TYPE_I32: {
            const int32_t v = (int32_t) x;
            memcpy(p, &v, sizeof(v));
            break;
        }
        case GGML_TYPE_I64: {
            const int64_t v = (int64_t) x;
            memcpy(p, &v, sizeof(v));
            break;
        }
        case GGML_TYPE_F64:
            memcpy(p, &x, sizeof(x));
            break;
        default: /* rows of blocks are filled with ref_set_block */
            abort();
    }
}

/* Encodes the block that begins at `at` from values. */
__attribute__((unused)) static void ref_set_block(const struct ggml_tensor * t, struct at at, const float * values) {
    graft_type_encoder(t->type)(values, ref_address(t, at), ggml_blck_size(t->type));
}

/* The element of a tensor that is repeated to a larger shape. */
__attribute__((unused)) static double ref_repeated(const struct ggml_tensor * t, struct at at) {
    for (int d = 0; d < 4; d++) {
        at.i[d] %= t->ne[d];
    }
    return ref_get(t, at);
}

/* Element number n in logical order. */
__attribute__((unused)) static struct at ref_at(const struct ggml_tensor * t, int64_t n) {
    struct at at;
    for (int d = 0; d < 4; d++) {
        at.i[d] = n % t->ne[d];
        n /= t->ne[d];
    }
    return at;
}

/* Relative rounding of a type. */
__attribute__((unused)) static double ref_rounding(enum ggml_type type) {
    return type == GGML_TYPE_F16 ? 0x1p-11 : type == GGML_TYPE_BF16 ? 0x1p-8 : 0x1p-24;
}

__attribute__((unused)) static double ref_f32(const struct ggml_tensor * node, int i) {
    return (double) ggml_get_op_params_f32(node, (uint32_t) i);
}

__attribute__((unused)) static int32_t ref_i32(const struct ggml_tensor * node, int i) {
    return ggml_get_op_params_i32(node, (uint32_t) i);
}

#endif /* GRAFT_TESTS_CPU_REFERENCE_H */
