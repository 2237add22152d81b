/* SPDX-License-Identifier: MIT
 *
 * Subcommands of graft. Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong use.
 */
#ifndef GRAFT_CLI_COMMAND_H
#define GRAFT_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct command {
    const char * name;
    const char * brief;
    int (*run)(int argc, char ** argv); /* argv[0] is "graft NAME" */
};

int command_run(int argc, char ** argv);
int command_info(int argc, char ** argv);
int command_devices(int argc, char ** argv);

/* "graft: text" on stderr, red on a terminal. Returns 1, to be the exit code. */
int command_failed(const char * fmt, ...) __attribute__((format(printf, 1, 2)));

/* Log lines of the libraries: errors are kept for command_failed, the rest goes to stderr with --verbose only. */
void         command_capture_log(bool verbose);
const char * command_log_error(void); /* the first error line, without its end; "" when there was none */

#endif /* GRAFT_CLI_COMMAND_H */
