/* SPDX-License-Identifier: MIT
 *
 * The packer alone: random blocks, checked pair by pair. It is internal, so its sources are part of this program.
 */
#include "base/status.c"
#include "plan/array.c"
#include "plan/pack.c"

#include "harness.h"

enum { MAX_BLOCKS = 400 };

static void check_layout(const struct pack_block * blocks, size_t n, int32_t pool, const struct pack_layout * layout,
                         size_t max_chunk) {
    size_t extents[MAX_BLOCKS] = {0};
    size_t sum                 = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pack_block * a = &blocks[i];
        if (a->pool != pool || a->size == 0) {
            continue;
        }
        CHECK(a->chunk >= 0 && (size_t) a->chunk < layout->n);
        CHECK(a->offset % 32 == 0);
        if (a->offset + a->size > extents[a->chunk]) {
            extents[a->chunk] = a->offset + a->size;
        }
        for (size_t j = 0; j < i; j++) {
            const struct pack_block * b = &blocks[j];
            if (b->pool != pool || b->size == 0 || b->chunk != a->chunk || a->end < b->start || b->end < a->start) {
                continue;
            }
            CHECK_MSG(a->offset + a->size <= b->offset || b->offset + b->size <= a->offset,
                      "blocks %zu and %zu overlap", i, j);
        }
    }
    for (size_t c = 0; c < layout->n; c++) {
        CHECK_MSG(layout->sizes[c] == extents[c], "chunk %zu: says %zu, blocks end at %zu", c, layout->sizes[c],
                  extents[c]);
        CHECK(layout->sizes[c] <= max_chunk);
        sum += layout->sizes[c];
    }
    CHECK(layout->total == sum);
}

static size_t most_alive(const struct pack_block * blocks, size_t n, int32_t pool) {
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t alive = 0;
        for (size_t j = 0; j < n; j++) {
            if (blocks[j].pool == pool && blocks[j].start <= blocks[i].start && blocks[j].end >= blocks[i].start) {
                alive += blocks[j].size;
            }
        }
        most = alive > most ? alive : most;
    }
    return most;
}

TEST(random_blocks) {
    struct pack_scratch scratch = {0};
    struct pack_layout  layout  = {0};
    uint64_t            state   = 1;
    size_t              used = 0, bound = 0;
    for (int round = 0; round < 400; round++) {
        struct pack_block blocks[MAX_BLOCKS];
        const size_t      n         = harness_random(&state) % MAX_BLOCKS;
        const size_t      max_chunk = round % 3 == 0 ? 4096 : SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            const int32_t start = (int32_t) (harness_random(&state) % 100) - 1;
            const bool    ever  = harness_random(&state) % 16 == 0;
            blocks[i]           = (struct pack_block){
                          .size  = harness_random(&state) % 64 * 32,
                          .start = start,
                          .end   = ever ? PACK_FOREVER : start + (int32_t) (harness_random(&state) % 10),
                          .pool  = (int32_t) (harness_random(&state) % 2),
            };
        }
        for (int32_t pool = 0; pool < 2; pool++) {
            struct pack_block again[MAX_BLOCKS];
            memcpy(again, blocks, sizeof(blocks));
            REQUIRE(pack_pool(&scratch, blocks, n, pool, max_chunk, &layout));
            check_layout(blocks, n, pool, &layout, max_chunk);
            const size_t total = layout.total, least = most_alive(blocks, n, pool);
            CHECK(total >= least);
            used += total;
            bound += least;
            /* the same every time */
            REQUIRE(pack_pool(&scratch, again, n, pool, max_chunk, &layout));
            CHECK(layout.total == total);
            for (size_t i = 0; i < n; i++) {
                CHECK(again[i].pool != pool ||
                      (again[i].offset == blocks[i].offset && again[i].chunk == blocks[i].chunk));
            }
        }
    }
    CHECK_MSG(used < bound + bound / 10, "%zu bytes where at least %zu are needed: the packing has got worse", used,
              bound);
    pack_scratch_free(&scratch);
    free(layout.sizes);
}

TEST(many_free_ranges) {
    /* 2000 blocks, of which every second one ends: no limit on holes */
    enum { N = 2000 };
    struct pack_scratch scratch = {0};
    struct pack_layout  layout  = {0};
    struct pack_block * blocks  = calloc(2 * N, sizeof(*blocks));
    for (int i = 0; i < N; i++) {
        blocks[i]     = (struct pack_block){.size = 32, .start = 0, .end = i % 2 == 0 ? 1 : 3};
        blocks[N + i] = (struct pack_block){.size = 32, .start = 2, .end = 3};
    }
    REQUIRE(pack_pool(&scratch, blocks, 2 * N, 0, SIZE_MAX, &layout));
    CHECK(layout.total == 32 * (N + N / 2));
    pack_scratch_free(&scratch);
    free(layout.sizes);
    free(blocks);
}

TEST(large_first_beats_order_of_time) {
    /* by time the small block that lives for ever lands in the middle of what the large one needs later */
    struct pack_scratch scratch  = {0};
    struct pack_layout  layout   = {0};
    struct pack_block   blocks[] = {
          {.size = 64, .start = 0, .end = 1},
          {.size = 32, .start = 1, .end = PACK_FOREVER},
          {.size = 128, .start = 2, .end = 2},
    };
    REQUIRE(pack_pool(&scratch, blocks, 3, 0, SIZE_MAX, &layout));
    CHECK_MSG(layout.total == 160, "%zu bytes", layout.total);
    pack_scratch_free(&scratch);
    free(layout.sizes);
}

TEST(sizes_beyond_all_addresses) {
    struct pack_scratch scratch  = {0};
    struct pack_layout  layout   = {0};
    struct pack_block   blocks[] = {
          {.size = SIZE_MAX / 2 - 31, .start = 0, .end = 1},
          {.size = SIZE_MAX / 2 - 31, .start = 0, .end = 1},
          {.size = 64, .start = 0, .end = 1},
    };
    CHECK(!pack_pool(&scratch, blocks, 3, 0, SIZE_MAX, &layout));
    CHECK(base_error_text()[0] != 0);
    pack_scratch_free(&scratch);
    free(layout.sizes);
}
