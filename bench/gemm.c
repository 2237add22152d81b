/* SPDX-License-Identifier: MIT
 *
 * Matrix products beside the peer: the shapes of two small language models, prompt (512 rows) and generation (one row),
 * and single matrices that stay in the cache.
 *
 *     bench-gemm [--peer FOLDER | --peer-program FILE] [--threads N] [--rounds N] [--no-repack] [FILTER]
 *
 * Each side is a process of its own, this program again with FOLDER before the library path (or a build of this program
 * that is linked to the peer), so that the libraries never meet. Rounds alternate; medians are printed, as GFLOP/s and,
 * for weights that come from memory, GB/s.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

struct matrix_shape {
    enum ggml_type type;
    int64_t        k, n;
    int            count; /* of such matrices, each with weights of its own */
};

struct bench_case {
    const char *        name;
    int64_t             m;
    struct matrix_shape matrices[10];
};

#define SMOLLM2_LAYER(c)                                                          \
    { GGML_TYPE_Q4_1, 576, 576, 2 * (c) }, { GGML_TYPE_Q4_1, 576, 192, 2 * (c) }, \
        { GGML_TYPE_Q4_1, 576, 1536, 2 * (c) }, {                                 \
        GGML_TYPE_Q4_1, 1536, 576, (c)                                            \
    }
#define GEMMA3_LAYER(c)                                                                                               \
    { GGML_TYPE_Q5_0, 640, 1024, 2 * (c) }, { GGML_TYPE_Q5_0, 640, 256, 3 * (c) }, { GGML_TYPE_Q8_0, 640, 256, (c) }, \
        { GGML_TYPE_Q4_K, 1024, 640, 2 * (c) }, { GGML_TYPE_Q5_0, 640, 2048, 4 * (c) },                               \
        { GGML_TYPE_Q6_K, 2048, 640, (c) }, {                                                                         \
        GGML_TYPE_Q4_K, 2048, 640, (c)                                                                                \
    }
#define SINGLE(m, type, k, n)             \
    {                                     \
#type " " #n " x " #k, m, {       \
            { GGML_TYPE_##type, k, n, 1 } \
        }                                 \
    }

static const struct bench_case cases[] = {
    { "generation SmolLM2 layers", 1, { SMOLLM2_LAYER(30) } },
    { "generation SmolLM2 output", 1, { { GGML_TYPE_Q8_0, 576, 49152, 1 } } },
    { "generation Gemma 3 layers", 1, { GEMMA3_LAYER(9) } },
    { "generation Gemma 3 output", 1, { { GGML_TYPE_Q8_0, 640, 262144, 1 } } },
    { "prompt SmolLM2 layers", 512, { SMOLLM2_LAYER(2) } },
    { "prompt Gemma 3 layers", 512, { GEMMA3_LAYER(1) } },
    { "2 rows SmolLM2 layers", 2, { SMOLLM2_LAYER(30) } },
    { "4 rows SmolLM2 layers", 4, { SMOLLM2_LAYER(30) } },
    { "8 rows SmolLM2 layers", 8, { SMOLLM2_LAYER(30) } },
    { "16 rows SmolLM2 layers", 16, { SMOLLM2_LAYER(30) } },
    { "32 rows SmolLM2 layers", 32, { SMOLLM2_LAYER(30) } },
    { "64 rows SmolLM2 layers", 64, { SMOLLM2_LAYER(30) } },
    { "4 rows Gemma 3 layers", 4, { GEMMA3_LAYER(9) } },
    { "8 rows Gemma 3 layers", 8, { GEMMA3_LAYER(9) } },
    { "16 rows Gemma 3 layers", 16, { GEMMA3_LAYER(9) } },
    { "32 rows Gemma 3 layers", 32, { GEMMA3_LAYER(9) } },
    SINGLE(1, Q4_0, 1536, 576),
    SINGLE(1, Q4_1, 1536, 576),
    SINGLE(1, Q5_0, 1536, 576),
    SINGLE(1, Q5_1, 1536, 576),
    SINGLE(1, Q8_0, 1536, 576),
    SINGLE(1, IQ4_NL, 1536, 576),
    SINGLE(1, MXFP4, 1536, 576),
    SINGLE(1, Q2_K, 1536, 576),
    SINGLE(1, Q3_K, 1536, 576),
    SINGLE(1, Q4_K, 1536, 576),
    SINGLE(1, Q5_K, 1536, 576),
    SINGLE(1, Q6_K, 1536, 576),
    SINGLE(1, F16, 1536, 576),
    SINGLE(1, BF16, 1536, 576),
    SINGLE(1, F32, 1536, 576),
    { "512 rows Q4_0 1536 x 1536", 512, { { GGML_TYPE_Q4_0, 1536, 1536, 1 } } },
    { "512 rows Q8_0 1536 x 1536", 512, { { GGML_TYPE_Q8_0, 1536, 1536, 1 } } },
    { "512 rows Q4_K 1536 x 1536", 512, { { GGML_TYPE_Q4_K, 1536, 1536, 1 } } },
    { "512 rows IQ4_XS 1536 x 1536", 512, { { GGML_TYPE_IQ4_XS, 1536, 1536, 1 } } },
    { "512 rows F16 1536 x 1536", 512, { { GGML_TYPE_F16, 1536, 1536, 1 } } },
    { "512 rows BF16 1536 x 1536", 512, { { GGML_TYPE_BF16, 1536, 1536, 1 } } },
    { "512 rows F32 1536 x 1536", 512, { { GGML_TYPE_F32, 1536, 1536, 1 } } },
};
#define N_CASES ((int) (sizeof(cases) / sizeof(cases[0])))

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---- one side ---- */

/* A few rows are encoded, the rest are copies of them. */
static void fill_weights(struct ggml_tensor * t) {
    const int64_t rows = ggml_nrows(t), own = rows < 16 ? rows : 16;
    const size_t  row  = ggml_row_size(t->type, t->ne[0]);
    float *       x    = malloc((size_t) (own * t->ne[0]) * sizeof(float));
    char *        data = malloc(row * (size_t) rows);
    for (int64_t i = 0; i < own * t->ne[0]; i++) {
        x[i] = (float) (rand() % 2001 - 1000) * 1e-4f;
    }
    if (t->type == GGML_TYPE_F32) {
        memcpy(data, x, row * (size_t) own);
    } else {
        ggml_quantize_chunk(t->type, x, data, 0, own, t->ne[0], NULL);
    }
    for (int64_t i = own; i < rows; i++) {
        memcpy(data + (size_t) i * row, data + (size_t) (i % own) * row, row);
    }
    ggml_backend_tensor_set(t, data, 0, row * (size_t) rows);
    free(data);
    free(x);
}

struct side {
    ggml_backend_t        backend;
    bool                  repack;
    struct ggml_context * plain; /* weights as they are, activations, results */
    struct ggml_context * packed;
    ggml_backend_buffer_t buffers[2];
    struct ggml_cgraph *  graph;
};

/* Packed weights, as llama.cpp finds them: the first extra buffer type with which the device takes the product. */
static ggml_backend_buffer_type_t find_packed(const struct side * s, const struct matrix_shape * m) {
    typedef ggml_backend_buffer_type_t * (*extra_types_fn)(ggml_backend_dev_t);
    const ggml_backend_dev_t device = ggml_backend_get_device(s->backend);
    const extra_types_fn     extra  = (extra_types_fn) ggml_backend_reg_get_proc_address(
             ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts");
    ggml_backend_buffer_type_t * types = s->repack && extra != NULL ? extra(device) : NULL;
    for (; types != NULL && *types != NULL; types++) {
        const struct ggml_init_params params = { 1 << 16, NULL, true };
        struct ggml_context *         ctx    = ggml_init(params);
        struct ggml_tensor *          w      = ggml_new_tensor_2d(ctx, m->type, m->k, m->n);
        struct ggml_tensor *          y      = ggml_mul_mat(ctx, w, ggml_new_tensor_2d(ctx, GGML_TYPE_F32, m->k, 1));
        w->buffer                            = ggml_backend_buft_alloc_buffer(*types, 0);
        const bool takes                     = ggml_backend_dev_supports_op(device, y);
        ggml_backend_buffer_free(w->buffer);
        ggml_free(ctx);
        if (takes) {
            return *types;
        }
    }
    return NULL;
}

static void fill_context(struct ggml_context * ctx) {
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        if (t->op == GGML_OP_NONE) {
            fill_weights(t);
        }
    }
}

static void side_build(struct side * s, const struct bench_case * c) {
    const struct ggml_init_params params = { 4u << 20, NULL, true };
    ggml_backend_buffer_type_t    packed = NULL;
    s->plain                             = ggml_init(params);
    s->packed                            = ggml_init(params);
    s->graph                             = ggml_new_graph_custom(s->plain, 4096, false);
    int most                             = 0;
    for (int i = 0; c->matrices[i].count > 0; i++) {
        most = c->matrices[i].count > most ? c->matrices[i].count : most;
    }
    for (int round = 0; round < most; round++) { /* mixed as in the layers of a model */
        for (int i = 0; c->matrices[i].count > 0; i++) {
            const struct matrix_shape *      m    = &c->matrices[i];
            const ggml_backend_buffer_type_t type = find_packed(s, m);
            if (round < m->count) {
                packed                 = type != NULL ? type : packed;
                struct ggml_tensor * w = ggml_new_tensor_2d(type != NULL ? s->packed : s->plain, m->type, m->k, m->n);
                struct ggml_tensor * x = ggml_new_tensor_2d(s->plain, GGML_TYPE_F32, m->k, c->m);
                ggml_build_forward_expand(s->graph, ggml_mul_mat(s->plain, w, x));
            }
        }
    }
    s->buffers[0] = ggml_backend_alloc_ctx_tensors(s->plain, s->backend);
    s->buffers[1] = packed != NULL ? ggml_backend_alloc_ctx_tensors_from_buft(s->packed, packed) : NULL;
    fill_context(s->plain);
    fill_context(s->packed);
}

static void side_free(struct side * s) {
    ggml_backend_buffer_free(s->buffers[0]);
    ggml_backend_buffer_free(s->buffers[1]);
    ggml_free(s->plain);
    ggml_free(s->packed);
}

static void serve(int threads, bool repack) {
    struct side s    = { .repack = repack };
    int         last = -1, index, repeat;
    s.backend        = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(s.backend, threads);
    while (scanf("%d %d", &index, &repeat) == 2) {
        if (index != last) {
            if (last >= 0) {
                side_free(&s);
            }
            side_build(&s, &cases[index]);
            last = index;
        }
        const double start = now();
        for (int i = 0; i < repeat; i++) {
            if (ggml_backend_graph_compute(s.backend, s.graph) != GGML_STATUS_SUCCESS) {
                exit(1);
            }
        }
        printf("%.9f\n", (now() - start) / repeat);
        fflush(stdout);
    }
}

/* ---- both ---- */

struct process {
    FILE *to, *from;
};

static struct process start(const char * program, const char * folder, int threads, bool repack) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) {
        exit(1);
    }
    if (fork() == 0) {
        char count[16];
        snprintf(count, sizeof(count), "%d", threads);
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        if (folder != NULL) {
            setenv("LD_LIBRARY_PATH", folder, 1);
        }
        execl(program, program, repack ? "--serve" : "--serve-plain", count, (char *) NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    fcntl(in[1], F_SETFD, FD_CLOEXEC);
    fcntl(out[0], F_SETFD, FD_CLOEXEC);
    return (struct process){ fdopen(in[1], "w"), fdopen(out[0], "r") };
}

static double ask(struct process * p, int index, int repeat) {
    double t = NAN;
    fprintf(p->to, "%d %d\n", index, repeat);
    fflush(p->to);
    if (fscanf(p->from, "%lf", &t) != 1) {
        return NAN;
    }
    return t;
}

static int compare_double(const void * a, const void * b) {
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double * v, int n) {
    qsort(v, (size_t) n, sizeof(*v), compare_double);
    return v[n / 2];
}

static void report(const struct bench_case * c, double ours, double theirs, bool peer) {
    double work = 0, bytes = 0;
    for (int i = 0; c->matrices[i].count > 0; i++) {
        const struct matrix_shape * m = &c->matrices[i];
        work += 2.0 * (double) m->k * (double) m->n * (double) c->m * m->count;
        bytes += (double) ggml_row_size(m->type, m->k) * (double) m->n * m->count;
    }
    printf("%-32s %9.1f us %8.1f GFLOP/s %7.2f GB/s", c->name, ours * 1e6, work / ours / 1e9, bytes / ours / 1e9);
    if (peer) {
        printf("   peer %9.1f us   ratio %.2f", theirs * 1e6, theirs / ours);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char ** argv) {
    const char *folder = NULL, *program = NULL, *filter = NULL;
    int         threads = 2, rounds = 9;
    bool        repack = true;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--serve", 7) == 0 && i + 1 < argc) {
            serve(atoi(argv[i + 1]), argv[i][7] == 0);
            return 0;
        } else if (strcmp(argv[i], "--no-repack") == 0) {
            repack = false;
        } else if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc) {
            folder = argv[++i];
        } else if (strcmp(argv[i], "--peer-program") == 0 && i + 1 < argc) {
            program = argv[++i];
        } else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
            threads = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = atoi(argv[++i]);
        } else {
            filter = argv[i];
        }
    }
    rounds              = rounds < 1 ? 1 : rounds > 99 ? 99 : rounds;
    const bool     peer = folder != NULL || program != NULL;
    struct process ours = start("/proc/self/exe", NULL, threads, repack), theirs = { 0 };
    if (peer) {
        theirs = start(program != NULL ? program : "/proc/self/exe", folder, threads, repack);
    }
    for (int i = 0; i < N_CASES; i++) {
        if (filter != NULL && strstr(cases[i].name, filter) == NULL) {
            continue;
        }
        double       a[99], b[99];
        const double once   = ask(&ours, i, 1);
        const int    repeat = once > 0.02 ? 1 : (int) (0.02 / once) + 1;
        for (int r = 0; r < rounds; r++) {
            a[r] = ask(&ours, i, repeat);
            b[r] = peer ? ask(&theirs, i, repeat) : NAN;
        }
        report(&cases[i], median(a, rounds), median(b, rounds), peer);
    }
    fclose(ours.to);
    if (peer) {
        fclose(theirs.to);
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
