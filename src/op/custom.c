/* SPDX-License-Identifier: MIT
 *
 * MAP_CUSTOM1, MAP_CUSTOM2, MAP_CUSTOM3, CUSTOM: a function of the application computes the node. The function, the
 * number of tasks and a pointer for it are kept in the parameters. Nodes of registered extension operators are CUSTOM
 * too, with a marker where the function would be, so the check of CUSTOM reads nothing of that.
 */
#include "graft.h"
#include "op/check.h"

/* The parameter structures of the four differ in the type of the function alone. */
#define CHECK_MAP(basename)                                                                             \
    static enum ggml_status check_##basename(const struct ggml_tensor * node) {                         \
        struct ggml_##basename##_op_params params;                                                      \
        OP_TRY(op_check_like_src0(node));                                                               \
        memcpy(&params, node->op_params, sizeof(params));                                               \
        OP_REQUIRE(params.fun != NULL, "there is no function");                                         \
        OP_REQUIRE(params.n_tasks == GGML_N_TASKS_MAX || params.n_tasks > 0,                            \
                   "the number of tasks must be positive or GGML_N_TASKS_MAX, not %d", params.n_tasks); \
        return GGML_STATUS_SUCCESS;                                                                     \
    }
CHECK_MAP(map_custom1)
CHECK_MAP(map_custom2)
CHECK_MAP(map_custom3)

#define MAP_ROW(basename, constant, symbol_text, n_src) \
    const struct op_row op_row_##basename = {           \
        .op        = GGML_OP_##constant,                \
        .name      = #constant,                         \
        .symbol    = symbol_text,                       \
        .n_src_min = n_src,                             \
        .n_src_max = n_src,                             \
        .check     = check_##basename,                  \
    };
MAP_ROW(map_custom1, MAP_CUSTOM1, "map_custom(x)", 1)
MAP_ROW(map_custom2, MAP_CUSTOM2, "map_custom(x,y)", 2)
MAP_ROW(map_custom3, MAP_CUSTOM3, "map_custom(x,y,z)", 3)

const struct op_row op_row_custom = {
    .op           = GGML_OP_CUSTOM,
    .name         = "CUSTOM",
    .symbol       = "custom(x)",
    .n_src_min    = 0,
    .n_src_max    = GGML_MAX_SRC,
    .optional_src = (1u << GGML_MAX_SRC) - 1,
    .check        = op_check_sane,
};

/* The bytes between the fields are zero, so that equal nodes have equal parameters. */
#define SET_PARAMS(draft, basename, function, tasks, pointer)     \
    do {                                                          \
        struct ggml_##basename##_op_params params;                \
        memset(&params, 0, sizeof(params));                       \
        params.fun      = (function);                             \
        params.n_tasks  = (tasks);                                \
        params.userdata = (pointer);                              \
        memcpy((draft)->node.op_params, &params, sizeof(params)); \
    } while (0)

static struct ggml_tensor * build_map1(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                       ggml_custom1_op_t fun, int n_tasks, void * userdata, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_MAP_CUSTOM1, builder);
    op_src(&draft, 0, a);
    op_result_like(&draft, a, inplace);
    SET_PARAMS(&draft, map_custom1, fun, n_tasks, userdata);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_map_custom1(struct ggml_context * ctx, struct ggml_tensor * a, ggml_custom1_op_t fun,
                                      int n_tasks, void * userdata) {
    return build_map1(ctx, __func__, a, fun, n_tasks, userdata, false);
}

struct ggml_tensor * ggml_map_custom1_inplace(struct ggml_context * ctx, struct ggml_tensor * a, ggml_custom1_op_t fun,
                                              int n_tasks, void * userdata) {
    return build_map1(ctx, __func__, a, fun, n_tasks, userdata, true);
}

static struct ggml_tensor * build_map2(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                       struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks, void * userdata,
                                       bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_MAP_CUSTOM2, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_result_like(&draft, a, inplace);
    SET_PARAMS(&draft, map_custom2, fun, n_tasks, userdata);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_map_custom2(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                      ggml_custom2_op_t fun, int n_tasks, void * userdata) {
    return build_map2(ctx, __func__, a, b, fun, n_tasks, userdata, false);
}

struct ggml_tensor * ggml_map_custom2_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              ggml_custom2_op_t fun, int n_tasks, void * userdata) {
    return build_map2(ctx, __func__, a, b, fun, n_tasks, userdata, true);
}

static struct ggml_tensor * build_map3(struct ggml_context * ctx, const char * builder, struct ggml_tensor * a,
                                       struct ggml_tensor * b, struct ggml_tensor * c, ggml_custom3_op_t fun,
                                       int n_tasks, void * userdata, bool inplace) {
    struct op_draft draft = op_begin(ctx, GGML_OP_MAP_CUSTOM3, builder);
    op_src(&draft, 0, a);
    op_src(&draft, 1, b);
    op_src(&draft, 2, c);
    op_result_like(&draft, a, inplace);
    SET_PARAMS(&draft, map_custom3, fun, n_tasks, userdata);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_map_custom3(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                      struct ggml_tensor * c, ggml_custom3_op_t fun, int n_tasks, void * userdata) {
    return build_map3(ctx, __func__, a, b, c, fun, n_tasks, userdata, false);
}

struct ggml_tensor * ggml_map_custom3_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              struct ggml_tensor * c, ggml_custom3_op_t fun, int n_tasks,
                                              void * userdata) {
    return build_map3(ctx, __func__, a, b, c, fun, n_tasks, userdata, true);
}

/* An argument that is NULL stays an empty source, as the function may expect; in checked mode it is a builder's failure
 * that is handed on. */
static void set_args(struct op_draft * draft, int first, struct ggml_tensor ** args, int n_args) {
    for (int i = 0; i < n_args; i++) {
        if (args[i] != NULL || graft_get_checked(draft->ctx)) {
            op_src(draft, first + i, args[i]);
        }
    }
}

struct ggml_tensor * ggml_custom_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                    int64_t ne2, int64_t ne3, struct ggml_tensor ** args, int n_args,
                                    ggml_custom_op_t fun, int n_tasks, void * userdata) {
    if (n_args < 0 || n_args >= GGML_MAX_SRC) {
        return op_builder_failed(ctx, "%s: %d arguments, 0 to %d expected", __func__, n_args, GGML_MAX_SRC - 1);
    }
    struct op_draft draft = op_begin(ctx, GGML_OP_CUSTOM, __func__);
    set_args(&draft, 0, args, n_args);
    op_shape(&draft, type, ne0, ne1, ne2, ne3);
    SET_PARAMS(&draft, custom, fun, n_tasks, userdata);
    return op_commit(&draft);
}

struct ggml_tensor * ggml_custom_inplace(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor ** args,
                                         int n_args, ggml_custom_op_t fun, int n_tasks, void * userdata) {
    if (n_args < 0 || n_args >= GGML_MAX_SRC - 1) {
        return op_builder_failed(ctx, "%s: %d arguments, 0 to %d expected", __func__, n_args, GGML_MAX_SRC - 2);
    }
    struct op_draft draft = op_begin(ctx, GGML_OP_CUSTOM, __func__);
    op_src(&draft, 0, a);
    set_args(&draft, 1, args, n_args);
    op_result_like(&draft, a, true);
    SET_PARAMS(&draft, custom, fun, n_tasks, userdata);
    return op_commit(&draft);
}
