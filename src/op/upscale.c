/* SPDX-License-Identifier: MIT
 *
 * UPSCALE: an image brought to another size by interpolation.
 */
#include "op/check.h"

/* The parameter: the mode in the lowest byte, flags above. */
#define MODE_MASK 0xFF

static enum ggml_status check(const struct ggml_tensor * node) {
    const int32_t word = op_get_i32(node, 0);
    const int32_t mode = word & MODE_MASK;
    OP_TRY(op_check_sane(node));
    OP_TRY(op_check_type(node, 0, GGML_TYPE_F32));
    OP_REQUIRE(node->type == GGML_TYPE_F32, "result must be f32");
    OP_REQUIRE(mode < GGML_SCALE_MODE_COUNT, "%d is no mode of interpolation", mode);
    OP_REQUIRE((word & GGML_SCALE_FLAG_ANTIALIAS) == 0 || mode == GGML_SCALE_MODE_BILINEAR,
               "only the bilinear mode has an antialias filter");
    OP_REQUIRE(!ggml_is_empty(node->src[0]) || ggml_is_empty(node),
               "source 0 is empty: there is nothing to interpolate");
    return op_check_contiguous_result(node);
}

static struct op_cost cost(const struct ggml_tensor * node) {
    return op_cost_per_value(node, 12.0);
}

const struct op_row op_row_upscale = {
    .op        = GGML_OP_UPSCALE,
    .name      = "UPSCALE",
    .symbol    = "upscale(x)",
    .n_src_min = 1,
    .n_src_max = 1,
    .check     = check,
    .cost      = cost,
};

static struct ggml_tensor * build(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a, int64_t ne0,
                                  int64_t ne1, int64_t ne2, int64_t ne3, uint32_t mode) {
    struct op_draft draft = op_begin(ctx, GGML_OP_UPSCALE, builder);
    op_src(&draft, 0, a);
    op_shape(&draft, GGML_TYPE_F32, ne0, ne1, ne2, ne3);
    op_param_i32(&draft, 0, (int32_t) mode);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_upscale(struct ggml_context * ctx, struct ggml_tensor * a, int scale_factor,
                                  enum ggml_scale_mode mode) {
    int64_t ne0 = 1, ne1 = 1;
    if (scale_factor < 2) {
        return op_builder_failed(ctx, "%s: the factor must be 2 or more, not %d", __func__, scale_factor);
    }
    if (a == NULL) {
        return build(ctx, __func__, NULL, ne0, ne1, 1, 1, (uint32_t) mode);
    }
    if (!base_int64_mul(a->ne[0], scale_factor, &ne0) || !base_int64_mul(a->ne[1], scale_factor, &ne1)) {
        return op_builder_failed(ctx, "%s: '%s' %s times %d overflows", __func__, a->name, op_describe(a),
                                 scale_factor);
    }
    return build(ctx, __func__, a, ne0, ne1, a->ne[2], a->ne[3], (uint32_t) mode);
}

struct ggml_tensor * ggml_upscale_ext(struct ggml_context * ctx, struct ggml_tensor * a, int ne0, int ne1, int ne2,
                                      int ne3, enum ggml_scale_mode mode) {
    return build(ctx, __func__, a, ne0, ne1, ne2, ne3, (uint32_t) mode);
}

struct ggml_tensor * ggml_interpolate(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                      int64_t ne2, int64_t ne3, uint32_t mode) {
    return build(ctx, __func__, a, ne0, ne1, ne2, ne3, mode);
}
