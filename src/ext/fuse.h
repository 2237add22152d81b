/* SPDX-License-Identifier: MIT
 *
 * Fusion: a rule says which nodes it would replace, the runtime decides whether that may be done.
 */
#ifndef GRAFT_EXT_FUSE_H
#define GRAFT_EXT_FUSE_H

#include "ext/plan.h"

/* A group that a rule proposes: nodes by their place in the graph, ascending. */
struct fuse_group {
    const struct ext_kernel * row;
    int                       n;
    int                       pick[GGML_EXT_MAX_FUSED];
};

/* Asks the row's rule about the group that begins at node `first`, and checks what it answers. taken[i]: node i is in another group.
 * placed: the tensors have their memory, planned without knowing of groups. False when there is no such group, or it is
 * refused; *why then is the reason, or NULL when the rule itself did not match. */
bool fuse_try(const struct ext_kernel * row, ggml_backend_dev_t device, const struct ggml_cgraph * graph, int first,
              const bool * taken, bool placed, struct fuse_group * group, const char ** why);

#endif /* GRAFT_EXT_FUSE_H */
