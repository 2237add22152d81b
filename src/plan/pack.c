/* SPDX-License-Identifier: MIT
 *
 * Two ways to place the blocks, of which the better one counts.
 *
 * By time: blocks in the order of their start; what has ended is given back to a list of free ranges, and a block goes
 * where it makes the extent grow least, among those where it fits best. Cheap, and often exact: the sum of what is
 * alive at the worst moment is a lower bound, and when the extent equals it there is nothing to gain.
 *
 * By size: the largest blocks first, each into the tightest gap between those that live at the same time (the greedy
 * algorithm of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020). Quadratic, so it
 * is left out for very large graphs.
 */
#include "plan/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"

enum { MAX_BY_SIZE = 8192 }; /* blocks: a few tens of milliseconds */

void pack_scratch_free(struct pack_scratch * scratch) {
    for (size_t i = 0; i < scratch->chunks.capacity; i++) {
        free(scratch->chunks.items[i].ranges.items);
    }
    free(scratch->chunks.items);
    free(scratch->members.items);
    free(scratch->releases.items);
    free(scratch->first.items);
    memset(scratch, 0, sizeof(*scratch));
}

/* ---- orders ---- */

/* Shell sort: no memory, no recursion, and the comparison may look at the blocks. Ties go by index, so that the order,
 * and with it the plan, is the same everywhere. */
static void sort(int32_t * order, size_t n, const struct pack_block * blocks,
                 int64_t (*before)(const struct pack_block * a, const struct pack_block * b)) {
    size_t gap = 1;
    while (gap < n / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < n; i++) {
            const int32_t moving = order[i];
            size_t        j      = i;
            for (; j >= gap; j -= gap) {
                const int32_t other = order[j - gap];
                const int64_t diff  = before(&blocks[moving], &blocks[other]);
                if (diff > 0 || (diff == 0 && moving > other)) {
                    break;
                }
                order[j] = other;
            }
            order[j] = moving;
        }
    }
}

static int64_t starts_before(const struct pack_block * a, const struct pack_block * b) {
    return (int64_t) a->start - b->start;
}

static int64_t ends_before(const struct pack_block * a, const struct pack_block * b) {
    return (int64_t) a->end - b->end;
}

static int64_t is_larger(const struct pack_block * a, const struct pack_block * b) {
    if (a->size != b->size) {
        return a->size > b->size ? -1 : 1;
    }
    const int64_t span_a = (int64_t) a->end - a->start;
    const int64_t span_b = (int64_t) b->end - b->start;
    return span_b - span_a;
}

/* ---- chunks ---- */

static struct pack_chunk * add_chunk(struct pack_scratch * scratch, size_t min_size, size_t max_chunk) {
    if (!PLAN_ARRAY_ROOM(scratch->chunks)) {
        return NULL;
    }
    struct pack_chunk * chunk = &scratch->chunks.items[scratch->chunks.n++];
    chunk->ranges.n           = 0;
    chunk->extent             = 0;
    chunk->limit              = min_size > max_chunk ? min_size : max_chunk;
    return chunk;
}

static void range_remove(struct pack_chunk * chunk, size_t i) {
    memmove(&chunk->ranges.items[i], &chunk->ranges.items[i + 1],
            (chunk->ranges.n - i - 1) * sizeof(struct pack_range));
    chunk->ranges.n--;
}

static bool range_insert(struct pack_chunk * chunk, size_t i, struct pack_range range) {
    if (!PLAN_ARRAY_ROOM(chunk->ranges)) {
        return false;
    }
    memmove(&chunk->ranges.items[i + 1], &chunk->ranges.items[i], (chunk->ranges.n - i) * sizeof(struct pack_range));
    chunk->ranges.items[i] = range;
    chunk->ranges.n++;
    return true;
}

/* A place that a block could take: how much larger the chunk would get, and what would be left of the gap. */
struct place {
    struct pack_chunk * chunk;
    size_t              range; /* where in the chunk's list */
    size_t              offset;
    size_t              growth, rest;
};

static void consider(struct place * best, struct place candidate) {
    if (best->chunk == NULL || candidate.growth < best->growth ||
        (candidate.growth == best->growth && candidate.rest < best->rest)) {
        *best = candidate;
    }
}

/* The gap [offset, offset + available), of which the last one of a chunk reaches to its limit. */
static void consider_gap(struct place * best, struct pack_chunk * chunk, size_t range, size_t offset, size_t available,
                         size_t size) {
    if (available < size) {
        return;
    }
    const size_t end    = offset + size;
    const size_t inside = offset + available < chunk->extent ? offset + available : chunk->extent;
    consider(best, (struct place){
                       .chunk  = chunk,
                       .range  = range,
                       .offset = offset,
                       .growth = end > chunk->extent ? end - chunk->extent : 0,
                       .rest   = end < inside ? inside - end : 0,
                   });
}

/* ---- by time ---- */

/* Gives [offset, offset + size) back, joined with its neighbours. */
static bool release(struct pack_chunk * chunk, size_t offset, size_t size) {
    size_t low = 0, high = chunk->ranges.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (chunk->ranges.items[middle].offset < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct pack_range * next = low < chunk->ranges.n ? &chunk->ranges.items[low] : NULL;
    struct pack_range * prev = low > 0 ? &chunk->ranges.items[low - 1] : NULL;
    if (prev != NULL && prev->offset + prev->size == offset) {
        prev->size += size;
        if (next != NULL && offset + size == next->offset) {
            prev->size += next->size;
            range_remove(chunk, low);
        }
        return true;
    }
    if (next != NULL && offset + size == next->offset) {
        next->offset = offset;
        next->size += size;
        return true;
    }
    return range_insert(chunk, low, (struct pack_range){.offset = offset, .size = size, .block = -1});
}

static bool take_by_time(struct pack_scratch * scratch, struct pack_block * block, size_t max_chunk) {
    struct place best = {.chunk = NULL};
    for (size_t c = 0; c < scratch->chunks.n; c++) {
        struct pack_chunk * chunk = &scratch->chunks.items[c];
        for (size_t i = 0; i < chunk->ranges.n; i++) {
            consider_gap(&best, chunk, i, chunk->ranges.items[i].offset, chunk->ranges.items[i].size, block->size);
        }
    }
    if (best.chunk == NULL) {
        best.chunk = add_chunk(scratch, block->size, max_chunk);
        if (best.chunk == NULL ||
            !range_insert(best.chunk, 0, (struct pack_range){.size = best.chunk->limit, .block = -1})) {
            return false;
        }
    }
    struct pack_range * range = &best.chunk->ranges.items[best.range];
    range->offset += block->size;
    range->size -= block->size;
    if (range->size == 0) {
        range_remove(best.chunk, best.range);
    }
    block->offset = best.offset;
    block->chunk  = (int32_t) (best.chunk - scratch->chunks.items);
    if (best.offset + block->size > best.chunk->extent) {
        best.chunk->extent = best.offset + block->size;
    }
    return true;
}

static bool pack_by_time(struct pack_scratch * scratch, struct pack_block * blocks, size_t max_chunk) {
    const size_t n        = scratch->members.n;
    size_t       released = 0;
    if (n == 0) {
        scratch->chunks.n = 0;
        return true;
    }
    memcpy(scratch->releases.items, scratch->members.items, n * sizeof(int32_t));
    sort(scratch->members.items, n, blocks, starts_before);
    sort(scratch->releases.items, n, blocks, ends_before);
    scratch->chunks.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct pack_block * block = &blocks[scratch->members.items[i]];
        for (; released < n && blocks[scratch->releases.items[released]].end < block->start; released++) {
            const struct pack_block * over = &blocks[scratch->releases.items[released]];
            if (!release(&scratch->chunks.items[over->chunk], over->offset, over->size)) {
                return false;
            }
        }
        if (!take_by_time(scratch, block, max_chunk)) {
            return false;
        }
    }
    return true;
}

/* ---- by size ---- */

static void find_gap(struct place * best, struct pack_chunk * chunk, const struct pack_block * blocks,
                     const struct pack_block * block) {
    size_t cursor = 0; /* end of the placed blocks so far that live at the same time */
    for (size_t i = 0; i < chunk->ranges.n; i++) {
        const struct pack_range * range = &chunk->ranges.items[i];
        const struct pack_block * other = &blocks[range->block];
        if (other->start > block->end || other->end < block->start) {
            continue;
        }
        if (range->offset > cursor) {
            consider_gap(best, chunk, i, cursor, range->offset - cursor, block->size);
        }
        if (range->offset + range->size > cursor) {
            cursor = range->offset + range->size;
        }
    }
    if (cursor <= chunk->limit) {
        consider_gap(best, chunk, chunk->ranges.n, cursor, chunk->limit - cursor, block->size);
    }
}

static bool take_by_size(struct pack_scratch * scratch, struct pack_block * blocks, int32_t index, size_t max_chunk) {
    struct pack_block * block = &blocks[index];
    struct place        best  = {.chunk = NULL};
    for (size_t c = 0; c < scratch->chunks.n; c++) {
        find_gap(&best, &scratch->chunks.items[c], blocks, block);
    }
    if (best.chunk == NULL) {
        best.chunk = add_chunk(scratch, block->size, max_chunk);
        if (best.chunk == NULL) {
            return false;
        }
    }
    /* the list is by offset: blocks of other times may begin before the gap's right neighbour */
    size_t at = best.range < best.chunk->ranges.n ? best.range : best.chunk->ranges.n;
    while (at > 0 && best.chunk->ranges.items[at - 1].offset > best.offset) {
        at--;
    }
    block->offset = best.offset;
    block->chunk  = (int32_t) (best.chunk - scratch->chunks.items);
    if (best.offset + block->size > best.chunk->extent) {
        best.chunk->extent = best.offset + block->size;
    }
    return range_insert(best.chunk, at,
                        (struct pack_range){.offset = best.offset, .size = block->size, .block = index});
}

static bool pack_by_size(struct pack_scratch * scratch, struct pack_block * blocks, size_t max_chunk) {
    sort(scratch->members.items, scratch->members.n, blocks, is_larger);
    scratch->chunks.n = 0;
    for (size_t i = 0; i < scratch->members.n; i++) {
        if (!take_by_size(scratch, blocks, scratch->members.items[i], max_chunk)) {
            return false;
        }
    }
    return true;
}

/* ---- the better one ---- */

static size_t total_extent(const struct pack_scratch * scratch) {
    size_t total = 0;
    for (size_t c = 0; c < scratch->chunks.n; c++) {
        total += scratch->chunks.items[c].extent;
    }
    return total;
}

/* The most that is alive at one time. Expects members by start and releases by end. */
static size_t lower_bound(const struct pack_scratch * scratch, const struct pack_block * blocks) {
    size_t alive = 0, most = 0, released = 0;
    for (size_t i = 0; i < scratch->members.n; i++) {
        const struct pack_block * block = &blocks[scratch->members.items[i]];
        while (blocks[scratch->releases.items[released]].end < block->start) {
            alive -= blocks[scratch->releases.items[released++]].size;
        }
        alive += block->size;
        most = alive > most ? alive : most;
    }
    return most;
}

static bool store_layout(const struct pack_scratch * scratch, struct pack_layout * layout) {
    if (layout->capacity < scratch->chunks.n) {
        layout->sizes = plan_array_grown(layout->sizes, &layout->capacity, scratch->chunks.n, sizeof(layout->sizes[0]));
        if (layout->capacity < scratch->chunks.n) {
            return false;
        }
    }
    layout->n     = scratch->chunks.n;
    layout->total = total_extent(scratch);
    for (size_t c = 0; c < layout->n; c++) {
        layout->sizes[c] = scratch->chunks.items[c].extent;
    }
    return true;
}

/* Collects the pool's blocks. The sum of all sizes bounds every offset: when it fits, no sum below overflows. */
static bool gather(struct pack_scratch * scratch, struct pack_block * blocks, size_t n_blocks, int32_t pool) {
    size_t sum         = 0;
    scratch->members.n = 0;
    for (size_t i = 0; i < n_blocks; i++) {
        if (blocks[i].pool != pool) {
            continue;
        }
        blocks[i].offset = 0;
        blocks[i].chunk  = 0;
        if (blocks[i].size == 0) {
            continue; /* lies at the beginning of the memory and takes nothing */
        }
        if (!base_size_add(sum, blocks[i].size, &sum) || sum > SIZE_MAX / 4) {
            base_fail(GGML_STATUS_ALLOC_FAILED, "the tensors of a graph take more bytes than addresses exist");
            return false;
        }
        if (!PLAN_ARRAY_ROOM(scratch->members)) {
            return false;
        }
        scratch->members.items[scratch->members.n++] = (int32_t) i;
    }
    return PLAN_ARRAY_RESERVE(scratch->releases, scratch->members.n);
}

/* Tries the second way and keeps the first when it is no worse. */
static bool improve(struct pack_scratch * scratch, struct pack_block * blocks, size_t max_chunk,
                    struct pack_layout * layout) {
    const size_t n = scratch->members.n;
    if (!PLAN_ARRAY_RESERVE(scratch->first, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        scratch->first.items[i] = blocks[scratch->releases.items[i]];
    }
    if (!pack_by_size(scratch, blocks, max_chunk)) {
        return false;
    }
    if (total_extent(scratch) < layout->total) {
        return store_layout(scratch, layout);
    }
    for (size_t i = 0; i < n; i++) {
        blocks[scratch->releases.items[i]] = scratch->first.items[i];
    }
    return true;
}

bool pack_pool(struct pack_scratch * scratch, struct pack_block * blocks, size_t n_blocks, int32_t pool,
               size_t max_chunk, struct pack_layout * layout) {
    if (max_chunk > SIZE_MAX / 2) {
        max_chunk = SIZE_MAX / 2;
    }
    if (!gather(scratch, blocks, n_blocks, pool) || !pack_by_time(scratch, blocks, max_chunk) ||
        !store_layout(scratch, layout)) {
        return false;
    }
    if (layout->total > lower_bound(scratch, blocks) && scratch->members.n <= MAX_BY_SIZE) {
        return improve(scratch, blocks, max_chunk, layout);
    }
    return true;
}
