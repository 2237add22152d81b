/* SPDX-License-Identifier: MIT
 *
 * What a run of a model took: times, rates, memory.
 */
#ifndef GRAFT_CLI_REPORT_H
#define GRAFT_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report {
    double  load_s, prompt_s, generate_s;
    int32_t n_prompt;                   /* tokens */
    int32_t n_generated;                /* tokens of the answer */
    int32_t n_evaluated;                /* of these; the last one need not be */
    size_t  weights, kv, compute, peak; /* bytes; peak: of the process, resident */
};

double report_now(void); /* seconds of a monotonic clock */

/* The table goes to stderr, so that stdout has the model's text alone. False without memory. */
bool report_print_table(const struct report * report);
/* One object on stdout. */
bool report_print_json(const struct report * report, const char * text, const char * stopped);

#endif /* GRAFT_CLI_REPORT_H */
