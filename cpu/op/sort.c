/* SPDX-License-Identifier: MIT
 *
 * ARGSORT and TOP_K: indexes of a row's values in order. Equal values keep the order of their indexes, -0 equals 0, and NaN
 * comes last. TOP_K gives the greatest first, though nobody may rely on an order.
 *
 * A value and its index make one 64-bit key, so that sorting is sorting of integers: by insertion when they are few, by
 * three rounds of counting else.
 */
#include "op.h"

#define DIGIT_BITS 11
#define DIGITS     (1 << DIGIT_BITS)
#define FEW        48

/* Integers in the order of the floats: all bits of a negative number are flipped, the sign of a positive one. */
static uint64_t key_of(float x, int64_t index, bool descending) {
    uint32_t bits;
    x += 0.0f; /* -0 */
    memcpy(&bits, &x, sizeof(bits));
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    if (descending) {
        bits = ~bits;
    }
    if (isnan(x)) {
        bits = UINT32_MAX;
    }
    return (uint64_t) bits << 32 | (uint64_t) index;
}

static void insert_sort(uint64_t * keys, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const uint64_t key = keys[i];
        int64_t        at  = i;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
        }
        keys[at] = key;
    }
}

/* Sorts by the upper half; the lower is in order already, and counting is stable. An odd number of rounds ends in `other`. */
static uint64_t * count_sort(uint64_t * keys, uint64_t * other, int64_t n) {
    for (int shift = 32; shift < 64; shift += DIGIT_BITS) {
        uint32_t  start[DIGITS + 1] = {0};
        uint64_t * swap             = other;
        for (int64_t i = 0; i < n; i++) {
            start[(keys[i] >> shift & (DIGITS - 1)) + 1]++;
        }
        for (int d = 1; d < DIGITS; d++) {
            start[d] += start[d - 1];
        }
        for (int64_t i = 0; i < n; i++) {
            other[start[keys[i] >> shift & (DIGITS - 1)]++] = keys[i];
        }
        other = keys;
        keys  = swap;
    }
    return keys;
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    const struct ggml_tensor * a = node->src[0];
    if (!op_is(node, GGML_TYPE_I32) || a == NULL || !op_is_float(a->type) || a->ne[0] > INT32_MAX || node->ne[0] > a->ne[0]) {
        return false;
    }
    const bool order_known = node->op == GGML_OP_TOP_K || op_i32(node, 0) == GGML_SORT_ORDER_ASC ||
                             op_i32(node, 0) == GGML_SORT_ORDER_DESC;
    return order_known && (node->op == GGML_OP_TOP_K || node->ne[0] == a->ne[0]) && node->ne[1] == a->ne[1] &&
           node->ne[2] == a->ne[2] && node->ne[3] == a->ne[3];
}

/* Two arrays of keys and a row of floats. */
OP_PREPARE(prepare) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    const struct ggml_tensor * a = nodes[0]->src[0];
    need->worker_size            = op_scratch_bytes(5, a->ne[0]);
    op_limit_workers(need, ggml_nelements(a), OP_GRAIN_HEAVY / 4);
    return GGML_STATUS_SUCCESS;
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    const struct ggml_tensor * node       = nodes[0];
    const struct ggml_tensor * a          = node->src[0];
    const int64_t              ne0        = a->ne[0];
    const bool                 descending = node->op == GGML_OP_TOP_K || op_i32(node, 0) == GGML_SORT_ORDER_DESC;
    if (op_is_empty(node)) {
        return GGML_STATUS_SUCCESS;
    }
    const struct op_range share = op_share(task, ggml_nrows(a));
    for (int64_t r = share.begin; r < share.end; r++) {
        const struct op_index i    = op_row_index(a, r);
        const float *         x    = op_load_row(a, i, op_scratch(task, 4, ne0));
        uint64_t *            keys = (uint64_t *) (void *) op_scratch(task, 0, ne0);
        for (int64_t k = 0; k < ne0; k++) {
            keys[k] = key_of(x[k], k, descending);
        }
        if (ne0 <= FEW) {
            insert_sort(keys, ne0);
        } else {
            keys = count_sort(keys, (uint64_t *) (void *) op_scratch(task, 2, ne0), ne0);
        }
        char * y = op_row_of(node, i);
        for (int64_t k = 0; k < node->ne[0]; k++) {
            const int32_t index = (int32_t) (keys[k] & UINT32_MAX);
            memcpy(y + (size_t) k * node->nb[0], &index, sizeof(index));
        }
    }
    return GGML_STATUS_SUCCESS;
}

CPU_OP(argsort, ARGSORT, .supports = supports, .prepare = prepare, .task = run);
CPU_OP(top_k, TOP_K, .supports = supports, .prepare = prepare, .task = run);
