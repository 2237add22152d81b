/* SPDX-License-Identifier: MIT
 *
 * Runs a function in a child process that is expected to abort, and gives what it wrote before that.
 */
#ifndef GRAFT_TESTS_GRAPH_FAULTS_H
#define GRAFT_TESTS_GRAPH_FAULTS_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ggml.h"

static void write_abort_text(const char * text) {
    fprintf(stderr, "%s\n", text);
}

/* True when the function aborted; text gets its error output, at most n - 1 bytes. */
static inline bool aborts(void (*function)(void), char * text, size_t n) {
    int pipe_ends[2];
    text[0] = 0;
    if (pipe(pipe_ends) != 0) {
        return false;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        signal(SIGABRT, SIG_DFL); /* not the sanitizer's */
        ggml_set_abort_callback(write_abort_text); /* the text without the call stack */
        function();
        _exit(0);
    }
    close(pipe_ends[1]);
    size_t  used = 0;
    ssize_t got;
    char    rest[256];
    while ((got = used < n - 1 ? read(pipe_ends[0], text + used, n - 1 - used)
                               : read(pipe_ends[0], rest, sizeof(rest))) > 0) {
        used += used < n - 1 ? (size_t) got : 0;
    }
    text[used] = 0;
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#define CHECK_ABORTS(function, expected)                                                              \
    do {                                                                                              \
        char abort_text[2048];                                                                        \
        CHECK_MSG(aborts(function, abort_text, sizeof(abort_text)), "%s did not abort", #function);   \
        CHECK_MSG(strstr(abort_text, expected) != NULL, "%s: '%s' not in '%s'", #function, expected, abort_text); \
    } while (0)

#endif /* GRAFT_TESTS_GRAPH_FAULTS_H */
