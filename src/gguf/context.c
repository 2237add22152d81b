/* SPDX-License-Identifier: MIT
 *
 * Life of a gguf_context, and how this folder reports failures.
 */
#include "gguf/context.h"

#include "base/check.h"
#include "base/status.h"
#include "ggml-impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gguf_context * gguf_init_empty(void) {
    struct gguf_context * ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL) {
        gguf_fail(GGML_STATUS_ALLOC_FAILED, "gguf: no memory for a context");
        return NULL;
    }
    ctx->version   = GGUF_VERSION;
    ctx->alignment = GGUF_DEFAULT_ALIGNMENT;
    return ctx;
}

void gguf_free(struct gguf_context * ctx) {
    if (ctx == NULL) {
        return;
    }
    for (size_t i = 0; i < ctx->n_kv; i++) {
        gguf_kv_release(&ctx->kv[i]);
    }
    for (size_t i = 0; i < ctx->n_tensors; i++) {
        gguf_tensor_release(&ctx->tensors[i]);
    }
    free(ctx->kv);
    free(ctx->tensors);
    free(ctx->keys.entries);
    free(ctx->names.entries);
    free(ctx);
}

bool gguf_fail(enum ggml_status status, const char * fmt, ...) {
    char    text[BASE_ERROR_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    base_fail(status, "%s", text);
    GGML_LOG_ERROR("%s\n", text);
    return false;
}

void gguf_fail_change(struct gguf_context * ctx, const char * fmt, ...) {
    char    text[sizeof(ctx->error)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (ctx->error[0] == 0) {
        memcpy(ctx->error, text, sizeof(text));
    }
    gguf_fail(GGML_STATUS_ALLOC_FAILED, "%s", text);
}

const char * gguf_printable(char out[GGUF_PRINTABLE_MAX], const char * text, size_t n) {
    const size_t most = GGUF_PRINTABLE_MAX - 4;
    const size_t kept = n > most ? most : n;
    for (size_t i = 0; i < kept; i++) {
        out[i] = text[i] >= 32 && text[i] < 127 ? text[i] : '?';
    }
    memcpy(out + kept, n > most ? "..." : "", n > most ? 4 : 1);
    return out;
}

void * gguf_grow(void * items, size_t * capacity, size_t need, size_t item_size) {
    if (need <= *capacity && items != NULL) {
        return items;
    }
    const size_t wanted = *capacity > SIZE_MAX / 2 || need > *capacity * 2 ? need : *capacity * 2;
    size_t       bytes;
    if (!base_size_mul(wanted > 0 ? wanted : 1, item_size, &bytes)) {
        return NULL;
    }
    void * grown = realloc(items, bytes);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

char * gguf_copy_string(const char * text) {
    const size_t bytes = strlen(text) + 1;
    char *       copy  = malloc(bytes);
    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}
