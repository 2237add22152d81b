/* SPDX-License-Identifier: MIT
 *
 * The operating system's part for Linux and other POSIX systems.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/os.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"

const char * base_getenv(const char * name) {
    return secure_getenv(name);
}

void * base_aligned_alloc(size_t align, size_t size) {
    void * ptr = NULL;
    if (posix_memalign(&ptr, align, size > 0 ? size : align) != 0) {
        return NULL;
    }
    return ptr;
}

void base_aligned_free(void * ptr) {
    free(ptr);
}

int64_t base_time_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void base_memory(size_t * free_bytes, size_t * total_bytes) {
    const long page  = sysconf(_SC_PAGESIZE);
    const long all   = sysconf(_SC_PHYS_PAGES);
    const long spare = sysconf(_SC_AVPHYS_PAGES);
    *total_bytes     = page > 0 && all > 0 ? (size_t) page * (size_t) all : 0;
    *free_bytes      = page > 0 && spare > 0 ? (size_t) page * (size_t) spare : 0;
}

void base_cpu_name(char * text, size_t n) {
    char   line[256];
    FILE * file = fopen("/proc/cpuinfo", "r");
    snprintf(text, n, "CPU");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        const char * colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL && colon[1] != 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(text, n, "%s", colon + 2);
            break;
        }
    }
    fclose(file);
}

int base_cpu_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) {
            return count;
        }
    }
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int) online : 1;
}

bool base_executable_folder(char * path, size_t n) {
    const ssize_t length = readlink("/proc/self/exe", path, n - 1);
    if (length <= 0) {
        return false;
    }
    path[length]  = 0;
    char * slash  = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = 0;
    return true;
}

void * base_dl_open(const char * path) {
    void * handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char * why = dlerror();
        base_fail(GGML_STATUS_FAILED, "cannot load %s: %s", path, why != NULL ? why : "unknown reason");
    }
    return handle;
}

void * base_dl_symbol(void * handle, const char * name) {
    return dlsym(handle, name);
}

void base_dl_close(void * handle) {
    dlclose(handle);
}
