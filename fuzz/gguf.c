/* SPDX-License-Identifier: MIT
 *
 * Fuzz target of the GGUF reader. An input is read in every way there is, under the allocation meter; what loads is
 * walked by all getters, written back, read again and compared.
 */
#include "gguf/context.h"

#include "meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written back is at most this long: an alignment of 1 GiB makes every file that long. */
#define WRITTEN_MAX ((size_t) 4 << 20)

#define MUST(cond)                                                           \
    do {                                                                     \
        if (!(cond)) {                                                       \
            fprintf(stderr, "%s:%d: MUST(%s)\n", __FILE__, __LINE__, #cond); \
            abort();                                                         \
        }                                                                    \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);
int LLVMFuzzerInitialize(int * argc, char *** argv);

static void quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

int LLVMFuzzerInitialize(int * argc, char *** argv) {
    (void) argc, (void) argv;
    ggml_log_set(quiet, NULL);
    return 0;
}

static volatile unsigned sink;

/* Reads every byte of a value, so that the sanitizer sees one that is not there. */
static void touch(const void * data, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += ((const unsigned char *) data)[i];
    }
    sink += sum;
}

static void walk_key(const struct gguf_context * ctx, int64_t i) {
    const enum gguf_type kind = gguf_get_kv_type(ctx, i);
    const enum gguf_type type = kind == GGUF_TYPE_ARRAY ? gguf_get_arr_type(ctx, i) : kind;
    const size_t         n    = gguf_get_arr_n(ctx, i);
    MUST(gguf_find_key(ctx, gguf_get_key(ctx, i)) == i);
    MUST(gguf_type_name(type) != NULL);
    if (type != GGUF_TYPE_STRING) {
        touch(gguf_get_arr_data(ctx, i), n * gguf_value_size(type));
        return;
    }
    for (size_t k = 0; k < n; k++) {
        const char * text = gguf_get_arr_str(ctx, i, k);
        touch(text, strlen(text));
    }
}

static void walk(const struct gguf_context * ctx) {
    size_t end = 0;
    for (int64_t i = 0; i < gguf_get_n_kv(ctx); i++) {
        walk_key(ctx, i);
    }
    for (int64_t i = 0; i < gguf_get_n_tensors(ctx); i++) {
        const int64_t * ne = gguf_get_tensor_ne(ctx, i);
        MUST(gguf_find_tensor(ctx, gguf_get_tensor_name(ctx, i)) == i);
        MUST(ne[0] >= 0 && ne[1] >= 0 && ne[2] >= 0 && ne[3] >= 0);
        MUST(ggml_type_size(gguf_get_tensor_type(ctx, i)) > 0);
        MUST(gguf_get_tensor_offset(ctx, i) >= end && gguf_get_tensor_offset(ctx, i) % gguf_get_alignment(ctx) == 0);
        end = gguf_get_tensor_offset(ctx, i) + gguf_get_tensor_size(ctx, i);
        MUST(end >= gguf_get_tensor_offset(ctx, i));
    }
}

/* The tensors of the context, with their data if that was loaded. */
static void walk_tensors(const struct gguf_context * ctx, const struct ggml_context * data, bool no_alloc) {
    struct ggml_tensor * t = ggml_get_first_tensor(data);
    if (!no_alloc) {
        MUST(t != NULL);
        touch(t->data, ggml_nbytes(t));
        t = ggml_get_next_tensor(data, t);
    }
    for (int64_t i = 0; i < gguf_get_n_tensors(ctx); i++, t = ggml_get_next_tensor(data, t)) {
        MUST(t != NULL && strcmp(t->name, gguf_get_tensor_name(ctx, i)) == 0);
        MUST(ggml_nbytes(t) == gguf_get_tensor_size(ctx, i));
        if (!no_alloc) {
            touch(t->data, ggml_nbytes(t));
        } else {
            MUST(t->data == NULL);
        }
    }
    MUST(t == NULL);
}

static void * written(const struct gguf_context * ctx, bool only_meta, size_t * size) {
    *size = gguf_get_alignment(ctx) > WRITTEN_MAX ? 0 : gguf_written_size(ctx, only_meta);
    if (*size == 0 || *size > WRITTEN_MAX) {
        return NULL;
    }
    void * bytes = malloc(*size);
    MUST(bytes != NULL && gguf_write_to_memory(ctx, bytes, *size, only_meta));
    return bytes;
}

/* Written, read, written again: the same bytes. */
static void check_round_trip(const struct gguf_context * ctx, bool only_meta) {
    size_t size, size2;
    void * bytes = written(ctx, only_meta, &size);
    if (bytes == NULL) {
        return;
    }
    struct ggml_context *         data   = NULL;
    const struct gguf_init_params params = {only_meta, only_meta ? NULL : &data};
    struct gguf_context *         again  = gguf_init_from_buffer(bytes, size, params);
    MUST(again != NULL);
    MUST(gguf_get_n_kv(again) == gguf_get_n_kv(ctx) && gguf_get_n_tensors(again) == gguf_get_n_tensors(ctx));
    MUST(gguf_get_alignment(again) == gguf_get_alignment(ctx));
    void * bytes2 = written(again, only_meta, &size2);
    MUST(bytes2 != NULL && size2 == size && memcmp(bytes, bytes2, size) == 0);
    free(bytes);
    free(bytes2);
    gguf_free(again);
    ggml_free(data);
}

static bool read_buffer(const uint8_t * bytes, size_t size, bool no_alloc, bool with_tensors) {
    struct ggml_context *         data   = NULL;
    const struct gguf_init_params params = {no_alloc, with_tensors ? &data : NULL};
    meter_begin(size);
    struct gguf_context * ctx = gguf_init_from_buffer(bytes, size, params);
    meter_end();
    MUST(ctx != NULL || data == NULL);
    if (ctx == NULL) {
        return false;
    }
    walk(ctx);
    if (with_tensors) {
        MUST(data != NULL);
        walk_tensors(ctx, data, no_alloc);
    }
    check_round_trip(ctx, no_alloc || !with_tensors);
    gguf_free(ctx);
    ggml_free(data);
    return true;
}

struct input {
    const uint8_t * bytes;
    size_t          size;
};

static size_t read_chunk(void * userdata, void * output, uint64_t offset, size_t n) {
    const struct input * input = userdata;
    const size_t         left  = offset < input->size ? input->size - (size_t) offset : 0;
    const size_t         got   = n < left ? n : left;
    memcpy(output, input->bytes + (got > 0 ? offset : 0), got);
    return got;
}

/* With a promise of more bytes than there are, memory must follow those that come. */
static bool read_callback(const uint8_t * bytes, size_t size, size_t chunk, uint64_t promised) {
    struct input input = {bytes, size};
    meter_begin(size);
    struct gguf_context * ctx =
        gguf_init_from_callback(read_chunk, &input, chunk, promised, (struct gguf_init_params){true, NULL});
    meter_end();
    if (ctx == NULL) {
        return false;
    }
    walk(ctx);
    check_round_trip(ctx, true);
    gguf_free(ctx);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    const bool meta = read_buffer(data, size, true, false);
    read_buffer(data, size, true, true);
    const bool all = read_buffer(data, size, false, true);
    MUST(meta || !all);
    MUST(size == 0 || read_callback(data, size, 1 + size % 7, size) == meta);
    const bool open_end = read_callback(data, size, 0, UINT64_C(1) << 40);
    MUST(open_end || !meta);
    return 0;
}
