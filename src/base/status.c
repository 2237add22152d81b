/* SPDX-License-Identifier: MIT
 *
 * The error text of each thread. It is a fixed array, so that running out of memory can be reported too.
 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_text[BASE_ERROR_MAX];

enum ggml_status base_fail(enum ggml_status status, const char * fmt, ...) {
    char    text[BASE_ERROR_MAX]; /* an argument may be the old text */
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    memcpy(error_text, text, strlen(text) + 1);
    return status;
}

const char * base_error_text(void) {
    return error_text;
}

void base_clear_error(void) {
    error_text[0] = 0;
}

void base_set_error_text(const char * text) {
    snprintf(error_text, sizeof(error_text), "%s", text);
}
