/* SPDX-License-Identifier: MIT
 *
 * One loadable module: opened, asked whether it fits this machine and this interface, initialised, put on the list.
 * What is refused is closed again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/os.h"
#include "base/status.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "graft-module.h"
#include "graft.h"
#include "registry/registry.h"

/* Forms the text, logs it, closes what was open. */
static void refuse(void * handle, const char * path, enum ggml_log_level level, const char * why) {
    char text[BASE_ERROR_MAX];
    snprintf(text, sizeof(text), "module %s refused: %s", path, why);
    if (handle != NULL) {
        base_dl_close(handle); /* before the text is kept: closing runs the module's code */
    }
    graft_fail(GGML_STATUS_FAILED, "%s", text);
    ggml_log_internal(level, "%s\n", text);
}

/* Is the object one of the libraries that run now, or another copy of libggml-base (it has our mark)? */
static bool is_this_library(void * handle) {
    const void * object = base_object_of_handle(handle);
    const void * mark   = base_dl_symbol(handle, "graft_version"); /* also found in what a module depends on */
    return object == base_object_of_address((const void *) (uintptr_t) ggml_backend_load) ||
           object == base_object_of_address((const void *) (uintptr_t) ggml_backend_cpu_reg) ||
           object == base_object_of_address((const void *) (uintptr_t) graft_version) ||
           (mark != NULL && object == base_object_of_address(mark));
}

void * registry_open_module(const char * path, enum ggml_log_level level) {
    void * handle = base_dl_open(path);
    if (handle == NULL) {
        refuse(NULL, path, level, base_error_text());
        return NULL;
    }
    if (is_this_library(handle)) {
        refuse(handle, path, level, "it is this library itself");
        return NULL;
    }
    return handle;
}

int registry_score_module(void * handle, int silent) {
    ggml_backend_score_t score;
    void *               symbol = base_dl_symbol(handle, "ggml_backend_score");
    memcpy(&score, &symbol, sizeof(score));
    return symbol != NULL ? score() : silent;
}

/* Modules fill their tables in ggml_backend_init and seldom guard that: one initialisation at a time. Recursive, and
 * given back when something throws: what a module logs reaches the client's callback. */
static pthread_mutex_t initialising = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void unlock(pthread_mutex_t ** held) {
    pthread_mutex_unlock(*held);
}

/* Initialises and adds; NULL, with the reason in why, on failure. *added: the list has taken the handle over. */
static ggml_backend_reg_t init_and_add(void * handle, ggml_backend_init_t init, bool * added, char * why, size_t n) {
    __attribute__((cleanup(unlock))) pthread_mutex_t * held = &initialising;
    pthread_mutex_lock(held);
    const ggml_backend_reg_t live = registry_of_handle(handle);
    if (live != NULL) {
        return live;
    }
    const ggml_backend_reg_t reg = init();
    if (reg == NULL) {
        snprintf(why, n, "its ggml_backend_init returned NULL");
    } else if (reg->api_version != GGML_BACKEND_API_VERSION) {
        snprintf(why, n, "it was built for version %d of the module interface, this library has %d", reg->api_version,
                 GGML_BACKEND_API_VERSION);
    } else if (registry_add(reg, handle, added) != GGML_STATUS_SUCCESS) {
        snprintf(why, n, "%s", ggml_ext_last_error());
    } else {
        return reg;
    }
    return NULL;
}

ggml_backend_reg_t registry_init_module(void * handle, const char * path, enum ggml_log_level level) {
    ggml_backend_init_t init;
    bool                added = false;
    char                why[256];
    if (registry_score_module(handle, 1) == 0) {
        refuse(handle, path, level, "it does not support this machine");
        return NULL;
    }
    void * symbol = base_dl_symbol(handle, "ggml_backend_init");
    if (symbol == NULL) {
        refuse(handle, path, level, "it has no function ggml_backend_init");
        return NULL;
    }
    memcpy(&init, &symbol, sizeof(init));
    const ggml_backend_reg_t reg = init_and_add(handle, init, &added, why, sizeof(why));
    if (reg == NULL) {
        refuse(handle, path, level, why);
    } else if (!added) {
        base_dl_close(handle); /* opened once more: the list has the first handle */
    } else {
        GGML_LOG_INFO("loaded %s backend from %s\n", ggml_backend_reg_name(reg), path);
    }
    return reg;
}

ggml_backend_reg_t ggml_backend_load(const char * path) {
    if (path == NULL || path[0] == 0) { /* dlopen would take it for the program itself */
        refuse(NULL, "(no path)", GGML_LOG_LEVEL_ERROR, "no path was given");
        return NULL;
    }
    void * handle = registry_open_module(path, GGML_LOG_LEVEL_ERROR);
    return handle != NULL ? registry_init_module(handle, path, GGML_LOG_LEVEL_ERROR) : NULL;
}

/* Kernels that were registered for a device are looked up by its address as long as the process lives, so its memory
 * must not be given to something else. */
static bool has_kernels(ggml_backend_reg_t reg) {
    for (size_t i = 0; i < ggml_backend_reg_dev_count(reg); i++) {
        if (ggml_ext_kernel_count(ggml_backend_reg_dev_get(reg, i)) > 0) {
            return true;
        }
    }
    return false;
}

void ggml_backend_unload(ggml_backend_reg_t reg) {
    void * handle = NULL;
    if (reg == NULL || !registry_remove(reg, &handle)) {
        if (reg == NULL) {
            graft_fail(GGML_STATUS_FAILED, "no registry was given");
        }
        GGML_LOG_ERROR("ggml_backend_unload: %s\n", ggml_ext_last_error());
        return;
    }
    if (handle != NULL && !has_kernels(reg)) {
        base_dl_close(handle);
    }
}
