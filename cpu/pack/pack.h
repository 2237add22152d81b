/* SPDX-License-Identifier: MIT
 *
 * Packed weights: the buffer type CPU_REPACK. The layout is known to the buffer type alone; nothing is cached by
 * address.
 */
#ifndef GRAFT_CPU_PACK_PACK_H
#define GRAFT_CPU_PACK_PACK_H

#include <stdbool.h>

#include "ggml-backend.h"

ggml_backend_buffer_type_t cpu_pack_buffer_type(void);

/* Does this tensor, or the one it is a view of, lie in a buffer of packed weights? */
bool cpu_pack_holds(const struct ggml_tensor * t);

/* Is a tensor of this type and shape packed there? Others lie there as they are, and no kernel takes them. */
bool cpu_pack_packs(const struct ggml_tensor * t);

#endif /* GRAFT_CPU_PACK_PACK_H */
