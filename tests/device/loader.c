/* SPDX-License-Identifier: MIT
 *
 * Loading modules: what is refused and with which text, scores, folders, environment.
 */
#include <pthread.h>
#include <sys/stat.h>

#include "device/support.h"

static const char * label_of(ggml_backend_reg_t reg) {
    return ((test_label_fn) (uintptr_t) test_procedure(reg, "test_label"))();
}

static void check_refused(const char * path, const char * why) {
    const size_t n_regs = ggml_backend_reg_count();
    const size_t n_devs = ggml_backend_dev_count();
    log_begin();
    CHECK_MSG(ggml_backend_load(path) == NULL, "%s was loaded", path);
    CHECK_MSG(strstr(ggml_ext_last_error(), why) != NULL, "%s: text is: %s", path, ggml_ext_last_error());
    CHECK_MSG(path == NULL || path[0] == 0 || strstr(ggml_ext_last_error(), path) != NULL, "text does not name %s",
              path);
    CHECK(log_has(why));
    CHECK(ggml_backend_reg_count() == n_regs && ggml_backend_dev_count() == n_devs);
    ggml_log_set(NULL, NULL);
}

TEST(refused_modules) {
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-old.so",
                  "version 1 of the module interface, this library has 2");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-missing.so", "a_function_that_no_library_has");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-live.so", "CPU is live already");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-cpu.so", "CPU is live already");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-noinit.so", "ggml_backend_init");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-null.so", "returned NULL");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-zero.so", "does not support this machine");
    check_refused(GRAFT_TEST_MODULES "/unknown/libggml-text.so", "cannot load");
    check_refused(GRAFT_TEST_MODULES "/nowhere/libggml-x.so", "cannot load");
    check_refused(GRAFT_TEST_MODULES "/unknown", "cannot load"); /* a folder */
    check_refused("", "no path");
    check_refused(NULL, "no path");
    unsetenv("GRAFT_TEST_CPU_OPENED");
}

/* Our own libraries by their paths in the memory map, and a copy under another name. */
static bool path_of_library(const char * name, char * path, size_t n) {
    char   line[4096];
    bool   found = false;
    FILE * maps  = fopen("/proc/self/maps", "r");
    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
        char * begin = strchr(line, '/');
        found        = begin != NULL && strstr(begin, name) != NULL;
        if (found) {
            begin[strcspn(begin, "\n")] = 0;
            snprintf(path, n, "%s", begin);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static bool copy_file(const char * from, const char * to) {
    char   block[65536];
    size_t n;
    bool   good = true;
    FILE * in   = fopen(from, "rb");
    FILE * out  = fopen(to, "wb");
    while (in != NULL && out != NULL && good && (n = fread(block, 1, sizeof(block), in)) > 0) {
        good = fwrite(block, 1, n, out) == n;
    }
    good = good && in != NULL && out != NULL;
    if (in != NULL) {
        fclose(in);
    }
    if (out != NULL) {
        good = fclose(out) == 0 && good;
    }
    return good && chmod(to, 0755) == 0;
}

TEST(this_library_is_refused) {
    const char * const names[] = {"libggml-base.so", "libggml-cpu.so", "libggml.so"};
    char               path[4096];
    for (int i = 0; i < 3; i++) {
        REQUIRE(path_of_library(names[i], path, sizeof(path)));
        check_refused(path, "this library itself");
    }
    char folder[] = P_tmpdir "/graft-copy-XXXXXX";
    char copy[64];
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(copy, sizeof(copy), "%s/libggml-other.so", folder);
    REQUIRE(path_of_library("libggml-base.so", path, sizeof(path)) && copy_file(path, copy));
    check_refused(copy, "this library itself");
    unlink(copy);
    rmdir(folder);
}

TEST(load_and_unload) {
    const size_t n_regs = ggml_backend_reg_count();
    const size_t n_devs = ggml_backend_dev_count();
    log_begin();
    ggml_backend_reg_t reg = ggml_backend_load(GRAFT_TEST_MODULES "/path/libggml-more.so");
    REQUIRE(reg != NULL);
    CHECK(log_has("loaded MORE backend from " GRAFT_TEST_MODULES "/path/libggml-more.so"));
    CHECK(ggml_backend_reg_count() == n_regs + 1 && ggml_backend_dev_count() == n_devs + 2);
    CHECK(ggml_backend_load(GRAFT_TEST_MODULES "/path/libggml-more.so") == reg); /* again: the same */
    CHECK(ggml_backend_load(GRAFT_TEST_MODULES "/unknown/../path/libggml-more.so") == reg);
    CHECK(ggml_backend_reg_count() == n_regs + 1 && ggml_backend_dev_count() == n_devs + 2);
    CHECK(ggml_backend_dev_by_name("MORE0") != NULL);
    ggml_backend_t backend = ggml_backend_init_by_name("MORE1", NULL);
    CHECK(backend != NULL);
    ggml_backend_free(backend);
    for (int i = 0; i < 3; i++) {
        ggml_backend_unload(reg);
        CHECK(ggml_backend_reg_count() == n_regs && ggml_backend_dev_count() == n_devs);
        CHECK(ggml_backend_reg_by_name("MORE") == NULL && ggml_backend_dev_by_name("MORE0") == NULL);
        char path[4096];
        CHECK(!path_of_library("libggml-more.so", path, sizeof(path))); /* closed, not only taken off the list */
        reg = ggml_backend_load(GRAFT_TEST_MODULES "/path/libggml-more.so");
        REQUIRE(reg != NULL);
    }
    ggml_backend_unload(reg);
    ggml_log_set(NULL, NULL);
}

TEST(greatest_score_wins) {
    log_begin();
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/scored");
    ggml_backend_reg_t blas = ggml_backend_reg_by_name("blas");
    REQUIRE(blas != NULL);
    CHECK(strcmp(label_of(blas), "high") == 0);
    const size_t n = ggml_backend_reg_count();
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/scored"); /* live: passed over */
    CHECK(ggml_backend_reg_count() == n && ggml_backend_reg_by_name("blas") == blas);
    ggml_log_set(NULL, NULL);
}

TEST(base_module_when_no_variant_fits) {
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/base");
    ggml_backend_reg_t cann = ggml_backend_reg_by_name("CANN");
    REQUIRE(cann != NULL);
    CHECK(strcmp(label_of(cann), "base") == 0);
}

TEST(unknown_names_of_a_given_folder) {
    const size_t n_regs = ggml_backend_reg_count();
    const bool   had    = ggml_backend_reg_by_name("TEST") != NULL;
    unsetenv("GRAFT_TEST_CPU_OPENED");
    log_begin();
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/unknown");
    CHECK(ggml_backend_reg_by_name("TEST") != NULL);
    CHECK(ggml_backend_reg_count() == n_regs + !had);
    /* what was refused is said, and does not keep the others from loading */
    CHECK(log_has("libggml-old.so refused") && log_has("libggml-missing.so refused") &&
          log_has("libggml-live.so refused"));
    CHECK(log_has("libggml-text.so refused") && log_has("libggml-noinit.so refused"));
    /* another CPU module is not so much as opened: its constructors would run */
    CHECK(getenv("GRAFT_TEST_CPU_OPENED") == NULL);
    ggml_log_set(NULL, NULL);
}

TEST(folders_that_cannot_be_read) {
    const size_t n = ggml_backend_reg_count();
    log_begin();
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/nowhere");
    CHECK(log_has("/nowhere") && strstr(ggml_ext_last_error(), "/nowhere") != NULL);
    ggml_backend_load_all_from_path("");
    ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/unknown/libggml-test.so"); /* a file */
    static char name[8192];
    memset(name, 'x', sizeof(name) - 1);
    ggml_backend_load_all_from_path(name);
    CHECK(strstr(ggml_ext_last_error(), "too long") != NULL);
    CHECK(ggml_backend_reg_count() == n);
    ggml_log_set(NULL, NULL);
}

TEST(working_directory_only_when_told) {
    char before[4096];
    REQUIRE(getcwd(before, sizeof(before)) != NULL && chdir(GRAFT_TEST_MODULES "/cwd") == 0);
    unsetenv("GRAFT_SEARCH_CWD");
    ggml_backend_load_all();
    CHECK(ggml_backend_reg_by_name("SYCL") == NULL);
    setenv("GRAFT_SEARCH_CWD", "0", 1);
    ggml_backend_load_all();
    CHECK(ggml_backend_reg_by_name("SYCL") == NULL);
    setenv("GRAFT_SEARCH_CWD", "1", 1);
    ggml_backend_load_all();
    CHECK(ggml_backend_reg_by_name("SYCL") != NULL);
    unsetenv("GRAFT_SEARCH_CWD");
    CHECK(chdir(before) == 0);
}

TEST(one_more_module_by_environment) {
    log_begin();
    ggml_backend_unload(ggml_backend_reg_by_name("MORE"));
    setenv("GGML_BACKEND_PATH", GRAFT_TEST_MODULES "/path/libggml-more.so", 1);
    ggml_backend_load_all();
    CHECK(ggml_backend_reg_by_name("MORE") != NULL);
    setenv("GGML_BACKEND_PATH", GRAFT_TEST_MODULES "/path/libggml-none.so", 1);
    ggml_backend_load_all();
    CHECK(log_has("libggml-none.so refused"));
    unsetenv("GGML_BACKEND_PATH");
    ggml_log_set(NULL, NULL);
}

/* ---- the executable's folder: a copy of this program beside a module ---- */

TEST(child_beside_a_module) {
    if (getenv("GRAFT_TEST_CHILD") == NULL) {
        return; /* run by the next case */
    }
    CHECK(ggml_backend_reg_by_name("MUSA") == NULL);
    ggml_backend_load_all();
    CHECK(ggml_backend_reg_by_name("MUSA") != NULL);
    CHECK(ggml_backend_reg_by_name("MORE") == NULL); /* of an unknown name: only from a folder that is given */
}

TEST(executable_folder) {
    char folder[] = P_tmpdir "/graft-exe-XXXXXX";
    char program[64], module[64], unknown[64], command[256];
    if (getenv("GRAFT_TEST_CHILD") != NULL) {
        return;
    }
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(program, sizeof(program), "%s/program", folder);
    snprintf(module, sizeof(module), "%s/libggml-musa.so", folder);
    snprintf(unknown, sizeof(unknown), "%s/libggml-more.so", folder);
    CHECK(copy_file("/proc/self/exe", program));
    CHECK(copy_file(GRAFT_TEST_MODULES "/exe/libggml-musa.so", module));
    CHECK(copy_file(GRAFT_TEST_MODULES "/path/libggml-more.so", unknown));
    snprintf(command, sizeof(command), "GRAFT_TEST_CHILD=1 %s child_beside_a_module >/dev/null", program);
    CHECK(system(command) == 0);
    unlink(program);
    unlink(module);
    unlink(unknown);
    rmdir(folder);
}

/* ---- threads ---- */

static void * load_often(void * arg) {
    int * failures = arg;
    for (int i = 0; i < 50; i++) {
        ggml_backend_load_all_from_path(GRAFT_TEST_MODULES "/scored");
        *failures += ggml_backend_load(GRAFT_TEST_MODULES "/path/libggml-more.so") == NULL;
        *failures += ggml_backend_reg_by_name("CPU") != ggml_backend_reg_get(0);
        *failures += ggml_backend_dev_count() < 3;
    }
    return NULL;
}

TEST(loading_on_several_threads) {
    pthread_t threads[4];
    int       failures[4] = {0};
    log_begin();
    for (int i = 0; i < 4; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, load_often, &failures[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failures[i] == 0);
    }
    ggml_log_set(NULL, NULL);
    int n = 0;
    for (size_t i = 0; i < ggml_backend_reg_count(); i++) {
        n += strcmp(ggml_backend_reg_name(ggml_backend_reg_get(i)), "MORE") == 0;
    }
    CHECK(n == 1);
}
