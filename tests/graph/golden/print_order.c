/* SPDX-License-Identifier: MIT
 *
 * Prints order.inc: the digests of random graphs as the library that this program is linked with builds them. Made once
 * with ggml 0.25.3: cc -I include -I include/module -I tests/graph tests/graph/golden/print_order.c -lggml-base
 */
#include <inttypes.h>
#include <stdio.h>

#include "random_graph.h"

#define N_GRAPHS 512

int main(void) {
    printf("/* SPDX-License-Identifier: MIT\n *\n * Written by print_order.c with ggml 0.25.3: graph i has seed i.\n */\n");
    for (uint64_t seed = 0; seed < N_GRAPHS; seed++) {
        printf("0x%016" PRIX64 ",%s", random_graph_digest(seed, RANDOM_MAX_TENSORS), seed % 6 == 5 ? "\n" : " ");
    }
    printf("\n");
    return 0;
}
