/* SPDX-License-Identifier: MIT
 *
 * Prints golden.inc: hashes of what another libggml-base encodes and decodes, given as the path of the shared library.
 * Not part of the build: cc -Iinclude -Iinclude/module -Itests -Itests/type tests/type/make/golden.c -ldl
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml.h"
#include "inputs.h"

#define main harness_main
#include "../../harness.c"
#undef main

static void * library;

static void * symbol(const char * fmt, const char * name) {
    char text[64];
    snprintf(text, sizeof(text), fmt, name);
    return dlsym(library, text);
}

int main(int argc, char ** argv) {
    static float         x[INPUT_VALUES], w[INPUT_COLUMNS];
    static unsigned char y[INPUT_BYTES];
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "usage: golden libggml-base.so\n");
        return 1;
    }
    const struct ggml_type_traits * (*get)(enum ggml_type) = symbol("%s", "ggml_get_type_traits");
    bool (*needs)(enum ggml_type)                          = symbol("%s", "ggml_quantize_requires_imatrix");
    size_t (*chunk)(enum ggml_type, const float *, void *, int64_t, int64_t, int64_t, const float *) =
        symbol("%s", "ggml_quantize_chunk");
    for (int type = 0; type < GGML_TYPE_COUNT; type++) {
        const struct ggml_type_traits * traits = get((enum ggml_type) type);
        if (!traits->is_quantized && type != GGML_TYPE_F16 && type != GGML_TYPE_BF16) {
            continue;
        }
        ggml_from_float_t encode   = traits->from_float_ref;
        ggml_to_float_t   decode   = traits->to_float;
        const bool        has_rows = type != GGML_TYPE_Q8_1 && type != GGML_TYPE_Q8_K;
        const size_t      bytes    = INPUT_VALUES / (size_t) traits->blck_size * traits->type_size;
        encode                     = encode != NULL ? encode : symbol("quantize_row_%s_ref", traits->type_name);
        decode                     = decode != NULL ? decode : symbol("dequantize_row_%s", traits->type_name);
        input_importance(1, w, INPUT_COLUMNS);
        for (int kind = 0; kind < INPUT_COUNT; kind++) {
            uint64_t hash[4] = {0, 0, 0, 0};
            input_fill((enum input_kind) kind, 1, x, INPUT_VALUES);
            for (int i = 0; i < 2 && has_rows; i++) {
                if (i == 1 || !needs((enum ggml_type) type)) {
                    memset(y, 0, bytes);
                    chunk((enum ggml_type) type, x, y, 0, INPUT_ROWS, INPUT_COLUMNS, i == 1 ? w : NULL);
                    hash[1 + i] = input_hash(y, bytes);
                }
            }
            if (encode != NULL) {
                memset(y, 0, bytes);
                encode(x, y, INPUT_VALUES);
                hash[0] = input_hash(y, bytes);
            }
            if (decode != NULL) {
                decode(y, x, INPUT_VALUES);
                hash[3] = input_hash_floats(x, INPUT_VALUES);
            }
            printf("GOLDEN(%d, %d, 0x%016llX, 0x%016llX, 0x%016llX, 0x%016llX) /* %s */\n", type, kind,
                   (unsigned long long) hash[0], (unsigned long long) hash[1], (unsigned long long) hash[2],
                   (unsigned long long) hash[3], traits->type_name);
        }
        uint64_t random = 0;
        if (decode != NULL) {
            input_bytes(2, y, bytes);
            decode(y, x, INPUT_VALUES);
            random = input_hash_floats(x, INPUT_VALUES);
        }
        printf("GOLDEN_BYTES(%d, 0x%016llX) /* %s */\n", type, (unsigned long long) random, traits->type_name);
    }
    return 0;
}
