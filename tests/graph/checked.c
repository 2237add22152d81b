/* SPDX-License-Identifier: MIT
 *
 * Checked mode: builders at fault give NULL, NULL passes through, the first error is kept. The same faults abort
 * otherwise.
 */
#include <string.h>

#include "faults.h"
#include "ggml-impl.h"
#include "graft.h"
#include "harness.h"

static struct ggml_context * new_context(void) {
    return ggml_init((struct ggml_init_params) { 1 << 20, NULL, true });
}

TEST(off_at_first) {
    struct ggml_context * ctx = new_context();
    CHECK(!graft_get_checked(ctx));
    CHECK(graft_context_status(ctx) == GGML_STATUS_SUCCESS && strcmp(graft_context_error(ctx), "") == 0);
    graft_set_checked(ctx, true);
    CHECK(graft_get_checked(ctx));
    ggml_free(ctx);
}

TEST(a_whole_graph_is_checked_at_its_end) {
    struct ggml_context * ctx = new_context();
    graft_set_checked(ctx, true);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    struct ggml_tensor * w     = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 64, 32), "w");
    struct ggml_tensor * x     = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 63, 5), "x");
    const size_t         used  = ggml_used_mem(ctx);
    struct ggml_tensor * y     = ggml_set_name(ggml_mul_mat(ctx, w, x), "y"); /* the fault */
    CHECK(y == NULL);
    struct ggml_tensor * z = ggml_add(ctx, ggml_sqr(ctx, y), x);
    z                      = ggml_reshape_1d(ctx, ggml_transpose(ctx, ggml_view_1d(ctx, z, 5, 0)), 5);
    z                      = ggml_permute(ctx, z, 0, 1, 3, 2);
    z                      = ggml_reshape(ctx, x, z);
    z                      = ggml_view_tensor(ctx, ggml_dup_tensor(ctx, z));
    ggml_set_output(z);
    ggml_set_input(z);
    ggml_set_param(z);
    ggml_set_loss(z);
    ggml_build_forward_expand(graph, z);
    ggml_build_forward_order(graph, z);
    CHECK(z == NULL && graph->n_nodes == 0 && ggml_used_mem(ctx) == used);
    CHECK(graft_context_status(ctx) == GGML_STATUS_FAILED);
    const char * text = graft_context_error(ctx);
    CHECK_MSG(strstr(text, "MUL_MAT") != NULL && strstr(text, "'w' f32 [64, 32, 1, 1]") != NULL &&
                  strstr(text, "'x' f32 [63, 5, 1, 1]") != NULL, "the first error is '%s'", text);
    graft_set_checked(ctx, true);
    CHECK(graft_context_status(ctx) == GGML_STATUS_SUCCESS && graft_context_error(ctx)[0] == 0);
    ggml_free(ctx);
}

TEST(the_name_of_a_missing_source) {
    struct ggml_context * ctx = new_context();
    graft_set_checked(ctx, true);
    struct ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    CHECK(ggml_add(ctx, x, NULL) == NULL);
    CHECK_MSG(strcmp(graft_context_error(ctx), "ggml_add: source 1 is NULL") == 0, "'%s'", graft_context_error(ctx));
    CHECK(ggml_permute(ctx, NULL, 0, 1, 2, 3) == NULL);
    CHECK(strcmp(graft_context_error(ctx), "ggml_add: source 1 is NULL") == 0);
    ggml_free(ctx);
}

TEST(no_graph_where_none_could_be_made) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params) { 1000, NULL, true });
    graft_set_checked(ctx, true);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    CHECK(graph == NULL);
    ggml_build_forward_expand(graph, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4));
    CHECK(ggml_graph_dup(ctx, graph, false) == NULL);
    CHECK(strstr(graft_context_error(ctx), "not enough space") != NULL);
    ggml_free(ctx);
}

TEST(faults_of_graphs) {
    struct ggml_context * ctx = new_context();
    graft_set_checked(ctx, true);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    struct ggml_tensor * x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    CHECK(ggml_build_forward_select(graph, &x, 1, 1) == NULL);
    CHECK(strstr(graft_context_error(ctx), "no tensor 1 among 1") != NULL);
    CHECK(ggml_graph_node(graph, 0) == NULL && ggml_graph_node(graph, -1) == NULL);
    graft_set_checked(ctx, true);
    x->src[0] = x; /* a leaf of itself */
    ggml_build_forward_expand(graph, x);
    CHECK(strstr(graft_context_error(ctx), "run in a circle") != NULL);
    ggml_free(ctx);
}

static struct ggml_tensor * vector(struct ggml_context * ctx) {
    return ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
}

static void add_null(void) {
    struct ggml_context * ctx = new_context();
    ggml_add(ctx, vector(ctx), NULL);
}
static void view_null(void) {
    ggml_view_tensor(new_context(), NULL);
}
static void reshape_null(void) {
    struct ggml_context * ctx = new_context();
    ggml_reshape(ctx, vector(ctx), NULL);
}
static void expand_null(void) {
    ggml_build_forward_expand(ggml_new_graph(new_context()), NULL);
}
static void add_mismatched(void) {
    struct ggml_context * ctx = new_context();
    ggml_add(ctx, vector(ctx), ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3), "three"));
}
static void node_out_of_range(void) {
    ggml_graph_node(ggml_new_graph(new_context()), 0);
}

TEST(unchecked_faults_abort_with_the_text) {
    CHECK_ABORTS(add_null, "ggml_add: source 1 is NULL");
    CHECK_ABORTS(view_null, "ggml_view_tensor: the source is NULL");
    CHECK_ABORTS(reshape_null, "the tensor that gives the shape is NULL");
    CHECK_ABORTS(expand_null, "ggml_build_forward_expand: the tensor is NULL");
    CHECK_ABORTS(add_mismatched, "'three' f32 [3, 1, 1, 1]");
    CHECK_ABORTS(node_out_of_range, "no node 0 in a graph of 0");
}
