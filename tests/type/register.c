/* SPDX-License-Identifier: MIT
 *
 * Formats added at run time: what registration accepts and refuses, that queries find them, and that many threads may
 * register and read at once.
 */
#include "type/register.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "ggml-ext.h"
#include "ggml.h"
#include "graft-module.h"
#include "harness.h"

static void to_float(const void * x, float * y, int64_t k) {
    const int8_t * values = x;
    for (int64_t i = 0; i < k; i++) {
        y[i] = (float) values[i] * 0.5f;
    }
}

static void from_float(const float * x, void * y, int64_t k) {
    int8_t * values = y;
    for (int64_t i = 0; i < k; i++) {
        values[i] = (int8_t) (x[i] * 2.0f);
    }
}

static void vec_dot(int64_t n, float * s, const void * x, const void * y) {
    (void) n, (void) x, (void) y;
    *s = 0.0f;
}

static struct ggml_ext_type_desc make(const char * name) {
    struct ggml_ext_type_desc desc;
    memset(&desc, 0, sizeof(desc));
    desc.size           = sizeof(desc);
    desc.name           = name;
    desc.block_elements = 4;
    desc.block_bytes    = 4;
    desc.to_float       = to_float;
    desc.from_float     = from_float;
    return desc;
}

static bool refused(const struct ggml_ext_type_desc * desc, const char * word) {
    enum ggml_type id     = GGML_TYPE_F32;
    const size_t   before = type_registered_count();
    const bool     failed = ggml_ext_register_type(desc, &id) != GGML_STATUS_SUCCESS;
    const char *   text   = ggml_ext_last_error();
    if (failed && strstr(text, word) == NULL) {
        fprintf(stderr, "  text without \"%s\": %s\n", word, text);
        return false;
    }
    return failed && id == GGML_TYPE_COUNT && type_registered_count() == before;
}

TEST(registered_format_is_a_format) {
    char                      name[] = "test.half_steps.v1";
    struct ggml_ext_type_desc desc   = make(name);
    enum ggml_type            id = GGML_TYPE_F32, found = GGML_TYPE_F32;
    desc.dot_type = GGML_TYPE_Q8_0;
    desc.vec_dot  = vec_dot;
    REQUIRE(ggml_ext_register_type(&desc, &id) == GGML_STATUS_SUCCESS);
    CHECK(ggml_ext_last_error()[0] == 0);
    memset(name, 'x', strlen(name)); /* strings are copied */
    memset(&desc, 0, sizeof(desc));
    CHECK((int) id >= GGML_EXT_TYPE_FIRST);
    CHECK(ggml_ext_type_by_name("test.half_steps.v1", &found) == GGML_STATUS_SUCCESS && found == id);
    CHECK(strcmp(ggml_type_name(id), "test.half_steps.v1") == 0);
    CHECK(ggml_blck_size(id) == 4 && ggml_type_size(id) == 4 && ggml_row_size(id, 12) == 12 && ggml_is_quantized(id));
    const struct type_row * row = type_row_get(id);
    REQUIRE(row != NULL && row->decode == to_float && row->encode == from_float && row->dot_type == GGML_TYPE_Q8_0);
    CHECK(graft_type_decoder(id) == to_float && type_row_by_name("test.half_steps.v1") == row);
    CHECK(type_row_at(type_row_count() - 1) == row && type_row_at(type_row_count()) == NULL);
    CHECK(type_registered_desc(id)->vec_dot == vec_dot && type_registered_desc(GGML_TYPE_F32) == NULL);

    const float x[8] = {1.0f, 2.0f, -3.5f, 0.5f, 4.0f, 5.0f, 6.0f, 7.0f};
    int8_t      y[8];
    float       back[8];
    CHECK(ggml_quantize_chunk(id, x, y, 0, 2, 4, NULL) == 8);
    row->decode(y, back, 8);
    CHECK(memcmp(x, back, sizeof(x)) == 0);
    CHECK(ggml_validate_row_data(id, y, 8) && !ggml_validate_row_data(id, y, 7));
}

TEST(refused_descriptors) {
    struct ggml_ext_type_desc desc = make("test.ok.v1");
    enum ggml_type            id   = GGML_TYPE_F32;
    REQUIRE(ggml_ext_register_type(&desc, &id) == GGML_STATUS_SUCCESS);
    CHECK(refused(&desc, "taken"));
    CHECK(ggml_blck_size(id) == 4);
    static const char * const builtin[] = {"q4_0", "f32", "q4_K"};
    for (int i = 0; i < 3; i++) {
        desc = make(builtin[i]);
        CHECK(refused(&desc, "taken"));
    }
    static const char * const bad[] = {"",
                                       "with space",
                                       "slash/",
                                       "\xC3\xA9",
                                       "semi;colon",
                                       NULL,
                                       "a2345678901234567890123456789012345678901234567890123456789012345"};
    for (int i = 0; i < 7; i++) {
        desc = make(bad[i]);
        CHECK_MSG(refused(&desc, "name"), "name %d", i);
    }
    desc      = make("test.size.v1");
    desc.size = sizeof(desc) - 1;
    CHECK(refused(&desc, "expected at least"));
    desc                = make("test.size.v1");
    desc.block_elements = 0;
    CHECK(refused(&desc, "test.size.v1"));
    desc.block_elements = (int64_t) 1 << 40;
    CHECK(refused(&desc, "test.size.v1"));
    desc             = make("test.size.v1");
    desc.block_bytes = 0;
    CHECK(refused(&desc, "test.size.v1"));
    desc.block_bytes = SIZE_MAX;
    CHECK(refused(&desc, "test.size.v1"));
    desc          = make("test.size.v1");
    desc.to_float = NULL;
    CHECK(refused(&desc, "to_float"));
    desc          = make("test.size.v1");
    desc.vec_dot  = vec_dot;
    desc.dot_type = GGML_TYPE_Q4_0;
    CHECK(refused(&desc, "dot product"));
    CHECK(refused(NULL, "desc"));
    desc = make("test.size.v1");
    CHECK(ggml_ext_register_type(&desc, NULL) == GGML_STATUS_FAILED);
    CHECK(ggml_ext_type_by_name("test.size.v1", &id) == GGML_STATUS_FAILED && id == GGML_TYPE_COUNT);
    CHECK(strstr(ggml_ext_last_error(), "test.size.v1") != NULL);
    CHECK(ggml_ext_type_by_name(NULL, &id) == GGML_STATUS_FAILED &&
          ggml_ext_type_by_name("f16", NULL) == GGML_STATUS_FAILED);
    CHECK(ggml_ext_type_by_name("f16", &id) == GGML_STATUS_SUCCESS && id == GGML_TYPE_F16);
}

/* A descriptor of a later version passes when what it adds is not set. */
TEST(longer_descriptor) {
    struct {
        struct ggml_ext_type_desc desc;
        unsigned char             later[16];
    } longer;
    enum ggml_type id;
    memset(&longer, 0, sizeof(longer));
    longer.desc      = make("test.longer.v1");
    longer.desc.size = sizeof(longer);
    longer.later[9]  = 1;
    CHECK(refused(&longer.desc, "newer"));
    longer.later[9] = 0;
    CHECK(ggml_ext_register_type(&longer.desc, &id) == GGML_STATUS_SUCCESS);
}

#define N_THREADS 8
#define N_EACH 50

static int n_won[N_THREADS];

static void * register_many(void * argument) {
    const int me = (int) (intptr_t) argument;
    for (int i = 0; i < N_EACH; i++) {
        char           name[GGML_EXT_MAX_NAME];
        enum ggml_type id;
        snprintf(name, sizeof(name), "test.shared_%d.v1", i);
        struct ggml_ext_type_desc desc = make(name);
        if (ggml_ext_register_type(&desc, &id) == GGML_STATUS_SUCCESS) {
            n_won[me]++;
        }
        if (type_row_by_name(name) == NULL || type_row_at(type_row_count() - 1) == NULL) {
            n_won[me] += 100000; /* a reader that misses a name fails the sum below */
        }
    }
    return NULL;
}

TEST(threads_register_each_name_once) {
    pthread_t    threads[N_THREADS];
    const size_t before = type_registered_count();
    int          won    = 0;
    for (int i = 0; i < N_THREADS; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, register_many, (void *) (intptr_t) i) == 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        won += n_won[i];
    }
    CHECK_MSG(won == N_EACH, "%d registrations of %d names", won, N_EACH);
    CHECK(type_registered_count() == before + N_EACH);
}
