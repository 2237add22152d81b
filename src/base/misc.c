/* SPDX-License-Identifier: MIT
 *
 * Small services of the public headers that know nothing of tensors: version, time, memory, files, the process-wide
 * lock, parameters of thread pools, and what modules get of src/base.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "base/status.h"
#include "ggml-impl.h"
#include "ggml-threading.h"
#include "graft-module.h"
#include "graft.h"

#ifndef GGML_COMMIT
#define GGML_COMMIT "unknown"
#endif
#define GGML_VERSION_TEXT "0.25.3" /* of the interface */
#define GRAFT_VERSION_TEXT "0.1.0"

#define ALLOC_ALIGNMENT 64 /* a cache line, and a register of AVX-512 */

const char * ggml_version(void) {
    return GGML_VERSION_TEXT;
}

const char * ggml_commit(void) {
    return GGML_COMMIT;
}

const char * graft_version(void) {
    return GRAFT_VERSION_TEXT;
}

const char * ggml_status_to_string(enum ggml_status status) {
    switch (status) {
        case GGML_STATUS_ALLOC_FAILED:
            return "GGML status: error (failed to allocate memory)";
        case GGML_STATUS_FAILED:
            return "GGML status: error (operation failed)";
        case GGML_STATUS_SUCCESS:
            return "GGML status: success";
        case GGML_STATUS_ABORTED:
            return "GGML status: warning (operation aborted)";
    }
    return "GGML status: unknown";
}

bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b) {
    return memcmp(guid_a, guid_b, sizeof(ggml_guid)) == 0;
}

void ggml_time_init(void) {
    /* the clock needs no preparation here */
}

int64_t ggml_time_us(void) {
    return base_time_us();
}

int64_t ggml_time_ms(void) {
    return base_time_us() / 1000;
}

/* Processor time of the process, in ticks of the C library. */
int64_t ggml_cycles(void) {
    return (int64_t) clock();
}

int64_t ggml_cycles_per_ms(void) {
    return CLOCKS_PER_SEC / 1000;
}

FILE * ggml_fopen(const char * fname, const char * mode) {
    return fopen(fname, mode);
}

void * ggml_aligned_malloc(size_t size) {
    if (size == 0) {
        GGML_LOG_WARN("ggml_aligned_malloc: 0 bytes asked for: the answer is NULL\n");
        return NULL;
    }
    void * ptr = base_aligned_alloc(ALLOC_ALIGNMENT, size);
    if (ptr == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "out of memory: %zu bytes asked for", size);
        GGML_LOG_ERROR("ggml_aligned_malloc: %s\n", base_error_text());
    }
    return ptr;
}

void ggml_aligned_free(void * ptr, size_t size) {
    (void) size;
    base_aligned_free(ptr);
}

static pthread_mutex_t critical_section = PTHREAD_MUTEX_INITIALIZER;

void ggml_critical_section_start(void) {
    pthread_mutex_lock(&critical_section);
}

void ggml_critical_section_end(void) {
    pthread_mutex_unlock(&critical_section);
}

void ggml_threadpool_params_init(struct ggml_threadpool_params * p, int n_threads) {
    memset(p, 0, sizeof(*p)); /* no mask: the affinity of the process */
    p->n_threads = n_threads;
    p->prio      = GGML_SCHED_PRIO_NORMAL;
    p->poll      = 50; /* of 100: spin for a while, then sleep */
}

struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads) {
    struct ggml_threadpool_params p;
    ggml_threadpool_params_init(&p, n_threads);
    return p;
}

/* May a pool made for p0 serve p1? Whether it starts paused does not matter. */
bool ggml_threadpool_params_match(const struct ggml_threadpool_params * p0, const struct ggml_threadpool_params * p1) {
    return p0->n_threads == p1->n_threads && p0->prio == p1->prio && p0->poll == p1->poll &&
           p0->strict_cpu == p1->strict_cpu && memcmp(p0->cpumask, p1->cpumask, sizeof(p0->cpumask)) == 0;
}

enum ggml_status graft_fail(enum ggml_status status, const char * fmt, ...) {
    char    text[BASE_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    base_set_error_text(text);
    return status;
}

const char * graft_getenv(const char * name) {
    return base_getenv(name);
}
