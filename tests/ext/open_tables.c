/* SPDX-License-Identifier: MIT
 *
 * The tables are open: an operator and a kernel that this program registers run directly, through the scheduler, and in
 * the team; they override a built-in kernel; what is wrong is refused with a text.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "harness.h"

/* ---- test.axpy.v1: y = alpha * a + b, F32, workspace and worker memory touched as a kernel would ---- */

struct axpy_attrs {
    float alpha;
};

static enum ggml_status axpy_infer(void * ud, const void * attrs, const struct ggml_tensor * const * src, int n_src,
                                   struct ggml_ext_output * out, int n_out) {
    (void) ud;
    (void) attrs;
    (void) n_src;
    (void) n_out;
    if (!ggml_are_same_shape(src[0], src[1])) {
        ggml_ext_set_error("test.axpy.v1: a and b differ in shape: [%lld, ...] and [%lld, ...]", (long long) src[0]->ne[0],
                           (long long) src[1]->ne[0]);
        return GGML_STATUS_FAILED;
    }
    out[0].type = GGML_TYPE_F32;
    memcpy(out[0].ne, src[0]->ne, sizeof(out[0].ne));
    return GGML_STATUS_SUCCESS;
}

static atomic_int n_prepared, n_destroyed, n_tasks, bad_memory;

static bool axpy_supports(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) ud;
    (void) device;
    return node->src[0]->type == GGML_TYPE_F32 && ggml_is_contiguous(node->src[0]) && ggml_is_contiguous(node->src[1]);
}

static enum ggml_status axpy_prepare(void * ud, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                     void ** plan, struct ggml_ext_need * need) {
    (void) ud;
    (void) nodes;
    (void) n;
    CHECK(backend != NULL);
    atomic_fetch_add(&n_prepared, 1);
    *plan                = malloc(16);
    need->workspace_size = 4096;
    need->worker_size    = 100;
    return GGML_STATUS_SUCCESS;
}

static void axpy_destroy(void * ud, void * plan) {
    (void) ud;
    atomic_fetch_add(&n_destroyed, 1);
    free(plan);
}

static enum ggml_status axpy_task(void * ud, void * plan, struct ggml_ext_task * task, struct ggml_tensor * const * nodes,
                                  int n) {
    (void) ud;
    (void) n;
    struct ggml_tensor * dst = nodes[0];
    struct axpy_attrs    attrs;
    size_t               size;
    memcpy(&attrs, ggml_ext_op_attrs(dst, &size), sizeof(attrs));
    if (plan == NULL || task->workspace == NULL || ((uintptr_t) task->workspace & 63) != 0 || task->worker_memory == NULL ||
        ((uintptr_t) task->worker_memory & 63) != 0 || task->workspace_size < 4096 || task->worker_size < 100) {
        atomic_fetch_add(&bad_memory, 1);
        return GGML_STATUS_FAILED;
    }
    memset(task->worker_memory, task->ith, 100);
    if (task->ith == 0) {
        memset(task->workspace, 7, 4096); /* seen by all after the barrier */
    }
    task->barrier(task);
    const int64_t rows = ggml_nrows(dst);
    for (int64_t r = task->next(task, rows); r >= 0; r = task->next(task, rows)) {
        const float * a = (const float *) dst->src[0]->data + r * dst->ne[0];
        const float * b = (const float *) dst->src[1]->data + r * dst->ne[0];
        float *       y = (float *) dst->data + r * dst->ne[0];
        for (int64_t i = 0; i < dst->ne[0]; i++) {
            y[i] = attrs.alpha * a[i] + b[i];
        }
    }
    if (((const char *) task->workspace)[task->ith] != 7 || ((const char *) task->worker_memory)[99] != (char) task->ith) {
        atomic_fetch_add(&bad_memory, 1);
    }
    atomic_fetch_add(&n_tasks, 1);
    return GGML_STATUS_SUCCESS;
}

static ggml_backend_dev_t cpu(void) {
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

static void register_axpy(void) {
    static bool done;
    if (done) {
        return;
    }
    done                               = true;
    const struct ggml_ext_op_desc op   = { .size      = sizeof(op),
                                           .name      = "test.axpy.v1",
                                           .attr_size = sizeof(struct axpy_attrs),
                                           .n_src_min = 2,
                                           .n_src_max = 2,
                                           .n_out     = 1,
                                           .infer     = axpy_infer,
                                           .doc       = "alpha * a + b" };
    const struct ggml_ext_kernel_desc kernel = { .size     = sizeof(kernel),
                                                 .name     = "test.axpy",
                                                 .op       = GGML_OP_CUSTOM,
                                                 .op_name  = "test.axpy.v1",
                                                 .supports = axpy_supports,
                                                 .prepare  = axpy_prepare,
                                                 .task     = axpy_task,
                                                 .destroy  = axpy_destroy };
    CHECK(ggml_ext_register_op(&op) == GGML_STATUS_SUCCESS);
    CHECK_MSG(ggml_ext_register_kernel(cpu(), &kernel) == GGML_STATUS_SUCCESS, "%s", ggml_ext_last_error());
    CHECK(ggml_ext_register_op(&op) != GGML_STATUS_SUCCESS);
    CHECK(strstr(ggml_ext_last_error(), "test.axpy.v1") != NULL);
    CHECK(ggml_ext_register_kernel(cpu(), &kernel) != GGML_STATUS_SUCCESS);
}

/* c = axpy(axpy(a, b) + b, b): built-in and added nodes mixed. */
static struct ggml_tensor * build(struct ggml_context * ctx, struct ggml_tensor ** a, struct ggml_tensor ** b) {
    const struct axpy_attrs half = { 0.5f }, two = { 2.0f };
    *a                           = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 65, 33);
    *b                           = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 65, 33);
    struct ggml_tensor * first[] = { *a, *b };
    struct ggml_tensor * x       = ggml_ext_op_create(ctx, "test.axpy.v1", &half, sizeof(half), first, 2);
    struct ggml_tensor * sum     = ggml_add(ctx, x, *b);
    struct ggml_tensor * next[]  = { sum, *b };
    return ggml_ext_op_create(ctx, "test.axpy.v1", &two, sizeof(two), next, 2);
}

static void fill(float * a, float * b, int n) {
    for (int i = 0; i < n; i++) {
        a[i] = (float) (i % 17) - 8.0f;
        b[i] = (float) (i % 5) * 0.25f;
    }
}

static void check_result(const float * a, const float * b, const float * y, int n) {
    for (int i = 0; i < n; i++) {
        const float expected = 2.0f * (0.5f * a[i] + b[i] + b[i]) + b[i];
        if (y[i] != expected) {
            CHECK_MSG(false, "value %d is %f, expected %f", i, (double) y[i], (double) expected);
            return;
        }
    }
}

#define N (65 * 33)

TEST(direct) {
    register_axpy();
    const struct ggml_init_params params = { 1 << 20, NULL, false };
    for (int threads = 1; threads <= 8; threads++) {
        struct ggml_context * ctx = ggml_init(params);
        struct ggml_tensor *  a, *b;
        struct ggml_tensor *  c = build(ctx, &a, &b);
        REQUIRE(c != NULL);
        fill(a->data, b->data, N);
        struct ggml_cgraph * graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, c);
        ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
        ggml_backend_cpu_set_n_threads(backend, threads);
        for (int round = 0; round < 20; round++) {
            memset(c->data, 0xFF, ggml_nbytes(c));
            CHECK_MSG(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS, "%s", ggml_ext_last_error());
            check_result(a->data, b->data, c->data, N);
        }
        memset(c->data, 0xFF, ggml_nbytes(c));
        CHECK(ggml_graph_compute_with_ctx(ctx, graph, threads) == GGML_STATUS_SUCCESS);
        check_result(a->data, b->data, c->data, N);
        ggml_backend_free(backend);
        ggml_free(ctx);
    }
    CHECK(atomic_load(&bad_memory) == 0);
    CHECK(atomic_load(&n_prepared) == atomic_load(&n_destroyed));
    CHECK(atomic_load(&n_prepared) > 0);
}

TEST(through_the_scheduler) {
    register_axpy();
    const struct ggml_init_params params = { ggml_tensor_overhead() * 64 + ggml_graph_overhead(), NULL, true };
    struct ggml_context *         ctx    = ggml_init(params);
    struct ggml_tensor *          a, *b;
    struct ggml_tensor *          c = build(ctx, &a, &b);
    REQUIRE(c != NULL);
    ggml_set_input(a);
    ggml_set_input(b);
    ggml_set_output(c);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, c);
    ggml_backend_t       backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    ggml_backend_sched_t sched   = ggml_backend_sched_new(&backend, NULL, 1, 16, false, false);
    REQUIRE(ggml_backend_sched_reserve(sched, graph));
    const size_t reserved = ggml_backend_sched_get_buffer_size(sched, backend);
    for (int threads = 1; threads <= 3; threads++) {
        ggml_backend_cpu_set_n_threads(backend, threads);
        ggml_backend_sched_reset(sched);
        REQUIRE(ggml_backend_sched_alloc_graph(sched, graph));
        float * va = malloc(sizeof(float) * N * 3);
        fill(va, va + N, N);
        for (int round = 0; round < 3; round++) {
            ggml_backend_tensor_set(a, va, 0, sizeof(float) * N); /* every time: memory of inputs is used again */
            ggml_backend_tensor_set(b, va + N, 0, sizeof(float) * N);
            CHECK(ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS);
            ggml_backend_tensor_get(c, va + 2 * N, 0, sizeof(float) * N);
            check_result(va, va + N, va + 2 * N, N);
        }
        free(va);
    }
    CHECK(ggml_backend_sched_get_buffer_size(sched, backend) == reserved);
    CHECK(reserved >= 4096 + 3 * sizeof(float) * N); /* both inputs, a result, and the workspace beside them */
    ggml_backend_sched_free(sched);
    ggml_backend_free(backend);
    ggml_free(ctx);
    CHECK(atomic_load(&bad_memory) == 0);
    CHECK(atomic_load(&n_prepared) == atomic_load(&n_destroyed));
}

/* ---- overriding a built-in kernel ---- */

static bool want_override = true;

static bool negate_supports(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) ud;
    /* a query about the same node from inside answers no, and does not recurse */
    CHECK(!ggml_backend_dev_supports_op(device, node));
    return node->src[0]->type == GGML_TYPE_F32 && ggml_is_contiguous(node->src[0]) && node->ne[0] == 77;
}

static bool negate_preferred(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * node) {
    (void) ud;
    (void) device;
    (void) node;
    return want_override;
}

static atomic_int overridden;

static enum ggml_status negate_task(void * ud, void * plan, struct ggml_ext_task * task, struct ggml_tensor * const * nodes,
                                    int n) {
    (void) ud;
    (void) plan;
    (void) n;
    if (task->ith == 0) {
        atomic_fetch_add(&overridden, 1);
        for (int64_t i = 0; i < ggml_nelements(nodes[0]); i++) {
            ((float *) nodes[0]->data)[i] = ((float *) nodes[0]->src[0]->data)[i] * ((float *) nodes[0]->src[0]->data)[i];
        }
    }
    return GGML_STATUS_SUCCESS;
}

TEST(override_and_policy) {
    const struct ggml_ext_kernel_desc kernel = { .size      = sizeof(kernel),
                                                 .name      = "test.sqr",
                                                 .op        = GGML_OP_SQR,
                                                 .priority  = 10,
                                                 .supports  = negate_supports,
                                                 .preferred = negate_preferred,
                                                 .task      = negate_task };
    REQUIRE(ggml_ext_register_kernel(cpu(), &kernel) == GGML_STATUS_SUCCESS);
    const struct ggml_init_params params = { 1 << 20, NULL, false };
    struct ggml_context *         ctx    = ggml_init(params);
    struct ggml_tensor *          a      = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 77);
    for (int i = 0; i < 77; i++) {
        ((float *) a->data)[i] = (float) i;
    }
    struct ggml_tensor * c     = ggml_sqr(ctx, a);
    struct ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, c);
    const struct {
        bool                 preferred;
        enum ggml_ext_policy policy;
        int                  runs;
    } cases[] = { { true, GGML_EXT_POLICY_AUTO, 1 },
                  { false, GGML_EXT_POLICY_AUTO, 0 },
                  { false, GGML_EXT_POLICY_FORCE, 1 },
                  { true, GGML_EXT_POLICY_OFF, 0 } };
    ggml_backend_t backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        want_override = cases[i].preferred;
        atomic_store(&overridden, 0);
        CHECK(ggml_ext_set_policy(cpu(), "test.sqr", cases[i].policy) == GGML_STATUS_SUCCESS);
        CHECK(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS);
        CHECK_MSG(atomic_load(&overridden) == cases[i].runs, "case %zu: ran %d times", i, atomic_load(&overridden));
        for (int j = 0; j < 77; j++) {
            CHECK(((float *) c->data)[j] == (float) (j * j));
        }
    }
    ggml_backend_free(backend);
    ggml_free(ctx);
}

/* ---- what is wrong is refused ---- */

static enum ggml_status infer_lies(void * ud, const void * attrs, const struct ggml_tensor * const * src, int n_src,
                                   struct ggml_ext_output * out, int n_out) {
    (void) attrs;
    (void) src;
    (void) n_src;
    (void) n_out;
    switch ((int) (intptr_t) ud) {
        case 0: out->type = (enum ggml_type) 999; break;
        case 1: out->ne[0] = -1; break;
        case 2: out->ne[0] = INT64_MAX; out->ne[1] = 8; break;
        case 3: out->type = GGML_TYPE_Q4_0; out->ne[0] = 31; break;
        case 4: out->updates = 5; break;
        case 5: out->updates = 0; out->ne[0] = 3; break;
        default: return GGML_STATUS_FAILED;
    }
    return GGML_STATUS_SUCCESS;
}

TEST(inference_that_lies) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){ 1 << 16, NULL, true });
    struct ggml_tensor *  a   = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    for (int i = 0; i < 7; i++) {
        char name[40];
        snprintf(name, sizeof(name), "test.lie%d.v1", i);
        const struct ggml_ext_op_desc op = { .size      = sizeof(op),
                                             .name      = name,
                                             .n_src_min = 1,
                                             .n_src_max = 1,
                                             .n_out     = 1,
                                             .infer     = infer_lies,
                                             .user_data = (void *) (intptr_t) i };
        CHECK(ggml_ext_register_op(&op) == GGML_STATUS_SUCCESS);
        CHECK(ggml_ext_op_create(ctx, name, NULL, 0, &a, 1) == NULL);
        CHECK_MSG(strstr(ggml_ext_last_error(), name) != NULL, "case %d: '%s'", i, ggml_ext_last_error());
    }
    ggml_free(ctx);
}

TEST(creation_is_checked) {
    register_axpy();
    struct ggml_context *   ctx  = ggml_init((struct ggml_init_params){ ggml_tensor_overhead() * 3, NULL, true });
    struct ggml_tensor *    a    = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_tensor *    b    = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 5);
    const struct axpy_attrs one  = { 1.0f };
    struct ggml_tensor *    ab[] = { a, b }, *aa[] = { a, a }, *an[] = { a, NULL };
    CHECK(ggml_ext_op_create(ctx, "test.none.v1", &one, sizeof(one), aa, 2) == NULL);
    CHECK(ggml_ext_op_create(ctx, "test.axpy.v1", &one, 3, aa, 2) == NULL);
    CHECK(ggml_ext_op_create(ctx, "test.axpy.v1", NULL, sizeof(one), aa, 2) == NULL);
    CHECK(ggml_ext_op_create(ctx, "test.axpy.v1", &one, sizeof(one), aa, 1) == NULL);
    CHECK(ggml_ext_op_create(ctx, "test.axpy.v1", &one, sizeof(one), an, 2) == NULL);
    CHECK(ggml_ext_op_create(ctx, "test.axpy.v1", &one, sizeof(one), ab, 2) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "differ in shape") != NULL);
    struct ggml_tensor * ok = ggml_ext_op_create(ctx, "test.axpy.v1", &one, sizeof(one), aa, 2);
    CHECK(ok != NULL && ggml_ext_last_error()[0] == 0);
    CHECK(ggml_ext_op_create(ctx, "test.axpy.v1", &one, sizeof(one), aa, 2) == NULL); /* the arena is full */
    CHECK(ggml_ext_last_error()[0] != 0);
    size_t size = 0;
    CHECK(strcmp(ggml_ext_op_name(ok), "test.axpy.v1") == 0 && ggml_ext_op_n_outputs(ok) == 1);
    CHECK(ggml_ext_op_attrs(ok, &size) != NULL && size == sizeof(one));
    CHECK(ggml_ext_op_name(a) == NULL && ggml_ext_op_attrs(a, &size) == NULL && size == 0);
    struct ggml_tensor forged = *ok; /* a marker with a made-up id */
    forged.op_params[4]       = 0x7FFFFFFF;
    CHECK(ggml_ext_op_name(&forged) == NULL);
    forged              = *ok;
    forged.op_params[0] ^= 0x40;
    CHECK(ggml_ext_op_name(&forged) == NULL);
    ggml_free(ctx);
}

static int no_match(void * ud, ggml_backend_dev_t device, const struct ggml_tensor * const * nodes, int n_nodes, int first,
                    int * pick) {
    (void) ud;
    (void) device;
    (void) nodes;
    (void) n_nodes;
    (void) first;
    (void) pick;
    return 0;
}

TEST(registration_is_checked) {
    register_axpy();
    struct ggml_ext_kernel_desc k = { .size = sizeof(k), .name = "test.bad", .op = GGML_OP_SQR, .supports = axpy_supports, .task = axpy_task };
    struct ggml_ext_kernel_desc bad;
#define REFUSED(change, word)                                                              \
    bad = k;                                                                               \
    change;                                                                                \
    CHECK(ggml_ext_register_kernel(cpu(), &bad) != GGML_STATUS_SUCCESS);                   \
    CHECK_MSG(strstr(ggml_ext_last_error(), word) != NULL, "'%s'", ggml_ext_last_error());
    REFUSED(bad.size = 8, "size")
    REFUSED(bad.name = "no blanks", "name")
    REFUSED(bad.name = NULL, "name")
    REFUSED(bad.op = GGML_OP_COUNT, "operator")
    REFUSED(bad.op = (enum ggml_op) - 1, "operator")
    REFUSED(bad.op = GGML_OP_CUSTOM, "registered")
    REFUSED(bad.op_name = "test.axpy.v1", "GGML_OP_CUSTOM")
    REFUSED(bad.supports = NULL, "supports")
    REFUSED(bad.task = NULL, "exactly one")
    REFUSED(bad.match = no_match, "fusions")
    CHECK(ggml_ext_register_kernel(NULL, &k) != GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_register_kernel(cpu(), NULL) != GGML_STATUS_SUCCESS);
    struct {
        struct ggml_ext_kernel_desc desc;
        char                        newer[16];
    } longer = { .desc = k };
    longer.desc.size = sizeof(longer);
    longer.newer[3]  = 1;
    CHECK(ggml_ext_register_kernel(cpu(), &longer.desc) != GGML_STATUS_SUCCESS);
    CHECK(strstr(ggml_ext_last_error(), "newer") != NULL);
    struct ggml_ext_op_desc op = { .size = sizeof(op), .name = "test.unversioned", .n_out = 1, .infer = axpy_infer };
    CHECK(ggml_ext_register_op(&op) != GGML_STATUS_SUCCESS);
    op.name      = "test.attrs.v1";
    op.attr_size = 41;
    CHECK(ggml_ext_register_op(&op) != GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_register_op(NULL) != GGML_STATUS_SUCCESS);
}
