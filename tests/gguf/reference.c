/* SPDX-License-Identifier: MIT
 *
 * Files that other programs wrote (tests/data/gguf): they read as their authors meant, in both byte orders, and are
 * written back byte for byte.
 */
#include "harness.h"

#include "gguf.h"

#include <stdlib.h>
#include <string.h>

#define DATA GRAFT_TEST_DATA "/gguf/"

struct file {
    char * data;
    size_t size;
};

static struct file read_file(const char * path) {
    FILE *      file = fopen(path, "rb");
    struct file out  = {malloc(1 << 20), 0};
    if (file != NULL && out.data != NULL) {
        out.size = fread(out.data, 1, 1 << 20, file);
    }
    if (file != NULL) {
        fclose(file);
    }
    return out;
}

/* Writes a context to a temporary file and reads that. */
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

static void check_identical(const char * name) {
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", DATA, name);
    struct ggml_context * data   = NULL;
    struct gguf_context * ctx    = gguf_init_from_file(path, (struct gguf_init_params){false, &data});
    struct file           before = read_file(path);
    REQUIRE(ctx != NULL && before.size > 0);
    struct file after = written(ctx, false);
    CHECK_MSG(after.size == before.size && memcmp(after.data, before.data, after.size) == 0,
              "%s is written back differently", name);
    struct file meta = written(ctx, true);
    CHECK(meta.size == gguf_get_data_offset(ctx) && memcmp(meta.data, before.data, meta.size) == 0);
    CHECK(meta.size == gguf_get_meta_size(ctx));
    free(before.data);
    free(after.data);
    free(meta.data);
    gguf_free(ctx);
    ggml_free(data);
}

TEST(written_back_byte_for_byte) {
    check_identical("peer.gguf");
    check_identical("python-little.gguf");
}

TEST(tensors_of_the_peer) {
    struct ggml_context * data = NULL;
    struct gguf_context * ctx  = gguf_init_from_file(DATA "peer.gguf", (struct gguf_init_params){false, &data});
    REQUIRE(ctx != NULL);
    CHECK(gguf_get_version(ctx) == 3 && gguf_get_data_offset(ctx) == 800 && gguf_get_n_tensors(ctx) == 5);
    struct ggml_tensor * blob = ggml_get_first_tensor(data);
    CHECK(strcmp(blob->name, "GGUF tensor data binary blob") == 0);
    CHECK(blob->type == GGML_TYPE_I8 && blob->ne[0] == 1248 - 800);
    struct ggml_tensor * t = ggml_get_next_tensor(data, blob);
    for (int64_t i = 0; i < 5; i++, t = ggml_get_next_tensor(data, t)) {
        REQUIRE(t != NULL);
        CHECK(strcmp(t->name, gguf_get_tensor_name(ctx, i)) == 0 && gguf_find_tensor(ctx, t->name) == i);
        CHECK(t->type == gguf_get_tensor_type(ctx, i) && ggml_nbytes(t) == gguf_get_tensor_size(ctx, i));
        CHECK(memcmp(t->ne, gguf_get_tensor_ne(ctx, i), sizeof(t->ne)) == 0);
        CHECK((char *) t->data == (char *) blob->data + gguf_get_tensor_offset(ctx, i));
        for (size_t k = 0; k < ggml_nbytes(t); k++) { /* the pattern that the author wrote */
            CHECK(((unsigned char *) t->data)[k] == (((size_t) i * 31 + k * 7) & 63));
        }
    }
    CHECK(t == NULL && !ggml_get_no_alloc(data));
    gguf_free(ctx);
    ggml_free(data);
}

TEST(no_alloc_gives_bare_tensors) {
    struct ggml_context * data = NULL;
    struct gguf_context * ctx  = gguf_init_from_file(DATA "peer.gguf", (struct gguf_init_params){true, &data});
    REQUIRE(ctx != NULL);
    struct ggml_tensor * t = ggml_get_first_tensor(data);
    REQUIRE(t != NULL);
    CHECK(strcmp(t->name, "f32") == 0 && t->data == NULL && t->ne[0] == 5 && t->ne[1] == 3);
    CHECK(ggml_get_no_alloc(data));
    gguf_free(ctx);
    ggml_free(data);
}

static void check_same_value(const struct gguf_context * a, const struct gguf_context * b, int64_t i) {
    static const size_t sizes[GGUF_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    CHECK(strcmp(gguf_get_key(a, i), gguf_get_key(b, i)) == 0);
    REQUIRE(gguf_get_kv_type(a, i) == gguf_get_kv_type(b, i) && gguf_get_arr_n(a, i) == gguf_get_arr_n(b, i));
    const enum gguf_type kind = gguf_get_kv_type(a, i);
    const enum gguf_type type = kind == GGUF_TYPE_ARRAY ? gguf_get_arr_type(a, i) : kind;
    for (size_t k = 0; type == GGUF_TYPE_STRING && k < gguf_get_arr_n(a, i); k++) {
        CHECK(strcmp(gguf_get_arr_str(a, i, k), gguf_get_arr_str(b, i, k)) == 0);
    }
    if (type != GGUF_TYPE_STRING) {
        CHECK_MSG(memcmp(gguf_get_arr_data(a, i), gguf_get_arr_data(b, i), gguf_get_arr_n(a, i) * sizes[type]) == 0,
                  "%s", gguf_get_key(a, i));
    }
}

TEST(both_byte_orders_are_the_same) {
    struct ggml_context * little_data = NULL;
    struct ggml_context * big_data    = NULL;
    struct gguf_context * little =
        gguf_init_from_file(DATA "python-little.gguf", (struct gguf_init_params){false, &little_data});
    struct gguf_context * big =
        gguf_init_from_file(DATA "python-big.gguf", (struct gguf_init_params){false, &big_data});
    REQUIRE(little != NULL && big != NULL);
    REQUIRE(gguf_get_n_kv(little) == gguf_get_n_kv(big) && gguf_get_n_tensors(big) == 7);
    for (int64_t i = 0; i < gguf_get_n_kv(little); i++) {
        check_same_value(little, big, i);
    }
    CHECK(gguf_get_val_u32(big, gguf_find_key(big, "key.u32")) == 4000000000u);
    CHECK(gguf_get_val_f64(big, gguf_find_key(big, "key.f64")) == -2.25);
    struct ggml_tensor * a = ggml_get_first_tensor(little_data);
    struct ggml_tensor * b = ggml_get_first_tensor(big_data);
    for (; a != NULL && b != NULL; a = ggml_get_next_tensor(little_data, a), b = ggml_get_next_tensor(big_data, b)) {
        CHECK(strcmp(a->name, b->name) == 0 && a->type == b->type && ggml_are_same_shape(a, b));
        CHECK_MSG(memcmp(a->data, b->data, ggml_nbytes(a)) == 0, "%s", a->name);
    }
    CHECK(a == NULL && b == NULL);
    const struct ggml_tensor * f = ggml_get_tensor(big_data, "f32.weight");
    REQUIRE(f != NULL);
    CHECK(((const float *) f->data)[0] == -0.75f && ((const float *) f->data)[11] == 2.0f);
    const struct file native = written(big, false); /* what was read is written in the order of this machine */
    const struct file origin = read_file(DATA "python-little.gguf");
    CHECK(native.size == origin.size && memcmp(native.data, origin.data, native.size) == 0);
    free(native.data);
    free(origin.data);
    gguf_free(little);
    gguf_free(big);
    ggml_free(little_data);
    ggml_free(big_data);
}
