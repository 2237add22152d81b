/* SPDX-License-Identifier: MIT
 *
 * What the hostile tests share: operators and kernels to order, and chains of nodes to run them on.
 */
#ifndef GRAFT_TESTS_ROBUST_SUPPORT_H
#define GRAFT_TESTS_ROBUST_SUPPORT_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"
#include "graft.h"
#include "harness.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

static inline ggml_backend_dev_t cpu_device_of_test(void) {
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

static inline enum ggml_status infer_like_first(void * ud, const void * attrs, const struct ggml_tensor * const * src, int n_src,
                                                struct ggml_ext_output * out, int n_out) {
    (void) ud, (void) attrs, (void) n_src, (void) n_out;
    out[0].type = src[0]->type;
    memcpy(out[0].ne, src[0]->ne, sizeof(out[0].ne));
    return GGML_STATUS_SUCCESS;
}

static inline enum ggml_status register_op_named(const char * name) {
    const struct ggml_ext_op_desc op = { .size = sizeof(op), .name = name, .n_src_min = 1, .n_src_max = 1, .n_out = 1, .infer = infer_like_first };
    return ggml_ext_register_op(&op);
}

static inline bool supports_all(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) ud, (void) device, (void) node;
    return true;
}

/* y = x + 1, by rows in equal shares. */
static inline void add_one(struct ggml_tensor * y, int ith, int nth) {
    const int64_t n = ggml_nelements(y);
    for (int64_t i = n * ith / nth; i < n * (ith + 1) / nth; i++) {
        ((float *) y->data)[i] = ((const float *) y->src[0]->data)[i] + 1.0f;
    }
}

/* A chain of n nodes of an operator over one F32 leaf of zeros, with data in the context. name NULL: built-in additions of a leaf
 * of ones. */
struct chain {
    struct ggml_context * ctx;
    struct ggml_tensor *  leaf;
    struct ggml_tensor *  last;
    struct ggml_cgraph *  graph;
    int                   n;
};

static inline struct chain make_chain(const char * name, int n, int64_t elements) {
    struct chain c = { .n = n };
    c.ctx  = ggml_init((struct ggml_init_params){ (size_t) (n + 3) * ((size_t) elements * 4 + 1024) + ggml_graph_overhead(), NULL, false });
    c.leaf = ggml_new_tensor_1d(c.ctx, GGML_TYPE_F32, elements);
    memset(c.leaf->data, 0, ggml_nbytes(c.leaf));
    struct ggml_tensor * one = ggml_new_tensor_1d(c.ctx, GGML_TYPE_F32, elements);
    for (int64_t i = 0; i < elements; i++) {
        ((float *) one->data)[i] = 1.0f;
    }
    c.last = c.leaf;
    for (int i = 0; i < n && c.last != NULL; i++) {
        c.last = name != NULL ? ggml_ext_op_create(c.ctx, name, NULL, 0, &c.last, 1) : ggml_add(c.ctx, c.last, one);
    }
    c.graph = ggml_new_graph(c.ctx);
    if (c.last != NULL) {
        ggml_build_forward_expand(c.graph, c.last);
    }
    return c;
}

static inline bool chain_is_right(const struct chain * c) {
    for (int64_t i = 0; i < ggml_nelements(c->last); i++) {
        if (((float *) c->last->data)[i] != (float) c->n) {
            return false;
        }
    }
    return true;
}

#endif /* GRAFT_TESTS_ROBUST_SUPPORT_H */
