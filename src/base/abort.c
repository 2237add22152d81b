/* SPDX-License-Identifier: MIT
 *
 * The end of the process when a program breaks a contract: text, call stack, abort. Uses no heap of its own, which may
 * be what is broken, and writes to standard error itself: a silenced log must not hide why a program died.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "ggml-impl.h"

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#include <unistd.h>
#define HAVE_BACKTRACE 1
#endif
#endif

#define MAX_FRAMES 100

static _Atomic(ggml_abort_callback_t) abort_callback;

ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback) {
    return atomic_exchange(&abort_callback, callback);
}

void ggml_print_backtrace(void) {
    if (base_getenv("GGML_NO_BACKTRACE") != NULL) {
        return;
    }
#ifdef HAVE_BACKTRACE
    void *    frames[MAX_FRAMES];
    const int n = backtrace(frames, MAX_FRAMES);
    backtrace_symbols_fd(frames, n, STDERR_FILENO);
#endif
}

void ggml_abort(const char * file, int line, const char * fmt, ...) {
    char    text[4096];
    va_list args;
    int     used = snprintf(text, sizeof(text), "%s:%d: ", file, line);
    if (used < 0 || (size_t) used >= sizeof(text)) {
        used = 0;
    }
    va_start(args, fmt);
    vsnprintf(text + used, sizeof(text) - (size_t) used, fmt, args);
    va_end(args);
    fflush(stdout); /* what the program said before stands before */
    const ggml_abort_callback_t callback = atomic_load(&abort_callback);
    if (callback != NULL) {
        callback(text);
    } else {
        fprintf(stderr, "%s\n", text);
        ggml_print_backtrace();
    }
    abort();
}
