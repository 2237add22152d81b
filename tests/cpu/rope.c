/* SPDX-License-Identifier: MIT
 *
 * ROPE and ROPE_BACK: all modes, partial rotation with an offset, frequency factors, YaRN, several positions, F32 and F16,
 * against the formulas in F64. Bound: 5e-7 times the length of a pair and the magnitude, and the rounding of the type.
 */
#include "cpu/drive.h"

struct setup {
    int     n_dims, mode, offset;
    int     sections[4];
    float   freq_base, freq_scale, ext_factor, attn_factor;
    bool    factors, back, inplace;
    int64_t max_position;
};

/* Position channel of a pair in a cycle of the sections. */
static int channel(const struct ggml_tensor * node, int sector) {
    const int s0 = ref_i32(node, 11), s1 = ref_i32(node, 12), s2 = ref_i32(node, 13);
    if (ref_i32(node, 2) == GGML_ROPE_TYPE_IMROPE) {
        if (sector % 3 == 1 && sector < 3 * s1) {
            return 1;
        }
        if (sector % 3 == 2 && sector < 3 * s2) {
            return 2;
        }
        return sector % 3 == 0 && sector < 3 * s0 ? 0 : 3;
    }
    return sector < s0 ? 0 : sector < s0 + s1 ? 1 : sector < s0 + s1 + s2 ? 2 : 3;
}

static double angle(const struct ggml_tensor * node, int64_t pair, int64_t i2) {
    const int      mode = ref_i32(node, 2), n_dims = ref_i32(node, 1);
    const bool     multi = (mode & GGML_ROPE_TYPE_MROPE) != 0, vision = mode == GGML_ROPE_TYPE_VISION;
    int64_t        power = pair, at = i2;
    const double   base = ref_f32(node, 5), scale = ref_f32(node, 6), ext = ref_f32(node, 7);
    if (multi) {
        const int s[4]   = {ref_i32(node, 11), ref_i32(node, 12), ref_i32(node, 13), ref_i32(node, 14)};
        const int sector = (int) (pair % (s[0] + s[1] + s[2] + s[3]));
        const int c      = channel(node, sector);
        at += c * node->ne[2];
        if (vision) { /* exponents begin anew in each section */
            power = sector - (c > 0 ? s[0] : 0) - (c > 1 ? s[1] : 0) - (c > 2 ? s[2] : 0);
        }
    }
    double       theta = ref_get(node->src[1], AT(at, 0, 0, 0)) * pow(base, -2.0 * (double) power / n_dims);
    const double half  = (double) (n_dims / 2);
    if (node->src[2] != NULL && pair < half) {
        theta /= ref_get(node->src[2], AT(pair, 0, 0, 0));
    }
    if (ext == 0.0) {
        return theta * scale;
    }
    /* YaRN: dimensions that turn less than beta_slow or more than beta_fast times over the original context bound the ramp */
    const double fast = ref_f32(node, 9), slow = ref_f32(node, 10), context = ref_i32(node, 4);
    const double low  = fmax(0.0, floor(n_dims * log(context / (fast * 2.0 * M_PI)) / (2.0 * log(base))));
    const double high = fmin(n_dims - 1, ceil(n_dims * log(context / (slow * 2.0 * M_PI)) / (2.0 * log(base))));
    const double y    = ((double) pair - low) / fmax(0.001, high - low);
    const double mix  = (1.0 - fmin(1.0, fmax(0.0, y))) * ext;
    return theta * scale * (1.0 - mix) + theta * mix;
}

static double exact(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a = node->src[0];
    const int     n_dims = ref_i32(node, 1), mode = ref_i32(node, 2), offset = ref_i32(node, 15);
    const bool    vision = mode == GGML_ROPE_TYPE_VISION;
    const int64_t turned = vision ? node->ne[0] : n_dims, r = at.i[0] - offset;
    struct at     first = at, second = at;
    *bound = 0.0;
    if (r < 0 || r >= turned) {
        return ref_get(a, at);
    }
    int64_t pair, is_second;
    if (mode == GGML_ROPE_TYPE_NORMAL) {
        pair       = r / 2;
        is_second  = r % 2;
        first.i[0] = offset + 2 * pair;
        second.i[0] = first.i[0] + 1;
    } else {
        const int64_t apart = vision ? n_dims : n_dims / 2;
        pair        = r % apart;
        is_second   = r / apart;
        first.i[0]  = offset + pair;
        second.i[0] = first.i[0] + apart;
    }
    const double x0 = ref_get(a, first), x1 = ref_get(a, second), theta = angle(node, pair, at.i[2]);
    const double sign = node->op == GGML_OP_ROPE_BACK ? -1.0 : 1.0;
    double       m    = ref_f32(node, 8);
    if (ref_f32(node, 7) != 0.0) {
        m *= 1.0 + 0.1 * log(1.0 / ref_f32(node, 6));
    }
    const double c = cos(theta) * m, s = sin(theta) * m * sign;
    const double want = is_second ? x0 * s + x1 * c : x0 * c - x1 * s;
    /* blend and magnitude parameters are F32 in the kernel: the angle has that rounding when YaRN is on */
    *bound = (5e-7 + (ref_f32(node, 7) != 0.0 ? 4e-7 * fabs(theta) : 1e-13 * fabs(theta))) * m * sqrt(x0 * x0 + x1 * x1) +
             1.1 * ref_rounding(node->type) * fabs(want) + (node->type == GGML_TYPE_F16 ? 6e-8 : 0.0);
    return want;
}

static void check(enum ggml_type type, const int64_t * ne, int layout, struct setup s) {
    struct drive         d      = drive_begin();
    const bool           multi  = (s.mode & GGML_ROPE_TYPE_MROPE) != 0;
    const int64_t        nf[4]  = {s.n_dims / 2, 1, 1, 1}, np[4] = {ne[2] * (multi ? 4 : 1), 1, 1, 1};
    struct ggml_tensor * a      = drive_tensor(&d, type, ne, (enum drive_layout) layout, -3, 3);
    struct ggml_tensor * pos    = drive_tensor(&d, GGML_TYPE_I32, np, DRIVE_PLAIN, 0, (double) s.max_position);
    struct ggml_tensor * factor = s.factors ? drive_tensor(&d, GGML_TYPE_F32, nf, DRIVE_PLAIN, 0.9, 1.5) : NULL;
    struct ggml_tensor * node;
    if (multi) {
        node = (s.back ? ggml_rope_multi_back : s.inplace ? ggml_rope_multi_inplace : ggml_rope_multi)(
            d.ctx, a, pos, factor, s.n_dims, s.sections, s.mode, 4096, s.freq_base, s.freq_scale, s.ext_factor, s.attn_factor,
            32.0f, 1.0f);
    } else {
        node = (s.back ? ggml_rope_ext_back : s.inplace ? ggml_rope_ext_inplace : ggml_rope_ext)(
            d.ctx, a, pos, factor, s.n_dims, s.mode, 4096, s.freq_base, s.freq_scale, s.ext_factor, s.attn_factor, 32.0f, 1.0f);
    }
    ggml_set_op_params_i32(node, 15, s.offset);
    drive_place(&d, node, DRIVE_PLAIN);
    char detail[96];
    snprintf(detail, sizeof(detail), "mode %d dims %d offset %d ext %g %s%s%s", s.mode, s.n_dims, s.offset, (double) s.ext_factor,
             s.factors ? "factors " : "", s.inplace ? "in place " : "", drive_layout_name((enum drive_layout) layout));
    drive_check(&d, node, exact, detail);
    drive_end(&d);
}

static const int modes[] = {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE, GGML_ROPE_TYPE_VISION,
                            GGML_ROPE_TYPE_IMROPE};

TEST(rope_modes) {
    for (int m = 0; m < 5; m++) {
        for (int t = 0; t < 2; t++) {
            for (int variant = 0; variant < 32; variant++) {
                const bool    vision = modes[m] == GGML_ROPE_TYPE_VISION;
                const int64_t ne[4]  = {80, 5, variant % 8 == 7 ? 1 : 6, 1 + variant % 2};
                struct setup  s      = {.n_dims = vision ? 40 : variant & 1 ? 64 : 80, .mode = modes[m], .sections = {16, 12, 8, 4},
                                        .freq_base = 10000.0f, .freq_scale = 1.0f, .attn_factor = 1.0f, .max_position = 200};
                s.offset  = !vision && (variant & 1) && (variant & 2) ? 6 : 0;
                s.factors = (variant & 4) != 0;
                s.back    = (variant & 8) != 0;
                s.inplace = !s.back && (variant & 2) != 0;
                if (variant & 16) {
                    s.freq_scale  = 0.25f;
                    s.ext_factor  = 1.0f;
                    s.attn_factor = 1.2f;
                }
                check(t == 0 ? GGML_TYPE_F32 : GGML_TYPE_F16, ne, DRIVE_PLAIN, s);
            }
        }
    }
}

TEST(rope_layouts_and_shapes) {
    static const int64_t shapes[][4] = {{2, 1, 1, 1}, {34, 3, 2, 1}, {64, 1, 9, 1}, {64, 9, 1, 1}, {64, 3, 0, 1}, {128, 4, 5, 2}};
    for (int k = 0; k < 6; k++) {
        for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
            struct setup s = {.n_dims = (int) shapes[k][0], .mode = modes[k % 2], .freq_base = 500000.0f, .freq_scale = 0.5f,
                              .attn_factor = 1.0f, .max_position = 100000};
            check(GGML_TYPE_F32, shapes[k], layout, s);
        }
    }
}
