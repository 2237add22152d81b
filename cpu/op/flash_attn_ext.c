/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_EXT: softmax(q k^T * scale, mask, sinks) v in one pass over blocks of keys, in F32 throughout.
 *
 * Many rows of queries are taken by tiles of 16 (flash_attn_tiles.c), few row by row (flash_attn_rows.c). Heads that share keys
 * are taken together. Keys that the mask hides are passed over by blocks, and rows that see no key at all are zero. How
 * work is cut depends on shapes alone, and sums have one order: results do not depend on the number of threads.
 *
 * Against exact arithmetic the error is that of F32 sums: under 1e-6 * (4 + max |score|) * max |v|.
 */
#include "flash_attn.h"

#define FEW_ROWS 8 /* rows of a unit that go row by row: more fill a tile well enough */

#define PER_LN_2 1.44269504088896340736f

static int64_t least_common_multiple(int64_t a, int64_t b) {
    int64_t x = a, y = b;
    while (y != 0) {
        const int64_t rest = x % y;
        x                  = y;
        y                  = rest;
    }
    return a / x * b;
}

struct flash_attn flash_attn_of(const struct ggml_tensor * node) {
    struct flash_attn a = { .q = node->src[0], .k = node->src[1], .v = node->src[2], .mask = node->src[3], .sinks = node->src[4] };
    const float       cap = fabsf(op_f32(node, 2)); /* tanh is odd */
    a.dst                 = node;
    a.d                   = a.k->ne[0];
    a.dv                  = a.v->ne[0];
    a.n                   = a.q->ne[1];
    a.m                   = a.k->ne[1];
    a.heads               = a.q->ne[2];
    a.units               = least_common_multiple(a.k->ne[2], a.v->ne[2]);
    a.batch               = a.q->ne[3];
    a.group               = a.heads / a.units;
    a.rows                = a.group * a.n;
    a.scale               = cap > 0.0f ? op_f32(node, 0) / cap : op_f32(node, 0) * PER_LN_2;
    a.cap                 = cap * PER_LN_2;
    a.max_bias            = op_f32(node, 1);
    return a;
}

static bool readable(const struct ggml_tensor * t, const struct ggml_tensor * q) {
    return op_can_load(t) && t->nb[0] == ggml_type_size(t->type) && (t->type != GGML_TYPE_F32 || t->nb[1] % sizeof(float) == 0) &&
           t->ne[2] > 0 && q->ne[2] % t->ne[2] == 0 && t->ne[3] > 0 && q->ne[3] % t->ne[3] == 0;
}

static bool divides(const struct ggml_tensor * t, const struct ggml_tensor * q, int dim) {
    return t->ne[dim] > 0 && q->ne[dim] % t->ne[dim] == 0;
}

/* A node may have been changed by hand since its builder checked it. */
static bool extents_fit(const struct ggml_tensor * node) {
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3];
    return q != NULL && k != NULL && v != NULL && divides(k, q, 2) && divides(k, q, 3) && divides(v, q, 2) &&
           divides(v, q, 3) && k->ne[0] > 0 && node->ne[0] == v->ne[0] && node->ne[1] == q->ne[2] &&
           node->ne[2] == q->ne[1] && node->ne[3] == q->ne[3] && (mask == NULL || (mask->ne[2] > 0 && mask->ne[3] > 0)) &&
           (node->src[4] == NULL || node->src[4]->ne[0] >= q->ne[2]);
}

OP_SUPPORTS(supports) {
    (void) user_data;
    (void) device;
    const struct ggml_tensor *q = node->src[0], *k = node->src[1], *v = node->src[2], *mask = node->src[3];
    return extents_fit(node) && op_is(node, GGML_TYPE_F32) && op_row_dense(node) && op_is_f32_dense(q) && readable(k, q) && readable(v, q) &&
           k->ne[1] == v->ne[1] && q->ne[0] == k->ne[0] &&
           (mask == NULL || (op_is(mask, GGML_TYPE_F16) && op_row_dense(mask) && mask->ne[0] >= k->ne[1] && mask->ne[1] >= q->ne[1])) &&
           (node->src[4] == NULL || op_is_f32_dense(node->src[4]));
}

/* ---- shared by both ways ---- */

struct flash_attn_row flash_attn_row_of(const struct flash_attn * a, int64_t batch, int64_t unit, int64_t r) {
    const int64_t         query = r / a->group;
    struct flash_attn_row row   = { .head = unit * a->group + r % a->group };
    row.q                       = op_row(a->q, query, row.head, batch);
    row.dst                     = op_row(a->dst, row.head, query, batch);
    if (a->mask != NULL) {
        row.mask = op_row(a->mask, query, row.head % a->mask->ne[2], batch % a->mask->ne[3]);
    }
    return row;
}

/* ALiBi (Press et al. 2021): slopes of heads fall geometrically; 1 without a bias. */
float flash_attn_slope(const struct flash_attn * a, int64_t head) {
    if (a->max_bias <= 0.0f) {
        return PER_LN_2;
    }
    int64_t power = 1; /* greatest power of two up to the number of heads */
    while (2 * power <= a->heads) {
        power *= 2;
    }
    const float bias     = head < power ? a->max_bias : a->max_bias / 2.0f;
    const float exponent = (float) (head < power ? head + 1 : 2 * (head - power) + 1);
    return powf(exp2f(-bias / (float) power), exponent) * PER_LN_2;
}

const float * flash_attn_floats(const struct ggml_tensor * t, const char * at, int64_t n, float * room, size_t step,
                                size_t * stride) {
    if (t->type == GGML_TYPE_F32) {
        *stride = t->nb[1] / sizeof(float);
        return (const float *) (const void *) at;
    }
    const cpu_panel_f32_fn decode = t->type < GGML_TYPE_COUNT ? cpu_kernels.gemm.panel_f32[t->type] : NULL;
    for (int64_t j = 0; j < n; j++) {
        const void * row = at + j * (int64_t) t->nb[1];
        if (decode != NULL) {
            decode(t->ne[0], row, room + (size_t) j * step);
        } else {
            op_load(t->type, row, t->nb[0], t->ne[0], room + (size_t) j * step);
        }
    }
    *stride = step;
    return room;
}

void flash_attn_prefetch(const void * at, size_t size, size_t stride, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        for (size_t i = 0; i < size; i += 64) {
            __builtin_prefetch((const char *) at + (size_t) j * stride + i, 0, 2);
        }
    }
}

float flash_attn_finish(const struct flash_attn * a, int64_t head, float max, float sum) {
    float shrink = 1.0f;
    if (a->sinks != NULL) {
        const float sink = ((const float *) a->sinks->data)[head] * PER_LN_2;
        const float top  = MAX(sink, max);
        const float base = top == -INFINITY ? 0.0f : top;
        shrink           = exp2f(max - base);
        sum              = sum * shrink + exp2f(sink - base);
    }
    return sum == 0.0f ? 0.0f : shrink / sum; /* a sum that is no number stays so */
}

bool flash_attn_all(const ggml_fp16_t * row, int64_t n, ggml_fp16_t value) {
    ggml_fp16_t different = 0;
    for (int64_t j = 0; j < n; j++) {
        different |= row[j] ^ value;
    }
    return different == 0;
}

/* ---- the kernel ---- */

static bool has_few_rows(const struct flash_attn * a) {
    return a->rows <= FEW_ROWS;
}

OP_PREPARE(prepare) {
    (void) user_data;
    (void) backend;
    (void) n;
    (void) plan;
    const struct flash_attn a = flash_attn_of(nodes[0]);
    if (has_few_rows(&a)) {
        flash_attn_prepare_rows(&a, need);
    } else {
        flash_attn_prepare_tiles(&a, need);
    }
    return GGML_STATUS_SUCCESS;
}

OP_TASK(run) {
    (void) user_data;
    (void) plan;
    (void) n;
    const struct flash_attn a = flash_attn_of(nodes[0]);
    return has_few_rows(&a) ? flash_attn_run_rows(&a, task) : flash_attn_run_tiles(&a, task);
}

CPU_OP(flash_attn_ext, FLASH_ATTN_EXT, .supports = supports, .prepare = prepare, .task = run);
