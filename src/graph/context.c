/* SPDX-License-Identifier: MIT
 *
 * Contexts: the arena, its list of objects, and what happens when a builder is at fault.
 */
#include "graph/context.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/os.h"
#include "base/status.h"
#include "ggml-impl.h"

#define ARENA_ALIGN 64 /* a cache line; objects need GGML_MEM_ALIGN */

/* Lies before each object. Its size is part of ggml_tensor_overhead, by which clients size their arenas. */
struct ggml_object {
    size_t               offset; /* of the object itself, from the start of the arena */
    size_t               size;
    struct ggml_object * next;
    enum ggml_object_type type;
    int32_t              unused;
};

static_assert(sizeof(struct ggml_object) % GGML_MEM_ALIGN == 0, "objects must stay aligned");
static_assert(sizeof(struct ggml_tensor) % GGML_MEM_ALIGN == 0, "data behind a descriptor must be aligned");

struct block {
    struct block * next;
    uint64_t       unused; /* keeps what follows aligned to 16 bytes */
};

struct ggml_context {
    char *               memory;
    size_t               size;
    bool                 owns_memory;
    bool                 no_alloc;
    bool                 checked;
    struct ggml_object * first;
    struct ggml_object * last;
    struct block *       blocks;
    enum ggml_status     status; /* of the first error in checked mode */
    char                 error[BASE_ERROR_MAX];
};

/* ---- life ---- */

struct ggml_context * ggml_init(struct ggml_init_params params) {
    ggml_time_init();
    size_t size = params.mem_size > 0 ? params.mem_size : GGML_MEM_ALIGN;
    if (params.mem_buffer == NULL && !base_size_pad(size, GGML_MEM_ALIGN, &size)) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "ggml_init: %zu bytes cannot be allocated", params.mem_size);
        return NULL;
    }
    if ((uintptr_t) params.mem_buffer % GGML_MEM_ALIGN != 0) {
        base_fail(GGML_STATUS_FAILED, "ggml_init: the buffer at %p is not aligned to %d bytes", params.mem_buffer,
                  GGML_MEM_ALIGN);
        GGML_LOG_ERROR("%s\n", base_error_text());
        return NULL;
    }
    struct ggml_context * ctx = calloc(1, sizeof(*ctx));
    void * memory = params.mem_buffer != NULL ? params.mem_buffer : base_aligned_alloc(ARENA_ALIGN, size);
    if (ctx == NULL || memory == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "ggml_init: no memory for a context of %zu bytes", size);
        GGML_LOG_ERROR("%s\n", base_error_text());
        if (params.mem_buffer == NULL) {
            base_aligned_free(memory);
        }
        free(ctx);
        return NULL;
    }
    ctx->memory      = memory;
    ctx->size        = size;
    ctx->owns_memory = params.mem_buffer == NULL;
    ctx->no_alloc    = params.no_alloc;
    return ctx;
}

static void forget_error(struct ggml_context * ctx) {
    ctx->status   = GGML_STATUS_SUCCESS;
    ctx->error[0] = 0;
}

void ggml_reset(struct ggml_context * ctx) {
    if (ctx == NULL) {
        return;
    }
    while (ctx->blocks != NULL) {
        struct block * block = ctx->blocks;
        ctx->blocks          = block->next;
        free(block);
    }
    ctx->first = NULL;
    ctx->last  = NULL;
    forget_error(ctx);
}

void ggml_free(struct ggml_context * ctx) {
    if (ctx == NULL) {
        return;
    }
    ggml_reset(ctx);
    if (ctx->owns_memory) {
        base_aligned_free(ctx->memory);
    }
    free(ctx);
}

/* ---- faults ---- */

void context_fault(struct ggml_context * ctx, enum ggml_status status) {
    if (ctx == NULL || !ctx->checked) {
        GGML_ABORT("%s", base_error_text());
    }
    if (ctx->status == GGML_STATUS_SUCCESS) {
        ctx->status = status;
        memcpy(ctx->error, base_error_text(), strlen(base_error_text()) + 1);
    }
}

void graft_set_checked(struct ggml_context * ctx, bool checked) {
    ctx->checked = checked;
    forget_error(ctx);
}

bool graft_get_checked(const struct ggml_context * ctx) {
    return ctx->checked;
}

enum ggml_status graft_context_status(const struct ggml_context * ctx) {
    return ctx->status;
}

const char * graft_context_error(const struct ggml_context * ctx) {
    return ctx->error;
}

/* ---- objects ---- */

void * context_new_object(struct ggml_context * ctx, enum ggml_object_type type, size_t size) {
    const size_t used = ggml_used_mem(ctx);
    size_t       padded;
    size_t       end;
    if (!base_size_pad(size, GGML_MEM_ALIGN, &padded) || !base_size_add(padded, sizeof(struct ggml_object), &end) ||
        !base_size_add(end, used, &end)) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "context: an object of %zu bytes is beyond any memory", size);
        return NULL;
    }
    if (end > ctx->size) {
        base_fail(GGML_STATUS_ALLOC_FAILED,
                  "not enough space in the context's memory: %zu bytes needed, %zu of %zu are free", end - used,
                  ctx->size - used, ctx->size);
        return NULL;
    }
    struct ggml_object * object = (struct ggml_object *) (ctx->memory + used);
    object->offset              = used + sizeof(*object);
    object->size                = padded;
    object->next                = NULL;
    object->type                = type;
    object->unused              = 0;
    if (ctx->last != NULL) {
        ctx->last->next = object;
    } else {
        ctx->first = object;
    }
    ctx->last = object;
    return object + 1;
}

void * context_chain_block(struct ggml_context * ctx, size_t size) {
    size_t         bytes;
    struct block * block = NULL;
    if (base_size_add(size, sizeof(*block), &bytes)) {
        block = malloc(bytes);
    }
    if (block == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "context: no memory for a block of %zu bytes", size);
        return NULL;
    }
    block->next = ctx->blocks;
    ctx->blocks = block;
    return block + 1;
}

void * ggml_new_buffer(struct ggml_context * ctx, size_t nbytes) {
    void * buffer = context_new_object(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, nbytes);
    if (buffer == NULL) {
        context_fault(ctx, GGML_STATUS_ALLOC_FAILED);
    }
    return buffer;
}

/* The first tensor from an object on. */
static struct ggml_tensor * tensor_from(struct ggml_object * object) {
    while (object != NULL && object->type != GGML_OBJECT_TYPE_TENSOR) {
        object = object->next;
    }
    return object != NULL ? (struct ggml_tensor *) (object + 1) : NULL;
}

struct ggml_tensor * ggml_get_first_tensor(const struct ggml_context * ctx) {
    return tensor_from(ctx->first);
}

struct ggml_tensor * ggml_get_next_tensor(const struct ggml_context * ctx, struct ggml_tensor * tensor) {
    GGML_UNUSED(ctx);
    return tensor_from(((struct ggml_object *) tensor - 1)->next);
}

struct ggml_tensor * ggml_get_tensor(struct ggml_context * ctx, const char * name) {
    struct ggml_tensor * t = ggml_get_first_tensor(ctx);
    while (t != NULL && strcmp(t->name, name) != 0) {
        t = ggml_get_next_tensor(ctx, t);
    }
    return t;
}

/* ---- questions ---- */

size_t ggml_tensor_overhead(void) {
    return sizeof(struct ggml_object) + sizeof(struct ggml_tensor);
}

size_t context_object_overhead(void) {
    return sizeof(struct ggml_object);
}

size_t ggml_used_mem(const struct ggml_context * ctx) {
    return ctx->last != NULL ? ctx->last->offset + ctx->last->size : 0;
}

bool ggml_get_no_alloc(struct ggml_context * ctx) {
    return ctx->no_alloc;
}

void ggml_set_no_alloc(struct ggml_context * ctx, bool no_alloc) {
    ctx->no_alloc = no_alloc;
}

void * ggml_get_mem_buffer(const struct ggml_context * ctx) {
    return ctx->memory;
}

size_t ggml_get_mem_size(const struct ggml_context * ctx) {
    return ctx->size;
}

size_t ggml_get_max_tensor_size(const struct ggml_context * ctx) {
    size_t greatest = 0;
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        greatest = MAX(greatest, ggml_nbytes(t));
    }
    return greatest;
}

static const char * object_type_name(enum ggml_object_type type) {
    static const char * const names[] = {
        [GGML_OBJECT_TYPE_TENSOR]      = "tensor",
        [GGML_OBJECT_TYPE_GRAPH]       = "graph",
        [GGML_OBJECT_TYPE_WORK_BUFFER] = "buffer",
    };
    return (size_t) type < sizeof(names) / sizeof(names[0]) ? names[type] : "?";
}

void ggml_print_object(const struct ggml_object * obj) {
    GGML_LOG_INFO("%-6s at %10zu, %10zu bytes\n", object_type_name(obj->type), obj->offset, obj->size);
}

void ggml_print_objects(const struct ggml_context * ctx) {
    GGML_LOG_INFO("context %p, %zu of %zu bytes used:\n", (const void *) ctx, ggml_used_mem(ctx), ctx->size);
    for (const struct ggml_object * object = ctx->first; object != NULL; object = object->next) {
        ggml_print_object(object);
    }
}
