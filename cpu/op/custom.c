/* SPDX-License-Identifier: MIT
 *
 * MAP_CUSTOM1, MAP_CUSTOM2, MAP_CUSTOM3, CUSTOM: functions of the client, called by as many workers as the node asks for.
 * Nodes of registered operators are CUSTOM too, and not for here: their parameters hold no address.
 */
#include "op.h"

/* All four parameter structs are this one but for the function's type. */
static struct ggml_custom_op_params read_params(const struct ggml_tensor * node) {
    struct ggml_custom_op_params p;
    memcpy(&p, node->op_params, sizeof(p));
    return p;
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    if (node->op == GGML_OP_CUSTOM && ggml_ext_op_name(node) != NULL) {
        return false;
    }
    const struct ggml_custom_op_params p = read_params(node);
    return p.fun != NULL && (p.n_tasks == GGML_N_TASKS_MAX || p.n_tasks > 0);
}

OP_PREPARE(prepare) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    const struct ggml_custom_op_params p = read_params(nodes[0]);
    need->max_workers                    = p.n_tasks == GGML_N_TASKS_MAX ? 0 : p.n_tasks;
    return GGML_STATUS_SUCCESS;
}

/* How one of the four operators calls its function. */
typedef void (*caller)(struct ggml_tensor * node, const struct ggml_custom_op_params * p, int ith, int nth);

static void call_map1(struct ggml_tensor * node, const struct ggml_custom_op_params * p, int ith, int nth) {
    ((ggml_custom1_op_t) (void (*)(void)) p->fun)(node, node->src[0], ith, nth, p->userdata);
}

static void call_map2(struct ggml_tensor * node, const struct ggml_custom_op_params * p, int ith, int nth) {
    ((ggml_custom2_op_t) (void (*)(void)) p->fun)(node, node->src[0], node->src[1], ith, nth, p->userdata);
}

static void call_map3(struct ggml_tensor * node, const struct ggml_custom_op_params * p, int ith, int nth) {
    ((ggml_custom3_op_t) (void (*)(void)) p->fun)(node, node->src[0], node->src[1], node->src[2], ith, nth, p->userdata);
}

static void call_custom(struct ggml_tensor * node, const struct ggml_custom_op_params * p, int ith, int nth) {
    p->fun(node, ith, nth, p->userdata);
}

OP_TASK(run) {
    (void) plan, (void) n;
    const struct ggml_custom_op_params p   = read_params(nodes[0]);
    const int                          nth = p.n_tasks == GGML_N_TASKS_MAX ? task->nth : MIN(p.n_tasks, task->nth);
    if (task->ith < nth) {
        (*(const caller *) user_data)(nodes[0], &p, task->ith, nth);
    }
    return GGML_STATUS_SUCCESS;
}

static const caller map1_caller = call_map1, map2_caller = call_map2, map3_caller = call_map3, custom_caller = call_custom;

#define CUSTOM(basename, constant, call)                                                                           \
    CPU_OP(basename, constant, .user_data = (void *) &call, .supports = supports, .prepare = prepare, .task = run)

CUSTOM(map_custom1, MAP_CUSTOM1, map1_caller);
CUSTOM(map_custom2, MAP_CUSTOM2, map2_caller);
CUSTOM(map_custom3, MAP_CUSTOM3, map3_caller);
CUSTOM(custom, CUSTOM, custom_caller);
