/* SPDX-License-Identifier: MIT
 *
 * Workspaces and groups in the allocator's plan. The interface is internal, so the allocator's sources are part of this
 * program.
 */
#include "base/status.c"
#include "plan/alloc.c"
#include "plan/alloc_plan.c"
#include "plan/alloc_scan.c"
#include "plan/array.c"
#include "plan/map.c"
#include "plan/number.c"
#include "plan/pack.c"

#include "toy.h"

struct fixture {
    struct toy            toy;
    struct ggml_context * ctx;
    struct ggml_cgraph *  graph;
    ggml_gallocr_t        galloc;
    struct plan_numbers   numbers;
};

/* The fixture's graph by numbers. */
static struct alloc_request request_of(struct plan_numbers * numbers, const struct ggml_cgraph * graph) {
    plan_numbers_clear(numbers);
    CHECK(plan_numbers_graph(numbers, graph));
    return alloc_request_of(numbers);
}

static void setup(struct fixture * f) {
    memset(f, 0, sizeof(*f));
    toy_init(&f->toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
    f->ctx    = toy_context(64);
    f->graph  = ggml_new_graph(f->ctx);
    f->galloc = ggml_gallocr_new(&f->toy.buft);
}

static void teardown(struct fixture * f) {
    ggml_gallocr_free(f->galloc);
    plan_numbers_free(&f->numbers);
    ggml_free(f->ctx);
    toy_free(&f->toy);
}

static struct ggml_tensor * transposed(struct fixture * f, struct ggml_tensor * x) {
    return ggml_cont(f->ctx, ggml_transpose(f->ctx, x)); /* two nodes, never in place */
}

static bool apart(const void * a, size_t a_size, const void * b, size_t b_size) {
    return (const char *) a + a_size <= (const char *) b || (const char *) b + b_size <= (const char *) a;
}

TEST(workspaces_lie_between_the_tensors) {
    for (size_t alignment = 8; alignment <= 256; alignment *= 2) {
        struct fixture f;
        setup(&f);
        ggml_gallocr_free(f.galloc);
        f.toy.alignment        = alignment;
        f.galloc               = ggml_gallocr_new(&f.toy.buft);
        struct ggml_tensor * x = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 9, 11);
        struct ggml_tensor * a = transposed(&f, x);
        struct ggml_tensor * b = transposed(&f, a);
        struct ggml_tensor * c = transposed(&f, b);
        ggml_build_forward_expand(f.graph, c);
        const size_t         workspaces[6] = {0, 1000, 0, 3000, 0, 0};
        struct alloc_request request       = request_of(&f.numbers, f.graph);
        size_t               plain, measured;
        CHECK(alloc_measure(f.galloc, &request, &plain) == GGML_STATUS_SUCCESS);
        /* the tensors have memory from an allocation without workspaces, which must not count */
        REQUIRE(alloc_reserve(f.galloc, &request) == GGML_STATUS_SUCCESS &&
                alloc_assign(f.galloc) == GGML_STATUS_SUCCESS);
        request.workspaces = workspaces;
        CHECK(alloc_measure(f.galloc, &request, &measured) == GGML_STATUS_SUCCESS);
        CHECK(!alloc_fits(f.galloc, &request));
        REQUIRE(alloc_reserve(f.galloc, &request) == GGML_STATUS_SUCCESS);
        REQUIRE(alloc_fits(f.galloc, &request));
        REQUIRE(alloc_assign(f.galloc) == GGML_STATUS_SUCCESS);
        CHECK(measured == ggml_gallocr_get_buffer_size(f.galloc, 0));
        /* not the sum of all: the two are never alive at once */
        CHECK_MSG(measured >= 3000 + 2 * ggml_nbytes(a) && measured < 3000 + 1000 + 2 * ggml_nbytes(a), "%zu bytes",
                  measured);
        CHECK(plain < 3000);

        char * first  = alloc_workspace(f.galloc, 1);
        char * second = alloc_workspace(f.galloc, 3);
        char * base   = ggml_backend_buffer_get_base(a->buffer);
        CHECK(alloc_workspace(f.galloc, 0) == NULL && alloc_workspace(f.galloc, 5) == NULL);
        CHECK((uintptr_t) first % 64 == 0 && (uintptr_t) second % 64 == 0);
        CHECK(first >= base && second >= base && second + 3000 <= base + measured && first + 1000 <= base + measured);
        CHECK(apart(first, 1000, x->data, ggml_nbytes(x)) && apart(first, 1000, a->data, ggml_nbytes(a)));
        CHECK(apart(second, 3000, a->data, ggml_nbytes(a)) && apart(second, 3000, b->data, ggml_nbytes(b)));
        teardown(&f);
    }
}

TEST(plan_serves_smaller_workspaces_only) {
    struct fixture f;
    setup(&f);
    struct ggml_tensor * x = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 9, 11);
    ggml_build_forward_expand(f.graph, transposed(&f, x));
    size_t               workspaces[2] = {0, 1000};
    struct alloc_request request       = request_of(&f.numbers, f.graph);
    request.workspaces                 = workspaces;
    REQUIRE(alloc_reserve(f.galloc, &request) == GGML_STATUS_SUCCESS);
    CHECK(alloc_fits(f.galloc, &request));
    workspaces[1] = 999;
    CHECK(alloc_fits(f.galloc, &request));
    workspaces[1] = 1001;
    CHECK(!alloc_fits(f.galloc, &request));
    workspaces[1] = 0;
    CHECK(!alloc_fits(f.galloc, &request)); /* another plan, which needs less */
    teardown(&f);
}

TEST(a_group_runs_at_its_last_node) {
    struct fixture f;
    setup(&f);
    struct ggml_tensor * x          = ggml_new_tensor_2d(f.ctx, GGML_TYPE_F32, 16, 16);
    struct ggml_tensor * w          = ggml_scale(f.ctx, x, 1.0f);    /* 0 */
    struct ggml_tensor * n          = ggml_rms_norm(f.ctx, w, 1.0f); /* 1: first of the group, not written */
    struct ggml_tensor * o          = ggml_cont(f.ctx, ggml_transpose(f.ctx, x)); /* 2, 3: in the gap */
    struct ggml_tensor * m          = ggml_mul(f.ctx, n, n);                      /* 4: of the group, written */
    struct ggml_tensor * s          = ggml_scale(f.ctx, m, 2.0f);                 /* 5: last of the group */
    struct ggml_tensor * e          = ggml_add(f.ctx, ggml_add(f.ctx, s, m), o);  /* 6, 7 */
    struct ggml_tensor * in_order[] = {w, n, o, m, s, e};
    for (size_t i = 0; i < 6; i++) {
        ggml_build_forward_expand(f.graph, in_order[i]);
    }
    REQUIRE(f.graph->n_nodes == 8);
    const int32_t times[8] = {0, 5, 2, 3, 5, 5, 6, 7};
    const uint8_t flags[8] = {0, ALLOC_NODE_GROUPED | ALLOC_NODE_SKIPPED, 0, 0, ALLOC_NODE_GROUPED, ALLOC_NODE_GROUPED};
    const size_t  spaces[8]      = {0, 0, 0, 0, 0, 512, 0, 0};
    struct alloc_request request = request_of(&f.numbers, f.graph);
    request.node_times           = times;
    request.node_flags           = flags;
    request.workspaces           = spaces;
    REQUIRE(alloc_reserve(f.galloc, &request) == GGML_STATUS_SUCCESS && alloc_assign(f.galloc) == GGML_STATUS_SUCCESS);
    CHECK(n->data == NULL && n->buffer == NULL);
    CHECK(m->data != NULL && s->data != NULL);
    /* what the group reads and writes at time 5 is all apart */
    const struct ggml_tensor * at_once[] = {w, o, m, s};
    for (int i = 0; i < 4; i++) {
        CHECK(apart(alloc_workspace(f.galloc, 5), 512, at_once[i]->data, 1024));
        for (int j = 0; j < i; j++) {
            CHECK_MSG(apart(at_once[i]->data, 1024, at_once[j]->data, 1024), "%d and %d share memory", i, j);
        }
    }
    teardown(&f);
}

TEST(permanent_tensors_take_turns) {
    /* the scheduler's pipeline copies: two leafs that are input and output, of which one is read; the plan must not
     * care which */
    struct toy toy;
    toy_init(&toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_gallocr_t      galloc  = ggml_gallocr_new(&toy.buft);
    struct plan_numbers numbers = {0};
    for (int turn = 0; turn < 4; turn++) {
        struct ggml_context * ctx   = toy_context(16);
        struct ggml_cgraph    graph = {0};
        struct ggml_tensor *  leafs[3], *nodes[1];
        for (int i = 0; i < 2; i++) {
            leafs[i] = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 16);
            ggml_set_input(leafs[i]);
            ggml_set_output(leafs[i]);
        }
        leafs[2]                           = leafs[turn % 2]; /* listed a second time */
        nodes[0]                           = ggml_sqr(ctx, leafs[turn % 2]);
        graph.leafs                        = leafs;
        graph.nodes                        = nodes;
        graph.n_leafs                      = 3;
        graph.n_nodes                      = 1;
        const struct alloc_request request = request_of(&numbers, &graph);
        CHECK(alloc_fits(galloc, &request) == (turn > 0));
        if (turn == 0) {
            REQUIRE(alloc_reserve(galloc, &request) == GGML_STATUS_SUCCESS);
        }
        REQUIRE(alloc_assign(galloc) == GGML_STATUS_SUCCESS);
        CHECK((char *) leafs[1]->data - (char *) leafs[0]->data == 64);
        ggml_free(ctx);
    }
    CHECK(toy.n_allocations == 1);
    plan_numbers_free(&numbers);
    ggml_gallocr_free(galloc);
    toy_free(&toy);
}
