/* SPDX-License-Identifier: MIT
 *
 * What the runtime checks before a group of nodes is run as one, in the place of its last node.
 *
 * Values that are skipped must not be seen: no use outside of the group, directly or through views, and no output flag. And
 * nothing may change by running the earlier nodes later: a node in a gap must neither write what the group reads, nor
 * read or write what the group writes. Mathematics, types and shapes are the rule's own business.
 */
#include "ext/fuse.h"

#include "graph/graph.h"


static bool exposed(const struct fuse_group * group, int j) {
    return j == group->n - 1 || (group->row->desc->exposes >> j & 1u) != 0;
}

static int last_of(const struct fuse_group * group) {
    return group->pick[group->n - 1];
}

static bool picked(const struct fuse_group * group, int place) {
    for (int j = 0; j < group->n; j++) {
        if (group->pick[j] == place) {
            return true;
        }
    }
    return false;
}

static bool in_group(const struct ggml_cgraph * graph, const struct fuse_group * group, const struct ggml_tensor * t) {
    for (int j = 0; j < group->n; j++) {
        if (graph->nodes[group->pick[j]] == t) {
            return true;
        }
    }
    return false;
}

static const struct ggml_tensor * root_of(const struct ggml_tensor * t) {
    return t->view_src != NULL ? t->view_src : t;
}

/* ---- the answer of the rule ---- */

static const char * check_picks(const struct ggml_cgraph * graph, const struct fuse_group * group, int first, const bool * taken) {
    if (group->n > GGML_EXT_MAX_FUSED || group->pick[0] != first) {
        return "the rule's answer is out of bounds";
    }
    for (int j = 0; j < group->n; j++) {
        const int place = group->pick[j];
        if (place >= graph->n_nodes || (j > 0 && place <= group->pick[j - 1])) {
            return "the picked nodes are not ascending places of the graph";
        }
        if (taken[place]) {
            return "a node is in another group already";
        }
        if ((graph->nodes[place]->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            return "a node is not to be computed";
        }
    }
    return NULL;
}

/* ---- skipped values ---- */

static int uses_by(const struct ggml_tensor * node, const struct ggml_tensor * t) {
    int n = 0;
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        n += node->src[k] == t;
    }
    return n;
}

static int use_count(const struct ggml_cgraph * graph, const struct ggml_tensor * t) {
    const size_t slot = ggml_hash_find(&graph->visited_hash_set, t);
    return slot != GGML_HASHSET_FULL && ggml_bitset_get(graph->visited_hash_set.used, slot) ? graph->use_counts[slot] : -1;
}

/* All uses of t lie in the group, or in views without uses elsewhere. Uses come after the value, so that looking from `from` to the
 * end of the group finds those inside; any that is missing then is outside. */
static bool unseen_outside(const struct ggml_cgraph * graph, const struct fuse_group * group, const struct ggml_tensor * t,
                           int from, int depth) {
    int left = use_count(graph, t);
    if ((t->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || left < 0 || depth > 8) {
        return false;
    }
    for (int i = from; i <= last_of(group) && left > 0; i++) {
        const struct ggml_tensor * node = graph->nodes[i];
        const int                  n    = uses_by(node, t);
        if (n == 0) {
            continue;
        }
        if (!picked(group, i) && (!ggml_op_is_empty(node->op) || !unseen_outside(graph, group, node, i + 1, depth + 1))) {
            return false;
        }
        left -= n;
    }
    return left == 0;
}

static const char * check_skipped(const struct ggml_cgraph * graph, const struct fuse_group * group) {
    for (int j = 0; j < group->n; j++) {
        const struct ggml_tensor * t = graph->nodes[group->pick[j]];
        if (exposed(group, j)) {
            continue;
        }
        if ((t->flags & GGML_TENSOR_FLAG_OUTPUT) != 0) {
            return "a skipped value is flagged as output";
        }
        if (t->view_src != NULL) {
            return "a skipped value is written into another tensor";
        }
        if (!unseen_outside(graph, group, t, group->pick[j] + 1, 0)) {
            return "a skipped value is used outside of the group";
        }
    }
    return NULL;
}

/* ---- order ---- */

/* Does a node in a gap clash with the earlier nodes of the group, which run after it now? By tensors: results that are views are
 * written into their root. */
static const char * check_gap(const struct ggml_cgraph * graph, const struct fuse_group * group, const struct ggml_tensor * gap,
                              int place) {
    const struct ggml_tensor * gap_root = root_of(gap);
    for (int j = 0; j < group->n && group->pick[j] < place; j++) {
        const struct ggml_tensor * node = graph->nodes[group->pick[j]];
        const struct ggml_tensor * root = root_of(node);
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (node->src[k] != NULL && root_of(node->src[k]) == gap_root) {
                return "a node in between writes what the group reads";
            }
            if (gap->src[k] != NULL && root_of(gap->src[k]) == root) {
                return "a node in between reads what the group writes";
            }
        }
        if (root == gap_root) {
            return "a node in between writes what the group writes";
        }
    }
    return NULL;
}

static const char * check_order(const struct ggml_cgraph * graph, const struct fuse_group * group) {
    for (int i = group->pick[0] + 1; i < last_of(group); i++) {
        const struct ggml_tensor * node = graph->nodes[i];
        if (!picked(group, i) && !ggml_op_is_empty(node->op)) {
            const char * why = check_gap(graph, group, node, i);
            if (why != NULL) {
                return why;
            }
        }
    }
    return NULL;
}

/* ---- memory planned without the group ---- */

static bool overlap(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    const char * pa = a->data;
    const char * pb = b->data;
    return pa != NULL && pb != NULL && pa < pb + ggml_nbytes(b) && pb < pa + ggml_nbytes(a);
}

/* A result may lie over source k of the first node, exactly, when the kernel says so. */
static bool may_lie_over(const struct fuse_group * group, const struct ggml_tensor * out, const struct ggml_tensor * in, int j,
                         int k) {
    return j == 0 && (group->row->desc->may_overwrite >> k & 1u) != 0 && out->data == in->data && ggml_are_same_layout(out, in);
}

static bool input_survives(const struct ggml_cgraph * graph, const struct fuse_group * group, const struct ggml_tensor * in, int j,
                           int k) {
    for (int i = group->pick[0]; i <= last_of(group); i++) {
        const struct ggml_tensor * node  = graph->nodes[i];
        bool                       write = !ggml_op_is_empty(node->op) && !picked(group, i);
        for (int o = 0; o < group->n; o++) {
            write = write || (group->pick[o] == i && exposed(group, o));
        }
        if (write && root_of(node) != root_of(in) && overlap(node, in) && !may_lie_over(group, node, in, j, k)) {
            return false;
        }
    }
    return true;
}

static const char * check_memory(const struct ggml_cgraph * graph, const struct fuse_group * group) {
    for (int j = 0; j < group->n; j++) {
        const struct ggml_tensor * node = graph->nodes[group->pick[j]];
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            const struct ggml_tensor * in = node->src[k];
            if (in != NULL && !in_group(graph, group, root_of(in)) && !in_group(graph, group, in) &&
                !input_survives(graph, group, in, j, k)) {
                return "memory was planned without the group: an input is overwritten before it runs";
            }
        }
        for (int o = j + 1; o < group->n && exposed(group, j); o++) {
            if (exposed(group, o) && overlap(node, graph->nodes[group->pick[o]]) &&
                root_of(node) != root_of(graph->nodes[group->pick[o]])) {
                return "memory was planned without the group: two of its values lie in one place";
            }
        }
    }
    return NULL;
}

bool fuse_try(const struct ext_kernel * row, ggml_backend_dev_t device, const struct ggml_cgraph * graph, int first,
              const bool * taken, bool placed, struct fuse_group * group, const char ** why) {
    group->row = row;
    for (int j = 0; j < GGML_EXT_MAX_FUSED; j++) {
        group->pick[j] = first + j;
    }
    group->n = row->desc->match(row->desc->user_data, device, (const struct ggml_tensor * const *) graph->nodes, graph->n_nodes,
                                first, group->pick);
    *why     = NULL;
    if (group->n <= 0) {
        return false;
    }
    *why = check_picks(graph, group, first, taken);
    *why = *why != NULL ? *why : check_skipped(graph, group);
    *why = *why != NULL ? *why : check_order(graph, group);
    if (*why == NULL && placed) {
        *why = check_memory(graph, group);
    }
    return *why == NULL;
}
