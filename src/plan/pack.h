/* SPDX-License-Identifier: MIT
 *
 * Packing: offsets for blocks of memory of which each lives for an interval of time, so that no two that live at once
 * overlap and the extent is small. Knows nothing of tensors.
 */
#ifndef GRAFT_PLAN_PACK_H
#define GRAFT_PLAN_PACK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/array.h"

#define PACK_BEFORE (-1)       /* time before the first node */
#define PACK_FOREVER INT32_MAX /* never released */

struct pack_block {
    size_t  size; /* a multiple of the memory's alignment */
    size_t  offset;
    int32_t start, end; /* alive at times start .. end */
    int32_t pool;       /* which memory it is for */
    int32_t chunk;      /* of the pool */
};

/* Extents of the chunks of one memory. */
struct pack_layout {
    size_t * sizes;
    size_t   n;
    size_t   capacity;
    size_t   total;
};

struct pack_range {
    size_t  offset, size;
    int32_t block;
};

/* One chunk while it is filled: free ranges when going by time, placed blocks when going by size, by offset. */
struct pack_chunk {
    PLAN_ARRAY(struct pack_range) ranges;
    size_t extent; /* end of the last byte ever used */
    size_t limit;  /* the extent may grow to here */
};

/* Memory of the packer, used again. */
struct pack_scratch {
    PLAN_ARRAY(struct pack_chunk) chunks;
    PLAN_ARRAY(int32_t) members;         /* blocks of the pool, in the order of placement */
    PLAN_ARRAY(int32_t) releases;        /* the same by their end */
    PLAN_ARRAY(struct pack_block) first; /* the result of the first way, while the second is tried */
};

/* Places the blocks of one pool. A chunk does not grow beyond max_chunk bytes unless one block is larger than that.
 * False, with a text, when memory runs out or sizes overflow. */
bool pack_pool(struct pack_scratch * scratch, struct pack_block * blocks, size_t n_blocks, int32_t pool,
               size_t max_chunk, struct pack_layout * layout);

void pack_scratch_free(struct pack_scratch * scratch);

#endif /* GRAFT_PLAN_PACK_H */
