/* SPDX-License-Identifier: MIT
 *
 * Runs the registered cases in order, or those whose name contains the first argument. The last line counts passed,
 * failed and skipped cases in the form that the project's test command adds up.
 */
#include "harness.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CASES   1024
#define MAX_REASONS 256

static struct {
    const char * name;
    harness_fn   fn;
} cases[MAX_CASES];
static int n_cases;

static struct {
    char text[200];
    int  n;
} reasons[MAX_REASONS];
static int n_reasons;

static jmp_buf skip_jump;
static int     n_failures; /* of the running case */
static int     n_generated;
static int     n_printed;

void harness_register(const char * name, harness_fn fn) {
    if (n_cases == MAX_CASES) {
        fprintf(stderr, "too many cases in one test program\n");
        exit(2);
    }
    cases[n_cases].name = name;
    cases[n_cases].fn   = fn;
    n_cases++;
}

void harness_failed(const char * file, int line, const char * fmt, ...) {
    va_list args;
    n_failures++;
    if (n_printed++ > 200) {
        return; /* a broken kernel fails everywhere: the first ones tell */
    }
    fprintf(stderr, "  %s:%d: ", file, line);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void harness_count_skipped(const char * reason, int n) {
    for (int i = 0; i < n_reasons; i++) {
        if (strcmp(reasons[i].text, reason) == 0) {
            reasons[i].n += n;
            return;
        }
    }
    if (n_reasons < MAX_REASONS) {
        snprintf(reasons[n_reasons].text, sizeof(reasons[0].text), "%s", reason);
        reasons[n_reasons++].n = n;
    }
}

void harness_count_run(int n) {
    n_generated += n;
}

void harness_skip(const char * fmt, ...) {
    char    text[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    harness_count_skipped(text, 1);
    longjmp(skip_jump, 1);
}

uint64_t harness_random(uint64_t * state) {
    uint64_t x = *state != 0 ? *state : 0x9E3779B97F4A7C15u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1Du;
}

float harness_random_float(uint64_t * state, float low, float high) {
    return low + (high - low) * ((float) (harness_random(state) >> 40) / (float) (1 << 24));
}

/* Runs one case; false when it ended itself with SKIP. */
static bool run_case(harness_fn fn) {
    n_failures  = 0;
    n_generated = 0;
    if (setjmp(skip_jump) != 0) {
        return false;
    }
    fn();
    return true;
}

int main(int argc, char ** argv) {
    const char * filter = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    int          passed = 0, failed = 0, skipped = 0;
    for (int i = 0; i < n_cases; i++) {
        if (filter != NULL && strstr(cases[i].name, filter) == NULL) {
            continue;
        }
        const bool whole = run_case(cases[i].fn);
        if (n_failures > 0) {
            fprintf(stderr, "FAILED %s: %d checks\n", cases[i].name, n_failures);
            failed++;
        } else if (whole) {
            passed += n_generated > 0 ? n_generated : 1;
        }
    }
    for (int i = 0; i < n_reasons; i++) {
        printf("skipped %d: %s\n", reasons[i].n, reasons[i].text);
        skipped += reasons[i].n;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed > 0;
}
