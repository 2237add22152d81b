/* SPDX-License-Identifier: MIT
 *
 * Every line of kernels_vec.inc against the scalar function of the same slot: lengths below, at and above the vector
 * width, edge values, in place, with inaccessible pages behind inputs and results, and bit for bit the same wherever an
 * element stands. Functions of one number are compared with F64 as well. `kernel_vec --bench` times all lines instead.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ggml-impl.h"
#include "harness.h"
#include "kernel/kernel.h"

typedef void (*any_fn)(void);

/* How a family is called, and what its arrays look like. Inputs and results are bytes here. */
struct family {
    const char * name;
    int          n_in;
    int          in_size[4];  /* bytes for each of n */
    int          out_size;    /* bytes for each of n; 0: one double */
    int          n_out;       /* results of that size each */
    bool         f32;         /* results are floats, compared with a bound; else bits */
    bool         in_place;    /* result over input 0 is allowed */
    bool         accumulates; /* the result is an input as well */
    double       ulps, absolute;
    void (*call)(any_fn fn, int64_t n, void * const * out, const void * const * in);
};

static const float parameters[4] = {0.7f, 0.31f, 0.5f, -1e-6f};

#define CALL(name, type, ...)                                                                             \
    static void call_##name(any_fn fn, int64_t n, void * const * out, const void * const * in) {          \
        (void) in;                                                                                        \
        ((__typeof__(((struct cpu_vec_kernels *) 0)->type)) fn) __VA_ARGS__;                              \
    }

CALL(widen, f16_to_f32, (n, out[0], in[0]))
CALL(narrow, f32_to_f16, (n, out[0], in[0]))
CALL(binary, add, (n, out[0], in[0], in[1]))
CALL(map, sqr, (n, out[0], in[0]))
CALL(glu, glu[0], (n, out[0], in[0], in[1], 1.702f, 7.0f))
CALL(fill, fill, (n, out[0], 3.25f))
CALL(mad, mad, (n, out[0], in[0], 0.37f))
CALL(clamp, clamp, (n, out[0], in[0], -0.5f, 2.0f))
CALL(leaky_relu, leaky_relu, (n, out[0], in[0], 0.1f))
CALL(xielu, xielu, (n, out[0], in[0], parameters))
CALL(rotate_adjacent, rotate_adjacent, (n, out[0], in[0], in[1], in[2]))
CALL(rotate_halves, rotate_halves, (n, out[0], out[1], in[0], in[1], in[2], in[3]))
CALL(sin_cos, sin_cos, (n, out[0], out[1], in[0], 1.25f))

static void call_scale(any_fn fn, int64_t n, void * const * out, const void * const * in) {
    __typeof__(cpu_kernels.vec.scale) scale = (__typeof__(cpu_kernels.vec.scale)) fn;
    scale(n / 2, out[0], in[0], 1.7f, 0.0f);
    scale(n - n / 2, (float *) out[0] + n / 2, (const float *) in[0] + n / 2, 1.7f, 0.3f);
}

#define CALL_SUM(name, type, ...)                                                                          \
    static void call_##name(any_fn fn, int64_t n, void * const * out, const void * const * in) {           \
        *(double *) out[0] = (double) ((__typeof__(((struct cpu_vec_kernels *) 0)->type)) fn) __VA_ARGS__; \
    }

CALL_SUM(sum, sum, (n, in[0]))
CALL_SUM(sum_squares, sum_squares, (n, in[0], 0.125f))
CALL_SUM(dot, dot, (n, in[0], in[1]))
CALL_SUM(max, max, (n, in[0]))

static void call_scale_mask(any_fn fn, int64_t n, void * const * out, const void * const * in) {
    __typeof__(cpu_kernels.vec.scale_mask) f = (__typeof__(cpu_kernels.vec.scale_mask)) fn;
    const int64_t half = n / 2; /* with and without a mask */
    const float   a    = f(half, out[0], in[0], 0.3f, NULL, 1.0f);
    const float   b    = f(n - half, (float *) out[0] + half, (const float *) in[0] + half, 0.3f, (const float *) in[1] + half, 0.5f);
    float         max  = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        max = fmaxf(max, ((const float *) out[0])[i]);
    }
    CHECK_MSG(fmaxf(a, b) == max, "scale_mask: maximum %g for %g", (double) fmaxf(a, b), (double) max);
}

static void call_exp_sum(any_fn fn, int64_t n, void * const * out, const void * const * in) {
    ((__typeof__(cpu_kernels.vec.exp_sum)) fn)(n, out[0], in[0], 1.5f);
}

static const struct family families[] = {
    {"vec_f16_to_f32", 1, {2}, 4, 1, true, false, false, 0, 0, call_widen},
    {"vec_bf16_to_f32", 1, {2}, 4, 1, true, false, false, 0, 0, call_widen},
    {"vec_f32_to_f16", 1, {4}, 2, 1, false, false, false, 0, 0, call_narrow},
    {"vec_f32_to_bf16", 1, {4}, 2, 1, false, false, false, 0, 0, call_narrow},
    {"vec_binary", 2, {4, 4}, 4, 1, true, true, false, 0, 0, call_binary},
    {"vec_silu_back", 2, {4, 4}, 4, 1, true, true, false, 4, 1e-6, call_binary},
    {"vec_map", 1, {4}, 4, 1, true, true, false, 4, 1e-37, call_map},
    {"vec_glu", 2, {4, 4}, 4, 1, true, true, false, 8, 2e-6, call_glu},
    {"vec_fill", 0, {0}, 4, 1, true, false, false, 0, 0, call_fill},
    {"vec_scale", 1, {4}, 4, 1, true, true, false, 0, 0, call_scale},
    {"vec_mad", 1, {4}, 4, 1, true, false, true, 0, 0, call_mad},
    {"vec_clamp", 1, {4}, 4, 1, true, true, false, 0, 0, call_clamp},
    {"vec_leaky_relu", 1, {4}, 4, 1, true, true, false, 0, 0, call_leaky_relu},
    {"vec_xielu", 1, {4}, 4, 1, true, true, false, 4, 2e-7, call_xielu},
    {"vec_sum", 1, {4}, 0, 1, true, false, false, 0, 0, call_sum},
    {"vec_sum_squares", 1, {4}, 0, 1, true, false, false, 0, 0, call_sum_squares},
    {"vec_dot", 2, {4, 4}, 0, 1, true, false, false, 0, 0, call_dot},
    {"vec_max", 1, {4}, 0, 1, true, false, false, 0, 0, call_max},
    {"vec_scale_mask", 2, {4, 4}, 4, 1, true, true, false, 1, 1e-37, call_scale_mask},
    {"vec_exp_sum", 1, {4}, 4, 1, true, true, false, 2, 1e-37, call_exp_sum},
    {"vec_sin_cos", 1, {8}, 4, 2, true, false, false, 1, 2.5e-7, call_sin_cos},
    {"vec_rotate_adjacent", 3, {8, 4, 4}, 8, 1, true, true, false, 1, 4e-6, call_rotate_adjacent},
    {"vec_rotate_halves", 4, {4, 4, 4, 4}, 4, 2, true, true, false, 1, 4e-6, call_rotate_halves},
};

struct line {
    const struct family * family;
    const char *          slot;
    enum cpu_isa          isa;
    any_fn                fn, scalar;
};

#define MAX_LINES 1024
static struct line lines[MAX_LINES];
static int         n_lines;

static void add_line(const char * family, const char * slot, enum cpu_isa isa, any_fn fn) {
    struct line line = {NULL, slot, isa, fn, NULL};
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (strcmp(families[i].name, family) == 0) {
            line.family = &families[i];
        }
    }
    for (int i = 0; i < n_lines; i++) {
        if (strcmp(lines[i].slot, slot) == 0 && lines[i].isa == CPU_ISA_SCALAR) {
            line.scalar = lines[i].fn;
        }
    }
    if (isa == CPU_ISA_SCALAR) {
        line.scalar = fn;
    }
    if (line.family == NULL || line.scalar == NULL || n_lines == MAX_LINES) {
        fprintf(stderr, "kernels_vec.inc: %s (%s) has no test or no scalar line before it\n", slot, family);
        exit(2);
    }
    lines[n_lines++] = line;
}

static void collect_lines(void) {
    if (n_lines > 0) {
        return;
    }
#define KERNEL(family, slot, isa, function) add_line(#family, #slot, CPU_ISA_##isa, (any_fn) function);
#include "kernel/kernels_vec.inc"
#undef KERNEL
}

/* ---- memory that ends at an inaccessible page ---- */

#define AREA (1 << 16)

static char * guarded_area(void) {
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    char *       p    = mmap(NULL, AREA + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + AREA, page, PROT_NONE) != 0) {
        fprintf(stderr, "no memory for guarded areas\n");
        exit(2);
    }
    return p;
}

static char * inputs[4], * outputs[2], * references[2];

static void make_areas(void) {
    for (int i = 0; inputs[i % 4] == NULL || references[i % 2] == NULL; i++) {
        inputs[i % 4]     = inputs[i % 4] ? inputs[i % 4] : guarded_area();
        outputs[i % 2]    = outputs[i % 2] ? outputs[i % 2] : guarded_area();
        references[i % 2] = references[i % 2] ? references[i % 2] : guarded_area();
    }
}

/* ---- values ---- */

static const float edges[] = {0.0f,   -0.0f,  1.0f,    -1.0f,   INFINITY, -INFINITY, NAN,      1e-45f,  -1e-45f, 1e-40f, 1.17549435e-38f,
                              3e38f,  -3e38f, 65504.f, 65519.f, 65520.f,  6e-8f,     -3e-8f,   2.9e-8f, 88.7f,   89.0f,  -87.4f,
                              -103.f, -104.f, -110.f,  0.5f,    -0.5f,    1.5f,      2.5f,     -2.5f,   1e9f,    -1e9f,  2e-4f,
                              20.0f,  20.1f,  9.0f,    -9.0f,   -13.2f,   8388609.f, -0.4999999f, 0.49999997f, 127.5f, 1e-30f};
#define N_EDGES ((int64_t) (sizeof(edges) / sizeof(edges[0])))

enum values { SMALL, WIDE, EDGES };

static float value(enum values kind, int64_t i, int k, uint64_t * seed) {
    switch (kind) {
        case SMALL:
            return harness_random_float(seed, -4.0f, 4.0f);
        case WIDE:
            return harness_random_float(seed, -1.0f, 1.0f) * exp2f(harness_random_float(seed, -20.0f, 7.0f));
        default:
            return edges[(i + 7 * k) % N_EDGES];
    }
}

static void fill_input(const struct family * f, int k, char * p, int64_t n, enum values kind, uint64_t * seed) {
    const bool f16  = strcmp(f->name, "vec_f16_to_f32") == 0;
    const bool bf16 = strcmp(f->name, "vec_bf16_to_f32") == 0;
    const bool f64  = strcmp(f->name, "vec_sin_cos") == 0;
    const int  per  = !f64 && f->in_size[k] == 8 ? 2 : 1;
    for (int64_t i = 0; i < n * per; i++) {
        const float v = value(kind, i, k, seed);
        if (f16) {
            ((ggml_fp16_t *) (void *) p)[i] = ggml_compute_fp32_to_fp16(v);
        } else if (bf16) {
            ((ggml_bf16_t *) (void *) p)[i] = ggml_compute_fp32_to_bf16(v);
        } else if (f64) {
            ((double *) (void *) p)[i] = (double) v * 1000.0;
        } else {
            ((float *) (void *) p)[i] = v;
        }
    }
}

static bool is_sum(const struct family * f) {
    return f->out_size == 0;
}

/* ---- comparison ---- */

static double ulp(float x) {
    const float a = fabsf(x);
    return a < 0x1p-126f ? 0x1p-149 : (double) (nextafterf(a, INFINITY) - a);
}

static bool close_floats(float a, float b, double ulps, double absolute) {
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    if (isinf(a) || isinf(b) || a == b) {
        return a == b || (isinf(a) && fabsf(b) > 3.4e38f) || (isinf(b) && fabsf(a) > 3.4e38f);
    }
    return fabs((double) a - (double) b) <= ulps * ulp(b) + absolute;
}

/* exp(-z) of a gate has the rounding of z, magnified by z. */
static bool is_gate(const char * slot) {
    return strstr(slot, "[GGML_UNARY_OP_GELU") != NULL || strstr(slot, "[GGML_UNARY_OP_SILU") != NULL;
}

static void compare(const struct line * line, int64_t n, enum values kind) {
    const struct family * f = line->family;
    if (is_sum(f)) {
        double magnitude = 0.0, got, want;
        memcpy(&got, outputs[0], sizeof(got));
        memcpy(&want, references[0], sizeof(want));
        for (int64_t i = 0; i < n; i++) {
            const double a = fabs((double) ((float *) (void *) (inputs[0] + AREA - 4 * n))[i]);
            const double b = f->n_in > 1 ? fabs((double) ((float *) (void *) (inputs[1] + AREA - 4 * n))[i]) : 1.0;
            magnitude += strcmp(f->name, "vec_sum_squares") == 0 ? (a + 0.125) * (a + 0.125) : a * b;
        }
        const bool same = isnan(want) ? isnan(got) : isinf(want) || isinf(got) ? true : fabs(got - want) <= 64 * 0x1p-24 * magnitude;
        CHECK_MSG(kind == EDGES || same, "%s %s n=%lld: %.9g, scalar %.9g", line->slot, cpu_isa_name(line->isa), (long long) n,
                  got, want);
        return;
    }
    for (int k = 0; k < f->n_out; k++) {
        const char * got  = outputs[k] + AREA - f->out_size * n;
        const char * want = references[k] + AREA - f->out_size * n;
        if (!f->f32) {
            CHECK_MSG(memcmp(got, want, (size_t) (f->out_size * n)) == 0, "%s %s n=%lld: bits differ", line->slot,
                      cpu_isa_name(line->isa), (long long) n);
            continue;
        }
        for (int64_t i = 0; i < n * f->out_size / 4; i++) {
            float a, b;
            memcpy(&a, got + 4 * i, 4);
            memcpy(&b, want + 4 * i, 4);
            if (kind != SMALL && strstr(f->name, "rotate") != NULL) {
                continue; /* sums of products of far values: infinite or cancelled, by the order of rounding */
            }
            CHECK_MSG(close_floats(a, b, f->ulps, is_gate(line->slot) ? 1e-7 : f->absolute),
                      "%s %s n=%lld [%lld]: %.9g, scalar %.9g", line->slot, cpu_isa_name(line->isa), (long long) n, (long long) i,
                      (double) a, (double) b);
        }
    }
}

/* ---- runs ---- */

static void run(const struct line * line, any_fn fn, char ** areas, int64_t n, bool over_input) {
    const struct family * f   = line->family;
    const void *          in[4];
    void *                out[2];
    for (int k = 0; k < 4; k++) {
        in[k] = inputs[k] + AREA - (k < f->n_in ? f->in_size[k] * n : 0);
    }
    for (int k = 0; k < f->n_out; k++) {
        out[k] = is_sum(f) ? areas[k] : areas[k] + AREA - f->out_size * n;
        if (over_input) {
            memcpy(out[k], in[k], (size_t) (f->out_size * n));
            in[k] = out[k];
        } else if (f->accumulates) {
            for (int64_t i = 0; i < n; i++) {
                ((float *) out[k])[i] = edges[i % 3 + 25];
            }
        }
    }
    f->call(fn, n, out, in);
}

static void check_line(const struct line * line) {
    static const int64_t  lengths[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1023, 1024, 1025, 2085};
    const struct family * f         = line->family;
    uint64_t              seed      = 1;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (enum values kind = SMALL; kind <= EDGES; kind++) {
            const int64_t n = lengths[i];
            for (int k = 0; k < f->n_in; k++) {
                fill_input(f, k, inputs[k] + AREA - f->in_size[k] * n, n, kind, &seed);
            }
            for (int k = 0; k < 2; k++) {
                memset(outputs[k], 0xAB, AREA);
            }
            run(line, line->fn, outputs, n, false);
            run(line, line->scalar, references, n, false);
            compare(line, n, kind);
            for (int k = 0; k < f->n_out && !is_sum(f); k++) {
                const char * first = outputs[k] + AREA - f->out_size * n;
                CHECK_MSG((uint8_t) first[-1] == 0xAB && (uint8_t) first[-2] == 0xAB, "%s %s n=%lld: wrote before the row",
                          line->slot, cpu_isa_name(line->isa), (long long) n);
            }
            if (f->in_place) {
                run(line, line->fn, references, n, true);
                for (int k = 0; k < f->n_out; k++) {
                    CHECK_MSG(memcmp(outputs[k] + AREA - f->out_size * n, references[k] + AREA - f->out_size * n,
                                     (size_t) (f->out_size * n)) == 0,
                              "%s %s n=%lld: in place differs", line->slot, cpu_isa_name(line->isa), (long long) n);
                }
            }
        }
    }
}

/* The same element alone, and in a row: the same bits. */
static void check_places(const struct line * line) {
    const struct family * f = line->family;
    enum { N = 83 };
    uint64_t seed = 5;
    if (is_sum(f) || f->call == call_scale || f->call == call_scale_mask) {
        return;
    }
    for (enum values kind = SMALL; kind <= EDGES; kind++) {
        char   whole[2][N * 8], alone[2][8];
        char   in_bytes[4][N * 8];
        void * out[2] = {whole[0], whole[1]};
        const void * in[4] = {in_bytes[0], in_bytes[1], in_bytes[2], in_bytes[3]};
        for (int k = 0; k < f->n_in; k++) {
            fill_input(f, k, in_bytes[k], N, kind, &seed);
        }
        memset(whole, 0, sizeof(whole));
        f->call(line->fn, N, out, in);
        for (int64_t i = 0; i < N; i++) {
            const void * one_in[4];
            void *       one_out[2] = {alone[0], alone[1]};
            for (int k = 0; k < 4; k++) {
                one_in[k] = in_bytes[k] + f->in_size[k] * i;
            }
            memset(alone, 0, sizeof(alone));
            f->call(line->fn, 1, one_out, one_in);
            for (int k = 0; k < f->n_out; k++) {
                CHECK_MSG(memcmp(alone[k], whole[k] + f->out_size * i, (size_t) f->out_size) == 0,
                          "%s %s: element %lld depends on its place", line->slot, cpu_isa_name(line->isa), (long long) i);
            }
        }
    }
}

TEST(lines) {
    collect_lines();
    make_areas();
    int n = 0;
    for (int i = 0; i < n_lines; i++) {
        if (!cpu_isa_available(lines[i].isa)) {
            harness_count_skipped("instruction set not on this processor", 1);
            continue;
        }
        check_line(&lines[i]);
        check_places(&lines[i]);
        n++;
    }
    harness_count_run(n);
}

/* ---- functions of one number, against F64 ---- */

static double d_silu(double x) {
    return x / (1.0 + exp(-x));
}
static double d_gelu(double x) {
    return x / (1.0 + exp(-2.0 * sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
}
static double d_gelu_quick(double x) {
    return x / (1.0 + exp(-1.702 * x));
}
static double d_gelu_erf(double x) {
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}
static double d_sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}
static double d_softplus(double x) {
    return x > 20.0 ? x : log1p(exp(x));
}
static double d_elu(double x) {
    return x > 0.0 ? x : expm1(x);
}

/* Relative bound, and one that grows with |x|: a gate exp(-z) has the rounding of z, magnified by z. */
static const struct {
    const char * slot;
    double (*exact)(double);
    double ulps, per_x;
} functions[] = {
    {"vec.unary[GGML_UNARY_OP_EXP]", exp, 2, 0},          {"vec.unary[GGML_UNARY_OP_EXPM1]", expm1, 3, 0},
    {"vec.unary[GGML_UNARY_OP_TANH]", tanh, 4, 0},        {"vec.unary[GGML_UNARY_OP_SIGMOID]", d_sigmoid, 4, 0},
    {"vec.unary[GGML_UNARY_OP_SILU]", d_silu, 4, 0},      {"vec.unary[GGML_UNARY_OP_GELU]", d_gelu, 4, 2},
    {"vec.unary[GGML_UNARY_OP_GELU_QUICK]", d_gelu_quick, 4, 2}, {"vec.unary[GGML_UNARY_OP_GELU_ERF]", d_gelu_erf, 6, 2},
    {"vec.unary[GGML_UNARY_OP_SOFTPLUS]", d_softplus, 4, 0},     {"vec.unary[GGML_UNARY_OP_ELU]", d_elu, 3, 0},
    {"vec.sqrt", sqrt, 0.5001, 0},                        {"vec.log", log, 3, 0},
    {"vec.sin", sin, 2, 0},                               {"vec.cos", cos, 2, 0},
};

TEST(exact) {
    enum { N = 1 << 16 };
    static float x[N], y[N];
    collect_lines();
    for (int i = 0; i < n_lines; i++) {
        for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
            if (strcmp(lines[i].slot, functions[k].slot) != 0 || !cpu_isa_available(lines[i].isa)) {
                continue;
            }
            uint64_t seed = 3;
            double   worst = 0.0;
            for (int j = 0; j < N; j++) {
                const float wide = harness_random_float(&seed, -1.0f, 1.0f) * exp2f(harness_random_float(&seed, -30.0f, 7.0f));
                x[j]             = j % 2 == 0 ? wide : -13.0f + 26.0f * (float) j / N;
            }
            ((cpu_vec_map_fn) lines[i].fn)(N, y, x);
            for (int j = 0; j < N; j++) {
                const double want = functions[k].exact((double) x[j]);
                if (isnan(want) || fabs(want) > 3.4e38) {
                    continue;
                }
                const double units = fmax(0.0, fabs((double) y[j] - want) - 1e-36) / ulp((float) want);
                const double bound = functions[k].ulps + functions[k].per_x * (double) x[j] * (double) x[j] * (1.0 + 0.1 * fabs((double) x[j]));
                worst              = fmax(worst, units / bound);
                CHECK_MSG(units <= bound, "%s %s(%.9g): %.9g for %.9g, %.1f ulp", lines[i].slot, cpu_isa_name(lines[i].isa),
                          (double) x[j], (double) y[j], want, units);
            }
            (void) worst;
        }
    }
}

TEST(dispatch_has_all_slots) {
    cpu_kernels_init();
#define KERNEL(family, slot, isa, function) CHECK(cpu_kernels.slot != NULL);
#include "kernel/kernels_vec.inc"
#undef KERNEL
}

/* ---- bench ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Nanoseconds a call at n = 2048, the least of several rounds. */
static double time_line(const struct line * line, int64_t n) {
    double best = 1e9;
    for (int round = 0; round < 7; round++) {
        const double begin = now();
        int          calls = 0;
        while (now() - begin < 0.002) {
            for (int i = 0; i < 20; i++) {
                run(line, line->fn, outputs, n, false);
            }
            calls += 20;
        }
        best = fmin(best, (now() - begin) / calls);
    }
    return best * 1e9;
}

/* Runs before main: the harness knows names of cases alone. */
__attribute__((constructor)) static void bench(int argc, char ** argv) {
    if (argc < 2 || strcmp(argv[1], "--bench") != 0) {
        return;
    }
    const int64_t n    = 2048;
    uint64_t      seed = 1;
    collect_lines();
    make_areas();
    for (int i = 0; i < n_lines; i++) {
        if (!cpu_isa_available(lines[i].isa)) {
            continue;
        }
        for (int k = 0; k < lines[i].family->n_in; k++) {
            fill_input(lines[i].family, k, inputs[k] + AREA - lines[i].family->in_size[k] * n, n, SMALL, &seed);
        }
        printf("%-40s %-10s %8.1f ns, %6.3f ns each\n", lines[i].slot, cpu_isa_name(lines[i].isa), time_line(&lines[i], n),
               time_line(&lines[i], n) / (double) n);
    }
    exit(0);
}
