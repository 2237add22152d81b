/* SPDX-License-Identifier: MIT
 *
 * Drafts of nodes: what a builder has said so far, checked as a whole and turned into a tensor by op_commit. What holds
 * for every operator (number of sources, extents, bytes of a view) is checked here, the rest by the operator's row.
 */
#include "op/op.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/status.h"
#include "graph/context.h"
#include "graph/tensor.h"

void op_draft_init(struct op_draft * draft, struct ggml_context * ctx, enum ggml_op op, const char * builder) {
    draft->ctx         = ctx;
    draft->row         = op_row_get(op);
    draft->view        = NULL;
    draft->view_offset = 0;
    draft->own_strides = false;
    draft->contiguous  = false;
    draft->dead        = false;
    draft->dead_src    = -1;
    draft->builder     = builder;
    draft->name_format = NULL;
    draft->name_source = NULL;
    draft->bytes       = 0;
    graph_clear_tensor(&draft->node);
    draft->node.op = op;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        draft->node.ne[i] = 1;
    }
}

void op_src(struct op_draft * draft, int k, struct ggml_tensor * src) {
    draft->node.src[k] = src;
    if (src == NULL && !draft->dead) {
        draft->dead     = true;
        draft->dead_src = k;
    }
}

void op_src_optional(struct op_draft * draft, int k, struct ggml_tensor * src) {
    draft->node.src[k] = src;
}

void op_like(struct op_draft * draft, const struct ggml_tensor * a) {
    if (a == NULL) {
        draft->dead = true;
    }
    if (draft->dead) {
        return;
    }
    draft->node.type = a->type;
    memcpy(draft->node.ne, a->ne, sizeof(a->ne));
}

void op_shape(struct op_draft * draft, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3) {
    draft->node.type  = type;
    draft->node.ne[0] = ne0;
    draft->node.ne[1] = ne1;
    draft->node.ne[2] = ne2;
    draft->node.ne[3] = ne3;
}

void op_view_of(struct op_draft * draft, struct ggml_tensor * a, size_t offset) {
    if (a == NULL) {
        draft->dead = true;
    }
    if (draft->dead) {
        return;
    }
    draft->view        = a;
    draft->view_offset = offset;
    if (!draft->own_strides) {
        memcpy(draft->node.nb, a->nb, sizeof(a->nb));
    }
    draft->node.view_src  = a->view_src != NULL ? a->view_src : a;
    draft->node.view_offs = (a->view_src != NULL ? a->view_offs : 0) + offset;
}

void op_strides(struct op_draft * draft, size_t nb0, size_t nb1, size_t nb2, size_t nb3) {
    draft->own_strides = true;
    draft->node.nb[0]  = nb0;
    draft->node.nb[1]  = nb1;
    draft->node.nb[2]  = nb2;
    draft->node.nb[3]  = nb3;
}

void op_contiguous(struct op_draft * draft) {
    draft->contiguous = true;
}

void op_named_after(struct op_draft * draft, const char * format, const struct ggml_tensor * a) {
    draft->name_format = format;
    draft->name_source = a;
}

struct ggml_tensor * op_builder_failed(struct ggml_context * ctx, const char * fmt, ...) {
    char    text[BASE_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    base_set_error_text(text);
    context_fault(ctx, GGML_STATUS_FAILED);
    return NULL;
}

/* A NULL argument: mostly the result of a builder that failed before, whose error is the one to keep. */
static struct ggml_tensor * dead_draft(const struct op_draft * draft) {
    if (draft->dead_src >= 0) {
        return op_builder_failed(draft->ctx, "%s: source %d is NULL", draft->builder, draft->dead_src);
    }
    return op_builder_failed(draft->ctx, "%s: an argument is NULL", draft->builder);
}

static enum ggml_status check_sources(const struct op_draft * draft) {
    const struct op_row *      row  = draft->row;
    const struct ggml_tensor * node = &draft->node;
    int                        last = GGML_MAX_SRC; /* one past the last source given */
    while (last > 0 && node->src[last - 1] == NULL) {
        last--;
    }
    if (last > row->n_src_max || last < row->n_src_min) {
        return op_refuse(node, "%d to %d sources expected, found %d", row->n_src_min, row->n_src_max, last);
    }
    for (int k = 0; k < last; k++) {
        if (node->src[k] == NULL && (k < row->n_src_min || (row->optional_src & (1u << k)) == 0)) {
            return op_refuse(node, "source %d is NULL", k);
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* Does the result name the elements of the tensor it views, all of them, in any order of dimensions? It then lies where
 * that one lies. (A transposed quantized tensor has blocks along its second dimension: no rule about extents or bytes
 * fits it, but it may be written down.) */
static bool is_relabelled(const struct op_draft * draft) {
    const struct ggml_tensor * node = &draft->node;
    const struct ggml_tensor * view = draft->view;
    if (view == NULL || draft->view_offset != 0 || node->type != view->type) {
        return false;
    }
    unsigned taken = 0;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        int k = 0;
        while (k < GGML_MAX_DIMS &&
               ((taken & (1u << k)) != 0 || view->ne[k] != node->ne[i] || view->nb[k] != node->nb[i])) {
            k++;
        }
        taken |= 1u << k;
    }
    return taken == (1u << GGML_MAX_DIMS) - 1;
}

/* Extents and strides: they must be countable in 64 bits before any row computes with them. */
static enum ggml_status check_layout(struct op_draft * draft) {
    struct ggml_tensor * node = &draft->node;
    size_t               contiguous[GGML_MAX_DIMS];
    if (!draft->contiguous && is_relabelled(draft)) {
        return GGML_STATUS_SUCCESS;
    }
    if (graph_contiguous_layout(node->type, node->ne, contiguous, &draft->bytes) != GGML_STATUS_SUCCESS) {
        char text[BASE_ERROR_MAX];
        snprintf(text, sizeof(text), "%s", base_error_text());
        return op_refuse(node, "%s", text);
    }
    if (draft->contiguous || (draft->view == NULL && !draft->own_strides)) {
        memcpy(node->nb, contiguous, sizeof(contiguous));
        if (draft->view == NULL) {
            return GGML_STATUS_SUCCESS;
        }
    }
    size_t extent;
    if (!graph_strided_bytes(node->type, node->ne, node->nb, &extent)) {
        return op_refuse(node, "strides [%zu, %zu, %zu, %zu] do not fit in memory", node->nb[0], node->nb[1],
                         node->nb[2], node->nb[3]);
    }
    if (draft->view == NULL && extent > draft->bytes) {
        return op_refuse(node, "strides [%zu, %zu, %zu, %zu] reach %zu bytes, the result has %zu", node->nb[0],
                         node->nb[1], node->nb[2], node->nb[3], extent, draft->bytes);
    }
    if (draft->view != NULL && !graph_view_fits(draft->view, draft->view_offset, extent)) {
        return op_refuse(node, "a view of %zu bytes at offset %zu (of its source: %zu) leaves the %zu bytes of '%s'",
                         extent, draft->view_offset, draft->view->view_offs, ggml_nbytes(node->view_src),
                         node->view_src->name);
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_draft(struct op_draft * draft) {
    enum ggml_status status = check_sources(draft);
    if (status == GGML_STATUS_SUCCESS) {
        status = check_layout(draft);
    }
    if (status == GGML_STATUS_SUCCESS && draft->row->check != NULL) {
        status = draft->row->check(&draft->node);
    }
    return status;
}

struct ggml_tensor * op_commit(struct op_draft * draft) {
    if (draft->dead) {
        return dead_draft(draft);
    }
    if (draft->row == NULL) {
        return op_builder_failed(draft->ctx, "%s: %d is no operator", draft->builder, (int) draft->node.op);
    }
    const enum ggml_status status = check_draft(draft);
    if (status != GGML_STATUS_SUCCESS) {
        context_fault(draft->ctx, status);
        return NULL;
    }
    const struct ggml_tensor * node   = &draft->node;
    struct ggml_tensor *       result;
    if (draft->view != NULL) {
        result = graph_new_view(draft->ctx, node->type, node->ne, node->nb, draft->view, draft->view_offset);
    } else {
        result = graph_new_laid_out(draft->ctx, node->type, node->ne, node->nb, draft->bytes);
    }
    if (result == NULL) {
        return NULL;
    }
    result->op    = node->op;
    result->flags = node->flags;
    memcpy(result->op_params, node->op_params, sizeof(node->op_params));
    memcpy(result->src, node->src, sizeof(node->src));
    if (draft->name_format != NULL && draft->name_source != NULL) {
        ggml_format_name(result, draft->name_format, draft->name_source->name);
    } else if (draft->view != NULL) {
        ggml_format_name(result, "%s (view)", draft->view->name);
    }
    return result;
}
