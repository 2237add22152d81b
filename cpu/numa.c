/* SPDX-License-Identifier: MIT
 *
 * NUMA strategies. The number of nodes is the system's; the kernel's default placement (first touch by the thread that
 * reads) is what the strategies other than DISABLED ask for.
 */
#include <stdio.h>

#include "ggml-cpu.h"
#include "ggml-impl.h"

static int count_nodes(void) {
    char path[64];
    int  n = 0;
    for (;; n++) {
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", n);
        FILE * file = ggml_fopen(path, "r");
        if (file == NULL) {
            return n;
        }
        fclose(file);
    }
}

static int n_nodes;

void ggml_numa_init(enum ggml_numa_strategy numa) {
    if (n_nodes > 0) {
        return; /* as with ggml, the first call decides */
    }
    n_nodes = count_nodes();
    if (numa == GGML_NUMA_STRATEGY_MIRROR) {
        GGML_LOG_WARN("NUMA: copies of the weights by node are not made; memory is placed by first touch\n");
    }
}

bool ggml_is_numa(void) {
    return n_nodes > 1;
}
