/* SPDX-License-Identifier: MIT
 *
 * Graphs: growth, views by value, copies, clearing, and what they print.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "faults.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "graft.h"
#include "harness.h"

static struct ggml_context * new_context(size_t n_tensors) {
    return ggml_init((struct ggml_init_params) { n_tensors * ggml_tensor_overhead() + (1 << 20), NULL, true });
}

/* x -> sqr -> sqr -> ... */
static struct ggml_tensor * chain(struct ggml_context * ctx, struct ggml_tensor * x, int n) {
    for (int i = 0; i < n; i++) {
        x = ggml_sqr(ctx, x);
    }
    return x;
}

static size_t count_keys(const struct ggml_cgraph * graph) {
    size_t n = 0;
    for (size_t i = 0; i < graph->visited_hash_set.size; i++) {
        n += ggml_bitset_get(graph->visited_hash_set.used, i);
    }
    return n;
}

/* Every source is in the hash set, with the number of its uses. */
static void check_uses(const struct ggml_cgraph * graph) {
    const struct ggml_hash_set * set = &graph->visited_hash_set;
    int32_t * uses = calloc(set->size, sizeof(*uses));
    for (int i = 0; i < graph->n_nodes; i++) {
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            const struct ggml_tensor * src = graph->nodes[i]->src[k];
            if (src != NULL) {
                CHECK(ggml_hash_contains(set, graph->nodes[i]->src[k]));
                uses[ggml_hash_find(set, src)]++;
            }
        }
    }
    bool ok = true;
    for (size_t i = 0; i < set->size; i++) {
        ok = ok && (!ggml_bitset_get(set->used, i) || uses[i] == graph->use_counts[i]);
    }
    CHECK(ok);
    free(uses);
}

/* Everything that modules read agrees with everything else. */
static void check_consistent(const struct ggml_cgraph * graph) {
    CHECK(count_keys(graph) == (size_t) graph->n_nodes + (size_t) graph->n_leafs);
    check_uses(graph);
}

TEST(an_overhead_is_enough) {
    const size_t sizes[] = { 0, 1, 7, 100, 2048, 8192 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int grads = 0; grads < 2; grads++) {
            const size_t          overhead = ggml_graph_overhead_custom(sizes[i], grads);
            struct ggml_context * ctx      = ggml_init((struct ggml_init_params) { overhead, NULL, true });
            graft_set_checked(ctx, true);
            struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, sizes[i], grads);
            CHECK(graph != NULL && ggml_used_mem(ctx) == overhead);
            CHECK(ggml_graph_size(graph) == (int) sizes[i] && ggml_graph_n_nodes(graph) == 0);
            ggml_free(ctx);
            ctx = ggml_init((struct ggml_init_params) { overhead - 16, NULL, true });
            graft_set_checked(ctx, true);
            CHECK(ggml_new_graph_custom(ctx, sizes[i], grads) == NULL);
            ggml_free(ctx);
        }
    }
    CHECK(ggml_graph_overhead() == ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false));
    CHECK(ggml_graph_overhead_custom(SIZE_MAX, true) > (size_t) INT64_MAX / 2);
}

TEST(absurd_sizes_are_refused) {
    struct ggml_context * ctx = new_context(0);
    graft_set_checked(ctx, true);
    CHECK(ggml_new_graph_custom(ctx, SIZE_MAX, true) == NULL);
    CHECK(ggml_new_graph_custom(ctx, (size_t) 1 << 31, false) == NULL);
    CHECK(strstr(graft_context_error(ctx), "are more than a graph can hold") != NULL);
    CHECK(ggml_new_graph_custom(ctx, (size_t) 1 << 30, false) == NULL);
    ggml_free(ctx);
}

TEST(a_graph_grows) {
    for (int grads = 0; grads < 2; grads++) {
        struct ggml_context * ctx   = new_context(10010);
        struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, grads);
        struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
        struct ggml_tensor *  y     = chain(ctx, x, 5);
        ggml_build_forward_expand(graph, y);
        const struct ggml_cgraph view = ggml_graph_view(graph, 1, 4);
        const struct ggml_cgraph copy = *graph;
        struct ggml_tensor *     last = chain(ctx, y, 9995);
        ggml_build_forward_expand(graph, last);
        CHECK(graph->n_nodes == 10000 && graph->n_leafs == 1 && ggml_graph_size(graph) == 8);
        CHECK(ggml_graph_node(graph, -1) == last && ggml_graph_node(graph, 0)->src[0] == x);
        CHECK((graph->grads != NULL) == grads && (graph->grad_accs != NULL) == grads);
        check_consistent(graph);
        /* old copies see what they saw */
        CHECK(view.n_nodes == 3 && view.nodes[2]->src[0] == view.nodes[1] && copy.n_nodes == 5 && copy.nodes[4] == y);
        for (int i = 0; i < copy.n_nodes; i++) {
            CHECK(ggml_hash_contains(&copy.visited_hash_set, copy.nodes[i]));
        }
        CHECK(ggml_node_get_use_count(&view, 0) == 1);
        ggml_free(ctx);
    }
}

TEST(growth_by_leafs_and_by_add_node) {
    struct ggml_context * ctx   = new_context(6000);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 4, false);
    struct ggml_tensor *  sum   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    for (int i = 0; i < 1000; i++) {
        sum = ggml_add(ctx, sum, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4));
        ggml_build_forward_expand(graph, sum);
    }
    CHECK(graph->n_nodes == 1000 && graph->n_leafs == 1001);
    check_consistent(graph);
    struct ggml_cgraph * flat = ggml_new_graph_custom(ctx, 1, false);
    for (int i = 0; i < 1000; i++) {
        ggml_graph_add_node(flat, ggml_graph_node(graph, i));
    }
    CHECK(flat->n_nodes == 1000 && memcmp(flat->nodes, graph->nodes, 1000 * sizeof(void *)) == 0);
    CHECK(ggml_graph_get_tensor(graph, "leaf_1000") == graph->leafs[1000]);
    CHECK(ggml_graph_get_tensor(graph, "node_999") == sum);
    CHECK(ggml_graph_get_tensor(graph, "none") == NULL);
    ggml_free(ctx);
}

TEST(the_exact_size_needs_no_growth) {
    struct ggml_context * ctx   = new_context(100);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, false);
    struct ggml_tensor ** nodes = graph->nodes;
    ggml_build_forward_expand(graph, chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 64));
    CHECK(graph->n_nodes == 64 && graph->nodes == nodes);
    check_consistent(graph);
    ggml_free(ctx);
}

TEST(gradients_follow_when_a_graph_grows) {
    struct ggml_context * ctx   = new_context(2000);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, true);
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor *  y     = chain(ctx, x, 4);
    ggml_build_forward_expand(graph, y);
    struct ggml_tensor * grad = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    graph->grads[ggml_hash_find(&graph->visited_hash_set, x)]     = grad;
    graph->grad_accs[ggml_hash_find(&graph->visited_hash_set, y)] = grad;
    ggml_build_forward_expand(graph, chain(ctx, y, 1000));
    CHECK(ggml_graph_get_grad(graph, x) == grad && ggml_graph_get_grad(graph, y) == NULL);
    CHECK(ggml_graph_get_grad_acc(graph, y) == grad && ggml_graph_get_grad_acc(graph, x) == NULL);
    ggml_free(ctx);
}

TEST(copies_of_a_graph_grow_apart) {
    struct ggml_context * ctx   = new_context(3000);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, false);
    struct ggml_tensor *  y     = chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 8);
    ggml_build_forward_expand(graph, y);
    struct ggml_cgraph   copy = *graph;
    struct ggml_tensor * a    = chain(ctx, y, 1000);
    struct ggml_tensor * b    = chain(ctx, y, 500);
    ggml_build_forward_expand(&copy, a);
    ggml_build_forward_expand(graph, b);
    CHECK(copy.n_nodes == 1008 && ggml_graph_node(&copy, -1) == a);
    CHECK(graph->n_nodes == 508 && ggml_graph_node(graph, -1) == b);
    check_uses(graph); /* they shared a hash set at first */
    check_consistent(&copy);
    ggml_free(ctx);
}

TEST(depth_is_not_limited_by_the_stack) {
    struct ggml_context * ctx   = new_context(200010);
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    struct ggml_tensor *  last  = chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 200000);
    ggml_build_forward_order(graph, last);
    CHECK(graph->n_nodes == 200000);
    CHECK((ggml_graph_node(graph, 0)->flags & GGML_TENSOR_FLAG_COMPUTE) == 0);
    ggml_build_forward_expand(graph, last); /* flags go all the way down */
    CHECK(graph->n_nodes == 200000);
    CHECK((ggml_graph_node(graph, 0)->flags & GGML_TENSOR_FLAG_COMPUTE) != 0);
    ggml_free(ctx);
}

/* ---- out of memory, threads ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
/* Grows a graph until memory ends, and aborts with what the context says. */
static void grow_until_memory_ends(void) {
    struct ggml_context * ctx = new_context(10);
    graft_set_checked(ctx, true);
    struct ggml_cgraph * graph  = ggml_new_graph_custom(ctx, 8, false);
    struct ggml_tensor * t      = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct rlimit        limit  = { 1 << 28, 1 << 28 };
    int                  n_kept = 0;
    setrlimit(RLIMIT_AS, &limit);
    while (graft_context_status(ctx) == GGML_STATUS_SUCCESS && n_kept < 1 << 26) {
        n_kept = graph->n_nodes;
        ggml_graph_add_node(graph, t);
    }
    if (graph->n_nodes != n_kept || ggml_graph_node(graph, -1) != t) {
        ggml_abort(__FILE__, __LINE__, "the graph is damaged");
    }
    ggml_abort(__FILE__, __LINE__, "%s", graft_context_error(ctx));
}
#endif

TEST(memory_that_ends_is_a_status) {
#ifdef SANITIZED
    SKIP("sanitizers need more address space than the limit of this case");
#else
    CHECK_ABORTS(grow_until_memory_ends, "context: no memory for a block");
#endif
}

static void * build_in_own_context(void * uids) {
    for (int i = 0; i < 100; i++) {
        struct ggml_context * ctx   = new_context(300);
        struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, false);
        ggml_build_forward_expand(graph, chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 200));
        ((uint64_t *) uids)[i] = graph->n_nodes == 200 ? ggml_graph_next_uid() : 0;
        ggml_free(ctx);
    }
    return NULL;
}

static int compare_uids(const void * a, const void * b) {
    const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

TEST(contexts_of_threads_are_independent) {
    pthread_t threads[4];
    uint64_t  uids[4 * 100];
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, build_in_own_context, uids + 100 * i) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    qsort(uids, 400, sizeof(uids[0]), compare_uids);
    for (int i = 0; i < 400; i++) {
        CHECK(uids[i] != (i == 0 ? 0 : uids[i - 1]));
    }
}

/* ---- arrays of the client's own ---- */

struct own_graph {
    struct ggml_cgraph   graph;
    struct ggml_tensor * nodes[4];
    struct ggml_tensor * leafs[4];
    int32_t              use_counts[11];
    struct ggml_tensor * keys[11];
    ggml_bitset_t        used[1];
};

static void init_own(struct own_graph * own) {
    memset(own, 0x5A, sizeof(*own)); /* as on a stack */
    own->graph.size                  = 4;
    own->graph.n_nodes               = 0;
    own->graph.n_leafs               = 0;
    own->graph.nodes                 = own->nodes;
    own->graph.grads                 = NULL;
    own->graph.grad_accs             = NULL;
    own->graph.leafs                 = own->leafs;
    own->graph.use_counts            = own->use_counts;
    own->graph.visited_hash_set.size = 11;
    own->graph.visited_hash_set.used = own->used;
    own->graph.visited_hash_set.keys = own->keys;
    own->graph.order                 = GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT;
    own->graph.uid                   = 0;
    ggml_hash_set_reset(&own->graph.visited_hash_set);
}

static void overfill_own(void) {
    static struct own_graph own;
    struct ggml_context *   ctx = new_context(10);
    init_own(&own);
    ggml_build_forward_expand(&own.graph, chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 5));
}

static void add_to_view(void) {
    struct ggml_context * ctx   = new_context(10);
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 5));
    struct ggml_cgraph view = ggml_graph_view(graph, 0, 2);
    ggml_graph_add_node(&view, graph->nodes[0]);
}

static void leafs_in_a_circle(void) {
    struct ggml_context * ctx = new_context(10);
    struct ggml_tensor *  t   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    t->src[0]                 = t;
    ggml_build_forward_expand(ggml_new_graph(ctx), t);
}

TEST(graphs_filled_by_hand_do_not_grow) {
    struct own_graph      own;
    struct ggml_context * ctx = new_context(10);
    struct ggml_tensor *  y   = chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 4);
    init_own(&own);
    ggml_build_forward_expand(&own.graph, y);
    CHECK(own.graph.n_nodes == 4 && own.graph.n_leafs == 1 && own.graph.nodes == own.nodes);
    check_consistent(&own.graph);
    /* a copy of one of ours with other arrays */
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 2, false);
    own.graph.order            = graph->order;
    struct ggml_cgraph mixed   = *graph;
    mixed.nodes                = own.nodes;
    mixed.leafs                = own.leafs;
    mixed.use_counts           = own.use_counts;
    mixed.visited_hash_set     = own.graph.visited_hash_set;
    mixed.size                 = 4;
    ggml_graph_clear(&mixed);
    ggml_build_forward_expand(&mixed, y);
    CHECK(mixed.n_nodes == 4 && mixed.nodes == own.nodes);
    CHECK_ABORTS(overfill_own, "in arrays that were not made by ggml_new_graph");
    CHECK_ABORTS(add_to_view, "in arrays that were not made by ggml_new_graph");
    CHECK_ABORTS(leafs_in_a_circle, "run in a circle");
    ggml_free(ctx);
}

TEST(hash_full_of_foreign_keys_grows) {
    struct ggml_context * ctx   = new_context(100);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, false);
    while (true) {
        struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
        if (ggml_hash_find(&graph->visited_hash_set, t) == GGML_HASHSET_FULL) {
            break;
        }
        ggml_hash_insert(&graph->visited_hash_set, t);
    }
    ggml_build_forward_expand(graph, chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 5));
    CHECK(graph->n_nodes == 5 && graph->n_leafs == 1);
    ggml_free(ctx);
}

/* ---- copies ---- */

static void check_equal(const struct ggml_cgraph * a, const struct ggml_cgraph * b) {
    CHECK(a->n_nodes == b->n_nodes && a->n_leafs == b->n_leafs && a->order == b->order);
    CHECK(memcmp(a->nodes, b->nodes, (size_t) a->n_nodes * sizeof(void *)) == 0);
    CHECK(memcmp(a->leafs, b->leafs, (size_t) a->n_leafs * sizeof(void *)) == 0);
    for (int i = 0; i < a->n_nodes; i++) {
        CHECK(ggml_node_get_use_count(a, i) == ggml_node_get_use_count(b, i));
        CHECK(ggml_graph_get_grad(a, a->nodes[i]) == ggml_graph_get_grad(b, a->nodes[i]));
        CHECK(ggml_graph_get_grad_acc(a, a->nodes[i]) == ggml_graph_get_grad_acc(b, a->nodes[i]));
    }
    check_consistent(b);
}

TEST(copy_into_a_dirty_arena) { /* X2 */
    struct ggml_context * ctx   = new_context(1000);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, true);
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor *  y     = chain(ctx, x, 20);
    graph->order                = GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT;
    ggml_build_forward_expand(graph, y);
    graph->grads[ggml_hash_find(&graph->visited_hash_set, y)]     = x;
    graph->grad_accs[ggml_hash_find(&graph->visited_hash_set, x)] = y;
    const size_t size = 1 << 20;
    void *       area = NULL;
    REQUIRE(posix_memalign(&area, 64, size) == 0);
    for (int round = 0; round < 3; round++) {
        memset(area, 0xFF, size);
        struct ggml_context * other = ggml_init((struct ggml_init_params) { size, area, true });
        struct ggml_cgraph *  copy  = ggml_graph_dup(other, graph, round == 1);
        check_equal(graph, copy);
        CHECK(copy->grads != NULL && ggml_graph_get_grad_acc(copy, x) == y);
        ggml_build_forward_expand(copy, chain(ctx, y, 100));
        CHECK(copy->n_nodes == 120 && graph->n_nodes == 20);
        check_consistent(copy);
        ggml_graph_cpy(graph, copy); /* over what is there */
        check_equal(graph, copy);
        struct ggml_cgraph * plain = ggml_new_graph_custom(other, 1, false);
        ggml_graph_cpy(graph, plain); /* gets gradients */
        check_equal(graph, plain);
        ggml_free(other);
    }
    free(area);
    ggml_free(ctx);
}

TEST(a_cleared_graph_is_empty) {
    struct ggml_context * ctx   = new_context(100);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, false);
    struct ggml_tensor *  y     = chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 20);
    ggml_build_forward_expand(graph, y);
    ggml_graph_clear(graph);
    CHECK(graph->n_nodes == 0 && graph->n_leafs == 0);
    ggml_build_forward_expand(graph, y);
    CHECK(graph->n_nodes == 20 && ggml_node_get_use_count(graph, 0) == 1);
    check_consistent(graph);
    ggml_free(ctx);
}

TEST(uids_tell_states_apart) {
    struct ggml_context * ctx   = new_context(100);
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    const uint64_t        first = ggml_graph_next_uid();
    CHECK(first != 0 && ggml_graph_next_uid() == first + 1);
    CHECK(graph->uid == 0);
    graph->uid = first;
    ggml_build_forward_expand(graph, chain(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4), 2));
    CHECK(graph->uid == 0);
    ggml_free(ctx);
}

TEST(reset_clears_gradients) {
    struct ggml_context * ctx   = ggml_init((struct ggml_init_params) { 1 << 20, NULL, false });
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 8, true);
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor *  y     = ggml_sqr(ctx, x);
    struct ggml_tensor *  loss  = ggml_sum(ctx, y);
    ggml_set_loss(loss);
    ggml_build_forward_expand(graph, loss);
    struct ggml_tensor * gy = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor * gl = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    memset(gy->data, 1, 16);
    memset(gl->data, 1, 4);
    graph->grad_accs[ggml_hash_find(&graph->visited_hash_set, y)]    = gy;
    graph->grad_accs[ggml_hash_find(&graph->visited_hash_set, loss)] = gl;
    ggml_graph_reset(graph);
    CHECK(ggml_get_data_f32(gy)[3] == 0.0f && ggml_get_data_f32(gl)[0] == 1.0f);
    ggml_graph_reset(NULL);
    struct ggml_cgraph * forward = ggml_new_graph(ctx);
    ggml_build_forward_expand(forward, loss);
    ggml_graph_reset(forward);
    ggml_free(ctx);
}

/* ---- for people ---- */

static char printed[1 << 14];
static void collect(enum ggml_log_level level, const char * text, void * user_data) {
    GGML_UNUSED(level);
    GGML_UNUSED(user_data);
    strncat(printed, text, sizeof(printed) - strlen(printed) - 1);
}

static struct ggml_cgraph * small_graph(struct ggml_context * ctx, bool grads) {
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 8, grads);
    struct ggml_tensor * w     = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 8, 3), "w");
    struct ggml_tensor * x     = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 2), "x \"{<|>}\\");
    ggml_set_param(w);
    ggml_build_forward_expand(graph, ggml_set_name(ggml_gelu(ctx, ggml_mul_mat(ctx, w, x)), "y"));
    return graph;
}

TEST(print_a_forward_graph) { /* X2 */
    struct ggml_context * ctx = new_context(100);
    for (int grads = 0; grads < 2; grads++) {
        const struct ggml_cgraph * graph = small_graph(ctx, grads);
        printed[0]                       = 0;
        ggml_log_set(collect, NULL);
        ggml_graph_print(graph);
        ggml_log_set(NULL, NULL);
        CHECK(strstr(printed, "3 nodes, 1 leafs") != NULL);
        CHECK(strstr(printed, "MUL_MAT") != NULL && strstr(printed, "GELU") != NULL);
        CHECK(strstr(printed, "[    8,     3,     1,     1]") != NULL);
    }
    ggml_free(ctx);
}

static bool read_file(const char * path, char * text, size_t n) {
    FILE * file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    text[fread(text, 1, n - 1, file)] = 0;
    fclose(file);
    return true;
}

static int count(const char * text, const char * part) {
    int n = 0;
    for (const char * at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

TEST(dot_of_a_forward_graph) { /* X2 */
    struct ggml_context * ctx    = new_context(100);
    char                  path[] = P_tmpdir "/graft-dot-XXXXXX";
    char                  text[1 << 13];
    const int             file = mkstemp(path);
    REQUIRE(file >= 0);
    close(file);
    for (int grads = 0; grads < 2; grads++) {
        struct ggml_cgraph * graph = small_graph(ctx, grads);
        ggml_log_set(collect, NULL);
        ggml_graph_dump_dot(graph, NULL, path);
        ggml_graph_dump_dot(graph, graph, path);
        ggml_log_set(NULL, NULL);
        REQUIRE(read_file(path, text, sizeof(text)));
        CHECK(strncmp(text, "digraph G {", 11) == 0 && text[strlen(text) - 2] == '}');
        CHECK(count(text, " -> ") == 3 && count(text, "fillcolor") == 4);
        CHECK(count(text, "label = \"src 0\"") == 2 && count(text, "label = \"src 1\"") == 1);
        CHECK(strstr(text, "x \\\"\\{\\<\\|\\>\\}\\\\ (f32)") != NULL);
        CHECK(strstr(text, "w (f16)") != NULL && strstr(text, "yellow") != NULL && strstr(text, "pink") != NULL);
    }
    unlink(path);
    printed[0] = 0;
    ggml_log_set(collect, NULL);
    ggml_graph_dump_dot(small_graph(ctx, false), NULL, "/nowhere/at/all.dot");
    ggml_log_set(NULL, NULL);
    CHECK(strstr(printed, "cannot be written") != NULL);
    ggml_free(ctx);
}

/* ---- hash sets ---- */

TEST(hash_sizes_are_the_known_series) {
    CHECK(ggml_hash_size(0) == 2 && ggml_hash_size(2) == 2 && ggml_hash_size(3) == 3 && ggml_hash_size(4) == 5);
    CHECK(ggml_hash_size(4096) == 4099 && ggml_hash_size(4100) == 8209 && ggml_hash_size(2147483659u) == 2147483659u);
    CHECK(ggml_hash_size(2147483660u) == 2147483661u);
    struct ggml_hash_set set = ggml_hash_set_new(100);
    struct ggml_tensor   t[100];
    CHECK(set.size == 131);
    for (int i = 0; i < 100; i++) {
        CHECK(!ggml_hash_contains(&set, &t[i]));
        CHECK(ggml_hash_insert(&set, &t[i]) < set.size);
        CHECK(ggml_hash_insert(&set, &t[i]) == GGML_HASHSET_ALREADY_EXISTS);
    }
    ggml_hash_set_reset(&set);
    CHECK(!ggml_hash_contains(&set, &t[5]));
    ggml_hash_set_free(&set);
}

TEST(allocation_facts) {
    for (int op = 0; op < GGML_OP_COUNT; op++) {
        const bool expected = op == GGML_OP_FLASH_ATTN_EXT || op == GGML_OP_MUL_MAT || op == GGML_OP_MUL_MAT_ID ||
                              op == GGML_OP_CUMSUM || op == GGML_OP_ARGSORT || op == GGML_OP_TOP_K;
        CHECK_MSG(ggml_op_alloc_size_may_expand((enum ggml_op) op) == expected, "alloc_may_expand of %s",
                  ggml_op_name((enum ggml_op) op));
    }
}

/* ---- fusion ---- */

TEST(subgraphs_that_may_be_fused) {
    struct ggml_context * ctx   = new_context(100);
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    struct ggml_tensor *  x     = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 8, 2);
    struct ggml_tensor *  a     = ggml_sqr(ctx, x);
    struct ggml_tensor *  b     = ggml_sqrt(ctx, a);
    struct ggml_tensor *  c     = ggml_add(ctx, a, b);
    struct ggml_tensor *  d     = ggml_reshape_1d(ctx, c, 16);
    ggml_build_forward_expand(graph, d);
    const int          idxs[] = { 0, 1, 2, 3 };
    const enum ggml_op ops[]  = { GGML_OP_SQR, GGML_OP_SQRT, GGML_OP_ADD, GGML_OP_RESHAPE };
    const int          out2[] = { 2 }, out3[] = { 3 }, out1[] = { 1 }, far[] = { 0, 1, 9 };
    CHECK(ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops, out2, 1));
    CHECK(ggml_can_fuse_subgraph_ext(graph, idxs, 4, ops, out3, 1));
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 2, ops, out1, 1)); /* a is read by c */
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops, out1, 1)); /* c is read by d */
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops + 1, out2, 1));
    CHECK(!ggml_can_fuse_subgraph_ext(graph, far, 3, ops, out2, 1));
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops, NULL, 0));
    ggml_set_output(b);
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops, out2, 1));
    b->flags &= ~GGML_TENSOR_FLAG_OUTPUT;
    a->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops, out2, 1));
    a->flags |= GGML_TENSOR_FLAG_COMPUTE;
    a->view_src = x; /* in place: the source is seen outside */
    CHECK(!ggml_can_fuse_subgraph_ext(graph, idxs, 3, ops, out2, 1));
    ggml_free(ctx);
}
