/* SPDX-License-Identifier: MIT
 *
 * Operator packages. This version registers operators and kernels in process only: loading a package is refused with a text.
 */
#include "base/status.h"
#include "ext/ext.h"

enum ggml_status ggml_ext_package_load(const char * path) {
    return base_fail(GGML_STATUS_FAILED, "ggml_ext_package_load: %s: this version of graft loads no packages",
                     path != NULL ? path : "(null)");
}

enum ggml_status ggml_ext_package_load_all(void) {
    return base_fail(GGML_STATUS_FAILED, "ggml_ext_package_load_all: this version of graft loads no packages");
}

size_t ggml_ext_package_count(void) {
    return 0;
}

const struct ggml_ext_package * ggml_ext_package_get(size_t i) {
    (void) i;
    return NULL;
}
