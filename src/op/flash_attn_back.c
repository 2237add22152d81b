/* SPDX-License-Identifier: MIT
 *
 * FLASH_ATTN_BACK: a value of the enum whose operator belonged to an older attention. Its builder is part of the
 * interface and refuses; the gradient of attention is that of its parts.
 */
#include "op/check.h"

#define REASON "attention has no gradient operator: build it from MUL_MAT and SOFT_MAX to train it"

static enum ggml_status check(const struct ggml_tensor * node) {
    return op_refuse(node, REASON);
}

const struct op_row op_row_flash_attn_back = {
    .op        = GGML_OP_FLASH_ATTN_BACK,
    .name      = "FLASH_ATTN_BACK",
    .symbol    = "flash_attn_back(x)",
    .n_src_min = 4,
    .n_src_max = 4,
    .check     = check,
};

struct ggml_tensor * ggml_flash_attn_back(struct ggml_context * ctx, struct ggml_tensor * q, struct ggml_tensor * k,
                                          struct ggml_tensor * v, struct ggml_tensor * d, bool masked) {
    GGML_UNUSED(q);
    GGML_UNUSED(k);
    GGML_UNUSED(v);
    GGML_UNUSED(d);
    GGML_UNUSED(masked);
    return op_builder_failed(ctx, "%s: " REASON, __func__);
}
