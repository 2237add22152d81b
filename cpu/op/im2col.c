/* SPDX-License-Identifier: MIT
 *
 * IM2COL (1-D and 2-D), IM2COL_3D, IM2COL_BACK, COL2IM_1D: images as rows of patches, and back. Data F32, F16 or BF16 of any
 * strides, 64-bit offsets throughout. A row of the result is one patch: [channels, depth, height, width of the kernel].
 */
#include "op.h"

/* One description for 1, 2 and 3 dimensions: index 0 is width, 1 height, 2 depth. */
struct patches {
    int64_t kernel[3], data[3], out[3];
    int64_t stride[3], pad[3], dilation[3];
    int64_t channels, batch;
    int64_t nb[3]; /* strides of the data along width, height, depth */
    int64_t nb_channel, nb_batch;
};

static void read_params(struct patches * p, const struct ggml_tensor * node, int dims) {
    for (int d = 0; d < 3; d++) {
        p->stride[d]   = d < dims ? op_i32(node, d) : 1;
        p->pad[d]      = d < dims ? op_i32(node, dims + d) : 0;
        p->dilation[d] = d < dims ? op_i32(node, 2 * dims + d) : 1;
        p->kernel[d] = p->data[d] = p->out[d] = 1;
        p->nb[d]                  = 0;
    }
}

/* kernel: its shape alone. data: the image. out: the tensor of patches. */
static struct patches describe_2d(const struct ggml_tensor * node, const struct ggml_tensor * kernel, const struct ggml_tensor * data,
                                  const struct ggml_tensor * out) {
    const int      dims = op_i32(node, 6) == 1 ? 2 : 1;
    struct patches p;
    read_params(&p, node, 2);
    for (int d = 0; d < dims; d++) {
        p.kernel[d] = kernel->ne[d];
        p.data[d]   = data->ne[d];
        p.out[d]    = out->ne[d + 1];
        p.nb[d]     = (int64_t) data->nb[d];
    }
    if (dims == 1) {
        p.stride[1] = p.dilation[1] = 1;
        p.pad[1]                    = 0;
    }
    p.channels   = data->ne[dims];
    p.batch      = data->ne[dims + 1];
    p.nb_channel = (int64_t) data->nb[dims];
    p.nb_batch   = (int64_t) data->nb[dims + 1];
    return p;
}

static struct patches describe_3d(const struct ggml_tensor * node) {
    const struct ggml_tensor * kernel = node->src[0];
    const struct ggml_tensor * data   = node->src[1];
    struct patches             p;
    read_params(&p, node, 3);
    p.channels   = op_i32(node, 9);
    p.batch      = p.channels > 0 ? data->ne[3] / p.channels : 0;
    p.nb_channel = (int64_t) data->nb[3];
    p.nb_batch   = (int64_t) data->nb[3] * p.channels;
    for (int d = 0; d < 3; d++) {
        p.kernel[d] = kernel->ne[d];
        p.data[d]   = data->ne[d];
        p.nb[d]     = (int64_t) data->nb[d];
    }
    p.out[0] = node->ne[1];
    p.out[1] = node->ne[2];
    p.out[2] = p.batch > 0 ? node->ne[3] / p.batch : 0;
    return p;
}

static int64_t patch_length(const struct patches * p) {
    return p->channels * p->kernel[0] * p->kernel[1] * p->kernel[2];
}

static bool valid(const struct patches * p, const struct ggml_tensor * out) {
    for (int d = 0; d < 3; d++) {
        if (p->stride[d] <= 0 || p->dilation[d] <= 0 || p->pad[d] < 0) {
            return false;
        }
    }
    return p->channels > 0 && patch_length(p) == out->ne[0] &&
           p->batch * p->out[0] * p->out[1] * p->out[2] == out->ne[1] * out->ne[2] * out->ne[3];
}

/* Taps [*begin, *end) of n at positions first + tap*step that lie inside of 0 .. size - 1. */
static void taps_inside(int64_t first, int64_t step, int64_t n, int64_t size, int64_t * begin, int64_t * end) {
    *begin = first >= 0 ? 0 : MIN(n, (-first + step - 1) / step);
    *end   = first >= size ? *begin : MAX(*begin, MIN(n, (size - 1 - first) / step + 1));
}

/* One kernel row of a patch: p->kernel[0] values from the data row at `row`, beginning at column x. */
static void patch_row(const struct patches * p, enum ggml_type type, const char * row, int64_t x, float * y, float * scratch) {
    const int64_t n = p->kernel[0];
    int64_t       begin, end;
    taps_inside(x, p->dilation[0], n, p->data[0], &begin, &end);
    for (int64_t k = 0; k < begin; k++) {
        y[k] = 0.0f;
    }
    if (end > begin) {
        const int64_t step = p->nb[0] * p->dilation[0];
        const float * v    = op_load(type, row + x * p->nb[0] + begin * step, (size_t) step, end - begin, scratch);
        memcpy(y + begin, v, (size_t) (end - begin) * sizeof(float));
    }
    for (int64_t k = end; k < n; k++) {
        y[k] = 0.0f;
    }
}

/* The patch of output place at[3] in image n. */
static void make_patch(const struct patches * p, const struct ggml_tensor * data, int64_t n, const int64_t at[3], float * y,
                       float * scratch) {
    int64_t first[3];
    for (int d = 0; d < 3; d++) {
        first[d] = at[d] * p->stride[d] - p->pad[d];
    }
    for (int64_t c = 0; c < p->channels; c++) {
        const char * image = (const char *) data->data + n * p->nb_batch + c * p->nb_channel;
        for (int64_t kz = 0; kz < p->kernel[2]; kz++) {
            const int64_t iz = first[2] + kz * p->dilation[2];
            for (int64_t ky = 0; ky < p->kernel[1]; ky++, y += p->kernel[0]) {
                const int64_t iy = first[1] + ky * p->dilation[1];
                if (iz < 0 || iz >= p->data[2] || iy < 0 || iy >= p->data[1]) {
                    cpu_kernels.vec.fill(p->kernel[0], y, 0.0f);
                } else {
                    patch_row(p, data->type, image + iz * p->nb[2] + iy * p->nb[1], first[0], y, scratch);
                }
            }
        }
    }
}

static void run_patches(const struct patches * p, const struct ggml_tensor * node, const struct ggml_ext_task * task) {
    const int64_t length = node->ne[0];
    float *       row    = op_scratch(task, 0, length);
    float *       taps   = op_scratch(task, 1, length);
    if (op_is_empty(node)) {
        return;
    }
    const struct op_range share = op_share(task, ggml_nrows(node));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i     = op_row_index(node, r);
        const int64_t         at[3] = {r % p->out[0], r / p->out[0] % p->out[1], r / p->out[0] / p->out[1] % p->out[2]};
        float *               y     = op_target_row(node, i, row);
        make_patch(p, node->src[1], r / p->out[0] / p->out[1] / p->out[2], at, y, taps);
        op_store_row(node, i, y);
    }
}

OP_PREPARE(prepare) {
    need->worker_size = op_scratch_bytes(2, nodes[0]->ne[0]);
    return op_prepare_light(user_data, backend, nodes, n, plan, need);
}

static bool types_fit(const struct ggml_tensor * node) {
    return node->src[0] != NULL && node->src[1] != NULL && op_is_float(node->type) && op_is_float(node->src[1]->type);
}

OP_SUPPORTS(supports_2d) {
    (void) user_data, (void) device;
    if (!types_fit(node)) {
        return false;
    }
    const struct patches p = describe_2d(node, node->src[0], node->src[1], node);
    return valid(&p, node);
}

OP_TASK(run_2d) {
    (void) user_data, (void) plan, (void) n;
    const struct patches p = describe_2d(nodes[0], nodes[0]->src[0], nodes[0]->src[1], nodes[0]);
    run_patches(&p, nodes[0], task);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(im2col, IM2COL, .supports = supports_2d, .prepare = prepare, .task = run_2d);

OP_SUPPORTS(supports_3d) {
    (void) user_data, (void) device;
    if (!types_fit(node)) {
        return false;
    }
    const struct patches p = describe_3d(node);
    return valid(&p, node);
}

OP_TASK(run_3d) {
    (void) user_data, (void) plan, (void) n;
    const struct patches p = describe_3d(nodes[0]);
    run_patches(&p, nodes[0], task);
    return GGML_STATUS_SUCCESS;
}

CPU_OP(im2col_3d, IM2COL_3D, .supports = supports_3d, .prepare = prepare, .task = run_3d);

/* ---- IM2COL_BACK: each pixel sums the places that it went to ---- */

/* Result: the image. Source 0: gradients of the patches; 1: the kernel. */
static struct patches describe_back(const struct ggml_tensor * node) {
    return describe_2d(node, node->src[1], node, node->src[0]);
}

OP_SUPPORTS(supports_back) {
    (void) user_data, (void) device;
    if (node->src[0] == NULL || node->src[1] == NULL || !op_is(node->src[0], GGML_TYPE_F32) || !op_row_dense(node->src[0]) ||
        !op_is_f32_dense(node)) {
        return false;
    }
    const struct patches p = describe_back(node);
    return valid(&p, node->src[0]);
}

/* Output coordinate whose tap k falls on i; -1 when there is none. */
static int64_t place_of(const struct patches * p, int d, int64_t i, int64_t k) {
    const int64_t x = i + p->pad[d] - k * p->dilation[d];
    return x < 0 || x % p->stride[d] != 0 || x / p->stride[d] >= p->out[d] ? -1 : x / p->stride[d];
}

static float gather_gradient(const struct patches * p, const struct ggml_tensor * dy, int64_t n, int64_t c, int64_t iy, int64_t ix) {
    float sum = 0.0f;
    for (int64_t ky = 0; ky < p->kernel[1]; ky++) {
        const int64_t oy = place_of(p, 1, iy, ky);
        for (int64_t kx = 0; kx < p->kernel[0] && oy >= 0; kx++) {
            const int64_t ox = place_of(p, 0, ix, kx);
            if (ox >= 0) {
                const int64_t         r = (n * p->out[1] + oy) * p->out[0] + ox;
                const struct op_index i = op_row_index(dy, r);
                sum += ((const float *) op_row_of(dy, i))[(c * p->kernel[1] + ky) * p->kernel[0] + kx];
            }
        }
    }
    return sum;
}

OP_TASK(run_back) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct patches       p    = describe_back(node);
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, p.batch * p.channels * p.data[1]);
    for (int64_t r = share.begin; r < share.end; r++) {
        const int64_t iy = r % p.data[1], c = r / p.data[1] % p.channels, image = r / p.data[1] / p.channels;
        float *       y = (float *) (void *) ((char *) node->data + image * p.nb_batch + c * p.nb_channel + iy * p.nb[1]);
        for (int64_t ix = 0; ix < p.data[0]; ix++) {
            y[ix] = gather_gradient(&p, node->src[0], image, c, iy, ix);
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(im2col_back, IM2COL_BACK, .supports = supports_back, .prepare = op_prepare_heavy, .task = run_back);

/* ---- COL2IM_1D: out[t, oc] = sum of col[oc*K + k, t_in] over t_in*s0 + k == t + p0 ---- */

OP_SUPPORTS(supports_col2im) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a  = node->src[0];
    const int64_t              s0 = op_i32(node, 0), oc = op_i32(node, 1), p0 = op_i32(node, 2);
    return a != NULL && op_is_float(a->type) && a->type == node->type && ggml_is_contiguous(node) && s0 > 0 && oc > 0 && p0 >= 0 &&
           a->ne[0] % oc == 0 && a->ne[2] == 1 && a->ne[3] == 1 && node->ne[1] == oc && node->ne[2] == 1 && node->ne[3] == 1 &&
           node->ne[0] <= (a->ne[1] - 1) * s0 + a->ne[0] / oc;
}

OP_TASK(run_col2im) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct ggml_tensor * a    = node->src[0];
    const int64_t              s0 = op_i32(node, 0), oc = op_i32(node, 1), p0 = op_i32(node, 2), k_size = a->ne[0] / oc;
    const struct op_range      share = op_share(task, ggml_nelements(node));
    for (int64_t e = share.begin; e < share.end; e++) {
        const int64_t c = e / node->ne[0], t = e % node->ne[0] + p0;
        const int64_t first = MAX(0, (t - k_size + s0) / s0), last = MIN(t / s0, a->ne[1] - 1);
        float         sum   = 0.0f;
        for (int64_t t_in = first; t_in <= last; t_in++) {
            const int64_t k = t - t_in * s0;
            if (k < k_size) {
                sum += op_get(a->type, (const char *) a->data + (c * k_size + k) * (int64_t) a->nb[0] + t_in * (int64_t) a->nb[1]);
            }
        }
        op_store(node->type, (char *) node->data + (size_t) e * node->nb[0], node->nb[0], 1, &sum);
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(col2im_1d, COL2IM_1D, .supports = supports_col2im, .prepare = op_prepare_heavy, .task = run_col2im);
