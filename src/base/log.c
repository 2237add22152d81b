/* SPDX-License-Identifier: MIT
 *
 * The log: one process-wide callback, which gets every message whole, however long it is. The callback is the client's
 * and may throw or log itself, so it runs with no lock held.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "ggml-impl.h"

/* Callback and its user data, changed together: a reader that saw the sequence number odd or changing reads again. */
static atomic_uint                log_sequence;
static _Atomic(ggml_log_callback) log_function = ggml_log_callback_default;
static _Atomic(void *)            log_user_data;

void ggml_log_callback_default(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) user_data;
    fputs(text, stderr);
    fflush(stderr);
}

void ggml_log_get(ggml_log_callback * log_callback, void ** user_data) {
    ggml_log_callback function;
    void *            data;
    unsigned          before;
    do {
        before   = atomic_load(&log_sequence);
        function = atomic_load(&log_function);
        data     = atomic_load(&log_user_data);
    } while ((before & 1) != 0 || before != atomic_load(&log_sequence));
    if (log_callback != NULL) {
        *log_callback = function;
    }
    if (user_data != NULL) {
        *user_data = data;
    }
}

void ggml_log_set(ggml_log_callback log_callback, void * user_data) {
    unsigned even = atomic_load(&log_sequence) & ~1u;
    while (!atomic_compare_exchange_weak(&log_sequence, &even, even + 1)) {
        even &= ~1u;
    }
    atomic_store(&log_function, log_callback != NULL ? log_callback : ggml_log_callback_default);
    atomic_store(&log_user_data, user_data);
    atomic_store(&log_sequence, even + 2);
}

static void free_text(char ** text) {
    free(*text);
}

void ggml_log_internal(enum ggml_log_level level, const char * format, ...) {
    char                                       small[512];
    __attribute__((cleanup(free_text))) char * large = NULL; /* freed also when the callback throws */
    const char *                               text  = small;
    ggml_log_callback                          function;
    void *                                     user_data;
    va_list                                    args;
    if (format == NULL) {
        return;
    }
    va_start(args, format);
    const int length = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    if ((size_t) length >= sizeof(small) && (large = malloc((size_t) length + 1)) != NULL) {
        va_start(args, format);
        vsnprintf(large, (size_t) length + 1, format, args);
        va_end(args);
        text = large; /* out of memory: the message is cut, not lost */
    }
    ggml_log_get(&function, &user_data);
    function(level, text, user_data);
}
