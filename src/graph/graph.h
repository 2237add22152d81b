/* SPDX-License-Identifier: MIT
 *
 * Graphs, for the rest of the core: where a graph lives and how it grows.
 *
 * The arrays of a graph made by ggml_new_graph_custom lie in one block of memory, the first one in the context's arena.
 * When they are full, everything moves to a greater block on the heap; old blocks stay until the context is freed or
 * reset, because views of the graph by value may point to them. A struct ggml_cgraph that a client filled itself cannot
 * grow.
 */
#ifndef GRAFT_GRAPH_GRAPH_H
#define GRAFT_GRAPH_GRAPH_H

#include "ggml-impl.h"

/* The context of a graph, which also says whether faults abort; NULL for graphs made by hand and for views. */
struct ggml_context * graph_context(const struct ggml_cgraph * graph);

/* Makes room for this many nodes, leafs and keys in all. False when that is impossible; text formed. Slots of keys may
 * change. */
bool graph_reserve(struct ggml_cgraph * graph, size_t n_nodes, size_t n_leafs, size_t n_keys);

/* Adds arrays of gradients, empty, if there are none. False: as above. */
bool graph_reserve_grads(struct ggml_cgraph * graph);

#endif /* GRAFT_GRAPH_GRAPH_H */
