/* SPDX-License-Identifier: MIT
 *
 * Convolutions made of other operators: the windows become rows (IM2COL), the kernel a matrix, and the product is laid
 * out as an image again. Each step reads shapes of the one before, so a step that failed (checked mode) ends the chain.
 */
#include "base/check.h"
#include "op/op.h"

/* Columns are f16, the kernel's usual type; a bf16 kernel would lose range in f16. */
static enum ggml_type columns_type(const struct ggml_tensor * kernel) {
    return kernel->type == GGML_TYPE_BF16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
}

/* Sources of a composite must be there before their shapes are read. */
static bool missing(struct ggml_context * ctx, const struct ggml_tensor * a, const struct ggml_tensor * b,
                    const char * builder) {
    if (a == NULL || b == NULL) {
        op_builder_failed(ctx, "%s: source %d is NULL", builder, a == NULL ? 0 : 1);
        return true;
    }
    return false;
}

/* An extent of a reshaped tensor; -1, which no reshape takes, when it overflows. */
static int64_t times(int64_t a, int64_t b) {
    int64_t product = -1;
    return base_int64_mul(a, b, &product) ? product : -1;
}

/* All windows times all kernels: [windows, kernels]. taps: values of one kernel. */
static struct ggml_tensor * windows_times_kernels(struct ggml_context * ctx, struct ggml_tensor * columns,
                                                  struct ggml_tensor * kernel, int64_t taps, int64_t n_kernels) {
    struct ggml_tensor * rows = ggml_reshape_2d(ctx, columns, columns->ne[0], ggml_nrows(columns));
    return ggml_mul_mat(ctx, rows, ggml_reshape_2d(ctx, kernel, taps, n_kernels));
}

struct ggml_tensor * ggml_conv_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int s0,
                                  int p0, int d0) {
    if (missing(ctx, a, b, __func__)) {
        return NULL;
    }
    struct ggml_tensor * columns = ggml_im2col(ctx, a, b, s0, 0, p0, 0, d0, 0, false, columns_type(a));
    if (columns == NULL) {
        return NULL;
    }
    struct ggml_tensor * product = windows_times_kernels(ctx, columns, a, times(a->ne[0], a->ne[1]), a->ne[2]);
    return ggml_reshape_3d(ctx, product, columns->ne[1], a->ne[2], columns->ne[2]);
}

struct ggml_tensor * ggml_conv_1d_ph(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int s,
                                     int d) {
    return missing(ctx, a, b, __func__) ? NULL : ggml_conv_1d(ctx, a, b, s, (int) (a->ne[0] / 2), d);
}

/* Depthwise: channels take the place of the batch, so that each meets its own kernel. */
struct ggml_tensor * ggml_conv_1d_dw(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int s0,
                                     int p0, int d0) {
    if (missing(ctx, a, b, __func__)) {
        return NULL;
    }
    struct ggml_tensor * data    = ggml_reshape_4d(ctx, b, b->ne[0], 1, b->ne[1], b->ne[2]);
    struct ggml_tensor * columns = ggml_im2col(ctx, a, data, s0, 0, p0, 0, d0, 0, false, columns_type(a));
    struct ggml_tensor * product = ggml_mul_mat(ctx, columns, a);
    return product == NULL ? NULL : ggml_reshape_3d(ctx, product, product->ne[0], product->ne[2], 1);
}

struct ggml_tensor * ggml_conv_1d_dw_ph(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                        int s0, int d0) {
    return missing(ctx, a, b, __func__) ? NULL : ggml_conv_1d_dw(ctx, a, b, s0, (int) (a->ne[0] / 2), d0);
}

struct ggml_tensor * ggml_conv_2d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int s0,
                                  int s1, int p0, int p1, int d0, int d1) {
    if (missing(ctx, a, b, __func__)) {
        return NULL;
    }
    struct ggml_tensor * columns = ggml_im2col(ctx, a, b, s0, s1, p0, p1, d0, d1, true, columns_type(a));
    if (columns == NULL) {
        return NULL;
    }
    struct ggml_tensor * product =
        windows_times_kernels(ctx, columns, a, times(times(a->ne[0], a->ne[1]), a->ne[2]), a->ne[3]);
    product = ggml_reshape_4d(ctx, product, columns->ne[1], columns->ne[2], columns->ne[3], a->ne[3]);
    return ggml_cont(ctx, ggml_permute(ctx, product, 0, 1, 3, 2)); /* batch outermost */
}

struct ggml_tensor * ggml_conv_2d_sk_p0(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return missing(ctx, a, b, __func__) ? NULL : ggml_conv_2d(ctx, a, b, (int) a->ne[0], (int) a->ne[1], 0, 0, 1, 1);
}

struct ggml_tensor * ggml_conv_2d_s1_ph(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b) {
    return missing(ctx, a, b, __func__)
               ? NULL
               : ggml_conv_2d(ctx, a, b, 1, 1, (int) (a->ne[0] / 2), (int) (a->ne[1] / 2), 1, 1);
}

/* Depthwise: as in one dimension; the product then pairs the matrices of channel i. */
struct ggml_tensor * ggml_conv_2d_dw(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int s0,
                                     int s1, int p0, int p1, int d0, int d1) {
    if (missing(ctx, a, b, __func__)) {
        return NULL;
    }
    struct ggml_tensor * kernel  = ggml_reshape_4d(ctx, a, a->ne[0], a->ne[1], 1, times(a->ne[2], a->ne[3]));
    struct ggml_tensor * data    = ggml_reshape_4d(ctx, b, b->ne[0], b->ne[1], 1, times(b->ne[2], b->ne[3]));
    struct ggml_tensor * columns = ggml_im2col(ctx, kernel, data, s0, s1, p0, p1, d0, d1, true, columns_type(a));
    if (columns == NULL) {
        return NULL;
    }
    struct ggml_tensor * windows =
        ggml_reshape_4d(ctx, columns, columns->ne[0], columns->ne[2] * columns->ne[1], b->ne[2], b->ne[3]);
    kernel = ggml_reshape_4d(ctx, kernel, times(kernel->ne[0], kernel->ne[1]), kernel->ne[2], kernel->ne[3], 1);
    struct ggml_tensor * product = ggml_mul_mat(ctx, kernel, windows);
    return ggml_reshape_4d(ctx, product, columns->ne[1], columns->ne[2], b->ne[2], b->ne[3]);
}

struct ggml_tensor * ggml_conv_3d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b, int64_t IC,
                                  int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1, int d2) {
    if (missing(ctx, a, b, __func__)) {
        return NULL;
    }
    struct ggml_tensor * columns = ggml_im2col_3d(ctx, a, b, IC, s0, s1, s2, p0, p1, p2, d0, d1, d2, columns_type(a));
    if (columns == NULL) {
        return NULL;
    }
    const int64_t        n_kernels = a->ne[3] / IC;
    const int64_t        batch     = b->ne[3] / IC;
    const int64_t        plane     = columns->ne[1] * columns->ne[2];
    const int64_t        depth     = batch > 0 ? columns->ne[3] / batch : 0;
    struct ggml_tensor * product =
        windows_times_kernels(ctx, columns, a, times(times(times(a->ne[0], a->ne[1]), a->ne[2]), IC), n_kernels);
    product = ggml_reshape_4d(ctx, product, plane, depth, batch, n_kernels);
    product = ggml_cont(ctx, ggml_permute(ctx, product, 0, 1, 3, 2)); /* batch outermost */
    return ggml_reshape_4d(ctx, product, columns->ne[1], columns->ne[2], depth, times(n_kernels, batch));
}
