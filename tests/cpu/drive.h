/* SPDX-License-Identifier: MIT
 *
 * Runs single nodes: memory with guard bytes around each tensor, any strides, results filled with NaN first. A node is
 * planned by the core, and its kernel is then called by threads of the test itself, so that the number of workers is what the
 * test wants (the kernel may ask for fewer), with worker memory that is exactly as large as it asked for. drive_backend
 * runs the same node through the backend.
 */
#ifndef GRAFT_TESTS_CPU_DRIVE_H
#define GRAFT_TESTS_CPU_DRIVE_H

#include <pthread.h>
#include <stdio.h>

#include "cpu/reference.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "harness.h"

#define UNUSED __attribute__((unused))

/* ---- memory ---- */

#define DRIVE_GUARD   64
#define DRIVE_TENSORS 64

struct drive {
    struct ggml_context * ctx;
    struct {
        char * base;
        size_t size;
    } blocks[DRIVE_TENSORS];
    int      n_blocks;
    uint64_t seed;
};

UNUSED static struct drive drive_begin(void) {
    const struct ggml_init_params params = {1 << 20, NULL, true};
    struct drive                  d      = {ggml_init(params), {{NULL, 0}}, 0, 12345};
    return d;
}

/* Guard bytes of all blocks are as they were. */
UNUSED static bool drive_guards_intact(const struct drive * d) {
    for (int k = 0; k < d->n_blocks; k++) {
        const unsigned char * p = (const unsigned char *) d->blocks[k].base;
        for (size_t i = 0; i < DRIVE_GUARD; i++) {
            if (p[i] != 0xA5 || p[DRIVE_GUARD + d->blocks[k].size + i] != 0xA5) {
                return false;
            }
        }
    }
    return true;
}

UNUSED static void drive_end(struct drive * d) {
    CHECK_MSG(drive_guards_intact(d), "guard bytes were written");
    for (int k = 0; k < d->n_blocks; k++) {
        free(d->blocks[k].base);
    }
    ggml_free(d->ctx);
}

UNUSED static void * drive_memory(struct drive * d, size_t size) {
    char * base = aligned_alloc(64, (size + 2 * DRIVE_GUARD + 63) / 64 * 64);
    if (base == NULL || d->n_blocks == DRIVE_TENSORS) {
        fprintf(stderr, "drive: no memory, or too many tensors in one case\n");
        exit(2);
    }
    memset(base, 0xA5, size + 2 * DRIVE_GUARD);
    memset(base + DRIVE_GUARD, 0xFF, size); /* NaN in every float format */
    d->blocks[d->n_blocks].base = base;
    d->blocks[d->n_blocks].size = size;
    d->n_blocks++;
    return base + DRIVE_GUARD;
}

/* Bytes from the first to the last element, by strides. */
UNUSED static size_t drive_extent(const struct ggml_tensor * t) {
    size_t size = ggml_type_size(t->type);
    for (int k = 0; k < 4; k++) {
        const int64_t n = k == 0 ? t->ne[0] / ggml_blck_size(t->type) : t->ne[k];
        if (n <= 0) {
            return 0;
        }
        size += (size_t) (n - 1) * t->nb[k];
    }
    return size;
}

/* ---- layouts ---- */

enum drive_layout {
    DRIVE_PLAIN,      /* contiguous */
    DRIVE_SLICED,     /* rows, planes and images with gaps */
    DRIVE_TRANSPOSED, /* dimensions 0 and 1 exchanged in memory */
    DRIVE_PERMUTED,   /* dimensions 1 and 2 exchanged in memory */
    DRIVE_STRIDED,    /* gaps between elements too */
    DRIVE_LAYOUTS
};

UNUSED static const char * drive_layout_name(enum drive_layout layout) {
    static const char * const names[] = {"plain", "sliced", "transposed", "permuted", "strided"};
    return names[layout];
}

/* Layouts that keep the elements of a row side by side: all that formats of blocks know. */
UNUSED static bool drive_layout_dense(enum drive_layout layout) {
    return layout != DRIVE_TRANSPOSED && layout != DRIVE_STRIDED;
}

UNUSED static void drive_set_layout(struct ggml_tensor * t, enum drive_layout layout) {
    static const int orders[DRIVE_LAYOUTS][4] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 0, 2, 3}, {0, 2, 1, 3}, {0, 1, 2, 3}};
    const bool       gaps   = layout == DRIVE_SLICED || layout == DRIVE_STRIDED;
    size_t           stride = ggml_type_size(t->type);
    for (int k = 0; k < 4; k++) {
        const int     dim = orders[layout][k];
        const int64_t n   = dim == 0 ? t->ne[0] / ggml_blck_size(t->type) : t->ne[dim];
        if (layout == DRIVE_STRIDED && k == 0) {
            stride *= 3;
        }
        t->nb[dim] = stride;
        stride *= (size_t) n;
        if (gaps) {
            stride += ggml_type_size(t->type) * (size_t) (k + 2);
        }
    }
}

/* A tensor with memory, random values between low and high (integers for integer types). */
UNUSED static struct ggml_tensor * drive_tensor(struct drive * d, enum ggml_type type, const int64_t ne[4],
                                                enum drive_layout layout, double low, double high) {
    struct ggml_tensor * t = ggml_new_tensor(d->ctx, type, 4, ne);
    drive_set_layout(t, layout);
    t->data = drive_memory(d, drive_extent(t));
    if (drive_extent(t) == 0) {
        return t;
    }
    const int64_t n     = ne[0] * ne[1] * ne[2] * ne[3];
    const int64_t block = ggml_blck_size(type);
    for (int64_t i = 0; i < n; i += block) {
        if (block == 1) {
            ref_set(t, ref_at(t, i), (double) harness_random_float(&d->seed, (float) low, (float) high));
        } else {
            float values[256];
            for (int64_t k = 0; k < block; k++) {
                values[k] = harness_random_float(&d->seed, (float) low, (float) high);
            }
            ref_set_block(t, ref_at(t, i), values);
        }
    }
    return t;
}

/* Gives a node memory: its own, or that of what it views. */
UNUSED static void drive_place(struct drive * d, struct ggml_tensor * node, enum drive_layout layout) {
    if (node->view_src != NULL) {
        node->data = (char *) node->view_src->data + node->view_offs;
        return;
    }
    drive_set_layout(node, layout);
    node->data = drive_memory(d, drive_extent(node));
    if (layout != DRIVE_PLAIN) { /* results are contiguous or views of something */
        node->view_src       = ggml_new_tensor_1d(d->ctx, GGML_TYPE_I8, (int64_t) drive_extent(node));
        node->view_src->data = node->data;
    }
}

/* ---- running ---- */

struct drive_team {
    pthread_barrier_t barrier;
    int               nth;
};

struct drive_worker {
    struct ggml_ext_task task;
    struct drive_team *  team;
    const struct graft_step * step;
    enum ggml_status     status;
    char                 text[512];
};

UNUSED static void drive_barrier(struct ggml_ext_task * task) {
    pthread_barrier_wait(&((struct drive_worker *) task->runtime)->team->barrier);
}

UNUSED static int64_t drive_next(struct ggml_ext_task * task, int64_t n) {
    (void) task;
    (void) n;
    return -1; /* no operator here shares by chunks */
}

UNUSED static bool drive_aborted(struct ggml_ext_task * task) {
    (void) task;
    return false;
}

UNUSED static void * drive_work(void * argument) {
    struct drive_worker *             w = argument;
    const struct ggml_ext_kernel_desc * k = w->step->kernel;
    w->status = k->task(k->user_data, w->step->plan, &w->task, w->step->nodes, w->step->n_nodes);
    snprintf(w->text, sizeof(w->text), "%s", ggml_ext_last_error());
    return NULL;
}

/* All workers of one step. text of the first failure is kept in *text (512 bytes), which may be NULL. */
UNUSED static enum ggml_status drive_step(const struct graft_step * step, int nth, char * text) {
    struct drive_team     team = {.nth = nth};
    struct drive_worker * w    = calloc((size_t) nth, sizeof(*w));
    pthread_t *           ids  = calloc((size_t) nth, sizeof(*ids));
    enum ggml_status      status = GGML_STATUS_SUCCESS;
    char *                shared = aligned_alloc(64, (step->workspace_size + 127) / 64 * 64);
    pthread_barrier_init(&team.barrier, NULL, (unsigned) nth);
    for (int i = 0; i < nth; i++) {
        char * memory = aligned_alloc(64, (step->worker_size + DRIVE_GUARD + 63) / 64 * 64);
        memset(memory, 0xFF, step->worker_size);
        memset(memory + step->worker_size, 0xA5, DRIVE_GUARD);
        w[i].team = &team;
        w[i].step = step;
        w[i].task = (struct ggml_ext_task){.ith = i, .nth = nth, .workspace = shared, .workspace_size = step->workspace_size,
                                           .worker_memory = memory, .worker_size = step->worker_size, .barrier = drive_barrier,
                                           .next = drive_next, .aborted = drive_aborted, .runtime = &w[i]};
        if (i > 0) {
            pthread_create(&ids[i], NULL, drive_work, &w[i]);
        }
    }
    drive_work(&w[0]);
    for (int i = 0; i < nth; i++) {
        if (i > 0) {
            pthread_join(ids[i], NULL);
        }
        for (int k = 0; k < DRIVE_GUARD; k++) {
            if ((unsigned char) ((char *) w[i].task.worker_memory)[step->worker_size + (size_t) k] != 0xA5) {
                CHECK_MSG(false, "%s: wrote beyond its worker memory", step->kernel->name);
                break;
            }
        }
        free(w[i].task.worker_memory);
        if (w[i].status != GGML_STATUS_SUCCESS && status == GGML_STATUS_SUCCESS) {
            status = w[i].status;
            if (text != NULL) {
                memcpy(text, w[i].text, sizeof(w[i].text));
            }
        }
    }
    pthread_barrier_destroy(&team.barrier);
    free(shared);
    free(ids);
    free(w);
    return status;
}

UNUSED static ggml_backend_t drive_cpu(void) {
    static ggml_backend_t backend;
    if (backend == NULL) {
        backend = ggml_backend_cpu_init();
    }
    return backend;
}

UNUSED static struct ggml_cgraph * drive_graph(struct drive * d, struct ggml_tensor * node) {
    struct ggml_cgraph * graph = ggml_new_graph_custom(d->ctx, 64, false);
    ggml_build_forward_expand(graph, node);
    return graph;
}

/* Runs the node (and what it is made of) with nth workers. */
UNUSED static enum ggml_status drive_run(struct drive * d, struct ggml_tensor * node, int nth, char * text) {
    struct graft_plan * plan   = NULL;
    enum ggml_status    status = graft_plan_make(drive_cpu(), drive_graph(d, node), &plan);
    if (status != GGML_STATUS_SUCCESS) {
        if (text != NULL) {
            snprintf(text, 512, "%s", ggml_ext_last_error());
        }
        return status;
    }
    for (int i = 0; i < graft_plan_n_steps(plan) && status == GGML_STATUS_SUCCESS; i++) {
        status = drive_step(&graft_plan_steps(plan)[i], nth, text);
    }
    graft_plan_free(plan);
    return status;
}

UNUSED static enum ggml_status drive_backend(struct drive * d, struct ggml_tensor * node, int n_threads) {
    ggml_backend_cpu_set_n_threads(drive_cpu(), n_threads);
    return ggml_backend_graph_compute(drive_cpu(), drive_graph(d, node));
}

/* ---- comparison ---- */

/* The exact value of an element of a node, and how far the result may be. */
typedef double (*drive_exact)(const struct ggml_tensor * node, struct at at, double * bound);

UNUSED static bool drive_close(double got, double want, double bound) {
    if (isnan(want) || isinf(want)) {
        return isnan(want) ? isnan(got) : got == want;
    }
    return fabs(got - want) <= bound;
}

/* Bytes of the elements, in logical order, for comparisons of bits. */
UNUSED static char * drive_bytes(const struct ggml_tensor * t, size_t * size) {
    const int64_t n     = ggml_nelements(t) / ggml_blck_size(t->type);
    const size_t  unit  = ggml_type_size(t->type);
    char *        bytes = malloc((size_t) n * unit + 1);
    *size               = (size_t) n * unit;
    for (int64_t i = 0; i < n; i++) {
        memcpy(bytes + (size_t) i * unit, ref_address(t, ref_at(t, i * ggml_blck_size(t->type))), unit);
    }
    return bytes;
}

/* name of the case for messages: operator, types, shape of the result */
UNUSED static const char * drive_label(const struct ggml_tensor * node, const char * detail) {
    static char label[256];
    snprintf(label, sizeof(label), "%s %s <- %s [%lld,%lld,%lld,%lld] %s", ggml_op_desc(node), ggml_type_name(node->type),
             node->src[0] != NULL ? ggml_type_name(node->src[0]->type) : "-", (long long) node->ne[0], (long long) node->ne[1],
             (long long) node->ne[2], (long long) node->ne[3], detail);
    return label;
}

/* Elements of a result, as drive_bytes gave them, against the exact values from the sources as they are now. */
UNUSED static void drive_compare(const struct ggml_tensor * node, char * bytes, drive_exact exact, const char * label) {
    struct ggml_tensor result = *node;
    result.data               = bytes;
    drive_set_layout(&result, DRIVE_PLAIN);
    for (int64_t i = 0; i < ggml_nelements(node); i++) {
        const struct at at    = ref_at(node, i);
        double          bound = 0.0;
        const double    want  = exact(node, at, &bound);
        const double    got   = ref_get(&result, at);
        if (!drive_close(got, want, bound)) {
            CHECK_MSG(false, "%s at [%lld,%lld,%lld,%lld]: %.9g, exact %.9g, bound %.3g", label, (long long) at.i[0],
                      (long long) at.i[1], (long long) at.i[2], (long long) at.i[3], got, want, bound);
            return;
        }
    }
}

/* The contents of all blocks, and back: a run may change sources (in-place forms). */
UNUSED static char * drive_save(const struct drive * d) {
    size_t size = 0, at = 0;
    for (int k = 0; k < d->n_blocks; k++) {
        size += d->blocks[k].size;
    }
    char * copy = malloc(size + 1);
    for (int k = 0; k < d->n_blocks; k++) {
        memcpy(copy + at, d->blocks[k].base + DRIVE_GUARD, d->blocks[k].size);
        at += d->blocks[k].size;
    }
    return copy;
}

UNUSED static void drive_restore(const struct drive * d, const char * copy) {
    size_t at = 0;
    for (int k = 0; k < d->n_blocks; k++) {
        memcpy(d->blocks[k].base + DRIVE_GUARD, copy + at, d->blocks[k].size);
        at += d->blocks[k].size;
    }
}

static const int drive_threads[] = {1, 2, 3, 5, 8};
#define DRIVE_THREADS ((int) (sizeof(drive_threads) / sizeof(drive_threads[0])))

/* The whole test of a node that is placed: supported, exact with one worker, the same bits with more and through the
 * backend. */
UNUSED static void drive_check(struct drive * d, struct ggml_tensor * node, drive_exact exact, const char * detail) {
    char *       first = NULL;
    size_t       size  = 0;
    char         text[512];
    const char * label = drive_label(node, detail);
    if (!ggml_backend_supports_op(drive_cpu(), node)) {
        CHECK_MSG(false, "%s: not supported", label);
        return;
    }
    char * before = drive_save(d);
    harness_count_run(1);
    for (int k = 0; k <= DRIVE_THREADS; k++) {
        const enum ggml_status status = k < DRIVE_THREADS ? drive_run(d, node, drive_threads[k], text) : drive_backend(d, node, 3);
        if (status != GGML_STATUS_SUCCESS) {
            CHECK_MSG(false, "%s: status %d, %s", label, (int) status, k < DRIVE_THREADS ? text : ggml_ext_last_error());
            break;
        }
        CHECK_MSG(drive_guards_intact(d), "%s: guard bytes were written", label);
        char * bytes = drive_bytes(node, &size);
        drive_restore(d, before);
        if (k == 0) {
            first = bytes;
            drive_compare(node, bytes, exact, label);
            continue;
        }
        CHECK_MSG(memcmp(first, bytes, size) == 0, "%s: %d workers give other bits than one", label,
                  k < DRIVE_THREADS ? drive_threads[k] : 3);
        free(bytes);
    }
    free(first);
    free(before);
}

#endif /* GRAFT_TESTS_CPU_DRIVE_H */
