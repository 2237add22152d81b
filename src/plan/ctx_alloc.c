/* SPDX-License-Identifier: MIT
 *
 * Memory for all tensors of a context, in their order: one buffer, or as many as it takes where a buffer type has a
 * greatest size. A tensor that is larger than that gets a buffer of its own, for the device to grant or refuse.
 */
#include <stdlib.h>

#include "base/check.h"
#include "base/status.h"
#include "ggml-alloc.h"
#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "plan/array.h"

struct ctx_buffers {
    ggml_backend_buffer_type_t buft;
    size_t                     alignment, max_size;
    PLAN_ARRAY(ggml_backend_buffer_t) made;
};

static bool needs_memory(const struct ggml_tensor * tensor) {
    return tensor->data == NULL && tensor->buffer == NULL && tensor->view_src == NULL;
}

/* Tensors [first, last) go into one buffer of `size` bytes. last may be NULL: to the end. */
static bool fill_buffer(struct ctx_buffers * buffers, struct ggml_context * ctx, struct ggml_tensor * first,
                        const struct ggml_tensor * last, size_t size) {
    if (!PLAN_ARRAY_ROOM(buffers->made)) {
        return false;
    }
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(buffers->buft, size);
    if (buffer == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "alloc_ctx_tensors: %s refused a buffer of %zu bytes",
                  ggml_backend_buft_name(buffers->buft), size);
        return false;
    }
    buffers->made.items[buffers->made.n++] = buffer;
    struct ggml_tallocr talloc             = ggml_tallocr_new(buffer);
    for (struct ggml_tensor * t = first; t != NULL && t != last; t = ggml_get_next_tensor(ctx, t)) {
        if (needs_memory(t) && ggml_tallocr_alloc(&talloc, t) != GGML_STATUS_SUCCESS) {
            return false;
        }
    }
    return true;
}

/* Views come last: one may stand before what it views. */
static bool init_views(struct ggml_context * ctx) {
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        if (t->view_src != NULL && t->buffer == NULL && t->view_src->buffer != NULL && t->view_src->data != NULL &&
            ggml_backend_view_init(t) != GGML_STATUS_SUCCESS) {
            return false;
        }
    }
    return true;
}

static bool is_ours(const struct ctx_buffers * buffers, ggml_backend_buffer_t buffer) {
    for (size_t i = 0; i < buffers->made.n; i++) {
        if (buffers->made.items[i] == buffer) {
            return true;
        }
    }
    return false;
}

/* Frees what was made, and takes it from the tensors. */
static void undo(struct ctx_buffers * buffers, struct ggml_context * ctx) {
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        if (t->buffer != NULL && is_ours(buffers, t->buffer)) {
            t->buffer = NULL;
            t->data   = NULL;
        }
    }
    for (size_t i = 0; i < buffers->made.n; i++) {
        ggml_backend_buffer_free(buffers->made.items[i]);
    }
    buffers->made.n = 0;
}

/* Walks the tensors and cuts them into buffers. measure: only adds up. Sets *total to the bytes of all buffers. */
static bool walk(struct ctx_buffers * buffers, struct ggml_context * ctx, bool measure, size_t * total) {
    struct ggml_tensor * first = ggml_get_first_tensor(ctx);
    size_t               size  = 0; /* of the buffer being cut */
    bool                 any   = false;
    *total                     = 0;
    for (struct ggml_tensor * t = first; t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        size_t bytes = needs_memory(t) ? ggml_backend_buft_get_alloc_size(buffers->buft, t) : 0;
        any          = any || needs_memory(t);
        if (!base_size_pad(bytes, buffers->alignment, &bytes) || bytes > SIZE_MAX / 2 - size ||
            size > SIZE_MAX / 2 - *total) {
            base_fail(GGML_STATUS_ALLOC_FAILED,
                      "alloc_ctx_tensors: the tensors up to '%s' take more bytes than addresses exist", t->name);
            return false;
        }
        if (size > 0 && size + bytes > buffers->max_size) {
            if (!measure && !fill_buffer(buffers, ctx, first, t, size)) {
                return false;
            }
            *total += size;
            first = t;
            size  = 0;
        }
        size += bytes;
    }
    if (any && size == 0 && *total == 0) {
        size = buffers->alignment; /* tensors without elements have an address too */
    }
    *total += size;
    return size == 0 || measure || fill_buffer(buffers, ctx, first, NULL, size);
}

static struct ctx_buffers buffers_for(ggml_backend_buffer_type_t buft) {
    return (struct ctx_buffers){
        .buft      = buft,
        .alignment = ggml_backend_buft_get_alignment(buft),
        .max_size  = ggml_backend_buft_get_max_size(buft),
    };
}

size_t ggml_backend_alloc_ctx_tensors_from_buft_size(struct ggml_context * ctx, ggml_backend_buffer_type_t buft) {
    struct ctx_buffers buffers = buffers_for(buft);
    size_t             total;
    if (!walk(&buffers, ctx, true, &total)) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        return SIZE_MAX; /* fits nowhere */
    }
    return total;
}

struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors_from_buft(struct ggml_context *      ctx,
                                                                      ggml_backend_buffer_type_t buft) {
    if (ggml_backend_buft_is_meta(buft)) {
        return ggml_backend_meta_alloc_ctx_tensors_from_buft(ctx, buft);
    }
    struct ctx_buffers    buffers = buffers_for(buft);
    ggml_backend_buffer_t result  = NULL;
    size_t                total;
    bool                  ok = walk(&buffers, ctx, false, &total) && init_views(ctx);
    if (ok && buffers.made.n > 0) {
        result = buffers.made.n == 1 ? buffers.made.items[0]
                                     : ggml_backend_multi_buffer_alloc_buffer(buffers.made.items, buffers.made.n);
        ok     = result != NULL;
    }
    if (!ok) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        undo(&buffers, ctx);
    }
    free(buffers.made.items);
    return result;
}

struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors(struct ggml_context * ctx, ggml_backend_t backend) {
    return ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_get_default_buffer_type(backend));
}
