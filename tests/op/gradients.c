/* SPDX-License-Identifier: MIT
 *
 * Gradients of operators against central differences: the loss is a weighted sum of the operator's result, its gradient
 * by every value of every parameter is compared with (loss(x + h) - loss(x - h)) / 2h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-cpu.h"
#include "ggml.h"
#include "harness.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

#define ARENA ((size_t) 16 << 20)
#define MAX_PARAMS 3

struct problem {
    struct ggml_context * ctx;
    struct ggml_tensor *  params[MAX_PARAMS];
    int                   n_params;
    float                 low, high; /* of the parameters' values */
    uint64_t              random;
};

typedef struct ggml_tensor * (*build_fn)(struct problem * p);

static void fill_random(struct problem * p, struct ggml_tensor * t, float low, float high) {
    float * data = ggml_get_data_f32(t);
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        data[i] = harness_random_float(&p->random, low, high);
    }
}

/* An input that gets a gradient. */
static struct ggml_tensor * param(struct problem * p, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    struct ggml_tensor * t = ggml_new_tensor_4d(p->ctx, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    ggml_format_name(t, "param %d", p->n_params);
    fill_random(p, t, p->low, p->high);
    ggml_set_param(t);
    p->params[p->n_params++] = t;
    return t;
}

static struct ggml_tensor * constant(struct problem * p, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    struct ggml_tensor * t = ggml_new_tensor_4d(p->ctx, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    fill_random(p, t, -1.0f, 1.0f);
    return t;
}

static struct ggml_tensor * indices(struct problem * p, int64_t n, int32_t below) {
    struct ggml_tensor * t = ggml_new_tensor_1d(p->ctx, GGML_TYPE_I32, n);
    for (int64_t i = 0; i < n; i++) {
        ((int32_t *) t->data)[i] = (int32_t) (harness_random(&p->random) % (uint64_t) below);
    }
    return t;
}

/* Values in the order of their indices, whatever the strides. The caller frees them. */
static float * values_of(const struct ggml_tensor * t) {
    float * values = malloc((size_t) ggml_nelements(t) * sizeof(float));
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        int64_t at[4];
        ggml_unravel_index(t, i, &at[0], &at[1], &at[2], &at[3]);
        size_t offset = 0;
        for (int d = 0; d < 4; d++) {
            offset += (size_t) at[d] * t->nb[d];
        }
        memcpy(&values[i], (const char *) t->data + offset, sizeof(float));
    }
    return values;
}

static double loss_of(struct problem * p, struct ggml_cgraph * forward, struct ggml_tensor * loss) {
    ggml_graph_compute_with_ctx(p->ctx, forward, 1);
    return (double) ggml_get_data_f32(loss)[0];
}

/* The largest error, relative to the size of the gradients of the parameter (whose smallest ones are all rounding). */
static double compare(struct problem * p, struct ggml_cgraph * forward, struct ggml_tensor * loss, int k,
                      const float * found) {
    const float h      = 1e-2f;
    float *     values = ggml_get_data_f32(p->params[k]);
    double      worst = 0.0, size = 1e-2;
    for (int64_t i = 0; i < ggml_nelements(p->params[k]); i++) {
        const float kept      = values[i];
        values[i]             = kept + h;
        const double above    = loss_of(p, forward, loss);
        values[i]             = kept - h;
        const double below    = loss_of(p, forward, loss);
        values[i]             = kept;
        const double expected = (above - below) / (2.0 * (double) h);
        worst                 = fmax(worst, fabs(expected - (double) found[i]));
        size                  = fmax(size, fabs(expected));
    }
    return worst / size;
}

static void check_gradients(const char * name, build_fn build, float low, float high) {
    struct problem p = {.low = low, .high = high, .random = 77};
    p.ctx            = ggml_init((struct ggml_init_params){.mem_size = ARENA});
    REQUIRE(p.ctx != NULL);
    struct ggml_tensor * y    = ggml_cont(p.ctx, build(&p));
    struct ggml_tensor * w    = constant(&p, y->ne[0], y->ne[1], y->ne[2], y->ne[3]);
    struct ggml_tensor * loss = ggml_sum(p.ctx, ggml_mul(p.ctx, y, w));
    ggml_set_loss(loss);
    struct ggml_cgraph * forward = ggml_new_graph_custom(p.ctx, 128, false);
    struct ggml_cgraph * both    = ggml_new_graph_custom(p.ctx, 512, true);
    ggml_build_forward_expand(forward, loss);
    ggml_build_forward_expand(both, loss);
    ggml_build_backward_expand(p.ctx, both, NULL);
    ggml_graph_reset(both);
    const enum ggml_status status = ggml_graph_compute_with_ctx(p.ctx, both, 2);
    CHECK_MSG(status == GGML_STATUS_SUCCESS, "%s: computing gives status %d", name, (int) status);
    if (status != GGML_STATUS_SUCCESS) {
        ggml_free(p.ctx);
        return;
    }
    for (int k = 0; k < p.n_params; k++) {
        struct ggml_tensor * grad = ggml_graph_get_grad(both, p.params[k]);
        CHECK_MSG(grad != NULL, "%s: parameter %d has no gradient", name, k);
        if (grad == NULL) {
            continue;
        }
        CHECK_MSG(ggml_are_same_shape(grad, p.params[k]), "%s: gradient %d has another shape", name, k);
        float *      found = values_of(grad);
        const double error = compare(&p, forward, loss, k, found);
        CHECK_MSG(error < 2e-2, "%s: gradient of parameter %d is off by %g of its size", name, k, error);
        free(found);
    }
    harness_count_run(1);
    ggml_free(p.ctx);
}

/* ---- the operators ---- */

#define FUNCTION(basename, expression)                                 \
    static struct ggml_tensor * build_##basename(struct problem * p) { \
        struct ggml_context * ctx = p->ctx;                            \
        return expression;                                             \
    }

FUNCTION(dup, ggml_dup(ctx, param(p, 5, 3, 2, 1)))
FUNCTION(cont, ggml_cont_2d(ctx, ggml_transpose(ctx, param(p, 5, 3, 2, 1)), 6, 5))
FUNCTION(cpy, ggml_cpy(ctx, param(p, 5, 4, 1, 1), constant(p, 10, 2, 1, 1)))
FUNCTION(add, ggml_add(ctx, param(p, 6, 4, 2, 1), param(p, 3, 1, 2, 1)))
static struct ggml_tensor * build_add_itself(struct problem * p) {
    struct ggml_tensor * a = param(p, 6, 4, 2, 1);
    return ggml_add(p->ctx, a, a);
}

FUNCTION(add1, ggml_add1(ctx, param(p, 6, 4, 2, 1), param(p, 1, 1, 1, 1)))
FUNCTION(acc, ggml_acc(ctx, param(p, 6, 4, 3, 1), param(p, 2, 2, 2, 1), 24, 96, 288, 24 + 8))
FUNCTION(set, ggml_set(ctx, param(p, 6, 4, 3, 1), param(p, 2, 2, 2, 1), 24, 96, 288, 24 + 8))
FUNCTION(sub, ggml_sub(ctx, param(p, 6, 4, 2, 1), param(p, 6, 1, 1, 1)))
FUNCTION(mul, ggml_mul(ctx, param(p, 6, 4, 2, 1), param(p, 6, 1, 2, 1)))
static struct ggml_tensor * build_mul_itself(struct problem * p) {
    struct ggml_tensor * a = param(p, 6, 4, 2, 1);
    return ggml_mul(p->ctx, a, a);
}

FUNCTION(div, ggml_div(ctx, param(p, 6, 4, 2, 1), param(p, 6, 4, 1, 1)))
FUNCTION(sqr, ggml_sqr(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(sqrt, ggml_sqrt(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(log, ggml_log(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(sin, ggml_sin(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(cos, ggml_cos(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(sum, ggml_sum(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(sum_rows, ggml_sum_rows(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(mean, ggml_mean(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(repeat, ggml_repeat_4d(ctx, param(p, 3, 2, 1, 1), 6, 4, 2, 1))
FUNCTION(repeat_back, ggml_repeat_back(ctx, param(p, 6, 4, 2, 1), constant(p, 3, 2, 1, 1)))
FUNCTION(rms_norm, ggml_rms_norm(ctx, param(p, 6, 4, 2, 1), 1e-5f))
FUNCTION(scale, ggml_scale_bias(ctx, param(p, 6, 4, 2, 1), -0.7f, 3.0f))
FUNCTION(mul_mat, ggml_mul_mat(ctx, param(p, 6, 4, 1, 1), param(p, 6, 3, 1, 1)))
FUNCTION(mul_mat_batches, ggml_mul_mat(ctx, param(p, 5, 4, 2, 2), param(p, 5, 3, 6, 4)))
FUNCTION(get_rows, ggml_get_rows(ctx, param(p, 6, 4, 1, 1), indices(p, 9, 4)))
FUNCTION(diag_mask_inf, ggml_soft_max(ctx, ggml_diag_mask_inf(ctx, param(p, 6, 6, 2, 1), 1)))
FUNCTION(diag_mask_zero, ggml_diag_mask_zero(ctx, param(p, 6, 6, 2, 1), 1))
FUNCTION(soft_max, ggml_soft_max(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(soft_max_mask, ggml_soft_max_ext(ctx, param(p, 6, 4, 2, 1), constant(p, 6, 4, 1, 1), 0.8f, 0.0f))
FUNCTION(rope, ggml_rope(ctx, param(p, 8, 3, 5, 1), indices(p, 5, 100), 8, GGML_ROPE_TYPE_NORMAL))
FUNCTION(rope_neox, ggml_rope_ext(ctx, param(p, 8, 3, 5, 1), indices(p, 5, 100), constant(p, 4, 1, 1, 1), 4,
                                  GGML_ROPE_TYPE_NEOX, 64, 1e4f, 0.5f, 0.0f, 1.2f, 32.0f, 1.0f))
FUNCTION(im2col, ggml_im2col(ctx, constant(p, 3, 2, 2, 4), param(p, 7, 5, 2, 2), 2, 1, 1, 0, 1, 2, true, GGML_TYPE_F32))
FUNCTION(pool_max, ggml_pool_2d(ctx, param(p, 8, 6, 2, 1), GGML_OP_POOL_MAX, 2, 2, 2, 2, 0.0f, 0.0f))
FUNCTION(pool_avg, ggml_pool_2d(ctx, param(p, 8, 6, 2, 1), GGML_OP_POOL_AVG, 2, 2, 2, 2, 0.0f, 0.0f))
FUNCTION(abs, ggml_abs(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(neg, ggml_neg(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(relu, ggml_relu(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(silu, ggml_silu(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(exp, ggml_exp(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(expm1, ggml_expm1(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(softplus, ggml_softplus(ctx, param(p, 6, 4, 2, 1)))
FUNCTION(swiglu, ggml_swiglu_split(ctx, param(p, 6, 4, 2, 1), param(p, 6, 4, 2, 1)))
FUNCTION(cross_entropy_loss,
         ggml_cross_entropy_loss(ctx, param(p, 6, 4, 1, 1), ggml_soft_max(ctx, constant(p, 6, 4, 1, 1))))

#define GRADIENT(basename, low, high)                            \
    TEST(basename) {                                             \
        check_gradients(#basename, build_##basename, low, high); \
    }

GRADIENT(dup, -1.0f, 1.0f)
GRADIENT(cont, -1.0f, 1.0f)
GRADIENT(cpy, -1.0f, 1.0f)
GRADIENT(add, -1.0f, 1.0f)
GRADIENT(add_itself, -1.0f, 1.0f)
GRADIENT(add1, -1.0f, 1.0f)
GRADIENT(acc, -1.0f, 1.0f)
GRADIENT(set, -1.0f, 1.0f)
GRADIENT(sub, -1.0f, 1.0f)
GRADIENT(mul, -1.0f, 1.0f)
GRADIENT(mul_itself, -1.0f, 1.0f)
GRADIENT(div, 0.5f, 1.5f)
GRADIENT(sqr, -1.0f, 1.0f)
GRADIENT(sqrt, 0.5f, 1.5f)
GRADIENT(log, 0.5f, 1.5f)
GRADIENT(sin, -2.0f, 2.0f)
GRADIENT(cos, -2.0f, 2.0f)
GRADIENT(sum, -1.0f, 1.0f)
GRADIENT(sum_rows, -1.0f, 1.0f)
GRADIENT(mean, -1.0f, 1.0f)
GRADIENT(repeat, -1.0f, 1.0f)
GRADIENT(repeat_back, -1.0f, 1.0f)
GRADIENT(rms_norm, -1.0f, 1.0f)
GRADIENT(scale, -1.0f, 1.0f)
GRADIENT(mul_mat, -1.0f, 1.0f)
GRADIENT(mul_mat_batches, -1.0f, 1.0f)
GRADIENT(get_rows, -1.0f, 1.0f)
GRADIENT(diag_mask_inf, -1.0f, 1.0f)
GRADIENT(diag_mask_zero, -1.0f, 1.0f)
GRADIENT(soft_max, -1.0f, 1.0f)
GRADIENT(soft_max_mask, -1.0f, 1.0f)
GRADIENT(rope, -1.0f, 1.0f)
GRADIENT(rope_neox, -1.0f, 1.0f)
GRADIENT(im2col, -1.0f, 1.0f)
GRADIENT(pool_max, -1.0f, 1.0f)
GRADIENT(pool_avg, -1.0f, 1.0f)
GRADIENT(abs, 0.1f, 1.0f)
GRADIENT(neg, -1.0f, 1.0f)
GRADIENT(relu, 0.1f, 1.0f)
GRADIENT(silu, -2.0f, 2.0f)
GRADIENT(exp, -1.0f, 1.0f)
GRADIENT(expm1, -1.0f, 1.0f)
GRADIENT(softplus, -2.0f, 2.0f)
GRADIENT(swiglu, -2.0f, 2.0f)
GRADIENT(cross_entropy_loss, -1.0f, 1.0f)
