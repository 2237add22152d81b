/* SPDX-License-Identifier: MIT
 *
 * The process around us: locale, floating-point mode, fork, exec, exit with running pools, the library loaded and unloaded over and
 * over, and twice in one process. This program knows the library only by dlopen where it loads it; for the rest it is linked.
 */
#include <dlfcn.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gguf.h"
#include "support.h"

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif

/* ---- locale ---- */

static char log_text[8192];

static void keep(enum ggml_log_level level, const char * text, void * ud) {
    (void) level, (void) ud;
    strncat(log_text, text, sizeof(log_text) - strlen(log_text) - 1);
}

/* A locale with a decimal comma: one of the system, or made for this test. */
static bool use_comma(char * folder, size_t n) {
    static const char * names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (setlocale(LC_ALL, names[i]) != NULL && localeconv()->decimal_point[0] == ',') {
            return true;
        }
    }
    char command[300];
    snprintf(folder, n, P_tmpdir "/graft-locale-%d", (int) getpid());
    snprintf(command, sizeof(command), "mkdir -p %s && localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder, folder);
    if (system(command) > 255) { /* warnings end with 1 */
    }
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") != NULL && localeconv()->decimal_point[0] == ',';
}

static void print_all(char * dump, size_t n) {
    struct ggml_context * ctx   = ggml_init((struct ggml_init_params){ 1 << 20, NULL, false });
    struct ggml_tensor *  a     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    char                  name[64];
    ggml_set_f32(a, 1.5f);
    ggml_build_forward_expand(graph, ggml_scale(ctx, a, 0.25f));
    log_text[0] = 0;
    ggml_log_set(keep, NULL);
    ggml_graph_print(graph);
    snprintf(name, sizeof(name), P_tmpdir "/graft-robust-%d.dot", (int) getpid());
    ggml_graph_dump_dot(graph, NULL, name);
    ggml_log_set(NULL, NULL);
    FILE * file = fopen(name, "r");
    dump[0]     = 0;
    if (file != NULL) {
        dump[fread(dump, 1, n - 1, file)] = 0;
        fclose(file);
        remove(name);
    }
    ggml_free(ctx);
}

TEST(numbers_do_not_depend_on_the_locale) {
    static char c_dump[16384], comma_dump[16384], c_log[8192];
    char        folder[64] = "";
    print_all(c_dump, sizeof(c_dump));
    strcpy(c_log, log_text);
    if (!use_comma(folder, sizeof(folder))) {
        SKIP("no locale with a decimal comma");
    }
    char probe[16];
    snprintf(probe, sizeof(probe), "%.1f", 1.5);
    CHECK(strcmp(probe, "1,5") == 0);
    print_all(comma_dump, sizeof(comma_dump));
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    if (folder[0] != 0) {
        char command[128];
        snprintf(command, sizeof(command), "rm -r %s", folder);
        CHECK(system(command) == 0);
    }
    /* addresses and times differ between two prints; a comma between digits must not come up */
    for (const char * text = comma_dump;; text = log_text) {
        for (const char * p = text; *p != 0; p++) {
            if (p > text && *p == ',' && p[-1] >= '0' && p[-1] <= '9' && p[1] >= '0' && p[1] <= '9') {
                const char * same = text == comma_dump ? c_dump : c_log;
                char         part[4] = { p[-1], p[0], p[1], 0 };
                CHECK_MSG(strstr(same, part) != NULL, "decimal comma: ...%.20s", p - 1);
            }
        }
        if (text == log_text) {
            break;
        }
    }
}

/* ---- floating-point mode ---- */

static int modes[64];

static void record_mode(struct ggml_tensor * dst, int ith, int nth, void * ud) {
    (void) ud, (void) nth;
    volatile float one = 1.0f, three = 3.0f, tiny = 1e-39f;
    int            flushed = 0;
#if defined(__x86_64__)
    flushed = (__builtin_ia32_stmxcsr() & 0x8040) == 0x8040;
#endif
    modes[ith] = fegetround() << 1 | flushed;
    ((float *) dst->data)[ith] = one / three + tiny;
}

TEST(workers_have_the_callers_floating_point_mode) {
#if !defined(__x86_64__)
    SKIP("the mode is read by x86 means");
#else
    struct ggml_context * ctx   = ggml_init((struct ggml_init_params){ 1 << 20, NULL, false });
    struct ggml_tensor *  a     = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 64);
    struct ggml_tensor *  y     = ggml_custom_4d(ctx, GGML_TYPE_F32, 64, 1, 1, 1, &a, 1, record_mode, GGML_N_TASKS_MAX, NULL);
    struct ggml_cgraph *  graph = ggml_new_graph(ctx);
    const unsigned        saved = __builtin_ia32_stmxcsr();
    static const int      rounding[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    struct ggml_threadpool_params params = ggml_threadpool_params_default(5);
    struct ggml_threadpool * pool = ggml_threadpool_new(&params);
    ggml_set_f32(a, 0.0f);
    ggml_build_forward_expand(graph, y);
    for (int round = 0; round < 40; round++) {
        const int threads = 2 + round % 4;
        fesetround(rounding[round % 4]);
        if (round / 4 % 2 != 0) {
            __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
        }
        struct ggml_cplan plan = { .n_threads = threads, .threadpool = pool };
        CHECK(ggml_graph_compute(graph, &plan) == GGML_STATUS_SUCCESS);
        CHECK(fegetround() == rounding[round % 4]); /* and the caller keeps it */
        __builtin_ia32_ldmxcsr(saved);
        fesetround(FE_TONEAREST);
        for (int i = 0; i < threads; i++) {
            CHECK_MSG(modes[i] == (rounding[round % 4] << 1 | (round / 4 % 2 != 0)), "round %d worker %d of %d: %x", round, i, threads, modes[i]);
        }
    }
    ggml_threadpool_free(pool);
    ggml_free(ctx);
#endif
}

/* ---- fork, exec, exit ---- */

static int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static atomic_bool stop_busy;

static void * busy(void * arg) {
    struct ggml_threadpool * pool = arg;
    struct chain             c    = make_chain(NULL, 5, 2000);
    while (!atomic_load(&stop_busy)) {
        struct ggml_cplan plan = { .n_threads = 3, .threadpool = pool };
        ggml_graph_compute(c.graph, &plan);
    }
    ggml_free(c.ctx);
    return NULL;
}

/* While other threads compute on pools of all kinds, children are forked that compute on the same pools. */
TEST(fork_while_others_compute) {
#ifdef UNDER_TSAN
    SKIP("fork with threads is not supported by TSan");
#elif defined(UNDER_ASAN)
    SKIP("ASan's allocator may be locked in a child that is forked while another thread allocates");
#else
    struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
    struct ggml_threadpool *      pool   = ggml_threadpool_new(&params);
    pthread_t                     threads[2];
    atomic_store(&stop_busy, false);
    pthread_create(&threads[0], NULL, busy, pool);
    pthread_create(&threads[1], NULL, busy, NULL);
    struct chain c = make_chain(NULL, 5, 2000);
    for (int round = 0; round < 60; round++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (int i = 0; i < 4; i++) {
                struct ggml_cplan plan = { .n_threads = 1 + i, .threadpool = i % 2 ? pool : NULL };
                memset(c.last->data, 0xFF, ggml_nbytes(c.last));
                if (ggml_graph_compute(c.graph, &plan) != GGML_STATUS_SUCCESS || !chain_is_right(&c)) {
                    _exit(2);
                }
            }
            _exit(0);
        }
        const int code = wait_for(child);
        CHECK_MSG(code == 0, "round %d: %d", round, code);
    }
    atomic_store(&stop_busy, true);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    ggml_threadpool_free(pool);
    ggml_free(c.ctx);
#endif
}

/* The end of main while pools of every kind exist and one is at work. */
TEST(exit_while_another_thread_computes) {
#ifdef UNDER_TSAN
    SKIP("fork with threads is not supported by TSan");
#else
    for (int round = 0; round < 20; round++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
#ifdef UNDER_ASAN
            ((void (*)(void)) dlsym(RTLD_DEFAULT, "__lsan_disable"))(); /* what lives at exit is the point */
#endif
            struct ggml_threadpool_params params = ggml_threadpool_params_default(3);
            struct ggml_threadpool *      pool   = ggml_threadpool_new(&params);
            ggml_backend_t                backend = ggml_backend_cpu_init();
            struct chain                  c       = make_chain(NULL, 3, 100);
            pthread_t                     thread;
            ggml_backend_cpu_set_n_threads(backend, 3);
            ggml_backend_graph_compute(backend, c.graph);
            pthread_create(&thread, NULL, busy, round % 2 ? pool : NULL);
            usleep(1000 * (useconds_t) (round % 5));
            exit(0);
        }
        const int code = wait_for(child);
        CHECK_MSG(code == 0, "round %d: %d", round, code);
    }
#endif
}

TEST(exec_with_pools) {
#ifdef UNDER_TSAN
    SKIP("fork with threads is not supported by TSan");
#else
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        struct chain c = make_chain(NULL, 3, 100);
        if (ggml_graph_compute_with_ctx(c.ctx, c.graph, 4) == GGML_STATUS_SUCCESS) {
            execl("/bin/true", "true", (char *) NULL);
        }
        _exit(3);
    }
    CHECK(wait_for(child) == 0);
#endif
}

/* GGML_EXT_OFF is read at registration: in a child with its own environment. */
TEST(kernels_turned_off_by_the_environment) {
#ifdef UNDER_TSAN
    SKIP("fork with threads is not supported by TSan");
#else
    static const struct {
        const char * value;
        bool         off;
    } cases[] = { { "robust.off", true },        { "a,robust.off,b", true }, { ",,robust.off,", true }, { "robust.off.not", false },
                  { "robust.of", false },        { "", false },              { ",", false },            { "robust.off ", false },
                  { "cpu.add,robust.off", true } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pid_t child = fork();
        if (child == 0) {
            setenv("GGML_EXT_OFF", cases[i].value, 1);
            const struct ggml_ext_kernel_desc desc = { .size = sizeof(desc), .name = "robust.off", .op = GGML_OP_SQR, .supports = supports_all,
                                                       .task = (enum ggml_status (*)(void *, void *, struct ggml_ext_task *,
                                                                                     struct ggml_tensor * const *, int)) (void (*)(void)) abort };
            struct ggml_ext_kernel_info info = { .size = sizeof(info) };
            if (ggml_ext_register_kernel(cpu_device_of_test(), &desc) != GGML_STATUS_SUCCESS ||
                ggml_ext_kernel_get(cpu_device_of_test(), ggml_ext_kernel_count(cpu_device_of_test()) - 1, &info) != GGML_STATUS_SUCCESS) {
                _exit(2);
            }
            _exit((info.policy == GGML_EXT_POLICY_OFF) == cases[i].off ? 0 : 3);
        }
        CHECK_MSG(wait_for(child) == 0, "GGML_EXT_OFF='%s'", cases[i].value);
    }
#endif
}

/* ---- loading ---- */

__attribute__((unused)) static bool own_library(char * path, size_t n) {
    Dl_info info;
    return dladdr((void *) ggml_backend_dev_count, &info) != 0 && (size_t) snprintf(path, n, "%s", info.dli_fname) < n;
}

/* In a process that does not have the library: load, compute with threads, unload, again. Code for that process: this program with
 * an argument is the harness's filter, so it is written by hand here and linked to nothing. */
__attribute__((unused)) static const char loader_source[] =
    "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "#include \"ggml.h\"\n#include \"ggml-cpu.h\"\n#include \"ggml-backend.h\"\n"
    "#define GET(name) __typeof__(name) * f_##name = (__typeof__(name) *) dlsym(h, #name); if (!f_##name) { puts(#name); return 2; }\n"
    "static int use(void * h) {\n"
    "  GET(ggml_init) GET(ggml_free) GET(ggml_new_tensor_1d) GET(ggml_set_f32) GET(ggml_add) GET(ggml_new_graph)\n"
    "  GET(ggml_build_forward_expand) GET(ggml_graph_compute_with_ctx) GET(ggml_backend_load_all) GET(ggml_backend_dev_count)\n"
    "  struct ggml_init_params p = { 1 << 20, NULL, 0 };\n"
    "  f_ggml_backend_load_all();\n"
    "  if (f_ggml_backend_dev_count() < 1) { return 3; }\n"
    "  struct ggml_context * ctx = f_ggml_init(p);\n"
    "  struct ggml_tensor * a = f_ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 50000);\n"
    "  f_ggml_set_f32(a, 2.0f);\n"
    "  struct ggml_tensor * y = f_ggml_add(ctx, a, a);\n"
    "  struct ggml_cgraph * g = f_ggml_new_graph(ctx);\n"
    "  f_ggml_build_forward_expand(g, y);\n"
    "  if (f_ggml_graph_compute_with_ctx(ctx, g, 3) != GGML_STATUS_SUCCESS) { return 4; }\n"
    "  int right = ((float *) y->data)[49999] == 4.0f;\n"
    "  f_ggml_free(ctx);\n"
    "  return right ? 0 : 5;\n"
    "}\n"
    "int main(int argc, char ** argv) {\n"
    "  if (argc > 2) {\n"
    "    void * a = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);\n"
    "    void * b = dlopen(argv[1], RTLD_NOW);\n"
    "    if (!a || !b) { puts(dlerror()); return 9; }\n"
    "    int r = use(a); if (!r) { r = use(b); } if (!r) { r = use(a); }\n"
    "    return r;\n"
    "  }\n"
    "  for (int i = 0; i < 25; i++) {\n"
    "    void * h = dlopen(argv[1], i % 2 ? RTLD_NOW : RTLD_LAZY);\n"
    "    if (!h) { puts(dlerror()); return 1; }\n"
    "    int r = use(h); if (r) { return r; }\n"
    "    if (dlclose(h) != 0) { return 6; }\n"
    "  }\n"
    "  return 0;\n"
    "}\n";

TEST(loaded_and_unloaded_and_twice) {
#if defined(UNDER_TSAN) || defined(UNDER_ASAN)
    SKIP("a sanitizer's runtime must be there from the start");
#else
    char library[PATH_MAX], base[64], source[80], command[PATH_MAX * 2];
    REQUIRE(own_library(library, sizeof(library)));
    snprintf(base, sizeof(base), P_tmpdir "/graft-robust-loader-%d", (int) getpid());
    snprintf(source, sizeof(source), "%s.c", base);
    FILE * file = fopen(source, "w");
    REQUIRE(file != NULL);
    fputs(loader_source, file);
    fclose(file);
    snprintf(command, sizeof(command), "cc -std=gnu11 -D_GNU_SOURCE -I%s/../../include -o %s %s -ldl", GRAFT_TEST_DATA, base, source);
    const bool built = system(command) == 0;
    remove(source);
    if (!built) {
        SKIP("no compiler to build the loading program");
    }
    snprintf(command, sizeof(command), "timeout 60 %s %s", base, library);
    CHECK_MSG(system(command) == 0, "load and unload");
    snprintf(command, sizeof(command), "timeout 60 %s %s twice", base, library);
    CHECK_MSG(system(command) == 0, "two copies");
    remove(base);
#endif
}
