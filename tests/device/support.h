/* SPDX-License-Identifier: MIT
 *
 * What the tests of devices share: the test module, the log kept in memory, and calls that must end the process.
 */
#ifndef GRAFT_TESTS_DEVICE_SUPPORT_H
#define GRAFT_TESTS_DEVICE_SUPPORT_H

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/modules/test.h"
#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "ggml-impl.h"
#include "harness.h"

/* ---- the log ---- */

static char logged[65536];

static void log_to_memory(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) user_data;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const size_t used = strlen(logged);
    snprintf(logged + used, sizeof(logged) - used, "%s", text);
    pthread_mutex_unlock(&lock);
}

static inline void log_begin(void) {
    logged[0] = 0;
    ggml_log_set(log_to_memory, NULL);
}

static inline bool log_has(const char * text) {
    return strstr(logged, text) != NULL;
}

/* Running out of memory is a case here, and not a fault, for the address and thread sanitizers too. */
const char * __asan_default_options(void);
const char * __tsan_default_options(void);

__attribute__((weak, visibility("default"))) const char * __asan_default_options(void) {
    return "allocator_may_return_null=1";
}

__attribute__((weak, visibility("default"))) const char * __tsan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* ---- the test module ---- */

static inline ggml_backend_reg_t test_registry(void) {
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("TEST");
    return reg != NULL ? reg : ggml_backend_load(GRAFT_TEST_MODULES "/unknown/libggml-test.so");
}

static inline void * test_procedure(ggml_backend_reg_t reg, const char * name) {
    return ggml_backend_reg_get_proc_address(reg, name);
}

static inline struct test_counters * test_counters(void) {
    ggml_backend_reg_t reg = test_registry();
    return reg != NULL ? ((test_counters_fn) (uintptr_t) test_procedure(reg, "test_counters"))() : NULL;
}

/* Backend of the plain (0) or the full (1) test device, counters cleared. */
static inline ggml_backend_t test_backend(int device) {
    ggml_backend_reg_t reg = test_registry();
    if (reg == NULL) {
        return NULL;
    }
    memset(test_counters(), 0, sizeof(struct test_counters));
    return ggml_backend_dev_init(ggml_backend_reg_dev_get(reg, (size_t) device), NULL);
}

static inline struct ggml_context * test_context(void) {
    const struct ggml_init_params params = {.mem_size = 1 << 20, .mem_buffer = NULL, .no_alloc = true};
    return ggml_init(params);
}

/* ---- the end of a process ---- */

/* Runs fn in a child. Does it abort with a text (on standard error) that has `expected` in it? */
static inline bool aborts_with(void (*fn)(void *), void * data, const char * expected) {
    char text[8192] = "";
    int  pipes[2];
    int  status = 0;
    if (pipe(pipes) != 0) {
        return false;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        signal(SIGABRT, SIG_DFL);
        setenv("GGML_NO_BACKTRACE", "1", 1);
        fn(data);
        _exit(0);
    }
    close(pipes[1]);
    size_t  used = 0;
    ssize_t n;
    while ((n = read(pipes[0], text + used, sizeof(text) - 1 - used)) > 0) {
        used += (size_t) n;
    }
    close(pipes[0]);
    waitpid(child, &status, 0);
    const bool aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    if (!aborted || strstr(text, expected) == NULL) {
        fprintf(stderr, "  child %s; it said: %s\n", aborted ? "aborted" : "did not abort", text);
        return false;
    }
    return true;
}

#endif /* GRAFT_TESTS_DEVICE_SUPPORT_H */
