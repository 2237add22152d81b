/* SPDX-License-Identifier: MIT
 *
 * Search tables of the grids. They are built aside and put in place with one exchange, so that encoders on several
 * threads need no lock: who comes second drops its own.
 */
#include "type/grid.h"

#include <float.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ggml-quants.h"

#define MAX_POINTS 2048

static const struct grid grids[GRID_COUNT] = {
    [GRID_IQ2_XXS] = {grid_points_iq2_xxs, 256, 8, 2, 2, 2}, [GRID_IQ2_XS] = {grid_points_iq2_xs, 512, 8, 2, 2, 2},
    [GRID_IQ2_S] = {grid_points_iq2_s, 1024, 8, 2, 2, 1},    [GRID_IQ1] = {grid_points_iq1, 2048, 8, 2, 2, 3},
    [GRID_IQ3_XXS] = {grid_points_iq3_xxs, 256, 4, 3, 7, 2}, [GRID_IQ3_S] = {grid_points_iq3_s, 512, 4, 3, 7, 3},
};

struct tables {
    int32_t *  place;
    uint16_t * neighbours;
    size_t     n_used;
    size_t     n_room;
};

static _Atomic(struct tables *) built[GRID_COUNT];

static int n_places(const struct grid * grid) {
    return 1 << (grid->dimensions * grid->bits);
}

/* Squares of the distances of half a place, half of its levels, from all such halves. */
static void half_distances(const struct grid * grid, unsigned half, uint8_t * distances) {
    const int n = grid->dimensions / 2, mask = (1 << grid->bits) - 1;
    for (int other = 0; other < 1 << (n * grid->bits); other++) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            const int shift      = i * grid->bits;
            const int difference = (other >> shift & mask) - ((int) half >> shift & mask);
            sum += difference * difference;
        }
        distances[other] = (uint8_t) sum;
    }
}

/* The list of a place: its length, then the points by distance, equally far ones by number. */
static void list_neighbours(const struct grid * grid, unsigned packed, uint16_t * list) {
    uint8_t   distance[MAX_POINTS], low[256], high[256];
    int       n_at[256] = {0};
    int       last      = 0;
    uint16_t  n         = 0;
    const int half_bits = grid->dimensions / 2 * grid->bits;
    half_distances(grid, packed & ((1u << half_bits) - 1), low);
    half_distances(grid, packed >> half_bits, high);
    for (int p = 0; p < grid->n_points; p++) {
        distance[p] = (uint8_t) (low[grid->points[p] & ((1 << half_bits) - 1)] + high[grid->points[p] >> half_bits]);
        n_at[distance[p]]++;
    }
    for (int shell = 0; shell < grid->shells; shell++, last++) {
        while (last < 256 && n_at[last] == 0) {
            last++;
        }
        for (int p = 0; p < grid->n_points; p++) {
            if (distance[p] == last) {
                list[1 + n++] = (uint16_t) p;
            }
        }
    }
    list[0] = n;
}

static int find_point(const struct grid * grid, unsigned packed) {
    int low = 0, high = grid->n_points - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (grid->points[middle] < packed) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return grid->points[low] == packed ? low : -1;
}

/* Can an encoder ask for this place? Levels above the greatest one do not occur. */
static bool is_reachable(const struct grid * grid, unsigned packed) {
    for (int i = 0; i < grid->dimensions; i++) {
        if ((int) (packed >> (i * grid->bits) & ((1u << grid->bits) - 1)) > grid->top) {
            return false;
        }
    }
    return true;
}

static bool append_list(struct tables * tables, const uint16_t * list) {
    const size_t n = (size_t) list[0] + 1;
    if (tables->n_used + n > tables->n_room) {
        const size_t room  = 2 * (tables->n_room + n) + 4096;
        uint16_t *   grown = realloc(tables->neighbours, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        tables->neighbours = grown;
        tables->n_room     = room;
    }
    memcpy(tables->neighbours + tables->n_used, list, n * sizeof(*list));
    tables->n_used += n;
    return true;
}

static void tables_free(struct tables * tables) {
    if (tables != NULL) {
        free(tables->place);
        free(tables->neighbours);
        free(tables);
    }
}

static struct tables * tables_new(const struct grid * grid) {
    struct tables * tables = calloc(1, sizeof(*tables));
    uint16_t        list[1 + MAX_POINTS];
    if (tables == NULL) {
        return NULL;
    }
    tables->place = calloc((size_t) n_places(grid), sizeof(*tables->place));
    bool ok       = tables->place != NULL;
    for (unsigned packed = 0; ok && packed < (unsigned) n_places(grid); packed++) {
        const int point = find_point(grid, packed);
        if (point >= 0 || !is_reachable(grid, packed)) {
            tables->place[packed] = point >= 0 ? point : 0;
            continue;
        }
        tables->place[packed] = -1 - (int32_t) tables->n_used;
        list_neighbours(grid, packed, list);
        ok = append_list(tables, list);
    }
    if (!ok) {
        tables_free(tables);
        return NULL;
    }
    return tables;
}

struct grid_search grid_search_get(enum grid_id id) {
    struct grid_search search = {&grids[id], NULL, NULL};
    struct tables *    tables = atomic_load_explicit(&built[id], memory_order_acquire);
    if (tables == NULL) {
        struct tables * own = tables_new(&grids[id]);
        if (own == NULL) {
            return search;
        }
        if (atomic_compare_exchange_strong_explicit(&built[id], &tables, own, memory_order_acq_rel,
                                                    memory_order_acquire)) {
            tables = own;
        } else {
            tables_free(own);
        }
    }
    search.place      = tables->place;
    search.neighbours = tables->neighbours;
    return search;
}

int grid_find(const struct grid_search * search, unsigned packed) {
    if (search->place == NULL) {
        return find_point(search->grid, packed);
    }
    const int32_t place = search->place[packed];
    return place >= 0 ? place : -1;
}

int grid_nearest(const struct grid_search * search, unsigned packed, const float * x, const float * w, float scale,
                 const float * values) {
    uint16_t         own[1 + MAX_POINTS];
    const uint16_t * list = own;
    if (search->place == NULL) {
        list_neighbours(search->grid, packed, own);
    } else {
        list = search->neighbours + (-1 - search->place[packed]);
    }
    float least   = FLT_MAX;
    int   nearest = list[1]; /* stays where weights or values are so large that every sum overflows */
    for (int i = 1; i <= list[0]; i++) {
        float sum = 0.0f;
        for (int j = 0; j < search->grid->dimensions; j++) {
            const float difference = scale * values[grid_level(search->grid, list[i], j)] - x[j];
            sum += w[j] * difference * difference;
        }
        if (sum < least) {
            least   = sum;
            nearest = list[i];
        }
    }
    return nearest;
}

static enum grid_id grid_of(enum ggml_type type) {
    switch (type) {
        case GGML_TYPE_IQ2_XXS:
            return GRID_IQ2_XXS;
        case GGML_TYPE_IQ2_XS:
            return GRID_IQ2_XS;
        case GGML_TYPE_IQ2_S:
            return GRID_IQ2_S;
        case GGML_TYPE_IQ1_S:
        case GGML_TYPE_IQ1_M:
            return GRID_IQ1;
        case GGML_TYPE_IQ3_XXS:
            return GRID_IQ3_XXS;
        case GGML_TYPE_IQ3_S:
            return GRID_IQ3_S;
        default:
            return GRID_COUNT;
    }
}

static void release(enum grid_id id) {
    if (id < GRID_COUNT) {
        tables_free(atomic_exchange_explicit(&built[id], NULL, memory_order_acq_rel));
    }
}

void grid_prepare(enum ggml_type type) {
    const enum grid_id id = grid_of(type);
    if (id < GRID_COUNT) {
        grid_search_get(id);
    }
}

void grid_free_all(void) {
    for (int id = 0; id < GRID_COUNT; id++) {
        release((enum grid_id) id);
    }
}

/* The same by the names that modules know. */
void iq2xs_init_impl(enum ggml_type type) {
    grid_prepare(type);
}

void iq2xs_free_impl(enum ggml_type type) {
    release(grid_of(type));
}

void iq3xs_init_impl(int grid_size) {
    grid_prepare(grid_size == 256 ? GGML_TYPE_IQ3_XXS : GGML_TYPE_IQ3_S);
}

void iq3xs_free_impl(int grid_size) {
    release(grid_size == 256 ? GRID_IQ3_XXS : GRID_IQ3_S);
}
