/* SPDX-License-Identifier: MIT
 *
 * Builders in checked mode: wrong arguments give NULL and a text that names the operator and the tensors; NULL gives
 * NULL; the first error is kept; nothing is left in the context.
 */
#include <stdlib.h>

#include "cases.h"
#include "graft.h"
#include "harness.h"

/* A context of its own for each call, so that each shows its own error. The input macros take it from a variable called
 * c. */
static void begin(struct cases * c) {
    memset(c, 0, sizeof(*c));
    c->ctx = ggml_init((struct ggml_init_params){.mem_size = 1 << 20, .no_alloc = true});
    graft_set_checked(c->ctx, true);
}

static void end(struct cases * c, const char * call, const struct ggml_tensor * result, const char * op,
                const char * about) {
    const char * text = graft_context_error(c->ctx);
    CHECK_MSG(result == NULL, "%s gives a node", call);
    CHECK_MSG(graft_context_status(c->ctx) == GGML_STATUS_FAILED, "%s: status %d", call,
              (int) graft_context_status(c->ctx));
    CHECK_MSG(strstr(text, op) != NULL, "%s: '%s' does not name %s", call, text, op);
    CHECK_MSG(strstr(text, about) != NULL, "%s: '%s' does not say '%s'", call, text, about);
    ggml_free(c->ctx);
    harness_count_run(1);
}

/* The call must be refused with a text that has these two parts. */
#define REFUSED(op, about, call)               \
    do {                                       \
        struct cases case_, *c = &case_;       \
        begin(c);                              \
        struct ggml_context * ctx    = c->ctx; \
        struct ggml_tensor *  result = call;   \
        end(c, #call, result, op, about);      \
    } while (0)

TEST(copies) {
    REFUSED("CPY", "same number of elements", ggml_cpy(ctx, F32("a", 4, 3, 1, 1), F32("b", 4, 4, 1, 1)));
    REFUSED("CPY", "'a'", ggml_cpy(ctx, F32("a", 4, 3, 1, 1), F32("b", 4, 4, 1, 1)));
    REFUSED("CPY", "f32 [4, 3, 1, 1]", ggml_cpy(ctx, F32("a", 4, 3, 1, 1), F32("b", 4, 4, 1, 1)));
    REFUSED("CPY", "q4_0", ggml_cast(ctx, F32("a", 48, 3, 1, 1), GGML_TYPE_Q4_0));
    REFUSED("CPY", "type", ggml_cast(ctx, F32("a", 48, 3, 1, 1), (enum ggml_type) 99));
    REFUSED("CONT", "same number of elements", ggml_cont_2d(ctx, F32("a", 4, 3, 1, 1), 5, 3));
    REFUSED("CONT", "", ggml_cont_4d(ctx, F32("a", 4, 3, 1, 1), INT64_MAX, INT64_MAX, 3, 3));
    REFUSED("CONT", "", ggml_cont_2d(ctx, F32("a", 4, 3, 1, 1), -4, -3));
}

TEST(arithmetic) {
    REFUSED("ADD", "multiples", ggml_add(ctx, F32("a", 6, 4, 1, 1), F32("b", 4, 4, 1, 1)));
    REFUSED("SUB", "source 1 'b' f32 [6, 4, 2, 1]", ggml_sub(ctx, F32("a", 6, 4, 1, 1), F32("b", 6, 4, 2, 1)));
    REFUSED("MUL", "multiples", ggml_mul_inplace(ctx, F32("a", 6, 4, 1, 1), F32("b", 6, 3, 1, 1)));
    REFUSED("DIV", "multiples", ggml_div(ctx, F32("a", 6, 4, 1, 1), F32("b", 0, 4, 1, 1)));
    REFUSED("ADD", "quantized, f16 or bf16",
            ggml_add_cast(ctx, F32("a", 6, 4, 1, 1), F32("b", 6, 4, 1, 1), GGML_TYPE_F16));
    REFUSED("ADD", "one length", ggml_add_cast(ctx, F16("a", 6, 4, 1, 1), F32("b", 3, 4, 1, 1), GGML_TYPE_F32));
    REFUSED("ADD_ID", "one length",
            ggml_add_id(ctx, F32("a", 8, 4, 5, 1), F32("b", 7, 16, 1, 1), I32("ids", 4, 5, 1, 1)));
    REFUSED("ADD_ID", "ids", ggml_add_id(ctx, F32("a", 8, 4, 5, 1), F32("b", 8, 16, 1, 1), I32("ids", 4, 6, 1, 1)));
    REFUSED("ADD_ID", "i32", ggml_add_id(ctx, F32("a", 8, 4, 5, 1), F32("b", 8, 16, 1, 1), F32("ids", 4, 5, 1, 1)));
    REFUSED("ADD1", "scalar", ggml_add1(ctx, F32("a", 8, 4, 1, 1), F32("b", 2, 1, 1, 1)));
    REFUSED("ADD1", "contiguous rows", ggml_add1(ctx, ggml_transpose(ctx, F32("a", 8, 4, 1, 1)), F32("b", 1, 1, 1, 1)));
    REFUSED("SCALE", "contiguous rows", ggml_scale(ctx, permuted(c, "a", GGML_TYPE_F32, 4, 3, 5, 1), 2.0f));
    REFUSED("CONCAT", "dimension 4", ggml_concat(ctx, F32("a", 8, 4, 1, 1), F32("b", 8, 4, 1, 1), 4));
    REFUSED("CONCAT", "dimension -1", ggml_concat(ctx, F32("a", 8, 4, 1, 1), F32("b", 8, 4, 1, 1), -1));
    REFUSED("CONCAT", "same extents", ggml_concat(ctx, F32("a", 8, 4, 1, 1), F32("b", 7, 4, 1, 1), 1));
    REFUSED("CONCAT", "f32", ggml_concat(ctx, F32("a", 8, 4, 1, 1), F16("b", 8, 4, 1, 1), 1));
    REFUSED("SILU_BACK", "one shape", ggml_silu_back(ctx, F32("dy", 8, 4, 1, 1), F32("x", 8, 5, 1, 1)));
    REFUSED("UNARY", "no unary function", ggml_unary(ctx, F32("a", 8, 4, 1, 1), GGML_UNARY_OP_COUNT));
    REFUSED("UNARY", "contiguous rows", ggml_silu(ctx, ggml_transpose(ctx, F32("a", 8, 4, 1, 1))));
    REFUSED("GLU", "no gated function", ggml_glu(ctx, F32("a", 8, 4, 1, 1), (enum ggml_glu_op) - 1, false));
    REFUSED("GLU", "one shape", ggml_swiglu_split(ctx, F32("a", 8, 4, 1, 1), F32("b", 8, 5, 1, 1)));
    REFUSED("GLU", "f32", ggml_swiglu_split(ctx, F32("a", 8, 4, 1, 1), F16("b", 8, 4, 1, 1)));
    REFUSED("GLU", "contiguous", ggml_swiglu(ctx, ggml_transpose(ctx, F32("a", 8, 4, 1, 1))));
}

/* Strides and offset of a region of four extents: whatever would leave the destination is refused, however it wraps. */
TEST(regions) {
#define REGION(b1, b2, b3, nb1, nb2, nb3, offset)                                                                  \
    REFUSED("SET", "region", ggml_set(ctx, F32("a", 4, 4, 4, 1), F32("b", 4, b1, b2, b3), nb1, nb2, nb3, offset)); \
    REFUSED("ACC", "region", ggml_acc(ctx, F32("a", 4, 4, 4, 1), F32("b", 4, b1, b2, b3), nb1, nb2, nb3, offset)); \
    REFUSED("SET", "region",                                                                                       \
            ggml_set_inplace(ctx, F32("a", 4, 4, 4, 1), F32("b", 4, b1, b2, b3), nb1, nb2, nb3, offset));          \
    REFUSED("ACC", "region",                                                                                       \
            ggml_acc_inplace(ctx, F32("a", 4, 4, 4, 1), F32("b", 4, b1, b2, b3), nb1, nb2, nb3, offset))
    REGION(2, 2, 1, (size_t) -64, 128, 256, 64); /* the corner lies inside, row 1 of plane 0 before the start */
    REGION(2, 2, 1, 16, (size_t) -64, 256, 64);
    REGION(2, 2, 1, 16, 64, 0, 256 - 64);              /* one row too far */
    REGION(2, 1, 1, (size_t) 1 << 32, 0, 0, 0);        /* 0 in 32 bits */
    REGION(2, 1, 1, ((size_t) 1 << 32) + 16, 0, 0, 0); /* 16 in 32 bits */
    REGION(1, 1, 1, 16, 64, 256, 244);                 /* the row itself */
    REGION(1, 1, 1, 16, 64, 256, (size_t) -16);
    REGION(1, 1, 1, 16, 64, 256, (size_t) 1 << 32);
    REGION(2, 2, 2, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX);
#undef REGION
    REFUSED("SET", "more elements", ggml_set_1d(ctx, F32("a", 4, 4, 1, 1), F32("b", 17, 1, 1, 1), 0));
    REFUSED("SET", "i32", ggml_set_1d(ctx, I32("a", 4, 4, 1, 1), F16("b", 4, 1, 1, 1), 0));
    REFUSED("ACC", "f32", ggml_acc(ctx, F16("a", 4, 4, 1, 1), F32("b", 4, 1, 1, 1), 16, 64, 64, 0));
    REFUSED("ACC", "f32", ggml_acc(ctx, F32("a", 4, 4, 1, 1), F16("b", 4, 1, 1, 1), 16, 64, 64, 0));
    REFUSED("ACC", "contiguous",
            ggml_acc(ctx, ggml_transpose(ctx, F32("a", 4, 5, 1, 1)), F32("b", 4, 1, 1, 1), 16, 64, 64, 0));
}

/* What is not used may be anything: a stride beyond 32 bits of an extent of 1, as in a large cache. */
TEST(regions_unused_strides) {
    struct cases case_, *c = &case_;
    begin(c);
    const size_t huge = ((size_t) 1 << 40) + 3;
    CHECK(ggml_set(c->ctx, F32("a", 4, 4, 4, 1), F32("b", 4, 2, 1, 1), 16, huge, (size_t) -1, 224) != NULL);
    CHECK(ggml_set(c->ctx, F32("a", 4, 4, 4, 1), F32("b", 4, 2, 0, 1), huge, huge, huge, 0) != NULL);
    ggml_free(c->ctx);
}

TEST(rows) {
    REFUSED("GET_ROWS", "indices", ggml_get_rows(ctx, F32("a", 8, 10, 4, 3), I32("ids", 6, 3, 3, 1)));
    REFUSED("GET_ROWS", "indices", ggml_get_rows(ctx, F32("a", 8, 10, 4, 3), I32("ids", 6, 4, 2, 1)));
    REFUSED("GET_ROWS", "indices", ggml_get_rows(ctx, F32("a", 8, 10, 4, 3), I32("ids", 6, 4, 3, 2)));
    REFUSED("GET_ROWS", "i32", ggml_get_rows(ctx, F32("a", 8, 10, 1, 1), F32("ids", 6, 1, 1, 1)));
    REFUSED("GET_ROWS_BACK", "row for each index",
            ggml_get_rows_back(ctx, F32("dy", 8, 9, 1, 1), I32("ids", 10, 1, 1, 1), F32("x", 8, 10, 1, 1)));
    REFUSED("GET_ROWS_BACK", "matrix",
            ggml_get_rows_back(ctx, F32("dy", 8, 9, 2, 1), I32("ids", 9, 1, 1, 1), F32("x", 8, 10, 1, 1)));
    REFUSED("GET_ROWS_BACK", "as long",
            ggml_get_rows_back(ctx, F32("dy", 8, 9, 1, 1), I32("ids", 9, 1, 1, 1), F32("x", 7, 10, 1, 1)));
    REFUSED("SET_ROWS", "ne1 alone",
            ggml_set_rows(ctx, F32("a", 8, 10, 4, 1), F32("b", 8, 3, 2, 1), I32("ids", 3, 1, 1, 1)));
    REFUSED("SET_ROWS", "for each row",
            ggml_set_rows(ctx, F32("a", 8, 10, 1, 1), F32("b", 8, 3, 1, 1), I32("ids", 4, 1, 1, 1)));
    REFUSED("SET_ROWS", "multiples",
            ggml_set_rows(ctx, F32("a", 8, 10, 4, 1), F32("b", 8, 3, 4, 1), I32("ids", 3, 3, 1, 1)));
    REFUSED("SET_ROWS", "f32 or f16",
            ggml_set_rows(ctx, F32("a", 8, 10, 1, 1), I32("b", 8, 3, 1, 1), I32("ids", 3, 1, 1, 1)));
    REFUSED("SET_ROWS", "i64 or i32",
            ggml_set_rows(ctx, F32("a", 8, 10, 1, 1), F32("b", 8, 3, 1, 1), F32("ids", 3, 1, 1, 1)));
    REFUSED(
        "SET_ROWS", "contiguous rows",
        ggml_set_rows(ctx, ggml_transpose(ctx, F32("a", 10, 8, 1, 1)), F32("b", 8, 3, 1, 1), I32("ids", 3, 1, 1, 1)));
}

TEST(products) {
    REFUSED("MUL_MAT", "one length", ggml_mul_mat(ctx, F32("w", 64, 8, 1, 1), F32("x", 32, 2, 1, 1)));
    REFUSED("MUL_MAT", "'w' f32 [64, 8, 1, 1]", ggml_mul_mat(ctx, F32("w", 64, 8, 1, 1), F32("x", 32, 2, 1, 1)));
    REFUSED("MUL_MAT", "multiples", ggml_mul_mat(ctx, F32("w", 64, 8, 2, 1), F32("x", 64, 2, 3, 1)));
    REFUSED("MUL_MAT", "multiples", ggml_mul_mat(ctx, F32("w", 64, 8, 0, 1), F32("x", 64, 2, 3, 1)));
    REFUSED("MUL_MAT", "transposed",
            ggml_mul_mat(ctx, ggml_transpose(ctx, F32("w", 8, 64, 1, 1)), F32("x", 64, 2, 1, 1)));
    REFUSED("MUL_MAT_ID", "row for each",
            ggml_mul_mat_id(ctx, F32("w", 64, 8, 4, 1), F32("x", 64, 1, 5, 1), I32("ids", 2, 4, 1, 1)));
    REFUSED("MUL_MAT_ID", "multiple",
            ggml_mul_mat_id(ctx, F32("w", 64, 8, 4, 1), F32("x", 64, 2, 5, 1), I32("ids", 3, 5, 1, 1)));
    REFUSED("MUL_MAT_ID", "i32",
            ggml_mul_mat_id(ctx, F32("w", 64, 8, 4, 1), F32("x", 64, 1, 5, 1), F32("ids", 2, 5, 1, 1)));
    REFUSED("OUT_PROD", "number of rows", ggml_out_prod(ctx, F32("a", 6, 4, 1, 1), F32("b", 7, 5, 1, 1)));
    REFUSED("SOLVE_TRI", "square", ggml_solve_tri(ctx, F32("a", 6, 5, 1, 1), F32("b", 4, 5, 1, 1), true, true, false));
    REFUSED("solve_tri", "lower", ggml_solve_tri(ctx, F32("a", 6, 6, 1, 1), F32("b", 4, 6, 1, 1), true, false, false));
    REFUSED("DIAG", "diagonal", ggml_diag(ctx, F32("a", 6, 2, 1, 1)));
    REFUSED("TRI", "square", ggml_tri(ctx, F32("a", 6, 2, 1, 1), GGML_TRI_TYPE_LOWER));
    REFUSED("TRI", "triangle", ggml_tri(ctx, F32("a", 6, 6, 1, 1), (enum ggml_tri_type) 4));
}

TEST(attention) {
    REFUSED("SOFT_MAX", "mask", ggml_soft_max_ext(ctx, F32("a", 6, 4, 1, 1), F32("m", 5, 4, 1, 1), 1.0f, 0.0f));
    REFUSED("SOFT_MAX", "mask", ggml_soft_max_ext(ctx, F32("a", 6, 4, 1, 1), F32("m", 6, 3, 1, 1), 1.0f, 0.0f));
    REFUSED("SOFT_MAX", "mask", ggml_soft_max_ext(ctx, F32("a", 6, 4, 3, 1), F32("m", 6, 4, 2, 1), 1.0f, 0.0f));
    REFUSED("SOFT_MAX", "mask", ggml_soft_max_ext(ctx, F32("a", 6, 4, 1, 1), I32("m", 6, 4, 1, 1), 1.0f, 0.0f));
    REFUSED("SOFT_MAX", "max_bias", ggml_soft_max_ext(ctx, F32("a", 6, 4, 1, 1), NULL, 1.0f, 8.0f));
    REFUSED("SOFT_MAX", "contiguous", ggml_soft_max(ctx, permuted(c, "a", GGML_TYPE_F32, 4, 3, 5, 1)));
    REFUSED("SOFT_MAX_BACK", "one shape",
            ggml_soft_max_ext_back(ctx, F32("dy", 6, 4, 1, 1), F32("y", 6, 5, 1, 1), 1.0f, 0.0f));
#define FLASH(about, q, k, v, mask, bias) \
    REFUSED("FLASH_ATTN_EXT", about, ggml_flash_attn_ext(ctx, q, k, v, mask, 1.0f, bias, 0.0f))
    FLASH("one length", F32("q", 64, 7, 8, 1), F16("k", 32, 9, 2, 1), F16("v", 64, 9, 2, 1), NULL, 0.0f);
    FLASH("number of rows", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 8, 2, 1), NULL, 0.0f);
    FLASH("heads", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 3, 1), F16("v", 64, 9, 3, 1), NULL, 0.0f);
    FLASH("heads", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 3, 1), NULL, 0.0f);
    FLASH("ne3", F32("q", 64, 7, 8, 2), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 2, 2), NULL, 0.0f);
    FLASH("f16", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 2, 1), F32("m", 9, 7, 1, 1), 0.0f);
    FLASH("mask", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 2, 1), F16("m", 8, 7, 1, 1), 0.0f);
    FLASH("mask", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 2, 1), F16("m", 9, 6, 1, 1), 0.0f);
    FLASH("mask", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 2, 1), F16("m", 9, 7, 3, 1), 0.0f);
    FLASH("max_bias", F32("q", 64, 7, 8, 1), F16("k", 64, 9, 2, 1), F16("v", 64, 9, 2, 1), NULL, 8.0f);
#undef FLASH
    REFUSED("flash_attn_back", "gradient",
            ggml_flash_attn_back(ctx, F32("q", 8, 8, 1, 1), F32("k", 8, 8, 1, 1), F32("v", 8, 8, 1, 1),
                                 F32("d", 8, 8, 1, 1), false));
    REFUSED("ROPE", "no longer", ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 64, 1));
    REFUSED("ROPE", "positions", ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 8, 1, 1, 1), 64, 0));
    REFUSED("ROPE", "positions",
            ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 64, GGML_ROPE_TYPE_MROPE));
    REFUSED("ROPE", "i32", ggml_rope(ctx, F32("a", 64, 8, 7, 1), F32("pos", 7, 1, 1, 1), 64, 0));
    REFUSED("ROPE", "leave", ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 66, 0));
    REFUSED("ROPE", "even", ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 33, 0));
    REFUSED("ROPE", "even", ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), -2, 0));
    REFUSED("ROPE_BACK", "factors",
            ggml_rope_ext_back(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), F32("f", 31, 1, 1, 1), 64, 0, 0,
                               1e4f, 1.0f, 0.0f, 1.0f, 0.0f, 0.0f));
}

TEST(reductions) {
    REFUSED("ARGMAX", "matrix", ggml_argmax(ctx, F32("a", 6, 4, 2, 1)));
    REFUSED("COUNT_EQUAL", "one shape", ggml_count_equal(ctx, I32("a", 6, 4, 1, 1), I32("b", 6, 5, 1, 1)));
    REFUSED("CUMSUM", "f32", ggml_cumsum(ctx, F16("a", 6, 4, 1, 1)));
    REFUSED("REPEAT", "multiples", ggml_repeat(ctx, F32("a", 6, 4, 1, 1), F32("b", 6, 5, 1, 1)));
    REFUSED("REPEAT", "", ggml_repeat_4d(ctx, F32("a", 6, 4, 1, 1), 6, -4, 1, 1));
    REFUSED("REPEAT_BACK", "multiples", ggml_repeat_back(ctx, F32("a", 6, 4, 1, 1), F32("b", 4, 4, 1, 1)));
    REFUSED("GROUP_NORM", "groups", ggml_group_norm(ctx, F32("a", 6, 4, 8, 1), 0, 1e-6f));
    REFUSED("RMS_NORM_BACK", "one shape", ggml_rms_norm_back(ctx, F32("dy", 6, 4, 1, 1), F32("x", 6, 4, 2, 1), 1e-6f));
    REFUSED("ARGSORT", "no order", ggml_argsort(ctx, F32("a", 6, 4, 1, 1), (enum ggml_sort_order) 2));
    REFUSED("TOP_K", "no more values", ggml_top_k(ctx, F32("a", 6, 4, 1, 1), 7));
    REFUSED("argsort_top_k", "7 values", ggml_argsort_top_k(ctx, F32("a", 6, 4, 1, 1), 7));
    REFUSED("CROSS_ENTROPY_LOSS", "one shape",
            ggml_cross_entropy_loss(ctx, F32("a", 6, 4, 1, 1), F32("b", 6, 5, 1, 1)));
    REFUSED("CROSS_ENTROPY_LOSS_BACK", "scalar",
            ggml_cross_entropy_loss_back(ctx, F32("dy", 2, 1, 1, 1), F32("a", 6, 4, 1, 1), F32("b", 6, 4, 1, 1)));
}

TEST(images) {
    REFUSED("IM2COL", "channels",
            ggml_im2col(ctx, F16("a", 3, 3, 4, 5), F32("b", 9, 9, 3, 1), 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F16));
    REFUSED("IM2COL", "too small",
            ggml_im2col(ctx, F16("a", 3, 3, 4, 5), F32("b", 2, 9, 4, 1), 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F16));
    REFUSED("IM2COL", "stride",
            ggml_im2col(ctx, F16("a", 3, 3, 4, 5), F32("b", 9, 9, 4, 1), 0, 1, 0, 0, 1, 1, true, GGML_TYPE_F16));
    REFUSED(
        "IM2COL", "stride",
        ggml_im2col(ctx, F16("a", 3, 3, 4, 5), F32("b", 9, 9, 4, 1), 1, 1, INT32_MIN, 0, 1, 1, true, GGML_TYPE_F16));
    REFUSED("IM2COL_BACK", "source 0",
            ggml_im2col_back(ctx, F32("dy", 36, 7, 6, 1), F32("a", 3, 3, 4, 5), (int64_t[]){9, 9, 4, 1}, 1, 1, 0, 0, 1,
                             1, true));
    REFUSED(
        "IM2COL_3D", "channels",
        ggml_im2col_3d(ctx, F16("a", 3, 3, 3, 8), F32("b", 9, 9, 9, 8), 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, GGML_TYPE_F16));
    REFUSED("CONV_2D", "channels",
            ggml_conv_2d_direct(ctx, F16("a", 3, 3, 4, 5), F32("b", 9, 9, 3, 1), 1, 1, 0, 0, 1, 1));
    REFUSED("CONV_2D_DW", "channel",
            ggml_conv_2d_dw_direct(ctx, F16("a", 3, 3, 1, 5), F32("b", 9, 9, 4, 1), 1, 1, 0, 0, 1, 1));
    REFUSED("CONV_3D", "ne3",
            ggml_conv_3d_direct(ctx, F16("a", 3, 3, 3, 8), F32("b", 9, 9, 9, 4), 1, 1, 1, 0, 0, 0, 1, 1, 1, 4, 1, 3));
    REFUSED("CONV_TRANSPOSE_1D", "padding",
            ggml_conv_transpose_1d(ctx, F16("a", 3, 5, 4, 1), F32("b", 10, 4, 1, 1), 2, 1, 1));
    REFUSED("CONV_TRANSPOSE_1D", "channels",
            ggml_conv_transpose_1d(ctx, F16("a", 3, 5, 4, 1), F32("b", 10, 3, 1, 1), 2, 0, 1));
    REFUSED("CONV_TRANSPOSE_2D", "channels",
            ggml_conv_transpose_2d_p0(ctx, F16("a", 2, 2, 5, 4), F32("b", 3, 2, 3, 2), 2));
    REFUSED("CONV_TRANSPOSE_2D", "stride",
            ggml_conv_transpose_2d_p0(ctx, F16("a", 2, 2, 5, 4), F32("b", 3, 2, 4, 2), 0));
    REFUSED("COL2IM_1D", "multiple", ggml_col2im_1d(ctx, F32("a", 25, 10, 1, 1), 2, 6, 1));
    REFUSED("COL2IM_1D", "leaves nothing", ggml_col2im_1d(ctx, F32("a", 24, 1, 1, 1), 1, 6, 2));
    REFUSED("POOL_1D", "window", ggml_pool_1d(ctx, F32("a", 5, 4, 1, 1), GGML_OP_POOL_MAX, 6, 1, 0));
    REFUSED("POOL_1D", "pooling", ggml_pool_1d(ctx, F32("a", 5, 4, 1, 1), GGML_OP_POOL_COUNT, 2, 1, 0));
    REFUSED("POOL_2D", "windows", ggml_pool_2d(ctx, F32("a", 5, 4, 1, 1), GGML_OP_POOL_MAX, 2, 2, 0, 1, 0.0f, 0.0f));
    REFUSED("POOL_2D", "windows", ggml_pool_2d(ctx, F32("a", 5, 4, 1, 1), GGML_OP_POOL_MAX, 2, 2, 1, 1, 1e30f, 0.0f));
    REFUSED(
        "POOL_2D_BACK", "windows",
        ggml_pool_2d_back(ctx, F32("dy", 7, 4, 1, 1), F32("x", 5, 4, 1, 1), GGML_OP_POOL_MAX, 2, 2, 1, 1, 0.0f, 0.0f));
    REFUSED("upscale", "factor", ggml_upscale(ctx, F32("a", 5, 4, 1, 1), 1, GGML_SCALE_MODE_NEAREST));
    REFUSED("UPSCALE", "mode", ggml_interpolate(ctx, F32("a", 5, 4, 1, 1), 9, 9, 1, 1, 3));
    REFUSED("UPSCALE", "antialias", ggml_interpolate(ctx, F32("a", 5, 4, 1, 1), 9, 9, 1, 1, GGML_SCALE_FLAG_ANTIALIAS));
    REFUSED("UPSCALE", "f32", ggml_interpolate(ctx, F16("a", 5, 4, 1, 1), 9, 9, 1, 1, 0));
    REFUSED("PAD", "negative", ggml_pad(ctx, F32("a", 5, 4, 1, 1), -1, 0, 0, 0));
    REFUSED("PAD_REFLECT_1D", "less than", ggml_pad_reflect_1d(ctx, F32("a", 5, 4, 1, 1), 5, 0));
    REFUSED("ROLL", "shift", ggml_roll(ctx, F32("a", 5, 4, 1, 1), 0, -4, 0, 0));
    REFUSED("ROLL", "shift", ggml_roll(ctx, F32("a", 5, 4, 1, 1), INT32_MIN, 0, 0, 0));
    REFUSED("ARANGE", "range", ggml_arange(ctx, 1.0f, 1.0f, 1.0f));
    REFUSED("ARANGE", "range", ggml_arange(ctx, 1.0f, 2.0f, 0.0f));
    REFUSED("TIMESTEP_EMBEDDING", "makes no sense", ggml_timestep_embedding(ctx, F32("t", 3, 1, 1, 1), -4, 10000));
    REFUSED("FILL", "f32 or f16", ggml_fill(ctx, I32("a", 3, 1, 1, 1), 0.0f));
    REFUSED("WIN_PART", "windows", ggml_win_part(ctx, F32("a", 6, 20, 15, 1), 0));
    REFUSED("WIN_UNPART", "source 0", ggml_win_unpart(ctx, F32("a", 6, 14, 14, 3), 20, 15, 14));
    REFUSED("GET_REL_POS", "rows", ggml_get_rel_pos(ctx, F16("a", 16, 26, 1, 1), 14, 14));
    REFUSED("GET_REL_POS", "queries", ggml_get_rel_pos(ctx, F16("a", 16, 27, 1, 1), 14, 13));
    REFUSED("ADD_REL_POS", "square",
            ggml_add_rel_pos(ctx, F32("a", 48, 49, 3, 1), F32("pw", 7, 7, 7, 3), F32("ph", 7, 7, 7, 3)));
}

TEST(composites) {
    REFUSED("IM2COL", "too small", ggml_conv_1d(ctx, F16("a", 15, 4, 5, 1), F32("b", 10, 4, 2, 1), 2, 1, 1));
    REFUSED("IM2COL", "channels", ggml_conv_2d(ctx, F16("a", 3, 3, 4, 5), F32("b", 9, 9, 3, 1), 1, 1, 0, 0, 1, 1));
    REFUSED("IM2COL_3D", "channels",
            ggml_conv_3d(ctx, F16("a", 3, 3, 3, 8), F32("b", 9, 9, 9, 6), -1, 1, 1, 1, 0, 0, 0, 1, 1, 1));
    REFUSED("RESHAPE", "",
            ggml_conv_2d(ctx, permuted(c, "a", GGML_TYPE_F16, 3, 3, 4, 5), F32("b", 9, 9, 4, 1), 1, 1, 0, 0, 1, 1));
}

TEST(recurrent) {
    REFUSED("SSM_CONV", "channels", ggml_ssm_conv(ctx, F32("sx", 10, 16, 2, 1), F32("c", 4, 15, 1, 1)));
    REFUSED("SSM_CONV", "first token", ggml_ssm_conv(ctx, F32("sx", 2, 16, 2, 1), F32("c", 4, 16, 1, 1)));
#define SCAN(about, x1, dt0, b1, ids0, snapshots)                                                     \
    REFUSED("SSM_SCAN", about,                                                                        \
            ggml_ssm_scan(ctx, F32("s", 16, 8, 4, 3), F32("x", 8, x1, 5, 2), F32("dt", dt0, 5, 2, 1), \
                          F32("A", 1, 4, 1, 1), F32("B", 16, b1, 5, 2), F32("C", 16, b1, 5, 2),       \
                          I32("ids", ids0, 1, 1, 1), snapshots))
    SCAN("snapshots", 4, 4, 2, 2, 0);
    SCAN("snapshots", 4, 4, 2, 2, (int64_t) 1 << 40);
    SCAN("source 2", 4, 3, 2, 2, 1);
    SCAN("state", 3, 3, 1, 2, 1);
    SCAN("groups", 4, 4, 3, 2, 1);
    SCAN("source 6", 4, 4, 2, 3, 1);
#undef SCAN
    REFUSED("RWKV_WKV6", "source 1",
            ggml_rwkv_wkv6(ctx, F32("k", 64, 2, 6, 1), F32("v", 64, 2, 5, 1), F32("r", 64, 2, 6, 1),
                           F32("tf", 64, 2, 1, 1), F32("td", 64, 2, 6, 1), F32("state", 8192, 3, 1, 1)));
    REFUSED("GATED_LINEAR_ATTN", "state",
            ggml_gated_linear_attn(ctx, F32("k", 64, 2, 6, 1), F32("v", 64, 2, 6, 1), F32("q", 64, 2, 6, 1),
                                   F32("g", 64, 2, 6, 1), F32("state", 8191, 3, 1, 1), 0.125f));
    REFUSED("GATED_DELTA_NET", "source 5",
            ggml_gated_delta_net(ctx, F32("q", 16, 2, 5, 3), F32("k", 16, 2, 5, 3), F32("v", 16, 4, 5, 3),
                                 F32("g", 1, 4, 5, 3), F32("beta", 1, 4, 5, 3), F32("state", 16, 16, 2, 3), 1));
    REFUSED("LIGHTNING_INDEXER", "mask",
            ggml_lightning_indexer(ctx, F32("q", 128, 8, 5, 2), F16("k", 128, 1, 32, 2), F32("weights", 8, 5, 1, 2),
                                   F16("mask", 31, 5, 1, 1)));
    REFUSED(
        "DSV4_HC_COMB", "source 0",
        ggml_dsv4_hc_comb(ctx, F32("mixes", 15, 7, 1, 1), F32("scale", 3, 1, 1, 1), F32("base", 15, 1, 1, 1), 0.0f, 1));
    REFUSED("DSV4_HC_PRE", "source 1", ggml_dsv4_hc_pre(ctx, F32("x", 32, 4, 7, 1), F32("w", 4, 6, 1, 1)));
    REFUSED("DSV4_HC_POST", "source 2",
            ggml_dsv4_hc_post(ctx, F32("x", 32, 7, 1, 1), F32("r", 32, 4, 7, 1), F32("p", 3, 7, 1, 1), NULL));
    REFUSED("OPT_STEP_SGD", "parameter",
            ggml_opt_step_sgd(ctx, F32("w", 6, 4, 1, 1), F32("g", 6, 4, 1, 1), F32("n", 2, 1, 1, 1)));
    REFUSED("OPT_STEP_ADAMW", "7 numbers",
            ggml_opt_step_adamw(ctx, param(F32("w", 6, 4, 1, 1)), F32("g", 6, 4, 1, 1), F32("m", 6, 4, 1, 1),
                                F32("v", 6, 4, 1, 1), F32("n", 6, 1, 1, 1)));
    REFUSED("MAP_CUSTOM1", "tasks", ggml_map_custom1(ctx, F32("a", 6, 4, 1, 1), case_custom1, 0, NULL));
    REFUSED("MAP_CUSTOM1", "no function", ggml_map_custom1(ctx, F32("a", 6, 4, 1, 1), NULL, 1, NULL));
    REFUSED("custom_4d", "10 arguments",
            ggml_custom_4d(ctx, GGML_TYPE_F32, 1, 1, 1, 1, NULL, 10, case_custom, 1, NULL));
}

/* ---- NULL ---- */

TEST(null_gives_null) {
    struct cases case_, *c = &case_;
    begin(c);
    struct ggml_context * ctx         = c->ctx;
    struct ggml_tensor *  t           = param(F32("t", 1, 1, 1, 1));
    struct ggml_tensor *  args[]      = {t, t};
    struct ggml_tensor *  null_args[] = {t, NULL};
    int64_t               extents[]   = {1, 1, 1, 1};
    int                   sections[]  = {1, 1, 1, 1};
    const size_t          used        = ggml_used_mem(ctx);
#define NULL_CASE(call)                                                                                             \
    CHECK_MSG((call) == NULL, "%s gives a node", #call);                                                            \
    CHECK_MSG(graft_context_status(ctx) != GGML_STATUS_SUCCESS && strstr(graft_context_error(ctx), "NULL") != NULL, \
              "%s: error '%s'", #call, graft_context_error(ctx));                                                   \
    CHECK_MSG(ggml_used_mem(ctx) == used, "%s leaves something behind", #call);                                     \
    graft_set_checked(ctx, true);                                                                                   \
    harness_count_run(1);
#include "nulls.inc"
    ggml_free(ctx);
}

TEST(setters_ignore_null) {
    ggml_soft_max_add_sinks(NULL, NULL);
    ggml_flash_attn_ext_add_sinks(NULL, NULL);
    ggml_flash_attn_ext_set_n_kv_max(NULL, 5);
    ggml_mul_mat_set_hint(NULL, GGML_HINT_NONE);
    CHECK(ggml_rope_set_offset(NULL, 2) == NULL);
    CHECK(!ggml_prec_set_acc(NULL, GGML_PREC_F32));
    CHECK(!ggml_prec_set_src(NULL, GGML_PREC_F32, 1));
}

TEST(first_error_is_kept) {
    struct cases case_, *c = &case_;
    begin(c);
    struct ggml_tensor * bad  = ggml_mul_mat(c->ctx, F32("weight", 64, 8, 1, 1), F32("x", 32, 2, 1, 1));
    struct ggml_tensor * end_ = ggml_add(c->ctx, ggml_silu(c->ctx, bad), F32("y", 8, 2, 1, 1));
    CHECK(end_ == NULL);
    CHECK_MSG(strstr(graft_context_error(c->ctx), "MUL_MAT") != NULL, "%s", graft_context_error(c->ctx));
    CHECK_MSG(strstr(graft_context_error(c->ctx), "'weight'") != NULL, "%s", graft_context_error(c->ctx));
    ggml_free(c->ctx);
}

TEST(precision_of_other_operators) {
    struct cases case_, *c = &case_;
    begin(c);
    struct ggml_tensor * t = ggml_scale(c->ctx, F32("a", 4, 1, 1, 1), 2.0f);
    CHECK(!ggml_prec_set_acc(t, GGML_PREC_F32));
    CHECK(!ggml_prec_set_src(t, GGML_PREC_F32, 1));
    ggml_free(c->ctx);
}

/* Beside the formula: both ends for a model with 128 dimensions and a context of 4096. */
TEST(yarn_correction_dims) {
    float dims[2];
    ggml_rope_yarn_corr_dims(128, 4096, 10000.0f, 32.0f, 1.0f, dims);
    CHECK_MSG(dims[0] == 20.0f && dims[1] == 46.0f, "%g %g", (double) dims[0], (double) dims[1]);
    ggml_rope_yarn_corr_dims(4, 16, 10000.0f, 32.0f, 1e-9f, dims);
    CHECK_MSG(dims[0] == 0.0f && dims[1] == 3.0f, "%g %g", (double) dims[0], (double) dims[1]);
}
