/* SPDX-License-Identifier: MIT
 *
 * Rules that all registrations share: names, and sizes of descriptors that newer and older programs hand in.
 */
#include <string.h>

#include "base/status.h"
#include "ext/ext.h"

static bool ends_in_version(const char * name) {
    const char * dot = strrchr(name, '.');
    if (dot == NULL || dot == name || dot[1] != 'v' || dot[2] == 0) {
        return false;
    }
    for (const char * p = dot + 2; *p != 0; p++) {
        if (*p < '0' || *p > '9') {
            return false;
        }
    }
    return true;
}

bool ext_name_valid(const char * name, bool versioned) {
    if (name == NULL || name[0] == 0 || strnlen(name, GGML_EXT_MAX_NAME) == GGML_EXT_MAX_NAME) {
        return false;
    }
    for (const char * p = name; *p != 0; p++) {
        const char c = *p;
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
              c == '-')) {
            return false;
        }
    }
    return !versioned || ends_in_version(name);
}

enum ggml_status ext_check_size(const char * what, const void * desc, size_t found, size_t first, size_t known) {
    if (found < first) {
        return base_fail(GGML_STATUS_FAILED, "%s: size is %zu, expected at least %zu", what, found, first);
    }
    const char * bytes = desc;
    for (size_t i = known; i < found; i++) {
        if (bytes[i] != 0) {
            return base_fail(GGML_STATUS_FAILED,
                             "%s: size is %zu and byte %zu is set, this runtime knows %zu bytes: the program was "
                             "compiled against a newer ggml-ext.h",
                             what, found, i, known);
        }
    }
    return GGML_STATUS_SUCCESS;
}
