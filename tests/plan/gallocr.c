/* SPDX-License-Identifier: MIT
 *
 * The graph allocator on random graphs and on the shapes that have gone wrong elsewhere.
 */
#include "random_graph.h"

enum { N_GRAPHS = 300, N_DRAWS = 60 };

/* ---- an independent account of what is alive ---- */

static const struct ggml_tensor * root_of(const struct ggml_tensor * t) {
    return t->view_src != NULL ? t->view_src : t;
}

static bool is_label(const struct ggml_tensor * t) {
    return ggml_op_is_empty(t->op) && t->view_src != NULL;
}

static int first_write(const struct ggml_cgraph * graph, const struct ggml_tensor * root) {
    for (int i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i] == root) {
            return (root->flags & GGML_TENSOR_FLAG_INPUT) != 0 ? -1 : i;
        }
    }
    return -1;
}

static int last_read(const struct ggml_cgraph * graph, const struct ggml_tensor * root) {
    int last = first_write(graph, root);
    if ((root->flags & GGML_TENSOR_FLAG_OUTPUT) != 0) {
        return INT32_MAX;
    }
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct ggml_tensor * node = graph->nodes[i];
        bool                       used = false;
        for (int j = 0; j < graph->n_nodes; j++) {
            for (int k = 0; k < GGML_MAX_SRC; k++) {
                used = used || graph->nodes[j]->src[k] == node;
            }
        }
        if (root_of(node) == root && (!used || (node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0)) {
            return INT32_MAX;
        }
        for (int k = 0; k < GGML_MAX_SRC && !is_label(node); k++) {
            if (node->src[k] != NULL && root_of(node->src[k]) == root) {
                last = i;
            }
        }
        if (root_of(node) == root && !is_label(node) && i > last) {
            last = i;
        }
    }
    return last;
}

static bool overlap(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    const char * a0 = a->data;
    const char * b0 = b->data;
    return a0 < b0 + ggml_nbytes(b) && b0 < a0 + ggml_nbytes(a);
}

/* May `node` lie over what its source lies in? */
static bool may_be_in_place(const struct ggml_tensor * node, const struct ggml_tensor * root) {
    for (int k = 0; k < GGML_MAX_SRC && ggml_op_can_inplace(node->op); k++) {
        if (node->src[k] != NULL && root_of(node->src[k]) == root && ggml_are_same_layout(node, node->src[k]) &&
            node->data == node->src[k]->data) {
            return true;
        }
    }
    return false;
}

static void check_no_overlap(const struct random_graph * g, uint64_t seed) {
    const struct ggml_tensor * roots[RANDOM_MAX];
    int                        start[RANDOM_MAX], end[RANDOM_MAX], n = 0;
    for (struct ggml_tensor * t = ggml_get_first_tensor(g->ctx); t != NULL; t = ggml_get_next_tensor(g->ctx, t)) {
        if (t->view_src == NULL && t->buffer != NULL) {
            roots[n] = t;
            start[n] = first_write(g->graph, t);
            end[n++] = last_read(g->graph, t);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (i == j || start[j] < start[i] || start[j] > end[i] || !overlap(roots[i], roots[j])) {
                continue;
            }
            const bool in_place = start[j] == end[i] && may_be_in_place(roots[j], roots[i]);
            CHECK_MSG(in_place, "seed %llu: '%s' [%d..%d] and '%s' [%d..%d] share memory", (unsigned long long) seed,
                      roots[i]->name, start[i], end[i], roots[j]->name, start[j], end[j]);
        }
    }
}

/* ---- random graphs ---- */

/* Allocates, runs and compares one graph; checks that what was planned is what is there. */
static void run_one(ggml_gallocr_t galloc, struct toy * toy, uint64_t seed) {
    struct random_graph   g       = random_graph_make(seed, N_DRAWS);
    ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &toy->buft);
    REQUIRE(ggml_gallocr_alloc_graph(galloc, g.graph));
    check_no_overlap(&g, seed);
    random_graph_fill(&g, seed);
    CHECK(ggml_backend_graph_compute(&toy->backend, g.graph) == GGML_STATUS_SUCCESS);
    random_graph_compare(&g, seed, N_DRAWS, seed);
    CHECK(toy_all_guards_intact(toy));
    ggml_backend_buffer_free(weights);
    random_graph_free(&g);
}

TEST(random_graphs_fresh_allocator) {
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        struct toy toy;
        toy_init(&toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
        ggml_gallocr_t galloc = ggml_gallocr_new(&toy.buft);
        run_one(galloc, &toy, seed);
        ggml_gallocr_free(galloc);
        toy_free(&toy);
    }
}

TEST(random_graphs_one_allocator) {
    struct toy toy;
    toy_init(&toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_gallocr_t galloc = ggml_gallocr_new(&toy.buft);
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        run_one(galloc, &toy, seed % 7 == 0 ? 3 : seed); /* one graph comes back again and again */
    }
    ggml_gallocr_free(galloc);
    toy_free(&toy);
}

TEST(random_graphs_in_chunks) {
    for (size_t max_size = 256; max_size <= 4096; max_size *= 2) {
        struct toy toy;
        toy_init(&toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
        toy.max_size          = max_size;
        ggml_gallocr_t galloc = ggml_gallocr_new(&toy.buft);
        for (uint64_t seed = 1000; seed < 1040; seed++) {
            run_one(galloc, &toy, seed);
        }
        for (int i = 0; i < toy.n_buffers; i++) {
            CHECK_MSG(toy.buffers[i]->size <= max_size || max_size < 9 * 9 * 4 * 2,
                      "a chunk of %zu bytes where %zu is the limit", toy.buffers[i]->size, max_size);
        }
        ggml_gallocr_free(galloc);
        toy_free(&toy);
    }
}

TEST(measured_size_is_the_size) {
    for (uint64_t seed = 1; seed <= N_GRAPHS; seed++) {
        struct toy toy;
        size_t     planned = 0;
        toy_init(&toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
        toy.max_size                  = seed % 3 == 0 ? 1024 : SIZE_MAX;
        struct random_graph   g       = random_graph_make(seed, N_DRAWS);
        ggml_backend_buffer_t weights = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &toy.buft);
        const size_t          before  = toy_bytes(&toy);
        ggml_gallocr_t        galloc  = ggml_gallocr_new(&toy.buft);
        ggml_gallocr_reserve_n_size(galloc, g.graph, NULL, NULL, &planned);
        CHECK(toy_bytes(&toy) == before);
        CHECK(ggml_gallocr_get_buffer_size(galloc, 0) == 0);
        CHECK(ggml_gallocr_reserve(galloc, g.graph));
        CHECK_MSG(toy_bytes(&toy) - before == planned, "planned %zu bytes, allocated %zu", planned,
                  toy_bytes(&toy) - before);
        CHECK(ggml_gallocr_get_buffer_size(galloc, 0) == planned);
        /* twice is the same as once */
        const int allocations = toy.n_allocations;
        CHECK(ggml_gallocr_reserve(galloc, g.graph));
        CHECK(ggml_gallocr_alloc_graph(galloc, g.graph));
        CHECK(ggml_gallocr_alloc_graph(galloc, g.graph));
        CHECK(toy.n_allocations == allocations);
        ggml_gallocr_free(galloc);
        ggml_backend_buffer_free(weights);
        random_graph_free(&g);
        toy_free(&toy);
    }
}

/* ---- chosen graphs ---- */

struct fixture {
    struct toy            toy;
    struct ggml_context * ctx;
    struct ggml_cgraph *  graph;
    ggml_gallocr_t        galloc;
};

static void setup(struct fixture * f) {
    toy_init(&f->toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
    f->ctx    = toy_context(128);
    f->graph  = ggml_new_graph(f->ctx);
    f->galloc = ggml_gallocr_new(&f->toy.buft);
}

static void new_graph(struct fixture * f) {
    ggml_free(f->ctx);
    f->ctx   = toy_context(128);
    f->graph = ggml_new_graph(f->ctx);
}

static void teardown(struct fixture * f) {
    ggml_gallocr_free(f->galloc);
    ggml_free(f->ctx);
    toy_free(&f->toy);
}

static struct ggml_tensor * input(struct fixture * f, int64_t ne0, int64_t ne1) {
    struct ggml_tensor * t = ggml_new_tensor_2d(f->ctx, GGML_TYPE_F32, ne0, ne1);
    ggml_set_input(t);
    return t;
}

static float value(const struct ggml_tensor * t, int i) {
    float v;
    ggml_backend_tensor_get(t, &v, (size_t) i * sizeof(v), sizeof(v));
    return v;
}

static void set_all(struct ggml_tensor * t, float v) {
    for (int64_t i = 0; i < ggml_nelements(t); i++) {
        ggml_backend_tensor_set(t, &v, (size_t) i * sizeof(v), sizeof(v));
    }
}

static void run(struct fixture * f) {
    CHECK(ggml_backend_graph_compute(&f->toy.backend, f->graph) == GGML_STATUS_SUCCESS);
}

/* A3: equal sizes, other wiring: x is read late in the second graph only. */
TEST(plan_is_not_taken_for_another_wiring) {
    struct fixture f;
    setup(&f);
    for (int round = 0; round < 6; round++) {
        const bool late = round % 2 == 1;
        new_graph(&f);
        struct ggml_tensor * x = input(&f, 8, 8);
        struct ggml_tensor * a = ggml_cont(f.ctx, ggml_transpose(f.ctx, x));
        struct ggml_tensor * b = ggml_cont(f.ctx, ggml_transpose(f.ctx, ggml_scale(f.ctx, a, 3.0f)));
        struct ggml_tensor * c = ggml_cont(f.ctx, ggml_transpose(f.ctx, b));
        struct ggml_tensor * d = ggml_add(f.ctx, c, late ? x : b);
        ggml_build_forward_expand(f.graph, d);
        REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
        toy_fill(x, 7);
        float want[64], got[64];
        ggml_backend_tensor_get(x, want, 0, sizeof(want));
        run(&f);
        ggml_backend_tensor_get(d, got, 0, sizeof(got));
        for (int i = 0; i < 64; i++) {
            const float sum = 3.0f * want[(i % 8) * 8 + i / 8] + (late ? 1.0f : 3.0f) * want[i];
            CHECK_MSG(got[i] == sum, "round %d: %g, expected %g", round, got[i], sum);
        }
    }
    teardown(&f);
}

/* The plan lays the sum over b; in the next graph b has become a row that is read for every column. */
TEST(plan_is_not_taken_when_a_layout_shrinks) {
    struct fixture f;
    setup(&f);
    for (int round = 0; round < 4; round++) {
        const bool shrunk = round % 2 == 1;
        new_graph(&f);
        struct ggml_tensor * a   = input(&f, 4, 4);
        struct ggml_tensor * b   = ggml_scale(f.ctx, input(&f, 4, shrunk ? 1 : 4), 1.0f);
        struct ggml_tensor * sum = ggml_add(f.ctx, a, b);
        struct ggml_tensor * out = ggml_add(f.ctx, sum, a);
        ggml_build_forward_expand(f.graph, out);
        REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
        set_all(a, 1.0f);
        set_all(b->src[0], 10.0f);
        run(&f);
        for (int i = 0; i < 16; i++) {
            CHECK_MSG(value(out, i) == 12.0f, "round %d, element %d: %g", round, i, value(out, i));
        }
    }
    teardown(&f);
}

TEST(smaller_graph_uses_the_plan) {
    struct fixture f;
    setup(&f);
    for (int n = 64; n > 0; n /= 2) {
        new_graph(&f);
        struct ggml_tensor * x = input(&f, 16, n);
        struct ggml_tensor * y = ggml_add(f.ctx, ggml_sqr(f.ctx, x), ggml_neg(f.ctx, x));
        ggml_build_forward_expand(f.graph, y);
        REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
        set_all(x, 3.0f);
        run(&f);
        CHECK(value(y, 16 * n - 1) == 6.0f);
    }
    CHECK(f.toy.n_allocations == 1);
    teardown(&f);
}

TEST(elementwise_chain_needs_one_block) {
    struct fixture f;
    setup(&f);
    struct ggml_tensor * x = ggml_sqr(f.ctx, input(&f, 100, 1));
    for (int i = 0; i < 20; i++) {
        x = i % 3 == 2 ? ggml_reshape_2d(f.ctx, x, 10, 10) : ggml_scale(f.ctx, x, 1.0f); /* also through a view */
    }
    ggml_build_forward_expand(f.graph, x);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
    CHECK_MSG(ggml_gallocr_get_buffer_size(f.galloc, 0) == 416, "%zu bytes", ggml_gallocr_get_buffer_size(f.galloc, 0));
    teardown(&f);
}

TEST(outputs_survive) {
    struct fixture f;
    setup(&f);
    struct ggml_tensor * x       = input(&f, 8, 4);
    struct ggml_tensor * a       = ggml_scale(f.ctx, x, 2.0f);
    struct ggml_tensor * flagged = ggml_reshape_2d(f.ctx, a, 32, 1); /* a label is the output, and is read as well */
    ggml_set_output(flagged);
    struct ggml_tensor * y = ggml_scale(f.ctx, flagged, 3.0f);
    for (int i = 0; i < 5; i++) {
        y = ggml_cont(f.ctx, ggml_transpose(f.ctx, y));
    }
    ggml_build_forward_expand(f.graph, y);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
    set_all(x, 1.0f);
    run(&f);
    for (int i = 0; i < 32; i++) {
        CHECK(value(flagged, i) == 2.0f);
    }
    CHECK(value(y, 0) == 6.0f);
    teardown(&f);
}

TEST(only_the_first_source_of_a_gathering_operator_is_overwritten) {
    struct fixture f;
    setup(&f);
    /* ADD_ID reads rows of b by id: laid over b it would destroy rows that it reads later */
    struct ggml_tensor * a   = input(&f, 4, 2);
    struct ggml_tensor * b   = ggml_scale(f.ctx, input(&f, 4, 2), 1.0f);
    struct ggml_tensor * ids = ggml_new_tensor_2d(f.ctx, GGML_TYPE_I32, 2, 1);
    ggml_set_input(ids);
    struct ggml_tensor * sum = ggml_add_id(f.ctx, ggml_reshape_3d(f.ctx, a, 4, 2, 1), b, ids);
    ggml_build_forward_expand(f.graph, sum);
    struct ggml_tensor * again = ggml_add(f.ctx, ggml_reshape_2d(f.ctx, sum, 4, 2), a);
    ggml_build_forward_expand(f.graph, again);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
    CHECK(sum->data != b->data);
    teardown(&f);
}

TEST(a_view_with_an_offset_is_not_overwritten_as_a_whole) {
    struct fixture f;
    setup(&f);
    struct ggml_tensor * x = ggml_scale(f.ctx, input(&f, 8, 4), 1.0f);
    struct ggml_tensor * v = ggml_view_2d(f.ctx, x, 8, 2, x->nb[1], 2 * x->nb[1]);
    struct ggml_tensor * y = ggml_scale(f.ctx, v, 2.0f);
    struct ggml_tensor * z = ggml_add(f.ctx, y, ggml_view_2d(f.ctx, x, 8, 2, x->nb[1], 0));
    ggml_build_forward_expand(f.graph, z);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
    set_all(x->src[0], 1.0f);
    run(&f);
    CHECK(value(z, 0) == 3.0f && value(z, 15) == 3.0f);
    teardown(&f);
}

TEST(external_tensors_stay_where_they_are) {
    struct fixture f;
    setup(&f);
    struct ggml_context * weights = toy_context(8);
    struct ggml_tensor *  w       = ggml_new_tensor_2d(weights, GGML_TYPE_F32, 8, 8);
    ggml_backend_buffer_t memory  = ggml_backend_alloc_ctx_tensors_from_buft(weights, &f.toy.buft);
    void * const          at      = w->data;
    struct ggml_tensor *  y       = ggml_scale(f.ctx, ggml_scale(f.ctx, w, 2.0f), 2.0f); /* must not go over w */
    ggml_build_forward_expand(f.graph, y);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
    set_all(w, 1.0f);
    run(&f);
    CHECK(w->data == at && value(w, 63) == 1.0f && value(y, 63) == 4.0f);
    ggml_backend_buffer_free(memory);
    ggml_free(weights);
    teardown(&f);
}

TEST(a_graph_is_allocated_again_after_another) {
    struct fixture f;
    setup(&f);
    struct ggml_context * other = toy_context(64);
    struct ggml_tensor *  x     = input(&f, 8, 8);
    struct ggml_tensor *  y     = ggml_add(f.ctx, ggml_cont(f.ctx, ggml_transpose(f.ctx, x)), x);
    ggml_build_forward_expand(f.graph, y);
    struct ggml_cgraph * large = ggml_new_graph(other);
    struct ggml_tensor * z     = ggml_new_tensor_2d(other, GGML_TYPE_F32, 8, 8);
    for (int i = 0; i < 3; i++) {
        z = ggml_cont(other, ggml_transpose(other, z));
    }
    ggml_build_forward_expand(large, z);
    for (int round = 0; round < 4; round++) {
        REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
        set_all(x, (float) round);
        run(&f);
        CHECK(value(y, 63) == 2.0f * (float) round);
        CHECK(ggml_gallocr_reserve(f.galloc, large)); /* another plan in the same memory */
        CHECK(ggml_gallocr_alloc_graph(f.galloc, large));
    }
    ggml_free(other);
    teardown(&f);
}

TEST(tensors_without_elements) {
    struct fixture f;
    setup(&f);
    struct ggml_tensor * x = input(&f, 0, 3);
    struct ggml_tensor * y = ggml_scale(f.ctx, x, 2.0f);
    ggml_build_forward_expand(f.graph, y);
    size_t planned = 0;
    ggml_gallocr_reserve_n_size(f.galloc, f.graph, NULL, NULL, &planned);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph));
    CHECK(x->data != NULL && y->data != NULL && y->buffer != NULL);
    CHECK(planned == ggml_gallocr_get_buffer_size(f.galloc, 0));
    run(&f);
    new_graph(&f);
    REQUIRE(ggml_gallocr_alloc_graph(f.galloc, f.graph)); /* no nodes at all */
    teardown(&f);
}

TEST(buffers_of_one_type_are_shared) {
    struct toy a, b;
    toy_init(&a, "a", GGML_BACKEND_DEVICE_TYPE_CPU);
    toy_init(&b, "b", GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_buffer_type_t bufts[3] = {&a.buft, &b.buft, &a.buft};
    ggml_gallocr_t             galloc   = ggml_gallocr_new_n(bufts, 3);
    struct ggml_context *      ctx      = toy_context(16);
    struct ggml_cgraph *       graph    = ggml_new_graph(ctx);
    struct ggml_tensor *       x        = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 64);
    ggml_set_output(x); /* so that y does not go over it */
    struct ggml_tensor * y = ggml_sqr(ctx, x);
    struct ggml_tensor * z = ggml_cont(ctx, ggml_view_1d(ctx, y, 32, 0));
    ggml_build_forward_expand(graph, z);
    const int node_ids[3] = {1, 1, 2};
    const int leaf_ids[1] = {0};
    size_t    sizes[3];
    ggml_gallocr_reserve_n_size(galloc, graph, node_ids, leaf_ids, sizes);
    CHECK(!ggml_gallocr_alloc_graph(galloc, graph)); /* nobody said where to */
    REQUIRE(ggml_gallocr_reserve_n(galloc, graph, node_ids, leaf_ids));
    REQUIRE(ggml_gallocr_alloc_graph(galloc, graph));
    for (int i = 0; i < 3; i++) {
        CHECK_MSG(sizes[i] == ggml_gallocr_get_buffer_size(galloc, i), "buffer %d: planned %zu, has %zu", i, sizes[i],
                  ggml_gallocr_get_buffer_size(galloc, i));
    }
    CHECK(sizes[2] == 0 && a.n_buffers == 1 && b.n_buffers == 1);
    CHECK(x->buffer == a.buffers[0] && z->buffer == a.buffers[0]);
    ggml_gallocr_free(galloc);
    ggml_free(ctx);
    toy_free(&a);
    toy_free(&b);
}

TEST(out_of_memory_at_every_allocation) {
    for (int n = 1; n < 40; n++) {
        struct toy toy;
        toy_init(&toy, "toy", GGML_BACKEND_DEVICE_TYPE_CPU);
        toy.max_size                 = 512; /* many chunks */
        struct random_graph   g      = random_graph_make(5, N_DRAWS);
        ggml_backend_buffer_t w      = ggml_backend_alloc_ctx_tensors_from_buft(g.weights, &toy.buft);
        ggml_gallocr_t        galloc = ggml_gallocr_new(&toy.buft);
        toy.fail_alloc               = n;
        const int  buffers           = toy.n_buffers;
        const bool ok                = ggml_gallocr_alloc_graph(galloc, g.graph);
        if (!ok) {
            CHECK(toy.n_buffers == buffers);
            CHECK(g.graph->nodes[0]->buffer == NULL);
        }
        toy.fail_alloc = 0;
        CHECK(ggml_gallocr_alloc_graph(galloc, g.graph)); /* and again, now with memory */
        random_graph_fill(&g, 5);
        CHECK(ggml_backend_graph_compute(&toy.backend, g.graph) == GGML_STATUS_SUCCESS);
        random_graph_compare(&g, 5, N_DRAWS, 5);
        ggml_gallocr_free(galloc);
        ggml_backend_buffer_free(w);
        random_graph_free(&g);
        toy_free(&toy);
        if (ok) {
            return;
        }
    }
    CHECK_MSG(false, "40 allocations were not enough");
}

/* ---- the linear allocator and contexts ---- */

TEST(linear_allocator_says_when_it_is_full) {
    struct fixture f;
    setup(&f);
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(&f.toy.buft, 100);
    struct ggml_tallocr   talloc = ggml_tallocr_new(buffer);
    struct ggml_tensor *  a      = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 9);
    struct ggml_tensor *  b      = ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, 9);
    CHECK(ggml_tallocr_alloc(&talloc, a) == GGML_STATUS_SUCCESS);
    CHECK(a->data == talloc.base && talloc.offset == 64);
    CHECK(ggml_tallocr_alloc(&talloc, b) == GGML_STATUS_ALLOC_FAILED);
    CHECK(b->data == NULL && talloc.offset == 64);
    ggml_backend_buffer_free(buffer);
    teardown(&f);
}

TEST(context_in_several_buffers) {
    for (int n_fail = 0; n_fail < 8; n_fail++) {
        struct fixture f;
        setup(&f);
        f.toy.max_size = 256;
        struct ggml_tensor * t[10];
        for (int i = 0; i < 10; i++) {
            t[i] = i % 4 == 3 ? ggml_view_1d(f.ctx, t[i - 1], 8, 16)
                              : ggml_new_tensor_1d(f.ctx, GGML_TYPE_F32, i == 5 ? 200 : 16 + i);
        }
        const size_t planned         = ggml_backend_alloc_ctx_tensors_from_buft_size(f.ctx, &f.toy.buft);
        f.toy.fail_alloc             = n_fail;
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(f.ctx, &f.toy.buft);
        if (n_fail == 0 || buffer != NULL) {
            REQUIRE(buffer != NULL);
            CHECK(planned == toy_bytes(&f.toy) && f.toy.n_buffers > 2);
            for (int i = 0; i < 10; i++) {
                CHECK(t[i]->data != NULL && t[i]->buffer != NULL);
                if (t[i]->view_src != NULL) {
                    CHECK(t[i]->data == (char *) t[i - 1]->data + 16);
                }
            }
            CHECK(ggml_backend_alloc_ctx_tensors_from_buft(f.ctx, &f.toy.buft) == NULL); /* nothing is left to do */
            ggml_backend_buffer_free(buffer);
        } else {
            CHECK(f.toy.n_buffers == 0);
            for (int i = 0; i < 10; i++) {
                CHECK(t[i]->data == NULL && t[i]->buffer == NULL);
            }
        }
        teardown(&f);
    }
}

TEST(context_of_nothing) {
    struct fixture f;
    setup(&f);
    CHECK(ggml_backend_alloc_ctx_tensors_from_buft(f.ctx, &f.toy.buft) == NULL);
    CHECK(ggml_backend_alloc_ctx_tensors_from_buft_size(f.ctx, &f.toy.buft) == 0);
    teardown(&f);
}
