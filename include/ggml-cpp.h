/* SPDX-License-Identifier: MIT
 *
 * ggml-cpp.h: owning pointers for C++ programs. Each frees its object with the C function of the same kind, when it
 * goes out of scope or is given another object; NULL is fine everywhere. They are std::unique_ptr: moved, never
 * copied, and get() gives the plain pointer that the C functions take.
 *
 *   ggml_context_ptr ctx(ggml_init(params));
 *   ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(ctx.get(), backend.get()));
 *
 * Members of a class end in the reverse of their order: declare backends before schedulers and buffers, contexts before
 * what points into them.
 */
#pragma once

#ifndef __cplusplus
#error "ggml-cpp.h is for C++; C programs include ggml.h and its companions"
#endif

#include <memory>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "gguf.h"

/* ---- contexts: tensors and graphs; keys and descriptions of a file ---- */

struct ggml_context_deleter {
    void operator()(ggml_context * ctx) { ggml_free(ctx); }
};
struct gguf_context_deleter {
    void operator()(gguf_context * ctx) { gguf_free(ctx); }
};
typedef std::unique_ptr<ggml_context, ggml_context_deleter> ggml_context_ptr;
typedef std::unique_ptr<gguf_context, gguf_context_deleter> gguf_context_ptr;

/* ---- the graph allocator, with its buffers ---- */

struct ggml_gallocr_deleter {
    void operator()(ggml_gallocr_t galloc) { ggml_gallocr_free(galloc); }
};
typedef std::unique_ptr<ggml_gallocr, ggml_gallocr_deleter> ggml_gallocr_ptr;

/* ---- backends, buffers, events, schedulers ---- */

struct ggml_backend_deleter {
    void operator()(ggml_backend_t backend) { ggml_backend_free(backend); }
};
struct ggml_backend_buffer_deleter {
    void operator()(ggml_backend_buffer_t buffer) { ggml_backend_buffer_free(buffer); }
};
struct ggml_backend_event_deleter {
    void operator()(ggml_backend_event_t event) { ggml_backend_event_free(event); }
};
struct ggml_backend_sched_deleter {
    void operator()(ggml_backend_sched_t sched) { ggml_backend_sched_free(sched); }
};
typedef std::unique_ptr<ggml_backend, ggml_backend_deleter>               ggml_backend_ptr;
typedef std::unique_ptr<ggml_backend_buffer, ggml_backend_buffer_deleter> ggml_backend_buffer_ptr;
typedef std::unique_ptr<ggml_backend_event, ggml_backend_event_deleter>   ggml_backend_event_ptr;
typedef std::unique_ptr<ggml_backend_sched, ggml_backend_sched_deleter>   ggml_backend_sched_ptr;
