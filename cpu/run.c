/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan in a team. Every worker walks the list of steps; for each it takes part in, it runs the kernel's task.
 * Each step has a word of its own, so that workers may be in different steps where no dependency forbids it:
 *
 *     phase : 32 | arrived : 16 | left : 16
 *
 * left counts workers whose task returned, arrived those that wait inside of the task at a barrier of the kernel's. A barrier opens
 * when arrived + left covers all workers of the step: then the phase goes up, arrived back to 0 and the chunk counter starts
 * again. A step with the barrier flag ends with a barrier of all workers of the team, those without a part in it too: it says that
 * all steps up to here are done.
 */
#include "run.h"

#include <stdatomic.h>
#include <string.h>

#include "ggml-impl.h"

struct sync {
    _Alignas(32) atomic_uint_fast64_t word; /* two steps share a cache line: workers are seldom in both */
    atomic_int_fast64_t next;   /* phase : 20 | chunk : 44: a chunk belongs to the phase it was drawn in */
    atomic_int          passed; /* workers of the team at the barrier after the step */
};

#define ARRIVED_ONE   ((uint64_t) 1 << 16)
#define PHASE_ONE     ((uint64_t) 1 << 32)
#define LEFT(word)    ((int) ((word) & 0xFFFF))
#define ARRIVED(word) ((int) (((word) >> 16) & 0xFFFF))
#define PHASE(word)   ((uint32_t) ((word) >> 32))

struct run {
    struct ggml_threadpool *   team;
    const struct run_options * options;
    const struct graft_step *  steps; /* NULL for the parallel service */
    int                        n_steps;
    ggml_ext_cpu_fn            parallel_fn;
    void *                     parallel_data;
    struct sync *              sync; /* by step */
    char *                     worker_memory;
    size_t                     worker_stride;
    void *                     workspace;
    size_t                     workspace_size;
    atomic_int                 status; /* the first failure; later steps are passed over */
    atomic_bool                text_taken;
    char                       text[1024];
};

/* One worker in one step. */
struct seat {
    struct ggml_ext_task task; /* first: the kernel hands back its address */
    struct run *         run;
    struct sync *        sync;
    uint32_t             phase;
};

/* ---- what a task may call ---- */

struct barrier_wait {
    struct sync * sync;
    uint32_t      phase;
};

static bool phase_passed(void * arg) {
    const struct barrier_wait * w = arg;
    return PHASE(atomic_load_explicit(&w->sync->word, memory_order_acquire)) != w->phase;
}

/* Counts an arrival or a leaving, and opens the barrier when it is the last one that was missing. Returns whether it did. */
static bool count_in(struct sync * sync, uint64_t one, int nth) {
    uint64_t word = atomic_load_explicit(&sync->word, memory_order_relaxed);
    for (;;) {
        uint64_t   after = word + one;
        const bool open  = ARRIVED(after) > 0 && ARRIVED(after) + LEFT(after) == nth;
        if (open) {
            after = (after & 0xFFFF) | ((uint64_t) (PHASE(after) + 1) << 32);
        }
        if (atomic_compare_exchange_weak_explicit(&sync->word, &word, after, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
            return open;
        }
    }
}

static void task_barrier(struct ggml_ext_task * task) {
    struct seat *       seat = (struct seat *) task;
    struct barrier_wait w    = { seat->sync, seat->phase };
    if (task->nth > 1) {
        if (count_in(seat->sync, ARRIVED_ONE, task->nth)) {
            team_notify(seat->run->team);
        } else {
            team_wait(seat->run->team, phase_passed, &w);
        }
    } else {
        atomic_store_explicit(&seat->sync->next, 0, memory_order_relaxed);
    }
    seat->phase++;
}

#define CHUNK_BITS 44
#define CHUNK_MASK (((int64_t) 1 << CHUNK_BITS) - 1)

/* The counter is tagged with the phase: the first worker that draws in a new phase starts it again. */
static int64_t task_next(struct ggml_ext_task * task, int64_t n) {
    struct seat * seat = (struct seat *) task;
    const int64_t tag  = task->nth > 1 ? (int64_t) (seat->phase & 0x7FFFF) << CHUNK_BITS : 0;
    int64_t       now  = atomic_load_explicit(&seat->sync->next, memory_order_relaxed);
    for (;;) {
        const int64_t chunk = (now & ~CHUNK_MASK) == tag ? now & CHUNK_MASK : 0;
        if (chunk >= n) {
            return -1;
        }
        if (atomic_compare_exchange_weak_explicit(&seat->sync->next, &now, tag | (chunk + 1), memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return chunk;
        }
    }
}

static bool task_aborted(struct ggml_ext_task * task) {
    struct run * run = ((struct seat *) task)->run;
    return atomic_load_explicit(&run->status, memory_order_relaxed) != GGML_STATUS_SUCCESS;
}

/* ---- a worker's walk ---- */

static void fail(struct run * run, const struct graft_step * step, enum ggml_status status) {
    int expected = GGML_STATUS_SUCCESS;
    if (!atomic_exchange(&run->text_taken, true)) {
        const char * text = ggml_ext_last_error();
        if (status == GGML_STATUS_ABORTED) {
            snprintf(run->text, sizeof(run->text), "aborted by the callback");
        } else if (text[0] != 0) {
            snprintf(run->text, sizeof(run->text), "%s", text);
        } else {
            const struct ggml_tensor * node = step->nodes[step->n_nodes - 1];
            snprintf(run->text, sizeof(run->text), "%s: kernel %s failed on node '%s'", ggml_op_desc(node),
                     step->kernel->name, node->name);
        }
    }
    atomic_compare_exchange_strong(&run->status, &expected, (int) status);
}

static void seat_init(struct seat * seat, struct run * run, int ith) {
    memset(seat, 0, sizeof(*seat));
    if (ggml_ext_last_error()[0] != 0) {
        ggml_ext_set_error("%s", ""); /* of an earlier run: a kernel that fails without a text shall not be given it */
    }
    seat->run                 = run;
    seat->task.ith            = ith;
    seat->task.worker_memory  = run->worker_memory != NULL ? run->worker_memory + (size_t) ith * run->worker_stride : NULL;
    seat->task.barrier        = task_barrier;
    seat->task.next           = task_next;
    seat->task.aborted        = task_aborted;
    seat->task.runtime        = seat;
}

static void take_step(struct run * run, struct seat * seat, int s, int nth) {
    const struct graft_step * step = &run->steps[s];
    seat->task.nth                 = nth;
    seat->task.worker_size         = step->worker_size;
    seat->task.workspace           = step->workspace != NULL ? step->workspace : run->workspace;
    seat->task.workspace_size      = step->workspace_size;
    seat->sync                     = &run->sync[s];
    seat->phase                    = 0;
    if (atomic_load_explicit(&run->status, memory_order_relaxed) == GGML_STATUS_SUCCESS) {
        const enum ggml_status status =
            step->kernel->task(step->kernel->user_data, step->plan, &seat->task, step->nodes, step->n_nodes);
        if (status != GGML_STATUS_SUCCESS) {
            fail(run, step, status);
        }
    }
}

struct all_wait {
    struct sync * sync;
    int           nth;
};

static bool all_passed(void * arg) {
    const struct all_wait * w = arg;
    return atomic_load_explicit(&w->sync->passed, memory_order_acquire) == w->nth;
}

static void wait_for_team(struct run * run, int s, int nth) {
    struct all_wait w = { &run->sync[s], nth };
    if (atomic_fetch_add_explicit(&w.sync->passed, 1, memory_order_acq_rel) + 1 == nth) {
        team_notify(run->team);
    } else {
        team_wait(run->team, all_passed, &w);
    }
}

struct walk {
    struct seat  seat;
    struct run * run;
    int          ith, nth;
    int          s; /* the step */
};

/* How many workers take part in the step. */
static int part_of(const struct walk * w) {
    const int max = w->run->steps[w->s].max_workers;
    return max > 0 && max < w->nth ? max : w->nth;
}

static void leave_step(struct walk * w) {
    const int part = part_of(w);
    if (w->ith < part && part > 1 && count_in(&w->run->sync[w->s], 1, part)) {
        team_notify(w->run->team);
    }
    if (w->run->steps[w->s].barrier && w->nth > 1) {
        wait_for_team(w->run, w->s, w->nth);
    }
    w->s++;
}

/* Finds steps left only when a callback on the caller's thread threw: the others wait at their barriers, so this worker passes all
 * of them before the exception goes on. */
static void finish_walk(struct walk * w) {
    if (w->s < w->run->n_steps) {
        fail(w->run, &w->run->steps[w->s], GGML_STATUS_FAILED);
    }
    while (w->s < w->run->n_steps) {
        leave_step(w);
    }
}

static void walk(void * arg, int ith, int nth) {
    struct run *                                     run = arg;
    __attribute__((cleanup(finish_walk))) struct walk w  = { .run = run, .ith = ith, .nth = nth };
    seat_init(&w.seat, run, ith);
    while (w.s < run->n_steps) {
        const int part = part_of(&w);
        if (ith == 0 && run->options->abort_callback != NULL &&
            atomic_load_explicit(&run->status, memory_order_relaxed) == GGML_STATUS_SUCCESS &&
            run->options->abort_callback(run->options->abort_data)) {
            fail(run, &run->steps[w.s], GGML_STATUS_ABORTED);
        }
        if (ith < part) {
            take_step(run, &w.seat, w.s, part);
        }
        leave_step(&w);
    }
}

size_t run_worker_stride(size_t worker_size) {
    return GGML_PAD(worker_size, (size_t) 128);
}

static enum ggml_status finish(struct run * run) {
    const enum ggml_status status = (enum ggml_status) atomic_load(&run->status);
    return status == GGML_STATUS_SUCCESS ? status : graft_fail(status, "%s", run->text);
}

enum ggml_status run_steps(struct ggml_threadpool * team, const struct run_options * options, const struct graft_plan * plan,
                           int first, int n, void * workspace, size_t workspace_size) {
    struct run   run    = { .team = team, .options = options, .workspace = workspace, .workspace_size = workspace_size };
    const size_t worker = graft_plan_worker_size(plan);
    const int    nth    = team_prepare(team, options->n_threads);
    run.steps           = graft_plan_steps(plan) + first;
    run.n_steps         = n;
    run.worker_stride   = run_worker_stride(worker);
    run.sync            = team_memory(team, TEAM_MEMORY_SYNC, (size_t) n * sizeof(struct sync));
    run.worker_memory   = options->worker_memory;
    if (worker > 0 && run.worker_memory == NULL) {
        run.worker_memory = team_memory(team, TEAM_MEMORY_WORKERS, (size_t) nth * run.worker_stride);
    }
    if (run.sync == NULL || (worker > 0 && run.worker_memory == NULL)) {
        return graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for %d workers of %zu bytes", nth, worker);
    }
    memset((void *) run.sync, 0, (size_t) n * sizeof(struct sync));
    team_run(team, walk, &run, nth);
    return finish(&run);
}

/* ---- the parallel service ---- */

/* Also on the way of an exception: the others may wait at a barrier. */
static void leave_parallel(struct seat * seat) {
    if (seat->task.nth > 1 && count_in(seat->sync, 1, seat->task.nth)) {
        team_notify(seat->run->team);
    }
}

static void run_fn(void * arg, int ith, int nth) {
    struct run *                                          run  = arg;
    __attribute__((cleanup(leave_parallel))) struct seat seat;
    seat_init(&seat, run, ith);
    seat.task.nth = nth;
    seat.sync     = run->sync;
    if (ith == 0 && run->options->abort_callback != NULL && run->options->abort_callback(run->options->abort_data)) {
        atomic_store(&run->status, (int) GGML_STATUS_ABORTED);
    }
    run->parallel_fn(&seat.task, run->parallel_data);
}

enum ggml_status run_parallel(struct ggml_threadpool * team, const struct run_options * options, ggml_ext_cpu_fn fn,
                              void * user_data) {
    struct sync sync;
    struct run  run = { .team = team, .options = options, .parallel_fn = fn, .parallel_data = user_data, .sync = &sync };
    memset((void *) &sync, 0, sizeof(sync));
    snprintf(run.text, sizeof(run.text), "aborted by the callback");
    team_run(team, run_fn, &run, team_prepare(team, options->n_threads));
    return finish(&run);
}
