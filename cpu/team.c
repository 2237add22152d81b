/* SPDX-License-Identifier: MIT
 *
 * The team of threads. See team.h.
 *
 * Waiting is hybrid: a short spin with the processor's pause, then giving up the time slice, then sleep on a condition
 * variable. Where threads outnumber free processors, the one that is waited for gets to run.
 */
#include "team.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-impl.h"
#include "graft-module.h"

/* Rounds of waiting. A round of spinning is one pause (some 40 to 140 cycles). */
#define SPIN_ROUNDS  2000 /* for a barrier: about 30 microseconds */
#define YIELD_ROUNDS 200
#define POLL_ROUNDS  2000 /* for a job, per unit of the polling level (0 to 100) */

struct worker {
    struct ggml_threadpool * team;
    pthread_t                thread;
    int                      ith;
    uint64_t                 seen; /* the announcement when it was made */
};

struct ggml_threadpool {
    struct ggml_threadpool_params params;

    pthread_mutex_t  users; /* held by whoever computes */
    pthread_mutex_t  mutex; /* of what follows, and of sleeping */
    pthread_cond_t   wake;
    atomic_int       sleepers;
    atomic_bool      stop, paused;
    atomic_bool      crowded; /* more workers in the job than processors: who spins keeps the awaited one from running */
    int              n_processors;
    struct worker ** workers; /* [1, n_workers); worker 0 is the caller */
    int              n_workers;
    unsigned         fork_epoch;

    /* The announcement: number of the job in the upper bits, how many workers take part in the lower 16. */
    _Alignas(64) atomic_uint_fast64_t announced;
    _Alignas(64) atomic_int busy; /* workers still in the job, the caller apart */

    /* The job. Written before the announcement, read by those that take part. */
    team_fn fn;
    void *  job;
    fenv_t  floating_point;

    void * memory[TEAM_MEMORY_COUNT];
    size_t memory_size[TEAM_MEMORY_COUNT];
};

/* A child after fork has none of the threads. */
static atomic_uint fork_epoch;

static void forked(void) {
    atomic_fetch_add(&fork_epoch, 1);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, forked);
}

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- waiting ---- */

static void sleep_until(struct ggml_threadpool * team, bool (*done)(void * arg), void * arg) {
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->sleepers, 1); /* seen by a notifier before it decides that no one sleeps, or done() is true now */
    while (!done(arg)) {
        pthread_cond_wait(&team->wake, &team->mutex);
    }
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->mutex);
}

static void wait_rounds(struct ggml_threadpool * team, bool (*done)(void * arg), void * arg, int spin) {
    for (int i = 0; i < spin; i++) {
        if (done(arg)) {
            return;
        }
        relax();
    }
    for (int i = 0; i < YIELD_ROUNDS; i++) {
        if (done(arg)) {
            return;
        }
        sched_yield();
    }
    sleep_until(team, done, arg);
}

static int spin_rounds(struct ggml_threadpool * team, int rounds) {
    return atomic_load_explicit(&team->crowded, memory_order_relaxed) ? 0 : rounds;
}

void team_wait(struct ggml_threadpool * team, bool (*done)(void * arg), void * arg) {
    wait_rounds(team, done, arg, spin_rounds(team, SPIN_ROUNDS));
}

void team_notify(struct ggml_threadpool * team) {
    atomic_thread_fence(memory_order_seq_cst); /* the change before, the look at sleepers after */
    if (atomic_load(&team->sleepers) > 0) {
        pthread_mutex_lock(&team->mutex);
        pthread_cond_broadcast(&team->wake);
        pthread_mutex_unlock(&team->mutex);
    }
}

/* ---- workers ---- */

struct next_job {
    struct ggml_threadpool * team;
    uint64_t                 seen;
    int                      ith;
};

static int participants(uint64_t word) {
    return (int) (word & 0xFFFF);
}

static bool job_is_there(void * arg) {
    const struct next_job * next = arg;
    if (atomic_load_explicit(&next->team->stop, memory_order_acquire)) {
        return true;
    }
    const uint64_t word = atomic_load_explicit(&next->team->announced, memory_order_acquire);
    return word != next->seen && next->ith < participants(word);
}

static void apply_affinity(const struct ggml_threadpool * team, int ith) {
    bool any = false;
    for (int i = 0; i < GGML_MAX_N_THREADS; i++) {
        any = any || team->params.cpumask[i];
    }
    if (any || team->params.prio != GGML_SCHED_PRIO_NORMAL) {
        graft_thread_place(any ? team->params.cpumask : NULL, GGML_MAX_N_THREADS, team->params.strict_cpu ? ith : -1,
                           (int) team->params.prio);
    }
}

static void * worker_main(void * arg) {
    struct worker *          self = arg;
    struct ggml_threadpool * team = self->team;
    struct next_job          next = { team, self->seen, self->ith };
    apply_affinity(team, self->ith);
    for (;;) {
        const bool paused = atomic_load_explicit(&team->paused, memory_order_relaxed);
        wait_rounds(team, job_is_there, &next, paused ? 0 : spin_rounds(team, (int) team->params.poll * POLL_ROUNDS));
        if (atomic_load_explicit(&team->stop, memory_order_acquire)) {
            return NULL;
        }
        next.seen = atomic_load_explicit(&team->announced, memory_order_acquire);
        fesetenv(&team->floating_point);
        team->fn(team->job, self->ith, participants(next.seen));
        if (atomic_fetch_sub_explicit(&team->busy, 1, memory_order_acq_rel) == 1) {
            team_notify(team);
        }
    }
}

static bool add_worker(struct ggml_threadpool * team) {
    const int       n       = team->n_workers;
    struct worker * self    = calloc(1, sizeof(*self));
    struct worker ** array  = realloc(team->workers, (size_t) (n + 1) * sizeof(*array));
    if (array != NULL) {
        team->workers = array;
    }
    if (self == NULL || array == NULL) {
        free(self);
        return false;
    }
    self->team = team;
    self->ith  = n;
    self->seen = atomic_load(&team->announced);
    if (pthread_create(&self->thread, NULL, worker_main, self) != 0) {
        free(self);
        return false;
    }
    array[n] = self;
    team->n_workers++;
    return true;
}

/* ---- life ---- */

static void init_sync(struct ggml_threadpool * team) {
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->wake, NULL);
    atomic_store(&team->sleepers, 0);
    atomic_store(&team->busy, 0);
    team->fork_epoch = atomic_load(&fork_epoch);
}

struct ggml_threadpool * team_new(const struct ggml_threadpool_params * params) {
    struct ggml_threadpool * team = NULL;
    if (posix_memalign((void **) &team, 64, sizeof(*team)) != 0) {
        graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a thread pool");
        return NULL;
    }
    memset(team, 0, sizeof(*team));
    team->params       = *params;
    team->n_workers    = 1;
    team->n_processors = graft_cpu_count();
    pthread_mutex_init(&team->users, NULL);
    init_sync(team);
    atomic_store(&team->paused, params->paused);
    team_prepare(team, params->n_threads);
    return team;
}

/* In a forked child the threads are gone and the locks may be held by no one that exists. */
static void forget_lost_threads(struct ggml_threadpool * team) {
    if (team->fork_epoch != atomic_load(&fork_epoch)) {
        for (int i = 1; i < team->n_workers; i++) {
            free(team->workers[i]);
        }
        team->n_workers = 1;
        init_sync(team);
    }
}

void team_free(struct ggml_threadpool * team) {
    if (team == NULL) {
        return;
    }
    forget_lost_threads(team);
    atomic_store_explicit(&team->stop, true, memory_order_release);
    team_notify(team);
    for (int i = 1; i < team->n_workers; i++) {
        pthread_join(team->workers[i]->thread, NULL);
        free(team->workers[i]);
    }
    for (int i = 0; i < TEAM_MEMORY_COUNT; i++) {
        free(team->memory[i]);
    }
    free(team->workers);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->mutex);
    pthread_mutex_destroy(&team->users);
    free(team);
}

int team_prepare(struct ggml_threadpool * team, int nth) {
    forget_lost_threads(team);
    if (nth > GGML_MAX_N_THREADS) {
        nth = GGML_MAX_N_THREADS;
    }
    atomic_store_explicit(&team->crowded, nth > team->n_processors, memory_order_relaxed);
    while (team->n_workers < nth && add_worker(team)) {
    }
    return nth < 1 ? 1 : (team->n_workers < nth ? team->n_workers : nth);
}

void team_hold(struct ggml_threadpool * team) {
    if (team->fork_epoch != atomic_load(&fork_epoch)) {
        pthread_mutex_init(&team->users, NULL);
    }
    pthread_mutex_lock(&team->users);
}

void team_release(struct ggml_threadpool * team) {
    pthread_mutex_unlock(&team->users);
}

void * team_memory(struct ggml_threadpool * team, int slot, size_t size) {
    if (size > team->memory_size[slot]) {
        void * memory = NULL;
        if (posix_memalign(&memory, 64, size) != 0) {
            return NULL;
        }
        free(team->memory[slot]);
        team->memory[slot]      = memory;
        team->memory_size[slot] = size;
    }
    return team->memory[slot];
}

/* ---- running ---- */

static bool all_out(void * arg) {
    struct ggml_threadpool * team = arg;
    return atomic_load_explicit(&team->busy, memory_order_acquire) == 0;
}

/* Also on the way of an exception that a client's callback throws through us: the job lives on the caller's stack. */
static void wait_for_all(struct ggml_threadpool ** team) {
    team_wait(*team, all_out, *team);
}

void team_run(struct ggml_threadpool * team, team_fn fn, void * job, int nth) {
    if (nth <= 1) {
        fn(job, 0, 1);
        return;
    }
    __attribute__((cleanup(wait_for_all))) struct ggml_threadpool * running = team;
    team->fn                                                               = fn;
    team->job                                                              = job;
    fegetenv(&team->floating_point);
    atomic_store_explicit(&team->busy, nth - 1, memory_order_relaxed);
    atomic_store_explicit(&team->paused, false, memory_order_relaxed);
    const uint64_t number = (atomic_load_explicit(&team->announced, memory_order_relaxed) >> 16) + 1;
    atomic_store_explicit(&team->announced, number << 16 | (uint64_t) nth, memory_order_release);
    team_notify(team);
    fn(job, 0, nth);
    (void) running;
}

/* ---- the public pool ---- */

struct ggml_threadpool * ggml_threadpool_new(struct ggml_threadpool_params * params) {
    if (params->n_threads < 1 || params->n_threads > GGML_MAX_N_THREADS) {
        graft_fail(GGML_STATUS_FAILED, "ggml_threadpool_new: %d threads, expected 1 to %d", params->n_threads,
                   GGML_MAX_N_THREADS);
        GGML_LOG_ERROR("%s\n", ggml_ext_last_error());
        return NULL;
    }
    return team_new(params);
}

void ggml_threadpool_free(struct ggml_threadpool * threadpool) {
    team_free(threadpool);
}

void ggml_threadpool_pause(struct ggml_threadpool * threadpool) {
    atomic_store(&threadpool->paused, true);
}

void ggml_threadpool_resume(struct ggml_threadpool * threadpool) {
    atomic_store(&threadpool->paused, false);
    team_notify(threadpool);
}

int ggml_threadpool_get_n_threads(struct ggml_threadpool * threadpool) {
    return threadpool->params.n_threads;
}
