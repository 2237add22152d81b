/* SPDX-License-Identifier: MIT
 *
 * A node as one line of text: all that a builder decides. The lines of golden.inc were written by this code.
 */
#ifndef GRAFT_TESTS_OP_NODE_TEXT_H
#define GRAFT_TESTS_OP_NODE_TEXT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "ggml.h"

struct node_text {
    char   text[2048];
    size_t used;
};

static void node_append(struct node_text * out, const char * fmt, ...) __attribute__((format(printf, 2, 3)));
static void node_append(struct node_text * out, const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(out->text + out->used, sizeof(out->text) - out->used, fmt, args);
    va_end(args);
    if (n > 0 && out->used + (size_t) n < sizeof(out->text)) {
        out->used += (size_t) n;
    }
}

/* Function pointers, user data and the hole between them differ from run to run. */
static int node_param_is_address(enum ggml_op op, int i) {
    return op >= GGML_OP_MAP_CUSTOM1 && op <= GGML_OP_CUSTOM && i != 2 && i < 6;
}

static void node_format(struct node_text * out, const char * label, const struct ggml_tensor * t) {
    out->used = 0;
    node_append(out, "%s: %s %s [%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "] by [%zu,%zu,%zu,%zu]", label,
                ggml_op_desc(t), ggml_type_name(t->type), t->ne[0], t->ne[1], t->ne[2], t->ne[3], t->nb[0], t->nb[1],
                t->nb[2], t->nb[3]);
    int last = GGML_MAX_OP_PARAMS / 4 - 1;
    while (last >= 0 && (t->op_params[last] == 0 || node_param_is_address(t->op, last))) {
        last--;
    }
    node_append(out, " params(");
    for (int i = 0; i <= last; i++) {
        if (node_param_is_address(t->op, i)) {
            node_append(out, "%s-", i > 0 ? "," : "");
        } else {
            node_append(out, "%s%x", i > 0 ? "," : "", (unsigned) t->op_params[i]);
        }
    }
    node_append(out, ") sources(");
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (t->src[k] != NULL) {
            node_append(out, " %d=%s", k, t->src[k] == t ? "itself" : t->src[k]->name);
        }
    }
    node_append(out, ")");
    if (t->view_src != NULL) {
        node_append(out, " view(%s+%zu)", t->view_src->name, t->view_offs);
    }
    node_append(out, " flags %d name '%s'", (int) t->flags, t->name);
}

/* Lines of a node and, before it, of the nodes that it was made from, labelled by the way from it. */
static void node_walk(const char * label, const struct ggml_tensor * t, void (*line)(void * user, const char * text),
                      void * user) {
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (t->src[k] != NULL && t->src[k] != t && t->src[k]->op != GGML_OP_NONE) {
            char deeper[256];
            snprintf(deeper, sizeof(deeper), "%s/%d", label, k);
            node_walk(deeper, t->src[k], line, user);
        }
    }
    struct node_text out;
    node_format(&out, label, t);
    line(user, out.text);
}

#endif /* GRAFT_TESTS_OP_NODE_TEXT_H */
