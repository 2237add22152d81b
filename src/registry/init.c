/* SPDX-License-Identifier: MIT
 *
 * Backends of devices that are named by what they are.
 */
#include "ggml-backend.h"
#include "ggml-impl.h"
#include "graft-module.h"

ggml_backend_t ggml_backend_init_by_name(const char * name, const char * params) {
    const ggml_backend_dev_t device = ggml_backend_dev_by_name(name);
    if (device == NULL) {
        graft_fail(GGML_STATUS_FAILED, "there is no device named %s", name != NULL ? name : "NULL");
        return NULL;
    }
    return ggml_backend_dev_init(device, params);
}

ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char * params) {
    const ggml_backend_dev_t device = ggml_backend_dev_by_type(type);
    if (device == NULL) {
        graft_fail(GGML_STATUS_FAILED, "there is no device of type %d", (int) type);
        return NULL;
    }
    return ggml_backend_dev_init(device, params);
}

ggml_backend_t ggml_backend_init_best(void) {
    static const enum ggml_backend_dev_type order[] = {
        GGML_BACKEND_DEVICE_TYPE_GPU,
        GGML_BACKEND_DEVICE_TYPE_IGPU,
        GGML_BACKEND_DEVICE_TYPE_CPU,
    };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const ggml_backend_dev_t device = ggml_backend_dev_by_type(order[i]);
        if (device != NULL) {
            return ggml_backend_dev_init(device, NULL);
        }
    }
    graft_fail(GGML_STATUS_FAILED, "there is no device that computes");
    return NULL;
}
