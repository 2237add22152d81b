/* SPDX-License-Identifier: MIT
 *
 * The meta device, which joins several devices to one. This library makes none: the constructor says so, and no
 * backend, buffer or buffer type is one.
 */
#include "base/status.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"

const char * ggml_backend_meta_split_axis_name(enum ggml_backend_meta_split_axis split_axis) {
    static const struct {
        enum ggml_backend_meta_split_axis axis;
        const char *                      name;
    } names[] = {
        {GGML_BACKEND_SPLIT_AXIS_0, "0"},
        {GGML_BACKEND_SPLIT_AXIS_1, "1"},
        {GGML_BACKEND_SPLIT_AXIS_2, "2"},
        {GGML_BACKEND_SPLIT_AXIS_3, "3"},
        {GGML_BACKEND_SPLIT_AXIS_MIRRORED, "MIRRORED"},
        {GGML_BACKEND_SPLIT_AXIS_PARTIAL, "PARTIAL"},
        {GGML_BACKEND_SPLIT_AXIS_NONE, "NONE"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].axis == split_axis) {
            return names[i].name;
        }
    }
    return "UNKNOWN";
}

static enum ggml_status no_meta(const char * function) {
    base_fail(GGML_STATUS_FAILED, "%s: this library joins no devices to a meta device", function);
    GGML_LOG_ERROR("%s\n", base_error_text());
    return GGML_STATUS_FAILED;
}

ggml_backend_dev_t ggml_backend_meta_device(ggml_backend_dev_t * devs, size_t n_devs,
                                            ggml_backend_meta_get_split_state_t get_split_state,
                                            void *                              get_split_state_ud) {
    (void) devs;
    (void) n_devs;
    (void) get_split_state;
    (void) get_split_state_ud;
    no_meta(__func__);
    return NULL;
}

bool ggml_backend_is_meta(ggml_backend_t backend) {
    (void) backend;
    return false;
}

bool ggml_backend_buffer_is_meta(ggml_backend_buffer_t buf) {
    (void) buf;
    return false;
}

bool ggml_backend_buft_is_meta(ggml_backend_buffer_type_t buft) {
    (void) buft;
    return false;
}

size_t ggml_backend_meta_n_backends(ggml_backend_t meta_backend) {
    (void) meta_backend;
    return 0;
}

ggml_backend_t ggml_backend_meta_simple_backend(ggml_backend_t meta_backend, size_t index) {
    (void) meta_backend;
    (void) index;
    return NULL;
}

void ggml_backend_meta_buffer_set_usage(ggml_backend_buffer_t buffer, enum ggml_backend_buffer_usage usage) {
    (void) buffer;
    (void) usage;
}

struct ggml_backend_buffer * ggml_backend_meta_alloc_ctx_tensors_from_buft(struct ggml_context *      ctx,
                                                                           ggml_backend_buffer_type_t buft) {
    (void) ctx;
    (void) buft;
    no_meta(__func__);
    return NULL;
}
