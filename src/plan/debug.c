/* SPDX-License-Identifier: MIT
 *
 * GGML_SCHED_DEBUG: 1 logs the splits of each graph with what is copied for them, 2 every node as well.
 */
#include <stdio.h>

#include "plan/sched.h"

static const char * cause_text(enum sched_cause cause) {
    static const char * const texts[] = {
        [SCHED_CAUSE_NONE] = "-",         [SCHED_CAUSE_CLIENT] = "client",   [SCHED_CAUSE_MEMORY] = "memory",
        [SCHED_CAUSE_INPUT] = "input",    [SCHED_CAUSE_OFFLOAD] = "offload", [SCHED_CAUSE_WEIGHT] = "weight",
        [SCHED_CAUSE_NEIGHBOUR] = "next", [SCHED_CAUSE_SOURCES] = "sources", [SCHED_CAUSE_UPGRADE] = "upgrade",
        [SCHED_CAUSE_VIEW] = "view",      [SCHED_CAUSE_USER] = "reader",     [SCHED_CAUSE_FIRST] = "first",
    };
    return texts[cause];
}

/* "12K": bytes in a short form; the text is good until the next but three call on this thread. */
static const char * size_text(size_t bytes) {
    static const char         units[] = "BKMGT";
    static _Thread_local char texts[4][24];
    static _Thread_local int  turn;
    char *                    text = texts[turn++ & 3];
    int                       unit = 0;
    while (bytes >= 10240 && units[unit + 1] != 0) {
        bytes >>= 10;
        unit++;
    }
    snprintf(text, sizeof(texts[0]), "%zu%c", bytes, units[unit]);
    return text;
}

static void print_split(const struct ggml_backend_sched * sched, size_t s) {
    const struct sched_split * split = &sched->splits.items[s];
    GGML_LOG_DEBUG("## split %zu: %s, nodes %d to %d%s, %zu inputs", s,
                   ggml_backend_name(sched->backends[split->backend].backend), split->i_start, split->i_end - 1,
                   split->planned ? " by plan" : "", split->inputs.n);
    for (size_t i = 0; i < split->inputs.n; i++) {
        const struct ggml_tensor * input = split->inputs.items[i].tensor;
        GGML_LOG_CONT("%s %s (%s)", i == 0 ? ":" : ",", input->name, size_text(ggml_nbytes(input)));
    }
    GGML_LOG_CONT("\n");
}

static void print_tensor(struct ggml_backend_sched * sched, const struct ggml_tensor * tensor) {
    const int32_t               number = plan_map_find(&sched->numbers.map, tensor);
    const struct sched_tensor * known  = number >= 0 ? &sched->tensors.items[number] : NULL;
    const int32_t               home   = known != NULL ? known->backend : -1;
    GGML_LOG_CONT(" %s (%s) [%s %s]", tensor->name, size_text(ggml_nbytes(tensor)),
                  home >= 0 ? ggml_backend_name(sched->backends[home].backend) : "copy",
                  cause_text(known != NULL ? known->cause : SCHED_CAUSE_NONE));
}

static void print_node(struct ggml_backend_sched * sched, const struct ggml_tensor * node, int i) {
    GGML_LOG_DEBUG("node %3d %s%s:", i, ggml_op_desc(node),
                   (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 ? "" : " (idle)");
    print_tensor(sched, node);
    GGML_LOG_CONT(" <-");
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        if (node->src[k] != NULL) {
            print_tensor(sched, node->src[k]);
        }
    }
    GGML_LOG_CONT("\n");
}

void sched_print(struct ggml_backend_sched * sched, struct ggml_cgraph * graph) {
    for (size_t s = 0; s < sched->splits.n; s++) {
        print_split(sched, s);
        for (int i = sched->splits.items[s].i_start; sched->debug > 1 && i < sched->splits.items[s].i_end; i++) {
            if (!ggml_op_is_empty(graph->nodes[i]->op)) {
                print_node(sched, graph->nodes[i], i);
            }
        }
    }
}
