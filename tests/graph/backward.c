/* SPDX-License-Identifier: MIT
 *
 * Building gradients: what the graph looks like, and what is refused. Values of gradients are tested with the
 * operators.
 */
#include <string.h>

#include "ggml-impl.h"
#include "graft.h"
#include "harness.h"

static struct ggml_context * new_context(void) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 1 << 20, NULL, true });
    graft_set_checked(ctx, true);
    return ctx;
}

static struct ggml_tensor * parameter(struct ggml_context * ctx, enum ggml_type type) {
    struct ggml_tensor * w = ggml_set_name(ggml_new_tensor_2d(ctx, type, 6, 4), "w");
    ggml_set_param(w);
    return w;
}

/* One value out of a transposed, reshaped, permuted w. */
static struct ggml_tensor * one_value(struct ggml_context * ctx, struct ggml_tensor * w, size_t offset) {
    struct ggml_tensor * t = ggml_reshape_3d(ctx, w, 2, 3, 4);
    t                      = ggml_view_1d(ctx, ggml_reshape_2d(ctx, t, 8, 3), 1, offset);
    return ggml_transpose(ctx, ggml_permute(ctx, t, 3, 2, 1, 0));
}

static struct ggml_tensor * with_loss(struct ggml_cgraph * graph, struct ggml_tensor * loss) {
    ggml_set_loss(loss);
    ggml_build_forward_expand(graph, loss);
    return loss;
}

TEST(gradient_of_labels) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 4, true); /* grows in the middle of the pass */
    struct ggml_tensor *  w     = parameter(ctx, GGML_TYPE_F32);
    struct ggml_tensor *  loss  = with_loss(graph, one_value(ctx, w, 20));
    ggml_build_backward_expand(ctx, graph, NULL);
    CHECK_MSG(graft_context_status(ctx) == GGML_STATUS_SUCCESS, "%s", graft_context_error(ctx));
    struct ggml_tensor * grad = ggml_graph_get_grad(graph, w);
    REQUIRE(grad != NULL);
    CHECK(ggml_are_same_shape(grad, w) && grad->type == GGML_TYPE_F32 && strcmp(grad->name, "grad for w") == 0);
    CHECK(ggml_graph_get_grad_acc(graph, w) == NULL);
    struct ggml_tensor * start = ggml_graph_get_grad_acc(graph, loss);
    CHECK(start != NULL && ggml_is_scalar(start) && start == ggml_graph_get_grad(graph, loss));
    CHECK(ggml_graph_node(graph, -1) == grad);
    struct ggml_tensor * region = grad; /* through both reshapes */
    while (region != NULL && region->op != GGML_OP_ACC) {
        region = region->src[0];
    }
    REQUIRE(region != NULL);
    CHECK(region->op_params[3] == 20);
    ggml_free(ctx);
}

TEST(terms_are_added_and_accumulated) {
    for (int given = 0; given < 2; given++) {
        struct ggml_context * ctx   = new_context();
        struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, true);
        struct ggml_tensor *  w     = parameter(ctx, GGML_TYPE_F32);
        struct ggml_tensor *  accs[64] = { NULL };
        struct ggml_tensor *  acc      = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 6, 4);
        with_loss(graph, one_value(ctx, w, 0));
        with_loss(graph, one_value(ctx, w, 20));
        for (int i = 0; i < graph->n_nodes; i++) {
            accs[i] = given && graph->nodes[i] == w ? acc : NULL;
        }
        ggml_build_backward_expand(ctx, graph, accs);
        CHECK_MSG(graft_context_status(ctx) == GGML_STATUS_SUCCESS, "%s", graft_context_error(ctx));
        struct ggml_tensor * grad = ggml_graph_get_grad(graph, w);
        REQUIRE(grad != NULL);
        CHECK(grad->op == GGML_OP_ADD);
        CHECK((grad->view_src == acc) == given && (ggml_graph_get_grad_acc(graph, w) == acc) == given);
        CHECK(!given || grad->src[0]->src[0] == acc);
        ggml_free(ctx);
    }
}

static void check_refused(struct ggml_context * ctx, const char * text) {
    CHECK_MSG(graft_context_status(ctx) != GGML_STATUS_SUCCESS && strstr(graft_context_error(ctx), text) != NULL,
              "'%s' not in '%s'", text, graft_context_error(ctx));
    ggml_free(ctx);
}

TEST(graphs_without_what_it_takes) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    with_loss(graph, one_value(ctx, parameter(ctx, GGML_TYPE_F32), 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "without room for gradients");

    ctx   = new_context();
    graph = ggml_new_graph_custom(ctx, 64, true);
    with_loss(graph, one_value(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 6, 4), 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "no node is a parameter");

    ctx   = new_context();
    graph = ggml_new_graph_custom(ctx, 64, true);
    ggml_build_forward_expand(graph, one_value(ctx, parameter(ctx, GGML_TYPE_F32), 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "no node is a loss");

    ctx = new_context();
    ggml_build_backward_expand(ctx, NULL, NULL);
    CHECK(graft_context_status(ctx) == GGML_STATUS_SUCCESS);
    ggml_free(ctx);
}

TEST(operators_without_gradient) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, true);
    struct ggml_tensor *  t     = ggml_set_name(ggml_cumsum(ctx, parameter(ctx, GGML_TYPE_F32)), "running");
    with_loss(graph, ggml_view_1d(ctx, t, 1, 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "'running', result of CUMSUM: the operator has no gradient");

    ctx   = new_context(); /* nobody asks for it: nothing is wrong */
    graph = ggml_new_graph_custom(ctx, 64, true);
    struct ggml_tensor * w = parameter(ctx, GGML_TYPE_F32);
    ggml_build_forward_expand(graph, ggml_cumsum(ctx, w));
    with_loss(graph, ggml_view_1d(ctx, w, 1, 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    CHECK(graft_context_status(ctx) == GGML_STATUS_SUCCESS && ggml_graph_get_grad(graph, w) != NULL);
    ggml_free(ctx);
}

TEST(sources_without_gradient) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, true);
    struct ggml_tensor *  w     = parameter(ctx, GGML_TYPE_F32);
    with_loss(graph, ggml_view_1d(ctx, ggml_scale_inplace(ctx, w, 2.0f), 1, 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "in place");

    ctx   = new_context();
    graph = ggml_new_graph_custom(ctx, 64, true);
    w     = parameter(ctx, GGML_TYPE_BF16);
    with_loss(graph, ggml_cast(ctx, ggml_view_1d(ctx, w, 1, 0), GGML_TYPE_F32));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "neither f32 nor f16");

    ctx   = new_context();
    graph = ggml_new_graph_custom(ctx, 64, true);
    w     = parameter(ctx, GGML_TYPE_F32);
    with_loss(graph, ggml_view_1d(ctx, ggml_transpose(ctx, w), 1, 0));
    ggml_build_backward_expand(ctx, graph, NULL);
    check_refused(ctx, "not contiguous");
}
