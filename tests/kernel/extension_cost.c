/* SPDX-License-Identifier: MIT
 *
 * An added kernel costs what a built-in one does: the built-in kernel of ADD, registered once more as an extension of higher
 * priority, on a graph of 2000 small nodes. The two are timed in turn; medians are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "harness.h"

extern const struct ggml_ext_kernel_desc cpu_op_add;

#define N_NODES 2000
#define ROUNDS  41

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static int by_value(const void * a, const void * b) {
    const int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return (x > y) - (x < y);
}

static int64_t time_once(ggml_backend_t backend, struct ggml_cgraph * graph) {
    const int64_t start = ggml_time_us();
    CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
    return ggml_time_us() - start;
}

TEST(same_cost_as_built_in) {
    ggml_backend_t     backend = ggml_backend_cpu_init();
    ggml_backend_dev_t device  = ggml_backend_get_device(backend);
    ggml_backend_cpu_set_n_threads(backend, 1);
    struct ggml_ext_kernel_desc copy = cpu_op_add;
    copy.name                        = "test.add";
    copy.priority                    = 1;
    REQUIRE(ggml_ext_register_kernel(device, &copy) == GGML_STATUS_SUCCESS);
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ (size_t) N_NODES * 1024 + (1 << 20), NULL, false });
    struct ggml_tensor *  a   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 64);
    memset(a->data, 0, ggml_nbytes(a));
    struct ggml_tensor * x = a;
    for (int i = 0; i < N_NODES; i++) {
        x = ggml_add(ctx, x, a);
    }
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, N_NODES, false);
    ggml_build_forward_expand(graph, x);
    int64_t built_in[ROUNDS], added[ROUNDS];
    for (int i = -3; i < ROUNDS; i++) { /* some rounds to warm up */
        ggml_ext_set_policy(device, "test.add", GGML_EXT_POLICY_OFF);
        const int64_t t0 = time_once(backend, graph);
        ggml_ext_set_policy(device, "test.add", GGML_EXT_POLICY_AUTO);
        const int64_t t1 = time_once(backend, graph);
        if (i >= 0) {
            built_in[i] = t0;
            added[i]    = t1;
        }
    }
    qsort(built_in, ROUNDS, sizeof(built_in[0]), by_value);
    qsort(added, ROUNDS, sizeof(added[0]), by_value);
    const double ratio = (double) added[ROUNDS / 2] / (double) built_in[ROUNDS / 2];
    printf("time per node, planning included: built-in %.0f ns, added %.0f ns, ratio %.3f\n",
           1e3 * (double) built_in[ROUNDS / 2] / N_NODES, 1e3 * (double) added[ROUNDS / 2] / N_NODES, ratio);
    struct ggml_ext_kernel_info info;
    for (size_t i = 0; i < ggml_ext_kernel_count(device); i++) {
        info = (struct ggml_ext_kernel_info){ .size = sizeof(info) };
        CHECK(ggml_ext_kernel_get(device, i, &info) == GGML_STATUS_SUCCESS);
        if (strcmp(info.name, "test.add") == 0) {
            CHECK(info.n_executed == (uint64_t) (ROUNDS + 3) * N_NODES);
        }
    }
    ggml_backend_free(backend);
    ggml_free(ctx);
#ifdef SANITIZED
    SKIP("timing means nothing under a sanitizer");
#else
    CHECK_MSG(ratio < 1.10, "the added kernel takes %.3f times the built-in one", ratio);
#endif
}
