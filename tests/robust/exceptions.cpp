/* SPDX-License-Identifier: MIT
 *
 * Callbacks of C++ programs throw: through the team from the abort callback and from a kernel on the caller's thread, through the log,
 * through the scheduler's evaluation callback. The exception arrives, nothing hangs, and everything is usable afterwards.
 */
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
#include "harness.h"
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wshadow" /* a function named like its structure, as the interface has it */
#endif
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml.h"

namespace {

struct stop : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct chain {
    ggml_context * ctx;
    ggml_tensor *  leaf;
    ggml_tensor *  last;
    ggml_cgraph *  graph;
    int            n;

    explicit chain(int length, void (*custom)(ggml_tensor *, int, int, void *) = nullptr, void * data = nullptr) : n(length) {
        ctx  = ggml_init({ (size_t) 1 << 22, nullptr, false });
        leaf = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 20000);
        ggml_set_f32(leaf, 1.0f);
        last = leaf;
        for (int i = 0; i < length; i++) {
            ggml_tensor * args[] = { last };
            last = custom != nullptr ? ggml_custom_4d(ctx, GGML_TYPE_F32, 20000, 1, 1, 1, args, 1, custom, GGML_N_TASKS_MAX, data) :
                                       ggml_add(ctx, last, leaf);
        }
        graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, last);
    }
    ~chain() { ggml_free(ctx); }
    chain(const chain &)             = delete;
    chain & operator=(const chain &) = delete;

    bool right() const {
        const float * y = (const float *) last->data;
        for (int i = 0; i < 20000; i++) {
            if (y[i] != (float) (n + 1)) {
                return false;
            }
        }
        return true;
    }
};

struct countdown {
    int left;
};

bool throws_at_zero(void * data) {
    if (static_cast<countdown *>(data)->left-- == 0) {
        throw stop("abort callback");
    }
    return false;
}

template <class Fn> bool throws_stop(Fn fn, const char * text) {
    try {
        fn();
    } catch (const stop & e) {
        return std::strcmp(e.what(), text) == 0;
    }
    return false;
}

} // namespace

TEST(abort_callback_throws) {
    alarm(120);
    chain          c(6);
    ggml_backend_t backend = ggml_backend_cpu_init();
    auto           params  = ggml_threadpool_params_default(4);
    auto *         pool    = ggml_threadpool_new(&params);
    for (int round = 0; round < 120; round++) {
        countdown count = { round % 6 };
        ggml_backend_cpu_set_n_threads(backend, 1 + round % 5);
        ggml_backend_cpu_set_threadpool(backend, round % 2 ? pool : nullptr);
        ggml_backend_cpu_set_abort_callback(backend, throws_at_zero, &count);
        CHECK(throws_stop([&] { ggml_backend_graph_compute(backend, c.graph); }, "abort callback"));
        count.left      = round % 6;
        ggml_cplan plan = ggml_graph_plan(c.graph, 1 + round % 4, round % 3 ? pool : nullptr);
        std::vector<char> work(plan.work_size);
        plan.work_data           = (uint8_t *) work.data();
        plan.abort_callback      = throws_at_zero;
        plan.abort_callback_data = &count;
        CHECK(throws_stop([&] { ggml_graph_compute(c.graph, &plan); }, "abort callback"));
        ggml_backend_cpu_set_abort_callback(backend, nullptr, nullptr);
        std::memset(c.last->data, 0xFF, ggml_nbytes(c.last));
        CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
        CHECK(c.right());
    }
    ggml_backend_free(backend);
    ggml_threadpool_free(pool);
    alarm(0);
}

namespace {
struct custom_state {
    int              at;
    std::atomic<int> seen{ 0 };
};
void custom_that_throws(ggml_tensor * dst, int ith, int nth, void * data) {
    auto * state = static_cast<custom_state *>(data);
    if (ith == 0 && state->seen++ == state->at) {
        throw stop("custom operator");
    }
    for (int i = 20000 * ith / nth; i < 20000 * (ith + 1) / nth; i++) {
        ((float *) dst->data)[i] = ((const float *) dst->src[0]->data)[i] + 1.0f;
    }
}
} // namespace

TEST(custom_operator_throws_on_the_calling_thread) {
    alarm(120);
    custom_state   state;
    chain          c(6, custom_that_throws, &state);
    ggml_backend_t backend = ggml_backend_cpu_init();
    for (int round = 0; round < 60; round++) {
        ggml_backend_cpu_set_n_threads(backend, 1 + round % 5);
        state.at   = round % 6;
        state.seen = 0;
        CHECK(throws_stop([&] { ggml_backend_graph_compute(backend, c.graph); }, "custom operator"));
        state.seen = 0;
        CHECK(throws_stop([&] { ggml_graph_compute_with_ctx(c.ctx, c.graph, 1 + round % 4); }, "custom operator"));
        state.at   = -1;
        state.seen = 0;
        CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
        CHECK(c.right());
    }
    ggml_backend_free(backend);
    alarm(0);
}

namespace {
void log_that_throws(ggml_log_level level, const char * text, void *) {
    if (level == GGML_LOG_LEVEL_ERROR) {
        throw stop(std::string(text).empty() ? "" : "log");
    }
}
enum ggml_status prepare_fails(void *, ggml_backend_t, const ggml_tensor * const *, int, void **, ggml_ext_need *) {
    ggml_ext_set_error("no");
    return GGML_STATUS_FAILED;
}
enum ggml_status infer(void *, const void *, const ggml_tensor * const * src, int, ggml_ext_output * out, int) {
    out->type = src[0]->type;
    std::memcpy(out->ne, src[0]->ne, sizeof(out->ne));
    return GGML_STATUS_SUCCESS;
}
bool supports_then_throws(void * data, ggml_backend_dev_t, const ggml_tensor *) {
    if (*static_cast<int *>(data) > 0) {
        throw stop("supports");
    }
    return true;
}
enum ggml_status task(void *, void *, ggml_ext_task *, ggml_tensor * const *, int) {
    return GGML_STATUS_SUCCESS;
}
int supports_throws;
} // namespace

static void register_both() {
    static bool done;
    if (done) {
        return;
    }
    done = true;
    ggml_ext_op_desc op = {};
    op.size             = sizeof(op);
    op.n_src_min = op.n_src_max = op.n_out = 1;
    op.infer                               = infer;
    ggml_ext_kernel_desc kernel            = {};
    kernel.size                            = sizeof(kernel);
    kernel.op                              = GGML_OP_CUSTOM;
    kernel.supports                        = supports_then_throws;
    kernel.user_data                       = &supports_throws;
    kernel.task                            = task;
    auto * dev                             = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    for (const char * name : { "robust.throws.v1", "robust.prepare.v1" }) {
        op.name = kernel.op_name = kernel.name = name;
        kernel.prepare                         = std::strstr(name, "prepare") != nullptr ? prepare_fails : nullptr;
        CHECK(ggml_ext_register_op(&op) == GGML_STATUS_SUCCESS);
        CHECK(ggml_ext_register_kernel(dev, &kernel) == GGML_STATUS_SUCCESS);
    }
}

TEST(log_callback_throws) {
    register_both();
    alarm(60);
    chain          c(0);
    ggml_tensor *  y       = ggml_ext_op_create(c.ctx, "robust.prepare.v1", nullptr, 0, &c.leaf, 1);
    ggml_backend_t backend = ggml_backend_cpu_init();
    REQUIRE(y != nullptr);
    ggml_build_forward_expand(c.graph, y);
    for (int round = 0; round < 20; round++) {
        ggml_log_set(log_that_throws, nullptr);
        CHECK(throws_stop([&] { ggml_backend_graph_compute(backend, c.graph); }, "log"));
        CHECK(throws_stop([&] { ggml_graph_plan(c.graph, 2, nullptr); }, "log"));
        CHECK(throws_stop([&] { ggml_graph_compute_with_ctx(c.ctx, c.graph, 3); }, "log"));
        CHECK(throws_stop([&] { ggml_backend_graph_plan_create(backend, c.graph); }, "log"));
        ggml_log_set(nullptr, nullptr);
        chain other(3);
        CHECK(ggml_backend_graph_compute(backend, other.graph) == GGML_STATUS_SUCCESS);
        CHECK(other.right());
    }
    ggml_backend_free(backend);
    alarm(0);
}

TEST(supports_throws_out_of_planning) {
    register_both();
    alarm(60);
    chain          c(0);
    ggml_tensor *  y       = ggml_ext_op_create(c.ctx, "robust.throws.v1", nullptr, 0, &c.leaf, 1);
    ggml_backend_t backend = ggml_backend_cpu_init();
    REQUIRE(y != nullptr);
    ggml_build_forward_expand(c.graph, y);
    for (int round = 0; round < 5; round++) {
        supports_throws = 1;
        CHECK(throws_stop([&] { ggml_backend_graph_compute(backend, c.graph); }, "supports"));
        CHECK(throws_stop([&] { ggml_backend_supports_op(backend, y); }, "supports"));
        CHECK(throws_stop([&] { ggml_graph_compute_with_ctx(c.ctx, c.graph, 2); }, "supports"));
        supports_throws = 0;
        CHECK(ggml_backend_supports_op(backend, y)); /* not taken for a question inside of a question */
        CHECK(ggml_backend_graph_compute(backend, c.graph) == GGML_STATUS_SUCCESS);
    }
    ggml_backend_free(backend);
    alarm(0);
}

namespace {
bool eval_that_throws(ggml_tensor *, bool ask, void * data) {
    if (!ask && static_cast<countdown *>(data)->left-- == 0) {
        throw stop("evaluation");
    }
    return true;
}
} // namespace

TEST(evaluation_callback_throws) {
    alarm(60);
    ggml_backend_t       backend = ggml_backend_cpu_init();
    ggml_backend_sched_t sched   = ggml_backend_sched_new(&backend, nullptr, 1, 64, false, true);
    for (int round = 0; round < 30; round++) {
        countdown      count = { round % 6 };
        ggml_context * ctx   = ggml_init({ (size_t) 1 << 20, nullptr, true });
        ggml_tensor *  x     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100);
        ggml_tensor *  y     = x;
        ggml_set_input(x);
        for (int i = 0; i < 6; i++) {
            y = ggml_scale(ctx, y, 2.0f);
        }
        ggml_cgraph * graph = ggml_new_graph(ctx);
        ggml_build_forward_expand(graph, y);
        ggml_backend_sched_set_eval_callback(sched, eval_that_throws, &count);
        CHECK(ggml_backend_sched_alloc_graph(sched, graph));
        CHECK(throws_stop([&] { ggml_backend_sched_graph_compute(sched, graph); }, "evaluation"));
        ggml_backend_sched_set_eval_callback(sched, nullptr, nullptr);
        if (round % 2) {
            ggml_backend_sched_reset(sched);
            CHECK(ggml_backend_sched_alloc_graph(sched, graph));
        }
        std::vector<float> ones(100, 1.0f);
        ggml_backend_tensor_set(x, ones.data(), 0, 400);
        CHECK(ggml_backend_sched_graph_compute(sched, graph) == GGML_STATUS_SUCCESS);
        CHECK(((const float *) y->data)[99] == 64.0f);
        ggml_backend_sched_reset(sched);
        ggml_free(ctx);
    }
    ggml_backend_sched_free(sched);
    ggml_backend_free(backend);
    alarm(0);
}
