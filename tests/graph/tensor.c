/* SPDX-License-Identifier: MIT
 *
 * Descriptors: layout, views, names, flags, what is refused.
 */
#include <inttypes.h>
#include <string.h>

#include "faults.h"
#include "ggml-impl.h"
#include "graft.h"
#include "harness.h"

static struct ggml_context * new_context(bool no_alloc) {
    return ggml_init((struct ggml_init_params) { 1 << 20, NULL, no_alloc });
}

static bool same_nb(const struct ggml_tensor * t, size_t nb0, size_t nb1, size_t nb2, size_t nb3) {
    return t->nb[0] == nb0 && t->nb[1] == nb1 && t->nb[2] == nb2 && t->nb[3] == nb3;
}

static bool same_ne(const struct ggml_tensor * t, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    return t->ne[0] == ne0 && t->ne[1] == ne1 && t->ne[2] == ne2 && t->ne[3] == ne3;
}

TEST(a_new_tensor) {
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor *  t   = ggml_new_tensor_3d(ctx, GGML_TYPE_Q4_0, 64, 3, 5);
    CHECK(same_ne(t, 64, 3, 5, 1));
    CHECK(same_nb(t, 18, 36, 108, 540));
    CHECK(ggml_nbytes(t) == 540 && ggml_nbytes_pad(t) == 544);
    CHECK(t->op == GGML_OP_NONE && t->flags == 0 && t->name[0] == 0 && t->buffer == NULL && t->extra == NULL);
    CHECK(t->view_src == NULL && t->view_offs == 0 && t->data != NULL);
    for (int i = 0; i < GGML_MAX_SRC; i++) {
        CHECK(t->src[i] == NULL);
    }
    for (int i = 0; i < 16; i++) {
        CHECK(t->op_params[i] == 0);
    }
    struct ggml_tensor * copy = ggml_dup_tensor(ctx, ggml_transpose(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 3, 4)));
    CHECK(same_ne(copy, 4, 3, 1, 1) && same_nb(copy, 4, 16, 48, 48) && copy->name[0] == 0 && copy->view_src == NULL);
    const int64_t ne[2] = { 7, 6 };
    CHECK(same_ne(ggml_new_tensor(ctx, GGML_TYPE_I8, 2, ne), 7, 6, 1, 1));
    ggml_free(ctx);
}

TEST(zero_extents) {
    struct ggml_context * ctx = new_context(false);
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        int64_t ne[GGML_MAX_DIMS] = { 3, 4, 5, 6 };
        ne[d]                     = 0;
        struct ggml_tensor * t    = ggml_new_tensor(ctx, GGML_TYPE_F32, 4, ne);
        CHECK(t->data == NULL && ggml_nbytes(t) == 0 && ggml_nelements(t) == 0 && ggml_is_empty(t));
        CHECK(ggml_set_zero(t) == t);
        struct ggml_tensor * view = ggml_view_1d(ctx, t, 0, 1000); /* nowhere, but nothing */
        CHECK(view != NULL && ggml_nbytes(view) == 0);
        CHECK(ggml_reshape_2d(ctx, t, 9, 0) != NULL);
    }
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    CHECK(ggml_view_2d(ctx, t, 4, 0, 16, 32)->data == (char *) t->data + 32);
    ggml_free(ctx);
}

TEST(views_of_views_lead_to_the_root) {
    struct ggml_context * ctx  = new_context(false);
    struct ggml_tensor *  root = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 10, 10), "r");
    struct ggml_tensor *  v1   = ggml_view_2d(ctx, root, 4, 8, root->nb[1], 40);
    struct ggml_tensor *  v2   = ggml_view_1d(ctx, v1, 3, 80);
    struct ggml_tensor *  v3   = ggml_view_tensor(ctx, v2);
    CHECK(same_ne(v1, 4, 8, 1, 1) && same_nb(v1, 4, 40, 320, 320));
    CHECK(v1->view_src == root && v1->view_offs == 40 && v1->src[0] == root && v1->op == GGML_OP_VIEW);
    CHECK(v2->view_src == root && v2->view_offs == 120 && v2->src[0] == v1);
    CHECK(v3->view_src == root && v3->view_offs == 120 && v3->src[0] == NULL && v3->op == GGML_OP_NONE);
    CHECK(same_nb(v2, 4, 12, 12, 12));
    CHECK(v2->data == (char *) root->data + 120);
    size_t offset;
    memcpy(&offset, v2->op_params, sizeof(offset));
    CHECK(offset == 80);
    CHECK(strcmp(v1->name, "r (view)") == 0);
    CHECK(strcmp(v2->name, "r (view) (view)") == 0);
    CHECK(strcmp(v3->name, "r (view) (view) (view)") == 0);
    CHECK(ggml_is_view(v1) && ggml_is_view(v3) && !ggml_is_view(root));
    struct ggml_tensor * v4 = ggml_view_4d(ctx, root, 2, 2, 2, 2, 8, 16, 32, 0);
    CHECK(same_ne(v4, 2, 2, 2, 2) && same_nb(v4, 4, 8, 16, 32));
    struct ggml_tensor * v5 = ggml_view_3d(ctx, root, 2, 2, 3, 8, 16, 0);
    CHECK(same_ne(v5, 2, 2, 3, 1) && same_nb(v5, 4, 8, 16, 48));
    struct ggml_tensor * overlapping = ggml_view_2d(ctx, root, 50, 51, 4, 0); /* windows */
    CHECK(overlapping != NULL && ggml_nbytes(overlapping) == 400);
    ggml_free(ctx);
}

TEST(views_without_data) {
    struct ggml_context * ctx  = new_context(true);
    struct ggml_tensor *  root = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100);
    struct ggml_tensor *  view = ggml_view_1d(ctx, root, 10, 40);
    CHECK(view->data == NULL && view->view_offs == 40);
    CHECK(strcmp(view->name, " (view)") == 0);
    ggml_free(ctx);
}

TEST(reshape_permute_transpose) {
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor *  a   = ggml_set_name(ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 4, 5, 6, 7), "a");
    struct ggml_tensor *  r   = ggml_reshape_3d(ctx, a, 10, 12, 7);
    CHECK(same_ne(r, 10, 12, 7, 1) && same_nb(r, 2, 20, 240, 1680) && r->view_src == a && r->op == GGML_OP_RESHAPE);
    CHECK(strcmp(r->name, "a (reshaped)") == 0);
    CHECK(same_ne(ggml_reshape(ctx, r, a), 4, 5, 6, 7));
    CHECK(same_ne(ggml_reshape_1d(ctx, a, 840), 840, 1, 1, 1));
    CHECK(same_ne(ggml_reshape_2d(ctx, a, 84, 10), 84, 10, 1, 1));
    CHECK(same_ne(ggml_reshape_4d(ctx, a, 7, 6, 5, 4), 7, 6, 5, 4));
    struct ggml_tensor * p = ggml_permute(ctx, a, 2, 0, 3, 1);
    CHECK(same_ne(p, 5, 7, 4, 6) && same_nb(p, 8, 240, 2, 40) && p->op == GGML_OP_PERMUTE);
    CHECK(p->op_params[0] == 2 && p->op_params[1] == 0 && p->op_params[2] == 3 && p->op_params[3] == 1);
    CHECK(strcmp(p->name, "a (permuted)") == 0);
    struct ggml_tensor * t = ggml_transpose(ctx, p);
    CHECK(same_ne(t, 7, 5, 4, 6) && same_nb(t, 240, 8, 2, 40) && t->view_src == a && t->src[0] == p);
    CHECK(strcmp(t->name, "a (permuted) (transposed)") == 0);
    struct ggml_tensor * part = ggml_view_1d(ctx, a, 20, 100);
    CHECK(ggml_reshape_2d(ctx, part, 2, 10)->view_offs == 100);
    /* one row of 64 values becomes 64 rows of one: labels may say so, even of blocks */
    struct ggml_tensor * q = ggml_transpose(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 3));
    CHECK(q != NULL && same_ne(q, 3, 64, 1, 1) && same_nb(q, 68, 34, 204, 204));
    CHECK(ggml_transpose(ctx, q) != NULL);
    ggml_free(ctx);
}

TEST(in_place_results_are_views) {
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor *  a   = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 5), "a");
    struct ggml_tensor *  t   = ggml_transpose(ctx, a);
    struct ggml_tensor *  s   = ggml_add_inplace(ctx, t, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1));
    CHECK(s->view_src == a && same_nb(s, 16, 4, 80, 80));
    CHECK(strcmp(s->name, "a (transposed) (view)") == 0);
    ggml_free(ctx);
}

TEST(names_are_cut) {
    struct ggml_context * ctx = new_context(true);
    struct ggml_tensor *  t   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    char                  longer[200];
    memset(longer, 'x', sizeof(longer));
    longer[199] = 0;
    CHECK(ggml_set_name(t, longer) == t);
    CHECK(strlen(ggml_get_name(t)) == GGML_MAX_NAME - 1);
    ggml_set_name(t, t->name + 60);
    CHECK(strcmp(t->name, "xxx") == 0);
    ggml_format_name(t, "%s-%d", t->name, 5); /* from its own name */
    CHECK(strcmp(t->name, "xxx-5") == 0);
    CHECK(strlen(ggml_view_tensor(ctx, ggml_set_name(t, longer))->name) == GGML_MAX_NAME - 1);
    CHECK(ggml_set_name(NULL, "x") == NULL && ggml_format_name(NULL, "x") == NULL);
    ggml_free(ctx);
}

static void param_of_result(void) {
    struct ggml_context * ctx = new_context(true);
    struct ggml_tensor *  a   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2);
    ggml_set_param(ggml_set_name(ggml_add(ctx, a, a), "sum"));
}

static void loss_of_vector(void) {
    ggml_set_loss(ggml_new_tensor_1d(new_context(true), GGML_TYPE_F32, 2));
}

TEST(flags) {
    struct ggml_context * ctx = new_context(true);
    struct ggml_tensor *  a   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    ggml_set_input(a);
    ggml_set_param(a);
    ggml_set_loss(a);
    CHECK(a->flags == (GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_PARAM | GGML_TENSOR_FLAG_LOSS));
    struct ggml_tensor * b = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    struct ggml_tensor * v = ggml_view_1d(ctx, ggml_view_1d(ctx, b, 4, 0), 2, 0);
    ggml_set_output(v);
    CHECK(v->flags == GGML_TENSOR_FLAG_OUTPUT && b->flags == GGML_TENSOR_FLAG_OUTPUT);
    CHECK_ABORTS(param_of_result, "ggml_set_param: 'sum' is the result of ADD");
    CHECK_ABORTS(loss_of_vector, "must be one f32, found f32 [2, 1, 1, 1]");
    ggml_free(ctx);
}

TEST(setting_zero_follows_the_bytes) {
    struct ggml_context * ctx = new_context(false);
    struct ggml_tensor *  a   = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 100);
    memset(a->data, 1, 100);
    ggml_set_zero(ggml_view_1d(ctx, a, 50, 25));
    for (int i = 0; i < 100; i++) {
        CHECK(((const char *) a->data)[i] == (i < 25 || i >= 75));
    }
    ggml_free(ctx);
}

TEST(indexes_are_unravelled) {
    const struct ggml_tensor t = { .ne = { 3, 4, 5, 6 } };
    int64_t                  i0, i1, i2, i3;
    for (int64_t i = 0; i < 3 * 4 * 5 * 6; i++) {
        ggml_unravel_index(&t, i, &i0, &i1, &i2, &i3);
        CHECK(i == i0 + 3 * (i1 + 4 * (i2 + 5 * i3)) && i0 < 3 && i1 < 4 && i2 < 5 && i3 < 6);
    }
    ggml_unravel_index(&t, 77, NULL, NULL, &i2, NULL);
    CHECK(i2 == 1);
}

/* ---- refused ---- */

struct bad_shape {
    int          type;
    int64_t      ne[4];
    const char * text;
};

static const struct bad_shape bad_shapes[] = {
    { GGML_TYPE_F32, { -1, 1, 1, 1 }, "extent 0 of [-1, 1, 1, 1] is negative" },
    { GGML_TYPE_F32, { 1, 1, 1, INT64_MIN }, "extent 3" },
    { GGML_TYPE_F32, { INT64_C(1) << 62, 1, 1, 1 }, "more than 2^63 elements or bytes" },
    { GGML_TYPE_I8, { INT64_MAX, 2, 1, 1 }, "more than 2^63 elements or bytes" },
    { GGML_TYPE_I8, { INT64_C(1) << 32, INT64_C(1) << 32, 1, 1 }, "more than 2^63 elements or bytes" },
    { GGML_TYPE_I8, { 0, INT64_C(1) << 62, INT64_C(1) << 62, 1 }, "more than 2^63 elements or bytes" },
    { GGML_TYPE_F64, { 1, INT64_C(1) << 20, INT64_C(1) << 20, INT64_C(1) << 21 }, "more than 2^63 elements or bytes" },
    { GGML_TYPE_Q4_0, { 33, 1, 1, 1 }, "no whole blocks of 32 q4_0 values" },
    { GGML_TYPE_Q4_K, { 128, 1, 1, 1 }, "no whole blocks of 256 q4_K values" },
    { 4, { 32, 1, 1, 1 }, "4 is no type of tensors" },
    { -1, { 32, 1, 1, 1 }, "-1 is no type of tensors" },
    { GGML_TYPE_COUNT, { 32, 1, 1, 1 }, "is no type of tensors" },
    { 1 << 30, { 32, 1, 1, 1 }, "is no type of tensors" },
};

TEST(bad_shapes_are_refused_with_a_text) {
    struct ggml_context * ctx = new_context(true);
    for (size_t i = 0; i < sizeof(bad_shapes) / sizeof(bad_shapes[0]); i++) {
        const struct bad_shape * bad = &bad_shapes[i];
        graft_set_checked(ctx, true);
        CHECK(ggml_new_tensor(ctx, (enum ggml_type) bad->type, 4, bad->ne) == NULL);
        CHECK_MSG(strstr(graft_context_error(ctx), bad->text) != NULL, "'%s' not in '%s'", bad->text,
                  graft_context_error(ctx));
    }
    graft_set_checked(ctx, true);
    CHECK(ggml_new_tensor(ctx, GGML_TYPE_F32, 5, bad_shapes[0].ne) == NULL);
    CHECK(ggml_new_tensor(ctx, GGML_TYPE_F32, 0, bad_shapes[0].ne) == NULL);
    CHECK(strstr(graft_context_error(ctx), "1 to 4 dimensions expected, found 5") != NULL);
    CHECK(ggml_used_mem(ctx) == 0);
    /* it fits 63 bits, but no arena */
    graft_set_checked(ctx, true);
    CHECK(ggml_new_tensor_1d(ctx, GGML_TYPE_I8, INT64_MAX) != NULL);
    ggml_set_no_alloc(ctx, false);
    CHECK(ggml_new_tensor_1d(ctx, GGML_TYPE_I8, INT64_MAX) == NULL);
    CHECK(graft_context_status(ctx) == GGML_STATUS_ALLOC_FAILED);
    ggml_free(ctx);
}

static void huge(void) {
    ggml_new_tensor_2d(new_context(true), GGML_TYPE_F32, INT64_C(1) << 62, 4);
}

static void negative(void) {
    ggml_new_tensor_1d(new_context(true), GGML_TYPE_F32, -5);
}

TEST(bad_shapes_abort_with_a_text) {
    CHECK_ABORTS(huge, "f32 [4611686018427387904, 4, 1, 1] has more than 2^63 elements or bytes");
    CHECK_ABORTS(negative, "extent 0 of [-5, 1, 1, 1] is negative");
}

/* Each makes a view of 1000 f32 with a fault. */
static struct ggml_tensor * view_too_long(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_1d(ctx, a, 1001, 0);
}
static struct ggml_tensor * view_too_far(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_1d(ctx, a, 1, 4000);
}
static struct ggml_tensor * view_one_byte_too_far(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_1d(ctx, a, 999, 5);
}
static struct ggml_tensor * view_wrapping_offset(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_1d(ctx, a, 10, SIZE_MAX - 19);
}
static struct ggml_tensor * view_of_view_too_far(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_1d(ctx, ggml_view_1d(ctx, a, 10, 3960), 10, 4);
}
static struct ggml_tensor * view_strides_too_great(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_2d(ctx, a, 10, 10, 444, 0); /* the last row ends at 4036; 400 bytes would fit */
}
static struct ggml_tensor * view_negative_stride(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_2d(ctx, a, 10, 2, (size_t) -64, 100);
}
static struct ggml_tensor * view_hidden_negative_stride(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_3d(ctx, a, 4, 4, 4, (size_t) -64, 192, 0); /* the far corner is inside */
}
static struct ggml_tensor * view_negative_extent(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_2d(ctx, a, 10, -3, 40, 0);
}
static struct ggml_tensor * view_huge_stride(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_view_4d(ctx, a, 2, 2, 2, 2, SIZE_MAX / 2, SIZE_MAX / 2, 8, 0);
}
static struct ggml_tensor * reshape_to_other_number(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_reshape_2d(ctx, a, 30, 30);
}
static struct ggml_tensor * reshape_negative(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_reshape_2d(ctx, a, -100, -10);
}
static struct ggml_tensor * reshape_overflowing(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_reshape_3d(ctx, a, INT64_C(1) << 62, 4, 1000);
}
static struct ggml_tensor * reshape_of_transposed(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_reshape_1d(ctx, ggml_transpose(ctx, ggml_reshape_2d(ctx, a, 100, 10)), 1000);
}
static struct ggml_tensor * permute_twice_the_same(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_permute(ctx, a, 0, 1, 1, 3);
}
static struct ggml_tensor * permute_out_of_range(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_permute(ctx, a, 0, 1, 2, 4);
}
static struct ggml_tensor * permute_negative(struct ggml_context * ctx, struct ggml_tensor * a) {
    return ggml_permute(ctx, a, -1, 1, 2, 3);
}

static const struct {
    struct ggml_tensor * (*build)(struct ggml_context * ctx, struct ggml_tensor * a);
    const char * text;
} bad_labels[] = {
    { view_too_long, "VIEW: a view of 4004 bytes at offset 0" },
    { view_too_far, "leaves the 4000 bytes of 'a'" },
    { view_one_byte_too_far, "leaves the 4000 bytes of 'a'" },
    { view_wrapping_offset, "leaves the 4000 bytes of 'a'" },
    { view_of_view_too_far, "at offset 4 (of its source: 3960) leaves the 4000 bytes of 'a'" },
    { view_strides_too_great, "a view of 4036 bytes" },
    { view_negative_stride, "do not fit in memory" },
    { view_hidden_negative_stride, "do not fit in memory" },
    { view_negative_extent, "is negative" },
    { view_huge_stride, "do not fit in memory" },
    { reshape_to_other_number,
      "must have equally many elements (result f32 [30, 30, 1, 1]; source 0 'a' f32 [1000, 1, 1, 1])" },
    { reshape_negative, "is negative" },
    { reshape_overflowing, "more than 2^63" },
    { reshape_of_transposed, "must be contiguous" },
    { permute_twice_the_same, "PERMUTE: the axes must be 0, 1, 2, 3 in any order, found 0, 1, 1, 3" },
    { permute_out_of_range, "found 0, 1, 2, 4" },
    { permute_negative, "found -1, 1, 2, 3" },
};

TEST(bad_labels_are_refused_with_a_text) {
    for (size_t i = 0; i < sizeof(bad_labels) / sizeof(bad_labels[0]); i++) {
        struct ggml_context * ctx = new_context(false);
        graft_set_checked(ctx, true);
        struct ggml_tensor * a = ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1000), "a");
        CHECK_MSG(bad_labels[i].build(ctx, a) == NULL, "label %zu was accepted", i);
        CHECK(graft_context_status(ctx) == GGML_STATUS_FAILED);
        CHECK_MSG(strstr(graft_context_error(ctx), bad_labels[i].text) != NULL, "'%s' not in '%s'", bad_labels[i].text,
                  graft_context_error(ctx));
        ggml_free(ctx);
    }
}
