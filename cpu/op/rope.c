/* SPDX-License-Identifier: MIT
 *
 * ROPE and ROPE_BACK: rotary position embedding (Su et al. 2021), F32 and F16 (BF16 too), rows of any strides.
 *
 * Pair i of a row, i < n_dims/2, is turned by the angle position*w(i), w(i) = freq_base^(-2i/n_dims) divided by the
 * frequency factor of i. Pairs are adjacent elements (NORMAL) or elements n_dims/2 apart (NEOX and the multi-position
 * modes); VISION turns whole rows, n_dims apart. With several positions (mode & 8) a pair takes the one of its section:
 * time, height, width, extra. YaRN (Peng et al. 2023) blends w(i)*freq_scale and w(i) by a ramp over i, and multiplies
 * the result by attn_factor*(1 + 0.1*log(1/freq_scale)). All of this is linear in the position, so that a table of
 * (position channel, frequency in F64) is made once, and each position costs a sine and a cosine for each pair, shared by
 * all heads. Absolute error: 4e-7 times the length of the pair.
 */
#include <stdlib.h>

#include "op.h"

/* Parameter words, see ops.tsv. */
struct rope_params {
    int     n_dims, mode, n_ctx_orig, offset;
    int     sections[GGML_MROPE_SECTIONS];
    float   freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    bool    multi, vision, interleaved_sections, adjacent;
    int64_t pairs;
};

static struct rope_params read_params(const struct ggml_tensor * node) {
    struct rope_params p = {
        .n_dims = op_i32(node, 1), .mode = op_i32(node, 2), .n_ctx_orig = op_i32(node, 4), .freq_base = op_f32(node, 5),
        .freq_scale = op_f32(node, 6), .ext_factor = op_f32(node, 7), .attn_factor = op_f32(node, 8),
        .beta_fast = op_f32(node, 9), .beta_slow = op_f32(node, 10), .offset = op_i32(node, 15),
    };
    for (int i = 0; i < GGML_MROPE_SECTIONS; i++) {
        p.sections[i] = op_i32(node, 11 + i);
    }
    p.multi                = (p.mode & GGML_ROPE_TYPE_MROPE) != 0;
    p.vision               = p.mode == GGML_ROPE_TYPE_VISION;
    p.interleaved_sections = p.mode == GGML_ROPE_TYPE_IMROPE;
    p.adjacent             = p.mode == GGML_ROPE_TYPE_NORMAL;
    p.pairs                = p.vision ? node->ne[0] / 2 : p.n_dims / 2;
    return p;
}

static bool mode_known(int mode) {
    return mode == GGML_ROPE_TYPE_NORMAL || mode == GGML_ROPE_TYPE_NEOX || mode == GGML_ROPE_TYPE_MROPE ||
           mode == GGML_ROPE_TYPE_VISION || mode == GGML_ROPE_TYPE_IMROPE;
}

static bool sections_valid(const struct rope_params * p) {
    int64_t sum = 0;
    for (int i = 0; i < GGML_MROPE_SECTIONS; i++) {
        if (p->sections[i] < 0 || p->sections[i] > INT32_MAX / GGML_MROPE_SECTIONS) {
            return false; /* their sums are int */
        }
        sum += p->sections[i];
    }
    return sum > 0;
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a       = node->src[0];
    const struct ggml_tensor * pos     = node->src[1];
    const struct ggml_tensor * factors = node->src[2];
    if (a == NULL || pos == NULL || !op_is_float(a->type) || a->type != node->type || !ggml_are_same_shape(node, a) ||
        pos->type != GGML_TYPE_I32 || !op_row_dense(pos)) {
        return false;
    }
    const struct rope_params p = read_params(node);
    if (!mode_known(p.mode) || p.n_dims <= 0 || p.n_dims % 2 != 0 || p.offset < 0 || p.offset % 2 != 0 ||
        (int64_t) p.offset + p.n_dims > node->ne[0] || pos->ne[0] < node->ne[2] * (p.multi ? 4 : 1)) {
        return false;
    }
    if (p.multi && !sections_valid(&p)) {
        return false;
    }
    if (p.vision && (p.offset != 0 || node->ne[0] != 2 * (int64_t) p.n_dims)) {
        return false;
    }
    return factors == NULL || (op_is_f32_dense(factors) && factors->ne[0] >= p.n_dims / 2);
}

/* ---- the plan: what depends on parameters alone ---- */

struct rope_plan {
    int64_t   pairs;
    double *  frequency; /* for each pair: angle of one step of the position, before frequency factors */
    uint8_t * channel;   /* which of four positions it goes by */
    float     magnitude;
};

/* The position channel of pair `sector` within a cycle of the sections. */
static int channel_of(const struct rope_params * p, int sector) {
    const int * s = p->sections;
    if (p->interleaved_sections) {
        const int third = sector % 3;
        return sector < 3 * s[third] ? third : 3;
    }
    if (sector < s[0]) {
        return 0;
    }
    return sector < s[0] + s[1] ? 1 : sector < s[0] + s[1] + s[2] ? 2 : 3;
}

/* Exponents of the base: pair i has i, but VISION begins each section anew. */
static void fill_channels(const struct rope_params * p, struct rope_plan * plan) {
    const int * s        = p->sections;
    const int   cycle    = s[0] + s[1] + s[2] + s[3];
    const int   begin[4] = {0, s[0], s[0] + s[1], s[0] + s[1] + s[2]};
    int64_t     power[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < plan->pairs; i++) {
        const int sector = (int) (i % cycle);
        for (int k = 0; p->vision && k < 4; k++) {
            if (sector == begin[k]) { /* of empty sections that begin at one place, the first */
                power[k] = 0;
                break;
            }
        }
        const int c        = channel_of(p, sector);
        plan->channel[i]   = (uint8_t) c;
        plan->frequency[i] = (double) power[c];
        for (int k = 0; k < 4; k++) {
            power[k]++;
        }
    }
}

static void fill_plan(const struct rope_params * p, struct rope_plan * plan) {
    float corr[2] = {0.0f, 0.0f};
    ggml_rope_yarn_corr_dims(p->n_dims, p->n_ctx_orig, p->freq_base, p->beta_fast, p->beta_slow, corr);
    if (p->multi) {
        fill_channels(p, plan);
    }
    for (int64_t i = 0; i < plan->pairs; i++) {
        const double power = p->multi ? plan->frequency[i] : (double) i;
        const double w     = pow((double) p->freq_base, -2.0 * power / p->n_dims);
        double       blend = 0.0;
        if (p->ext_factor != 0.0f) {
            const double y = ((double) i - corr[0]) / fmax(0.001, (double) corr[1] - corr[0]);
            blend          = (1.0 - fmin(1.0, fmax(0.0, y))) * p->ext_factor;
        }
        plan->frequency[i] = w * (p->freq_scale * (1.0 - blend) + blend);
    }
    plan->magnitude = p->attn_factor;
    if (p->ext_factor != 0.0f) {
        plan->magnitude *= 1.0f + 0.1f * logf(1.0f / p->freq_scale);
    }
}

/* Worker memory: angles and frequencies (F64), then cosines, sines, and two rows. */
static size_t angle_bytes(int64_t pairs) {
    return ((size_t) pairs * sizeof(double) + 63) & ~(size_t) 63;
}

OP_PREPARE(prepare) {
    (void) user_data, (void) backend, (void) n;
    const struct ggml_tensor * node = nodes[0];
    const struct rope_params   p    = read_params(node);
    struct rope_plan *         r    = calloc(1, sizeof(*r) + (size_t) p.pairs * (sizeof(double) + 1));
    if (r == NULL) {
        return graft_fail(GGML_STATUS_ALLOC_FAILED, "ROPE: no memory for the frequencies of '%s'", node->name);
    }
    r->pairs     = p.pairs;
    r->frequency = (double *) (r + 1);
    r->channel   = (uint8_t *) (r->frequency + p.pairs);
    fill_plan(&p, r);
    *plan             = r;
    need->worker_size = 2 * angle_bytes(p.pairs) + op_scratch_bytes(4, node->ne[0]);
    op_limit_workers(need, ggml_nelements(node), OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

static void destroy(void * user_data, void * plan) {
    (void) user_data;
    free(plan);
}

/* ---- run ---- */

struct rope_work {
    const struct ggml_tensor * node;
    const struct rope_plan *   plan;
    struct rope_params         p;
    bool                       back;
    double *                   angle;
    double *                   frequency;
    float *                    cosine;
    float *                    sine;
    float *                    row[2];
};

static void divide_by_factors(struct rope_work * w) {
    const struct ggml_tensor * factors = w->node->src[2];
    const float *              f       = factors != NULL ? factors->data : NULL;
    for (int64_t i = 0; i < w->plan->pairs; i++) {
        /* VISION has more pairs than factors are promised: n_dims/2 of them */
        const bool has  = f != NULL && i < factors->ne[0];
        w->frequency[i] = has ? w->plan->frequency[i] / (double) f[i] : w->plan->frequency[i];
    }
}

static void turn_to_position(struct rope_work * w, int64_t i2) {
    const int32_t * pos   = w->node->src[1]->data;
    const int64_t   ne2   = w->node->ne[2];
    const int64_t   pairs = w->plan->pairs;
    for (int64_t i = 0; i < pairs; i++) {
        const int32_t at = w->p.multi ? pos[i2 + ne2 * w->plan->channel[i]] : pos[i2];
        w->angle[i]      = (double) at * w->frequency[i];
    }
    cpu_kernels.vec.sin_cos(pairs, w->sine, w->cosine, w->angle, w->plan->magnitude);
    if (w->back) { /* the inverse of a rotation is its transpose */
        cpu_kernels.vec.scale(pairs, w->sine, w->sine, -1.0f, 0.0f);
    }
}

static void rotate_row(const struct rope_work * w, struct op_index i) {
    const struct ggml_tensor * a     = w->node->src[0];
    const int64_t              ne0   = w->node->ne[0];
    const int64_t              first = w->p.offset, pairs = w->plan->pairs;
    const float *              x     = op_load_row(a, i, w->row[0]);
    float *                    y     = op_target_row(w->node, i, w->row[1]);
    if (w->p.adjacent) {
        cpu_kernels.vec.rotate_adjacent(pairs, y + first, x + first, w->cosine, w->sine);
    } else {
        const int64_t apart = w->p.vision ? w->p.n_dims : w->p.n_dims / 2;
        cpu_kernels.vec.rotate_halves(pairs, y + first, y + first + apart, x + first, x + first + apart, w->cosine, w->sine);
    }
    if (y != x) {
        const int64_t end = first + 2 * pairs;
        memcpy(y, x, (size_t) first * sizeof(float));
        memcpy(y + end, x + end, (size_t) (ne0 - end) * sizeof(float));
    }
    op_store_row(w->node, i, y);
}

OP_TASK(run) {
    (void) n;
    const struct ggml_tensor * node = nodes[0];
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    struct rope_work w = {.node = node, .plan = plan, .p = read_params(node), .back = user_data != NULL};
    char *           m = task->worker_memory;
    w.angle            = (double *) m;
    w.frequency        = (double *) (m + angle_bytes(w.plan->pairs));
    m += 2 * angle_bytes(w.plan->pairs);
    float ** const parts[4] = {&w.cosine, &w.sine, &w.row[0], &w.row[1]};
    for (int k = 0; k < 4; k++) {
        *parts[k] = (float *) m + (size_t) k * op_scratch_floats(node->ne[0]);
    }
    divide_by_factors(&w);
    const struct op_range share = op_share(task, ggml_nrows(node));
    int64_t               at    = -1;
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i = op_row_index(node, r);
        if (i.i2 != at) {
            turn_to_position(&w, i.i2);
            at = i.i2;
        }
        rotate_row(&w, i);
    }
    return GGML_STATUS_SUCCESS;
}

static const char backwards[] = "back";

CPU_OP(rope, ROPE, .supports = supports, .prepare = prepare, .task = run, .destroy = destroy, .may_overwrite = 1);
CPU_OP(rope_back, ROPE_BACK, .user_data = (void *) backwards, .supports = supports, .prepare = prepare, .task = run,
       .destroy = destroy, .may_overwrite = 1);
