/* SPDX-License-Identifier: MIT
 *
 * graft COMMAND: finds the subcommand.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "ggml.h"
#include "graft.h"

static const struct command commands[] = {
    { "run", "generate text with a model", command_run },
    { "info", "what is in a GGUF file: keys, tensors, sizes", command_info },
    { "devices", "devices, their features, and the kernels chosen", command_devices },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

int command_failed(const char * fmt, ...) {
    const bool colour = isatty(STDERR_FILENO);
    va_list    args;
    fputs(colour ? "\033[31mgraft:\033[0m " : "graft: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return 1;
}

static char first_error[1024];
static bool log_verbose;

static void keep_log(enum ggml_log_level level, const char * text, void * user_data) {
    (void) user_data;
    if (log_verbose) {
        fputs(text, stderr);
    }
    if (level == GGML_LOG_LEVEL_ERROR && first_error[0] == 0) {
        snprintf(first_error, sizeof(first_error), "%s", text);
        first_error[strcspn(first_error, "\n")] = 0;
    }
}

void command_capture_log(bool verbose) {
    log_verbose = verbose;
    ggml_log_set(keep_log, NULL);
}

const char * command_log_error(void) {
    return first_error;
}

static void usage(FILE * to) {
    fprintf(to, "Usage: graft COMMAND [OPTION...]\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].brief);
    }
    fprintf(to, "\n  --help     this text; after a command, its options\n  --version  versions of graft and of the interface\n");
}

int main(int argc, char ** argv) {
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("graft %s, interface of ggml %s\n", graft_version(), ggml_version());
        return 0;
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
    return 2;
}
