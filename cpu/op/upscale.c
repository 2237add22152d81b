/* SPDX-License-Identifier: MIT
 *
 * UPSCALE: images resampled along dimensions 0 and 1 by nearest, bilinear (with or without antialiasing) or bicubic
 * (a = -0.75) weights, and along 2 and 3 by the nearest. F32, F16 and BF16 of any strides.
 *
 * All filters are products of one filter for each axis, so that an output row is made from a list of weighted source
 * positions ("taps") for its columns, made once, and one for the row. Coordinates are computed in F32 as clients of ggml
 * know them: they decide which pixels are taken. Absolute error: 4e-6 of the greatest pixel.
 */
#include "op.h"

struct axis {
    int64_t source; /* extent */
    float   factor; /* result/source */
    float   offset; /* 0.5 when pixels are areas, 0 when corners are aligned */
    int     mode;
    bool    antialias;
    int     taps;
};

/* One weighted position. */
struct tap {
    int32_t at;
    float   weight;
};

/* Half the width of the antialiasing filter in source pixels, at least one pixel. */
static float support(const struct axis * a) {
    return fmaxf(1.0f, 1.0f / a->factor);
}

static struct axis make_axis(const struct ggml_tensor * node, int d) {
    const int32_t flags = op_i32(node, 0);
    const int64_t from = node->src[0]->ne[d], to = node->ne[d];
    struct axis   a    = {from, (float) to / (float) from, 0.5f, flags & 0xFF, (flags & GGML_SCALE_FLAG_ANTIALIAS) != 0, 1};
    if (flags & GGML_SCALE_FLAG_ALIGN_CORNERS) {
        a.offset = 0.0f;
        if (d < 2 && to > 1 && from > 1) {
            a.factor = (float) (to - 1) / (float) (from - 1);
        }
    }
    a.antialias = a.antialias && a.mode == GGML_SCALE_MODE_BILINEAR;
    if (a.mode == GGML_SCALE_MODE_BICUBIC) {
        a.taps = 4;
    } else if (a.mode == GGML_SCALE_MODE_BILINEAR) {
        a.taps = a.antialias ? (int) ceilf(2.0f * support(&a)) + 2 : 2;
    }
    return a;
}

static int64_t nearest(const struct axis * a, int64_t i) {
    return MIN((int64_t) ((float) i / a->factor), a->source - 1);
}

static int32_t inside(const struct axis * a, int64_t i) {
    return (int32_t) MAX(0, MIN(i, a->source - 1));
}

static float between_0_1(float x) {
    return fmaxf(0.0f, fminf(x, 1.0f));
}

/* Keys's cubic convolution at distance x, 0 <= x <= 2. */
static float cubic(float x) {
    const float c = -0.75f;
    return x <= 1.0f ? ((c + 2.0f) * x - (c + 3.0f)) * x * x + 1.0f : ((c * x - 5.0f * c) * x + 8.0f * c) * x - 4.0f * c;
}

/* A triangle as wide as the result's pixels are in the source; weights add up to 1. */
static void antialias_taps(const struct axis * a, int64_t i, struct tap * taps) {
    const float   s     = support(a);
    const float   x     = ((float) i + a->offset) / a->factor;
    const int64_t begin = MAX((int64_t) (x - s + a->offset), 0);
    const int64_t end   = MIN((int64_t) (x + s + a->offset), a->source);
    float         sum   = 0.0f;
    for (int k = 0; k < a->taps; k++) {
        const int64_t at = begin + k;
        taps[k].at       = inside(a, at);
        taps[k].weight   = at < end ? fmaxf(0.0f, 1.0f - fabsf(((float) at - x + a->offset) / s)) : 0.0f;
        sum += taps[k].weight;
    }
    for (int k = 0; k < a->taps && sum > 0.0f; k++) {
        taps[k].weight /= sum;
    }
}

static void fill_taps(const struct axis * a, int64_t i, struct tap * taps) {
    if (a->mode == GGML_SCALE_MODE_NEAREST) {
        taps[0] = (struct tap){(int32_t) nearest(a, i), 1.0f};
        return;
    }
    if (a->antialias) {
        antialias_taps(a, i, taps);
        return;
    }
    const float   x    = ((float) i + a->offset) / a->factor - a->offset;
    const int64_t base = (int64_t) floorf(x);
    if (a->mode == GGML_SCALE_MODE_BILINEAR) {
        const int32_t first = inside(a, base);
        const float   part  = between_0_1(x - (float) first);
        taps[0]             = (struct tap){first, 1.0f - part};
        taps[1]             = (struct tap){inside(a, base + 1), part};
        return;
    }
    const float part = x - (float) base;
    for (int k = 0; k < 4; k++) {
        taps[k] = (struct tap){inside(a, base + k - 1), cubic(fabsf(part - (float) (k - 1)))};
    }
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a    = node->src[0];
    const int32_t              mode = op_i32(node, 0) & 0xFF;
    return a != NULL && op_is_float(a->type) && op_is_float(node->type) && mode < GGML_SCALE_MODE_COUNT &&
           (op_is_empty(node) || !op_is_empty(a)) && a->ne[0] <= INT32_MAX && a->ne[1] <= INT32_MAX;
}

/* Taps of the columns and of a row, then a source row and a result row. */
static size_t tap_bytes(const struct ggml_tensor * node, const struct axis * x, const struct axis * y) {
    const size_t n = (size_t) node->ne[0] * (size_t) x->taps + (size_t) y->taps;
    return (n * sizeof(struct tap) + 63) & ~(size_t) 63;
}

OP_PREPARE(prepare) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    const struct ggml_tensor * node = nodes[0];
    const int64_t              ne0  = MAX(node->ne[0], node->src[0]->ne[0]);
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct axis x = make_axis(node, 0), y = make_axis(node, 1);
    need->worker_size = tap_bytes(node, &x, &y) + op_scratch_bytes(2, ne0);
    op_limit_workers(need, ggml_nelements(node) * x.taps * y.taps, OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

static void add_row(int64_t n, float * out, const struct tap * columns, int taps, const float * in, float weight) {
    for (int64_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int k = 0; k < taps; k++) {
            sum += in[columns[i * taps + k].at] * columns[i * taps + k].weight;
        }
        out[i] += weight * sum;
    }
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    const int64_t              ne0  = node->ne[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct axis x = make_axis(node, 0), y = make_axis(node, 1), z = make_axis(node, 2), w = make_axis(node, 3);
    struct tap *      columns = task->worker_memory;
    struct tap *      rows    = columns + ne0 * x.taps;
    float *           in      = (float *) (void *) ((char *) task->worker_memory + tap_bytes(node, &x, &y));
    float *           out     = in + op_scratch_floats(MAX(ne0, a->ne[0]));
    for (int64_t i = 0; i < ne0; i++) {
        fill_taps(&x, i, columns + i * x.taps);
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        fill_taps(&y, i.i1, rows);
        cpu_kernels.vec.fill(ne0, out, 0.0f);
        for (int k = 0; k < y.taps; k++) {
            const struct op_index at = {rows[k].at, nearest(&z, i.i2), nearest(&w, i.i3)};
            if (rows[k].weight != 0.0f) {
                add_row(ne0, out, columns, x.taps, op_load_row(a, at, in), rows[k].weight);
            }
        }
        op_store_row(node, i, out);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(upscale, UPSCALE, .supports = supports, .prepare = prepare, .task = run);
