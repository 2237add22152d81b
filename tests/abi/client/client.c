/* SPDX-License-Identifier: MIT
 *
 * A client in C of the installed libraries: adds two vectors on the CPU, and compares its own idea of a tensor with theirs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

int main(void) {
    const struct ggml_init_params params = { 1 << 20, NULL, true };
    struct ggml_context *         ctx    = ggml_init(params);
    struct ggml_tensor *          a      = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor *          sum    = ggml_add(ctx, a, a);
    struct ggml_cgraph *          graph  = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, sum);
    ggml_backend_t        cpu    = ggml_backend_cpu_init();
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, cpu);
    const float           in[4]  = { 1.0f, 2.0f, 3.0f, 4.0f };
    float                 out[4] = { 0 };
    ggml_backend_tensor_set(a, in, 0, sizeof(in));
    if (ggml_backend_graph_compute(cpu, graph) != GGML_STATUS_SUCCESS) {
        return EXIT_FAILURE;
    }
    ggml_backend_tensor_get(sum, out, 0, sizeof(out));
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(cpu);
    ggml_free(ctx);
    /* an object's header of 32 bytes stands before each tensor */
    printf("%s %g %s name=%d\n", ggml_version(), (double) out[3],
           ggml_tensor_overhead() == sizeof(struct ggml_tensor) + 32 ? "same" : "other", GGML_MAX_NAME);
    return EXIT_SUCCESS;
}
