/* SPDX-License-Identifier: MIT
 *
 * Graphs for people: a listing in the log, and a file for Graphviz.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "ggml-impl.h"

/* ---- listing ---- */

static const char * shape_text(const struct ggml_tensor * t, char * buffer, size_t n) {
    snprintf(buffer, n, "[%5" PRId64 ", %5" PRId64 ", %5" PRId64 ", %5" PRId64 "]", t->ne[0], t->ne[1], t->ne[2],
             t->ne[3]);
    return buffer;
}

/* x: trained; g: has a gradient */
static char gradient_mark(const struct ggml_cgraph * graph, const struct ggml_tensor * t) {
    if ((t->flags & GGML_TENSOR_FLAG_PARAM) != 0) {
        return 'x';
    }
    return ggml_graph_get_grad(graph, t) != NULL ? 'g' : ' ';
}

void ggml_graph_print(const struct ggml_cgraph * cgraph) {
    char shape[128];
    GGML_LOG_INFO("graph: %d nodes, %d leafs\n", cgraph->n_nodes, cgraph->n_leafs);
    for (int i = 0; i < cgraph->n_nodes; i++) {
        const struct ggml_tensor * t = cgraph->nodes[i];
        GGML_LOG_INFO("node %4d %c %-4s %s %16s  %s\n", i, gradient_mark(cgraph, t), ggml_type_name(t->type),
                      shape_text(t, shape, sizeof(shape)), ggml_op_desc(t), t->name);
    }
    for (int i = 0; i < cgraph->n_leafs; i++) {
        const struct ggml_tensor * t = cgraph->leafs[i];
        GGML_LOG_INFO("leaf %4d   %-4s %s %16s  %s\n", i, ggml_type_name(t->type), shape_text(t, shape, sizeof(shape)),
                      "", t->name);
    }
}

/* ---- Graphviz ---- */

/* Which node a gradient belongs to: gradients are drawn as a part of their node. */
struct parents {
    struct ggml_hash_set  grads;
    struct ggml_tensor ** nodes;
};

static void find_parents(struct parents * parents, const struct ggml_cgraph * graph) {
    memset(parents, 0, sizeof(*parents));
    if (graph->grads == NULL) {
        return;
    }
    parents->grads = ggml_hash_set_new((size_t) graph->n_nodes * 2);
    if (parents->grads.keys != NULL) { /* without memory for it, the picture shows gradients apart */
        parents->nodes = calloc(parents->grads.size, sizeof(parents->nodes[0]));
    }
    for (int i = 0; i < graph->n_nodes && parents->nodes != NULL; i++) {
        struct ggml_tensor * grad = ggml_graph_get_grad(graph, graph->nodes[i]);
        const size_t slot = grad != NULL ? ggml_hash_insert(&parents->grads, grad) : GGML_HASHSET_ALREADY_EXISTS;
        if (slot != GGML_HASHSET_ALREADY_EXISTS) {
            parents->nodes[slot] = graph->nodes[i];
        }
    }
}

static void free_parents(struct parents * parents) {
    ggml_hash_set_free(&parents->grads);
    free(parents->nodes);
}

static const struct ggml_tensor * parent_of(const struct parents * parents, const struct ggml_tensor * t) {
    if (parents->nodes == NULL) {
        return NULL;
    }
    const size_t slot = ggml_hash_find(&parents->grads, t);
    return slot != GGML_HASHSET_FULL && ggml_bitset_get(parents->grads.used, slot) ? parents->nodes[slot] : NULL;
}

/* A name in a record label, in which these characters have a meaning. */
static void write_label(FILE * file, const char * text) {
    for (; *text != 0; text++) {
        if (strchr("\"\\{}|<>", *text) != NULL) {
            fputc('\\', file);
        }
        fputc(*text == '\n' ? ' ' : *text, file);
    }
}

static void write_box(FILE * file, const struct ggml_tensor * t, const char * color, const char * kind, int i) {
    char shape[128];
    fprintf(file, "  \"%p\" [ style = filled; fillcolor = %s; shape = record; label = \"<x>", (const void *) t, color);
    write_label(file, t->name);
    fprintf(file, " (%s) | %s %d %s | ", ggml_type_name(t->type), kind, i, shape_text(t, shape, sizeof(shape)));
    write_label(file, ggml_op_symbol(t->op));
}

static bool contains(const struct ggml_cgraph * graph, const struct ggml_tensor * t) {
    return graph == NULL ||
           (graph->visited_hash_set.size > 0 && ggml_hash_contains(&graph->visited_hash_set, (struct ggml_tensor *) t));
}

static void write_nodes(FILE * file, const struct ggml_cgraph * gb, const struct ggml_cgraph * forward,
                        const struct parents * parents) {
    for (int i = 0; i < gb->n_nodes; i++) {
        const struct ggml_tensor * node = gb->nodes[i];
        const struct ggml_tensor * grad = ggml_graph_get_grad(gb, node);
        if (parent_of(parents, node) != NULL) {
            continue;
        }
        const char * color = "white";
        if ((node->flags & GGML_TENSOR_FLAG_PARAM) != 0) {
            color = "yellow";
        } else if (grad != NULL) {
            color = contains(forward, node) ? "green" : "lightblue";
        }
        write_box(file, node, color, "node", i);
        if (grad != NULL) {
            fprintf(file, " | <g>");
            write_label(file, ggml_op_symbol(grad->op));
        }
        fprintf(file, "\"; ]\n");
    }
    for (int i = 0; i < gb->n_leafs; i++) {
        write_box(file, gb->leafs[i], "pink", "leaf", i);
        fprintf(file, "\"; ]\n");
    }
}

static void write_edges(FILE * file, const struct ggml_tensor * t, const struct parents * parents) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        const struct ggml_tensor * src = t->src[k];
        if (src == NULL) {
            continue;
        }
        const struct ggml_tensor * from = parent_of(parents, src);
        const struct ggml_tensor * to   = parent_of(parents, t);
        fprintf(file, "  \"%p\" -> \"%p\" [ arrowhead = %s; style = %s; label = \"src %d\"; ]\n",
                (const void *) (from != NULL ? from : src), (const void *) (to != NULL ? to : t),
                to != NULL ? "empty" : "vee", to != NULL ? "dashed" : "solid", k);
    }
}

void ggml_graph_dump_dot(const struct ggml_cgraph * gb, const struct ggml_cgraph * cgraph, const char * filename) {
    FILE * file = ggml_fopen(filename, "w");
    if (file == NULL) {
        base_fail(GGML_STATUS_FAILED, "ggml_graph_dump_dot: '%s' cannot be written", filename);
        GGML_LOG_ERROR("%s\n", base_error_text());
        return;
    }
    struct parents parents;
    find_parents(&parents, gb);
    fprintf(file, "digraph G {\n  newrank = true;\n  rankdir = TB;\n");
    write_nodes(file, gb, cgraph, &parents);
    for (int i = 0; i < gb->n_nodes; i++) {
        write_edges(file, gb->nodes[i], &parents);
    }
    for (int i = 0; i < gb->n_leafs; i++) {
        write_edges(file, gb->leafs[i], &parents);
    }
    fprintf(file, "}\n");
    free_parents(&parents);
    if (fclose(file) != 0) {
        base_fail(GGML_STATUS_FAILED, "ggml_graph_dump_dot: '%s' could not be written to its end", filename);
        GGML_LOG_ERROR("%s\n", base_error_text());
        return;
    }
    GGML_LOG_INFO("graph written to %s: dot -Tsvg %s -o graph.svg\n", filename, filename);
}
