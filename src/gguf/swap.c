/* SPDX-License-Identifier: MIT
 *
 * Tensor data in the other byte order. Plain types are turned element by element. Of the block formats, those are
 * turned whose only wider fields are 16-bit ones (the rest are bytes): the offset of the first and their number are in
 * the table. Formats that pack bits into wider words (Q5_0, Q5_1, IQ1 to IQ3) have no order that is defined apart from
 * the machine that wrote them.
 */
#include "gguf/context.h"

#include "type/type.h"

#define GGML_COMMON_DECL_C
#include "ggml-common.h"

#include <stddef.h>

static const struct {
    enum ggml_type type;
    size_t         offset; /* of the first 16-bit field in the block */
    size_t         n;      /* such fields, one behind the other */
} block_fields[] = {
    {GGML_TYPE_Q1_0, offsetof(block_q1_0, d), 1},
    {GGML_TYPE_Q2_0, offsetof(block_q2_0, d), 1},
    {GGML_TYPE_Q4_0, offsetof(block_q4_0, d), 1},
    {GGML_TYPE_Q4_1, 0, 2}, /* scale, minimum */
    {GGML_TYPE_Q8_0, offsetof(block_q8_0, d), 1},
    {GGML_TYPE_Q8_1, 0, 2}, /* scale, sum */
    {GGML_TYPE_Q2_K, offsetof(block_q2_K, dm), 2},
    {GGML_TYPE_Q3_K, offsetof(block_q3_K, d), 1},
    {GGML_TYPE_Q4_K, 0, 2},
    {GGML_TYPE_Q5_K, 0, 2},
    {GGML_TYPE_Q6_K, offsetof(block_q6_K, d), 1},
    {GGML_TYPE_IQ4_NL, offsetof(block_iq4_nl, d), 1},
    {GGML_TYPE_IQ4_XS, 0, 2}, /* scale, upper bits of the scales */
    {GGML_TYPE_TQ1_0, offsetof(block_tq1_0, d), 1},
    {GGML_TYPE_TQ2_0, offsetof(block_tq2_0, d), 1},
    {GGML_TYPE_MXFP4, 0, 0},
    {GGML_TYPE_NVFP4, 0, 0},
};

#define N_BLOCK_FIELDS (sizeof(block_fields) / sizeof(block_fields[0]))

static size_t find_block(enum ggml_type type) {
    size_t i = 0;
    while (i < N_BLOCK_FIELDS && block_fields[i].type != type) {
        i++;
    }
    return i;
}

/* One number an element. Of a registered type nothing is known about what its bytes are. */
static bool is_plain(enum ggml_type type) {
    return type < GGML_TYPE_COUNT && !type_row_get(type)->traits.is_quantized;
}

bool gguf_can_swap(enum ggml_type type, bool * needed) {
    const struct ggml_type_traits * traits = &type_row_get(type)->traits;
    if (is_plain(type)) {
        *needed = traits->type_size > 1;
        return true;
    }
    const size_t i = find_block(type);
    *needed        = i == N_BLOCK_FIELDS || block_fields[i].n > 0;
    return i < N_BLOCK_FIELDS;
}

static void swap_one(uint8_t * bytes, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        const uint8_t byte = bytes[i];
        bytes[i]           = bytes[n - 1 - i];
        bytes[n - 1 - i]   = byte;
    }
}

void gguf_swap_elements(void * data, size_t n, size_t element_size) {
    for (size_t i = 0; element_size > 1 && i < n; i++) {
        swap_one((uint8_t *) data + i * element_size, element_size);
    }
}

void gguf_swap_tensor(enum ggml_type type, void * data, size_t bytes) {
    const struct ggml_type_traits * traits = &type_row_get(type)->traits;
    if (is_plain(type)) {
        gguf_swap_elements(data, bytes / traits->type_size, traits->type_size);
        return;
    }
    const size_t row = find_block(type);
    for (size_t at = 0; row < N_BLOCK_FIELDS && at < bytes; at += traits->type_size) {
        gguf_swap_elements((uint8_t *) data + at + block_fields[row].offset, block_fields[row].n, 2);
    }
}
