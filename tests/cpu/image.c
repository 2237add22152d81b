/* SPDX-License-Identifier: MIT
 *
 * IM2COL, IM2COL_3D, IM2COL_BACK, COL2IM_1D, CONV_2D, CONV_2D_DW, CONV_3D, CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D, POOL_1D,
 * POOL_2D, POOL_2D_BACK, WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS against sums in F64. Bound of a sum: 1e-6 of its
 * magnitudes.
 */
#include <float.h>

#include "cpu/drive.h"

static const enum ggml_type floats[] = {GGML_TYPE_F32, GGML_TYPE_F16};

/* A pixel, 0 outside. */
static double pixel(const struct ggml_tensor * t, int64_t x, int64_t y, int64_t z, int64_t w, int dims) {
    if (x < 0 || x >= t->ne[0] || (dims > 1 && (y < 0 || y >= t->ne[1])) || (dims > 2 && (z < 0 || z >= t->ne[2]))) {
        return 0.0;
    }
    return ref_get(t, AT(x, y, z, w));
}

/* ---- patches ---- */

static double exact_im2col(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * k    = node->src[0];
    const bool                 is2d = ref_i32(node, 6) == 1;
    const int64_t kx = at.i[0] % k->ne[0], rest = at.i[0] / k->ne[0], ky = is2d ? rest % k->ne[1] : 0, c = is2d ? rest / k->ne[1] : rest;
    const int64_t x = at.i[1] * ref_i32(node, 0) + kx * ref_i32(node, 4) - ref_i32(node, 2);
    const int64_t y = at.i[2] * ref_i32(node, 1) + ky * ref_i32(node, 5) - ref_i32(node, 3);
    const double  v = is2d ? pixel(node->src[1], x, y, c, at.i[3], 2) : pixel(node->src[1], x, c, at.i[2], 0, 1);
    *bound          = 1.1 * ref_rounding(node->type) * fabs(v);
    return v;
}

TEST(im2col) {
    for (int k = 0; k < 48; k++) {
        const bool           is2d  = k % 2 != 0;
        const int64_t        kernel2[4] = {3, 2, 3, 4}, data2[4] = {9, 8, 3, 2}, kernel1[4] = {3, 3, 4, 1}, data1[4] = {17, 3, 2, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, floats[k / 2 % 2], is2d ? kernel2 : kernel1, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b     = drive_tensor(&d, GGML_TYPE_F32, is2d ? data2 : data1, (enum drive_layout) (k / 4 % DRIVE_LAYOUTS), -9, 9);
        struct ggml_tensor * node  = ggml_im2col(d.ctx, a, b, 1 + k % 3, is2d ? 1 + k / 3 % 2 : 0, k / 2 % 4, is2d ? k / 8 % 3 : 0, 1 + k / 4 % 2,
                                                 is2d ? 1 + k / 5 % 2 : 0, is2d, floats[k / 3 % 2]);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_im2col, is2d ? "2-D" : "1-D");
        drive_end(&d);
    }
}

static double exact_im2col_3d(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * k  = node->src[0];
    const int64_t              ic = ref_i32(node, 9), n = node->src[1]->ne[3] / ic, od = node->ne[3] / n;
    int64_t                    e = at.i[0], tap[3], place[3] = {at.i[1], at.i[2], at.i[3] % od}, p[3];
    for (int d = 0; d < 3; d++) {
        tap[d] = e % k->ne[d];
        e /= k->ne[d];
        p[d] = place[d] * ref_i32(node, d) + tap[d] * ref_i32(node, 6 + d) - ref_i32(node, 3 + d);
    }
    const double v = pixel(node->src[1], p[0], p[1], p[2], at.i[3] / od * ic + e, 3);
    *bound         = 1.1 * ref_rounding(node->type) * fabs(v);
    return v;
}

TEST(im2col_3d) {
    for (int k = 0; k < 12; k++) {
        const int64_t        kernel[4] = {3, 2, 2, 6}, data[4] = {7, 6, 5, 4}; /* 2 channels, 2 images */
        struct drive         d    = drive_begin();
        struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_F16, kernel, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_F32, data, k % 3 ? DRIVE_SLICED : DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * node = ggml_im2col_3d(d.ctx, a, b, 2, 1 + k % 2, 1, 1 + k / 2 % 2, k % 3, 1, k % 2, 1, 1 + k / 3 % 2, 1, floats[k % 2]);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_im2col_3d, "");
        drive_end(&d);
    }
}

static double exact_im2col_back(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * dy   = node->src[0];
    const struct ggml_tensor * k    = node->src[1];
    const bool                 is2d = ref_i32(node, 6) == 1;
    const int64_t              kh   = is2d ? k->ne[1] : 1, c = is2d ? at.i[2] : at.i[1], n = is2d ? at.i[3] : at.i[2];
    double                     sum = 0.0, magnitude = 0.0;
    for (int64_t oy = 0; oy < (is2d ? dy->ne[2] : 1); oy++) {
        for (int64_t ox = 0; ox < dy->ne[1]; ox++) {
            for (int64_t e = 0; e < kh * k->ne[0]; e++) {
                const int64_t x = ox * ref_i32(node, 0) + e % k->ne[0] * ref_i32(node, 4) - ref_i32(node, 2);
                const int64_t y = oy * ref_i32(node, 1) + e / k->ne[0] * ref_i32(node, 5) - ref_i32(node, 3);
                if (x == at.i[0] && (!is2d || y == at.i[1])) {
                    const double v = ref_get(dy, AT(c * kh * k->ne[0] + e, ox, is2d ? oy : n, is2d ? n : 0));
                    sum += v;
                    magnitude += fabs(v);
                }
            }
        }
    }
    *bound = 1e-6 * magnitude;
    return sum;
}

TEST(im2col_back) {
    for (int k = 0; k < 16; k++) {
        const bool           is2d = k % 2 != 0;
        const int64_t        kernel2[4] = {3, 2, 3, 4}, kernel1[4] = {3, 3, 4, 1};
        int64_t              data2[4] = {9, 8, 3, 2}, data1[4] = {17, 3, 2, 1};
        struct drive         d    = drive_begin();
        struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_F32, is2d ? kernel2 : kernel1, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_F32, is2d ? data2 : data1, DRIVE_PLAIN, -1, 1);
        const int            s0 = 1 + k % 3, s1 = is2d ? 1 + k / 3 % 2 : 0, p0 = k / 2 % 3, p1 = is2d ? k / 4 % 2 : 0, d0 = 1 + k / 4 % 2, d1 = is2d ? 1 : 0;
        struct ggml_tensor * forward = ggml_im2col(d.ctx, a, b, s0, s1, p0, p1, d0, d1, is2d, GGML_TYPE_F32);
        struct ggml_tensor * dy      = drive_tensor(&d, GGML_TYPE_F32, forward->ne, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node    = ggml_im2col_back(d.ctx, dy, a, is2d ? data2 : data1, s0, s1, p0, p1, d0, d1, is2d);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_im2col_back, is2d ? "2-D" : "1-D");
        drive_end(&d);
    }
}

static double exact_col2im(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a = node->src[0];
    const int64_t              size = a->ne[0] / ref_i32(node, 1);
    double                     sum = 0.0, magnitude = 0.0;
    for (int64_t t = 0; t < a->ne[1]; t++) {
        const int64_t k = at.i[0] + ref_i32(node, 2) - t * ref_i32(node, 0);
        if (k >= 0 && k < size) {
            sum += ref_get(a, AT(at.i[1] * size + k, t, 0, 0));
            magnitude += fabs(ref_get(a, AT(at.i[1] * size + k, t, 0, 0)));
        }
    }
    *bound = 1e-6 * magnitude + 1.1 * ref_rounding(node->type) * fabs(sum);
    return sum;
}

TEST(col2im_1d) {
    for (int k = 0; k < 12; k++) {
        const int64_t        ne[4] = {5 * 3, 7, 1, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, k % 3 == 2 ? GGML_TYPE_BF16 : floats[k % 3 % 2], ne, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node  = ggml_col2im_1d(d.ctx, a, 1 + k % 4, 3, k % 2);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_col2im, "");
        drive_end(&d);
    }
}

/* ---- convolutions ---- */

static double exact_conv_2d(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor *k = node->src[0], *b = node->src[1];
    const bool                dw  = node->op == GGML_OP_CONV_2D_DW;
    double                    sum = 0.0, magnitude = 0.0;
    for (int64_t c = 0; c < (dw ? 1 : k->ne[2]); c++) {
        for (int64_t e = 0; e < k->ne[0] * k->ne[1]; e++) {
            const int64_t kx = e % k->ne[0], ky = e / k->ne[0];
            const int64_t x = at.i[0] * ref_i32(node, 0) + kx * ref_i32(node, 4) - ref_i32(node, 2);
            const int64_t y = at.i[1] * ref_i32(node, 1) + ky * ref_i32(node, 5) - ref_i32(node, 3);
            const double  v = ref_get(k, AT(kx, ky, c, at.i[2])) * pixel(b, x, y, dw ? at.i[2] : c, at.i[3], 2);
            sum += v;
            magnitude += fabs(v);
        }
    }
    *bound = 2e-6 * magnitude;
    return sum;
}

TEST(conv_2d) {
    for (int k = 0; k < 40; k++) {
        const bool           dw = k % 2 != 0;
        const int64_t        kernel[4] = {3, 2, dw ? 1 : 3, dw ? 3 : 4}, data[4] = {11, 8, 3, 2};
        struct drive         d = drive_begin();
        struct ggml_tensor * a = drive_tensor(&d, floats[k / 2 % 2], kernel, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b = drive_tensor(&d, GGML_TYPE_F32, data, k % 5 == 1 && !dw ? DRIVE_SLICED : DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node = (dw ? ggml_conv_2d_dw_direct : ggml_conv_2d_direct)(d.ctx, a, b, 1 + k % 3, 1 + k / 3 % 2, k / 2 % 4, k / 4 % 3,
                                                                                          1 + k / 4 % 2, 1 + k / 8 % 2);
        drive_place(&d, node, k % 3 == 0 ? DRIVE_SLICED : DRIVE_PLAIN);
        drive_check(&d, node, exact_conv_2d, "");
        drive_end(&d);
    }
}

static double exact_conv_3d(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor *k = node->src[0], *b = node->src[1];
    const int64_t             ic = ref_i32(node, 9), oc = ref_i32(node, 11);
    double                    sum = 0.0, magnitude = 0.0;
    for (int64_t c = 0; c < ic; c++) {
        for (int64_t e = 0; e < k->ne[0] * k->ne[1] * k->ne[2]; e++) {
            const int64_t tap[3] = {e % k->ne[0], e / k->ne[0] % k->ne[1], e / k->ne[0] / k->ne[1]};
            int64_t       p[3];
            for (int i = 0; i < 3; i++) {
                p[i] = at.i[i] * ref_i32(node, i) + tap[i] * ref_i32(node, 6 + i) - ref_i32(node, 3 + i);
            }
            const double v = ref_get(k, AT(tap[0], tap[1], tap[2], at.i[3] % oc * ic + c)) * pixel(b, p[0], p[1], p[2], at.i[3] / oc * ic + c, 3);
            sum += v;
            magnitude += fabs(v);
        }
    }
    *bound = 2e-6 * magnitude;
    return sum;
}

TEST(conv_3d) {
    for (int k = 0; k < 12; k++) {
        const int64_t        kernel[4] = {3, 2, 2, 6}, data[4] = {7, 6, 5, 4}; /* 2 channels to 3, 2 images */
        struct drive         d    = drive_begin();
        struct ggml_tensor * a    = drive_tensor(&d, floats[k % 2], kernel, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_F32, data, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node = ggml_conv_3d_direct(d.ctx, a, b, 1 + k % 2, 1, 1 + k / 2 % 2, k % 3, 1, k % 2, 1, 1 + k / 3 % 2, 1, 2, 2, 3);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_conv_3d, "");
        drive_end(&d);
    }
}

static double exact_transposed(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor *k = node->src[0], *b = node->src[1];
    const bool                flat   = node->op == GGML_OP_CONV_TRANSPOSE_1D;
    const int64_t             stride = ref_i32(node, 0), height = flat ? 1 : b->ne[1];
    double                    sum = 0.0, magnitude = 0.0;
    for (int64_t c = 0; c < k->ne[flat ? 2 : 3]; c++) {
        for (int64_t e = 0; e < b->ne[0] * height; e++) {
            const int64_t x = e % b->ne[0], y = e / b->ne[0], kx = at.i[0] - x * stride, ky = flat ? 0 : at.i[1] - y * stride;
            if (kx < 0 || kx >= k->ne[0] || ky < 0 || (!flat && ky >= k->ne[1])) {
                continue;
            }
            const double v = flat ? ref_get(k, AT(kx, at.i[1], c, 0)) * ref_get(b, AT(x, c, at.i[2], 0)) :
                                    ref_get(k, AT(kx, ky, at.i[2], c)) * ref_get(b, AT(x, y, c, at.i[3]));
            sum += v;
            magnitude += fabs(v);
        }
    }
    *bound = 2e-6 * magnitude;
    return sum;
}

/* All batches; kernel [2,2,1,1] on input [3,2,1,2] is the smallest that shows a forgotten one. */
TEST(conv_transpose) {
    for (int k = 0; k < 12; k++) {
        const int64_t        kernel2[4] = {k < 4 ? 2 : 3, 2, k < 4 ? 1 : 4, k < 4 ? 1 : 3}, data2[4] = {k < 4 ? 3 : 5, 2, k < 4 ? 1 : 3, 2};
        const int64_t        kernel1[4] = {5, 4, 3, 1}, data1[4] = {9, 3, 1, 1};
        struct drive         d    = drive_begin();
        struct ggml_tensor * a    = drive_tensor(&d, floats[1 - k % 2], kernel2, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_F32, data2, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * a1   = drive_tensor(&d, floats[k % 2], kernel1, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b1   = drive_tensor(&d, GGML_TYPE_F32, data1, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node = ggml_conv_transpose_2d_p0(d.ctx, a, b, 1 + k / 2 % 3);
        struct ggml_tensor * flat = ggml_conv_transpose_1d(d.ctx, a1, b1, 1 + k % 4, 0, 1);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_place(&d, flat, DRIVE_PLAIN);
        drive_check(&d, node, exact_transposed, "");
        drive_check(&d, flat, exact_transposed, "");
        drive_end(&d);
    }
}

/* ---- pools ---- */

static double exact_pool(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a    = node->src[0];
    const bool                 flat = node->op == GGML_OP_POOL_1D, is_max = ref_i32(node, 0) == GGML_OP_POOL_MAX;
    const int kx = ref_i32(node, 1), ky = flat ? 1 : ref_i32(node, 2), sx = ref_i32(node, flat ? 2 : 3), sy = flat ? 1 : ref_i32(node, 4),
              px = ref_i32(node, flat ? 3 : 5), py = flat ? 0 : ref_i32(node, 6);
    double sum = 0.0, max = -FLT_MAX;
    int    count = 0;
    for (int e = 0; e < kx * ky; e++) {
        const int64_t x = at.i[0] * sx - px + e % kx, y = flat ? at.i[1] : at.i[1] * sy - py + e / kx;
        if (x >= 0 && x < a->ne[0] && y >= 0 && y < a->ne[1]) {
            const double v = ref_get(a, AT(x, y, at.i[2], at.i[3]));
            sum += v;
            max = fmax(max, v);
            count++;
        }
    }
    *bound = 1e-5;
    return is_max ? max : flat ? (count > 0 ? sum / count : 0.0) : sum / (kx * ky);
}

TEST(pool) {
    for (int k = 0; k < 24; k++) {
        const int64_t        ne[4] = {11, 9, 3, 2};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, floats[k / 2 % 2], ne, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * flat  = ggml_pool_1d(d.ctx, a, (enum ggml_op_pool) (k % 2), 1 + k % 4, 1 + k % 3, k % 4 > 1);
        struct ggml_tensor * node  = ggml_pool_2d(d.ctx, a, (enum ggml_op_pool) (k % 2), 2 + k % 3, 2 + k / 3 % 2, 1 + k % 3, 1 + k / 2 % 2, (float) (k % 2), (float) (k / 2 % 2));
        drive_place(&d, flat, DRIVE_PLAIN);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, flat, exact_pool, "");
        drive_check(&d, node, exact_pool, "");
        drive_end(&d);
    }
}

static double exact_pool_back(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor *dy = node->src[0], *a = node->src[1];
    const int kx = ref_i32(node, 1), ky = ref_i32(node, 2), sx = ref_i32(node, 3), sy = ref_i32(node, 4), px = ref_i32(node, 5), py = ref_i32(node, 6);
    double    sum = 0.0;
    for (int64_t o = 0; o < dy->ne[0] * dy->ne[1]; o++) {
        const int64_t ox = o % dy->ne[0], oy = o / dy->ne[0];
        int64_t       best = -1;
        double        max = -FLT_MAX;
        for (int e = 0; e < kx * ky; e++) {
            const int64_t x = ox * sx - px + e % kx, y = oy * sy - py + e / kx;
            if (x < 0 || x >= a->ne[0] || y < 0 || y >= a->ne[1]) {
                continue;
            }
            const bool own = x == at.i[0] && y == at.i[1];
            if (ref_i32(node, 0) == GGML_OP_POOL_AVG) {
                sum += own ? ref_get(dy, AT(ox, oy, at.i[2], at.i[3])) / (kx * ky) : 0.0;
            } else if (ref_get(a, AT(x, y, at.i[2], at.i[3])) > max) {
                max  = ref_get(a, AT(x, y, at.i[2], at.i[3]));
                best = own;
            }
        }
        sum += best == 1 ? ref_get(dy, AT(ox, oy, at.i[2], at.i[3])) : 0.0;
    }
    *bound = 1e-5;
    return sum;
}

TEST(pool_2d_back) {
    for (int k = 0; k < 12; k++) {
        const int64_t        ne[4] = {11, 9, 3, 2};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * f     = ggml_pool_2d(d.ctx, a, (enum ggml_op_pool) (k % 2), 2 + k % 3, 2, 1 + k % 3, 1 + k / 2 % 2, (float) (k % 2), 1.0f);
        struct ggml_tensor * dy    = drive_tensor(&d, GGML_TYPE_F32, f->ne, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node  = ggml_pool_2d_back(d.ctx, dy, a, (enum ggml_op_pool) (k % 2), 2 + k % 3, 2, 1 + k % 3, 1 + k / 2 % 2, (float) (k % 2), 1.0f);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_pool_back, "");
        drive_end(&d);
    }
}

/* ---- windows ---- */

static double exact_window(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a = node->src[0];
    *bound                       = 0.0;
    switch ((int) node->op) {
        case GGML_OP_WIN_PART: {
            const int64_t nx = ref_i32(node, 0), w = ref_i32(node, 2), x = at.i[3] % nx * w + at.i[1], y = at.i[3] / nx * w + at.i[2];
            return x < a->ne[1] && y < a->ne[2] ? ref_get(a, AT(at.i[0], x, y, 0)) : 0.0;
        }
        case GGML_OP_WIN_UNPART: {
            const int64_t w = ref_i32(node, 0), nx = (node->ne[1] + w - 1) / w;
            return ref_get(a, AT(at.i[0], at.i[1] % w, at.i[2] % w, at.i[2] / w * nx + at.i[1] / w));
        }
        case GGML_OP_GET_REL_POS:
            return ref_get(a, AT(at.i[0], node->ne[1] - 1 - at.i[1] + at.i[2], 0, 0));
        default: { /* ADD_REL_POS */
            const struct ggml_tensor *pw = node->src[1], *ph = node->src[2];
            const int64_t             n = pw->ne[0], r1 = at.i[1] % pw->ne[1], r2 = at.i[1] / pw->ne[1];
            *bound = 1e-6;
            return ref_get(a, at) + ref_get(pw, AT(at.i[0] % n, r1, r2, at.i[2])) + ref_get(ph, AT(at.i[0] / n, r1, r2, at.i[2]));
        }
    }
}

TEST(windows) {
    for (int k = 0; k < 4; k++) {
        const int64_t        image[4] = {5, 9 + k, 7, 1}, parts[4] = {5, 4, 4, 6}, rel[4] = {6, 2 * 5 - 1, 1, 1};
        const int64_t        a4[4] = {16, 6, 3, 1}, p4[4] = {4, 3, 2, 3};
        struct drive         d = drive_begin();
        struct ggml_tensor * a  = drive_tensor(&d, GGML_TYPE_F32, a4, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * pw = drive_tensor(&d, GGML_TYPE_F32, p4, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * ph = drive_tensor(&d, GGML_TYPE_F32, p4, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * nodes[] = {
            ggml_win_part(d.ctx, drive_tensor(&d, GGML_TYPE_F32, image, k % 2 ? DRIVE_SLICED : DRIVE_PLAIN, -1, 1), 4),
            ggml_win_unpart(d.ctx, drive_tensor(&d, GGML_TYPE_F32, parts, DRIVE_PLAIN, -1, 1), 9 + k % 4, 7, 4),
            ggml_get_rel_pos(d.ctx, drive_tensor(&d, GGML_TYPE_F16, rel, DRIVE_PLAIN, -1, 1), 5, 5),
            ggml_add_rel_pos(d.ctx, a, pw, ph), ggml_add_rel_pos_inplace(d.ctx, a, pw, ph)};
        for (int i = 0; i < 5; i++) {
            drive_place(&d, nodes[i], DRIVE_PLAIN);
            drive_check(&d, nodes[i], exact_window, "");
        }
        drive_end(&d);
    }
}
