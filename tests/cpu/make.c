/* SPDX-License-Identifier: MIT
 *
 * ARANGE, TIMESTEP_EMBEDDING, UPSCALE, the custom operators, and single values of tensors.
 */
#include <stdatomic.h>

#include "cpu/drive.h"

static double exact_arange(const struct ggml_tensor * node, struct at at, double * bound) {
    const float start = ggml_get_op_params_f32(node, 0), step = ggml_get_op_params_f32(node, 2);
    *bound            = 1e-6 * fabs((double) (start + step * (float) at.i[0])) + 1e-6;
    return (double) start + (double) step * (double) at.i[0];
}

static double exact_timestep(const struct ggml_tensor * node, struct at at, double * bound) {
    const int64_t half   = ref_i32(node, 0) / 2;
    const double  t      = ref_get(node->src[0], AT(at.i[1], 0, 0, 0));
    const double  period = ref_i32(node, 1);
    *bound               = 1e-6;
    if (at.i[0] >= 2 * half) {
        return 0.0;
    }
    const double angle = t * exp(-log(period) * (double) (at.i[0] % half) / (double) half);
    return at.i[0] < half ? cos(angle) : sin(angle);
}

TEST(arange_and_timestep) {
    for (int k = 0; k < 6; k++) {
        const int64_t        ne[4] = {k == 5 ? 0 : 3 + k, 1, 1, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, 0, 1000);
        struct ggml_tensor * range = ggml_arange(d.ctx, 0.5f - (float) k, 7.0f + 40.0f * (float) k, 0.25f + (float) k);
        struct ggml_tensor * steps = ggml_timestep_embedding(d.ctx, a, 2 + 31 * k, 10000);
        drive_place(&d, range, DRIVE_PLAIN);
        drive_place(&d, steps, DRIVE_PLAIN);
        drive_check(&d, range, exact_arange, "");
        drive_check(&d, steps, exact_timestep, "");
        drive_end(&d);
    }
}

/* ---- UPSCALE ---- */

/* Weight of source pixel s for result pixel i; coordinates in F32, for they decide which pixels are taken. */
static double weight(const struct ggml_tensor * node, int axis, int64_t i, int64_t s) {
    const int     flags = ref_i32(node, 0), mode = flags & 0xFF;
    const int64_t from = node->src[0]->ne[axis], to = node->ne[axis];
    float         factor = (float) to / (float) from, offset = 0.5f;
    if (flags & GGML_SCALE_FLAG_ALIGN_CORNERS) {
        offset = 0.0f;
        if (axis < 2 && to > 1 && from > 1) {
            factor = (float) (to - 1) / (float) (from - 1);
        }
    }
    if (mode == GGML_SCALE_MODE_NEAREST || axis >= 2) {
        return (int64_t) ((float) i / (axis < 2 ? factor : (float) to / (float) from)) == s ? 1.0 : 0.0;
    }
    const float center = ((float) i + offset) / factor;
    if (mode == GGML_SCALE_MODE_BILINEAR && (flags & GGML_SCALE_FLAG_ANTIALIAS)) {
        const float   support = fmaxf(1.0f, 1.0f / factor);
        const int64_t begin = MAX((int64_t) (center - support + offset), 0), end = MIN((int64_t) (center + support + offset), from);
        double        sum = 0.0, own = 0.0;
        for (int64_t k = begin; k < end; k++) {
            const double w = fmax(0.0, 1.0 - fabs((double) ((float) k - center + offset)) / (double) support);
            sum += w;
            own = k == s ? w : own;
        }
        return sum > 0.0 ? own / sum : 0.0;
    }
    const float  x    = center - offset;
    const double base = floor((double) x);
    double       sum  = 0.0;
    const int    reach = mode == GGML_SCALE_MODE_BILINEAR ? 1 : 2;
    for (int k = 1 - reach; k <= reach; k++) { /* taps beyond the border fall on it */
        const int64_t at = (int64_t) fmin(fmax(base + k, 0.0), (double) (from - 1));
        const double  t  = fabs((double) x - base - k);
        double        w  = 1.0 - t;
        if (mode == GGML_SCALE_MODE_BICUBIC) {
            w = t <= 1.0 ? (1.25 * t - 2.25) * t * t + 1.0 : -0.75 * (t * t * t - 5.0 * t * t + 8.0 * t - 4.0);
        }
        sum += at == s ? w : 0.0;
    }
    return sum;
}

static double exact_upscale(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a   = node->src[0];
    double                     sum = 0.0;
    for (int64_t n = 0; n < ggml_nelements(a); n++) {
        const struct at s = ref_at(a, n);
        double          w = weight(node, 3, at.i[3], s.i[3]) * weight(node, 2, at.i[2], s.i[2]);
        if (w != 0.0) {
            sum += w * weight(node, 1, at.i[1], s.i[1]) * weight(node, 0, at.i[0], s.i[0]) * ref_get(a, s);
        }
    }
    *bound = 4e-6 * 9.0;
    return sum;
}

TEST(upscale) {
    static const int     modes[]    = {0, 1, 2, 1 | GGML_SCALE_FLAG_ALIGN_CORNERS, 2 | GGML_SCALE_FLAG_ALIGN_CORNERS,
                                       1 | GGML_SCALE_FLAG_ANTIALIAS, 0 | GGML_SCALE_FLAG_ALIGN_CORNERS};
    static const int64_t results[][4] = {{10, 14, 3, 2}, {5, 7, 3, 2}, {13, 3, 6, 2}, {2, 1, 3, 2}, {1, 20, 3, 4}};
    for (int m = 0; m < 7; m++) {
        for (int r = 0; r < 5; r++) {
            const int64_t        ne[4] = {5, 7, 3, 2};
            struct drive         d     = drive_begin();
            struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, (enum drive_layout) ((m + r) % DRIVE_LAYOUTS), -9, 9);
            struct ggml_tensor * node  = ggml_interpolate(d.ctx, a, results[r][0], results[r][1], results[r][2], results[r][3], (uint32_t) modes[m]);
            char                 detail[32];
            snprintf(detail, sizeof(detail), "mode %d", modes[m]);
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_upscale, detail);
            drive_end(&d);
        }
    }
}

/* ---- custom operators ---- */

static atomic_int calls;

static void share_of(const struct ggml_tensor * t, int ith, int nth, int64_t * begin, int64_t * end) {
    *begin = ggml_nelements(t) * ith / nth;
    *end   = ggml_nelements(t) * (ith + 1) / nth;
}

static void add_sources(struct ggml_tensor * dst, int ith, int nth, void * userdata) {
    int64_t begin, end;
    calls++;
    share_of(dst, ith, nth, &begin, &end);
    for (int64_t n = begin; n < end; n++) {
        double sum = (double) *(float *) userdata;
        for (int k = 0; k < GGML_MAX_SRC && dst->src[k] != NULL; k++) {
            sum += ref_get(dst->src[k], ref_at(dst, n));
        }
        ref_set(dst, ref_at(dst, n), sum);
    }
}

static void map1(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth, void * userdata) {
    CHECK(a == dst->src[0]);
    add_sources(dst, ith, nth, userdata);
}

static void map2(struct ggml_tensor * dst, const struct ggml_tensor * a, const struct ggml_tensor * b, int ith, int nth, void * userdata) {
    CHECK(a == dst->src[0] && b == dst->src[1]);
    add_sources(dst, ith, nth, userdata);
}

static void map3(struct ggml_tensor * dst, const struct ggml_tensor * a, const struct ggml_tensor * b, const struct ggml_tensor * c, int ith,
                 int nth, void * userdata) {
    CHECK(a == dst->src[0] && b == dst->src[1] && c == dst->src[2]);
    add_sources(dst, ith, nth, userdata);
}

static double exact_custom(const struct ggml_tensor * node, struct at at, double * bound) {
    double sum = 1.5;
    for (int k = 0; k < GGML_MAX_SRC && node->src[k] != NULL; k++) {
        sum += ref_get(node->src[k], at);
    }
    *bound = 1e-5;
    return sum;
}

TEST(custom) {
    static float     added   = 1.5f;
    static const int tasks[] = {1, 2, 5, GGML_N_TASKS_MAX};
    for (int k = 0; k < 4; k++) {
        const int64_t        ne[4] = {37, 3, 1, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * s[4];
        for (int i = 0; i < 4; i++) {
            s[i] = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -1, 1);
        }
        struct ggml_tensor * nodes[] = {
            ggml_map_custom1(d.ctx, s[0], map1, tasks[k], &added), ggml_map_custom2(d.ctx, s[0], s[1], map2, tasks[k], &added),
            ggml_map_custom3(d.ctx, s[0], s[1], s[2], map3, tasks[k], &added),
            ggml_custom_4d(d.ctx, GGML_TYPE_F32, 37, 3, 1, 1, s, 4, add_sources, tasks[k], &added),
            ggml_map_custom1_inplace(d.ctx, s[3], map1, tasks[k], &added)};
        for (int i = 0; i < 5; i++) {
            drive_place(&d, nodes[i], DRIVE_PLAIN);
            drive_check(&d, nodes[i], exact_custom, "");
        }
        calls = 0;
        CHECK(drive_backend(&d, nodes[0], 3) == GGML_STATUS_SUCCESS);
        CHECK_MSG(calls == (tasks[k] == GGML_N_TASKS_MAX || tasks[k] > 3 ? 3 : tasks[k]), "%d calls for %d tasks", calls, tasks[k]);
        drive_end(&d);
    }
}

/* ---- single values ---- */

TEST(tensor_value) {
    static const enum ggml_type types[] = {GGML_TYPE_I8, GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32};
    for (int t = 0; t < 6; t++) {
        const int64_t        ne[4] = {3, 4, 2, 2};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, types[t], ne, DRIVE_PERMUTED, 0, 1);
        ggml_set_f32(a, 7.0f);
        for (int n = 0; n < 48; n++) {
            CHECK(ref_get(a, ref_at(a, n)) == 7.0);
        }
        ggml_set_i32_1d(a, 17, 5);
        ggml_set_f32_nd(a, 2, 3, 1, 1, 9.0f);
        CHECK(ggml_get_f32_1d(a, 17) == 5.0f && ggml_get_i32_1d(a, 17) == 5 && ref_get(a, ref_at(a, 17)) == 5.0);
        CHECK(ggml_get_i32_nd(a, 2, 3, 1, 1) == 9 && ggml_get_f32_nd(a, 2, 3, 1, 1) == 9.0f && ggml_get_f32_1d(a, 47) == 9.0f);
        ggml_set_i32(a, -3);
        ggml_set_f32_1d(a, 0, 2.0f);
        ggml_set_i32_nd(a, 1, 0, 0, 0, 4);
        CHECK(ggml_get_f32_1d(a, 0) == 2.0f && ggml_get_f32_1d(a, 1) == 4.0f && ggml_get_f32_1d(a, 2) == -3.0f);
        drive_end(&d);
    }
    const struct ggml_init_params params = {1 << 16, NULL, false};
    struct ggml_context *         ctx    = ggml_init(params);
    CHECK(ggml_get_i32_1d(ggml_new_i32(ctx, -12), 0) == -12 && ggml_get_f32_1d(ggml_new_f32(ctx, 2.5f), 0) == 2.5f);
    ggml_free(ctx);
}
