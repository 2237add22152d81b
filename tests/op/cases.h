/* SPDX-License-Identifier: MIT
 *
 * Calls of every public builder with valid arguments. The same calls, made once with another library of this interface,
 * gave the expected nodes in golden.inc; made with damaged inputs they show that builders survive any metadata. An
 * input named "shape" is read for its extents alone.
 */
#ifndef GRAFT_TESTS_OP_CASES_H
#define GRAFT_TESTS_OP_CASES_H

#include <string.h>

#include "ggml.h"

struct cases {
    struct ggml_context * ctx;
    /* Called with each result; the label is unique. */
    void (*emit)(struct cases * cases, const char * label, struct ggml_tensor * result);
    /* Called with each input right after it was made; may damage it. NULL: nothing. */
    void (*input)(struct cases * cases, struct ggml_tensor * input);
    bool   setters; /* also the functions that change a node afterwards, which have no way to return an error */
    void * user;
};

static struct ggml_tensor * input_4d(struct cases * c, const char * name, enum ggml_type type, int64_t ne0, int64_t ne1,
                                     int64_t ne2, int64_t ne3) {
    struct ggml_tensor * t = ggml_new_tensor_4d(c->ctx, type, ne0, ne1, ne2, ne3);
    ggml_set_name(t, name);
    if (c->input != NULL) {
        c->input(c, t);
    }
    return t;
}

#define F32(name, ...) input_4d(c, name, GGML_TYPE_F32, __VA_ARGS__)
#define F16(name, ...) input_4d(c, name, GGML_TYPE_F16, __VA_ARGS__)
#define I32(name, ...) input_4d(c, name, GGML_TYPE_I32, __VA_ARGS__)
#define IN(name, type, ...) input_4d(c, name, GGML_TYPE_##type, __VA_ARGS__)

#define CASE(label, expression) c->emit(c, label, expression)

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

/* An input that is not contiguous: dimensions 1 and 2 are exchanged. */
static struct ggml_tensor * permuted(struct cases * c, const char * name, enum ggml_type type, int64_t ne0, int64_t ne1,
                                     int64_t ne2, int64_t ne3) {
    return ggml_permute(c->ctx, input_4d(c, name, type, ne0, ne2, ne1, ne3), 0, 2, 1, 3);
}

static void case_custom1(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth, void * userdata) {
    (void) dst;
    (void) a;
    (void) ith;
    (void) nth;
    (void) userdata;
}

static void case_custom2(struct ggml_tensor * dst, const struct ggml_tensor * a, const struct ggml_tensor * b, int ith,
                         int nth, void * userdata) {
    (void) dst;
    (void) a;
    (void) b;
    (void) ith;
    (void) nth;
    (void) userdata;
}

static void case_custom3(struct ggml_tensor * dst, const struct ggml_tensor * a, const struct ggml_tensor * b,
                         const struct ggml_tensor * d, int ith, int nth, void * userdata) {
    (void) dst;
    (void) a;
    (void) b;
    (void) d;
    (void) ith;
    (void) nth;
    (void) userdata;
}

static void case_custom(struct ggml_tensor * dst, int ith, int nth, void * userdata) {
    (void) dst;
    (void) ith;
    (void) nth;
    (void) userdata;
}

static void cases_copies(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("dup", ggml_dup(ctx, F32("a", 7, 5, 3, 2)));
    CASE("dup permuted", ggml_dup(ctx, permuted(c, "a", GGML_TYPE_F16, 8, 5, 3, 2)));
    CASE("dup_inplace", ggml_dup_inplace(ctx, F32("a", 7, 5, 3, 2)));
    CASE("dup_inplace view", ggml_dup_inplace(ctx, ggml_view_2d(ctx, F32("a", 8, 6, 1, 1), 4, 3, 64, 8)));
    CASE("cpy", ggml_cpy(ctx, F32("a", 32, 4, 2, 1), IN("b", Q4_0, 32, 4, 2, 1)));
    CASE("cpy unnamed", ggml_cpy(ctx, F32("a", 6, 4, 1, 1), F16("", 24, 1, 1, 1)));
    CASE("cpy into view", ggml_cpy(ctx, F32("a", 4, 3, 1, 1), ggml_view_2d(ctx, F32("b", 8, 6, 1, 1), 4, 3, 64, 8)));
    CASE("cast", ggml_cast(ctx, IN("a", Q8_0, 64, 3, 2, 1), GGML_TYPE_F32));
    CASE("cast permuted", ggml_cast(ctx, permuted(c, "a", GGML_TYPE_F32, 8, 5, 3, 2), GGML_TYPE_BF16));
    CASE("cont", ggml_cont(ctx, ggml_transpose(ctx, F32("a", 7, 5, 3, 2))));
    CASE("cont_1d", ggml_cont_1d(ctx, permuted(c, "a", GGML_TYPE_F32, 4, 3, 5, 2), 120));
    CASE("cont_2d", ggml_cont_2d(ctx, permuted(c, "a", GGML_TYPE_F32, 4, 3, 5, 2), 12, 10));
    CASE("cont_3d", ggml_cont_3d(ctx, permuted(c, "a", GGML_TYPE_F32, 4, 3, 5, 2), 2, 6, 10));
    CASE("cont_4d", ggml_cont_4d(ctx, permuted(c, "a", GGML_TYPE_F32, 4, 3, 5, 2), 2, 6, 5, 2));
    CASE("reshape", ggml_reshape(ctx, F32("a", 4, 6, 1, 1), F16("shape", 8, 3, 1, 1)));
    CASE("reshape_1d", ggml_reshape_1d(ctx, F32("a", 4, 6, 2, 1), 48));
    CASE("reshape_2d", ggml_reshape_2d(ctx, F32("a", 4, 6, 2, 1), 8, 6));
    CASE("reshape_3d", ggml_reshape_3d(ctx, IN("a", Q4_K, 512, 6, 2, 1), 256, 2, 12));
    CASE("reshape_4d of view", ggml_reshape_4d(ctx, ggml_view_1d(ctx, F32("a", 100, 1, 1, 1), 48, 16), 4, 3, 2, 2));
    CASE("view_1d", ggml_view_1d(ctx, F32("a", 8, 6, 1, 1), 10, 12));
    CASE("view_2d", ggml_view_2d(ctx, F32("a", 8, 6, 1, 1), 4, 3, 64, 8));
    CASE("view_3d", ggml_view_3d(ctx, F32("a", 8, 6, 2, 1), 4, 3, 2, 64, 192, 8));
    CASE("view_4d", ggml_view_4d(ctx, F32("a", 8, 6, 2, 3), 4, 3, 2, 3, 64, 192, 384, 8));
    CASE("view of view", ggml_view_1d(ctx, ggml_view_2d(ctx, F32("a", 8, 6, 1, 1), 8, 3, 32, 64), 4, 16));
    CASE("view quantized", ggml_view_2d(ctx, IN("a", Q8_0, 64, 6, 1, 1), 32, 6, 68, 34));
    CASE("permute", ggml_permute(ctx, F32("a", 2, 3, 4, 5), 2, 0, 3, 1));
    CASE("transpose", ggml_transpose(ctx, F32("a", 2, 3, 4, 5)));
}

static void cases_binary(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("add", ggml_add(ctx, F32("a", 6, 4, 3, 2), F32("b", 3, 1, 3, 1)));
    CASE("add empty", ggml_add(ctx, F32("a", 6, 0, 1, 1), F32("b", 6, 0, 1, 1)));
    CASE("add_inplace", ggml_add_inplace(ctx, permuted(c, "a", GGML_TYPE_F32, 6, 4, 3, 2), F32("b", 6, 4, 1, 1)));
    CASE("add quantized", ggml_add(ctx, IN("a", Q4_0, 64, 4, 1, 1), F32("b", 64, 4, 1, 1)));
    CASE("add_cast", ggml_add_cast(ctx, IN("a", Q4_0, 64, 4, 1, 1), F32("b", 64, 1, 1, 1), GGML_TYPE_F32));
    CASE("add_cast same", ggml_add_cast(ctx, F16("a", 6, 4, 1, 1), F32("b", 6, 4, 1, 1), GGML_TYPE_F16));
    CASE("add_id", ggml_add_id(ctx, F32("a", 8, 4, 5, 1), F32("b", 8, 16, 1, 1), I32("ids", 4, 5, 1, 1)));
    CASE("add1", ggml_add1(ctx, F32("a", 8, 4, 5, 1), F32("b", 1, 1, 1, 1)));
    CASE("add1_inplace", ggml_add1_inplace(ctx, F32("a", 8, 4, 5, 1), F32("b", 1, 1, 1, 1)));
    CASE("acc", ggml_acc(ctx, F32("a", 8, 4, 5, 1), F32("b", 3, 2, 2, 1), 32, 128, 640, 40));
    CASE("acc_inplace", ggml_acc_inplace(ctx, F32("a", 8, 4, 5, 1), F32("b", 3, 2, 2, 1), 32, 128, 640, 40));
    CASE("set", ggml_set(ctx, F32("a", 8, 4, 5, 1), F32("b", 3, 2, 2, 1), 32, 128, 640, 40));
    CASE("set_inplace", ggml_set_inplace(ctx, F32("a", 8, 4, 5, 1), F32("b", 3, 2, 2, 1), 32, 128, 640, 40));
    CASE("set_1d", ggml_set_1d(ctx, F32("a", 8, 4, 5, 1), F32("b", 30, 1, 1, 1), 8));
    CASE("set_1d_inplace", ggml_set_1d_inplace(ctx, I32("a", 8, 4, 5, 1), I32("b", 30, 1, 1, 1), 8));
    CASE("set_2d", ggml_set_2d(ctx, F32("a", 8, 4, 5, 1), F32("b", 4, 3, 1, 1), 64, 16));
    CASE("set_2d_inplace", ggml_set_2d_inplace(ctx, F32("a", 8, 4, 5, 1), F32("b", 4, 3, 1, 1), 64, 16));
    CASE("sub", ggml_sub(ctx, F32("a", 6, 4, 3, 2), F32("b", 6, 1, 1, 2)));
    CASE("sub_inplace", ggml_sub_inplace(ctx, F32("a", 6, 4, 3, 2), F32("b", 6, 1, 1, 2)));
    CASE("mul", ggml_mul(ctx, F16("a", 6, 4, 3, 2), F32("b", 6, 1, 1, 1)));
    CASE("mul_inplace", ggml_mul_inplace(ctx, F16("a", 6, 4, 3, 2), F32("b", 6, 1, 1, 1)));
    CASE("div", ggml_div(ctx, F32("a", 6, 4, 3, 2), F32("b", 1, 1, 1, 1)));
    CASE("div_inplace", ggml_div_inplace(ctx, F32("a", 6, 4, 3, 2), F32("b", 1, 1, 1, 1)));
    CASE("scale", ggml_scale(ctx, F32("a", 6, 4, 3, 2), 0.125f));
    CASE("scale_inplace", ggml_scale_inplace(ctx, F32("a", 6, 4, 3, 2), 0.125f));
    CASE("scale_bias", ggml_scale_bias(ctx, F32("a", 6, 4, 3, 2), 0.125f, -3.0f));
    CASE("scale_bias_inplace", ggml_scale_bias_inplace(ctx, F32("a", 6, 4, 3, 2), 0.125f, -3.0f));
    CASE("concat 0", ggml_concat(ctx, IN("a", Q8_0, 32, 4, 1, 1), IN("b", Q8_0, 64, 4, 1, 1), 0));
    CASE("concat 1", ggml_concat(ctx, IN("a", Q8_0, 64, 4, 1, 1), IN("b", Q8_0, 64, 2, 1, 1), 1));
    CASE("concat 3", ggml_concat(ctx, permuted(c, "a", GGML_TYPE_F32, 5, 4, 3, 2), F32("b", 5, 4, 3, 7), 3));
    CASE("silu_back", ggml_silu_back(ctx, F32("dy", 6, 4, 3, 2), F32("x", 6, 4, 3, 2)));
}

static void cases_elementwise(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
#define BOTH(basename)                                           \
    CASE(#basename, ggml_##basename(ctx, F32("a", 6, 4, 3, 2))); \
    CASE(#basename "_inplace", ggml_##basename##_inplace(ctx, F16("a", 6, 4, 3, 2)));
    BOTH(sqr)
    BOTH(sqrt)
    BOTH(log)
    BOTH(sin) BOTH(cos) BOTH(abs) BOTH(sgn) BOTH(neg) BOTH(step) BOTH(tanh) BOTH(elu) BOTH(relu) BOTH(sigmoid)
        BOTH(gelu) BOTH(gelu_quick) BOTH(silu) BOTH(exp) BOTH(expm1) BOTH(softplus) BOTH(gelu_erf) BOTH(floor)
            BOTH(ceil) BOTH(round) BOTH(trunc)
#undef BOTH
                CASE("hardswish", ggml_hardswish(ctx, F32("a", 6, 4, 3, 2)));
    CASE("hardsigmoid", ggml_hardsigmoid(ctx, F32("a", 6, 4, 3, 2)));
    CASE("xielu", ggml_xielu(ctx, F32("a", 6, 4, 3, 2), 0.3f, 30.0f, 0.5f, -1e-6f));
    CASE("unary", ggml_unary(ctx, permuted(c, "a", GGML_TYPE_F32, 6, 4, 3, 2), GGML_UNARY_OP_SILU));
    CASE("unary_inplace", ggml_unary_inplace(ctx, permuted(c, "a", GGML_TYPE_F32, 6, 4, 3, 2), GGML_UNARY_OP_TRUNC));
    CASE("leaky_relu", ggml_leaky_relu(ctx, F32("a", 6, 4, 3, 2), 0.1f, false));
    CASE("leaky_relu inplace", ggml_leaky_relu(ctx, F32("a", 6, 4, 3, 2), 0.1f, true));
    CASE("clamp", ggml_clamp(ctx, F32("a", 6, 4, 3, 2), -1.0f, 2.5f));
    CASE("clamp_inplace", ggml_clamp_inplace(ctx, F32("a", 6, 4, 3, 2), -1.0f, 2.5f));
    CASE("fill", ggml_fill(ctx, F32("a", 6, 4, 3, 2), 7.0f));
    CASE("fill_inplace", ggml_fill_inplace(ctx, F16("a", 6, 4, 3, 2), 7.0f));
#define GLU(basename)                                                                  \
    CASE(#basename, ggml_##basename(ctx, F32("a", 12, 4, 3, 2)));                      \
    CASE(#basename "_swapped", ggml_##basename##_swapped(ctx, F16("a", 12, 4, 3, 2))); \
    CASE(#basename "_split", ggml_##basename##_split(ctx, F32("a", 12, 4, 3, 2), F32("b", 12, 4, 3, 2)));
    GLU(reglu)
    GLU(geglu)
    GLU(swiglu)
    GLU(geglu_erf) GLU(geglu_quick)
#undef GLU
        CASE("glu", ggml_glu(ctx, ggml_view_2d(ctx, F32("a", 16, 6, 1, 1), 12, 6, 64, 0), GGML_GLU_OP_GEGLU, true));
    CASE("glu_split", ggml_glu_split(ctx, F32("a", 12, 4, 3, 2), F32("b", 12, 4, 3, 2), GGML_GLU_OP_SWIGLU));
    CASE("swiglu_oai", ggml_swiglu_oai(ctx, F32("a", 12, 4, 3, 2), F32("b", 12, 4, 3, 2), 1.702f, 7.0f));
    CASE("swiglu_oai one", ggml_swiglu_oai(ctx, F32("a", 12, 4, 3, 2), NULL, 1.702f, 7.0f));
    CASE("swiglu_clamp", ggml_swiglu_clamp(ctx, F32("a", 12, 4, 3, 2), F32("b", 12, 4, 3, 2), 7.0f));
}

static void cases_reductions(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("sum", ggml_sum(ctx, permuted(c, "a", GGML_TYPE_F32, 6, 4, 3, 2)));
    CASE("sum f16", ggml_sum(ctx, F16("a", 6, 4, 3, 2)));
    CASE("sum_rows", ggml_sum_rows(ctx, F32("a", 6, 4, 3, 2)));
    CASE("cumsum", ggml_cumsum(ctx, F32("a", 6, 4, 3, 2)));
    CASE("mean", ggml_mean(ctx, F16("a", 6, 4, 3, 2)));
    CASE("argmax", ggml_argmax(ctx, F32("a", 6, 4, 1, 1)));
    CASE("count_equal", ggml_count_equal(ctx, I32("a", 6, 4, 1, 1), I32("b", 6, 4, 1, 1)));
    CASE("repeat", ggml_repeat(ctx, F32("a", 3, 1, 2, 1), F16("shape", 6, 4, 2, 3)));
    CASE("repeat same", ggml_repeat(ctx, F32("a", 3, 1, 2, 1), F32("shape", 3, 1, 2, 1)));
    CASE("repeat_4d", ggml_repeat_4d(ctx, I32("a", 3, 1, 2, 1), 6, 5, 2, 3));
    CASE("repeat_back", ggml_repeat_back(ctx, F32("a", 6, 4, 2, 3), F32("shape", 3, 1, 2, 1)));
    CASE("norm", ggml_norm(ctx, F32("a", 6, 4, 3, 2), 1e-5f));
    CASE("norm_inplace", ggml_norm_inplace(ctx, F32("a", 6, 4, 3, 2), 1e-5f));
    CASE("rms_norm", ggml_rms_norm(ctx, permuted(c, "a", GGML_TYPE_F32, 6, 4, 3, 2), 1e-6f));
    CASE("rms_norm_inplace", ggml_rms_norm_inplace(ctx, F32("a", 6, 4, 3, 2), 1e-6f));
    CASE("rms_norm_back", ggml_rms_norm_back(ctx, F32("dy", 6, 4, 3, 2), F32("x", 6, 4, 3, 2), 1e-6f));
    CASE("group_norm", ggml_group_norm(ctx, F32("a", 6, 4, 32, 2), 8, 1e-6f));
    CASE("group_norm_inplace", ggml_group_norm_inplace(ctx, F32("a", 6, 4, 32, 2), 8, 1e-6f));
    CASE("l2_norm", ggml_l2_norm(ctx, F32("a", 6, 4, 3, 2), 1e-12f));
    CASE("l2_norm_inplace", ggml_l2_norm_inplace(ctx, F32("a", 6, 4, 3, 2), 1e-12f));
    CASE("soft_max", ggml_soft_max(ctx, F32("a", 6, 4, 3, 2)));
    CASE("soft_max_inplace", ggml_soft_max_inplace(ctx, F32("a", 6, 4, 3, 2)));
    CASE("soft_max_ext", ggml_soft_max_ext(ctx, F32("a", 6, 4, 8, 2), F16("mask", 6, 32, 1, 2), 0.125f, 8.0f));
    CASE("soft_max_ext no mask", ggml_soft_max_ext(ctx, F32("a", 6, 4, 8, 2), NULL, 0.125f, 0.0f));
    CASE("soft_max_ext_inplace",
         ggml_soft_max_ext_inplace(ctx, F32("a", 6, 4, 8, 2), F32("mask", 6, 4, 1, 1), 0.125f, 0.0f));
    CASE("soft_max_ext_back", ggml_soft_max_ext_back(ctx, F32("dy", 6, 4, 8, 2), F32("y", 6, 4, 8, 2), 0.5f, 0.0f));
    CASE("soft_max_ext_back_inplace",
         ggml_soft_max_ext_back_inplace(ctx, F32("dy", 6, 4, 8, 2), F32("y", 6, 4, 8, 2), 0.5f, 0.0f));
    CASE("argsort", ggml_argsort(ctx, F32("a", 6, 4, 3, 2), GGML_SORT_ORDER_DESC));
    CASE("argsort_top_k", ggml_argsort_top_k(ctx, F32("a", 6, 4, 3, 2), 3));
    CASE("top_k", ggml_top_k(ctx, F32("a", 6, 4, 3, 2), 3));
    CASE("cross_entropy_loss", ggml_cross_entropy_loss(ctx, F32("logits", 10, 4, 1, 1), F32("labels", 10, 4, 1, 1)));
    CASE("cross_entropy_loss_back", ggml_cross_entropy_loss_back(ctx, F32("dy", 1, 1, 1, 1), F32("logits", 10, 4, 1, 1),
                                                                 F32("labels", 10, 4, 1, 1)));
}

static void cases_products(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("mul_mat", ggml_mul_mat(ctx, IN("a", Q4_K, 256, 12, 1, 1), F32("b", 256, 5, 1, 1)));
    CASE("mul_mat heads", ggml_mul_mat(ctx, permuted(c, "a", GGML_TYPE_F16, 64, 12, 2, 3),
                                       permuted(c, "b", GGML_TYPE_F32, 64, 7, 8, 3)));
    CASE("mul_mat_id",
         ggml_mul_mat_id(ctx, IN("as", Q8_0, 64, 12, 8, 1), F32("b", 64, 1, 5, 1), I32("ids", 2, 5, 1, 1)));
    CASE("out_prod", ggml_out_prod(ctx, F32("a", 6, 4, 1, 2), F32("b", 7, 4, 3, 2)));
    if (c->setters) {
        struct ggml_tensor * t = ggml_mul_mat(ctx, F16("a", 64, 12, 1, 1), F32("b", 64, 5, 1, 1));
        ggml_mul_mat_set_prec(t, GGML_PREC_F32);
        ggml_mul_mat_set_hint(t, GGML_HINT_SRC0_IS_HADAMARD);
        ggml_prec_set_src(t, GGML_PREC_Q8, 1);
        ggml_prec_set_src(t, GGML_PREC_Q8, 0);
        CASE("mul_mat prec", t);
        t = ggml_mul_mat_id(ctx, IN("as", Q8_0, 64, 12, 8, 1), F32("b", 64, 1, 5, 1), I32("ids", 2, 5, 1, 1));
        ggml_prec_set_acc(t, GGML_PREC_F16);
        ggml_prec_set_src(t, GGML_PREC_BF16, 1);
        CASE("mul_mat_id prec", t);
        t = ggml_soft_max_ext(ctx, F32("a", 6, 4, 8, 2), NULL, 0.125f, 0.0f);
        ggml_soft_max_add_sinks(t, F32("sinks", 8, 1, 1, 1));
        CASE("soft_max sinks", t);
        t = ggml_flash_attn_ext(ctx, F32("q", 64, 7, 8, 1), F16("k", 64, 32, 2, 1), F16("v", 48, 32, 2, 1), NULL,
                                0.125f, 0.0f, 30.0f);
        ggml_flash_attn_ext_set_prec(t, GGML_PREC_F32);
        ggml_flash_attn_ext_set_n_kv_max(t, 17);
        ggml_flash_attn_ext_add_sinks(t, F32("sinks", 8, 1, 1, 1));
        CASE("flash_attn_ext all", t);
        t = ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 32, GGML_ROPE_TYPE_NEOX);
        CASE("rope offset", ggml_rope_set_offset(t, 16));
    }
    CASE("flash_attn_ext", ggml_flash_attn_ext(ctx, permuted(c, "q", GGML_TYPE_F32, 64, 7, 8, 2),
                                               permuted(c, "k", GGML_TYPE_Q8_0, 64, 32, 2, 2),
                                               permuted(c, "v", GGML_TYPE_Q8_0, 32, 32, 2, 2),
                                               F16("mask", 32, 64, 1, 2), 0.125f, 8.0f, 0.0f));
    CASE("rope", ggml_rope(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 64, GGML_ROPE_TYPE_NORMAL));
    CASE("rope_inplace",
         ggml_rope_inplace(ctx, F32("a", 64, 8, 7, 2), I32("pos", 7, 1, 1, 1), 32, GGML_ROPE_TYPE_NEOX));
    CASE("rope_ext", ggml_rope_ext(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), F32("factors", 32, 1, 1, 1), 64,
                                   2, 4096, 5e5f, 0.25f, 1.0f, 1.1f, 32.0f, 1.0f));
    CASE("rope_ext_inplace", ggml_rope_ext_inplace(ctx, F16("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), NULL, 64, 0,
                                                   4096, 5e5f, 0.25f, 1.0f, 1.1f, 32.0f, 1.0f));
    CASE("rope_multi",
         ggml_rope_multi(ctx, F32("a", 128, 8, 7, 1), I32("pos", 28, 1, 1, 1), NULL, 128, (int[]){16, 24, 24, 0},
                         GGML_ROPE_TYPE_MROPE, 4096, 1e6f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f));
    CASE("rope_multi plain",
         ggml_rope_multi(ctx, F32("a", 128, 8, 7, 1), I32("pos", 7, 1, 1, 1), NULL, 128, (int[]){16, 24, 24, 0},
                         GGML_ROPE_TYPE_NEOX, 4096, 1e6f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f));
    CASE("rope_multi_inplace",
         ggml_rope_multi_inplace(ctx, F32("a", 128, 8, 7, 1), I32("pos", 28, 1, 1, 1), NULL, 64, (int[]){32, 32, 0, 0},
                                 GGML_ROPE_TYPE_VISION, 4096, 1e4f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f));
    CASE("rope_custom", ggml_rope_custom(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 32, 2, 2048, 1e4f, 1.0f,
                                         0.0f, 1.0f, 32.0f, 1.0f));
    CASE("rope_custom_inplace", ggml_rope_custom_inplace(ctx, F32("a", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), 32, 2,
                                                         2048, 1e4f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f));
    CASE("rope_ext_back",
         ggml_rope_ext_back(ctx, F32("dy", 64, 8, 7, 1), I32("pos", 7, 1, 1, 1), F32("factors", 32, 1, 1, 1), 64, 2,
                            4096, 5e5f, 0.25f, 1.0f, 1.1f, 32.0f, 1.0f));
    CASE("rope_multi_back",
         ggml_rope_multi_back(ctx, F32("dy", 128, 8, 7, 1), I32("pos", 28, 1, 1, 1), NULL, 128, (int[]){16, 24, 24, 0},
                              GGML_ROPE_TYPE_IMROPE, 4096, 1e6f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f));
    CASE("get_rows", ggml_get_rows(ctx, IN("a", Q4_1, 64, 100, 1, 1), I32("ids", 9, 1, 1, 1)));
    CASE("get_rows i32", ggml_get_rows(ctx, I32("a", 5, 10, 4, 3), I32("ids", 6, 4, 3, 1)));
    CASE("get_rows_back",
         ggml_get_rows_back(ctx, F32("dy", 8, 9, 1, 1), I32("ids", 9, 1, 1, 1), F16("shape", 8, 100, 1, 1)));
    CASE("get_rows_back more rows",
         ggml_get_rows_back(ctx, F32("dy", 8, 9, 1, 1), I32("ids", 5, 1, 1, 1), F16("shape", 8, 100, 1, 1)));
    CASE("set_rows", ggml_set_rows(ctx, F16("a", 8, 100, 4, 3), F32("b", 8, 9, 4, 3), IN("ids", I64, 9, 2, 1, 1)));
    CASE("set_rows i32",
         ggml_set_rows(ctx, IN("a", Q8_0, 64, 100, 1, 1), F16("b", 64, 9, 1, 1), I32("ids", 9, 1, 1, 1)));
    CASE("diag", ggml_diag(ctx, F32("a", 6, 1, 3, 2)));
    CASE("diag_mask_inf", ggml_diag_mask_inf(ctx, F32("a", 6, 4, 3, 2), 5));
    CASE("diag_mask_inf_inplace", ggml_diag_mask_inf_inplace(ctx, F32("a", 6, 4, 3, 2), 5));
    CASE("diag_mask_zero", ggml_diag_mask_zero(ctx, F32("a", 6, 4, 3, 2), 5));
    CASE("diag_mask_zero_inplace", ggml_diag_mask_zero_inplace(ctx, F32("a", 6, 4, 3, 2), 5));
    CASE("tri", ggml_tri(ctx, F32("a", 6, 6, 3, 2), GGML_TRI_TYPE_LOWER_DIAG));
    CASE("solve_tri", ggml_solve_tri(ctx, F32("a", 6, 6, 3, 2), F32("b", 4, 6, 3, 2), true, true, false));
}

static void cases_images(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("im2col",
         ggml_im2col(ctx, F16("a", 3, 2, 4, 5), F32("b", 10, 9, 4, 2), 2, 1, 1, 0, 1, 2, true, GGML_TYPE_F16));
    CASE("im2col 1d",
         ggml_im2col(ctx, F16("a", 3, 4, 5, 1), F32("b", 10, 4, 2, 1), 2, 0, 1, 0, 1, 0, false, GGML_TYPE_F32));
    CASE("im2col overhang",
         ggml_im2col(ctx, F16("a", 4, 4, 1, 1), F32("b", 3, 3, 1, 1), 2, 2, 0, 0, 1, 1, true, GGML_TYPE_F32));
    CASE("im2col_back", ggml_im2col_back(ctx, F32("dy", 24, 5, 7, 2), F32("a", 3, 2, 4, 5), (int64_t[]){10, 9, 4, 2}, 2,
                                         1, 1, 0, 1, 2, true));
    CASE("im2col_3d", ggml_im2col_3d(ctx, F16("a", 3, 2, 2, 8), F32("b", 10, 9, 8, 12), 4, 2, 1, 1, 1, 0, 1, 1, 2, 1,
                                     GGML_TYPE_F16));
    CASE("im2col_3d less than an image", ggml_im2col_3d(ctx, F32("a", 3, 3, 3, 3), F32("b", 18, 18, 8, 1), 3, 1, 1, 1,
                                                        0, 0, 0, 1, 1, 1, GGML_TYPE_F32));
    CASE("col2im_1d", ggml_col2im_1d(ctx, F32("a", 24, 10, 1, 1), 2, 6, 1));
    CASE("conv_1d", ggml_conv_1d(ctx, F16("a", 3, 4, 5, 1), F32("b", 10, 4, 2, 1), 2, 1, 1));
    CASE("conv_1d bf16", ggml_conv_1d(ctx, IN("a", BF16, 3, 4, 5, 1), F32("b", 10, 4, 2, 1), 2, 1, 1));
    CASE("conv_1d_ph", ggml_conv_1d_ph(ctx, F16("a", 3, 4, 5, 1), F32("b", 10, 4, 1, 1), 1, 1));
    CASE("conv_1d_dw", ggml_conv_1d_dw(ctx, F16("a", 3, 1, 4, 1), F32("b", 10, 4, 1, 1), 1, 1, 1));
    CASE("conv_1d_dw_ph", ggml_conv_1d_dw_ph(ctx, F16("a", 3, 1, 4, 1), F32("b", 10, 4, 1, 1), 1, 1));
    CASE("conv_transpose_1d", ggml_conv_transpose_1d(ctx, F16("a", 3, 5, 4, 1), F32("b", 10, 4, 1, 1), 2, 0, 1));
    CASE("conv_2d", ggml_conv_2d(ctx, F16("a", 3, 2, 4, 5), F32("b", 10, 9, 4, 2), 2, 1, 1, 0, 1, 2));
    CASE("conv_2d_sk_p0", ggml_conv_2d_sk_p0(ctx, F16("a", 4, 4, 3, 5), F32("b", 12, 8, 3, 1)));
    CASE("conv_2d_s1_ph", ggml_conv_2d_s1_ph(ctx, F16("a", 3, 3, 3, 5), F32("b", 12, 8, 3, 1)));
    CASE("conv_2d_dw", ggml_conv_2d_dw(ctx, F16("a", 3, 3, 1, 6), F32("b", 12, 8, 6, 2), 1, 2, 1, 1, 1, 1));
    CASE("conv_2d_dw_direct",
         ggml_conv_2d_dw_direct(ctx, F32("a", 3, 3, 1, 6), F32("b", 12, 8, 6, 2), 1, 2, 1, 1, 1, 1));
    CASE("conv_2d_dw_direct cwhn",
         ggml_conv_2d_dw_direct(ctx, F32("a", 3, 3, 1, 6), ggml_permute(ctx, F32("b", 6, 12, 8, 2), 2, 0, 1, 3), 1, 2,
                                1, 1, 1, 1));
    CASE("conv_2d_direct", ggml_conv_2d_direct(ctx, F16("a", 3, 2, 4, 5), F32("b", 10, 9, 4, 2), 2, 1, 1, 0, 1, 2));
    CASE("conv_3d", ggml_conv_3d(ctx, F16("a", 3, 2, 2, 20), F32("b", 10, 9, 8, 12), 4, 2, 1, 1, 1, 0, 1, 1, 2, 1));
    CASE("conv_3d_direct",
         ggml_conv_3d_direct(ctx, F16("a", 3, 2, 2, 20), F32("b", 10, 9, 8, 12), 2, 1, 1, 1, 0, 1, 1, 2, 1, 4, 3, 5));
    CASE("conv_transpose_2d_p0", ggml_conv_transpose_2d_p0(ctx, F16("a", 2, 3, 5, 4), F32("b", 3, 2, 4, 2), 2));
    CASE("pool_1d", ggml_pool_1d(ctx, F32("a", 11, 4, 3, 2), GGML_OP_POOL_AVG, 3, 2, 1));
    CASE("pool_2d", ggml_pool_2d(ctx, F32("a", 11, 9, 3, 2), GGML_OP_POOL_MAX, 3, 2, 2, 1, 1.0f, 0.0f));
    CASE("pool_2d fraction", ggml_pool_2d(ctx, F32("a", 11, 9, 3, 2), GGML_OP_POOL_AVG, 2, 2, 2, 2, 0.5f, 1.5f));
    CASE("pool_2d_back", ggml_pool_2d_back(ctx, F32("dy", 6, 8, 3, 2), F32("x", 11, 9, 3, 2), GGML_OP_POOL_MAX, 3, 2, 2,
                                           1, 1.0f, 0.0f));
    CASE("upscale", ggml_upscale(ctx, F32("a", 6, 4, 3, 2), 2, GGML_SCALE_MODE_BILINEAR));
    CASE("upscale_ext", ggml_upscale_ext(ctx, F32("a", 6, 4, 3, 2), 9, 5, 3, 2, GGML_SCALE_MODE_NEAREST));
    CASE("interpolate",
         ggml_interpolate(ctx, F32("a", 6, 4, 3, 2), 3, 2, 3, 2,
                          GGML_SCALE_MODE_BILINEAR | GGML_SCALE_FLAG_ANTIALIAS | GGML_SCALE_FLAG_ALIGN_CORNERS));
    CASE("pad", ggml_pad(ctx, F32("a", 6, 4, 3, 2), 1, 2, 0, 3));
    CASE("pad_circular", ggml_pad_circular(ctx, F32("a", 6, 4, 3, 2), 1, 2, 0, 3));
    CASE("pad_ext", ggml_pad_ext(ctx, F32("a", 6, 4, 3, 2), 1, 2, 3, 4, 5, 6, 7, 8));
    CASE("pad_ext_circular", ggml_pad_ext_circular(ctx, F32("a", 6, 4, 3, 2), 1, 2, 3, 4, 0, 1, 1, 0));
    CASE("pad_reflect_1d", ggml_pad_reflect_1d(ctx, F32("a", 6, 4, 3, 2), 5, 2));
    CASE("roll", ggml_roll(ctx, F32("a", 6, 4, 3, 2), -5, 3, 0, 1));
    CASE("arange", ggml_arange(ctx, 0.5f, 7.0f, 0.75f));
    CASE("timestep_embedding", ggml_timestep_embedding(ctx, F32("t", 3, 1, 1, 1), 321, 10000));
    CASE("win_part", ggml_win_part(ctx, F32("a", 6, 20, 15, 1), 14));
    CASE("win_unpart", ggml_win_unpart(ctx, F32("a", 6, 14, 14, 4), 20, 15, 14));
    CASE("get_rel_pos", ggml_get_rel_pos(ctx, F16("a", 16, 27, 1, 1), 14, 14));
    CASE("add_rel_pos", ggml_add_rel_pos(ctx, F32("a", 49, 49, 3, 1), F32("pw", 7, 7, 7, 3), F32("ph", 7, 7, 7, 3)));
    CASE("add_rel_pos_inplace",
         ggml_add_rel_pos_inplace(ctx, F32("a", 49, 49, 3, 1), F32("pw", 7, 7, 7, 3), F32("ph", 7, 7, 7, 3)));
}

static void cases_recurrent(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("ssm_conv", ggml_ssm_conv(ctx, F32("sx", 10, 16, 2, 1), F32("c", 4, 16, 1, 1)));
    CASE("ssm_scan",
         ggml_ssm_scan(ctx, F32("s", 16, 8, 4, 3), F32("x", 8, 4, 5, 2), F32("dt", 4, 5, 2, 1), F32("A", 1, 4, 1, 1),
                       F32("B", 16, 2, 5, 2), F32("C", 16, 2, 5, 2), I32("ids", 2, 1, 1, 1), 3));
    CASE("ssm_scan mamba1",
         ggml_ssm_scan(ctx, F32("s", 16, 1, 8, 3), F32("x", 1, 8, 5, 2), F32("dt", 8, 5, 2, 1), F32("A", 16, 8, 1, 1),
                       F32("B", 16, 1, 5, 2), F32("C", 16, 1, 5, 2), I32("ids", 2, 1, 1, 1), 1));
    CASE("rwkv_wkv6", ggml_rwkv_wkv6(ctx, F32("k", 64, 2, 6, 1), F32("v", 64, 2, 6, 1), F32("r", 64, 2, 6, 1),
                                     F32("tf", 64, 2, 1, 1), F32("td", 64, 2, 6, 1), F32("state", 8192, 3, 1, 1)));
    CASE("gated_linear_attn",
         ggml_gated_linear_attn(ctx, F32("k", 64, 2, 6, 1), F32("v", 64, 2, 6, 1), F32("q", 64, 2, 6, 1),
                                F32("g", 64, 2, 6, 1), F32("state", 8192, 3, 1, 1), 0.125f));
    CASE("rwkv_wkv7",
         ggml_rwkv_wkv7(ctx, F32("r", 64, 2, 6, 1), F32("w", 64, 2, 6, 1), F32("k", 64, 2, 6, 1), F32("v", 64, 2, 6, 1),
                        F32("a", 64, 2, 6, 1), F32("b", 64, 2, 6, 1), F32("state", 8192, 3, 1, 1)));
    CASE("gated_delta_net",
         ggml_gated_delta_net(ctx, F32("q", 16, 2, 5, 3), F32("k", 16, 2, 5, 3), F32("v", 16, 4, 5, 3),
                              F32("g", 1, 4, 5, 3), F32("beta", 1, 4, 5, 3), F32("state", 16, 16, 4, 3), 2));
    CASE("lightning_indexer", ggml_lightning_indexer(ctx, F32("q", 128, 8, 5, 2), F16("k", 128, 1, 32, 2),
                                                     F32("weights", 8, 5, 1, 2), F16("mask", 32, 5, 1, 1)));
    CASE("dsv4_hc_comb", ggml_dsv4_hc_comb(ctx, F32("mixes", 24, 7, 1, 1), F32("scale", 3, 1, 1, 1),
                                           F32("base", 24, 1, 1, 1), 1e-6f, 20));
    CASE("dsv4_hc_pre", ggml_dsv4_hc_pre(ctx, F32("x", 32, 4, 7, 1), F32("w", 4, 7, 1, 1)));
    CASE("dsv4_hc_pre_gated", ggml_dsv4_hc_pre_gated(ctx, F32("x", 32, 4, 7, 1), F32("gate", 32, 4, 7, 1), 0.5f));
    CASE("dsv4_hc_post", ggml_dsv4_hc_post(ctx, F32("x", 32, 7, 1, 1), F32("residual", 32, 4, 7, 1),
                                           F32("post", 4, 7, 1, 1), F32("comb", 4, 4, 7, 1)));
    CASE("dsv4_hc_post no comb",
         ggml_dsv4_hc_post(ctx, F32("x", 32, 7, 1, 1), F32("residual", 32, 4, 7, 1), F32("post", 4, 7, 1, 1), NULL));
}

static struct ggml_tensor * param(struct ggml_tensor * t) {
    if (t != NULL) {
        t->flags |= GGML_TENSOR_FLAG_PARAM;
    }
    return t;
}

static void cases_special(struct cases * c) {
    struct ggml_context * ctx = c->ctx;
    CASE("map_custom1", ggml_map_custom1(ctx, F32("a", 6, 4, 3, 2), case_custom1, 3, c));
    CASE("map_custom1_inplace", ggml_map_custom1_inplace(ctx, F32("a", 6, 4, 3, 2), case_custom1, GGML_N_TASKS_MAX, c));
    CASE("map_custom2", ggml_map_custom2(ctx, F32("a", 6, 4, 3, 2), I32("b", 9, 1, 1, 1), case_custom2, 3, c));
    CASE("map_custom2_inplace",
         ggml_map_custom2_inplace(ctx, F32("a", 6, 4, 3, 2), I32("b", 9, 1, 1, 1), case_custom2, 3, c));
    CASE("map_custom3",
         ggml_map_custom3(ctx, F32("a", 6, 4, 3, 2), I32("b", 9, 1, 1, 1), F16("c", 2, 1, 1, 1), case_custom3, 3, c));
    CASE("map_custom3_inplace", ggml_map_custom3_inplace(ctx, F32("a", 6, 4, 3, 2), I32("b", 9, 1, 1, 1),
                                                         F16("c", 2, 1, 1, 1), case_custom3, 3, c));
    struct ggml_tensor * args[] = {F32("a", 6, 4, 3, 2), I32("b", 9, 1, 1, 1), F16("c", 2, 1, 1, 1)};
    CASE("custom_4d", ggml_custom_4d(ctx, GGML_TYPE_F16, 2, 3, 4, 5, args, 3, case_custom, 1, c));
    CASE("custom_4d none", ggml_custom_4d(ctx, GGML_TYPE_F32, 2, 3, 4, 5, NULL, 0, case_custom, 1, NULL));
    CASE("custom_inplace",
         ggml_custom_inplace(ctx, F32("x", 6, 4, 3, 2), args, 3, case_custom, GGML_N_TASKS_MAX, NULL));
    CASE("opt_step_adamw", ggml_opt_step_adamw(ctx, param(F32("w", 6, 4, 1, 1)), F32("grad", 6, 4, 1, 1),
                                               F32("m", 6, 4, 1, 1), F32("v", 6, 4, 1, 1), F32("numbers", 7, 1, 1, 1)));
    CASE("opt_step_sgd",
         ggml_opt_step_sgd(ctx, param(F32("w", 6, 4, 1, 1)), F32("grad", 6, 4, 1, 1), F32("numbers", 2, 1, 1, 1)));
}

__attribute__((unused)) static void cases_build(struct cases * c) {
    cases_copies(c);
    cases_binary(c);
    cases_elementwise(c);
    cases_reductions(c);
    cases_products(c);
    cases_images(c);
    cases_recurrent(c);
    cases_special(c);
}

#endif /* GRAFT_TESTS_OP_CASES_H */
