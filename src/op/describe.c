/* SPDX-License-Identifier: MIT
 *
 * Texts about nodes for errors, and the checks that many operators share.
 */
#include "op/op.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/status.h"
#include "type/type.h"

#define RING_SIZE 16
#define RING_TEXT 128

static const char * type_text(enum ggml_type type, char * buffer, size_t n) {
    const struct type_row * row = type_row_get(type);
    if (row != NULL) {
        return row->traits.type_name;
    }
    snprintf(buffer, n, "type %d", (int) type);
    return buffer;
}

const char * op_describe(const struct ggml_tensor * t) {
    static _Thread_local char     ring[RING_SIZE][RING_TEXT];
    static _Thread_local unsigned next;
    char                          type[24];
    char *                        text = ring[next++ % RING_SIZE];
    if (t == NULL) {
        snprintf(text, RING_TEXT, "NULL");
        return text;
    }
    snprintf(text, RING_TEXT, "%s [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]",
             type_text(t->type, type, sizeof(type)), t->ne[0], t->ne[1], t->ne[2], t->ne[3]);
    return text;
}

/* Appends to a text of BASE_ERROR_MAX bytes; what does not fit is cut. */
static void append(char * text, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
static void append(char * text, const char * fmt, ...) {
    const size_t used = strlen(text);
    va_list      args;
    va_start(args, fmt);
    vsnprintf(text + used, BASE_ERROR_MAX - used, fmt, args);
    va_end(args);
}

enum ggml_status op_refuse(const struct ggml_tensor * node, const char * fmt, ...) {
    const struct op_row * row = op_row_get(node->op);
    char                  text[BASE_ERROR_MAX];
    char                  what[BASE_ERROR_MAX];
    va_list               args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    text[0] = 0;
    append(text, "%s: %s (result %s", row != NULL ? row->name : "unknown operator", what, op_describe(node));
    for (int k = 0; k < GGML_MAX_SRC; k++) {
        const struct ggml_tensor * src = node->src[k];
        if (src != NULL) {
            append(text, "; source %d '%.*s' %s", k, (int) sizeof(src->name), src->name, op_describe(src));
        }
    }
    append(text, ")");
    return base_fail(GGML_STATUS_FAILED, "%s", text);
}

enum ggml_status op_check_same_shape_type(const struct ggml_tensor * node, int k) {
    const struct ggml_tensor * src = node->src[k];
    if (node->type != src->type || !ggml_are_same_shape(node, src)) {
        return op_refuse(node, "result must be like source %d, %s", k, op_describe(src));
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_contiguous_result(const struct ggml_tensor * node) {
    if (node->view_src == NULL && !ggml_is_contiguous(node)) {
        return op_refuse(node, "result must be contiguous or a view, found strides [%zu, %zu, %zu, %zu]", node->nb[0],
                         node->nb[1], node->nb[2], node->nb[3]);
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_type(const struct ggml_tensor * node, int k, enum ggml_type type) {
    char name[24];
    if (node->src[k]->type != type) {
        return op_refuse(node, "source %d must be %s", k, type_text(type, name, sizeof(name)));
    }
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_check_result(const struct ggml_tensor * node, enum ggml_type type, int64_t ne0, int64_t ne1,
                                 int64_t ne2, int64_t ne3) {
    const struct ggml_tensor expected = { .type = type, .ne = { ne0, ne1, ne2, ne3 } };
    if (node->type != type || !ggml_are_same_shape(node, &expected)) {
        return op_refuse(node, "result must be %s", op_describe(&expected));
    }
    return GGML_STATUS_SUCCESS;
}
