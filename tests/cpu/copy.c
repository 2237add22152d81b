/* SPDX-License-Identifier: MIT
 *
 * CPY, CONT, DUP, CONCAT, REPEAT, REPEAT_BACK, PAD, PAD_REFLECT_1D, ROLL, SET, ACC, DIAG, DIAG_MASK_INF, DIAG_MASK_ZERO,
 * TRI: every element is one of a source, bit for bit, or its conversion; sums in F32.
 */
#include "cpu/drive.h"

static bool is_blocks(enum ggml_type type) {
    return ggml_blck_size(type) > 1;
}

/* ---- copies ---- */

/* What a value becomes in a type; blocks are encoded from the F32 values of the source. */
static double converted(const struct ggml_tensor * node, int64_t n) {
    const struct ggml_tensor * from  = node->src[0];
    const double               x     = ref_get(from, ref_at(from, n));
    const int64_t              block = ggml_blck_size(node->type);
    if (node->type == from->type) {
        return x;
    }
    if (block > 1) {
        float values[256], back[256];
        char  bytes[512];
        for (int64_t k = 0; k < block; k++) {
            values[k] = (float) ref_get(from, ref_at(from, n / block * block + k));
        }
        graft_type_encoder(node->type)(values, bytes, block);
        graft_type_decoder(node->type)(bytes, back, block);
        return (double) back[n % block];
    }
    switch ((int) node->type) {
        case GGML_TYPE_F16: return (double) ggml_compute_fp16_to_fp32(ggml_compute_fp32_to_fp16((float) x));
        case GGML_TYPE_BF16: return (double) ggml_compute_bf16_to_fp32(ggml_compute_fp32_to_bf16((float) x));
        case GGML_TYPE_I32: return isnan(x) ? 0.0 : fmax(-2147483648.0, fmin(2147483647.0, trunc(x)));
        default: return (double) (float) x;
    }
}

static double exact_copy(const struct ggml_tensor * node, struct at at, double * bound) {
    const int64_t n = ((at.i[3] * node->ne[2] + at.i[2]) * node->ne[1] + at.i[1]) * node->ne[0] + at.i[0];
    *bound          = 0.0;
    return converted(node, n);
}

static void check_copy(enum ggml_type from, enum ggml_type to, const int64_t * ne_from, const int64_t * ne_to, int lf, int lt) {
    struct drive         d = drive_begin();
    struct ggml_tensor * a = drive_tensor(&d, from, ne_from, (enum drive_layout) lf, -100, 100);
    struct ggml_tensor * b = drive_tensor(&d, to, ne_to, (enum drive_layout) lt, 0, 1);
    char                 detail[64];
    snprintf(detail, sizeof(detail), "%s to %s", drive_layout_name((enum drive_layout) lf), drive_layout_name((enum drive_layout) lt));
    struct ggml_tensor * node = ggml_cpy(d.ctx, a, b);
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_copy, detail);
    drive_end(&d);
}

static const enum ggml_type numbers[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32};

TEST(cpy_numbers) {
    static const int64_t shapes[][4] = {{1, 1, 1, 1}, {37, 1, 1, 1}, {16, 7, 3, 2}, {1, 40, 5, 1}, {70, 65, 1, 1}, {9, 0, 4, 1}};
    for (int f = 0; f < 4; f++) {
        for (int t = 0; t < 4; t++) {
            for (int s = 0; s < 6; s++) {
                for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
                    check_copy(numbers[f], numbers[t], shapes[s], shapes[s], layout, (layout + s) % DRIVE_LAYOUTS);
                }
            }
        }
    }
}

TEST(cpy_same_type) {
    static const enum ggml_type types[] = {GGML_TYPE_I8, GGML_TYPE_I16, GGML_TYPE_I32, GGML_TYPE_I64, GGML_TYPE_F64};
    const int64_t               ne[4]   = {33, 40, 3, 2};
    for (int t = 0; t < 5; t++) {
        for (int a = 0; a < DRIVE_LAYOUTS; a++) {
            for (int b = 0; b < DRIVE_LAYOUTS; b++) {
                check_copy(types[t], types[t], ne, ne, a, b);
            }
        }
    }
}

/* Shapes that differ: common loops, and none (6x4 into 4x6). */
TEST(cpy_reshaping) {
    static const int64_t pairs[][2][4] = {
        {{24, 1, 1, 1}, {4, 3, 2, 1}}, {{4, 3, 2, 1}, {24, 1, 1, 1}}, {{6, 4, 1, 1}, {4, 6, 1, 1}},
        {{64, 9, 5, 1}, {576, 5, 1, 1}}, {{5, 7, 3, 2}, {2, 3, 5, 7}}, {{12, 1, 10, 1}, {4, 6, 5, 1}},
    };
    for (int p = 0; p < 6; p++) {
        for (int a = 0; a < DRIVE_LAYOUTS; a++) {
            for (int b = 0; b < DRIVE_LAYOUTS; b++) {
                check_copy(GGML_TYPE_F32, GGML_TYPE_F32, pairs[p][0], pairs[p][1], a, b);
                check_copy(GGML_TYPE_F32, GGML_TYPE_F16, pairs[p][0], pairs[p][1], a, b);
                check_copy(GGML_TYPE_I32, GGML_TYPE_F32, pairs[p][0], pairs[p][1], a, b);
            }
        }
    }
}

TEST(cpy_blocks) {
    const int64_t ne[4] = {512, 3, 2, 2}, reshaped[4] = {256, 6, 4, 1};
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const enum ggml_type t = (enum ggml_type) type;
        if (ggml_blck_size(t) <= 1) {
            continue;
        }
        if (graft_type_encoder(t) == NULL || graft_type_decoder(t) == NULL || ggml_quantize_requires_imatrix(t)) {
            harness_count_skipped("format without an encoder", 1);
            continue;
        }
        for (int k = 0; k < 3; k++) {
            check_copy(numbers[k], t, ne, ne, DRIVE_PLAIN, DRIVE_PLAIN);
            check_copy(t, numbers[k], ne, ne, DRIVE_SLICED, DRIVE_TRANSPOSED);
        }
        check_copy(GGML_TYPE_F32, t, ne, ne, DRIVE_TRANSPOSED, DRIVE_PERMUTED);
        check_copy(GGML_TYPE_F32, t, ne, reshaped, DRIVE_PERMUTED, DRIVE_SLICED);
        check_copy(t, GGML_TYPE_F32, ne, reshaped, DRIVE_PERMUTED, DRIVE_PLAIN);
        check_copy(t, t, ne, reshaped, DRIVE_PERMUTED, DRIVE_SLICED);
        check_copy(t, GGML_TYPE_Q8_0, ne, ne, DRIVE_PLAIN, DRIVE_SLICED);
    }
}

TEST(cpy_refused) {
    const int64_t        a[4] = {48, 2, 1, 1}, b[4] = {32, 3, 1, 1};
    struct drive         d    = drive_begin();
    struct ggml_tensor * x    = drive_tensor(&d, GGML_TYPE_F32, a, DRIVE_SLICED, -1, 1);
    struct ggml_tensor * y    = drive_tensor(&d, GGML_TYPE_Q4_0, b, DRIVE_PLAIN, -1, 1);
    struct ggml_tensor * node = ggml_cpy(d.ctx, x, y);
    drive_place(&d, node, DRIVE_PLAIN);
    CHECK(!ggml_backend_supports_op(drive_cpu(), node)); /* a block would be made of two rows */
    CHECK(drive_run(&d, node, 1, NULL) != GGML_STATUS_SUCCESS);
    drive_end(&d);
}

TEST(to_int_edges) {
    const int64_t        ne[4] = {6, 1, 1, 1};
    const float          x[6]  = {NAN, INFINITY, -INFINITY, 3e9f, -1.9f, 2.9f};
    const int32_t        y[6]  = {0, INT32_MAX, INT32_MIN, INT32_MAX, -1, 2};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, 0, 1);
    struct ggml_tensor * node  = ggml_cast(d.ctx, a, GGML_TYPE_I32);
    memcpy(a->data, x, sizeof(x));
    drive_place(&d, node, DRIVE_PLAIN);
    REQUIRE(drive_run(&d, node, 1, NULL) == GGML_STATUS_SUCCESS);
    CHECK(memcmp(node->data, y, sizeof(y)) == 0);
    drive_end(&d);
}

TEST(cont_and_dup) {
    static const int64_t shapes[][4] = {{1, 1, 1, 1}, {70, 65, 3, 1}, {16, 7, 3, 2}, {0, 3, 1, 1}};
    for (int s = 0; s < 4; s++) {
        for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
            for (int t = 0; t < 4; t++) {
                struct drive         d    = drive_begin();
                struct ggml_tensor * a    = drive_tensor(&d, numbers[t], shapes[s], (enum drive_layout) layout, -9, 9);
                struct ggml_tensor * node = ggml_cont(d.ctx, a);
                struct ggml_tensor * dup  = ggml_dup(d.ctx, a);
                drive_place(&d, node, DRIVE_PLAIN);
                drive_place(&d, dup, DRIVE_PLAIN);
                drive_check(&d, node, exact_copy, "CONT");
                drive_check(&d, dup, exact_copy, "DUP");
                drive_end(&d);
            }
        }
    }
}

/* ---- CONCAT ---- */

static double exact_concat(const struct ggml_tensor * node, struct at at, double * bound) {
    const int dim  = ref_i32(node, 0);
    *bound         = 0.0;
    if (at.i[dim] < node->src[0]->ne[dim]) {
        return ref_get(node->src[0], at);
    }
    at.i[dim] -= node->src[0]->ne[dim];
    return ref_get(node->src[1], at);
}

TEST(concat) {
    static const enum ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I8, GGML_TYPE_I64, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K};
    for (int t = 0; t < 6; t++) {
        for (int dim = 0; dim < 4; dim++) {
            for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
                const int64_t block = ggml_blck_size(types[t]);
                int64_t       na[4] = {block > 1 ? 2 * block : 17, 4, 3, 2}, nb[4];
                if (is_blocks(types[t]) && !drive_layout_dense((enum drive_layout) layout)) {
                    continue;
                }
                memcpy(nb, na, sizeof(nb));
                nb[dim] = dim == 0 ? block * 3 : 5;
                struct drive         d    = drive_begin();
                struct ggml_tensor * a    = drive_tensor(&d, types[t], na, (enum drive_layout) layout, -9, 9);
                struct ggml_tensor * b    = drive_tensor(&d, types[t], nb, DRIVE_SLICED, -9, 9);
                struct ggml_tensor * node = ggml_concat(d.ctx, a, b, dim);
                drive_place(&d, node, DRIVE_PLAIN);
                drive_check(&d, node, exact_concat, drive_layout_name((enum drive_layout) layout));
                drive_end(&d);
            }
        }
    }
}

/* ---- REPEAT ---- */

static double exact_repeat(const struct ggml_tensor * node, struct at at, double * bound) {
    *bound = 0.0;
    return ref_repeated(node->src[0], at);
}

TEST(repeat) {
    static const enum ggml_type types[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I32, GGML_TYPE_I16, GGML_TYPE_Q4_0};
    for (int t = 0; t < 5; t++) {
        for (int mask = 0; mask < 16; mask++) {
            const int64_t block = ggml_blck_size(types[t]);
            const int64_t na[4] = {block > 1 ? block : 1 + mask % 3, 2, 1 + mask % 2, 3};
            const int     layout = block > 1 ? mask % 2 : mask % DRIVE_LAYOUTS;
            struct drive         d = drive_begin();
            struct ggml_tensor * a = drive_tensor(&d, types[t], na, (enum drive_layout) layout, -9, 9);
            struct ggml_tensor * node =
                ggml_repeat_4d(d.ctx, a, na[0] * (mask & 1 ? 5 : 1), na[1] * (mask & 2 ? 3 : 1), na[2] * (mask & 4 ? 2 : 1),
                               na[3] * (mask & 8 ? 2 : 1));
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_repeat, drive_layout_name((enum drive_layout) layout));
            drive_end(&d);
        }
    }
}

static double exact_repeat_back(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a   = node->src[0];
    double                     sum = 0.0, magnitude = 0.0;
    for (int64_t n = 0; n < ggml_nelements(a); n++) {
        const struct at from = ref_at(a, n);
        bool            same = true;
        for (int k = 0; k < 4; k++) {
            same = same && from.i[k] % node->ne[k] == at.i[k];
        }
        if (same) {
            sum += ref_get(a, from);
            magnitude += fabs(ref_get(a, from));
        }
    }
    *bound = 2e-6 * magnitude;
    return sum;
}

TEST(repeat_back) {
    for (int mask = 0; mask < 16; mask++) {
        const int64_t        na[4] = {12, 6, 4, 2};
        const int64_t        nb[4] = {mask & 1 ? 4 : 12, mask & 2 ? 1 : 6, mask & 4 ? 2 : 4, mask & 8 ? 1 : 2};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, na, (enum drive_layout) (mask % DRIVE_LAYOUTS), -1, 1);
        struct ggml_tensor * b     = drive_tensor(&d, GGML_TYPE_F32, nb, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node  = ggml_repeat_back(d.ctx, a, b);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_repeat_back, "");
        drive_end(&d);
    }
}

/* ---- PAD, ROLL ---- */

static double exact_pad(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a = node->src[0];
    *bound                       = 0.0;
    for (int k = 0; k < 4; k++) {
        at.i[k] -= ref_i32(node, 2 * k);
        if (ref_i32(node, 8) != 0) {
            at.i[k] = ((at.i[k] % a->ne[k]) + a->ne[k]) % a->ne[k];
        } else if (at.i[k] < 0 || at.i[k] >= a->ne[k]) {
            return 0.0;
        }
    }
    return ref_get(a, at);
}

TEST(pad) {
    for (int k = 0; k < 40; k++) {
        const int64_t        ne[4] = {7, 3, 2, 2};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, (enum drive_layout) (k % DRIVE_LAYOUTS), -9, 9);
        const int            p[8]  = {k % 4, k % 3, k % 2, k % 5, k / 7 % 3, k / 5 % 2, k / 9 % 2, k / 3 % 3};
        struct ggml_tensor * node  = (k % 2 ? ggml_pad_ext_circular : ggml_pad_ext)(d.ctx, a, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_pad, k % 2 ? "circular" : "");
        drive_end(&d);
    }
}

/* More around than there is: the source goes round several times. */
TEST(pad_far) {
    const int64_t        ne[4] = {3, 2, 1, 1};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -9, 9);
    struct ggml_tensor * node  = ggml_pad_ext_circular(d.ctx, a, 7, 11, 5, 3, 0, 0, 0, 2);
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_pad, "circular, far");
    drive_end(&d);
}

static double exact_reflect(const struct ggml_tensor * node, struct at at, double * bound) {
    const int64_t n = node->src[0]->ne[0];
    *bound          = 0.0;
    at.i[0]         = llabs(at.i[0] - ref_i32(node, 0));
    at.i[0]         = at.i[0] >= n ? 2 * (n - 1) - at.i[0] : at.i[0];
    return ref_get(node->src[0], at);
}

static double exact_roll(const struct ggml_tensor * node, struct at at, double * bound) {
    *bound = 0.0;
    for (int k = 0; k < 4; k++) {
        at.i[k] = ((at.i[k] - ref_i32(node, k)) % node->ne[k] + node->ne[k]) % node->ne[k];
    }
    return ref_get(node->src[0], at);
}

TEST(reflect_and_roll) {
    for (int k = 0; k < 20; k++) {
        const int64_t        ne[4]   = {9, 5, 3, 2};
        struct drive         d       = drive_begin();
        struct ggml_tensor * a       = drive_tensor(&d, GGML_TYPE_F32, ne, k % 2 ? DRIVE_PERMUTED : DRIVE_SLICED, -9, 9);
        struct ggml_tensor * b       = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * roll    = ggml_roll(d.ctx, a, k % 9 - 4, k % 5 - 2, k % 3 - 1, k % 2);
        struct ggml_tensor * reflect = ggml_pad_reflect_1d(d.ctx, b, k % 9, (k * 3) % 9);
        drive_place(&d, roll, DRIVE_PLAIN);
        drive_place(&d, reflect, DRIVE_PLAIN);
        drive_check(&d, roll, exact_roll, "");
        drive_check(&d, reflect, exact_reflect, "");
        drive_end(&d);
    }
}

/* ---- SET and ACC ---- */

static double exact_region(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a = node->src[0];
    const struct ggml_tensor * b = node->src[1];
    const int64_t where = (int64_t) (((at.i[3] * a->ne[2] + at.i[2]) * a->ne[1] + at.i[1]) * a->ne[0] + at.i[0]) * 4;
    double        value = ref_get(a, at);
    *bound              = node->op == GGML_OP_ACC ? 1e-6 * fabs(value) + 1e-6 : 0.0;
    for (int64_t n = 0; n < ggml_nelements(b); n++) {
        const struct at i = ref_at(b, n);
        if (where == ref_i32(node, 3) + i.i[0] * 4 + i.i[1] * ref_i32(node, 0) + i.i[2] * ref_i32(node, 1) + i.i[3] * ref_i32(node, 2)) {
            value = node->op == GGML_OP_ACC ? value + ref_get(b, i) : ref_get(b, i);
        }
    }
    return value;
}

TEST(set_and_acc) {
    for (int k = 0; k < 8; k++) {
        const int64_t        na[4] = {9, 6, 4, 2}, nb[4] = {5, 3, 2, 1 + k % 2};
        const bool           inplace = k / 2 % 2 != 0;
        struct drive         d       = drive_begin();
        struct ggml_tensor * a = drive_tensor(&d, GGML_TYPE_F32, na, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * b = drive_tensor(&d, GGML_TYPE_F32, nb, k < 4 ? DRIVE_PLAIN : DRIVE_SLICED, -9, 9);
        struct ggml_tensor * acc = (inplace ? ggml_acc_inplace : ggml_acc)(d.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], 2 * a->nb[1] + 8);
        struct ggml_tensor * set = (inplace ? ggml_set_inplace : ggml_set)(d.ctx, a, b, 2 * a->nb[1], a->nb[2], a->nb[3], 12);
        drive_place(&d, acc, DRIVE_PLAIN);
        drive_place(&d, set, DRIVE_PLAIN);
        drive_check(&d, acc, exact_region, inplace ? "in place" : "");
        drive_check(&d, set, exact_region, inplace ? "in place" : "");
        drive_end(&d);
    }
}

/* Rows of a region that meet are added in order by one worker. */
TEST(acc_overlapping) {
    const int64_t        na[4] = {4, 4, 1, 1}, nb[4] = {4, 3, 1, 1};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, na, DRIVE_PLAIN, -1, 1);
    struct ggml_tensor * b     = drive_tensor(&d, GGML_TYPE_F32, nb, DRIVE_PLAIN, -1, 1);
    struct ggml_tensor * node  = ggml_acc(d.ctx, a, b, 4, a->nb[2], a->nb[3], 0);
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_region, "overlapping rows");
    drive_end(&d);
}

/* A negative stride that keeps the far corner inside leaves the tensor with the rows between. */
TEST(region_leaves_tensor) {
    static const int32_t bad[][4] = {{-64, 64, 64, 0}, {16, 64, 64, -4}, {16, 64, 64, 192}, {16, 2000000000, 64, 0}, {80, 64, 64, 128}};
    for (int k = 0; k < 5; k++) {
        const int64_t        na[4] = {4, 4, 4, 1}, nb[4] = {4, 2, 2, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, na, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * b     = drive_tensor(&d, GGML_TYPE_F32, nb, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node  = k % 2 ? ggml_acc(d.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], 0) :
                                             ggml_set(d.ctx, a, b, a->nb[1], a->nb[2], a->nb[3], 0);
        drive_place(&d, node, DRIVE_PLAIN);
        memcpy(node->op_params, bad[k], sizeof(bad[k]));
        CHECK_MSG(!ggml_backend_supports_op(drive_cpu(), node), "case %d is supported", k);
        CHECK(drive_run(&d, node, 2, NULL) != GGML_STATUS_SUCCESS);
        CHECK(drive_backend(&d, node, 2) != GGML_STATUS_SUCCESS);
        drive_end(&d);
    }
}

/* ---- diagonals ---- */

static double exact_diagonal(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a = node->src[0];
    const int64_t              i = at.i[0], j = at.i[1];
    *bound                       = 0.0;
    switch ((int) node->op) {
        case GGML_OP_DIAG:
            at.i[1] = 0;
            return i == j ? ref_get(a, at) : 0.0;
        case GGML_OP_DIAG_MASK_INF: return i > ref_i32(node, 0) + j ? -INFINITY : ref_get(a, at);
        case GGML_OP_DIAG_MASK_ZERO: return i > ref_i32(node, 0) + j ? 0.0 : ref_get(a, at);
        default: break;
    }
    const int  type = ref_i32(node, 0);
    const bool keep = type == GGML_TRI_TYPE_UPPER_DIAG ? i >= j : type == GGML_TRI_TYPE_UPPER ? i > j : type == GGML_TRI_TYPE_LOWER_DIAG ? i <= j : i < j;
    return keep ? ref_get(a, at) : 0.0;
}

TEST(diagonals) {
    for (int k = 0; k < 12; k++) {
        const int64_t        row[4] = {7, 1, 3, 2}, square[4] = {9, 9, 2, 2}, wide[4] = {20, 6, 2, 2};
        struct drive         d = drive_begin();
        struct ggml_tensor * node;
        if (k < 2) {
            node = ggml_diag(d.ctx, drive_tensor(&d, GGML_TYPE_F32, row, DRIVE_SLICED, -1, 1));
        } else if (k < 8) {
            struct ggml_tensor * a = drive_tensor(&d, GGML_TYPE_F32, wide, DRIVE_PLAIN, -1, 1);
            node = k == 2   ? ggml_diag_mask_inf(d.ctx, a, 0) :
                   k == 3   ? ggml_diag_mask_inf(d.ctx, a, 5) :
                   k == 4   ? ggml_diag_mask_zero(d.ctx, a, 5) :
                   k == 5   ? ggml_diag_mask_inf_inplace(d.ctx, a, 3) :
                   k == 6   ? ggml_diag_mask_zero_inplace(d.ctx, a, 30) :
                              ggml_diag_mask_zero(d.ctx, a, 19);
        } else {
            node = ggml_tri(d.ctx, drive_tensor(&d, GGML_TYPE_F32, square, DRIVE_PLAIN, -1, 1), (enum ggml_tri_type) (k - 8));
        }
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_diagonal, "");
        drive_end(&d);
    }
}
