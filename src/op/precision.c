/* SPDX-License-Identifier: MIT
 *
 * Precision of products: of the accumulation and of the second source, kept in parameters of the node. Only a wish: a
 * kernel may always be more exact.
 */
#include "op/check.h"

struct precision_params {
    enum ggml_op op;
    int          accumulation; /* index of the parameter */
    int          src1;         /* the same; -1: there is none */
};

static const struct precision_params precisions[] = {
    {GGML_OP_MUL_MAT, 0, 3},
    {GGML_OP_MUL_MAT_ID, 0, 3},
    {GGML_OP_FLASH_ATTN_EXT, 3, -1},
};

static const struct precision_params * params_of(const struct ggml_tensor * node) {
    for (size_t i = 0; node != NULL && i < sizeof(precisions) / sizeof(precisions[0]); i++) {
        if (precisions[i].op == node->op) {
            return &precisions[i];
        }
    }
    return NULL;
}

bool ggml_prec_set_acc(struct ggml_tensor * a, enum ggml_prec prec) {
    const struct precision_params * params = params_of(a);
    if (params == NULL) {
        return false;
    }
    a->op_params[params->accumulation] = (int32_t) prec;
    return true;
}

bool ggml_prec_set_src(struct ggml_tensor * a, enum ggml_prec prec, int idx) {
    if (idx < 0 || idx >= GGML_MAX_SRC) {
        op_builder_failed(NULL, "%s: a node has no source %d", __func__, idx);
        return false;
    }
    const struct precision_params * params = params_of(a);
    if (params == NULL || idx != 1 || params->src1 < 0) {
        return false;
    }
    a->op_params[params->src1] = (int32_t) prec;
    return true;
}

/* The older functions, each for one operator. */
static void set_of(struct ggml_tensor * a, enum ggml_op op, enum ggml_prec prec, const char * setter) {
    if (a != NULL && op_is_node_of(a, op, setter)) {
        ggml_prec_set_acc(a, prec);
    }
}

void ggml_mul_mat_set_prec(struct ggml_tensor * a, enum ggml_prec prec) {
    set_of(a, GGML_OP_MUL_MAT, prec, __func__);
}

void ggml_flash_attn_ext_set_prec(struct ggml_tensor * a, enum ggml_prec prec) {
    set_of(a, GGML_OP_FLASH_ATTN_EXT, prec, __func__);
}

enum ggml_prec ggml_flash_attn_ext_get_prec(const struct ggml_tensor * a) {
    if (a == NULL || !op_is_node_of(a, GGML_OP_FLASH_ATTN_EXT, __func__)) {
        return GGML_PREC_DEFAULT;
    }
    return (enum ggml_prec) op_get_i32(a, params_of(a)->accumulation);
}
