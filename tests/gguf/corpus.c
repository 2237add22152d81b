/* SPDX-License-Identifier: MIT
 *
 * Every file of fuzz/corpus/gguf gives what the table says: it loads, it loads without its data only, or it is refused
 * with a text that contains a word. Read from memory, from a file, at an offset in a file, and through a callback in
 * chunks of odd sizes.
 */
#include "harness.h"

#include "ggml-ext.h"
#include "gguf.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS GRAFT_TEST_DATA "/../../fuzz/corpus/gguf/"

enum outcome {
    LOADS,
    META_ONLY, /* descriptions load, data does not */
    REFUSED,
    END_UNSEEN, /* refused where the end is known; a callback that promises more hides what is wrong with the
                   descriptions */
};

static const struct {
    const char * name;
    enum outcome outcome;
    const char * word; /* in the text of the failure */
} expected[] = {
    {"valid-empty", LOADS, ""},
    {"valid-scalars", LOADS, ""},
    {"valid-arrays", LOADS, ""},
    {"valid-v2", LOADS, ""},
    {"valid-tensors", LOADS, ""},
    {"valid-other-order", LOADS, ""},
    {"valid-other-order-v2", LOADS, ""},
    {"valid-alignment-1", LOADS, ""},
    {"valid-alignment-8", LOADS, ""},
    {"valid-alignment-64", LOADS, ""},
    {"valid-alignment-4096", LOADS, ""},
    {"valid-zero-extent-unpadded", LOADS, ""},
    {"valid-zero-extent-1-0", LOADS, ""},
    {"valid-zero-extent-between", LOADS, ""},
    {"valid-zero-extent-block", LOADS, ""},
    {"valid-other-order-zero-extent", LOADS, ""},
    {"valid-no-dimensions", LOADS, ""},
    {"valid-trailing-ones", LOADS, ""},
    {"valid-tensor-name-63", LOADS, ""},
    {"valid-tensor-name-empty", LOADS, ""},
    {"valid-bool-bytes", LOADS, ""},
    {"valid-split", LOADS, ""},
    {"valid-bytes-after-end", LOADS, ""},
    {"valid-array-of-bytes", LOADS, ""},
    {"valid-type-names-unused", LOADS, ""},
    {"meta-only-big-tensor", META_ONLY, "4611686018427387904 bytes are declared"},
    {"meta-only-data-missing", META_ONLY,
     "tensor 0 't': the file ends inside its data: 256 bytes are declared, 0 are left"},
    {"meta-only-data-short", META_ONLY, "256 bytes are declared, 255 are left"},
    {"meta-only-other-order-q5_0", META_ONLY, "type q5_0 cannot be converted"},
    {"bad-empty-file", REFUSED, ""},
    {"bad-magic", REFUSED, "'GGML'"},
    {"bad-magic-reversed", REFUSED, "'FUGG'"},
    {"bad-magic-short", REFUSED, "inside the magic"},
    {"bad-version-0", REFUSED, "version 0"},
    {"bad-version-1", REFUSED, "version 1"},
    {"bad-version-4", REFUSED, "version 4"},
    {"bad-version-10000", REFUSED, "version 256"},
    {"bad-version-1000000", REFUSED, "version 1 "},
    {"bad-version-4000000", REFUSED, "version 4 "},
    {"bad-version-ffffffff", REFUSED, "version 4294967295"},
    {"bad-header-short-version", REFUSED, "inside the version"},
    {"bad-header-short-counts", REFUSED, "inside the number of keys"},
    {"bad-tensor-count-minus-1", REFUSED, "18446744073709551615 tensors"},
    {"bad-tensor-count-2-63", REFUSED, "9223372036854775808 tensors"},
    {"bad-tensor-count-over-file", REFUSED, "4 tensors"},
    {"bad-key-count-minus-1", REFUSED, "18446744073709551615 keys"},
    {"bad-key-count-2-62", REFUSED, "4611686018427387904 keys"},
    {"bad-both-counts", REFUSED, "3 tensors and 6 keys"},
    {"bad-count-other-order", REFUSED, "1099511627776 tensors"},
    {"bad-key-length-1-gib", REFUSED, "key's name: 1073741824 bytes"},
    {"bad-key-length-max", REFUSED, "too long"},
    {"bad-key-length-other-order", REFUSED, "key's name: 16777216 bytes"},
    {"bad-key-empty", REFUSED, "empty"},
    {"bad-key-zero-byte", REFUSED, "zero byte"},
    {"bad-key-duplicate", REFUSED, "key 2 'a': duplicate"},
    {"bad-key-unprintable", REFUSED, "'?[31m???[31m?"},
    {"bad-value-type-d", REFUSED, "'key': the type 13 "},
    {"bad-value-type-7fffffff", REFUSED, "the type 2147483647 "},
    {"bad-value-type-ffffffff", REFUSED, "the type 4294967295 "},
    {"bad-value-short-u16", REFUSED, "'key': 1 elements of type u16"},
    {"bad-value-short-f32", REFUSED, "1 elements of type f32 are declared, but 3 bytes"},
    {"bad-value-short-u64", REFUSED, "1 elements of type u64"},
    {"bad-value-missing", REFUSED, "'key'"},
    {"bad-string-length-1-gib", REFUSED, "1073741824 bytes"},
    {"bad-string-length-max", REFUSED, "18446744073709551615 bytes"},
    {"bad-array-2-63-u8", REFUSED, "9223372036854775808 elements of type u8"},
    {"bad-array-2-61-u64", REFUSED, "2305843009213693952 elements of type u64"},
    {"bad-array-2-61-u64-plus-1", REFUSED, "2305843009213693953 elements"},
    {"bad-array-2-63-str", REFUSED, "9223372036854775808 strings"},
    {"bad-array-2-61-str", REFUSED, "2305843009213693952 strings"},
    {"bad-array-over-file-u32", REFUSED, "4 elements of type u32"},
    {"bad-array-over-file-str", REFUSED, "4 strings"},
    {"bad-array-last-string-long", REFUSED, "1073741824 bytes"},
    {"bad-array-of-arrays", REFUSED, "arrays of arrays"},
    {"bad-array-element-type", REFUSED, "elements 99"},
    {"bad-array-count-short", REFUSED, "number of elements"},
    {"bad-alignment-i32", REFUSED, "must be of type u32, but it is i32"},
    {"bad-alignment-u64", REFUSED, "but it is u64"},
    {"bad-alignment-str", REFUSED, "but it is str"},
    {"bad-alignment-bool", REFUSED, "but it is bool"},
    {"bad-alignment-array", REFUSED, "an array of u32"},
    {"bad-alignment-empty-array", REFUSED, "an array of u32"},
    {"bad-alignment-0", REFUSED, "but it is 0"},
    {"bad-alignment-3", REFUSED, "but it is 3"},
    {"bad-alignment-30", REFUSED, "but it is 48"},
    {"bad-alignment-80000000", REFUSED, "but it is 2147483648"},
    {"bad-alignment-ffffffff", REFUSED, "but it is 4294967295"},
    {"bad-tensor-name-64", REFUSED, "too long: 64 bytes"},
    {"bad-tensor-name-length-1-gib", REFUSED, "too long: 1073741824 bytes"},
    {"bad-tensor-name-zero-byte", REFUSED, "zero byte"},
    {"bad-tensor-duplicate", REFUSED, "tensor 2 'a': duplicate"},
    {"bad-tensor-5-dimensions", REFUSED, "'t': 5 dimensions"},
    {"bad-tensor-dimensions-max", REFUSED, "4294967295 dimensions"},
    {"bad-tensor-extent-negative", REFUSED, "extent 1 is negative: -1"},
    {"bad-tensor-extent-min", REFUSED, "extent 0 is negative"},
    {"bad-tensor-type-4", REFUSED, "type 4 "},
    {"bad-tensor-type-5", REFUSED, "type 5 "},
    {"bad-tensor-type-31", REFUSED, "type 31 "},
    {"bad-tensor-type-33", REFUSED, "type 33 "},
    {"bad-tensor-type-36", REFUSED, "type 36 "},
    {"bad-tensor-type-38", REFUSED, "type 38 "},
    {"bad-tensor-type-43", REFUSED, "type 43 "},
    {"bad-tensor-type-1024", REFUSED, "type 1024 "},
    {"bad-tensor-type-2147483647", REFUSED, "type 2147483647 "},
    {"bad-tensor-type--1", REFUSED, "type 4294967295 "},
    {"bad-tensor-type-unregistered-name", REFUSED, "'acme.x' is registered"},
    {"bad-tensor-type-name-of-built-in", REFUSED, "'q4_0' is registered"},
    {"bad-tensor-type-beyond-names", REFUSED, "type 1024 is unknown"},
    {"bad-tensor-type-names-not-strings", REFUSED, "type 1024 is unknown"},
    {"bad-tensor-block-misfit", REFUSED, "rows of 33 elements"},
    {"bad-tensor-block-one-element", REFUSED, "rows of 1 elements"},
    {"bad-tensor-bytes-2-64", REFUSED, "overflows"},
    {"bad-tensor-elements-2-64", REFUSED, "overflows"},
    {"bad-tensor-elements-2-124", REFUSED, "overflows"},
    {"bad-tensor-elements-behind-zero", REFUSED, "overflows"},
    {"bad-tensor-elements-before-zero", REFUSED, "overflows"},
    {"bad-tensor-blocks-overflow", REFUSED, "overflows"},
    {"bad-tensor-elements-times-type-size", REFUSED, "overflows"},
    {"bad-tensor-padding-wraps", REFUSED, "overflows"},
    {"bad-tensors-sum-overflows", REFUSED, "data section overflows"},
    {"bad-tensors-sum-2-64", REFUSED, "data section overflows"},
    {"bad-tensor-offset-gap", REFUSED, "'b': offset 64, expected 32"},
    {"bad-tensor-offset-overlap", REFUSED, "offset 32, expected 64"},
    {"bad-tensor-offset-first", REFUSED, "offset 32, expected 0"},
    {"bad-tensor-offset-unaligned", REFUSED, "offset 12, expected 32"},
    {"bad-tensor-offset-max", REFUSED, "expected 0"},
    {"bad-tensor-offset-other-alignment", REFUSED, "offset 32, expected 64"},
    {"bad-tensor-short-name", REFUSED, "tensor's name: 20 bytes are needed, 19 are left"},
    {"bad-tensor-short-extent", REFUSED, "tensor 0 'tensor.weight': the file ends inside an extent"},
    {"bad-tensor-short-offset", REFUSED, "inside the offset"},
    {"bad-tensor-padding-missing", END_UNSEEN, "padding"},
};

#define N_EXPECTED (sizeof(expected) / sizeof(expected[0]))

struct bytes {
    char * data;
    size_t size;
};

static struct bytes read_corpus_file(const char * name) {
    char path[1024];
    snprintf(path, sizeof(path), "%s%s.gguf", CORPUS, name);
    FILE *       file = fopen(path, "rb");
    struct bytes out  = {malloc(1 << 16), 0};
    if (file == NULL || out.data == NULL) {
        harness_failed(__FILE__, __LINE__, "cannot read %s", path);
    } else {
        out.size = fread(out.data, 1, 1 << 16, file);
    }
    if (file != NULL) {
        fclose(file);
    }
    return out;
}

static size_t read_chunk(void * userdata, void * output, uint64_t offset, size_t n) {
    const struct bytes * bytes = userdata;
    if (offset >= bytes->size) {
        return 0;
    }
    const size_t left = bytes->size - (size_t) offset;
    const size_t got  = n < left ? n : left;
    memcpy(output, bytes->data + offset, got);
    return got;
}

/* The ways in. A callback's end is not known beforehand: it promises 1 TiB and then gives what it has. */
enum {
    WAY_BUFFER,
    WAY_FILE,
    WAY_FILE_OFFSET,
    WAY_CHUNKS_1,
    WAY_CHUNKS_3,
    WAY_CHUNKS_4096,
    WAY_NO_CHUNKS,
    WAY_TIGHT,
    N_WAYS
};

static struct gguf_context * open_file(struct bytes * bytes, size_t prefix, struct gguf_init_params params) {
    FILE * file = tmpfile();
    if (file == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < prefix; i++) {
        fputc('x', file);
    }
    fwrite(bytes->data, 1, bytes->size, file);
    fseek(file, (long) prefix, SEEK_SET);
    struct gguf_context * ctx = gguf_init_from_file_ptr(file, params);
    fclose(file);
    return ctx;
}

static struct gguf_context * open_way(int way, struct bytes * bytes, struct gguf_init_params params) {
    static const size_t chunks[N_WAYS] = {[WAY_CHUNKS_1] = 1, [WAY_CHUNKS_3] = 3, [WAY_CHUNKS_4096] = 4096};
    if (way == WAY_BUFFER) {
        return gguf_init_from_buffer(bytes->data, bytes->size, params);
    }
    if (way == WAY_FILE || way == WAY_FILE_OFFSET) {
        return open_file(bytes, way == WAY_FILE ? 0 : 7, params);
    }
    const uint64_t promised = way == WAY_TIGHT ? bytes->size : UINT64_C(1) << 40;
    return gguf_init_from_callback(read_chunk, bytes, chunks[way], promised, params);
}

static void check_text(const char * name, int way, const char * word) {
    const char * text = ggml_ext_last_error();
    CHECK_MSG(strncmp(text, "gguf: ", 6) == 0, "%s, way %d: text '%s'", name, way, text);
    /* Counts are compared with the bytes left, which a callback only bounds: there the end comes later, with another
     * text. */
    if (way <= WAY_FILE_OFFSET || way == WAY_TIGHT) {
        CHECK_MSG(strstr(text, word) != NULL, "%s, way %d: '%s' lacks '%s'", name, way, text, word);
    }
}

static void check_loads(const char * name, int way, struct bytes * bytes, bool no_alloc, bool with_tensors, bool loads,
                        const char * word) {
    struct ggml_context *   data   = (struct ggml_context *) bytes; /* must be overwritten */
    struct gguf_init_params params = {no_alloc, with_tensors ? &data : NULL};
    struct gguf_context *   ctx    = open_way(way, bytes, params);
    CHECK_MSG((ctx != NULL) == loads, "%s, way %d, no_alloc %d, tensors %d: %s", name, way, no_alloc, with_tensors,
              loads ? "should load" : "should be refused");
    if (with_tensors && !(way == WAY_BUFFER && bytes->size == 0)) {
        CHECK_MSG((data != NULL) == (ctx != NULL), "%s, way %d: tensors without a context or the reverse", name, way);
    }
    if (ctx == NULL && !loads) {
        check_text(name, way, word);
    }
    if (ctx != NULL) {
        gguf_free(ctx);
        if (with_tensors) {
            ggml_free(data);
        }
    }
}

static void quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

TEST(corpus_gives_what_the_table_says) {
    ggml_log_set(quiet, NULL);
    for (size_t i = 0; i < N_EXPECTED; i++) {
        struct bytes bytes = read_corpus_file(expected[i].name);
        for (int way = 0; way < N_WAYS; way++) {
            const char * word      = expected[i].word;
            const bool   end_known = way <= WAY_FILE_OFFSET || way == WAY_TIGHT;
            if (expected[i].outcome == END_UNSEEN && !end_known) {
                continue;
            }
            /* A file of the other byte order whose data matters gives no tensors without their data: a caller would
             * take the bytes in the file for numbers of this machine. */
            const bool swapped =
                strstr(expected[i].name, "other-order") != NULL && strstr(expected[i].name, "v2") == NULL;
            const bool meta = expected[i].outcome == LOADS || expected[i].outcome == META_ONLY;
            check_loads(expected[i].name, way, &bytes, true, false, meta, word);
            check_loads(expected[i].name, way, &bytes, false, false, meta, word);
            check_loads(expected[i].name, way, &bytes, true, true, meta && !swapped,
                        swapped && meta ? "other byte order" : word);
            if (expected[i].outcome == META_ONLY && !end_known) {
                continue; /* the promised terabyte would be allocated: the caller's bound is trusted for the data */
            }
            check_loads(expected[i].name, way, &bytes, false, true, expected[i].outcome == LOADS, word);
        }
        free(bytes.data);
    }
    ggml_log_set(NULL, NULL);
}

TEST(table_and_folder_agree) {
    DIR * folder = opendir(CORPUS);
    REQUIRE(folder != NULL);
    size_t n = 0;
    for (const struct dirent * entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const size_t length = strlen(entry->d_name);
        if (length <= 5 || strcmp(entry->d_name + length - 5, ".gguf") != 0) {
            continue;
        }
        n++;
        bool found = false;
        for (size_t i = 0; i < N_EXPECTED; i++) {
            found = found || (strlen(expected[i].name) == length - 5 &&
                              strncmp(expected[i].name, entry->d_name, length - 5) == 0);
        }
        CHECK_MSG(found, "%s is not in the table", entry->d_name);
    }
    closedir(folder);
    CHECK_MSG(n == N_EXPECTED, "%zu files, %zu rows", n, N_EXPECTED);
}

/* Every valid file cut at every length: it loads or is refused, and what it loads does not depend on the way. */
TEST(cut_anywhere) {
    ggml_log_set(quiet, NULL);
    for (size_t i = 0; i < N_EXPECTED; i++) {
        if (expected[i].outcome != LOADS && expected[i].outcome != META_ONLY) {
            continue;
        }
        struct bytes bytes = read_corpus_file(expected[i].name);
        for (size_t size = 1; size < bytes.size; size += size < 2048 ? 1 : 61) {
            struct bytes          cut  = {bytes.data, size};
            struct gguf_context * ctx  = open_way(WAY_BUFFER, &cut, (struct gguf_init_params){true, NULL});
            struct gguf_context * ctx2 = open_way(WAY_CHUNKS_3, &cut, (struct gguf_init_params){true, NULL});
            /* A callback's padding lies within what it promised. */
            CHECK_MSG(ctx == NULL || ctx2 != NULL, "%s cut to %zu bytes", expected[i].name, size);
            gguf_free(ctx);
            gguf_free(ctx2);
        }
        free(bytes.data);
    }
    ggml_log_set(NULL, NULL);
}
