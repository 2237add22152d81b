/* SPDX-License-Identifier: MIT
 *
 * Every micro-kernel of kernels_gemm.inc: panel decoders against the formats' decoders, GEMMs and one-row products
 * against sums in double, the activation encoder against the scalar one; below, at and above the tile sizes; inputs end
 * at a page that must not be touched, outputs lie between guards. With GRAFT_BENCH=1 the kernels are then timed.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "graft-module.h"
#include "harness.h"
#include "kernel/kernel.h"
#include "pack/layout.h"

static uint64_t seed = 1;

/* ---- memory whose end is the end of the last page that may be touched ---- */

struct fence {
    char * base;
    size_t size;
    char * data;
};

static struct fence fence_new(size_t size) {
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    struct fence f    = { .size = (size + page - 1) / page * page + 2 * page };
    f.base            = mmap(NULL, f.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(f.base, page, PROT_NONE);
    mprotect(f.base + f.size - page, page, PROT_NONE);
    f.data = f.base + f.size - page - size;
    return f;
}

static void fence_free(struct fence * f) {
    munmap(f->base, f->size);
}

static void fill_floats(float * x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        x[i] = harness_random_float(&seed, -1, 1);
    }
}

/* Rows of a format: encoded where there is an encoder, random bytes with tame scales elsewhere would prove less. */
static bool fill_rows(enum ggml_type type, char * rows, int64_t n, int64_t k) {
    const ggml_from_float_t encode = graft_type_encoder(type);
    float *                 x      = malloc((size_t) k * sizeof(float));
    for (int64_t j = 0; j < n && encode != NULL; j++) {
        fill_floats(x, k);
        for (int64_t l = 0; l < k && j % 3 == 1; l++) {
            x[l] = x[l] * 0.5f + 0.75f; /* far from symmetric */
        }
        encode(x, rows + (size_t) j * ggml_row_size(type, k), k);
    }
    free(x);
    return encode != NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Best time of one call in nanoseconds. */
#define BEST_NS(call, result)                                      \
    do {                                                           \
        (result) = INFINITY;                                       \
        for (int round_ = 0; round_ < 60; round_++) {              \
            const double start_ = now();                           \
            for (int i_ = 0; i_ < 4; i_++) {                       \
                call;                                              \
            }                                                      \
            (result) = fmin((result), (now() - start_) / 4 * 1e9); \
        }                                                          \
    } while (0)

static bool benchmark(void) {
    const char * value = getenv("GRAFT_BENCH");
    return value != NULL && strcmp(value, "1") == 0;
}

static bool usable(enum cpu_isa isa, const char * function) {
    if (!cpu_isa_available(isa)) {
        char reason[128];
        snprintf(reason, sizeof(reason), "%s: this processor lacks %s", function, cpu_isa_name(isa));
        harness_count_skipped(reason, 1);
        return false;
    }
    return true;
}

/* ---- panels ---- */

static float bf16_value(uint16_t h) {
    const uint32_t bits = (uint32_t) h << 16;
    float          f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static void check_panel(const char * name, enum ggml_type type, cpu_panel_f32_fn f32, cpu_panel_bf16_fn bf16) {
    const ggml_to_float_t decode = graft_type_decoder(type);
    const int64_t         block  = ggml_blck_size(type);
    for (int64_t k = block == 1 ? 0 : block; k <= 1024; k += block == 1 ? 13 : block) {
        struct fence row  = fence_new(ggml_row_size(type, k));
        struct fence out  = fence_new((size_t) k * (f32 != NULL ? 4 : 2));
        float *      want = malloc((size_t) k * sizeof(float) + 1);
        if (!fill_rows(type, row.data, 1, k)) {
            harness_count_skipped("the format has no encoder", 1);
        } else {
            double worst = 0;
            decode(row.data, want, k);
            if (f32 != NULL) {
                f32(k, row.data, (float *) out.data);
            } else {
                bf16(k, row.data, (uint16_t *) out.data);
            }
            for (int64_t l = 0; l < k; l++) {
                const float  got   = f32 != NULL ? ((float *) out.data)[l] : bf16_value(((uint16_t *) out.data)[l]);
                const double bound = f32 != NULL ? 2e-7 : 1.0 / 256;
                worst              = fmax(worst, fabs((double) got - want[l]) / (bound * fabs(want[l]) + 1e-7));
            }
            CHECK_MSG(worst <= 1.0, "%s: k %d: error %.3g of the bound", name, (int) k, worst);
            harness_count_run(1);
            if (k == 1024 && benchmark()) {
                double ns;
                if (f32 != NULL) {
                    BEST_NS(f32(k, row.data, (float *) out.data), ns);
                } else {
                    BEST_NS(bf16(k, row.data, (uint16_t *) out.data), ns);
                }
                printf("%-36s %8.3f ns a value\n", name, ns / (double) k);
            }
        }
        free(want);
        fence_free(&row);
        fence_free(&out);
    }
}

/* ---- GEMM ---- */

static int64_t round_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

static void check_gemm_shape(const char * name, const struct cpu_gemm_kernel * g, bool bf16, int64_t k, int64_t n,
                             int64_t m, int how) {
    const size_t  size   = bf16 ? 2 : 4;
    const int64_t padded = round_up(k, g->k_align), blocks = round_up(m, 16) / 16, tile_rows = round_up(n, g->n_tile);
    const size_t  panel_stride = (size_t) round_up(padded * (int64_t) size, 64),
                 pack_stride   = (size_t) padded * size * 16;
    const bool    across = how & CPU_GEMM_ACROSS, add = how & CPU_GEMM_ADD;
    const int64_t c_rows = across ? n : m, c_cols = across ? m : n;
    const size_t  c_stride = (size_t) c_cols + 3;
    struct fence  panel = fence_new(panel_stride * (size_t) tile_rows), pack = fence_new(pack_stride * (size_t) blocks);
    struct fence  x = fence_new((size_t) (m * k) * 4), c = fence_new((size_t) c_rows * c_stride * 4);
    float *       w = malloc((size_t) (n * k) * 4 + 1), *before = malloc((size_t) c_rows * c_stride * 4 + 1);
    fill_floats((float *) x.data, m * k);
    fill_floats(w, n * k);
    memset(panel.data, 0xff, panel_stride * (size_t) tile_rows);
    for (int64_t j = 0; j < n; j++) {
        g->row(k, w + j * k, panel.data + (size_t) j * panel_stride);
        for (int64_t l = 0; l < k && bf16; l++) {
            w[j * k + l] = ggml_bf16_to_fp32(ggml_fp32_to_bf16(w[j * k + l]));
        }
    }
    memset(pack.data, 0xff, pack_stride * (size_t) blocks);
    for (int64_t i = 0; i < m; i += 16) {
        const float * rows[16] = { NULL };
        for (int64_t r = 0; r < 16 && i + r < m; r++) {
            rows[r] = (float *) x.data + (i + r) * k;
        }
        g->pack(k, m - i < 16 ? m - i : 16, rows, pack.data + (size_t) (i / 16) * pack_stride);
    }
    fill_floats((float *) c.data, c_rows * (int64_t) c_stride);
    memcpy(before, c.data, (size_t) c_rows * c_stride * 4);
    g->multiply(padded, n, m, panel.data, panel_stride, pack.data, pack_stride, (float *) c.data, c_stride, how);
    double worst = 0;
    for (int64_t at = 0; at < c_rows * (int64_t) c_stride; at++) {
        const int64_t row = at / (int64_t) c_stride, col = at % (int64_t) c_stride, i = across ? col : row,
                      j = across ? row : col;
        const float got = ((float *) c.data)[at], old = before[at];
        if (col >= c_cols) {
            CHECK_MSG(got == old, "%s: wrote beside row %d", name, (int) row);
        } else {
            double sum = add ? old : 0, sizes = fabs(sum);
            for (int64_t l = 0; l < k; l++) {
                float v = ((float *) x.data)[i * k + l];
                v       = bf16 ? ggml_bf16_to_fp32(ggml_fp32_to_bf16(v)) : v;
                sum += (double) v * w[j * k + l];
                sizes += fabs((double) v * w[j * k + l]);
            }
            const double error = fabs(got - sum) / (3e-7 * (1 + (double) k / 256) * sizes + 1e-30);
            worst              = error > worst || isnan(error) ? error : worst;
        }
    }
    CHECK_MSG(worst <= 1.0, "%s: k %d n %d m %d: error %.3g of the bound", name, (int) k, (int) n, (int) m, worst);
    harness_count_run(1);
    free(w);
    free(before);
    fence_free(&panel);
    fence_free(&pack);
    fence_free(&x);
    fence_free(&c);
}

static void bench_gemm(const char * name, const struct cpu_gemm_kernel * g, bool bf16) {
    const int64_t k = 576, n = 96, m = 512;
    const size_t  row   = (size_t) k * (bf16 ? 2 : 4);
    char *        panel = calloc((size_t) n + 16, row + 64), *pack = calloc((size_t) m, row);
    float *       c = calloc((size_t) (n * m), 4);
    double        ns;
    if (g->native) {
        BEST_NS(g->multiply(k, n, m, panel, row + 64, pack, row * 16, c, (size_t) n, 0), ns);
        printf("%-36s %8.1f GFLOP/s\n", name, 2.0 * (double) (k * n * m) / ns);
    }
    free(panel);
    free(pack);
    free(c);
}

static void check_gemm(const char * name, const struct cpu_gemm_kernel * g, bool bf16) {
    static const int64_t ks[] = { 0, 1, 2, 31, 32, 33, 64, 300 };
    static const int64_t ns[] = { 1, 5, 11, 12, 13, 16, 17, 24, 25, 33 };
    static const int64_t ms[] = { 1, 2, 15, 16, 17, 31, 32, 33, 49, 65 };
    for (int k = 0; k < 8; k++) {
        for (int n = 0; n < 10; n++) {
            for (int m = 0; m < 10; m++) {
                check_gemm_shape(name, g, bf16, ks[k], ns[n], ms[m], (k + n + m) % 4);
            }
        }
    }
    if (benchmark()) {
        bench_gemm(name, g, bf16);
    }
}

/* ---- one-row products ---- */

static void encode_act(const struct cpu_gemv_kernel * g, const float * x, int64_t k, void * act) {
    if (g->act == CPU_ACT_F32) {
        memcpy(act, x, (size_t) k * sizeof(float));
    } else {
        act_q16__scalar(k, x, act);
    }
}

static void check_gemv_shape(const char * name, enum ggml_type type, const struct cpu_gemv_kernel * g, int64_t k,
                             int64_t n) {
    const size_t row_size = ggml_row_size(type, k);
    const size_t act_size =
        g->act == CPU_ACT_F32 ? (size_t) k * 4 : (size_t) ((k + 255) / 256) * sizeof(struct cpu_act_q16);
    struct fence w = fence_new(row_size * (size_t) n), act = fence_new(act_size), y = fence_new((size_t) n * 4);
    float *      x = malloc((size_t) k * 4 + 1), *row = malloc((size_t) k * 4 + 1);
    if (!fill_rows(type, w.data, n, k)) {
        harness_count_skipped("the format has no encoder", 1);
    } else {
        fill_floats(x, k);
        encode_act(g, x, k, act.data);
        memset(y.data, 0xff, (size_t) n * 4);
        g->multiply(k, n, w.data, row_size, act.data, (float *) y.data);
        double worst = 0;
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, sizes = 0;
            graft_type_decoder(type)(w.data + (size_t) j * row_size, row, k);
            for (int64_t l = 0; l < k; l++) {
                sum += (double) row[l] * x[l];
                sizes += fabs(row[l]);
            }
            const double bound = g->act == CPU_ACT_F32 ? 1e-6 : 2e-5;
            const double error = fabs(((float *) y.data)[j] - sum) / (bound * sizes + 1e-30);
            worst              = error > worst || isnan(error) ? error : worst;
        }
        CHECK_MSG(worst <= 1.0, "%s: k %d n %d: error %.3g of the bound", name, (int) k, (int) n, worst);
        harness_count_run(1);
        if (k == 1536 && benchmark()) {
            double ns;
            BEST_NS(g->multiply(k, n, w.data, row_size, act.data, (float *) y.data), ns);
            printf("%-36s %8.1f GFLOP/s %6.1f GB/s\n", name, 2.0 * (double) (k * n) / ns,
                   (double) row_size * (double) n / ns);
        }
    }
    free(x);
    free(row);
    fence_free(&w);
    fence_free(&act);
    fence_free(&y);
}

static void check_gemv(const char * name, enum ggml_type type, const struct cpu_gemv_kernel * g) {
    const int64_t block = ggml_blck_size(type);
    for (int64_t k = block; k <= (block == 256 ? 1024 : 608); k += block == 1 ? 7 : block) {
        check_gemv_shape(name, type, g, k, 1 + k % 7);
    }
    if (benchmark()) {
        check_gemv_shape(name, type, g, 1536, 400);
    }
}

/* ---- packed weights ---- */

static void check_packed_panel(const char * name, enum ggml_type type, cpu_panel_f32_fn f32, cpu_panel_bf16_fn bf16) {
    const int64_t block = ggml_blck_size(type);
    for (int64_t k = block; k <= 3 * block; k += block) {
        const size_t row_size = ggml_row_size(type, k);
        char *       rows     = malloc(row_size * 16);
        struct fence packed = fence_new(row_size * 16), out = fence_new((size_t) k * 16 * (f32 != NULL ? 4 : 2));
        float *      want = malloc((size_t) k * sizeof(float));
        REQUIRE(fill_rows(type, rows, 16, k));
        pack_group(type, rows, packed.data, row_size);
        if (f32 != NULL) {
            f32(k, packed.data, (float *) out.data);
        } else {
            bf16(k, packed.data, (uint16_t *) out.data);
        }
        double worst = 0;
        for (int64_t j = 0; j < 16; j++) {
            graft_type_decoder(type)(rows + (size_t) j * row_size, want, k);
            for (int64_t l = 0; l < k; l++) {
                const float  got   = f32 != NULL ? ((float *) out.data)[l * 16 + j]
                                                 : bf16_value(((uint16_t *) out.data)[(l / 2 * 16 + j) * 2 + l % 2]);
                const double bound = f32 != NULL ? 2e-7 : 1.0 / 256;
                worst              = fmax(worst, fabs((double) got - want[l]) / (bound * fabs(want[l]) + 1e-7));
            }
        }
        CHECK_MSG(worst <= 1.0, "%s: k %d: error %.3g of the bound", name, (int) k, worst);
        harness_count_run(1);
        free(rows);
        free(want);
        fence_free(&packed);
        fence_free(&out);
    }
}

/* Against the same rows unpacked, which check_gemv has compared with sums in double: equal but for the order of the
 * sums. */
static void check_gemv_packed(const char * name, enum ggml_type type, const struct cpu_gemv_kernel * g) {
    const int64_t block = ggml_blck_size(type);
    for (int64_t k = block; k <= (block == 256 ? 1024 : 608); k += block) {
        for (int64_t n = 16; n <= 48; n += 16) {
            const size_t row_size = ggml_row_size(type, k);
            char *       rows     = malloc(row_size * (size_t) n);
            struct fence packed   = fence_new(row_size * (size_t) n),
                         act      = fence_new((size_t) ((k + 255) / 256) * sizeof(struct cpu_act_q16));
            struct fence y        = fence_new((size_t) n * 4);
            float *      x = malloc((size_t) k * 4), *row = malloc((size_t) k * 4);
            REQUIRE(fill_rows(type, rows, n, k));
            for (int64_t j = 0; j < n; j += 16) {
                pack_group(type, rows + (size_t) j * row_size, packed.data + (size_t) j * row_size, row_size);
            }
            fill_floats(x, k);
            encode_act(g, x, k, act.data);
            memset(y.data, 0xff, (size_t) n * 4);
            g->multiply(k, n, packed.data, row_size, act.data, (float *) y.data);
            double worst = 0;
            for (int64_t j = 0; j < n; j++) {
                double sum = 0, sizes = 0;
                graft_type_decoder(type)(rows + (size_t) j * row_size, row, k);
                for (int64_t l = 0; l < k; l++) {
                    sum += (double) row[l] * x[l];
                    sizes += fabs(row[l]);
                }
                const double error = fabs(((float *) y.data)[j] - sum) / (2e-5 * sizes + 1e-30);
                worst              = error > worst || isnan(error) ? error : worst;
            }
            CHECK_MSG(worst <= 1.0, "%s: k %d n %d: error %.3g of the bound", name, (int) k, (int) n, worst);
            harness_count_run(1);
            free(rows);
            free(x);
            free(row);
            fence_free(&packed);
            fence_free(&act);
            fence_free(&y);
        }
    }
    if (benchmark()) {
        const int64_t      k = 1536, n = 400;
        const size_t       row_size = ggml_row_size(type, k);
        char *             w        = calloc((size_t) n, row_size);
        float *            x = calloc((size_t) k, 4), *y = malloc((size_t) n * 4);
        struct cpu_act_q16 act[8];
        double             ns;
        encode_act(g, x, k, act);
        BEST_NS(g->multiply(k, n, w, row_size, act, y), ns);
        printf("%-36s %8.1f GFLOP/s %6.1f GB/s\n", name, 2.0 * (double) (k * n) / ns,
               (double) row_size * (double) n / ns);
        free(w);
        free(x);
        free(y);
    }
}

TEST(packed_layout) { /* the original bytes come back */
    int formats = 0;
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        if (pack_format((enum ggml_type) t)) {
            const size_t size = ggml_type_size((enum ggml_type) t) * 3;
            char *       rows = malloc(size * 16), *back = malloc(size * 16);
            struct fence packed = fence_new(size * 16);
            for (size_t i = 0; i < size * 16; i++) {
                rows[i] = (char) harness_random(&seed);
            }
            pack_group((enum ggml_type) t, rows, packed.data, size);
            pack_ungroup((enum ggml_type) t, packed.data, back, size);
            CHECK_MSG(memcmp(rows, back, size * 16) == 0, "%s: other bytes came back",
                      ggml_type_name((enum ggml_type) t));
            CHECK(memcmp(rows, packed.data, size * 16) != 0);
            free(rows);
            free(back);
            fence_free(&packed);
            formats++;
        }
    }
    CHECK(formats > 0);
    harness_count_run(formats);
}

/* ---- activations ---- */

static void check_act(const char * name, void (*encode)(int64_t, const float *, struct cpu_act_q16 *)) {
    static const float scales[] = { 1.0f, 0.0f, 1e-44f, 1e-31f, 1e30f };
    for (int s = 0; s < 5; s++) {
        for (int64_t k = 1; k <= 600; k += 37) {
            const size_t size = (size_t) ((k + 255) / 256) * sizeof(struct cpu_act_q16);
            struct fence x = fence_new((size_t) k * 4), out = fence_new(size), want = fence_new(size);
            for (int64_t l = 0; l < k; l++) {
                ((float *) x.data)[l] = scales[s] * harness_random_float(&seed, -1, 1);
            }
            memset(out.data, 0x55, size);
            encode(k, (const float *) x.data, (struct cpu_act_q16 *) out.data);
            act_q16__scalar(k, (const float *) x.data, (struct cpu_act_q16 *) want.data);
            CHECK_MSG(memcmp(out.data, want.data, size) == 0, "%s: k %d, scale %g: not the scalar bytes", name, (int) k,
                      (double) scales[s]);
            ((float *) x.data)[k / 2] = s % 2 ? INFINITY : NAN;
            encode(k, (const float *) x.data, (struct cpu_act_q16 *) out.data);
            CHECK(isnan(((struct cpu_act_q16 *) out.data)[k / 2 / 256].scale));
            harness_count_run(1);
            fence_free(&x);
            fence_free(&out);
            fence_free(&want);
        }
    }
    if (benchmark()) {
        float *            x = malloc(2048 * 4);
        struct cpu_act_q16 out[8];
        double             ns;
        fill_floats(x, 2048);
        BEST_NS(encode(2048, x, out), ns);
        printf("%-36s %8.3f ns a value\n", name, ns / 2048);
        free(x);
    }
}

/* ---- all lines ---- */

#define SLOT_INDEX(slot, array) \
    ((enum ggml_type)((offsetof(struct cpu_kernels, slot) - offsetof(struct cpu_kernels, gemm.array)) / sizeof(void *)))

#define LINE_panel_f32(slot, function) \
    check_panel(#function, SLOT_INDEX(slot, panel_f32), (cpu_panel_f32_fn) FUNCTION(function), NULL)
#define LINE_panel_bf16(slot, function) \
    check_panel(#function, SLOT_INDEX(slot, panel_bf16), NULL, (cpu_panel_bf16_fn) FUNCTION(function))
#define LINE_packed_f32(slot, function) \
    check_packed_panel(#function, SLOT_INDEX(slot, packed_f32), (cpu_panel_f32_fn) FUNCTION(function), NULL)
#define LINE_packed_bf16(slot, function) \
    check_packed_panel(#function, SLOT_INDEX(slot, packed_bf16), NULL, (cpu_panel_bf16_fn) FUNCTION(function))
#define LINE_gemm(slot, function)                                                    \
    check_gemm(#function, (const struct cpu_gemm_kernel *) (const void *) &function, \
               ((const struct cpu_gemm_kernel *) (const void *) &function)->group == 2)
#define LINE_gemv(slot, function) \
    check_gemv(#function, SLOT_INDEX(slot, gemv), (const struct cpu_gemv_kernel *) (const void *) &function)
#define LINE_gemv_packed(slot, function)                        \
    check_gemv_packed(#function, SLOT_INDEX(slot, gemv_packed), \
                      (const struct cpu_gemv_kernel *) (const void *) &function)
#define LINE_act(slot, function) \
    check_act(#function, (void (*)(int64_t, const float *, struct cpu_act_q16 *)) FUNCTION(function))
#define FUNCTION(function) (void (*)(void))(uintptr_t) & function

/* Runs the lines of one family: the others' branches are never reached. */
#define KERNEL(family, slot, isa, function)                                 \
    if (strcmp(#family, wanted) == 0 && usable(CPU_ISA_##isa, #function)) { \
        LINE_##family(slot, function);                                      \
    }

static void check_family(const char * wanted) {
    cpu_kernels_init();
#include "kernel/kernels_gemm.inc"
}

TEST(panels_f32) {
    check_family("panel_f32");
}
TEST(panels_bf16) {
    check_family("panel_bf16");
}
TEST(packed_panels) {
    check_family("packed_f32");
    check_family("packed_bf16");
}
TEST(gemms) {
    check_family("gemm");
}
TEST(one_row_products) {
    check_family("gemv");
}
TEST(packed_one_row_products) {
    check_family("gemv_packed");
}
TEST(activations) {
    check_family("act");
}
