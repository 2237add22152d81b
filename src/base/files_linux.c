/* SPDX-License-Identifier: MIT
 *
 * Folders and shared objects on Linux and other POSIX systems.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/status.h"

static int by_bytes(const void * a, const void * b) {
    return strcmp(*(char * const *) a, *(char * const *) b);
}

static bool append(struct base_file_list * list, size_t * capacity, const char * name) {
    if (list->n == *capacity) {
        const size_t more  = *capacity == 0 ? 32 : *capacity * 2;
        char **      names = realloc(list->names, more * sizeof(*names));
        if (names == NULL) {
            return false;
        }
        list->names = names;
        *capacity   = more;
    }
    char * copy = strdup(name);
    if (copy == NULL) {
        return false;
    }
    list->names[list->n++] = copy;
    return true;
}

bool base_file_list_read(const char * folder, struct base_file_list * list) {
    size_t capacity = 0;
    bool   complete = true;
    *list           = (struct base_file_list){0};
    DIR * stream    = opendir(folder);
    if (stream == NULL) {
        base_fail(GGML_STATUS_FAILED, "cannot read the folder %s: %s", folder, strerror(errno));
        return false;
    }
    for (struct dirent * entry = readdir(stream); entry != NULL && complete; entry = readdir(stream)) {
        struct stat info;
        if (fstatat(dirfd(stream), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode)) {
            complete = append(list, &capacity, entry->d_name);
        }
    }
    closedir(stream);
    if (!complete) {
        base_file_list_free(list);
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for the list of files in %s", folder);
        return false;
    }
    if (list->n > 0) {
        qsort(list->names, list->n, sizeof(list->names[0]), by_bytes);
    }
    return true;
}

void base_file_list_free(struct base_file_list * list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->names[i]);
    }
    free(list->names);
    *list = (struct base_file_list){0};
}

const void * base_object_of_handle(void * handle) {
    struct link_map * map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

const void * base_object_of_address(const void * address) {
    Dl_info           info;
    struct link_map * map = NULL;
    return dladdr1(address, &info, (void **) &map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}
