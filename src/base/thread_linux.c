/* SPDX-License-Identifier: MIT
 *
 * Placing threads on Linux, and what device modules ask of the operating system.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/os.h"
#include "graft-module.h"

static int nth_processor(const bool * mask, int n, int which) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += mask[i];
    }
    which = count > 0 ? which % count : 0;
    for (int i = 0; i < n; i++) {
        if (mask[i] && which-- == 0) {
            return i;
        }
    }
    return -1;
}

static void place(const bool * mask, int n, int strict) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int only = strict >= 0 ? nth_processor(mask, n, strict) : -1;
    for (int i = 0; i < n && i < CPU_SETSIZE; i++) {
        if (only >= 0 ? i == only : mask[i]) {
            CPU_SET(i, &set);
        }
    }
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

void graft_thread_place(const bool * mask, int n, int strict, int priority) {
    if (mask != NULL) {
        place(mask, n, strict);
    }
    if (priority != GGML_SCHED_PRIO_NORMAL) {
        struct sched_param param;
        memset(&param, 0, sizeof(param));
        const bool low = priority == GGML_SCHED_PRIO_LOW;
        if (!low) {
            param.sched_priority = priority == GGML_SCHED_PRIO_MEDIUM ? 40 : (priority == GGML_SCHED_PRIO_HIGH ? 80 : 90);
        }
        pthread_setschedparam(pthread_self(), low ? SCHED_BATCH : SCHED_FIFO, &param);
    }
}

void graft_cpu_name(char * text, size_t n) {
    base_cpu_name(text, n);
}

void graft_memory(size_t * free_bytes, size_t * total_bytes) {
    base_memory(free_bytes, total_bytes);
}

int graft_cpu_count(void) {
    return base_cpu_count();
}
