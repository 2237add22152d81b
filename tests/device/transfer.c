/* SPDX-License-Identifier: MIT
 *
 * Bytes into, out of and between tensors, on the host and on the test devices, whose memory has its bits flipped: the
 * plain one takes every fallback, the full one every entry of the module.
 */
#include "device/support.h"

enum { NE0 = 8, NE1 = 6, N = NE0 * NE1, GUARD = 64 };

/* Where a tensor lies: host (2), plain test device (0), full test device (1). A guard zone lies around it. */
struct place {
    ggml_backend_t        backend;
    ggml_backend_buffer_t buffer;
    struct ggml_context * ctx;
    struct ggml_tensor *  t;
};

static bool place_open(struct place * p, int where) {
    memset(p, 0, sizeof(*p));
    p->backend = where < 2 ? test_backend(where) : NULL;
    p->ctx     = test_context();
    p->t       = ggml_new_tensor_2d(p->ctx, GGML_TYPE_F32, NE0, NE1);
    ggml_set_name(p->t, "values");
    const size_t size = ggml_nbytes(p->t) + 2 * GUARD;
    p->buffer         = p->backend != NULL ? ggml_backend_alloc_buffer(p->backend, size)
                                           : ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
    if (p->buffer == NULL || (where < 2 && p->backend == NULL)) {
        return false;
    }
    ggml_backend_buffer_clear(p->buffer, 0xEE);
    return ggml_backend_tensor_alloc(p->buffer, p->t, (char *) ggml_backend_buffer_get_base(p->buffer) + GUARD) ==
           GGML_STATUS_SUCCESS;
}

static bool guards_intact(const struct place * p) {
    const unsigned char * base = ggml_backend_buffer_get_base(p->buffer);
    const unsigned char   mark = p->backend != NULL ? 0xEE ^ 0x5A : 0xEE;
    const size_t          size = ggml_backend_buffer_get_size(p->buffer);
    for (size_t i = 0; i < GUARD; i++) {
        if (base[i] != mark || base[size - 1 - i] != mark) {
            return false;
        }
    }
    return true;
}

static void place_close(struct place * p) {
    ggml_backend_buffer_free(p->buffer);
    ggml_backend_free(p->backend);
    ggml_free(p->ctx);
}

static void fill(float * x, float first) {
    for (int i = 0; i < N; i++) {
        x[i] = first + (float) i;
    }
}

TEST(set_get_memset_at_offsets) {
    for (int where = 0; where < 3; where++) {
        struct place p;
        float        in[N], out[N];
        REQUIRE(place_open(&p, where));
        fill(in, 100);
        ggml_backend_tensor_set(p.t, in, 0, sizeof(in));
        memset(out, 0, sizeof(out));
        ggml_backend_tensor_get(p.t, out, 0, sizeof(out));
        CHECK(memcmp(in, out, sizeof(in)) == 0);
        for (size_t offset = 0; offset < N; offset += 5) {
            for (size_t n = 0; n + offset <= N; n += 7) {
                const float other = (float) (offset * 1000 + n);
                float       back  = 0;
                ggml_backend_tensor_set(p.t, &other, offset * 4, 4);
                ggml_backend_tensor_get(p.t, &back, offset * 4, 4);
                CHECK(back == other);
                ggml_backend_tensor_set(p.t, in + offset, offset * 4, n * 4);
                ggml_backend_tensor_get(p.t, out, offset * 4, n * 4);
                CHECK(memcmp(in + offset, out, n * 4) == 0);
                ggml_backend_tensor_set(p.t, in, 0, sizeof(in));
            }
        }
        ggml_backend_tensor_memset(p.t, 0, 12, 20);
        ggml_backend_tensor_get(p.t, out, 0, sizeof(out));
        for (int i = 0; i < N; i++) {
            CHECK(out[i] == (i >= 3 && i < 8 ? 0.0f : in[i]));
        }
        CHECK(guards_intact(&p));
        place_close(&p);
    }
}

TEST(long_memset_without_an_entry) {
    ggml_backend_t        backend = test_backend(0);
    struct ggml_context * ctx     = test_context();
    struct ggml_tensor *  t       = ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 10007);
    static char           out[10007];
    REQUIRE(backend != NULL);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(backend, 10007);
    ggml_backend_tensor_alloc(buffer, t, ggml_backend_buffer_get_base(buffer));
    ggml_backend_tensor_memset(t, 3, 0, 10007);
    ggml_backend_tensor_memset(t, 9, 1, 10005);
    ggml_backend_tensor_get(t, out, 0, 10007);
    CHECK(out[0] == 3 && out[1] == 9 && out[4096] == 9 && out[10005] == 9 && out[10006] == 3);
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    ggml_free(ctx);
}

/* Moves n pieces both ways, with or without a backend's order, and checks each byte. */
static void check_2d(struct place * p, bool async, size_t offset, size_t size, size_t n, size_t stride_tensor,
                     size_t stride_data) {
    enum { BYTES = 4096 };
    static unsigned char data[BYTES], back[BYTES], whole[N * 4], expected[N * 4];
    for (int i = 0; i < BYTES; i++) {
        data[i] = (unsigned char) (i * 7 + 3);
    }
    memset(expected, 0xCC, sizeof(expected));
    memset(back, 0xDD, sizeof(back));
    ggml_backend_tensor_memset(p->t, 0xCC, 0, sizeof(whole));
    for (size_t i = 0; i < n; i++) {
        memcpy(expected + offset + i * stride_tensor, data + i * stride_data, size);
    }
    if (async) {
        ggml_backend_tensor_set_2d_async(p->backend, p->t, data, offset, size, n, stride_tensor, stride_data);
        ggml_backend_tensor_get_2d_async(p->backend, p->t, back, offset, size, n, stride_tensor, stride_data);
        ggml_backend_synchronize(p->backend);
    } else {
        ggml_backend_tensor_set_2d(p->t, data, offset, size, n, stride_tensor, stride_data);
        ggml_backend_tensor_get_2d(p->t, back, offset, size, n, stride_tensor, stride_data);
    }
    ggml_backend_tensor_get(p->t, whole, 0, sizeof(whole));
    CHECK_MSG(memcmp(whole, expected, sizeof(whole)) == 0, "set: offset %zu size %zu n %zu strides %zu %zu", offset,
              size, n, stride_tensor, stride_data);
    for (size_t i = 0; i < n; i++) {
        CHECK_MSG(memcmp(back + i * stride_data, data + i * stride_data, size) == 0, "get: piece %zu of %zu", i, n);
        if (stride_data > size) {
            CHECK(back[i * stride_data + size] == 0xDD);
        }
    }
}

TEST(pieces_at_strides) {
    for (int where = 0; where < 3; where++) {
        for (int async = 0; async < (where < 2 ? 2 : 1); async++) {
            struct place p;
            REQUIRE(place_open(&p, where));
            check_2d(&p, async != 0, 0, NE0 * 4, NE1, NE0 * 4, NE0 * 4);
            check_2d(&p, async != 0, 4, 8, NE1, NE0 * 4, 40);
            check_2d(&p, async != 0, 3, 5, 3, 17, 5);
            check_2d(&p, async != 0, 0, N * 4, 1, 0, 0);
            check_2d(&p, async != 0, N * 4 - 1, 1, 1, 999, 999);
            check_2d(&p, async != 0, 0, 0, 4, 16, 16);
            check_2d(&p, async != 0, 12, 4, 0, 16, 16);
            CHECK(guards_intact(&p));
            const struct test_counters * c = test_counters();
            if (where == 1) {
                CHECK(async ? c->set_2d_async == 3 && c->get_2d_async == 3 && c->set_async == 2 && c->get_async == 2
                            : c->set_2d == 3 && c->get_2d == 3);
            } else if (where == 0) {
                CHECK(c->set_2d == 0 && c->set_async == 0 && c->synchronize == 0 && c->set > 0);
            }
            place_close(&p);
        }
    }
}

TEST(async_of_a_backend_without_it) {
    struct place p;
    float        in[N], out[N] = {0};
    REQUIRE(place_open(&p, 0));
    fill(in, 1);
    ggml_backend_tensor_set_async(p.backend, p.t, in, 0, sizeof(in));
    ggml_backend_tensor_get_async(p.backend, p.t, out, 0, sizeof(out));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    place_close(&p);
    REQUIRE(place_open(&p, 1));
    ggml_backend_tensor_set_async(p.backend, p.t, in, 4, 8);
    ggml_backend_tensor_get_async(p.backend, p.t, out, 4, 8);
    CHECK(test_counters()->set_async == 1 && test_counters()->get_async == 1 && test_counters()->set == 0);
    place_close(&p);
}

/* ---- broken contracts ---- */

struct bad_range {
    struct ggml_tensor * t;
    size_t               offset, size, n, stride;
};

static float scrap[N];

static void set_bad(void * data) {
    const struct bad_range * bad = data;
    ggml_backend_tensor_set_2d(bad->t, scrap, bad->offset, bad->size, bad->n, bad->stride, 0);
}

static void get_bad(void * data) {
    const struct bad_range * bad = data;
    ggml_backend_tensor_get_2d(bad->t, scrap, bad->offset, bad->size, bad->n, bad->stride, 0);
}

static void set_one(void * data) {
    const struct bad_range * bad = data;
    ggml_backend_tensor_set(bad->t, scrap, bad->offset, bad->size);
}

static void get_one(void * data) {
    const struct bad_range * bad = data;
    ggml_backend_tensor_get(bad->t, scrap, bad->offset, bad->size);
}

static void memset_one(void * data) {
    const struct bad_range * bad = data;
    ggml_backend_tensor_memset(bad->t, 0, bad->offset, bad->size);
}

TEST(ranges_outside_the_tensor_end_the_process) {
    struct place p;
    REQUIRE(place_open(&p, 2));
    struct bad_range wrong[] = {
        {p.t, 0, N * 4 + 1, 1, 0},    {p.t, N * 4, 1, 1, 0},         {p.t, SIZE_MAX, 4, 1, 0},
        {p.t, 4, SIZE_MAX - 3, 1, 0}, {p.t, 0, 4, NE1 + 1, NE0 * 4}, {p.t, 32, 4, NE1, NE0 * 4},
        {p.t, 0, 4, 3, SIZE_MAX / 2}, {p.t, 0, 4, SIZE_MAX, 4},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(aborts_with(set_bad, &wrong[i], "'values' (f32 [8, 6, 1, 1])"));
        CHECK(aborts_with(get_bad, &wrong[i], "out of bounds"));
    }
    CHECK(aborts_with(set_one, &wrong[0], "'values'"));
    CHECK(aborts_with(get_one, &wrong[0], "'values'"));
    CHECK(aborts_with(memset_one, &wrong[0], "'values'"));

    struct bad_range unplaced = {ggml_set_name(ggml_new_tensor_1d(p.ctx, GGML_TYPE_F32, 4), "nowhere"), 0, 16, 1, 0};
    CHECK(aborts_with(set_one, &unplaced, "'nowhere'"));
    CHECK(aborts_with(get_one, &unplaced, "no buffer"));
    place_close(&p);
}

/* ---- tensor to tensor ---- */

TEST(copies_between_all_places) {
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            for (int refuse = 0; refuse < 2; refuse++) {
                struct place a, b;
                float        in[N], out[N] = {0};
                REQUIRE(place_open(&a, from) && place_open(&b, to));
                fill(in, (float) (from * 1000 + to * 100));
                ggml_backend_tensor_set(a.t, in, 0, sizeof(in));
                test_counters()->refuse_copy = refuse;
                ggml_backend_tensor_copy(a.t, b.t);
                ggml_backend_tensor_get(b.t, out, 0, sizeof(out));
                CHECK_MSG(memcmp(in, out, sizeof(in)) == 0, "from %d to %d", from, to);
                CHECK(guards_intact(&a) && guards_intact(&b));
                if (from == 1 && to == 1) {
                    CHECK(test_counters()->copy == !refuse);
                }
                place_close(&a);
                place_close(&b);
            }
        }
    }
}

TEST(copies_in_the_order_of_backends) {
    for (int from = 0; from < 2; from++) {
        for (int to = 0; to < 2; to++) {
            for (int refuse = 0; refuse < 2; refuse++) {
                struct place a, b;
                float        in[N], out[N] = {0};
                REQUIRE(place_open(&a, from) && place_open(&b, to));
                fill(in, 5);
                ggml_backend_tensor_set(a.t, in, 0, sizeof(in));
                test_counters()->refuse_copy = refuse;
                test_counters()->synchronize = 0;
                ggml_backend_tensor_copy_async(a.backend, b.backend, a.t, b.t);
                CHECK(test_counters()->copy_async == (to == 1 && !refuse));
                if (to == 1 && refuse) { /* the fallback must not overtake what either stream has to do */
                    CHECK(test_counters()->synchronize == (from == 1) + 1);
                }
                ggml_backend_synchronize(b.backend);
                ggml_backend_tensor_get(b.t, out, 0, sizeof(out));
                CHECK(memcmp(in, out, sizeof(in)) == 0);
                place_close(&a);
                place_close(&b);
            }
        }
    }
}

TEST(copy_of_a_tensor_to_itself) {
    struct place p;
    float        in[N], out[N];
    REQUIRE(place_open(&p, 1));
    fill(in, 9);
    ggml_backend_tensor_set(p.t, in, 0, sizeof(in));
    memset(test_counters(), 0, sizeof(struct test_counters));
    ggml_backend_tensor_copy(p.t, p.t);
    ggml_backend_tensor_copy_async(p.backend, p.backend, p.t, p.t);
    CHECK(test_counters()->copy == 0 && test_counters()->copy_async == 0 && test_counters()->set == 0);
    ggml_backend_tensor_get(p.t, out, 0, sizeof(out));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    place_close(&p);
}

/* A column of a matrix: its strides reach over more bytes than its values. */
TEST(copy_of_a_strided_view_reaches_its_end) {
    for (int from = 0; from < 3; from++) {
        for (int to = 0; to < 3; to++) {
            struct place a, b;
            float        in[N], out[N];
            REQUIRE(place_open(&a, from) && place_open(&b, to));
            fill(in, 50);
            ggml_backend_tensor_set(a.t, in, 0, sizeof(in));
            fill(in, -50);
            ggml_backend_tensor_set(b.t, in, 0, sizeof(in));
            struct ggml_tensor * from_view = ggml_view_2d(a.ctx, a.t, 3, NE1, a.t->nb[1], 2 * sizeof(float));
            struct ggml_tensor * to_view   = ggml_view_2d(b.ctx, b.t, 3, NE1, b.t->nb[1], 2 * sizeof(float));
            CHECK(ggml_backend_view_init(from_view) == GGML_STATUS_SUCCESS);
            CHECK(ggml_backend_view_init(to_view) == GGML_STATUS_SUCCESS);
            ggml_backend_tensor_copy(from_view, to_view);
            ggml_backend_tensor_get(b.t, out, 0, sizeof(out));
            for (int i = 0; i < N; i++) { /* between the values of a view stand those of others */
                const bool copied = i % NE0 >= 2 && i % NE0 < 5;
                CHECK_MSG(out[i] == (copied ? 50.0f : -50.0f) + (float) i, "from %d to %d: value %d is %g", from, to, i,
                          (double) out[i]);
            }
            CHECK(guards_intact(&b));
            place_close(&a);
            place_close(&b);
        }
    }
}

/* The same into a tensor of its own with the view's strides, as the scheduler makes it; transposed, too. */
TEST(copy_of_a_view_to_its_own_place) {
    for (int transposed = 0; transposed < 2; transposed++) {
        for (int to = 0; to < 2; to++) {
            struct place a;
            float        in[N], value;
            REQUIRE(place_open(&a, 2));
            fill(in, 10);
            ggml_backend_tensor_set(a.t, in, 0, sizeof(in));
            struct ggml_tensor * view = ggml_view_2d(a.ctx, a.t, 3, NE1, a.t->nb[1], 4);
            CHECK(ggml_backend_view_init(view) == GGML_STATUS_SUCCESS);
            if (transposed) {
                view = ggml_transpose(a.ctx, a.t);
                CHECK(ggml_backend_view_init(view) == GGML_STATUS_SUCCESS);
            }
            struct ggml_tensor * own = ggml_dup_tensor(a.ctx, view);
            memcpy(own->nb, view->nb, sizeof(own->nb));

            ggml_backend_t backend = test_backend(to);
            const size_t   size = ggml_backend_buft_get_alloc_size(ggml_backend_get_default_buffer_type(backend), own);
            ggml_backend_buffer_t buffer = ggml_backend_alloc_buffer(backend, size);
            CHECK(size == (transposed ? N * 4 : ((NE1 - 1) * NE0 + 3) * 4));
            CHECK(ggml_backend_tensor_alloc(buffer, own, ggml_backend_buffer_get_base(buffer)) == GGML_STATUS_SUCCESS);
            ggml_backend_tensor_copy(view, own);
            for (int64_t i1 = 0; i1 < own->ne[1]; i1++) {
                for (int64_t i0 = 0; i0 < own->ne[0]; i0++) {
                    ggml_backend_tensor_get(own, &value, (size_t) i0 * own->nb[0] + (size_t) i1 * own->nb[1], 4);
                    CHECK(value == (transposed ? in[i0 * NE0 + i1] : in[i1 * NE0 + i0 + 1]));
                }
            }
            ggml_backend_buffer_free(buffer);
            ggml_backend_free(backend);
            place_close(&a);
        }
    }
}

static void copy_unlike(void * data) {
    struct ggml_tensor ** t = data;
    ggml_backend_tensor_copy(t[0], t[1]);
}

TEST(copies_of_unlike_tensors_end_the_process) {
    struct place p;
    REQUIRE(place_open(&p, 2));
    struct ggml_tensor * pair[2] = {p.t, ggml_set_name(ggml_new_tensor_1d(p.ctx, GGML_TYPE_F16, N), "other")};
    CHECK(aborts_with(copy_unlike, pair, "'other' (f16 [48, 1, 1, 1])"));
    place_close(&p);
}

/* Data in a context, without a buffer, is host memory. */
TEST(copy_from_a_context) {
    const struct ggml_init_params params = {.mem_size = 1 << 16, .mem_buffer = NULL, .no_alloc = false};
    struct ggml_context *         ctx    = ggml_init(params);
    struct ggml_tensor *          t      = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, NE0, NE1);
    struct place                  p;
    float                         out[N] = {0};
    REQUIRE(place_open(&p, 0));
    fill(t->data, 77);
    ggml_backend_tensor_copy(t, p.t);
    ggml_backend_tensor_get(p.t, out, 0, sizeof(out));
    CHECK(memcmp(out, t->data, sizeof(out)) == 0);
    fill(out, 11);
    ggml_backend_tensor_set(p.t, out, 0, sizeof(out));
    ggml_backend_tensor_copy(p.t, t);
    CHECK(memcmp(out, t->data, sizeof(out)) == 0);
    place_close(&p);
    ggml_free(ctx);
}
