/* SPDX-License-Identifier: MIT
 *
 * Structures that modules compile into themselves: a graph, its hash set and its counts of uses are read and written here
 * through declarations and formulas of this file's own, as a module built from other headers would.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-impl.h"
#include "ggml.h"
#include "harness.h"

/* What a module knows: names do not matter, places do. The library's own structures are looked at through these. */
struct __attribute__((may_alias)) module_set {
    size_t     size;
    uint32_t * words;
    void **    keys;
};

struct __attribute__((may_alias)) module_graph {
    int               size, n_nodes, n_leafs;
    void **           nodes;
    void **           grads;
    void **           grad_accs;
    void **           leafs;
    int32_t *         uses;
    struct module_set set;
    int32_t           order;
    uint64_t          uid;
};

static bool occupied(const struct module_set * set, size_t slot) {
    return (set->words[slot / 32] & (UINT32_C(1) << slot % 32)) != 0;
}

/* Slot of a key by linear probing from its address / 16, or set->size when it is not there. */
static size_t slot_of(const struct module_set * set, const void * key) {
    size_t slot = ((uintptr_t) key / 16) % set->size;
    for (size_t i = 0; i < set->size && occupied(set, slot); i++) {
        if (set->keys[slot] == key) {
            return slot;
        }
        slot = (slot + 1) % set->size;
    }
    return set->size;
}

static struct ggml_context * new_context(void) {
    const struct ggml_init_params params = { 4 << 20, NULL, true };
    return ggml_init(params);
}

TEST(places_in_a_graph) {
    CHECK(sizeof(struct module_graph) == sizeof(struct ggml_cgraph));
    CHECK(offsetof(struct module_graph, nodes) == offsetof(struct ggml_cgraph, nodes));
    CHECK(offsetof(struct module_graph, grads) == offsetof(struct ggml_cgraph, grads));
    CHECK(offsetof(struct module_graph, grad_accs) == offsetof(struct ggml_cgraph, grad_accs));
    CHECK(offsetof(struct module_graph, leafs) == offsetof(struct ggml_cgraph, leafs));
    CHECK(offsetof(struct module_graph, uses) == offsetof(struct ggml_cgraph, use_counts));
    CHECK(offsetof(struct module_graph, set) == offsetof(struct ggml_cgraph, visited_hash_set));
    CHECK(offsetof(struct module_graph, order) == offsetof(struct ggml_cgraph, order));
    CHECK(offsetof(struct module_graph, uid) == offsetof(struct ggml_cgraph, uid));
    CHECK(sizeof(struct module_set) == sizeof(struct ggml_hash_set));
    CHECK(sizeof(ggml_bitset_t) == 4);
}

/* Every tensor of a graph is where a module looks for it, with its number of uses, also after the graph has grown. */
static void check_graph(struct ggml_cgraph * graph) {
    const struct module_graph * g = (const void *) graph;
    size_t                      n = 0;
    for (size_t slot = 0; slot < g->set.size; slot++) {
        n += occupied(&g->set, slot);
    }
    CHECK(n == (size_t) (g->n_nodes + g->n_leafs));
    for (int i = 0; i < g->n_nodes; i++) {
        CHECK(slot_of(&g->set, g->nodes[i]) < g->set.size);
    }
    for (int i = 0; i < g->n_leafs; i++) {
        CHECK(slot_of(&g->set, g->leafs[i]) < g->set.size);
    }
    int32_t * uses = calloc(g->set.size, sizeof(*uses));
    REQUIRE(uses != NULL);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct ggml_tensor * t = g->nodes[i];
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            const size_t slot = t->src[k] != NULL ? slot_of(&g->set, t->src[k]) : g->set.size;
            if (slot < g->set.size) {
                uses[slot]++;
            }
        }
    }
    for (size_t slot = 0; slot < g->set.size; slot++) {
        CHECK_MSG(!occupied(&g->set, slot) || uses[slot] == g->uses[slot], "slot %zu: %d uses, counted %d", slot,
                  g->uses[slot], uses[slot]);
    }
    free(uses);
}

static struct ggml_tensor * chain(struct ggml_context * ctx, struct ggml_tensor * x, int n) {
    struct ggml_tensor * y = x;
    for (int i = 0; i < n; i++) {
        y = ggml_add(ctx, i % 3 == 0 ? x : y, y);
    }
    return y;
}

TEST(a_module_finds_every_tensor) {
    struct ggml_context * ctx   = new_context();
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, false);
    ggml_build_forward_expand(graph, chain(ctx, x, 40));
    check_graph(graph);
    ggml_build_forward_expand(graph, chain(ctx, x, 1000)); /* past its size */
    check_graph(graph);
    ggml_free(ctx);
}

TEST(a_module_adds_a_tensor) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, false);
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    struct module_graph * g     = (void *) graph;
    size_t                slot  = ((uintptr_t) x / 16) % g->set.size;
    while (occupied(&g->set, slot)) {
        slot = (slot + 1) % g->set.size;
    }
    g->set.words[slot / 32] |= UINT32_C(1) << slot % 32;
    g->set.keys[slot] = x;
    g->uses[slot]     = 5;
    /* the library takes it for one that was visited: it gets no second place, and its uses are counted on */
    ggml_build_forward_expand(graph, ggml_sqr(ctx, x));
    CHECK(ggml_graph_n_nodes(graph) == 1);
    CHECK(g->n_leafs == 0);
    CHECK(g->uses[slot_of(&g->set, x)] == 6);
    ggml_free(ctx);
}

TEST(keys_that_collide_stand_in_a_row) {
    struct ggml_hash_set set = ggml_hash_set_new(97);
    struct module_set *  m   = (void *) &set;
    REQUIRE(m->size >= 97);
    /* addresses whose home is the last slot but one: the third goes round to the first */
    for (uintptr_t i = 0; i < 3; i++) {
        const uintptr_t key = ((i + 1) * m->size + m->size - 2) * 16 + i;
        CHECK(ggml_hash_insert(&set, (struct ggml_tensor *) key) == (m->size - 2 + i) % m->size);
        CHECK(slot_of(m, (const void *) key) == (m->size - 2 + i) % m->size);
    }
    CHECK(m->words[0] == 1u);
    ggml_hash_set_reset(&set);
    for (size_t slot = 0; slot < m->size; slot++) {
        CHECK(!occupied(m, slot));
    }
    ggml_hash_set_free(&set);
}

TEST(gradients_share_the_slots) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph_custom(ctx, 64, true);
    struct ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    struct ggml_tensor *  y     = ggml_sqr(ctx, x);
    struct ggml_tensor *  grad  = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    ggml_build_forward_expand(graph, y);
    struct module_graph * g           = (void *) graph;
    g->grads[slot_of(&g->set, y)]     = grad;
    g->grad_accs[slot_of(&g->set, x)] = grad;
    CHECK(ggml_graph_get_grad(graph, y) == grad);
    CHECK(ggml_graph_get_grad_acc(graph, x) == grad);
    CHECK(ggml_graph_get_grad(graph, x) == NULL);
    ggml_free(ctx);
}

TEST(states_of_a_graph_have_numbers) {
    struct ggml_context * ctx   = new_context();
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    const uint64_t        first = ggml_graph_next_uid(), second = ggml_graph_next_uid();
    CHECK(first != 0 && second != 0 && first != second);
    ((struct module_graph *) (void *) graph)->uid = second;
    CHECK(graph->uid == second);
    ggml_free(ctx);
}
