/* SPDX-License-Identifier: MIT
 *
 * How near decoded values are to what was encoded: a bound on the relative error (root mean square of the error over
 * that of the values) for each format on nearly normal rows, and that importance moves the error to where it counts
 * less.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-quants.h"
#include "harness.h"
#include "inputs.h"
#include "type/type.h"

static const struct {
    enum ggml_type type;
    double         bound;
} bounds[] = {
#include "bounds.inc"
};

static float         x[INPUT_VALUES], decoded[INPUT_VALUES], w[INPUT_VALUES];
static unsigned char y[INPUT_BYTES];

static double relative_error(const float * weights) {
    double error = 0.0, power = 0.0;
    for (int i = 0; i < INPUT_VALUES; i++) {
        const double weight = weights != NULL ? (double) weights[i % INPUT_COLUMNS] : 1.0;
        const double d      = (double) decoded[i] - (double) x[i];
        error += weight * d * d;
        power += weight * (double) x[i] * (double) x[i];
    }
    return sqrt(error / power);
}

static double encode_and_measure(const struct type_row * row, const float * weights) {
    if (row->quantize == NULL) {
        row->encode(x, y, INPUT_VALUES);
    } else {
        ggml_quantize_chunk(row->id, x, y, 0, INPUT_ROWS, INPUT_COLUMNS, weights);
    }
    row->decode(y, decoded, INPUT_VALUES);
    return relative_error(weights);
}

TEST(error_bounds) {
    for (int i = 0; i < INPUT_COLUMNS; i++) {
        w[i] = 1.0f;
    }
    for (size_t t = 0; t < sizeof(bounds) / sizeof(bounds[0]); t++) {
        const struct type_row * row = type_row_get(bounds[t].type);
        for (uint64_t seed = 11; seed < 15; seed++) {
            input_fill(INPUT_NOISE, seed, x, INPUT_VALUES);
            const double error = encode_and_measure(row, row->needs_imatrix ? w : NULL);
            CHECK_MSG(error < bounds[t].bound, "%s: relative error %.5f, bound %.5f", row->traits.type_name, error,
                      bounds[t].bound);
            CHECK_MSG(error > bounds[t].bound / 1.6 || error == 0.0, "%s: relative error %.5f, the bound %.5f is stale",
                      row->traits.type_name, error, bounds[t].bound);
        }
        harness_count_run(1);
    }
}

/* Groups of zeros among others cost no more than the rest: nothing is stored in another group's place. */
TEST(zero_groups_keep_their_place) {
    input_importance(3, w, INPUT_COLUMNS);
    for (size_t t = 0; t < sizeof(bounds) / sizeof(bounds[0]); t++) {
        const struct type_row * row = type_row_get(bounds[t].type);
        for (int zero = 0; zero < 8; zero++) {
            input_fill(INPUT_NOISE, 31, x, INPUT_VALUES);
            for (int i = 0; i < INPUT_VALUES; i++) {
                x[i] = i / 32 % 8 == zero ? 0.0f : x[i];
            }
            for (int importance = row->needs_imatrix ? 1 : 0; importance < 2; importance++) {
                const double error = encode_and_measure(row, importance ? w : NULL);
                CHECK_MSG(error < 1.25 * bounds[t].bound, "%s, group %d: relative error %.5f, bound %.5f",
                          row->traits.type_name, zero, error, 1.25 * bounds[t].bound);
            }
        }
        harness_count_run(1);
    }
}

/* Every format with an encoder has a bound. */
TEST(all_formats_have_bounds) {
    for (size_t t = 0; t < type_row_count(); t++) {
        const struct type_row * row   = type_row_at(t);
        bool                    found = !row->traits.is_quantized || (row->quantize == NULL && row->encode == NULL);
        for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
            found = found || bounds[i].type == row->id;
        }
        CHECK_MSG(found, "%s has no bound", row->traits.type_name);
    }
}

/* With importance the weighted error is no greater than without, where the encoder takes it. */
TEST(importance_helps) {
    input_importance(1, w, INPUT_COLUMNS);
    for (size_t t = 0; t < sizeof(bounds) / sizeof(bounds[0]); t++) {
        const struct type_row * row = type_row_get(bounds[t].type);
        if (row->quantize == NULL || row->needs_imatrix) {
            continue;
        }
        input_fill(INPUT_NOISE, 21, x, INPUT_VALUES);
        const double with = encode_and_measure(row, w);
        row->quantize(x, y, INPUT_ROWS, INPUT_COLUMNS, NULL);
        row->decode(y, decoded, INPUT_VALUES);
        const double without = relative_error(w);
        CHECK_MSG(with <= without * 1.02, "%s: weighted error %.5f with importance, %.5f without",
                  row->traits.type_name, with, without);
        harness_count_run(1);
    }
}
