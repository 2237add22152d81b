/* SPDX-License-Identifier: MIT
 *
 * Errors: a status for the program, a text for the person. The text is formed where the fault is found and kept per
 * thread until the next failure or until a call that succeeds clears it.
 */
#ifndef GRAFT_BASE_STATUS_H
#define GRAFT_BASE_STATUS_H

#include "ggml.h"

/* Longer texts are cut. */
#define BASE_ERROR_MAX 1024

/* Stores the text for this thread and returns the status, so that a failure is one line: return base_fail(...). */
enum ggml_status base_fail(enum ggml_status status, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

/* The text of this thread; "" when there is none. Valid until the next failure on this thread. */
const char * base_error_text(void);

void base_clear_error(void);

/* Puts a text, of another thread perhaps, in place of this thread's. */
void base_set_error_text(const char * text);

#endif /* GRAFT_BASE_STATUS_H */
