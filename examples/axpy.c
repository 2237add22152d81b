/* SPDX-License-Identifier: MIT
 *
 * An operator that this program adds to the runtime: y = alpha * a + b. The runtime knows nothing of it before main; after two
 * calls it is a node like any other, planned, given memory and run in the threads' team.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"

/* Shape inference: what comes out, and whether the inputs fit. */
static enum ggml_status infer(void * user_data, const void * attrs, const struct ggml_tensor * const * src, int n_src,
                              struct ggml_ext_output * out, int n_out) {
    (void) user_data, (void) attrs, (void) n_src, (void) n_out;
    if (!ggml_are_same_shape(src[0], src[1])) {
        ggml_ext_set_error("example.axpy.v1: %s and %s differ in shape", src[0]->name, src[1]->name);
        return GGML_STATUS_FAILED;
    }
    out[0].type = GGML_TYPE_F32;
    memcpy(out[0].ne, src[0]->ne, sizeof(out[0].ne));
    return GGML_STATUS_SUCCESS;
}

/* What the kernel below can compute. It is never asked to compute anything else. */
static bool supports(void * user_data, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) user_data, (void) device;
    return node->src[0]->type == GGML_TYPE_F32 && node->src[1]->type == GGML_TYPE_F32 &&
           ggml_is_contiguous(node->src[0]) && ggml_is_contiguous(node->src[1]);
}

/* Runs once in every thread of the team; rows are handed out as threads ask for them. */
static enum ggml_status task(void * user_data, void * plan, struct ggml_ext_task * team,
                             struct ggml_tensor * const * nodes, int n) {
    (void) user_data, (void) plan, (void) n;
    struct ggml_tensor * y = nodes[0];
    float                alpha;
    memcpy(&alpha, ggml_ext_op_attrs(y, NULL), sizeof(alpha));
    const int64_t rows = ggml_nrows(y), columns = y->ne[0];
    for (int64_t r = team->next(team, rows); r >= 0; r = team->next(team, rows)) {
        const float * a = (const float *) y->src[0]->data + r * columns;
        const float * b = (const float *) y->src[1]->data + r * columns;
        for (int64_t i = 0; i < columns; i++) {
            ((float *) y->data)[r * columns + i] = alpha * a[i] + b[i];
        }
    }
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status register_axpy(ggml_backend_dev_t cpu) {
    const struct ggml_ext_op_desc op = {
        .size      = sizeof(op),
        .name      = "example.axpy.v1",
        .attr_size = sizeof(float),
        .n_src_min = 2,
        .n_src_max = 2,
        .n_out     = 1,
        .infer     = infer,
        .doc       = "alpha * a + b",
    };
    const struct ggml_ext_kernel_desc kernel = {
        .size     = sizeof(kernel),
        .name     = "example.axpy",
        .op       = GGML_OP_CUSTOM,
        .op_name  = "example.axpy.v1",
        .supports = supports,
        .task     = task,
    };
    const enum ggml_status status = ggml_ext_register_op(&op);
    return status == GGML_STATUS_SUCCESS ? ggml_ext_register_kernel(cpu, &kernel) : status;
}

int main(void) {
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (register_axpy(ggml_backend_get_device(backend)) != GGML_STATUS_SUCCESS) {
        fprintf(stderr, "axpy: %s\n", ggml_ext_last_error());
        return EXIT_FAILURE;
    }
    struct ggml_context * ctx   = ggml_init((struct ggml_init_params){ 1 << 20, NULL, true });
    struct ggml_tensor *  a     = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 2), "a");
    struct ggml_tensor *  b     = ggml_set_name(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 2), "b");
    const float           alpha = 0.5f;
    struct ggml_tensor *  y =
        ggml_ext_op_create(ctx, "example.axpy.v1", &alpha, sizeof(alpha), (struct ggml_tensor *[]){ a, b }, 2);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_sqr(ctx, y)); /* built-in operators go on from there */
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, backend);

    const float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, steps[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    float       out[8] = { 0 };
    ggml_backend_tensor_set(a, steps, 0, sizeof(steps));
    ggml_backend_tensor_set(b, ones, 0, sizeof(ones));
    const enum ggml_status status = ggml_backend_graph_compute(backend, graph);
    if (status == GGML_STATUS_SUCCESS) {
        ggml_backend_tensor_get(ggml_graph_node(graph, -1), out, 0, sizeof(out));
        for (int i = 0; i < 8; i++) {
            printf("%g%s", (double) out[i], i < 7 ? " " : "\n");
        }
    } else {
        fprintf(stderr, "axpy: %s\n", ggml_ext_last_error());
    }
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    ggml_backend_free(backend);
    return status == GGML_STATUS_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
