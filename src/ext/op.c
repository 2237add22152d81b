/* SPDX-License-Identifier: MIT
 *
 * Extension operators: the table of registered ones, and making and reading their nodes.
 *
 * A node is a GGML_OP_CUSTOM whose callback slot holds a marker and whose user data slot holds the operator's id; the
 * attributes follow the callback triple in op_params. The marker is a real function, so that code which takes the node for
 * an ordinary custom operator gets an error in the log and not a wild jump.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "ext/ext.h"
#include "graft.h"
#include "op/op.h"
#include "type/type.h"

#define MAX_OPS 4096

static _Atomic(struct ext_op *) ops[MAX_OPS];
static atomic_uint              n_ops;
static pthread_mutex_t          lock = PTHREAD_MUTEX_INITIALIZER;

const char * ggml_ext_last_error(void) {
    return base_error_text();
}

void ggml_ext_set_error(const char * fmt, ...) {
    char    text[BASE_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    base_set_error_text(text);
}

static void marker(struct ggml_tensor * dst, int ith, int nth, void * userdata) {
    (void) nth;
    (void) userdata;
    if (ith == 0) {
        GGML_LOG_ERROR("extension node '%s' was run as a custom callback: its device knows no extensions\n", dst->name);
    }
}

/* The callback triple as it lies in op_params. */
static void write_marker(int32_t * op_params, uint32_t id) {
    struct ggml_custom_op_params params;
    memset(&params, 0, sizeof(params));
    params.fun      = marker;
    params.n_tasks  = 1;
    params.userdata = (void *) (uintptr_t) id;
    memcpy(op_params, &params, sizeof(params));
}

#define ATTRS_OFFSET sizeof(struct ggml_custom_op_params)
_Static_assert(ATTRS_OFFSET + GGML_EXT_MAX_ATTRS == GGML_MAX_OP_PARAMS, "attributes fill op_params");

const struct ext_op * ext_op_of(const struct ggml_tensor * t) {
    struct ggml_custom_op_params params;
    if (t == NULL || t->op != GGML_OP_CUSTOM) {
        return NULL;
    }
    memcpy(&params, t->op_params, sizeof(params));
    const uintptr_t id = (uintptr_t) params.userdata;
    if (params.fun != marker || id == 0 || id > atomic_load_explicit(&n_ops, memory_order_acquire)) {
        return NULL;
    }
    return atomic_load_explicit(&ops[id - 1], memory_order_relaxed);
}

const struct ext_op * ext_op_by_name(const char * name) {
    const unsigned n = atomic_load_explicit(&n_ops, memory_order_acquire);
    for (unsigned i = 0; i < n; i++) {
        const struct ext_op * op = atomic_load_explicit(&ops[i], memory_order_relaxed);
        if (strcmp(op->desc.name, name) == 0) {
            return op;
        }
    }
    return NULL;
}

/* ---- registration ---- */

static enum ggml_status check_desc(const struct ggml_ext_op_desc * d) {
    if (!ext_name_valid(d->name, true)) {
        return base_fail(GGML_STATUS_FAILED,
                         "ggml_ext_register_op: name '%s' is not of the form [A-Za-z0-9_.-]+ with \".v<N>\" at its end and "
                         "less than %d bytes",
                         d->name != NULL ? d->name : "(null)", GGML_EXT_MAX_NAME);
    }
    if (d->attr_size > GGML_EXT_MAX_ATTRS) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s: attr_size is %zu, expected at most %d", d->name,
                         d->attr_size, GGML_EXT_MAX_ATTRS);
    }
    if (d->n_src_min < 0 || d->n_src_max > GGML_MAX_SRC || d->n_src_min > d->n_src_max) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s: inputs %d to %d, expected a range within 0 to %d",
                         d->name, d->n_src_min, d->n_src_max, GGML_MAX_SRC);
    }
    if (d->n_out != 1) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s: n_out is %d, this version takes 1", d->name,
                         d->n_out);
    }
    if (((d->optional_inputs | d->value_inputs) >> d->n_src_max) != 0) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s: optional_inputs or value_inputs name an input past %d",
                         d->name, d->n_src_max);
    }
    if (d->infer == NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s: infer is NULL", d->name);
    }
    return GGML_STATUS_SUCCESS;
}

static struct ext_op * copy_desc(const struct ggml_ext_op_desc * d) {
    const size_t    name_size = strlen(d->name) + 1;
    const size_t    doc_size  = d->doc != NULL ? strlen(d->doc) + 1 : 0;
    struct ext_op * op        = calloc(1, sizeof(*op) + name_size + doc_size);
    if (op == NULL) {
        return NULL;
    }
    op->desc  = *d;
    char * p  = (char *) (op + 1);
    op->desc.name = memcpy(p, d->name, name_size);
    if (d->doc != NULL) {
        op->desc.doc = memcpy(p + name_size, d->doc, doc_size);
    }
    return op;
}

static enum ggml_status append(struct ext_op * op) {
    const unsigned n = atomic_load_explicit(&n_ops, memory_order_relaxed);
    if (ext_op_by_name(op->desc.name) != NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s is registered already", op->desc.name);
    }
    if (n == MAX_OPS) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: %s: the table of %d operators is full", op->desc.name,
                         MAX_OPS);
    }
    op->id = n + 1;
    atomic_store_explicit(&ops[n], op, memory_order_relaxed);
    atomic_store_explicit(&n_ops, n + 1, memory_order_release);
    return GGML_STATUS_SUCCESS;
}

enum ggml_status ggml_ext_register_op(const struct ggml_ext_op_desc * desc) {
    if (desc == NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_op: the description is NULL");
    }
    enum ggml_status status = ext_check_size("ggml_ext_register_op", desc, desc->size, sizeof(*desc), sizeof(*desc));
    if (status == GGML_STATUS_SUCCESS) {
        status = check_desc(desc);
    }
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    struct ext_op * op = copy_desc(desc);
    if (op == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "ggml_ext_register_op: %s: no memory", desc->name);
    }
    pthread_mutex_lock(&lock);
    status = append(op);
    pthread_mutex_unlock(&lock);
    if (status != GGML_STATUS_SUCCESS) {
        free(op);
        return status;
    }
    base_clear_error();
    return GGML_STATUS_SUCCESS;
}

size_t ggml_ext_op_count(void) {
    return atomic_load_explicit(&n_ops, memory_order_acquire);
}

const struct ggml_ext_op_desc * ggml_ext_op_get(size_t i) {
    return i < ggml_ext_op_count() ? &atomic_load_explicit(&ops[i], memory_order_relaxed)->desc : NULL;
}

/* ---- making nodes ---- */

/* Number of inputs and which are there. */
static enum ggml_status check_inputs(const struct ext_op * op, struct ggml_tensor * const * src, int n_src) {
    const struct ggml_ext_op_desc * d = &op->desc;
    if (n_src < d->n_src_min || n_src > d->n_src_max || (n_src > 0 && src == NULL)) {
        return base_fail(GGML_STATUS_FAILED, "%s: %d inputs given, expected %d to %d", d->name, n_src, d->n_src_min,
                         d->n_src_max);
    }
    for (int k = 0; k < n_src; k++) {
        if (src[k] == NULL && ((d->optional_inputs >> k) & 1u) == 0) {
            return base_fail(GGML_STATUS_FAILED, "%s: input %d is NULL and not optional", d->name, k);
        }
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status check_output(const struct ext_op * op, struct ggml_tensor * const * src, int n_src,
                                     const struct ggml_ext_output * out) {
    const struct type_row * row = type_row_get(out->type);
    if (row == NULL) {
        return base_fail(GGML_STATUS_FAILED, "%s: infer gave type %d, which is none", op->desc.name, (int) out->type);
    }
    size_t bytes = 0;
    bool   fits  = out->ne[0] >= 0 && type_row_bytes(out->type, out->ne[0], &bytes);
    for (int i = 1; fits && i < GGML_MAX_DIMS; i++) {
        fits = out->ne[i] >= 0 && base_size_mul(bytes, (size_t) out->ne[i], &bytes);
    }
    if (!fits || bytes > (size_t) INT64_MAX) {
        return base_fail(GGML_STATUS_FAILED, "%s: infer gave %s [%lld, %lld, %lld, %lld], which is no shape of that type",
                         op->desc.name, row->traits.type_name, (long long) out->ne[0], (long long) out->ne[1],
                         (long long) out->ne[2], (long long) out->ne[3]);
    }
    if (out->updates < -1 || out->updates >= n_src || (out->updates >= 0 && src[out->updates] == NULL)) {
        return base_fail(GGML_STATUS_FAILED, "%s: infer gave updates %d, expected -1 or a given input below %d",
                         op->desc.name, out->updates, n_src);
    }
    if (out->updates >= 0) {
        const struct ggml_tensor * a = src[out->updates];
        if (a->type != out->type || memcmp(a->ne, out->ne, sizeof(a->ne)) != 0) {
            return base_fail(GGML_STATUS_FAILED, "%s: the output updates input %d, %s, but infer gave another type or shape",
                             op->desc.name, out->updates, op_describe(a));
        }
    }
    return GGML_STATUS_SUCCESS;
}

/* Inference sees copies of the descriptors: data only where the operator reads values and the tensor is a constant that the host can
 * read. Elsewhere it is NULL, so that a rule cannot come to depend on memory that is not there yet. */
static bool host_constant(const struct ggml_tensor * t) {
    return t->op == GGML_OP_NONE && t->data != NULL && (t->flags & GGML_TENSOR_FLAG_INPUT) == 0 &&
           (t->buffer == NULL || ggml_backend_buffer_is_host(t->buffer));
}

static enum ggml_status infer(const struct ext_op * op, const void * attrs, struct ggml_tensor * const * src, int n_src,
                              struct ggml_ext_output * out) {
    _Alignas(16) char          aligned[GGML_EXT_MAX_ATTRS] = { 0 };
    struct ggml_tensor         copies[GGML_MAX_SRC];
    const struct ggml_tensor * seen[GGML_MAX_SRC] = { NULL };
    for (int k = 0; k < n_src; k++) {
        if (src[k] != NULL) {
            copies[k] = *src[k];
            if (((op->desc.value_inputs >> k) & 1u) == 0 || !host_constant(src[k])) {
                copies[k].data = NULL;
            }
            seen[k] = &copies[k];
        }
    }
    if (op->desc.attr_size > 0) {
        memcpy(aligned, attrs, op->desc.attr_size);
    }
    memset(out, 0, sizeof(*out));
    out->updates = -1;
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        out->ne[i] = 1;
    }
    base_clear_error();
    const enum ggml_status status = op->desc.infer(op->desc.user_data, aligned, seen, n_src, out, 1);
    if (status != GGML_STATUS_SUCCESS && base_error_text()[0] == 0) {
        return base_fail(status, "%s: shape inference failed without a text", op->desc.name);
    }
    return status;
}

/* An ordinary tensor of the inferred shape; in the context's checked mode for the while, as this interface never aborts. */
static struct ggml_tensor * emit(struct ggml_context * ctx, const struct ext_op * op, const void * attrs,
                                 struct ggml_tensor * const * src, int n_src, const struct ggml_ext_output * out) {
    struct op_draft draft = op_begin(ctx, GGML_OP_CUSTOM, op->desc.name);
    for (int k = 0; k < n_src; k++) {
        op_src_optional(&draft, k, src[k]);
    }
    if (out->updates >= 0) {
        op_like(&draft, src[out->updates]);
        op_view_of(&draft, src[out->updates], 0);
    } else {
        op_shape(&draft, out->type, out->ne[0], out->ne[1], out->ne[2], out->ne[3]);
    }
    write_marker(draft.node.op_params, op->id);
    if (op->desc.attr_size > 0) {
        memcpy((char *) draft.node.op_params + ATTRS_OFFSET, attrs, op->desc.attr_size);
    }
    const bool was_checked = graft_get_checked(ctx);
    if (!was_checked) {
        graft_set_checked(ctx, true);
    }
    struct ggml_tensor * t = op_commit(&draft);
    if (!was_checked) {
        graft_set_checked(ctx, false);
    }
    return t;
}

struct ggml_tensor * ggml_ext_op_create(struct ggml_context * ctx, const char * name, const void * attrs, size_t attr_size,
                                        struct ggml_tensor * const * src, int n_src) {
    if (ctx == NULL || name == NULL) {
        base_fail(GGML_STATUS_FAILED, "ggml_ext_op_create: %s is NULL", ctx == NULL ? "ctx" : "name");
        return NULL;
    }
    const struct ext_op * op = ext_op_by_name(name);
    if (op == NULL) {
        base_fail(GGML_STATUS_FAILED, "ggml_ext_op_create: no operator '%s' is registered", name);
        return NULL;
    }
    if (attr_size != op->desc.attr_size || (attr_size > 0 && attrs == NULL)) {
        base_fail(GGML_STATUS_FAILED, "%s: %zu bytes of attributes given, expected %zu", name, attr_size,
                  op->desc.attr_size);
        return NULL;
    }
    struct ggml_ext_output out;
    if (check_inputs(op, src, n_src) != GGML_STATUS_SUCCESS || infer(op, attrs, src, n_src, &out) != GGML_STATUS_SUCCESS ||
        check_output(op, src, n_src, &out) != GGML_STATUS_SUCCESS) {
        return NULL;
    }
    struct ggml_tensor * t = emit(ctx, op, attrs, src, n_src, &out);
    if (t != NULL) {
        base_clear_error();
    }
    return t;
}

enum ggml_status ggml_ext_op_create_multi(struct ggml_context * ctx, const char * name, const void * attrs,
                                          size_t attr_size, struct ggml_tensor * const * src, int n_src,
                                          struct ggml_tensor ** out, int n_out) {
    if (out == NULL || n_out != 1) {
        return base_fail(GGML_STATUS_FAILED, "%s: room for %d outputs given, expected 1", name != NULL ? name : "(null)",
                         out != NULL ? n_out : 0);
    }
    out[0] = ggml_ext_op_create(ctx, name, attrs, attr_size, src, n_src);
    return out[0] != NULL ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

/* ---- inspection ---- */

const char * ggml_ext_op_name(const struct ggml_tensor * t) {
    const struct ext_op * op = ext_op_of(t);
    return op != NULL ? op->desc.name : NULL;
}

const void * ggml_ext_op_attrs(const struct ggml_tensor * t, size_t * attr_size) {
    const struct ext_op * op = ext_op_of(t);
    if (attr_size != NULL) {
        *attr_size = op != NULL ? op->desc.attr_size : 0;
    }
    return op != NULL ? (const char *) t->op_params + ATTRS_OFFSET : NULL;
}

int ggml_ext_op_n_outputs(const struct ggml_tensor * t) {
    const struct ext_op * op = ext_op_of(t);
    return op != NULL ? op->desc.n_out : 0;
}

enum ggml_status ggml_ext_op_output(const struct ggml_tensor * t, int i, struct ggml_tensor * out) {
    const struct ext_op * op = ext_op_of(t);
    if (op == NULL || out == NULL || i < 0 || i >= op->desc.n_out) {
        return GGML_STATUS_FAILED;
    }
    *out = *t;
    return GGML_STATUS_SUCCESS;
}
