/* SPDX-License-Identifier: MIT
 *
 * Descriptors of tensors: making them, and what can be asked about them.
 */
#include "graph/tensor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "ggml-backend.h"
#include "ggml-impl.h"
#include "graph/context.h"
#include "type/type.h"

/* ---- layout ---- */

/* Sizes of objects are kept below 2^63, so that differences of addresses and offsets can be counted too. */
static bool fits(size_t bytes) {
    return bytes <= INT64_MAX;
}

static bool countable(const int64_t ne[GGML_MAX_DIMS]) {
    int64_t n = 1;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        /* zeros left out: the product of any of the extents can then be formed */
        if (ne[i] > 0 && !base_int64_mul(n, ne[i], &n)) {
            return false;
        }
    }
    return true;
}

#define SHAPE_FORMAT "[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]"
#define SHAPE(ne)    (ne)[0], (ne)[1], (ne)[2], (ne)[3]

enum ggml_status graph_contiguous_layout(enum ggml_type type, const int64_t ne[GGML_MAX_DIMS], size_t nb[GGML_MAX_DIMS],
                                         size_t * bytes) {
    const struct type_row * row = type_row_get(type);
    if (row == NULL || row->traits.blck_size <= 0) {
        return base_fail(GGML_STATUS_FAILED, "%d is no type of tensors", (int) type);
    }
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (ne[i] < 0) {
            return base_fail(GGML_STATUS_FAILED, "extent %d of " SHAPE_FORMAT " is negative", i, SHAPE(ne));
        }
    }
    const struct ggml_type_traits * traits = &row->traits;
    if (ne[0] % traits->blck_size != 0) {
        return base_fail(GGML_STATUS_FAILED, "rows of " SHAPE_FORMAT " are no whole blocks of %" PRId64 " %s values",
                         SHAPE(ne), traits->blck_size, traits->type_name);
    }
    size_t size = traits->type_size;
    nb[0]       = size;
    bool ok     = countable(ne) && base_size_mul(size, (size_t) (ne[0] / traits->blck_size), &size);
    for (int i = 1; i < GGML_MAX_DIMS && ok; i++) {
        nb[i] = size;
        ok    = base_size_mul(size, (size_t) ne[i], &size);
    }
    if (!ok || !fits(size)) {
        return base_fail(GGML_STATUS_FAILED, "%s " SHAPE_FORMAT " has more than 2^63 elements or bytes",
                         traits->type_name, SHAPE(ne));
    }
    *bytes = size;
    return GGML_STATUS_SUCCESS;
}

bool graph_strided_bytes(enum ggml_type type, const int64_t ne[GGML_MAX_DIMS], const size_t nb[GGML_MAX_DIMS],
                         size_t * bytes) {
    const int64_t block = ggml_blck_size(type);
    size_t        end;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (ne[i] <= 0) {
            *bytes = 0;
            return true;
        }
    }
    if (block == 1) {
        size_t last;
        if (!base_size_mul((size_t) (ne[0] - 1), nb[0], &last) || !base_size_add(last, ggml_type_size(type), &end)) {
            return false;
        }
    } else {
        if (!base_size_mul((size_t) ne[0], nb[0], &end)) {
            return false;
        }
        end /= (size_t) block;
    }
    for (int i = 1; i < GGML_MAX_DIMS; i++) {
        size_t last;
        if (!base_size_mul((size_t) (ne[i] - 1), nb[i], &last) || !base_size_add(end, last, &end)) {
            return false;
        }
    }
    if (!fits(end)) {
        return false;
    }
    *bytes = end;
    return true;
}

static size_t root_offset(const struct ggml_tensor * t) {
    return t->view_src != NULL ? t->view_offs : 0;
}

bool graph_view_fits(const struct ggml_tensor * src, size_t offset, size_t bytes) {
    const struct ggml_tensor * root = src->view_src != NULL ? src->view_src : src;
    size_t                     have;
    size_t                     end;
    if (bytes == 0) {
        return true;
    }
    return graph_strided_bytes(root->type, root->ne, root->nb, &have) &&
           base_size_add(offset, root_offset(src), &end) && base_size_add(end, bytes, &end) && end <= have;
}

/* ---- making ---- */

static struct ggml_tensor * new_descriptor(struct ggml_context * ctx, enum ggml_type type, const int64_t * ne,
                                           const size_t * nb, size_t data_bytes) {
    struct ggml_tensor * t = NULL;
    size_t               size;
    if (base_size_add(sizeof(*t), data_bytes, &size)) {
        t = context_new_object(ctx, GGML_OBJECT_TYPE_TENSOR, size);
    } else {
        base_fail(GGML_STATUS_ALLOC_FAILED, "a tensor of %zu bytes is beyond any memory", data_bytes);
    }
    if (t == NULL) {
        context_fault(ctx, GGML_STATUS_ALLOC_FAILED);
        return NULL;
    }
    graph_clear_tensor(t);
    t->type = type;
    memcpy(t->ne, ne, sizeof(t->ne));
    memcpy(t->nb, nb, sizeof(t->nb));
    t->data = data_bytes > 0 ? t + 1 : NULL;
    return t;
}

struct ggml_tensor * graph_new_tensor(struct ggml_context * ctx, enum ggml_type type, const int64_t ne[GGML_MAX_DIMS]) {
    size_t nb[GGML_MAX_DIMS];
    size_t bytes;
    if (graph_contiguous_layout(type, ne, nb, &bytes) != GGML_STATUS_SUCCESS) {
        context_fault(ctx, GGML_STATUS_FAILED);
        return NULL;
    }
    return graph_new_laid_out(ctx, type, ne, nb, bytes);
}

struct ggml_tensor * graph_new_laid_out(struct ggml_context * ctx, enum ggml_type type, const int64_t ne[GGML_MAX_DIMS],
                                        const size_t nb[GGML_MAX_DIMS], size_t bytes) {
    return new_descriptor(ctx, type, ne, nb, ggml_get_no_alloc(ctx) ? 0 : bytes);
}

struct ggml_tensor * graph_new_view(struct ggml_context * ctx, enum ggml_type type, const int64_t ne[GGML_MAX_DIMS],
                                    const size_t nb[GGML_MAX_DIMS], struct ggml_tensor * src, size_t offset) {
    struct ggml_tensor * t = new_descriptor(ctx, type, ne, nb, 0);
    if (t == NULL) {
        return NULL;
    }
    t->view_src  = src->view_src != NULL ? src->view_src : src;
    t->view_offs = root_offset(src) + offset;
    if (t->view_src->data != NULL) {
        /* by integers: the offset of an empty view may lie anywhere */
        t->data = (void *) ((uintptr_t) t->view_src->data + t->view_offs);
    }
    return t;
}

struct ggml_tensor * ggml_new_tensor(struct ggml_context * ctx, enum ggml_type type, int n_dims, const int64_t * ne) {
    int64_t extents[GGML_MAX_DIMS] = { 1, 1, 1, 1 };
    if (n_dims < 1 || n_dims > GGML_MAX_DIMS) {
        context_fault(ctx, base_fail(GGML_STATUS_FAILED, "ggml_new_tensor: 1 to %d dimensions expected, found %d",
                                     GGML_MAX_DIMS, n_dims));
        return NULL;
    }
    memcpy(extents, ne, (size_t) n_dims * sizeof(ne[0]));
    return graph_new_tensor(ctx, type, extents);
}

struct ggml_tensor * ggml_new_tensor_1d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0) {
    return ggml_new_tensor_4d(ctx, type, ne0, 1, 1, 1);
}

struct ggml_tensor * ggml_new_tensor_2d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1) {
    return ggml_new_tensor_4d(ctx, type, ne0, ne1, 1, 1);
}

struct ggml_tensor * ggml_new_tensor_3d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                        int64_t ne2) {
    return ggml_new_tensor_4d(ctx, type, ne0, ne1, ne2, 1);
}

struct ggml_tensor * ggml_new_tensor_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                        int64_t ne2, int64_t ne3) {
    const int64_t ne[GGML_MAX_DIMS] = { ne0, ne1, ne2, ne3 };
    return graph_new_tensor(ctx, type, ne);
}

static struct ggml_tensor * no_source(struct ggml_context * ctx, const char * builder) {
    context_fault(ctx, base_fail(GGML_STATUS_FAILED, "%s: the source is NULL", builder));
    return NULL;
}

struct ggml_tensor * ggml_dup_tensor(struct ggml_context * ctx, const struct ggml_tensor * src) {
    return src != NULL ? graph_new_tensor(ctx, src->type, src->ne) : no_source(ctx, "ggml_dup_tensor");
}

struct ggml_tensor * ggml_view_tensor(struct ggml_context * ctx, struct ggml_tensor * src) {
    if (src == NULL) {
        return no_source(ctx, "ggml_view_tensor");
    }
    return ggml_format_name(graph_new_view(ctx, src->type, src->ne, src->nb, src, 0), "%s (view)", src->name);
}

/* ---- names and flags: NULL, the result of a refused builder, passes through ---- */

const char * ggml_get_name(const struct ggml_tensor * tensor) {
    return tensor->name;
}

struct ggml_tensor * ggml_set_name(struct ggml_tensor * tensor, const char * name) {
    if (tensor != NULL) {
        const size_t n = strnlen(name, sizeof(tensor->name) - 1);
        memmove(tensor->name, name, n); /* perhaps its own */
        tensor->name[n] = 0;
    }
    return tensor;
}

struct ggml_tensor * ggml_format_name(struct ggml_tensor * tensor, const char * fmt, ...) {
    if (tensor != NULL) {
        char    name[sizeof(tensor->name)]; /* an argument may be the old name */
        va_list args;
        va_start(args, fmt);
        vsnprintf(name, sizeof(name), fmt, args);
        va_end(args);
        memcpy(tensor->name, name, sizeof(name));
    }
    return tensor;
}

void ggml_set_output(struct ggml_tensor * tensor) {
    for (; tensor != NULL; tensor = tensor->view_src) {
        tensor->flags |= GGML_TENSOR_FLAG_OUTPUT;
    }
}

/* Flags of tensors that no operator computes. */
static void set_leaf_flag(struct ggml_tensor * tensor, enum ggml_tensor_flag flag, const char * function) {
    if (tensor == NULL) {
        return;
    }
    if (tensor->op != GGML_OP_NONE) {
        context_fault(NULL, base_fail(GGML_STATUS_FAILED, "%s: '%s' is the result of %s", function, tensor->name,
                                      ggml_op_name(tensor->op)));
    }
    tensor->flags |= flag;
}

void ggml_set_input(struct ggml_tensor * tensor) {
    set_leaf_flag(tensor, GGML_TENSOR_FLAG_INPUT, "ggml_set_input");
}

void ggml_set_param(struct ggml_tensor * tensor) {
    set_leaf_flag(tensor, GGML_TENSOR_FLAG_PARAM, "ggml_set_param");
}

void ggml_set_loss(struct ggml_tensor * tensor) {
    if (tensor == NULL) {
        return;
    }
    if (tensor->type != GGML_TYPE_F32 || !ggml_is_scalar(tensor)) {
        context_fault(NULL, base_fail(GGML_STATUS_FAILED, "ggml_set_loss: '%s' must be one f32, found %s " SHAPE_FORMAT,
                                      tensor->name, ggml_type_name(tensor->type), SHAPE(tensor->ne)));
    }
    tensor->flags |= GGML_TENSOR_FLAG_LOSS;
}

/* ---- data ---- */

void * ggml_get_data(const struct ggml_tensor * tensor) {
    return tensor->data;
}

float * ggml_get_data_f32(const struct ggml_tensor * tensor) {
    assert(tensor->type == GGML_TYPE_F32);
    return tensor->data;
}

struct ggml_tensor * ggml_set_zero(struct ggml_tensor * tensor) {
    if (tensor == NULL || ggml_is_empty(tensor)) {
        return tensor;
    }
    if (tensor->buffer != NULL) {
        ggml_backend_tensor_memset(tensor, 0, 0, ggml_nbytes(tensor));
    } else if (tensor->data != NULL) {
        memset(tensor->data, 0, ggml_nbytes(tensor));
    } else {
        context_fault(NULL, base_fail(GGML_STATUS_FAILED, "ggml_set_zero: '%s' has no data", tensor->name));
    }
    return tensor;
}
