/* SPDX-License-Identifier: MIT
 *
 * Every line of kernels_attention.inc against the formula in F64 and, for numbers that are none, against the scalar function
 * of its slot: sizes below, at and above the register tiles, masks, caps, states, with inaccessible pages behind inputs and
 * results and a pattern before results. `kernel_attention --bench` times all lines instead.
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

#define LANES CPU_ATTENTION_LANES
#define ROWS  CPU_ATTENTION_ROWS
#define BLOCK CPU_ATTENTION_BLOCK
#define MAX_D 300
#define MAX_N 130

typedef void (*any_fn)(void);
typedef __typeof__(cpu_kernels.attention.scores)      scores_fn;
typedef __typeof__(cpu_kernels.attention.weights)     weights_fn;
typedef __typeof__(cpu_kernels.attention.accumulate)  accumulate_fn;
typedef __typeof__(cpu_kernels.attention.row_weights) row_weights_fn;

static const int sizes_d[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 40, 63, 64, 65, 80, 100, 127, 128, 129, 200, 256, 300 };
static const int sizes_n[] = { 0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 20, 31, 33, 63, 64, 65, 130 };
#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

static uint64_t seed = 1;

/* ---- memory that ends at an inaccessible page ---- */

#define AREA (1 << 19)
enum { Q, K, S, O, N_AREAS };
static char * areas[N_AREAS];

static void make_areas(void) {
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    for (int i = 0; i < N_AREAS && areas[N_AREAS - 1] == NULL; i++) {
        areas[i] = mmap(NULL, AREA + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (areas[i] == MAP_FAILED || mprotect(areas[i] + AREA, page, PROT_NONE) != 0) {
            fprintf(stderr, "no memory for guarded areas\n");
            exit(2);
        }
    }
}

/* n floats (or F16) at the end of an area, a pattern before them. */
static void * at_end(int area, size_t bytes) {
    memset(areas[area] + AREA - bytes - 64, 0xAB, 64);
    return areas[area] + AREA - bytes;
}

static bool before_is_intact(const void * p) {
    for (int i = 1; i <= 64; i++) {
        if (((const unsigned char *) p)[-i] != 0xAB) {
            return false;
        }
    }
    return true;
}

enum kind { PLAIN, SPECIAL, N_KINDS };

static float value(enum kind kind) {
    static const float special[] = { NAN, INFINITY, -INFINITY, 0.0f, 1e15f, 1e-40f };
    if (kind == SPECIAL && harness_random(&seed) % 97 == 0) {
        return special[harness_random(&seed) % 6];
    }
    return harness_random_float(&seed, -1.0f, 1.0f);
}

static void fill(float * p, size_t n, enum kind kind) {
    for (size_t i = 0; i < n; i++) {
        p[i] = value(kind);
    }
}

/* n numbers in either format, with their F32 values in `exact`. */
static void fill_either(void * p, float * exact, size_t n, bool f16, enum kind kind) {
    for (size_t i = 0; i < n; i++) {
        exact[i] = value(kind);
        if (f16) {
            ((ggml_fp16_t *) p)[i] = GGML_FP32_TO_FP16(exact[i]);
            exact[i]               = GGML_FP16_TO_FP32(((ggml_fp16_t *) p)[i]);
        } else {
            ((float *) p)[i] = exact[i];
        }
    }
}

/* ---- lines ---- */

struct line {
    const char * family, *slot;
    enum cpu_isa isa;
    any_fn       fn, scalar;
};

static struct line lines[256];
static int         n_lines;

static void add_line(const char * family, const char * slot, enum cpu_isa isa, any_fn fn) {
    struct line line = { family, slot, isa, fn, isa == CPU_ISA_SCALAR ? fn : NULL };
    for (int i = 0; i < n_lines; i++) {
        if (strcmp(lines[i].slot, slot) == 0 && lines[i].isa == CPU_ISA_SCALAR) {
            line.scalar = lines[i].fn;
        }
    }
    if (line.scalar == NULL || n_lines == COUNT(lines)) {
        fprintf(stderr, "kernels_attention.inc: %s has no scalar line before it\n", slot);
        exit(2);
    }
    lines[n_lines++] = line;
}

static void collect_lines(void) {
    if (n_lines > 0) {
        return;
    }
#define KERNEL(family, slot, isa, function) add_line(#family, #slot, CPU_ISA_##isa, (any_fn) function);
#include "kernel/kernels_attention.inc"
#undef KERNEL
}

static bool is_f16(const struct line * line) {
    return strstr(line->family, "_f16") != NULL;
}

/* ---- comparison ---- */

static void check_number(const struct line * line, int d, int n, const char * what, float got, double want, double bound,
                         float scalar) {
    bool good = fabs((double) got - want) <= bound;
    if (isnan(want) || isinf(want) || isinf(scalar) || isnan(scalar) || !(bound < 1e30)) {
        good = isnan(scalar) ? isnan(got) : isinf(scalar) ? got == scalar || fabsf(got) > 1e37f : true;
    }
    CHECK_MSG(good, "%s %s d=%d n=%d: %s is %.9g, exact %.9g, scalar %.9g", line->slot, cpu_isa_name(line->isa), d, n, what,
              (double) got, want, (double) scalar);
}

static void check_guard(const struct line * line, int d, int n, const void * p) {
    CHECK_MSG(before_is_intact(p), "%s %s d=%d n=%d: wrote before the result", line->slot, cpu_isa_name(line->isa), d, n);
}

/* A sum of `terms` products with magnitude `size` in F32. */
static double sum_bound(int terms, double size) {
    return (terms + 4) * 0x1p-24 * size + 1e-37;
}

/* ---- scores ---- */

static void check_scores(const struct line * line, int d, int n, enum kind kind) {
    static float scalar[MAX_N * LANES];
    const size_t stride = (size_t) d + (size_t) (n % 3);
    float *      q      = at_end(Q, (size_t) d * LANES * sizeof(float));
    float *      k      = at_end(K, n > 0 ? ((size_t) (n - 1) * stride + (size_t) d) * sizeof(float) : 0);
    float *      s      = at_end(S, (size_t) (n * LANES) * sizeof(float));
    fill(q, (size_t) d * LANES, kind);
    fill(k, n > 0 ? (size_t) (n - 1) * stride + (size_t) d : 0, kind);
    ((scores_fn) line->scalar)(d, n, q, k, stride, scalar);
    ((scores_fn) line->fn)(d, n, q, k, stride, s);
    check_guard(line, d, n, s);
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < LANES; i++) {
            double sum = 0, size = 0;
            for (int l = 0; l < d; l++) {
                const double term = (double) q[l * LANES + i] * (double) k[(size_t) j * stride + (size_t) l];
                sum += term;
                size += fabs(term);
            }
            check_number(line, d, n, "a score", s[j * LANES + i], sum, sum_bound(d, size), scalar[j * LANES + i]);
        }
    }
}

static void check_accumulate(const struct line * line, int d, int n, enum kind kind) {
    static float scalar[MAX_D * LANES], old[MAX_D * LANES];
    const size_t stride = (size_t) d + (size_t) (n % 3);
    float *      p      = at_end(Q, (size_t) (n * LANES) * sizeof(float));
    float *      v      = at_end(K, n > 0 ? ((size_t) (n - 1) * stride + (size_t) d) * sizeof(float) : 0);
    float *      shrink = at_end(S, LANES * sizeof(float));
    float *      o      = at_end(O, (size_t) (d * LANES) * sizeof(float));
    fill(p, (size_t) (n * LANES), kind);
    fill(v, n > 0 ? (size_t) (n - 1) * stride + (size_t) d : 0, kind);
    fill(shrink, LANES, PLAIN);
    fill(o, (size_t) (d * LANES), kind);
    memcpy(old, o, (size_t) (d * LANES) * sizeof(float));
    memcpy(scalar, o, (size_t) (d * LANES) * sizeof(float));
    ((accumulate_fn) line->scalar)(d, n, p, v, stride, shrink, scalar);
    ((accumulate_fn) line->fn)(d, n, p, v, stride, shrink, o);
    check_guard(line, d, n, o);
    for (int l = 0; l < d; l++) {
        for (int i = 0; i < LANES; i++) {
            double sum = (double) old[l * LANES + i] * (double) shrink[i], size = fabs(sum);
            for (int j = 0; j < n; j++) {
                const double term = (double) p[j * LANES + i] * (double) v[(size_t) j * stride + (size_t) l];
                sum += term;
                size += fabs(term);
            }
            check_number(line, d, n, "a result", o[l * LANES + i], sum, sum_bound(n, size), scalar[l * LANES + i]);
        }
    }
}

static void check_row_scores(const struct line * line, int d, int n, enum kind kind) {
    static float exact[(MAX_D + 2) * BLOCK], scalar[ROWS][BLOCK];
    const bool   f16    = is_f16(line);
    const size_t size   = f16 ? 2 : 4, stride = (size_t) d + (size_t) (n % 3);
    const size_t total  = n > 0 ? (size_t) (n - 1) * stride + (size_t) d : 0;
    for (int rows = 1; rows <= ROWS; rows++) {
        float * q = at_end(Q, (size_t) (d * rows) * sizeof(float));
        void *  k = at_end(K, total * size);
        float(*s)[BLOCK] = at_end(S, (size_t) rows * BLOCK * sizeof(float));
        const float * row[ROWS];
        for (int r = 0; r < rows; r++) {
            row[r] = q + d * (rows - 1 - r); /* any order */
        }
        fill(q, (size_t) (d * rows), kind);
        fill_either(k, exact, total, f16, kind);
        ((cpu_attention_row_scores_fn) line->scalar)(d, rows, n, row, k, stride * size, scalar);
        ((cpu_attention_row_scores_fn) line->fn)(d, rows, n, row, k, stride * size, s);
        check_guard(line, d, n, s);
        for (int r = 0; r < rows; r++) {
            for (int j = 0; j < n; j++) {
                double sum = 0, bound = 0;
                for (int l = 0; l < d; l++) {
                    const double term = (double) row[r][l] * (double) exact[(size_t) j * stride + (size_t) l];
                    sum += term;
                    bound += fabs(term);
                }
                check_number(line, d, n, "a score", s[r][j], sum, sum_bound(d, bound), scalar[r][j]);
            }
        }
    }
}

static void check_row_accumulate(const struct line * line, int d, int n, enum kind kind) {
    static float exact[(MAX_D + 2) * BLOCK], scalar[ROWS][MAX_D], old[ROWS * MAX_D], p[ROWS][BLOCK];
    const bool   f16    = is_f16(line);
    const size_t size   = f16 ? 2 : 4, stride = (size_t) d + (size_t) (n % 3);
    const size_t total  = n > 0 ? (size_t) (n - 1) * stride + (size_t) d : 0;
    for (int rows = 1; rows <= ROWS; rows++) {
        void *  v = at_end(K, total * size);
        float * o = at_end(O, (size_t) (rows * d) * sizeof(float));
        float * row[ROWS], *other[ROWS], shrink[ROWS];
        fill(&p[0][0], ROWS * BLOCK, kind);
        fill(shrink, ROWS, PLAIN);
        fill_either(v, exact, total, f16, kind);
        fill(o, (size_t) (rows * d), kind);
        memcpy(old, o, (size_t) (rows * d) * sizeof(float));
        for (int r = 0; r < rows; r++) {
            row[r]   = o + r * d;
            other[r] = scalar[r];
            memcpy(scalar[r], row[r], (size_t) d * sizeof(float));
        }
        ((cpu_attention_row_accumulate_fn) line->scalar)(d, rows, n, (const float(*)[BLOCK]) p, v, stride * size, shrink, other);
        ((cpu_attention_row_accumulate_fn) line->fn)(d, rows, n, (const float(*)[BLOCK]) p, v, stride * size, shrink, row);
        check_guard(line, d, n, o);
        for (int r = 0; r < rows; r++) {
            for (int l = 0; l < d; l++) {
                double sum = (double) old[r * d + l] * (double) shrink[r], bound = fabs(sum);
                for (int j = 0; j < n; j++) {
                    const double term = (double) p[r][j] * (double) exact[(size_t) j * stride + (size_t) l];
                    sum += term;
                    bound += fabs(term);
                }
                check_number(line, d, n, "a result", row[r][l], sum, sum_bound(n, bound), scalar[r][l]);
            }
        }
    }
}

/* ---- weights ---- */

enum mask_kind { NO_MASK, FINITE, SOME_HIDDEN, ALL_HIDDEN, N_MASKS };

static ggml_fp16_t mask_value(enum mask_kind kind) {
    const bool hidden = kind == ALL_HIDDEN || (kind == SOME_HIDDEN && harness_random(&seed) % 2 == 0);
    return GGML_FP32_TO_FP16(hidden ? -INFINITY : harness_random_float(&seed, -8.0f, 0.0f));
}

/* One row of scores, by the formula. */
struct softmax {
    double weight[MAX_N], slack[MAX_N];
    double max, sum, shrink, rough;
};

static void softmax_exact(struct softmax * e, int n, const float * dot, int step, const float * mask, int mask_step, float scale,
                          float cap, float slope, float max, float sum) {
    double score[MAX_N], greatest = (double) max, largest = 0;
    for (int j = 0; j < n; j++) {
        const double x = (double) dot[j * step] * (double) scale;
        score[j]       = (cap > 0.0f ? (double) cap * tanh(x) : x) + (mask != NULL ? (double) mask[j * mask_step] * (double) slope : 0.0);
        greatest       = score[j] > greatest ? score[j] : greatest;
        largest        = isinf(score[j]) ? largest : fmax(largest, fabs(x) + fabs(score[j]) + (double) cap);
    }
    const double base = greatest == -INFINITY ? 0.0 : greatest;
    e->rough          = 1e-6 + 5e-7 * (largest + fabs(base) + (isinf(max) ? 0.0 : fabs((double) max)));
    e->max            = greatest;
    e->shrink         = exp2((double) max - base);
    e->sum            = (double) sum * e->shrink;
    for (int j = 0; j < n; j++) {
        e->weight[j] = exp2(score[j] - base);
        e->slack[j]  = e->weight[j] * e->rough + 3e-38;
        e->sum += e->weight[j];
    }
}

struct state {
    float max, sum;
};
static const struct state states[] = { { -INFINITY, 0.0f }, { 3.5f, 2.25f }, { 400.0f, 1.0f }, { -500.0f, 7.0f } };

static void check_state(const struct line * line, int n, const struct softmax * e, float max, float sum, float shrink,
                        const struct state * other, float other_shrink) {
    check_number(line, 0, n, "the greatest score", max, e->max, e->rough, other->max);
    check_number(line, 0, n, "the sum", sum, e->sum, e->sum * e->rough + 1e-37, other->sum);
    check_number(line, 0, n, "the factor", shrink, e->shrink, e->shrink * e->rough + 3e-38, other_shrink);
}

static void check_weights_case(const struct line * line, int n, enum kind kind, enum mask_kind mask_kind, float cap, int start) {
    static float               dots[MAX_N * LANES], scalar[MAX_N * LANES], mask[MAX_N * LANES];
    struct cpu_attention_state state, other;
    struct cpu_attention_logit logit = { cap > 0.0f ? 3.0f / cap : 3.0f, cap, { 0 } };
    float                      shrink[LANES], other_shrink[LANES];
    float *                    s = at_end(S, (size_t) (n * LANES) * sizeof(float));
    for (int i = 0; i < LANES; i++) {
        logit.slope[i] = 1.0f / (float) (i + 1);
        state.max[i]   = states[(start + i) % COUNT(states)].max;
        state.sum[i]   = states[(start + i) % COUNT(states)].sum;
    }
    other = state;
    for (int i = 0; i < n * LANES; i++) {
        dots[i] = value(kind) * 10.0f;
        mask[i] = GGML_FP16_TO_FP32(mask_value(mask_kind));
    }
    memcpy(s, dots, (size_t) (n * LANES) * sizeof(float));
    memcpy(scalar, dots, (size_t) (n * LANES) * sizeof(float));
    const float * used = mask_kind == NO_MASK ? NULL : mask;
    ((weights_fn) line->scalar)(n, scalar, used, &logit, &other, other_shrink);
    ((weights_fn) line->fn)(n, s, used, &logit, &state, shrink);
    check_guard(line, 0, n, s);
    for (int i = 0; i < LANES; i++) {
        struct softmax      e;
        const struct state  old = states[(start + i) % COUNT(states)], scalar_state = { other.max[i], other.sum[i] };
        softmax_exact(&e, n, dots + i, LANES, used != NULL ? mask + i : NULL, LANES, logit.scale, cap, logit.slope[i], old.max,
                      old.sum);
        check_state(line, n, &e, state.max[i], state.sum[i], shrink[i], &scalar_state, other_shrink[i]);
        for (int j = 0; j < n; j++) {
            check_number(line, 0, n, "a weight", s[j * LANES + i], e.weight[j], e.slack[j], scalar[j * LANES + i]);
        }
    }
}

static void check_row_weights_case(const struct line * line, int n, enum kind kind, enum mask_kind mask_kind, float cap, int start) {
    static float             dots[MAX_N], scalar[MAX_N], mask[MAX_N];
    const struct state       old = states[start];
    struct cpu_attention_row row = { cap > 0.0f ? 3.0f / cap : 3.0f, cap, 0.7f, old.max, old.sum }, other = row;
    float *                  s    = at_end(S, (size_t) ((n + 15) / 16 * 16) * sizeof(float));
    ggml_fp16_t *            half = at_end(K, (size_t) n * sizeof(ggml_fp16_t));
    for (int j = 0; j < n; j++) {
        dots[j] = value(kind) * 10.0f;
        half[j] = mask_value(mask_kind);
        mask[j] = GGML_FP16_TO_FP32(half[j]);
    }
    memcpy(s, dots, (size_t) n * sizeof(float));
    memcpy(scalar, dots, (size_t) n * sizeof(float));
    const ggml_fp16_t * used         = mask_kind == NO_MASK ? NULL : half;
    const float         other_shrink = ((row_weights_fn) line->scalar)(n, scalar, used, &other);
    const float         shrink       = ((row_weights_fn) line->fn)(n, s, used, &row);
    struct softmax      e;
    const struct state  scalar_state = { other.max, other.sum };
    check_guard(line, 0, n, s);
    softmax_exact(&e, n, dots, 1, used != NULL ? mask : NULL, 1, row.scale, cap, row.slope, old.max, old.sum);
    check_state(line, n, &e, row.max, row.sum, shrink, &scalar_state, other_shrink);
    for (int j = 0; j < n; j++) {
        check_number(line, 0, n, "a weight", s[j], e.weight[j], e.slack[j], scalar[j]);
    }
}

static void check_all_weights(const struct line * line, int n, enum kind kind) {
    const bool row = strcmp(line->family, "attention_row_weights") == 0;
    for (int mask = 0; mask < N_MASKS; mask++) {
        for (int start = 0; start < COUNT(states); start++) {
            for (int cap = 0; cap <= 30; cap += 30) {
                if (!row) {
                    check_weights_case(line, n, kind, (enum mask_kind) mask, (float) cap, start);
                } else if (n <= BLOCK) {
                    check_row_weights_case(line, n, kind, (enum mask_kind) mask, (float) cap, start);
                }
            }
        }
    }
}

/* ---- cases ---- */

typedef void (*check_fn)(const struct line * line, int d, int n, enum kind kind);

static check_fn check_of(const struct line * line) {
    static const struct {
        const char * family;
        check_fn     check;
    } families[] = {
        { "attention_scores", check_scores },
        { "attention_accumulate", check_accumulate },
        { "attention_row_scores_f16", check_row_scores },
        { "attention_row_scores_f32", check_row_scores },
        { "attention_row_accumulate_f16", check_row_accumulate },
        { "attention_row_accumulate_f32", check_row_accumulate },
    };
    for (int i = 0; i < COUNT(families); i++) {
        if (strcmp(families[i].family, line->family) == 0) {
            return families[i].check;
        }
    }
    return NULL;
}

static void check_line(const struct line * line) {
    const check_fn check  = check_of(line);
    const bool     row    = strstr(line->family, "_row_") != NULL;
    for (int kind = 0; kind < N_KINDS; kind++) {
        for (int j = 0; j < COUNT(sizes_n); j++) {
            const int n = sizes_n[j];
            if (check == NULL) {
                check_all_weights(line, n, (enum kind) kind);
                continue;
            }
            for (int i = 0; i < COUNT(sizes_d) && !(row && n > BLOCK); i++) {
                if (kind == PLAIN || i % 4 == j % 4) {
                    check(line, sizes_d[i], n, (enum kind) kind);
                }
            }
        }
    }
}

TEST(lines) {
    collect_lines();
    make_areas();
    for (int i = 0; i < n_lines; i++) {
        CHECK_MSG(check_of(&lines[i]) != NULL || strstr(lines[i].family, "weights") != NULL, "%s has no test", lines[i].family);
        if (!cpu_isa_available(lines[i].isa)) {
            harness_count_skipped("instruction set not on this processor", 1);
            continue;
        }
        check_line(&lines[i]);
        harness_count_run(1);
    }
}

TEST(dispatch_has_all_slots) {
    cpu_kernels_init();
#define KERNEL(family, slot, isa, function) CHECK(cpu_kernels.slot != NULL);
#include "kernel/kernels_attention.inc"
#undef KERNEL
}

/* ---- bench ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* One call on BLOCK keys; returns its multiplications (of weights: its scores). */
static double call(const struct line * line, int d, int rows) {
    float *                           q = (float *) (void *) areas[Q], *k = (float *) (void *) areas[K], *s = (float *) (void *) areas[S];
    float *                           o = (float *) (void *) areas[O];
    static float                      one[LANES];
    static struct cpu_attention_state state;
    static struct cpu_attention_logit logit = { 0.01f, 0.0f, { 0 } };
    struct cpu_attention_row          row   = { 0.01f, 0.0f, 1.0f, 0.0f, 0.0f };
    const float *                     x[ROWS];
    float *                           y[ROWS];
    const size_t                      stride = (size_t) d * (is_f16(line) ? 2 : 4);
    for (int r = 0; r < ROWS; r++) {
        x[r] = q + r * d;
        y[r] = o + r * d;
    }
    if (strcmp(line->family, "attention_scores") == 0) {
        ((scores_fn) line->fn)(d, BLOCK, q, k, (size_t) d + 16, s);
    } else if (strcmp(line->family, "attention_accumulate") == 0) {
        ((accumulate_fn) line->fn)(d, BLOCK, s, k, (size_t) d + 16, one, o);
    } else if (strcmp(line->family, "attention_weights") == 0) {
        ((weights_fn) line->fn)(BLOCK, s, NULL, &logit, &state, one);
        return BLOCK * LANES;
    } else if (strcmp(line->family, "attention_row_weights") == 0) {
        ((row_weights_fn) line->fn)(BLOCK, s, NULL, &row);
        return BLOCK;
    } else if (strstr(line->family, "row_scores") != NULL) {
        ((cpu_attention_row_scores_fn) line->fn)(d, rows, BLOCK, x, k, stride, (float(*)[BLOCK])(void *) s);
        return (double) d * rows * BLOCK;
    } else {
        ((cpu_attention_row_accumulate_fn) line->fn)(d, rows, BLOCK, (const float(*)[BLOCK])(void *) s, k, stride, one, y);
        return (double) d * rows * BLOCK;
    }
    return (double) d * LANES * BLOCK;
}

static void bench_line(const struct line * line, int d, int rows) {
    double best = 1e9, work = 0;
    for (int round = 0; round < 7; round++) {
        const double begin = now();
        int          calls = 0;
        for (; now() - begin < 0.002; calls += 4) {
            for (int i = 0; i < 4; i++) {
                work = call(line, d, rows);
            }
        }
        best = fmin(best, (now() - begin) / calls);
    }
    printf("%-32s %-8s d=%-4d rows=%-3d %9.1f ns, %7.2f each ns\n", line->slot, cpu_isa_name(line->isa), d, rows, best * 1e9,
           work / best * 1e-9);
}

/* Runs before main: the harness knows names of cases alone. */
__attribute__((constructor)) static void bench(int argc, char ** argv) {
    if (argc < 2 || strcmp(argv[1], "--bench") != 0) {
        return;
    }
    collect_lines();
    make_areas();
    for (int i = 0; i < n_lines; i++) {
        const bool row = strstr(lines[i].family, "_row_") != NULL, weights = strstr(lines[i].family, "weights") != NULL;
        for (int d = 64; d <= (weights ? 64 : 256) && cpu_isa_available(lines[i].isa); d *= 4) {
            for (int rows = 1; rows <= (row && !weights ? ROWS : 1); rows++) {
                bench_line(&lines[i], d, row ? rows : LANES);
            }
        }
    }
    exit(0);
}
