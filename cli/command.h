/* SPDX-License-Identifier: MIT
 *
 * Subcommands of graft. Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong use.
 */
#ifndef GRAFT_CLI_COMMAND_H
#define GRAFT_CLI_COMMAND_H

#include <argp.h>
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
/* "graft: note: text" on stderr: what was done otherwise than asked. */
void command_note(const char * fmt, ...) __attribute__((format(printf, 1, 2)));

/* Wrong use, found by a parser of options: one line on stderr, and exit with code 2. */
void command_wrong(const struct argp_state * state, const char * fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* The number that an option was given; wrong use when it is none from low to high. */
long command_number(const struct argp_state * state, const char * option, const char * arg, long low, long high);

/* False, after command_failed, when a path names no file that can be read. */
bool command_check_file(const char * path);

/* Sends what was printed on its way. False when it cannot be written; main says why at the end. */
bool command_flush(void);

/* Lines that the libraries log go to stderr with verbose, nowhere without: what failed is said by command_failed. */
void command_set_log(bool verbose);

#endif /* GRAFT_CLI_COMMAND_H */
