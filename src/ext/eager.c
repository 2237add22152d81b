/* SPDX-License-Identifier: MIT
 *
 * Eager calls. This version runs operators in graphs only: a call is refused with a text.
 */
#include "base/status.h"
#include "ext/ext.h"

enum ggml_status ggml_ext_call(ggml_backend_t backend, struct ggml_context * ctx, const char * name, const void * attrs,
                               size_t attr_size, struct ggml_tensor * const * src, int n_src, struct ggml_tensor ** out,
                               int n_out) {
    (void) backend;
    (void) ctx;
    (void) attrs;
    (void) attr_size;
    (void) src;
    (void) n_src;
    (void) out;
    (void) n_out;
    return base_fail(GGML_STATUS_FAILED, "ggml_ext_call: %s: this version of graft has no eager calls, build a graph",
                     name != NULL ? name : "(null)");
}
