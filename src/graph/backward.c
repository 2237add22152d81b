/* SPDX-License-Identifier: MIT
 *
 * Building the gradients of a graph, by reverse mode.
 */
#include "graph/backward.h"

#include "base/status.h"
#include "graft.h"
#include "graph/context.h"

/* ---- terms ---- */

bool op_grad_needed(const struct op_backward * pass, const struct ggml_tensor * src) {
    return src != NULL && pass->needed.size > 0 && ggml_hash_contains(&pass->needed, (struct ggml_tensor *) src);
}

/* The gradient so far; an accumulator is added to in place. */
static struct ggml_tensor * gradient_so_far(const struct op_backward * pass, const struct ggml_tensor * src,
                                            bool * inplace) {
    *inplace = ggml_graph_get_grad_acc(pass->graph, src) != NULL;
    return ggml_graph_get_grad(pass->graph, src);
}

static void set_gradient(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * grad) {
    if (grad == NULL) {
        return; /* refused, and recorded */
    }
    if (!ggml_are_same_shape(grad, src)) {
        op_grad_refuse(pass, src, "a term of its gradient has another shape");
        return;
    }
    ggml_format_name(grad, "grad for %s", src->name);
    pass->graph->grads[ggml_hash_find(&pass->graph->visited_hash_set, src)] = grad;
    ggml_build_forward_expand(pass->graph, grad);
}

void op_grad_add(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term) {
    if (!op_grad_needed(pass, src)) {
        return;
    }
    bool                 inplace;
    struct ggml_tensor * sum = gradient_so_far(pass, src, &inplace);
    if (sum == NULL) {
        set_gradient(pass, src, term);
    } else {
        set_gradient(pass, src, inplace ? ggml_add_inplace(pass->ctx, sum, term) : ggml_add(pass->ctx, sum, term));
    }
}

void op_grad_sub(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term) {
    if (!op_grad_needed(pass, src)) {
        return;
    }
    bool                 inplace;
    struct ggml_tensor * sum = gradient_so_far(pass, src, &inplace);
    if (sum == NULL) {
        set_gradient(pass, src, ggml_neg(pass->ctx, term));
    } else {
        set_gradient(pass, src, inplace ? ggml_sub_inplace(pass->ctx, sum, term) : ggml_sub(pass->ctx, sum, term));
    }
}

void op_grad_add_scalar(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term) {
    if (!op_grad_needed(pass, src)) {
        return;
    }
    bool                 inplace;
    struct ggml_tensor * sum = gradient_so_far(pass, src, &inplace);
    if (sum == NULL) {
        set_gradient(pass, src, ggml_repeat(pass->ctx, term, src));
    } else {
        set_gradient(pass, src, inplace ? ggml_add_inplace(pass->ctx, sum, term) : ggml_add(pass->ctx, sum, term));
    }
}

void op_grad_add_region(struct op_backward * pass, struct ggml_tensor * src, struct ggml_tensor * term, size_t nb1,
                        size_t nb2, size_t nb3, size_t offset) {
    if (!op_grad_needed(pass, src)) {
        return;
    }
    bool                 inplace;
    struct ggml_tensor * sum = gradient_so_far(pass, src, &inplace);
    if (sum == NULL) { /* zeros, but not by a multiplication: 0 * Inf is no zero */
        sum = ggml_fill(pass->ctx, src->type == GGML_TYPE_F32 ? src : ggml_cast(pass->ctx, src, GGML_TYPE_F32), 0.0f);
        inplace = false;
    }
    set_gradient(pass, src, inplace ? ggml_acc_inplace(pass->ctx, sum, term, nb1, nb2, nb3, offset)
                                    : ggml_acc(pass->ctx, sum, term, nb1, nb2, nb3, offset));
}

void op_grad_refuse(struct op_backward * pass, const struct ggml_tensor * node, const char * why) {
    context_fault(pass->ctx, base_fail(GGML_STATUS_FAILED, "ggml_build_backward_expand: '%s', result of %s: %s",
                                       node->name, ggml_op_desc(node), why));
}

/* ---- which gradients are needed ---- */

/* The result lies over its first source, which the backward pass may still have to read. */
static bool overwrites_source(const struct ggml_tensor * node) {
    const struct ggml_tensor * src = node->src[0];
    return node->view_src != NULL && src != NULL && !ggml_op_is_empty(node->op) &&
           node->view_src == (src->view_src != NULL ? src->view_src : src);
}

static bool source_needed(const struct op_backward * pass, const struct ggml_tensor * node, int k) {
    return op_grad_needed(pass, node->src[k]) && !graph_hook_grad_stops(node, k);
}

static bool has_needed_source(const struct op_backward * pass, const struct ggml_tensor * node) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (source_needed(pass, node, k)) {
            return true;
        }
    }
    return false;
}

/* Gradients flow through f32 and f16 alone. */
static bool sources_have_derivatives(const struct op_backward * pass, const struct ggml_tensor * node) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (source_needed(pass, node, k) && node->src[k]->type != GGML_TYPE_F32 &&
            node->src[k]->type != GGML_TYPE_F16) {
            return false;
        }
    }
    return true;
}

/* Gradients that a run starts from: the client's accumulators, and those of losses. */
static bool start_gradient(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * given) {
    struct ggml_cgraph * graph = pass->graph;
    struct ggml_tensor * acc   = given;
    if (acc == NULL && (node->flags & GGML_TENSOR_FLAG_LOSS) != 0) {
        acc = ggml_new_tensor(pass->ctx, GGML_TYPE_F32, GGML_MAX_DIMS, node->ne);
        if (acc == NULL) {
            return false;
        }
    }
    const size_t slot      = ggml_hash_find(&graph->visited_hash_set, node);
    graph->grads[slot]     = acc;
    graph->grad_accs[slot] = acc;
    return true;
}

static bool find_needed(struct op_backward * pass, struct ggml_tensor ** grad_accs) {
    for (int i = 0; i < pass->graph->n_nodes; i++) {
        struct ggml_tensor * node   = pass->graph->nodes[i];
        const bool           flagged = (node->flags & (GGML_TENSOR_FLAG_PARAM | GGML_TENSOR_FLAG_LOSS)) != 0;
        if (node->type == GGML_TYPE_I32 || (!flagged && !has_needed_source(pass, node))) {
            continue;
        }
        if (!sources_have_derivatives(pass, node)) {
            op_grad_refuse(pass, node, "a source that needs a gradient is neither f32 nor f16");
            return false;
        }
        if (overwrites_source(node)) {
            op_grad_refuse(pass, node, "computed in place, which gradients do not allow");
            return false;
        }
        ggml_hash_insert(&pass->needed, node);
        if (!start_gradient(pass, node, grad_accs != NULL ? grad_accs[i] : NULL)) {
            return false;
        }
    }
    return true;
}

/* ---- the pass ---- */

static bool failed(const struct op_backward * pass) {
    return graft_context_status(pass->ctx) != GGML_STATUS_SUCCESS;
}

static void visit(struct op_backward * pass, struct ggml_tensor * node) {
    struct ggml_tensor * grad = ggml_graph_get_grad(pass->graph, node);
    if (grad == NULL || !op_grad_needed(pass, node)) {
        return;
    }
    if (!graph_hook_backward(pass, node, grad)) {
        if (has_needed_source(pass, node)) {
            op_grad_refuse(pass, node, "the operator has no gradient");
        }
        return;
    }
    for (int k = 0; k < GGML_MAX_SRC && !failed(pass); k++) {
        if (source_needed(pass, node, k) && ggml_graph_get_grad(pass->graph, node->src[k]) == NULL) {
            op_grad_refuse(pass, node, "the operator has no gradient by one of the sources that need one");
        }
    }
}

static bool any_flag(const struct ggml_cgraph * graph, enum ggml_tensor_flag flag) {
    for (int i = 0; i < graph->n_nodes; i++) {
        if ((graph->nodes[i]->flags & flag) != 0) {
            return true;
        }
    }
    return false;
}

static enum ggml_status check_graph(const struct ggml_cgraph * graph) {
    if (graph->grads == NULL || graph->grad_accs == NULL) {
        return base_fail(GGML_STATUS_FAILED,
                         "ggml_build_backward_expand: the graph was made without room for gradients");
    }
    if (!any_flag(graph, GGML_TENSOR_FLAG_PARAM)) {
        return base_fail(GGML_STATUS_FAILED, "ggml_build_backward_expand: no node is a parameter (ggml_set_param)");
    }
    if (!any_flag(graph, GGML_TENSOR_FLAG_LOSS)) {
        return base_fail(GGML_STATUS_FAILED, "ggml_build_backward_expand: no node is a loss (ggml_set_loss)");
    }
    return GGML_STATUS_SUCCESS;
}

void ggml_build_backward_expand(struct ggml_context * ctx, struct ggml_cgraph * cgraph,
                                struct ggml_tensor ** grad_accs) {
    if (cgraph == NULL) {
        return; /* in checked mode ggml_new_graph gave none, and recorded why */
    }
    if (check_graph(cgraph) != GGML_STATUS_SUCCESS) {
        context_fault(ctx, GGML_STATUS_FAILED);
        return;
    }
    const int          n_forward = cgraph->n_nodes;
    struct op_backward pass      = { ctx, cgraph, ggml_hash_set_new((size_t) n_forward * 2) };
    if (pass.needed.keys == NULL) {
        context_fault(ctx, GGML_STATUS_ALLOC_FAILED);
        return;
    }
    cgraph->uid = 0;
    memset(cgraph->grads, 0, cgraph->visited_hash_set.size * sizeof(cgraph->grads[0]));
    memset(cgraph->grad_accs, 0, cgraph->visited_hash_set.size * sizeof(cgraph->grad_accs[0]));
    if (find_needed(&pass, grad_accs)) {
        for (int i = n_forward - 1; i >= 0 && !failed(&pass); i--) {
            visit(&pass, cgraph->nodes[i]);
        }
    }
    ggml_hash_set_free(&pass.needed);
}
