/* SPDX-License-Identifier: MIT
 *
 * Writing: the bytes themselves, the three ways to write, tensor places under changes of type and alignment, and what
 * happens when data is missing or the disk is full.
 */
#include "harness.h"

#include "ggml-backend.h"
#include "ggml-ext.h"
#include "gguf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

struct file {
    char * data;
    size_t size;
};

/* An empty file when writing fails. */
static struct file written(const struct gguf_context * ctx, bool only_meta) {
    struct file out  = {malloc(1 << 20), 0};
    FILE *      file = tmpfile();
    if (file != NULL && out.data != NULL && gguf_write_to_file_ptr(ctx, file, only_meta)) {
        rewind(file);
        out.size = fread(out.data, 1, 1 << 20, file);
    }
    if (file != NULL) {
        fclose(file);
    }
    return out;
}

static struct ggml_tensor tensor_of(enum ggml_type type, int64_t ne0, int64_t ne1, const char * name, void * data) {
    struct ggml_tensor t = {.type = type, .ne = {ne0, ne1, 1, 1}, .data = data};
    t.nb[0]              = ggml_type_size(type);
    t.nb[1]              = ggml_row_size(type, ne0);
    t.nb[2] = t.nb[3] = t.nb[1] * (size_t) ne1;
    snprintf(t.name, sizeof(t.name), "%s", name);
    return t;
}

#define LITTLE_ENDIAN_HOST (*(const unsigned char *) &(const unsigned){1} == 1)

TEST(bytes_of_a_small_file) {
    if (!LITTLE_ENDIAN_HOST) {
        SKIP("the expected bytes are those of a little-endian machine");
    }
    static const unsigned char expected[] = {
        'G', 'G', 'U', 'F', 3, 0, 0,   0, 1,   0,   0, 0,    0,    0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0,
        0,   0,   0,   0,   0, 0, 'k', 2, 0,   0,   0, 0x34, 0x12, /* k = u16 0x1234 */
        1,   0,   0,   0,   0, 0, 0,   0, 's', 9,   0, 0,    0,    8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, /* s = array of 2
                                                                                                          strings */
        2,   0,   0,   0,   0, 0, 0,   0, 'a', 'b', 0, 0,    0,    0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        't', 2,   0,   0,   0, 3, 0,   0, 0,   0,   0, 0,    0,    2, 0, 0, 0, 0, 0, 0, 0, /* t: 3 x 2 */
        24,  0,   0,   0,   0, 0, 0,   0, 0,   0,   0, 0,                                  /* i8, offset 0 */
        0,   0,   0,   0,   0,                                                             /* up to 128 */
        1,   2,   3,   4,   5, 6, 0,   0, 0,   0,   0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,   0,   0,   0,   0, 0,
    };
    struct gguf_context * ctx       = gguf_init_empty();
    const char *          strings[] = {"ab", ""};
    char                  data[]    = {1, 2, 3, 4, 5, 6};
    struct ggml_tensor    t         = tensor_of(GGML_TYPE_I8, 3, 2, "t", data);
    gguf_set_val_u16(ctx, "k", 0x1234);
    gguf_set_arr_str(ctx, "s", strings, 2);
    gguf_add_tensor(ctx, &t);
    struct file all = written(ctx, false);
    CHECK(all.size == sizeof(expected) && memcmp(all.data, expected, all.size) == 0);
    struct file meta = written(ctx, true);
    CHECK(meta.size == 128 && memcmp(meta.data, expected, 128) == 0);

    /* The third way: room first, then data, then the description. */
    CHECK(gguf_get_meta_size(ctx) == 128);
    char buffer[128];
    gguf_get_meta_data(ctx, buffer);
    CHECK(memcmp(buffer, expected, 128) == 0);
    free(all.data);
    free(meta.data);
    gguf_free(ctx);
}

TEST(offsets_follow_type_and_alignment) {
    static float          data[256];
    struct gguf_context * ctx = gguf_init_empty();
    struct ggml_tensor    a   = tensor_of(GGML_TYPE_F32, 32, 2, "a", data);
    struct ggml_tensor    b   = tensor_of(GGML_TYPE_F32, 3, 1, "b", data);
    struct ggml_tensor    c   = tensor_of(GGML_TYPE_F32, 1, 1, "c", data);
    gguf_add_tensor(ctx, &a);
    gguf_add_tensor(ctx, &b);
    gguf_add_tensor(ctx, &c);
    CHECK(gguf_get_tensor_size(ctx, 0) == 256 && gguf_get_tensor_offset(ctx, 1) == 256 &&
          gguf_get_tensor_offset(ctx, 2) == 288);
    gguf_set_tensor_type(ctx, "a", GGML_TYPE_Q4_0);
    CHECK(gguf_get_tensor_type(ctx, 0) == GGML_TYPE_Q4_0 && gguf_get_tensor_size(ctx, 0) == 36);
    CHECK(gguf_get_tensor_offset(ctx, 1) == 64 && gguf_get_tensor_offset(ctx, 2) == 96);
    gguf_set_val_u32(ctx, "general.alignment", 256);
    CHECK(gguf_get_alignment(ctx) == 256 && gguf_get_tensor_offset(ctx, 1) == 256 &&
          gguf_get_tensor_offset(ctx, 2) == 512);
    gguf_set_tensor_data(ctx, "a", data);
    struct file           all   = written(ctx, false);
    struct gguf_context * again = gguf_init_from_buffer(all.data, all.size, (struct gguf_init_params){true, NULL});
    CHECK(again != NULL && gguf_get_data_offset(again) == 256 && all.size == 256 + 3 * 256);
    gguf_free(again);
    CHECK(gguf_remove_key(ctx, "general.alignment") == 0);
    CHECK(gguf_get_alignment(ctx) == 32 && gguf_get_tensor_offset(ctx, 2) == 96);
    free(all.data);
    gguf_free(ctx);
}

TEST(an_extent_of_0_is_kept) {
    struct gguf_context * ctx = gguf_init_empty();
    struct ggml_tensor    a   = tensor_of(GGML_TYPE_F32, 1, 0, "a", NULL);
    struct ggml_tensor    b   = tensor_of(GGML_TYPE_F32, 0, 1, "b", NULL);
    gguf_add_tensor(ctx, &a);
    gguf_add_tensor(ctx, &b);
    struct file           all   = written(ctx, false);
    struct ggml_context * data  = NULL;
    struct gguf_context * again = gguf_init_from_buffer(all.data, all.size, (struct gguf_init_params){false, &data});
    REQUIRE(again != NULL);
    CHECK(gguf_get_tensor_ne(again, 0)[0] == 1 && gguf_get_tensor_ne(again, 0)[1] == 0);
    CHECK(gguf_get_tensor_ne(again, 1)[0] == 0 && gguf_get_tensor_size(again, 0) == 0);
    CHECK(ggml_get_tensor(data, "a") != NULL && ggml_nelements(ggml_get_tensor(data, "a")) == 0);
    free(all.data);
    gguf_free(ctx);
    gguf_free(again);
    ggml_free(data);
}

/* Strings with zero bytes come through files and copies whole, though a C string shows only their begin. */
TEST(zero_bytes_in_strings) {
    static const char file[] =
        "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\10\0\0\0\3\0\0\0\0\0\0\0a\0b";
    if (!LITTLE_ENDIAN_HOST) {
        SKIP("the bytes are those of a little-endian file");
    }
    struct gguf_context * ctx = gguf_init_from_buffer(file, sizeof(file) - 1, (struct gguf_init_params){true, NULL});
    REQUIRE(ctx != NULL);
    CHECK(strcmp(gguf_get_val_str(ctx, 0), "a") == 0);
    struct gguf_context * copy = gguf_init_empty();
    gguf_set_kv(copy, ctx);
    struct file all = written(copy, true);
    CHECK(all.size == 64 && memcmp(all.data, file, sizeof(file) - 1) == 0);
    free(all.data);
    gguf_free(ctx);
    gguf_free(copy);
}

static void check_not_written(const struct gguf_context * ctx, const char * word) {
    struct file all = written(ctx, false);
    CHECK_MSG(all.size == 0, "written, though %s", word);
    CHECK_MSG(strstr(ggml_ext_last_error(), word) != NULL, "'%s' lacks '%s'", ggml_ext_last_error(), word);
    struct file meta = written(ctx, true);
    CHECK(meta.size > 0); /* the description alone needs no data */
    free(all.data);
    free(meta.data);
}

TEST(data_that_cannot_be_written) {
    static float data[64];
    ggml_log_set(quiet, NULL);
    struct gguf_context * ctx = gguf_init_empty();
    struct ggml_tensor    t   = tensor_of(GGML_TYPE_F32, 4, 2, "nothing", NULL);
    gguf_add_tensor(ctx, &t);
    check_not_written(ctx, "'nothing' has no data");
    gguf_set_tensor_data(ctx, "nothing", data);
    struct ggml_tensor strided = tensor_of(GGML_TYPE_F32, 4, 2, "strided", data);
    strided.nb[1]              = 32;
    strided.nb[2] = strided.nb[3] = 64;
    gguf_add_tensor(ctx, &strided);
    check_not_written(ctx, "'strided' is not contiguous");
    gguf_set_tensor_data(ctx, "strided", data);
    struct ggml_tensor changed = tensor_of(GGML_TYPE_F32, 32, 1, "changed", data);
    gguf_add_tensor(ctx, &changed);
    gguf_set_tensor_type(ctx, "changed", GGML_TYPE_F64);
    check_not_written(ctx, "'changed' was given type f64");
    gguf_set_tensor_data(ctx, "changed", data);
    struct file all = written(ctx, false);
    CHECK(all.size > 0);
    free(all.data);
    gguf_free(ctx);
    ggml_log_set(NULL, NULL);
}

TEST(files_that_cannot_be_written) {
    ggml_log_set(quiet, NULL);
    struct gguf_context * ctx = gguf_init_empty();
    CHECK(!gguf_write_to_file(ctx, "/nonexistent/folder/x.gguf", true));
    CHECK(strstr(ggml_ext_last_error(), "/nonexistent/folder/x.gguf") != NULL);
    CHECK(!gguf_write_to_file(ctx, NULL, true));
    CHECK(!gguf_write_to_file_ptr(ctx, NULL, true));
    if (access("/dev/full", W_OK) == 0) {
        CHECK(!gguf_write_to_file(ctx, "/dev/full", true)); /* found only when the buffer is flushed */
        CHECK(strstr(ggml_ext_last_error(), "/dev/full") != NULL);
    } else {
        harness_count_skipped("no /dev/full", 1);
    }
    gguf_free(ctx);
    ggml_log_set(NULL, NULL);
}

TEST(files_that_cannot_be_read) {
    ggml_log_set(quiet, NULL);
    const struct gguf_init_params params = {true, NULL};
    CHECK(gguf_init_from_file("/nonexistent.gguf", params) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "/nonexistent.gguf") != NULL);
    CHECK(gguf_init_from_file(NULL, params) == NULL);
    CHECK(gguf_init_from_file("/", params) == NULL); /* a folder */
    CHECK(gguf_init_from_file_ptr(NULL, params) == NULL);
    CHECK(gguf_init_from_buffer(NULL, 10, params) == NULL);
    CHECK(gguf_init_from_callback(NULL, NULL, 0, 100, params) == NULL);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    FILE * file = fdopen(ends[0], "rb");
    CHECK(gguf_init_from_file_ptr(file, params) == NULL); /* a pipe has no position */
    CHECK(strstr(ggml_ext_last_error(), "positioned") != NULL);
    fclose(file);
    close(ends[1]);
    ggml_log_set(NULL, NULL);
}

/* Data in a backend's buffer is fetched in pieces; data given afterwards comes from memory instead. */
TEST(data_in_a_buffer) {
    const int64_t         n = 700001; /* more than two pieces of 1 MiB, and no round number */
    struct ggml_context * data =
        ggml_init((struct ggml_init_params){.mem_size = ggml_tensor_overhead(), .no_alloc = true});
    struct ggml_tensor *  t = ggml_new_tensor_1d(data, GGML_TYPE_F32, n);
    ggml_backend_buffer_t buffer =
        ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), (size_t) n * sizeof(float) + 4096);
    float * values = malloc((size_t) n * sizeof(float));
    REQUIRE(t != NULL && buffer != NULL && values != NULL);
    REQUIRE(ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer)) == GGML_STATUS_SUCCESS);
    for (int64_t i = 0; i < n; i++) {
        values[i] = (float) i;
    }
    ggml_backend_tensor_set(t, values, 0, ggml_nbytes(t));
    ggml_set_name(t, "t");
    struct gguf_context * ctx = gguf_init_empty();
    gguf_add_tensor(ctx, t);
    for (int round = 0; round < 2; round++) {
        FILE * file = tmpfile();
        REQUIRE(file != NULL);
        CHECK(gguf_write_to_file_ptr(ctx, file, false));
        rewind(file);
        struct ggml_context * read  = NULL;
        struct gguf_context * again = gguf_init_from_file_ptr(file, (struct gguf_init_params){false, &read});
        fclose(file);
        REQUIRE(again != NULL);
        CHECK(memcmp(ggml_get_tensor(read, "t")->data, values, (size_t) n * sizeof(float)) == 0);
        gguf_free(again);
        ggml_free(read);
        values[n - 1] = -1.0f;
        gguf_set_tensor_data(ctx, "t", values);
    }
    gguf_free(ctx);
    ggml_backend_buffer_free(buffer);
    ggml_free(data);
    free(values);
}
