/* SPDX-License-Identifier: MIT
 *
 * The harness of the C tests: TEST(name) { ... } defines and registers a case, CHECK counts a failure and goes on,
 * SKIP ends a case with a reason. main prints one line a failure and the totals; its exit code says the rest.
 */
#ifndef GRAFT_TESTS_HARNESS_H
#define GRAFT_TESTS_HARNESS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*harness_fn)(void);

void harness_register(const char * name, harness_fn fn);
void harness_failed(const char * file, int line, const char * fmt, ...) __attribute__((format(printf, 3, 4)));
void harness_skip(const char * fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Counts cases inside one TEST that were generated and passed over, with their reason; listed at the end. */
void harness_count_skipped(const char * reason, int n);
/* The same for generated cases that were run: they are added to the number of passed ones when no check failed. */
void harness_count_run(int n);

#define TEST(name)                                                       \
    static void test_##name(void);                                       \
    __attribute__((constructor)) static void register_##name(void) {     \
        harness_register(#name, test_##name);                            \
    }                                                                    \
    static void test_##name(void)

#define CHECK(cond)                                                      \
    do {                                                                 \
        if (!(cond)) {                                                   \
            harness_failed(__FILE__, __LINE__, "CHECK(%s)", #cond);      \
        }                                                                \
    } while (0)

#define CHECK_MSG(cond, ...)                                             \
    do {                                                                 \
        if (!(cond)) {                                                   \
            harness_failed(__FILE__, __LINE__, __VA_ARGS__);             \
        }                                                                \
    } while (0)

/* Ends the case when what follows makes no sense without it. */
#define REQUIRE(cond)                                                    \
    do {                                                                 \
        if (!(cond)) {                                                   \
            harness_failed(__FILE__, __LINE__, "REQUIRE(%s)", #cond);    \
            return;                                                      \
        }                                                                \
    } while (0)

#define SKIP(...) harness_skip(__VA_ARGS__)

/* A small generator with a seed, the same on every machine: xorshift64*. */
uint64_t harness_random(uint64_t * state);
float    harness_random_float(uint64_t * state, float low, float high);

#endif /* GRAFT_TESTS_HARNESS_H */
