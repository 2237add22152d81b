/* SPDX-License-Identifier: MIT
 *
 * graft COMMAND: finds the subcommand.
 */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "ggml.h"
#include "graft.h"

enum { WRONG_USE = 2 };

static const struct command commands[] = {
    { "run", "generate text with a model", command_run },
    { "info", "what is in a GGUF file: keys, tensors, sizes", command_info },
    { "devices", "devices, their features, and the kernels chosen", command_devices },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* ---- messages ---- */

static void say(const char * who, const char * colour, const char * fmt, va_list args) {
    const bool terminal = isatty(STDERR_FILENO);
    fflush(stdout);
    fprintf(stderr, "%s%s:%s ", terminal ? colour : "", who, terminal ? "\033[0m" : "");
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

int command_failed(const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("graft", "\033[31m", fmt, args);
    va_end(args);
    return EXIT_FAILURE;
}

void command_note(const char * fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say("graft: note", "\033[33m", fmt, args);
    va_end(args);
}

void command_wrong(const struct argp_state * state, const char * fmt, ...) {
    char    text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    command_failed("%s; %s --help lists the options", text, state->name);
    exit(WRONG_USE);
}

long command_number(const struct argp_state * state, const char * option, const char * arg, long low, long high) {
    char * end;
    errno            = 0;
    const long value = strtol(arg, &end, 10);
    if (errno != 0 || end == arg || *end != 0 || value < low || value > high) {
        command_wrong(state, "%s is '%s', expected a number from %ld to %ld", option, arg, low, high);
    }
    return value;
}

bool command_check_file(const char * path) {
    struct stat info;
    if (stat(path, &info) != 0 || access(path, R_OK) != 0) {
        command_failed("%s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        command_failed("%s: %s, expected a GGUF file", path,
                       S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
    } else if (info.st_size == 0) {
        command_failed("%s: the file is empty", path);
    } else {
        return true;
    }
    return false;
}

/* ---- log ---- */

static void print_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    if (*(const bool *) user_data) {
        fputs(text, stderr);
    }
}

void command_set_log(bool verbose) {
    static bool is_verbose;
    is_verbose = verbose;
    ggml_log_set(print_log, &is_verbose);
}

/* ---- start and end ---- */

static void usage(FILE * to) {
    fprintf(to, "Usage: graft COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].brief);
    }
    fprintf(
        to,
        "\n  --help     this text; after a command, its options\n  --version  versions of graft and of the interface\n");
}

static int dispatch(int argc, char ** argv) {
    if (argc < 2) {
        usage(stderr);
        return WRONG_USE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("graft %s, interface of ggml %s\n", graft_version(), ggml_version());
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            char name[64];
            snprintf(name, sizeof(name), "graft %s", commands[i].name);
            argv[1] = name;
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    command_failed("'%s' is no command; graft --help lists them", argv[1]);
    return WRONG_USE;
}

static int output_error; /* errno of the first flush that failed */

bool command_flush(void) {
    if (fflush(stdout) != 0 && output_error == 0) {
        output_error = errno;
    }
    return output_error == 0;
}

/* What was printed may not have arrived: a full disk is a failure, a reader that went away needs no words. */
static int close_output(int rc) {
    if (command_flush() && fclose(stdout) == 0) {
        return rc;
    }
    if (output_error != EPIPE) {
        command_failed("the output cannot be written: %s", strerror(output_error != 0 ? output_error : errno));
    }
    return rc == EXIT_SUCCESS ? EXIT_FAILURE : rc;
}

int main(int argc, char ** argv) {
    /* characters as the terminal has them; numbers stay as in C */
    const char * locale = setlocale(LC_CTYPE, "");
    if (locale == NULL || MB_CUR_MAX == 1) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
    argp_err_exit_status = WRONG_USE;
    return close_output(dispatch(argc, argv));
}
