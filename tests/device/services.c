/* SPDX-License-Identifier: MIT
 *
 * Log, abort, and the small services of libggml-base.
 */
#include <pthread.h>

#include "device/support.h"
#include "ggml-threading.h"
#include "graft-module.h"
#include "graft.h"

static enum ggml_log_level last_level;
static const void *        last_data;

static void log_level(enum ggml_log_level level, const char * text, void * user_data) {
    last_level = level;
    last_data  = user_data;
    log_to_memory(level, text, NULL);
}

TEST(log_keeps_long_messages_whole) {
    enum { N = 20000 };
    static char text[N + 1];
    for (int n = 1; n <= N; n = n < 1100 ? n + 1 : n * 2) {
        memset(text, 'x', (size_t) n);
        text[n - 1] = '!';
        text[n]     = 0;
        log_begin();
        GGML_LOG_INFO("%s\n", text);
        CHECK_MSG(strlen(logged) == (size_t) n + 1 && logged[n - 1] == '!' && logged[n] == '\n', "message of %d bytes",
                  n);
    }
    ggml_log_set(NULL, NULL);
}

TEST(log_passes_level_and_data) {
    int mine = 0;
    ggml_log_set(log_level, &mine);
    GGML_LOG_WARN("a");
    CHECK(last_level == GGML_LOG_LEVEL_WARN && last_data == &mine);
    GGML_LOG_CONT("b");
    CHECK(last_level == GGML_LOG_LEVEL_CONT);
    GGML_LOG("c");
    CHECK(last_level == GGML_LOG_LEVEL_NONE);

    ggml_log_callback function = NULL;
    void *            data     = NULL;
    ggml_log_get(&function, &data);
    CHECK(function == log_level && data == &mine);
    ggml_log_get(NULL, NULL);
    ggml_log_set(NULL, NULL);
    ggml_log_get(&function, &data);
    CHECK(function == ggml_log_callback_default && data == NULL);
}

/* Each callback comes with the data that it was set with, whoever sets another meanwhile. */
static int         first_data, second_data;
static _Atomic int mismatches;

static void first(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) text;
    mismatches += user_data != &first_data;
}

static void second(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) text;
    mismatches += user_data != &second_data;
}

static void * log_often(void * arg) {
    for (int i = 0; i < 20000; i++) {
        GGML_LOG_INFO("%d", i);
    }
    return arg;
}

TEST(log_callback_and_data_change_together) {
    pthread_t threads[2];
    ggml_log_set(first, &first_data);
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, log_often, NULL) == 0);
    }
    for (int i = 0; i < 20000; i++) {
        ggml_log_set(i % 2 ? first : second, i % 2 ? &first_data : &second_data);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    ggml_log_set(NULL, NULL);
    CHECK(mismatches == 0);
}

static void do_abort(void * data) {
    (void) data;
    ggml_abort("file.c", 12, "the number is %d", 42);
}

static void abort_long(void * data) {
    (void) data;
    char name[6000];
    memset(name, 'f', sizeof(name));
    name[sizeof(name) - 1] = 0;
    ggml_abort(name, 1, "the message %s", "itself");
}

static void tell(const char * text) {
    fprintf(stderr, "callback got <%s>", text);
}

static void abort_with_callback(void * data) {
    (void) data;
    ggml_set_abort_callback(tell);
    ggml_abort("file.c", 12, "the number is %d", 42);
}

static void backtrace_of_child(void * data) {
    (void) data;
    unsetenv("GGML_NO_BACKTRACE");
    ggml_print_backtrace();
    abort();
}

TEST(abort_says_why) {
    CHECK(aborts_with(do_abort, NULL, "file.c:12: the number is 42\n"));
    CHECK(aborts_with(abort_long, NULL, "the message itself"));
    CHECK(aborts_with(abort_with_callback, NULL, "callback got <file.c:12: the number is 42>"));
    CHECK(aborts_with(backtrace_of_child, NULL, "libggml-base"));
    CHECK(ggml_set_abort_callback(tell) == NULL);
    CHECK(ggml_set_abort_callback(NULL) == tell);
}

TEST(version_and_status_texts) {
    CHECK(strcmp(ggml_version(), "0.25.3") == 0);
    CHECK(ggml_commit() != NULL && ggml_commit()[0] != 0);
    CHECK(strcmp(graft_version(), "0.1.0") == 0);
    const enum ggml_status all[] = {GGML_STATUS_ALLOC_FAILED, GGML_STATUS_FAILED, GGML_STATUS_SUCCESS,
                                    GGML_STATUS_ABORTED};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            CHECK(strcmp(ggml_status_to_string(all[i]), ggml_status_to_string(all[j])) != 0);
        }
    }
    CHECK(ggml_status_to_string((enum ggml_status) 77) != NULL);
}

TEST(guid_time_and_memory) {
    ggml_guid a = {1, 2, 3}, b = {1, 2, 3}, c = {1, 2, 4};
    CHECK(ggml_guid_matches(&a, &b));
    CHECK(!ggml_guid_matches(&a, &c));

    ggml_time_init();
    const int64_t us = ggml_time_us();
    usleep(2000);
    const int64_t later = ggml_time_us();
    CHECK(later - us >= 2000 && later - us < 2000000);
    CHECK(llabs(ggml_time_ms() - later / 1000) < 1000);
    CHECK(ggml_cycles() >= 0 && ggml_cycles_per_ms() > 0);

    log_begin();
    CHECK(ggml_aligned_malloc(0) == NULL);
    CHECK(ggml_aligned_malloc(SIZE_MAX / 2) == NULL);
    CHECK(log_has("out of memory"));
    void * memory = ggml_aligned_malloc(100);
    CHECK(memory != NULL && (uintptr_t) memory % 64 == 0);
    ggml_aligned_free(memory, 100);
    ggml_aligned_free(NULL, 0);
    ggml_log_set(NULL, NULL);
}

TEST(files_open_by_name) {
    char      name[] = P_tmpdir "/graft-\xc3\xa4-XXXXXX"; /* UTF-8 */
    const int fd     = mkstemp(name);
    REQUIRE(fd >= 0);
    close(fd);
    FILE * file = ggml_fopen(name, "wb");
    CHECK(file != NULL);
    if (file != NULL) {
        fclose(file);
    }
    unlink(name);
    CHECK(ggml_fopen(name, "rb") == NULL);
}

TEST(threadpool_params) {
    struct ggml_threadpool_params a, b = ggml_threadpool_params_default(5);
    memset(&a, 0xFF, sizeof(a));
    ggml_threadpool_params_init(&a, 5);
    CHECK(a.n_threads == 5 && a.prio == GGML_SCHED_PRIO_NORMAL && a.poll == 50 && !a.strict_cpu && !a.paused);
    CHECK(ggml_threadpool_params_match(&a, &b));
    b.paused = true;
    CHECK(ggml_threadpool_params_match(&a, &b));
    b.cpumask[GGML_MAX_N_THREADS - 1] = true;
    CHECK(!ggml_threadpool_params_match(&a, &b));
    b = ggml_threadpool_params_default(6);
    CHECK(!ggml_threadpool_params_match(&a, &b));
}

static void * enter(void * arg) {
    ggml_critical_section_start();
    (*(int *) arg)++;
    ggml_critical_section_end();
    return NULL;
}

TEST(critical_section_excludes) {
    int       entered = 0;
    pthread_t thread;
    ggml_critical_section_start();
    REQUIRE(pthread_create(&thread, NULL, enter, &entered) == 0);
    usleep(20000);
    CHECK(entered == 0);
    ggml_critical_section_end();
    pthread_join(thread, NULL);
    CHECK(entered == 1);
}

TEST(module_services) {
    CHECK(graft_fail(GGML_STATUS_ABORTED, "text %d", 7) == GGML_STATUS_ABORTED);
    CHECK(strcmp(ggml_ext_last_error(), "text 7") == 0);
    setenv("GRAFT_TEST_VARIABLE", "yes", 1);
    CHECK(graft_getenv("GRAFT_TEST_VARIABLE") != NULL && strcmp(graft_getenv("GRAFT_TEST_VARIABLE"), "yes") == 0);
    CHECK(graft_getenv("GRAFT_TEST_VARIABLE_THAT_IS_NOT_SET") == NULL);
}
