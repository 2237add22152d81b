/* SPDX-License-Identifier: MIT
 *
 * GET_ROWS, GET_ROWS_BACK, SET_ROWS, ADD_ID: all formats, batches, rows that go to one place, and indexes that are outside,
 * which must fail with a text and touch nothing else.
 */
#include "cpu/drive.h"

/* Integers and F64: no operator computes with them. */
static bool is_plain(enum ggml_type t) {
    return ggml_blck_size(t) == 1 && t != GGML_TYPE_F32 && t != GGML_TYPE_F16 && t != GGML_TYPE_BF16;
}

static double exact_get(const struct ggml_tensor * node, struct at at, double * bound) {
    at.i[1] = (int64_t) ref_get(node->src[1], AT(at.i[1], at.i[2], at.i[3], 0));
    *bound  = 0.0;
    return ref_get(node->src[0], at);
}

TEST(get_rows) {
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const enum ggml_type t = (enum ggml_type) type;
        if (ggml_blck_size(t) == 0 || graft_type_decoder(t) == NULL || (is_plain(t) && t != GGML_TYPE_I32)) {
            continue;
        }
        if (ggml_blck_size(t) > 1 && (graft_type_encoder(t) == NULL || ggml_quantize_requires_imatrix(t))) {
            harness_count_skipped("no encoder to make rows with", 1);
            continue;
        }
        for (int k = 0; k < 6; k++) {
            const int64_t        na[4] = {ggml_blck_size(t) > 1 ? 256 : 33, 11, k % 2 ? 3 : 1, k % 3 ? 1 : 2};
            const int64_t        ni[4] = {k == 5 ? 0 : 7, na[2], na[3], 1};
            struct drive         d     = drive_begin();
            struct ggml_tensor * a     = drive_tensor(&d, t, na, k < 3 ? DRIVE_PLAIN : DRIVE_SLICED, -9, 9);
            struct ggml_tensor * ids   = drive_tensor(&d, GGML_TYPE_I32, ni, k < 2 ? DRIVE_PLAIN : DRIVE_SLICED, 0, 11);
            struct ggml_tensor * node  = ggml_get_rows(d.ctx, a, ids);
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_get, "");
            drive_end(&d);
        }
    }
}

static double exact_get_back(const struct ggml_tensor * node, struct at at, double * bound) {
    double sum = 0.0;
    for (int64_t r = 0; r < node->src[1]->ne[0]; r++) {
        if ((int64_t) ref_get(node->src[1], AT(r, 0, 0, 0)) == at.i[1]) {
            sum += ref_get(node->src[0], AT(at.i[0], r, 0, 0));
        }
    }
    *bound = 1e-5;
    return sum;
}

TEST(get_rows_back) {
    for (int k = 0; k < 4; k++) {
        const int64_t        nd[4] = {37, 9, 1, 1}, ni[4] = {9, 1, 1, 1}, nc[4] = {37, 5, 1, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * dy    = drive_tensor(&d, k % 2 ? GGML_TYPE_F16 : GGML_TYPE_F32, nd, k < 2 ? DRIVE_PLAIN : DRIVE_SLICED, -9, 9);
        struct ggml_tensor * ids   = drive_tensor(&d, GGML_TYPE_I32, ni, DRIVE_PLAIN, 0, 5);
        struct ggml_tensor * c     = drive_tensor(&d, GGML_TYPE_F32, nc, DRIVE_PLAIN, 0, 1);
        struct ggml_tensor * node  = ggml_get_rows_back(d.ctx, dy, ids, c);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_get_back, "");
        drive_end(&d);
    }
}

/* The last row of b with this destination, or what was there. */
static double exact_set(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * b     = node->src[0];
    const struct ggml_tensor * ids   = node->src[1];
    double                     value = ref_get(node, at);
    *bound                           = 0.0;
    for (int64_t r = 0; r < b->ne[1]; r++) {
        if ((int64_t) ref_get(ids, AT(r, at.i[2] % ids->ne[1], at.i[3] % ids->ne[2], 0)) != at.i[1]) {
            continue;
        }
        const int64_t block = ggml_blck_size(node->type);
        float         values[256], back[256];
        char          bytes[512];
        for (int64_t k = 0; k < block; k++) {
            values[k] = (float) ref_get(b, AT(at.i[0] / block * block + k, r, at.i[2], at.i[3]));
        }
        if (node->type == GGML_TYPE_F32 || node->type == GGML_TYPE_I32) {
            value = (double) values[0];
            continue;
        }
        graft_type_encoder(node->type)(values, bytes, block);
        graft_type_decoder(node->type)(bytes, back, block);
        value = (double) back[at.i[0] % block];
    }
    return value;
}

TEST(set_rows) {
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const enum ggml_type t = (enum ggml_type) type;
        if (ggml_blck_size(t) == 0 || graft_type_encoder(t) == NULL || graft_type_decoder(t) == NULL || is_plain(t) ||
            ggml_quantize_requires_imatrix(t)) {
            continue;
        }
        for (int k = 0; k < 8; k++) {
            const int64_t width = ggml_blck_size(t) > 1 ? 256 : k == 7 ? 1 : 33;
            const int64_t na[4] = {width, 13, 2, 2}, nb[4] = {width, k == 6 ? 0 : 9, 2, 2};
            const int64_t ni[4] = {nb[1], k % 2 ? 2 : 1, k % 3 ? 1 : 2, 1};
            struct drive         d    = drive_begin();
            struct ggml_tensor * a    = drive_tensor(&d, t, na, k < 4 ? DRIVE_PLAIN : DRIVE_SLICED, -9, 9);
            struct ggml_tensor * b    = drive_tensor(&d, k & 1 ? GGML_TYPE_F16 : GGML_TYPE_F32, nb, k < 4 ? DRIVE_PERMUTED : DRIVE_PLAIN, -9, 9);
            struct ggml_tensor * ids  = drive_tensor(&d, k & 2 ? GGML_TYPE_I32 : GGML_TYPE_I64, ni, DRIVE_PLAIN, 0, 13);
            struct ggml_tensor * node = ggml_set_rows(d.ctx, a, b, ids);
            drive_place(&d, node, DRIVE_PLAIN);
            drive_check(&d, node, exact_set, "");
            drive_end(&d);
        }
    }
}

static double exact_add_id(const struct ggml_tensor * node, struct at at, double * bound) {
    const int64_t id   = (int64_t) ref_get(node->src[2], AT(at.i[1], at.i[2], 0, 0));
    const double  want = ref_get(node->src[0], at) + ref_get(node->src[1], AT(at.i[0], id, 0, 0));
    *bound             = 0x1p-23 * fabs(want);
    return want;
}

TEST(add_id) {
    for (int k = 0; k < 4; k++) {
        const int64_t        na[4] = {37, 4, 5, 1}, nb[4] = {37, 8, 1, 1}, ni[4] = {4, 5, 1, 1};
        struct drive         d     = drive_begin();
        struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, na, k % 2 ? DRIVE_SLICED : DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * b     = drive_tensor(&d, GGML_TYPE_F32, nb, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * ids   = drive_tensor(&d, GGML_TYPE_I32, ni, k < 2 ? DRIVE_PLAIN : DRIVE_SLICED, 0, 8);
        struct ggml_tensor * node  = ggml_add_id(d.ctx, a, b, ids);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_add_id, "");
        drive_end(&d);
    }
}

/* ---- indexes that are outside ---- */

static void check_bad(struct drive * d, struct ggml_tensor * node) {
    for (int threads = 1; threads <= 3; threads++) {
        char text[512] = "";
        CHECK(drive_run(d, node, threads, text) == GGML_STATUS_FAILED);
        CHECK_MSG(strstr(text, "outside") != NULL && strstr(text, ggml_op_name(node->op)) != NULL, "text: '%s'", text);
        CHECK(drive_backend(d, node, threads) == GGML_STATUS_FAILED);
        CHECK_MSG(strstr(ggml_ext_last_error(), "outside") != NULL, "text through the backend: '%s'", ggml_ext_last_error());
        CHECK(drive_guards_intact(d));
    }
}

TEST(bad_indexes) {
    static const int32_t bad[] = {8, -1, 20, INT32_MIN, INT32_MAX};
    for (int k = 0; k < 5; k++) {
        const int64_t        rows[4] = {32, 8, 1, 1}, few[4] = {32, 3, 1, 1}, ni[4] = {3, 1, 1, 1};
        struct drive         d       = drive_begin();
        struct ggml_tensor * a       = drive_tensor(&d, GGML_TYPE_F32, rows, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * b       = drive_tensor(&d, GGML_TYPE_F32, few, DRIVE_PLAIN, -9, 9);
        struct ggml_tensor * ids     = drive_tensor(&d, GGML_TYPE_I32, ni, DRIVE_PLAIN, 0, 8);
        ref_set(ids, AT(1, 0, 0, 0), bad[k]);
        struct ggml_tensor * nodes[] = {ggml_get_rows(d.ctx, a, ids), ggml_get_rows_back(d.ctx, b, ids, a), ggml_set_rows(d.ctx, a, b, ids),
                                        ggml_add_id(d.ctx, ggml_reshape_3d(d.ctx, b, 32, 3, 1), a, ggml_reshape_2d(d.ctx, ids, 3, 1))};
        for (int i = 0; i < 4; i++) {
            for (int s = 0; s < 3; s++) {
                struct ggml_tensor * src = nodes[i]->src[s];
                if (src != NULL && src->view_src != NULL) {
                    src->data = src->view_src->data;
                }
            }
            drive_place(&d, nodes[i], DRIVE_PLAIN);
            check_bad(&d, nodes[i]);
        }
        drive_end(&d);
    }
}

/* Nodes whose outer dimensions do not fit, made by hand: no kernel runs them. */
TEST(mismatched_batches) {
    const int64_t        rows[4] = {32, 8, 2, 1}, few[4] = {32, 3, 2, 1}, ni[4] = {3, 2, 1, 1};
    struct drive         d       = drive_begin();
    struct ggml_tensor * a       = drive_tensor(&d, GGML_TYPE_F32, rows, DRIVE_PLAIN, -9, 9);
    struct ggml_tensor * b       = drive_tensor(&d, GGML_TYPE_F32, few, DRIVE_PLAIN, -9, 9);
    struct ggml_tensor * ids     = drive_tensor(&d, GGML_TYPE_I32, ni, DRIVE_PLAIN, 0, 8);
    struct ggml_tensor * get     = ggml_get_rows(d.ctx, a, ids);
    struct ggml_tensor * set     = ggml_set_rows(d.ctx, a, b, ids);
    drive_place(&d, get, DRIVE_PLAIN);
    drive_place(&d, set, DRIVE_PLAIN);
    a->ne[2] = 1;
    CHECK(!ggml_backend_supports_op(drive_cpu(), get));
    CHECK(drive_backend(&d, get, 2) != GGML_STATUS_SUCCESS);
    a->ne[2] = 2;
    b->ne[2] = 5;
    CHECK(!ggml_backend_supports_op(drive_cpu(), set));
    CHECK(drive_backend(&d, set, 2) != GGML_STATUS_SUCCESS);
    drive_end(&d);
}
