/* SPDX-License-Identifier: MIT
 *
 * Predicates on shapes and strides, by table.
 */
#include "ggml-impl.h"
#include "harness.h"

enum {
    C0 = 1, /* is_contiguous, is_contiguous_0 */
    C1 = 2,
    C2 = 4,
    T1 = 8, /* is_contiguous_to_1 ... */
    T2 = 16,
    T3 = 32,
    CA = 64, /* contiguously allocated */
    CR = 128, /* contiguous rows */
    CC = 256, /* contiguous channels */
    TR = 512, /* transposed */
    PE = 1024, /* permuted */
};

static int predicates(const struct ggml_tensor * t) {
    return (ggml_is_contiguous(t) ? C0 : 0) | (ggml_is_contiguous_1(t) ? C1 : 0) | (ggml_is_contiguous_2(t) ? C2 : 0) |
           (ggml_is_contiguous_to_1(t) ? T1 : 0) | (ggml_is_contiguous_to_2(t) ? T2 : 0) |
           (ggml_is_contiguous_to_3(t) ? T3 : 0) | (ggml_is_contiguously_allocated(t) ? CA : 0) |
           (ggml_is_contiguous_rows(t) ? CR : 0) | (ggml_is_contiguous_channels(t) ? CC : 0) |
           (ggml_is_transposed(t) ? TR : 0) | (ggml_is_permuted(t) ? PE : 0);
}

#define ALL_TO (T1 | T2 | T3)
#define ALL    (C0 | C1 | C2 | ALL_TO | CA | CR)

static const struct {
    const char *   what;
    enum ggml_type type;
    int64_t        ne[4];
    size_t         nb[4];
    int            expected;
} table[] = {
    { "contiguous", GGML_TYPE_F32, { 3, 4, 5, 6 }, { 4, 12, 48, 240 }, ALL },
    { "one value", GGML_TYPE_F32, { 1, 1, 1, 1 }, { 4, 4, 4, 4 }, ALL },
    { "one value with wild strides", GGML_TYPE_F32, { 1, 1, 1, 1 }, { 400, 300, 200, 100 }, ALL | TR | PE },
    { "padded rows, extents of one between",
      GGML_TYPE_F32,
      { 192, 1, 128, 1 },
      { 4, 1536, 1536, 196608 },
      C1 | C2 | T1 | T2 | CR },
    { "any stride where the extent is one",
      GGML_TYPE_F32,
      { 3, 1, 5, 6 },
      { 4, 999, 12, 60 },
      C0 | C2 | ALL_TO | CA | CR | PE },
    { "any stride at the first extent of one", GGML_TYPE_F32, { 1, 4, 5, 6 }, { 77, 4, 16, 80 }, ALL | TR | PE },
    { "padded rows", GGML_TYPE_F32, { 3, 4, 5, 6 }, { 4, 16, 64, 320 }, C1 | C2 | T1 | CR },
    { "padded rows and planes", GGML_TYPE_F32, { 3, 4, 5, 6 }, { 4, 16, 80, 400 }, C2 | T1 | CR },
    { "padded everywhere", GGML_TYPE_F32, { 3, 4, 5, 6 }, { 4, 16, 80, 500 }, T1 | CR },
    { "padded outer dimension", GGML_TYPE_F32, { 3, 4, 5, 6 }, { 4, 12, 48, 300 }, ALL_TO | CR },
    { "every other value", GGML_TYPE_F32, { 3, 4, 5, 6 }, { 8, 24, 96, 480 }, 0 },
    { "transposed", GGML_TYPE_F32, { 4, 3, 1, 1 }, { 12, 4, 48, 48 }, CA | TR | PE },
    { "transposed row", GGML_TYPE_F32, { 4, 1, 1, 1 }, { 4, 4, 16, 16 }, ALL },
    { "permuted 0 2 1 3", GGML_TYPE_F32, { 3, 5, 4, 6 }, { 4, 48, 12, 240 }, T1 | CA | CR | PE },
    { "channels first", GGML_TYPE_F32, { 5, 7, 3, 1 }, { 12, 60, 4, 420 }, CA | CC | PE },
    { "broadcast", GGML_TYPE_F32, { 3, 4, 1, 1 }, { 4, 0, 0, 0 }, C1 | C2 | T1 | CR | TR | PE },
    { "blocks", GGML_TYPE_Q4_0, { 64, 3, 2, 1 }, { 18, 36, 108, 216 }, ALL },
    { "one block, any first stride",
      GGML_TYPE_Q4_0,
      { 32, 3, 2, 1 },
      { 99, 18, 54, 108 },
      C0 | C1 | C2 | ALL_TO | CR | TR | PE },
    { "padded rows of blocks", GGML_TYPE_Q8_0, { 64, 3, 2, 1 }, { 34, 100, 300, 600 }, C1 | C2 | T1 | CR },
    { "empty", GGML_TYPE_F32, { 0, 4, 5, 6 }, { 4, 0, 0, 0 }, ALL | TR | PE },
    { "empty planes", GGML_TYPE_F32, { 3, 4, 0, 6 }, { 4, 12, 48, 0 }, ALL | PE },
};

TEST(strides_by_table) {
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct ggml_tensor t = { .type = table[i].type };
        memcpy(t.ne, table[i].ne, sizeof(t.ne));
        memcpy(t.nb, table[i].nb, sizeof(t.nb));
        const int found = predicates(&t);
        CHECK_MSG(found == table[i].expected, "%s: expected %x, found %x", table[i].what, (unsigned) table[i].expected,
                  (unsigned) found);
        CHECK(ggml_is_contiguous_0(&t) == ggml_is_contiguous(&t));
        harness_count_run(1);
    }
}

/* From the definition: bytes between the first and the end of the last element; a block of the last row ends its bytes.
 */
static size_t slow_nbytes(const struct ggml_tensor * t) {
    size_t        end   = 0;
    const int64_t block = ggml_blck_size(t->type);
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++) {
                for (int64_t i0 = 0; i0 < t->ne[0] / block; i0++) {
                    const size_t at = (size_t) i0 * t->nb[0] + (size_t) i1 * t->nb[1] + (size_t) i2 * t->nb[2] +
                                      (size_t) i3 * t->nb[3] + ggml_type_size(t->type);
                    end = at > end ? at : end;
                }
            }
        }
    }
    return end;
}

TEST(bytes_of_strided_tensors) {
    const enum ggml_type types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I8, GGML_TYPE_Q4_0, GGML_TYPE_Q6_K };
    uint64_t             seed    = 5;
    for (int round = 0; round < 2000; round++) {
        struct ggml_tensor t = { .type = types[harness_random(&seed) % 5] };
        t.ne[0]              = (int64_t) (harness_random(&seed) % 4) * ggml_blck_size(t.type);
        t.nb[0] = ggml_type_size(t.type) * (ggml_blck_size(t.type) > 1 ? 1 : 1 + harness_random(&seed) % 3);
        for (int i = 1; i < 4; i++) {
            t.ne[i] = (int64_t) (harness_random(&seed) % 4);
            t.nb[i] = harness_random(&seed) % 1000;
        }
        CHECK_MSG(ggml_nbytes(&t) == slow_nbytes(&t), "round %d: %zu, expected %zu", round, ggml_nbytes(&t),
                  slow_nbytes(&t));
    }
}

TEST(dimensions) {
    struct ggml_tensor t = { .ne = { 1, 1, 1, 1 } };
    CHECK(ggml_is_scalar(&t) && ggml_is_vector(&t) && ggml_is_matrix(&t) && ggml_is_3d(&t) && ggml_n_dims(&t) == 1);
    t.ne[0] = 5;
    CHECK(!ggml_is_scalar(&t) && ggml_is_vector(&t) && ggml_n_dims(&t) == 1);
    t.ne[1] = 5;
    CHECK(!ggml_is_vector(&t) && ggml_is_matrix(&t) && ggml_n_dims(&t) == 2 && ggml_nelements(&t) == 25 &&
          ggml_nrows(&t) == 5);
    t.ne[2] = 2;
    CHECK(!ggml_is_matrix(&t) && ggml_is_3d(&t) && ggml_n_dims(&t) == 3);
    t.ne[3] = 2;
    CHECK(!ggml_is_3d(&t) && ggml_n_dims(&t) == 4 && ggml_nelements(&t) == 100 && ggml_nrows(&t) == 20);
    t.ne[3] = 0;
    CHECK(ggml_n_dims(&t) == 3 && ggml_is_empty(&t) && !ggml_is_3d(&t));
}

TEST(repetition) {
    const struct ggml_tensor a = { .ne = { 2, 1, 3, 1 } }, b = { .ne = { 4, 5, 3, 1 } }, c = { .ne = { 4, 5, 4, 1 } };
    const struct ggml_tensor none = { .ne = { 4, 0, 3, 1 } };
    CHECK(ggml_can_repeat(&a, &b) && !ggml_can_repeat(&a, &c) && !ggml_can_repeat(&b, &a) && ggml_can_repeat(&a, &a));
    CHECK(ggml_can_repeat(&none, &none) && !ggml_can_repeat(&none, &b) && ggml_can_repeat(&a, &none));
    CHECK(ggml_are_same_shape(&a, &a) && !ggml_are_same_shape(&b, &c));
}
