/* SPDX-License-Identifier: MIT
 *
 * A number format that the application registered: files name it, and give it back under whatever id it has when they
 * are read.
 */
#include "harness.h"

#include "ggml-ext.h"
#include "gguf.h"

#include <stdlib.h>
#include <string.h>

static void decode(const void * x, float * y, int64_t k) {
    for (int64_t i = 0; i < k; i++) {
        y[i] = (float) ((const signed char *) x)[i / 4];
    }
}

static void quiet(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

static enum ggml_type registered(const char * name) {
    struct ggml_ext_type_desc desc = {
        .size = sizeof(desc), .name = name, .block_elements = 4, .block_bytes = 1, .to_float = decode};
    enum ggml_type id = GGML_TYPE_COUNT;
    CHECK_MSG(ggml_ext_register_type(&desc, &id) == GGML_STATUS_SUCCESS, "%s", ggml_ext_last_error());
    return id;
}

static void add(struct gguf_context * ctx, const char * name, enum ggml_type type, int64_t ne0, size_t row,
                void * data) {
    struct ggml_tensor t = {.type = type, .ne = {ne0, 1, 1, 1}, .data = data};
    t.nb[0]              = ggml_type_size(type);
    t.nb[1] = t.nb[2] = t.nb[3] = row;
    snprintf(t.name, sizeof(t.name), "%s", name);
    gguf_add_tensor(ctx, &t);
}

TEST(registered_type_by_name) {
    registered("test.before.v1"); /* so that the type's own id is not the first */
    const enum ggml_type  type    = registered("test.quarter.v1");
    char                  bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct gguf_context * ctx     = gguf_init_empty();
    gguf_set_val_str(ctx, "k", "v");
    add(ctx, "plain", GGML_TYPE_I8, 8, 8, bytes);
    add(ctx, "quarter", type, 32, 8, bytes);
    add(ctx, "again", type, 16, 4, bytes);
    CHECK(gguf_get_tensor_size(ctx, 1) == 8);

    char   file[1024];
    FILE * out = tmpfile();
    REQUIRE(out != NULL && gguf_write_to_file_ptr(ctx, out, false));
    rewind(out);
    const size_t size = fread(file, 1, sizeof(file), out);
    fclose(out);

    struct ggml_context * data  = NULL;
    struct gguf_context * again = gguf_init_from_buffer(file, size, (struct gguf_init_params){false, &data});
    REQUIRE(again != NULL);
    CHECK(gguf_get_n_kv(again) == 1 && gguf_get_n_tensors(again) == 3);
    CHECK(gguf_get_tensor_type(again, 0) == GGML_TYPE_I8);
    CHECK(gguf_get_tensor_type(again, 1) == type && gguf_get_tensor_type(again, 2) == type);
    CHECK(ggml_get_tensor(data, "quarter") != NULL && memcmp(ggml_get_tensor(data, "quarter")->data, bytes, 8) == 0);
    CHECK(gguf_get_meta_size(again) == gguf_get_meta_size(ctx));
    gguf_free(again);
    ggml_free(data);

    /* Under a name that nobody registered. */
    ggml_log_set(quiet, NULL);
    for (size_t i = 0; i + 15 <= size; i++) {
        if (memcmp(file + i, "test.quarter.v1", 15) == 0) {
            memcpy(file + i, "test.missing.v1", 15);
        }
    }
    CHECK(gguf_init_from_buffer(file, size, (struct gguf_init_params){true, NULL}) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "'quarter'") != NULL &&
          strstr(ggml_ext_last_error(), "'test.missing.v1'") != NULL);
    ggml_log_set(NULL, NULL);
    gguf_free(ctx);
}
