/* SPDX-License-Identifier: MIT
 *
 * ADD, SUB, MUL, DIV, ADD1, SCALE, CLAMP, LEAKY_RELU, SQR, SQRT, LOG, SIN, COS, UNARY, GLU, SILU_BACK, FILL: type mixes, all
 * broadcasts, layouts, in place, empty tensors.
 *
 * Bounds, in units of the rounding of the result's type: 1 for arithmetic (0.5 and the rounding of F32 before it), 5 for
 * functions, and 1e-7 for gates.
 */
#include "cpu/drive.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* ggml_add1 */

static const enum ggml_type floats[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};

static const int64_t shapes[][4] = {
    {1, 1, 1, 1}, {7, 1, 1, 1}, {33, 5, 1, 1}, {16, 3, 4, 2}, {1, 9, 2, 3}, {257, 2, 1, 2}, {0, 4, 1, 1}, {5, 0, 2, 1}, {1300, 1, 1, 1},
};
#define N_SHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

static double units(double want, enum ggml_type type, double n) {
    return n * ref_rounding(type) * fabs(want) + (type == GGML_TYPE_F16 ? 6e-8 : 1e-37);
}

/* ---- two operands ---- */

static double exact_binary(const struct ggml_tensor * node, struct at at, double * bound) {
    const double a = ref_get(node->src[0], at), b = ref_repeated(node->src[1], at);
    const double want = node->op == GGML_OP_ADD ? a + b : node->op == GGML_OP_SUB ? a - b : node->op == GGML_OP_MUL ? a * b : a / b;
    *bound            = units(want, node->type, 1.01) + 0x1p-24 * fabs(want);
    return want;
}

typedef struct ggml_tensor * (*build2)(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);

static const build2 arithmetic[]         = {ggml_add, ggml_sub, ggml_mul, ggml_div};
static const build2 arithmetic_inplace[] = {ggml_add_inplace, ggml_sub_inplace, ggml_mul_inplace, ggml_div_inplace};

static void check_binary(int op, enum ggml_type ta, enum ggml_type tb, const int64_t * na, const int64_t * nb, int la, int lb,
                         bool inplace) {
    struct drive         d    = drive_begin();
    struct ggml_tensor * a    = drive_tensor(&d, ta, na, (enum drive_layout) la, -2, 2);
    struct ggml_tensor * b    = drive_tensor(&d, tb, nb, (enum drive_layout) lb, 0.5, 2);
    struct ggml_tensor * node = (inplace ? arithmetic_inplace : arithmetic)[op](d.ctx, a, b);
    char                 detail[64];
    snprintf(detail, sizeof(detail), "%s, %s %s%s", drive_layout_name((enum drive_layout) la), ggml_type_name(tb),
             drive_layout_name((enum drive_layout) lb), inplace ? " in place" : "");
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_binary, detail);
    drive_end(&d);
}

TEST(binary_types_and_layouts) {
    for (int op = 0; op < 4; op++) {
        for (int ta = 0; ta < 3; ta++) {
            for (int tb = 0; tb < 3; tb++) {
                for (int layout = 0; layout < DRIVE_LAYOUTS; layout++) {
                    check_binary(op, floats[ta], floats[tb], shapes[3], shapes[3], layout, (layout + op) % DRIVE_LAYOUTS, false);
                }
            }
        }
        for (int s = 0; s < N_SHAPES; s++) {
            check_binary(op, GGML_TYPE_F32, GGML_TYPE_F32, shapes[s], shapes[s], DRIVE_PLAIN, DRIVE_PLAIN, false);
            check_binary(op, GGML_TYPE_F32, GGML_TYPE_F32, shapes[s], shapes[s], DRIVE_PLAIN, DRIVE_SLICED, true);
            check_binary(op, GGML_TYPE_F16, GGML_TYPE_F16, shapes[s], shapes[s], DRIVE_PLAIN, DRIVE_PLAIN, true);
        }
    }
}

/* b repeats along every set of dimensions, whole and in part. */
TEST(binary_broadcast) {
    const int64_t na[4] = {12, 6, 4, 2};
    for (int mask = 0; mask < 81; mask++) {
        int64_t nb[4];
        for (int k = 0, m = mask; k < 4; k++, m /= 3) {
            nb[k] = m % 3 == 0 ? na[k] : m % 3 == 1 ? 1 : na[k] / 2;
        }
        check_binary(mask % 4, GGML_TYPE_F32, GGML_TYPE_F32, na, nb, DRIVE_PLAIN, mask % DRIVE_LAYOUTS, false);
    }
}

/* The result over the second operand, as the allocator may lay it. */
TEST(binary_over_second) {
    struct drive         d    = drive_begin();
    struct ggml_tensor * a    = drive_tensor(&d, GGML_TYPE_F32, shapes[3], DRIVE_PLAIN, -2, 2);
    struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_F32, shapes[3], DRIVE_PLAIN, 1, 2);
    struct ggml_tensor * node = ggml_div(d.ctx, a, b);
    node->data                = b->data;
    drive_check(&d, node, exact_binary, "over the second source");
    drive_end(&d);
}

/* Formats of blocks: a is decoded, the result encoded; the reference does the same with the format's own functions. */
static double exact_blocks(const struct ggml_tensor * node, struct at at, double * bound) {
    const int64_t block = ggml_blck_size(node->type);
    float         values[256], back[256];
    char          bytes[512];
    for (int64_t k = 0; k < block; k++) {
        struct at e = at;
        e.i[0]      = at.i[0] / block * block + k;
        values[k]   = (float) ref_get(node->src[0], e) + (float) ref_repeated(node->src[1], e);
    }
    graft_type_encoder(node->type)(values, bytes, block);
    graft_type_decoder(node->type)(bytes, back, block);
    *bound = 0.0;
    return (double) back[at.i[0] % block];
}

TEST(add_to_blocks) {
    static const enum ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                                           GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL};
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
        const int64_t ne[4] = {512, 3, 2, 2}, one[4] = {1, 1, 1, 1};
        struct drive         d    = drive_begin();
        struct ggml_tensor * a    = drive_tensor(&d, types[k], ne, DRIVE_PLAIN, -2, 2);
        struct ggml_tensor * b    = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_SLICED, -1, 1);
        struct ggml_tensor * c    = drive_tensor(&d, GGML_TYPE_F32, one, DRIVE_PLAIN, -1, 1);
        struct ggml_tensor * node = ggml_add(d.ctx, a, b);
        struct ggml_tensor * add1 = ggml_add1(d.ctx, a, c); /* every batch in its place */
        drive_place(&d, node, DRIVE_PLAIN);
        drive_place(&d, add1, DRIVE_PLAIN);
        drive_check(&d, node, exact_blocks, "ADD");
        drive_check(&d, add1, exact_blocks, "ADD1");
        drive_end(&d);
    }
}

/* ---- functions of one number ---- */

static double gate(double x, double z) {
    return x / (1.0 + exp(-z));
}

static double gelu(double x) {
    return gate(x, 2.0 * sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x));
}

static double hard(double x) {
    return fmin(1.0, fmax(0.0, (x + 3.0) / 6.0));
}

static double sgn(double x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

static double exact_unary(const struct ggml_tensor * node, struct at at, double * bound) {
    const double x    = ref_get(node->src[0], at);
    double       want = NAN;
    switch ((int) ggml_get_unary_op(node)) {
        case GGML_UNARY_OP_ABS: want = fabs(x); break;
        case GGML_UNARY_OP_SGN: want = sgn(x); break;
        case GGML_UNARY_OP_NEG: want = -x; break;
        case GGML_UNARY_OP_STEP: want = x > 0.0 ? 1.0 : 0.0; break;
        case GGML_UNARY_OP_TANH: want = tanh(x); break;
        case GGML_UNARY_OP_ELU: want = x > 0.0 ? x : expm1(x); break;
        case GGML_UNARY_OP_RELU: want = fmax(x, 0.0); break;
        case GGML_UNARY_OP_SIGMOID: want = 1.0 / (1.0 + exp(-x)); break;
        case GGML_UNARY_OP_GELU: want = gelu(x); break;
        case GGML_UNARY_OP_GELU_QUICK: want = gate(x, 1.702 * x); break;
        case GGML_UNARY_OP_SILU: want = gate(x, x); break;
        case GGML_UNARY_OP_HARDSWISH: want = x * hard(x); break;
        case GGML_UNARY_OP_HARDSIGMOID: want = hard(x); break;
        case GGML_UNARY_OP_EXP: want = exp(x); break;
        case GGML_UNARY_OP_EXPM1: want = expm1(x); break;
        case GGML_UNARY_OP_SOFTPLUS: want = x > 20.0 ? x : log1p(exp(x)); break;
        case GGML_UNARY_OP_GELU_ERF: want = 0.5 * x * erfc(-x * M_SQRT1_2); break;
        case GGML_UNARY_OP_XIELU:
            want = x > 0.0 ? ref_f32(node, 2) * x * x + ref_f32(node, 3) * x :
                             ref_f32(node, 1) * (expm1(fmin(x, ref_f32(node, 4))) - x) + ref_f32(node, 3) * x;
            break;
        case GGML_UNARY_OP_FLOOR: want = floor(x); break;
        case GGML_UNARY_OP_CEIL: want = ceil(x); break;
        case GGML_UNARY_OP_ROUND: want = round(x); break;
        case GGML_UNARY_OP_TRUNC: want = trunc(x); break;
        default: break;
    }
    *bound = units(want, node->type, node->type == GGML_TYPE_F32 ? 10 : 1.1) + 2e-7;
    return want;
}

static void check_unary(int op, enum ggml_type type, const int64_t * ne, int layout, bool inplace) {
    struct drive         d = drive_begin();
    struct ggml_tensor * a = drive_tensor(&d, type, ne, (enum drive_layout) layout, -10, 10);
    struct ggml_tensor * node;
    if (op == GGML_UNARY_OP_XIELU) {
        node = ggml_xielu(d.ctx, a, 0.7f, 0.3f, 0.5f, -1e-6f);
    } else {
        node = inplace ? ggml_unary_inplace(d.ctx, a, (enum ggml_unary_op) op) : ggml_unary(d.ctx, a, (enum ggml_unary_op) op);
    }
    drive_place(&d, node, DRIVE_PLAIN);
    drive_check(&d, node, exact_unary, inplace ? "in place" : drive_layout_name((enum drive_layout) layout));
    drive_end(&d);
}

TEST(unary) {
    for (int op = 0; op < GGML_UNARY_OP_COUNT; op++) {
        for (int t = 0; t < 3; t++) {
            check_unary(op, floats[t], shapes[2 + op % 4], DRIVE_PLAIN, false);
            check_unary(op, floats[t], shapes[3], DRIVE_SLICED, false);
            check_unary(op, floats[t], shapes[3], DRIVE_PERMUTED, false);
            check_unary(op, floats[t], shapes[4], DRIVE_PLAIN, true);
        }
        check_unary(op, GGML_TYPE_F32, shapes[6], DRIVE_PLAIN, false);
        check_unary(op, GGML_TYPE_F32, shapes[8], DRIVE_PLAIN, false);
    }
}

/* NaN stays NaN; the grid of -12 .. 12 and the infinities have limits. */
TEST(gelu_edges) {
    const int64_t        ne[4] = {8, 1, 1, 1};
    const float          x[8]  = {0.0f, -0.0f, NAN, INFINITY, -INFINITY, 12.0f, -12.0f, 1e20f};
    struct drive         d     = drive_begin();
    struct ggml_tensor * a     = drive_tensor(&d, GGML_TYPE_F32, ne, DRIVE_PLAIN, 0, 1);
    struct ggml_tensor * node  = ggml_gelu(d.ctx, a);
    memcpy(a->data, x, sizeof(x));
    drive_place(&d, node, DRIVE_PLAIN);
    REQUIRE(drive_run(&d, node, 1, NULL) == GGML_STATUS_SUCCESS);
    const float * y = node->data;
    CHECK(y[0] == 0.0f && y[1] == 0.0f && isnan(y[2]) && y[3] == INFINITY && y[4] == 0.0f);
    CHECK(y[5] == 12.0f && y[6] <= 0.0f && y[6] > -1e-30f && y[7] == 1e20f);
    drive_end(&d);
}

/* ---- operators with one source ---- */

static double exact_single(const struct ggml_tensor * node, struct at at, double * bound) {
    const double x    = ref_get(node->src[0], at);
    double       want = NAN;
    switch ((int) node->op) {
        case GGML_OP_SQR: want = x * x; break;
        case GGML_OP_SQRT: want = sqrt(x); break;
        case GGML_OP_LOG: want = log(x); break;
        case GGML_OP_SIN: want = sin(x); break;
        case GGML_OP_COS: want = cos(x); break;
        case GGML_OP_SCALE: want = x * ref_f32(node, 0) + ref_f32(node, 1); break;
        case GGML_OP_CLAMP: want = fmin(fmax(x, ref_f32(node, 0)), ref_f32(node, 1)); break;
        case GGML_OP_LEAKY_RELU: want = x > 0.0 ? x : x * ref_f32(node, 0); break;
        case GGML_OP_FILL: want = ref_f32(node, 0); break;
        default: break;
    }
    *bound = units(want, node->type, node->type == GGML_TYPE_F32 ? 6 : 1.1) + 3e-7 * (node->op == GGML_OP_SIN || node->op == GGML_OP_COS);
    return want;
}

static struct ggml_tensor * build_single(struct ggml_context * ctx, int k, struct ggml_tensor * a) {
    switch (k) {
        case 0: return ggml_sqr(ctx, a);
        case 1: return ggml_sqrt(ctx, a);
        case 2: return ggml_log(ctx, a);
        case 3: return ggml_sin(ctx, a);
        case 4: return ggml_cos(ctx, a);
        case 5: return ggml_scale(ctx, a, 1.7f);
        case 6: return ggml_scale_bias(ctx, a, 1.7f, -0.3f);
        case 7: return ggml_clamp(ctx, a, 0.5f, 3.0f); /* a view of a */
        case 8: return ggml_leaky_relu(ctx, a, 0.1f, false);
        case 9: return ggml_fill(ctx, a, 2.5f);
        case 10: return ggml_scale_inplace(ctx, a, 1.7f);
        default: return NULL;
    }
}

TEST(single_source) {
    for (int k = 0; k <= 10; k++) {
        for (int t = 0; t < 3; t++) {
            for (int s = 0; s < N_SHAPES; s++) {
                if (k == 9 && floats[t] == GGML_TYPE_BF16) {
                    harness_count_skipped("FILL is F32 or F16", 1);
                    continue;
                }
                struct drive         d    = drive_begin();
                const int            layout = k <= 4 && shapes[s][0] > 1 ? s % DRIVE_LAYOUTS : DRIVE_PLAIN;
                struct ggml_tensor * a    = drive_tensor(&d, floats[t], shapes[s], (enum drive_layout) layout, 0.01, 9);
                struct ggml_tensor * node = build_single(d.ctx, k, a);
                drive_place(&d, node, DRIVE_PLAIN);
                drive_check(&d, node, exact_single, drive_layout_name((enum drive_layout) layout));
                drive_end(&d);
            }
        }
    }
}

static double exact_silu_back(const struct ggml_tensor * node, struct at at, double * bound) {
    const double dy = ref_get(node->src[0], at), x = ref_get(node->src[1], at), s = 1.0 / (1.0 + exp(-x));
    const double want = dy * s * (1.0 + x * (1.0 - s));
    *bound            = units(want, node->type, node->type == GGML_TYPE_F32 ? 8 : 1.1) + 1e-6;
    return want;
}

TEST(silu_back) {
    for (int s = 0; s < N_SHAPES; s++) {
        struct drive         d    = drive_begin();
        struct ggml_tensor * dy   = drive_tensor(&d, floats[s % 3], shapes[s], DRIVE_PLAIN, -2, 2);
        struct ggml_tensor * x    = drive_tensor(&d, floats[s % 3], shapes[s], DRIVE_PLAIN, -8, 8);
        struct ggml_tensor * node = ggml_silu_back(d.ctx, dy, x);
        drive_place(&d, node, DRIVE_PLAIN);
        drive_check(&d, node, exact_silu_back, "");
        drive_end(&d);
    }
}

/* ---- GLU ---- */

static double exact_glu(const struct ggml_tensor * node, struct at at, double * bound) {
    const struct ggml_tensor * a       = node->src[0];
    const bool                 swapped = ref_i32(node, 1) != 0;
    struct at                  second  = at;
    second.i[0] += node->ne[0];
    double       g     = ref_get(a, at);
    double       u     = node->src[1] != NULL ? ref_get(node->src[1], at) : ref_get(a, second);
    const double alpha = ref_f32(node, 2), limit = ref_f32(node, 3);
    double       want  = NAN;
    if (node->src[1] == NULL && swapped) {
        const double t = g;
        g              = u;
        u              = t;
    }
    switch ((int) ggml_get_glu_op(node)) {
        case GGML_GLU_OP_REGLU: want = fmax(g, 0.0) * u; break;
        case GGML_GLU_OP_GEGLU: want = gelu(g) * u; break;
        case GGML_GLU_OP_SWIGLU: want = gate(g, g) * u; break;
        case GGML_GLU_OP_SWIGLU_OAI:
            g    = fmin(g, limit);
            want = gate(g, alpha * g) * (fmin(fmax(u, -limit), limit) + 1.0);
            break;
        case GGML_GLU_OP_GEGLU_ERF: want = 0.5 * g * erfc(-g * M_SQRT1_2) * u; break;
        case GGML_GLU_OP_GEGLU_QUICK: want = gate(g, 1.702 * g) * u; break;
        case GGML_GLU_OP_SWIGLU_CLAMP:
            g    = fmin(g, limit);
            want = gate(g, g) * fmin(fmax(u, -limit), limit);
            break;
        default: break;
    }
    *bound = units(want, node->type, node->type == GGML_TYPE_F32 ? 12 : 1.1) + 4e-7 * fabs(u) + 1e-7;
    return want;
}

TEST(glu) {
    for (int op = 0; op < GGML_GLU_OP_COUNT; op++) {
        for (int t = 0; t < 3; t++) {
            for (int form = 0; form < 6; form++) { /* halves, halves swapped, two tensors; plain and sliced */
                const int64_t        wide[4] = {66, 5, 2, 1}, half[4] = {33, 5, 2, 1};
                const bool           split  = form % 3 == 2;
                const int            layout = form < 3 ? DRIVE_PLAIN : DRIVE_PERMUTED;
                struct drive         d      = drive_begin();
                struct ggml_tensor * a      = drive_tensor(&d, floats[t], split ? half : wide, DRIVE_PLAIN, -6, 6);
                struct ggml_tensor * b      = split ? drive_tensor(&d, floats[t], half, DRIVE_PLAIN, -6, 6) : NULL;
                struct ggml_tensor * node;
                if (op == GGML_GLU_OP_SWIGLU_OAI && split) {
                    node = ggml_swiglu_oai(d.ctx, a, b, 1.702f, 3.0f);
                } else if (split) {
                    node = ggml_glu_split(d.ctx, a, b, (enum ggml_glu_op) op);
                } else {
                    node = ggml_glu(d.ctx, a, (enum ggml_glu_op) op, form % 3 == 1);
                }
                if (op == GGML_GLU_OP_SWIGLU_OAI || op == GGML_GLU_OP_SWIGLU_CLAMP) {
                    ggml_set_op_params_f32(node, 2, 1.702f);
                    ggml_set_op_params_f32(node, 3, 3.0f);
                }
                drive_place(&d, node, (enum drive_layout) layout);
                drive_check(&d, node, exact_glu, drive_layout_name((enum drive_layout) layout));
                drive_end(&d);
            }
        }
    }
}
