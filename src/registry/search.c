/* SPDX-License-Identifier: MIT
 *
 * The search for modules. For each name, in order, all files libggml-NAME-*.so of the folders are asked for their score
 * and the greatest above 0 is loaded; when there is none, libggml-NAME.so. The folders are the one that the program
 * gives, or the build's own and the executable's; the working directory only where GRAFT_SEARCH_CWD=1 says so, because
 * whoever can write there would run code in the process.
 *
 * A folder that the program gives is taken for a folder of modules: names unknown here are loaded from it as well,
 * after the known ones, in the order of their bytes. A name whose registry is live is passed over without opening its
 * files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/files.h"
#include "base/os.h"
#include "base/status.h"
#include "ggml-impl.h"
#include "graft-module.h"
#include "registry/registry.h"

#define PREFIX "libggml-"
#define SUFFIX ".so"
#define MAX_FOLDERS 3
#define MAX_PATH 4096
#define MAX_NAME 64

static const char * const known_names[] = {
    "blas",   "zendnn",  "cann",   "cuda",    "hip",  "metal",    "rpc", "sycl",
    "vulkan", "virtgpu", "opencl", "hexagon", "musa", "openvino", "cpu",
};
#define N_KNOWN (sizeof(known_names) / sizeof(known_names[0]))

struct folder {
    char                  path[MAX_PATH];
    struct base_file_list files;
};

struct search {
    struct folder * folders;
    int             n;
};

/* ---- folders ---- */

static void add_folder(struct search * search, const char * path, enum ggml_log_level level) {
    struct folder * folder = &search->folders[search->n];
    if (snprintf(folder->path, sizeof(folder->path), "%s", path) >= (int) sizeof(folder->path)) {
        graft_fail(GGML_STATUS_FAILED, "the path of the folder %.64s... is too long", path);
        ggml_log_internal(level, "%s\n", ggml_ext_last_error());
        return;
    }
    if (!base_file_list_read(folder->path, &folder->files)) {
        graft_fail(GGML_STATUS_FAILED, "%s", base_error_text());
        ggml_log_internal(level, "%s\n", ggml_ext_last_error());
        return;
    }
    search->n++;
}

static void add_default_folders(struct search * search) {
    char         path[MAX_PATH];
    const char * told = base_getenv("GRAFT_SEARCH_CWD");
#ifdef GGML_BACKEND_DIR
    add_folder(search, GGML_BACKEND_DIR, GGML_LOG_LEVEL_DEBUG);
#endif
    if (base_executable_folder(path, sizeof(path))) {
        add_folder(search, path, GGML_LOG_LEVEL_DEBUG);
    }
    if (told != NULL && strcmp(told, "1") == 0) {
        add_folder(search, ".", GGML_LOG_LEVEL_DEBUG);
    }
}

static void search_free(struct search * search) {
    for (int i = 0; i < search->n; i++) {
        base_file_list_free(&search->folders[i].files);
    }
    free(search->folders);
}

/* ---- names of files ---- */

/* NAME of libggml-NAME.so and libggml-NAME-VARIANT.so; false for other files. */
static bool module_name(const char * file, char name[MAX_NAME]) {
    const size_t length = strlen(file);
    const size_t prefix = sizeof(PREFIX) - 1;
    const size_t suffix = sizeof(SUFFIX) - 1;
    if (length <= prefix + suffix || strncmp(file, PREFIX, prefix) != 0 ||
        strcmp(file + length - suffix, SUFFIX) != 0) {
        return false;
    }
    const size_t whole = length - prefix - suffix;
    const char * dash  = memchr(file + prefix, '-', whole);
    const size_t n     = dash != NULL ? (size_t) (dash - (file + prefix)) : whole;
    if (n == 0 || n >= MAX_NAME) {
        return false;
    }
    memcpy(name, file + prefix, n);
    name[n] = 0;
    return true;
}

/* Is the file libggml-NAME-*.so (variant) or libggml-NAME.so (not)? */
static bool is_file_of(const char * file, const char * name, bool variant) {
    char         found[MAX_NAME];
    const size_t dash = sizeof(PREFIX) - 1 + strlen(name);
    return module_name(file, found) && strcmp(found, name) == 0 && (file[dash] == '-') == variant;
}

static bool file_path(const struct folder * folder, const char * file, char path[MAX_PATH]) {
    return snprintf(path, MAX_PATH, "%s/%s", folder->path, file) < MAX_PATH;
}

/* ---- one name ---- */

struct candidate {
    void * handle;
    int    score;
    char   path[MAX_PATH];
};

static void try_variant(const char * path, struct candidate * best) {
    void * handle = registry_open_module(path, GGML_LOG_LEVEL_WARN);
    if (handle == NULL) {
        return;
    }
    const int score = registry_score_module(handle, 0);
    GGML_LOG_DEBUG("%s: score %d\n", path, score);
    if (score <= best->score) {
        base_dl_close(handle);
        return;
    }
    if (best->handle != NULL) {
        base_dl_close(best->handle);
    }
    best->handle = handle;
    best->score  = score;
    snprintf(best->path, sizeof(best->path), "%s", path);
}

static void load_name(const struct search * search, const char * name) {
    struct candidate best = {0};
    char             path[MAX_PATH];
    if (registry_is_live(name)) {
        return;
    }
    for (int variant = 1; variant >= 0 && best.handle == NULL; variant--) {
        for (int i = 0; i < search->n; i++) {
            const struct folder * folder = &search->folders[i];
            for (size_t j = 0; j < folder->files.n; j++) {
                if (!is_file_of(folder->files.names[j], name, variant != 0) ||
                    !file_path(folder, folder->files.names[j], path)) {
                    continue;
                }
                if (variant != 0) {
                    try_variant(path, &best);
                    continue;
                }
                void * handle = registry_open_module(path, GGML_LOG_LEVEL_WARN);
                if (handle != NULL) {
                    registry_init_module(handle, path, GGML_LOG_LEVEL_WARN);
                }
                return; /* the first folder that has the file decides */
            }
        }
    }
    if (best.handle != NULL) {
        registry_init_module(best.handle, best.path, GGML_LOG_LEVEL_WARN);
    }
}

/* ---- all names ---- */

static bool is_known(const char * name) {
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (strcmp(known_names[i], name) == 0) {
            return true;
        }
    }
    return strcmp(name, "base") == 0; /* libggml-base.so is no module */
}

/* Files are sorted, so that those of one name stand together. */
static void load_unknown(const struct search * search) {
    char name[MAX_NAME];
    char last[MAX_NAME] = "";
    for (int i = 0; i < search->n; i++) {
        for (size_t j = 0; j < search->folders[i].files.n; j++) {
            if (module_name(search->folders[i].files.names[j], name) && !is_known(name) && strcmp(name, last) != 0) {
                load_name(search, name);
                memcpy(last, name, sizeof(last));
            }
        }
    }
}

void ggml_backend_load_all_from_path(const char * dir_path) {
    struct search search = {calloc(MAX_FOLDERS, sizeof(struct folder)), 0};
    if (search.folders == NULL) {
        graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory for the search for modules");
        GGML_LOG_ERROR("%s\n", ggml_ext_last_error());
        return;
    }
    if (dir_path != NULL) {
        add_folder(&search, dir_path, GGML_LOG_LEVEL_WARN);
    } else {
        add_default_folders(&search);
    }
    for (size_t i = 0; i < N_KNOWN; i++) {
        load_name(&search, known_names[i]);
    }
    if (dir_path != NULL) {
        load_unknown(&search);
    }
    search_free(&search);

    const char * more = base_getenv("GGML_BACKEND_PATH");
    if (more != NULL && more[0] != 0) {
        ggml_backend_load(more);
    }
}

void ggml_backend_load_all(void) {
    ggml_backend_load_all_from_path(NULL);
}
