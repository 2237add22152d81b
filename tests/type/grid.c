/* SPDX-License-Identifier: MIT
 *
 * The search tables of the grid formats: they answer as a search without tables does, whoever builds them first, and
 * again after they were freed.
 */
#include "type/grid.h"

#include <pthread.h>
#include <string.h>

#include "ggml-quants.h"
#include "harness.h"
#include "inputs.h"
#include "type/iq1.h"
#include "type/lattice.h"
#include "type/type.h"

static const float odd[8] = {1.0f, 3.0f, 5.0f, 7.0f, 9.0f, 11.0f, 13.0f, 15.0f};

TEST(points_are_ascending_and_found) {
    for (int id = 0; id < GRID_COUNT; id++) {
        const struct grid_search search = grid_search_get((enum grid_id) id);
        const struct grid_search bare   = {search.grid, NULL, NULL};
        REQUIRE(search.place != NULL && search.neighbours != NULL);
        for (int p = 0; p < search.grid->n_points; p++) {
            CHECK(p == 0 || search.grid->points[p] > search.grid->points[p - 1]);
            CHECK(grid_find(&search, search.grid->points[p]) == p && grid_find(&bare, search.grid->points[p]) == p);
        }
        CHECK(grid_find(&search, 0) == 0);
    }
    const struct grid_search iq1 = grid_search_get(GRID_IQ1);
    CHECK(grid_find(&iq1, IQ1_CENTRE) >= 0);
}

TEST(tables_answer_as_the_search_does) {
    uint64_t state = 3;
    for (int id = 0; id < GRID_COUNT; id++) {
        const struct grid_search search = grid_search_get((enum grid_id) id);
        const struct grid_search bare   = {search.grid, NULL, NULL};
        for (int round = 0; round < 2000; round++) {
            unsigned packed = 0;
            float    x[8], w[8];
            for (int i = 0; i < search.grid->dimensions; i++) {
                const unsigned level = (unsigned) (harness_random(&state) >> 33) % (unsigned) (search.grid->top + 1);
                packed |= level << (i * search.grid->bits);
                x[i] = 0.1f * odd[level] + harness_random_float(&state, -0.1f, 0.1f);
                w[i] = harness_random_float(&state, 0.1f, 2.0f);
            }
            const int found = grid_find(&search, packed);
            CHECK(found == grid_find(&bare, packed));
            if (found < 0) {
                const int nearest = grid_nearest(&search, packed, x, w, 0.1f, odd);
                CHECK(nearest == grid_nearest(&bare, packed, x, w, 0.1f, odd));
                CHECK(nearest >= 0 && nearest < search.grid->n_points);
            }
        }
        harness_count_run(1);
    }
}

static float         x[INPUT_VALUES], w[INPUT_COLUMNS];
static unsigned char expected[INPUT_BYTES];

#define N_THREADS 6

static unsigned char results[N_THREADS][INPUT_BYTES];

static void * encode(void * argument) {
    const int me = (int) (intptr_t) argument;
    ggml_quantize_chunk(GGML_TYPE_IQ2_S, x, results[me], 0, INPUT_ROWS, INPUT_COLUMNS, w);
    return NULL;
}

TEST(threads_share_the_tables) {
    size_t bytes = 0;
    REQUIRE(type_row_bytes(GGML_TYPE_IQ2_S, INPUT_VALUES, &bytes));
    input_fill(INPUT_NOISE, 9, x, INPUT_VALUES);
    input_importance(2, w, INPUT_COLUMNS);
    ggml_quantize_chunk(GGML_TYPE_IQ2_S, x, expected, 0, INPUT_ROWS, INPUT_COLUMNS, w);
    for (int round = 0; round < 3; round++) {
        pthread_t threads[N_THREADS];
        ggml_quantize_free(); /* every round begins without tables */
        memset(results, 0, sizeof(results));
        for (int i = 0; i < N_THREADS; i++) {
            REQUIRE(pthread_create(&threads[i], NULL, encode, (void *) (intptr_t) i) == 0);
        }
        for (int i = 0; i < N_THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK(memcmp(results[i], expected, bytes) == 0);
        }
    }
}

TEST(init_and_free_in_any_order) {
    for (int type = -1; type <= GGML_TYPE_COUNT; type++) {
        ggml_quantize_init((enum ggml_type) type);
        ggml_quantize_init((enum ggml_type) type);
    }
    iq2xs_init_impl(GGML_TYPE_IQ2_XS);
    iq2xs_free_impl(GGML_TYPE_IQ2_XS);
    iq2xs_free_impl(GGML_TYPE_IQ2_XS);
    iq2xs_free_impl(GGML_TYPE_Q4_0);
    iq3xs_init_impl(256);
    iq3xs_init_impl(512);
    iq3xs_free_impl(512);
    ggml_quantize_free();
    ggml_quantize_free();
}
