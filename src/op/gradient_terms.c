/* SPDX-License-Identifier: MIT
 *
 * Forms of gradient terms that several operators need.
 */
#include "op/gradient_terms.h"

struct ggml_tensor * op_term_folded(struct op_backward * pass, struct ggml_tensor * term,
                                    const struct ggml_tensor * like) {
    if (term == NULL || ggml_are_same_shape(term, like)) {
        return term;
    }
    return ggml_repeat_back(pass->ctx, term, (struct ggml_tensor *) like);
}

struct ggml_tensor * op_term_contiguous(struct op_backward * pass, struct ggml_tensor * term) {
    return term == NULL || ggml_is_contiguous(term) ? term : ggml_cont(pass->ctx, term);
}

struct ggml_tensor * op_term_reshaped(struct op_backward * pass, struct ggml_tensor * term,
                                      const struct ggml_tensor * like) {
    if (term == NULL || ggml_are_same_shape(term, like)) {
        return term;
    }
    return ggml_reshape(pass->ctx, op_term_contiguous(pass, term), (struct ggml_tensor *) like);
}

bool op_grad_stops_at_src1(const struct ggml_tensor * node, int k) {
    (void) node;
    return k == 1;
}
