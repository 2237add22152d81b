/* SPDX-License-Identifier: MIT
 *
 * Encoders and decoders give the bytes of the format's origin: hashes of encoded rows and decoded numbers against
 * golden.inc.
 */
#include <stdlib.h>
#include <string.h>

#include "ggml-quants.h"
#include "harness.h"
#include "inputs.h"
#include "type/type.h"

struct golden {
    int      type;
    int      kind;
    uint64_t encode;   /* reference encoder; 0 in each: there is no such function */
    uint64_t plain;    /* rows without an importance matrix */
    uint64_t weighted; /* rows with one */
    uint64_t decode;   /* of the last bytes encoded */
};

static const struct golden goldens[] = {
#define GOLDEN(type, kind, encode, plain, weighted, decode) {type, kind, encode, plain, weighted, decode},
#define GOLDEN_BYTES(type, decode)
#include "golden.inc"
#undef GOLDEN
#undef GOLDEN_BYTES
};

static const struct {
    int      type;
    uint64_t decode;
} golden_bytes[] = {
#define GOLDEN(type, kind, encode, plain, weighted, decode)
#define GOLDEN_BYTES(type, decode) {type, decode},
#include "golden.inc"
#undef GOLDEN
#undef GOLDEN_BYTES
};

#define N_GOLDENS ((int) (sizeof(goldens) / sizeof(goldens[0])))
#define N_BYTES ((int) (sizeof(golden_bytes) / sizeof(golden_bytes[0])))

static float         x[INPUT_VALUES], w[INPUT_COLUMNS];
static unsigned char y[INPUT_BYTES];

static void check_rows(const struct golden * g, const struct type_row * row, size_t bytes) {
    for (int i = 0; i < 2; i++) {
        const uint64_t expected = i == 0 ? g->plain : g->weighted;
        if (expected == 0) {
            continue;
        }
        memset(y, 0, bytes);
        const size_t written = ggml_quantize_chunk(row->id, x, y, 0, INPUT_ROWS, INPUT_COLUMNS, i == 0 ? NULL : w);
        CHECK_MSG(written == bytes, "%s: %zu bytes written, expected %zu", row->traits.type_name, written, bytes);
        CHECK_MSG(input_hash(y, bytes) == expected, "%s, input %d: rows %s importance differ", row->traits.type_name,
                  g->kind, i == 0 ? "without" : "with");
    }
}

TEST(encoded_bytes_and_decoded_numbers) {
    input_importance(1, w, INPUT_COLUMNS);
    for (int i = 0; i < N_GOLDENS; i++) {
        const struct golden *   g   = &goldens[i];
        const struct type_row * row = type_row_get((enum ggml_type) g->type);
        REQUIRE(row != NULL);
        size_t bytes = 0;
        CHECK(type_row_bytes(row->id, INPUT_VALUES, &bytes));
        input_fill((enum input_kind) g->kind, 1, x, INPUT_VALUES);
        check_rows(g, row, bytes);
        if (g->encode != 0) {
            REQUIRE(row->encode != NULL);
            memset(y, 0, bytes);
            row->encode(x, y, INPUT_VALUES);
            CHECK_MSG(input_hash(y, bytes) == g->encode, "%s, input %d: encoded bytes differ", row->traits.type_name,
                      g->kind);
        }
        if (g->decode != 0) {
            REQUIRE(row->decode != NULL);
            row->decode(y, x, INPUT_VALUES);
            CHECK_MSG(input_hash_floats(x, INPUT_VALUES) == g->decode, "%s, input %d: decoded numbers differ",
                      row->traits.type_name, g->kind);
        }
        harness_count_run(1);
    }
}

/* Every byte pattern decodes, also those that no encoder writes. */
TEST(decoded_numbers_of_any_bytes) {
    for (int i = 0; i < N_BYTES; i++) {
        const struct type_row * row   = type_row_get((enum ggml_type) golden_bytes[i].type);
        size_t                  bytes = 0;
        REQUIRE(row != NULL && type_row_bytes(row->id, INPUT_VALUES, &bytes));
        if (golden_bytes[i].decode == 0) {
            harness_count_skipped("no decoder to compare with", 1);
            continue;
        }
        REQUIRE(row->decode != NULL);
        input_bytes(2, y, bytes);
        row->decode(y, x, INPUT_VALUES);
        CHECK_MSG(input_hash_floats(x, INPUT_VALUES) == golden_bytes[i].decode, "%s: decoded numbers differ",
                  row->traits.type_name);
        harness_count_run(1);
    }
}

/* Rows in two calls, as several threads encode a tensor, are the same bytes as in one. */
TEST(chunks_join) {
    static unsigned char parts[INPUT_BYTES];
    input_importance(1, w, INPUT_COLUMNS);
    input_fill(INPUT_NOISE, 5, x, INPUT_VALUES);
    for (size_t t = 0; t < type_row_count(); t++) {
        const struct type_row * row   = type_row_at(t);
        size_t                  bytes = 0;
        if (row->quantize == NULL) {
            continue;
        }
        CHECK(type_row_bytes(row->id, INPUT_VALUES, &bytes));
        memset(y, 0, bytes);
        memset(parts, 0, bytes);
        ggml_quantize_chunk(row->id, x, y, 0, INPUT_ROWS, INPUT_COLUMNS, w);
        ggml_quantize_chunk(row->id, x, parts, 0, 1, INPUT_COLUMNS, w);
        ggml_quantize_chunk(row->id, x, parts, INPUT_COLUMNS, INPUT_ROWS - 1, INPUT_COLUMNS, w);
        CHECK_MSG(memcmp(y, parts, bytes) == 0, "%s: chunks differ", row->traits.type_name);
        harness_count_run(1);
    }
}
