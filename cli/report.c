/* SPDX-License-Identifier: MIT
 *
 * Rates count what was evaluated: the prompt's tokens, and those tokens of the answer that were fed back.
 */
#include "report.h"

#include <stdio.h>
#include <time.h>

#include "table.h"

double report_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static double rate(int32_t n, double seconds) {
    return seconds > 0.0 ? (double) n / seconds : 0.0;
}

/* A line of the table: what, amount, and where they make sense a time and a rate. */
static bool add(struct table * table, const char * what, const char * amount, double seconds, double per_second) {
    char         time_text[32], rate_text[32];
    const char * cells[] = { what, amount, seconds >= 0.0 ? time_text : NULL, per_second >= 0.0 ? rate_text : NULL };
    snprintf(time_text, sizeof(time_text), "%.0f ms", seconds * 1e3);
    snprintf(rate_text, sizeof(rate_text), "%.1f tokens/s", per_second);
    return table_add(table, cells);
}

bool report_print_table(const struct report * r) {
    static const char * const columns[] = { "WHAT", ">AMOUNT", ">TIME", ">RATE", NULL };
    struct table *            table     = table_new(columns);
    char                      text[64];
    bool                      ok =
        table != NULL && add(table, "load, weights", table_bytes(text, sizeof(text), r->weights), r->load_s, -1.0);
    snprintf(text, sizeof(text), "%d tokens", r->n_prompt);
    ok = ok && add(table, "prompt", text, r->prompt_s, rate(r->n_prompt, r->prompt_s));
    snprintf(text, sizeof(text), "%d tokens", r->n_generated);
    ok = ok && add(table, "generation", text, r->generate_s, rate(r->n_evaluated, r->generate_s));
    ok = ok && add(table, "KV cache", table_bytes(text, sizeof(text), r->kv), -1.0, -1.0);
    ok = ok && add(table, "compute memory", table_bytes(text, sizeof(text), r->compute), -1.0, -1.0);
    ok = ok && add(table, "peak of process", table_bytes(text, sizeof(text), r->peak), -1.0, -1.0);
    return table_print(table, stderr) && ok;
}

bool report_print_json(const struct report * r, const char * text, const char * stopped) {
    cJSON * root = cJSON_CreateObject();
    json_add_text(root, "text", text);
    cJSON_AddStringToObject(root, "stopped", stopped);
    cJSON_AddNumberToObject(root, "load_ms", r->load_s * 1e3);
    cJSON_AddNumberToObject(root, "prompt_tokens", r->n_prompt);
    cJSON_AddNumberToObject(root, "prompt_ms", r->prompt_s * 1e3);
    cJSON_AddNumberToObject(root, "prompt_tokens_per_s", rate(r->n_prompt, r->prompt_s));
    cJSON_AddNumberToObject(root, "generated_tokens", r->n_generated);
    cJSON_AddNumberToObject(root, "generated_ms", r->generate_s * 1e3);
    cJSON_AddNumberToObject(root, "generated_tokens_per_s", rate(r->n_evaluated, r->generate_s));
    cJSON_AddNumberToObject(root, "weight_bytes", (double) r->weights);
    cJSON_AddNumberToObject(root, "kv_bytes", (double) r->kv);
    cJSON_AddNumberToObject(root, "compute_bytes", (double) r->compute);
    cJSON_AddNumberToObject(root, "peak_bytes", (double) r->peak);
    return json_print(root);
}
