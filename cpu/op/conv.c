/* SPDX-License-Identifier: MIT
 *
 * CONV_2D, CONV_3D, CONV_2D_DW, CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D without patches in memory. Kernels and data F32, F16 or
 * BF16 of any strides, sums in F32: relative error against the sum of magnitudes 1e-7 times the number of terms, at most.
 *
 * A worker makes whole rows of the result. For each tap of the kernel the row of the data that meets it is multiplied by
 * the tap and added: with stride 1 that is a vector operation over the row.
 */
#include "op.h"

/* Index 0 is width, 1 height, 2 depth. */
struct conv {
    int64_t kernel[3], data[3], out[3];
    int64_t stride[3], pad[3], dilation[3];
    int64_t channels;                           /* that one result channel sums */
    int64_t out_channels, batch;
    int64_t kernel_nb[3], kernel_in, kernel_out; /* strides of the kernel: taps, input channel, output channel */
    int64_t data_nb[3], data_channel, data_batch;
    int64_t data_own;                           /* stride of the data by output channel (depth-wise), else 0 */
    int64_t out_nb[3], out_channel, out_batch;
};

static void set_axes(struct conv * c, const struct ggml_tensor * node, int dims) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * data   = node->src[1];
    for (int d = 0; d < 3; d++) {
        const bool has    = d < dims;
        c->stride[d]      = has ? op_i32(node, d) : 1;
        c->pad[d]         = has ? op_i32(node, dims + d) : 0;
        c->dilation[d]    = has ? op_i32(node, 2 * dims + d) : 1;
        c->kernel[d]      = has ? kernel->ne[d] : 1;
        c->data[d]        = has ? data->ne[d] : 1;
        c->out[d]         = has ? node->ne[d] : 1;
        c->kernel_nb[d]   = has ? (int64_t) kernel->nb[d] : 0;
        c->data_nb[d]     = has ? (int64_t) data->nb[d] : 0;
        c->out_nb[d]      = has ? (int64_t) node->nb[d] : 0;
    }
}

/* Kernel [kw, kh, in, out], data [w, h, in, n], result [ow, oh, out, n]. */
static struct conv describe_2d(const struct ggml_tensor * node) {
    struct conv c;
    memset(&c, 0, sizeof(c));
    set_axes(&c, node, 2);
    c.channels     = node->src[0]->ne[2];
    c.out_channels = node->src[0]->ne[3];
    c.batch        = node->src[1]->ne[3];
    c.kernel_in    = (int64_t) node->src[0]->nb[2];
    c.kernel_out   = (int64_t) node->src[0]->nb[3];
    c.data_channel = (int64_t) node->src[1]->nb[2];
    c.data_batch   = (int64_t) node->src[1]->nb[3];
    c.out_channel  = (int64_t) node->nb[2];
    c.out_batch    = (int64_t) node->nb[3];
    return c;
}

/* Kernel [kw, kh, 1, channels]: each channel has its own and sums nothing else. */
static struct conv describe_dw(const struct ggml_tensor * node) {
    struct conv c = describe_2d(node);
    c.channels    = 1;
    c.data_own    = c.data_channel;
    return c;
}

/* Kernel [kw, kh, kd, in*out], data [w, h, d, in*n], result [ow, oh, od, out*n]. */
static struct conv describe_3d(const struct ggml_tensor * node) {
    struct conv c;
    memset(&c, 0, sizeof(c));
    set_axes(&c, node, 3);
    c.channels     = op_i32(node, 9);
    c.batch        = op_i32(node, 10);
    c.out_channels = op_i32(node, 11);
    c.kernel_in    = (int64_t) node->src[0]->nb[3];
    c.kernel_out   = c.kernel_in * c.channels;
    c.data_channel = (int64_t) node->src[1]->nb[3];
    c.data_batch   = c.data_channel * c.channels;
    c.out_channel  = (int64_t) node->nb[3];
    c.out_batch    = c.out_channel * c.out_channels;
    return c;
}

typedef struct conv (*describe_fn)(const struct ggml_tensor * node);

struct conv_kind {
    describe_fn describe;
    bool (*shapes_fit)(const struct ggml_tensor * node, const struct conv * c);
};

static bool fits_2d(const struct ggml_tensor * node, const struct conv * c) {
    return c->channels == node->src[1]->ne[2] && node->ne[2] == c->out_channels && node->ne[3] == c->batch;
}

static bool fits_dw(const struct ggml_tensor * node, const struct conv * c) {
    return node->src[0]->ne[2] == 1 && c->out_channels == node->src[1]->ne[2] && node->ne[2] == c->out_channels && node->ne[3] == c->batch;
}

static bool fits_3d(const struct ggml_tensor * node, const struct conv * c) {
    return c->channels > 0 && c->batch >= 0 && c->out_channels > 0 && node->src[0]->ne[3] == c->channels * c->out_channels &&
           node->src[1]->ne[3] == c->channels * c->batch && node->ne[3] == c->out_channels * c->batch;
}

static const struct conv_kind conv_2d = {describe_2d, fits_2d}, conv_2d_dw = {describe_dw, fits_dw}, conv_3d = {describe_3d, fits_3d};

OP_SUPPORTS(supports) {
    (void) device;
    const struct conv_kind * kind = user_data;
    if (node->src[0] == NULL || node->src[1] == NULL || !op_is_float(node->src[0]->type) || !op_is_float(node->src[1]->type) ||
        !op_is_float(node->type)) {
        return false;
    }
    const struct conv c = kind->describe(node);
    for (int d = 0; d < 3; d++) {
        if (c.stride[d] <= 0 || c.dilation[d] <= 0 || c.pad[d] < 0) {
            return false;
        }
    }
    return kind->shapes_fit(node, &c);
}

/* Scratch: a row of data and a row of the result. */
OP_PREPARE(prepare) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    const struct ggml_tensor * node = nodes[0];
    need->worker_size               = op_scratch_bytes(2, MAX(node->ne[0], node->src[1]->ne[0]));
    op_limit_workers(need, ggml_nelements(node) * MAX(1, node->src[0]->ne[0] * node->src[0]->ne[1]), OP_GRAIN_HEAVY);
    return GGML_STATUS_SUCCESS;
}

/* y[o] += weight*x[o*stride + shift] where that is inside of the row. */
static void add_tap(const struct conv * c, float * y, const float * x, int64_t shift, float weight) {
    const int64_t s     = c->stride[0];
    const int64_t begin = shift >= 0 ? 0 : MIN(c->out[0], (-shift + s - 1) / s);
    const int64_t end   = shift >= c->data[0] ? begin : MIN(c->out[0], (c->data[0] - 1 - shift) / s + 1);
    if (end <= begin) {
        return;
    }
    if (s == 1) {
        cpu_kernels.vec.mad(end - begin, y + begin, x + begin + shift, weight);
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        y[o] += weight * x[o * s + shift];
    }
}

/* Adds what one channel of the data gives to row (oy, oz) of the result. */
static void add_channel(const struct conv * c, const struct ggml_tensor * node, const char * kernel, const char * data, int64_t oy,
                        int64_t oz, float * y, float * scratch) {
    for (int64_t kz = 0; kz < c->kernel[2]; kz++) {
        const int64_t iz = oz * c->stride[2] + kz * c->dilation[2] - c->pad[2];
        for (int64_t ky = 0; ky < c->kernel[1]; ky++) {
            const int64_t iy = oy * c->stride[1] + ky * c->dilation[1] - c->pad[1];
            if (iz < 0 || iz >= c->data[2] || iy < 0 || iy >= c->data[1]) {
                continue;
            }
            const float * x = op_load(node->src[1]->type, data + iz * c->data_nb[2] + iy * c->data_nb[1], (size_t) c->data_nb[0],
                                      c->data[0], scratch);
            for (int64_t kx = 0; kx < c->kernel[0]; kx++) {
                const char * tap = kernel + kz * c->kernel_nb[2] + ky * c->kernel_nb[1] + kx * c->kernel_nb[0];
                add_tap(c, y, x, kx * c->dilation[0] - c->pad[0], op_get(node->src[0]->type, tap));
            }
        }
    }
}

OP_TASK(run) {
    (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct conv          c    = ((const struct conv_kind *) user_data)->describe(node);
    const int64_t              width = MAX(c.out[0], c.data[0]);
    float *                    in    = op_scratch(task, 0, width);
    float *                    y     = op_scratch(task, 1, width);
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, c.out[1] * c.out[2] * c.out_channels * c.batch);
    for (int64_t r = share.begin; r < share.end; r++) {
        const int64_t oy = r % c.out[1], oz = r / c.out[1] % c.out[2], plane = r / c.out[1] / c.out[2];
        const int64_t oc = plane % c.out_channels, image = plane / c.out_channels;
        char *        out = (char *) node->data + image * c.out_batch + oc * c.out_channel + oz * c.out_nb[2] + oy * c.out_nb[1];
        cpu_kernels.vec.fill(c.out[0], y, 0.0f);
        for (int64_t ic = 0; ic < c.channels; ic++) {
            const char * kernel = (const char *) node->src[0]->data + oc * c.kernel_out + ic * c.kernel_in;
            const char * data   = (const char *) node->src[1]->data + image * c.data_batch + ic * c.data_channel + oc * c.data_own;
            add_channel(&c, node, kernel, data, oy, oz, y, in);
        }
        op_store(node->type, out, (size_t) c.out_nb[0], c.out[0], y);
    }
    return GGML_STATUS_SUCCESS;
}

#define CONV(basename, constant)                                                                                  \
    CPU_OP(basename, constant, .user_data = (void *) &basename, .supports = supports, .prepare = prepare, .task = run)

CONV(conv_2d, CONV_2D);
CONV(conv_2d_dw, CONV_2D_DW);
CONV(conv_3d, CONV_3D);

/* ---- transposed: kernel [kw, kh, out, in] (1-D: [k, out, in]), every pixel of the data lays a scaled kernel ---- */

struct transposed {
    int64_t stride, width, height, kernel_w, kernel_h, in, out;
    int64_t kernel_x, kernel_y, kernel_out, kernel_in;
    int64_t data_x, data_y, data_in, data_batch;
};

static struct transposed describe_transposed(const struct ggml_tensor * node) {
    const struct ggml_tensor * k    = node->src[0];
    const struct ggml_tensor * data = node->src[1];
    const bool                 flat = node->op == GGML_OP_CONV_TRANSPOSE_1D;
    const struct transposed    t    = {
        .stride = op_i32(node, 0), .width = data->ne[0], .height = flat ? 1 : data->ne[1], .kernel_w = k->ne[0],
        .kernel_h = flat ? 1 : k->ne[1], .in = k->ne[flat ? 2 : 3], .out = k->ne[flat ? 1 : 2],
        .kernel_x = (int64_t) k->nb[0], .kernel_y = flat ? 0 : (int64_t) k->nb[1], .kernel_out = (int64_t) k->nb[flat ? 1 : 2],
        .kernel_in = (int64_t) k->nb[flat ? 2 : 3], .data_x = (int64_t) data->nb[0], .data_y = flat ? 0 : (int64_t) data->nb[1],
        .data_in = (int64_t) data->nb[flat ? 1 : 2], .data_batch = (int64_t) data->nb[flat ? 2 : 3],
    };
    return t;
}

OP_SUPPORTS(supports_transposed) {
    (void) user_data, (void) device;
    const struct ggml_tensor * data = node->src[1];
    if (node->src[0] == NULL || data == NULL || !op_is_float(node->src[0]->type) || !op_is_float(data->type) ||
        !op_is_float(node->type)) {
        return false;
    }
    const struct transposed t    = describe_transposed(node);
    const bool              flat = node->op == GGML_OP_CONV_TRANSPOSE_1D;
    if (t.stride <= 0 || t.in != data->ne[flat ? 1 : 2] || node->ne[0] != (t.width - 1) * t.stride + t.kernel_w) {
        return false;
    }
    if (flat) { /* padding and dilation are not known */
        return op_i32(node, 1) == 0 && op_i32(node, 2) == 1 && node->ne[1] == t.out && node->ne[2] == data->ne[2] && node->ne[3] == 1;
    }
    return node->ne[1] == (t.height - 1) * t.stride + t.kernel_h && node->ne[2] == t.out && node->ne[3] == data->ne[3];
}

OP_PREPARE(prepare_transposed) {
    need->worker_size = op_scratch_bytes(3, MAX(nodes[0]->ne[0], nodes[0]->src[0]->ne[0]));
    return op_prepare_heavy(user_data, backend, nodes, n, plan, need);
}

/* y[x*stride + k] += data[x]*kernel[k] */
static void lay_row(const struct transposed * t, float * y, const float * data, const float * kernel) {
    for (int64_t x = 0; x < t->width; x++) {
        float * at = y + x * t->stride;
        for (int64_t k = 0; k < t->kernel_w; k++) {
            at[k] += data[x] * kernel[k];
        }
    }
}

OP_TASK(run_transposed) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node  = nodes[0];
    const struct ggml_tensor * k     = node->src[0];
    const struct ggml_tensor * data  = node->src[1];
    const struct transposed    t     = describe_transposed(node);
    const int64_t              width = MAX(node->ne[0], k->ne[0]);
    const int64_t              rows  = node->op == GGML_OP_CONV_TRANSPOSE_1D ? 1 : node->ne[1];
    float *                    y     = op_scratch(task, 2, width);
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const int64_t oy = r % rows, oc = r / rows % t.out, image = r / rows / t.out;
        cpu_kernels.vec.fill(node->ne[0], y, 0.0f);
        for (int64_t iy = MAX(0, (oy - t.kernel_h + t.stride) / t.stride); iy <= oy / t.stride && iy < t.height; iy++) {
            const int64_t ky = oy - iy * t.stride;
            for (int64_t ic = 0; ic < t.in && ky < t.kernel_h; ic++) {
                const char * d = (const char *) data->data + image * t.data_batch + ic * t.data_in + iy * t.data_y;
                const char * w = (const char *) k->data + ic * t.kernel_in + oc * t.kernel_out + ky * t.kernel_y;
                lay_row(&t, y, op_load(data->type, d, (size_t) t.data_x, t.width, op_scratch(task, 0, width)),
                        op_load(k->type, w, (size_t) t.kernel_x, t.kernel_w, op_scratch(task, 1, width)));
            }
        }
        op_store_row(node, op_row_index(node, r), y);
    }
    return GGML_STATUS_SUCCESS;
}

#define TRANSPOSED(basename, constant)                                                          \
    CPU_OP(basename, constant, .supports = supports_transposed, .prepare = prepare_transposed, \
           .task = run_transposed)

TRANSPOSED(conv_transpose_1d, CONV_TRANSPOSE_1D);
TRANSPOSED(conv_transpose_2d, CONV_TRANSPOSE_2D);
