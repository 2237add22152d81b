/* SPDX-License-Identifier: MIT
 *
 * What the CPU kernels of operators share: the descriptor, shares of work, rows as floats, and the walk over tensors of any
 * strides and broadcasts.
 *
 * Workers get contiguous shares in the order of memory, so that a worker finds in its cache what it wrote in the operator
 * before. How work is cut never changes a value: functions of single elements give the same bits wherever an element
 * stands (kernel/family_vec.h), and sums run over whole rows by one worker.
 */
#ifndef GRAFT_CPU_OP_H
#define GRAFT_CPU_OP_H

#include <math.h>
#include <string.h>

#include "ggml-ext.h"
#include "ggml-impl.h"
#include "graft-module.h"
#include "kernel/kernel.h"

/* Defines cpu_op_<basename>; the other members follow as designated initialisers. */
#define CPU_OP(basename, constant, ...)                                       \
    const struct ggml_ext_kernel_desc cpu_op_##basename = {                   \
        .size = sizeof(struct ggml_ext_kernel_desc), .name = "cpu." #basename, \
        .op = GGML_OP_##constant, __VA_ARGS__}

/* The parameters that every callback has. */
#define OP_SUPPORTS(function) static bool function(void * user_data, ggml_backend_dev_t device, const struct ggml_tensor * node)
#define OP_PREPARE(function)                                                                                        \
    static enum ggml_status function(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, \
                                     int n, void ** plan, struct ggml_ext_need * need)
#define OP_TASK(function)                                                                                         \
    static enum ggml_status function(void * user_data, void * plan, struct ggml_ext_task * task,                  \
                                     struct ggml_tensor * const * nodes, int n)

/* ---- shares of work ---- */

struct op_range {
    int64_t begin, end;
};

/* The share of a worker in n units: contiguous, sizes differ by one at most. */
static inline struct op_range op_share(const struct ggml_ext_task * task, int64_t n) {
    const struct op_range r = {n * task->ith / task->nth, n * (task->ith + 1) / task->nth};
    return r;
}

/* So many workers that each has `grain` elements: waking more costs more than it saves. */
void op_limit_workers(struct ggml_ext_need * need, int64_t elements, int64_t grain);

/* prepare functions for elementwise work of the result's size: additions and the like; functions (exp, ...). */
enum ggml_status op_prepare_light(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                  void ** plan, struct ggml_ext_need * need);
enum ggml_status op_prepare_heavy(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                  void ** plan, struct ggml_ext_need * need);
/* One worker does it all. */
enum ggml_status op_prepare_single(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                   void ** plan, struct ggml_ext_need * need);

#define OP_GRAIN_LIGHT 16384
#define OP_GRAIN_HEAVY 4096

/* ---- rows ---- */

struct op_index {
    int64_t i1, i2, i3;
};

/* Place of row r of a tensor, in the order of memory of a contiguous one. */
static inline struct op_index op_row_index(const struct ggml_tensor * t, int64_t r) {
    const struct op_index i = {r % t->ne[1], r / t->ne[1] % t->ne[2], r / t->ne[1] / t->ne[2]};
    return i;
}

static inline void * op_row(const struct ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return (char *) t->data + i1 * (int64_t) t->nb[1] + i2 * (int64_t) t->nb[2] + i3 * (int64_t) t->nb[3];
}

static inline void * op_row_of(const struct ggml_tensor * t, struct op_index i) {
    return op_row(t, i.i1, i.i2, i.i3);
}

/* The row of a tensor that is repeated over the shape in which i counts. */
static inline void * op_row_repeated(const struct ggml_tensor * t, struct op_index i) {
    return op_row(t, i.i1 % t->ne[1], i.i2 % t->ne[2], i.i3 % t->ne[3]);
}

static inline bool op_is_empty(const struct ggml_tensor * t) {
    return t->ne[0] <= 0 || t->ne[1] <= 0 || t->ne[2] <= 0 || t->ne[3] <= 0;
}

/* F32, F16 or BF16. */
static inline bool op_is_float(enum ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

/* Elements of a row lie side by side. */
static inline bool op_row_dense(const struct ggml_tensor * t) {
    return t->ne[0] <= 1 || t->nb[0] == ggml_type_size(t->type);
}

static inline bool op_is(const struct ggml_tensor * t, enum ggml_type type) {
    return t != NULL && t->type == type;
}

static inline bool op_is_f32_dense(const struct ggml_tensor * t) {
    return op_is(t, GGML_TYPE_F32) && op_row_dense(t);
}

/* Rows that op_load can read: floats of any stride, or a format with a decoder and whole rows of blocks. */
bool op_can_load(const struct ggml_tensor * t);
/* Rows that op_store can write: floats of any stride, or a format with an encoder that needs no importance matrix. */
bool op_can_store(const struct ggml_tensor * t);

/* n values at p, nb0 bytes apart (0: one value n times), as floats. They stay where they are when they are F32 side by side;
 * else scratch, of n floats, is filled. */
const float * op_load(enum ggml_type type, const void * p, size_t nb0, int64_t n, float * scratch);
/* Where to compute n values that op_store is to write: in place, or in scratch. */
static inline float * op_target(enum ggml_type type, void * p, size_t nb0, float * scratch) {
    return type == GGML_TYPE_F32 && nb0 == sizeof(float) ? (float *) p : scratch;
}
void op_store(enum ggml_type type, void * p, size_t nb0, int64_t n, const float * values);

/* One F32, F16 or BF16 number. */
static inline float op_get(enum ggml_type type, const void * p) {
    uint16_t bits;
    if (type == GGML_TYPE_F32) {
        float v;
        memcpy(&v, p, sizeof(v));
        return v;
    }
    memcpy(&bits, p, sizeof(bits));
    return type == GGML_TYPE_F16 ? ggml_compute_fp16_to_fp32(bits) : ggml_compute_bf16_to_fp32((ggml_bf16_t){bits});
}

/* Bytes from element 0 to element i of a row. */
static inline int64_t op_offset(enum ggml_type type, size_t nb0, int64_t i) {
    return i / ggml_blck_size(type) * (int64_t) nb0;
}

/* Whole rows of a tensor. */
static inline const float * op_load_row(const struct ggml_tensor * t, struct op_index i, float * scratch) {
    return op_load(t->type, op_row_of(t, i), t->nb[0], t->ne[0], scratch);
}
static inline float * op_target_row(const struct ggml_tensor * t, struct op_index i, float * scratch) {
    return op_target(t->type, op_row_of(t, i), t->nb[0], scratch);
}
static inline void op_store_row(const struct ggml_tensor * t, struct op_index i, const float * values) {
    op_store(t->type, op_row_of(t, i), t->nb[0], t->ne[0], values);
}

/* Floats in one scratch row of worker memory: n, rounded up to cache lines. */
static inline size_t op_scratch_floats(int64_t n) {
    return ((size_t) n + 31) & ~(size_t) 15;
}
static inline float * op_scratch(const struct ggml_ext_task * task, int k, int64_t n) {
    return (float *) task->worker_memory + (size_t) k * op_scratch_floats(n);
}
static inline size_t op_scratch_bytes(int rows, int64_t n) {
    return (size_t) rows * op_scratch_floats(n) * sizeof(float);
}

/* ---- walk ---- */

#define OP_WALK_OPERANDS 4
#define OP_WALK_DIMS     8

/* The elements of a result and of sources that are repeated to its shape, as one nest of loops, innermost first:
 * operand 0 is the result, stride 0 a repeated extent. Loops that are one in memory, in all operands, are one here. */
struct op_walk {
    int            n_operands, n_dims;
    int64_t        ne[OP_WALK_DIMS];
    int64_t        nb[OP_WALK_OPERANDS][OP_WALK_DIMS];
    char *         data[OP_WALK_OPERANDS];
    enum ggml_type type[OP_WALK_OPERANDS];
};

/* false when a source does not repeat to the result, or two sources repeat an extent differently. */
bool op_walk_init(struct op_walk * walk, const struct ggml_tensor * result, int n_src, const struct ggml_tensor * const * src);

/* Rows (innermost loops) of the walk. */
int64_t op_walk_rows(const struct op_walk * walk);
void    op_walk_merge(struct op_walk * walk);

struct op_cursor {
    int64_t index[OP_WALK_DIMS];
    char *  at[OP_WALK_OPERANDS];
};

void op_walk_seek(const struct op_walk * walk, int64_t row, struct op_cursor * cursor);
void op_walk_step(const struct op_walk * walk, struct op_cursor * cursor);

/* Elements [begin, end) of the row under the cursor. */
typedef void (*op_piece_fn)(const struct op_walk * walk, const struct op_cursor * cursor, int64_t begin, int64_t end,
                            const void * context);

/* Calls fn for this worker's share of the rows, which are cut into pieces when they are few. */
void op_walk_pieces(const struct op_walk * walk, const struct ggml_ext_task * task, op_piece_fn fn, const void * context);

/* Element i of operand j in the row under the cursor; n of them as floats. */
static inline char * op_piece_at(const struct op_walk * walk, const struct op_cursor * cursor, int j, int64_t i) {
    return cursor->at[j] + op_offset(walk->type[j], (size_t) walk->nb[j][0], i);
}
static inline const float * op_load_piece(const struct op_walk * walk, const struct op_cursor * cursor, int j, int64_t i,
                                          int64_t n, float * scratch) {
    return op_load(walk->type[j], op_piece_at(walk, cursor, j, i), (size_t) walk->nb[j][0], n, scratch);
}

/* y[i] from x[0][i], x[1][i], ...; y may lie over one of them. */
typedef void (*op_elements_fn)(const void * context, int64_t n, float * y, const float * const * x);

/* Runs this worker's share of the walk; operands of other types than F32 pass through scratch on the stack. */
void op_walk_run(const struct op_walk * walk, const struct ggml_ext_task * task, op_elements_fn fn, const void * context);

/* One elementwise node: sources 0 .. n_src - 1, repeated to the result. */
enum ggml_status op_run_elementwise(const struct ggml_tensor * node, int n_src, const struct ggml_ext_task * task,
                                    op_elements_fn fn, const void * context);

/* Operand types and shapes of such a node are in order. */
bool op_can_run_elementwise(const struct ggml_tensor * node, int n_src);

/* ---- copies ---- */

/* The elements of one tensor in logical order into another of as many, this worker's share; see cpy.c for the types. Both may be
 * made up on the spot: type, ne, nb and data are looked at. */
bool op_can_copy(const struct ggml_tensor * to, const struct ggml_tensor * from);
void op_copy(const struct ggml_ext_task * task, const struct ggml_tensor * to, const struct ggml_tensor * from);

/* n units of `size` bytes, each side with its step in bytes (from_step 0: one unit n times). */
void op_move(void * to, int64_t to_step, const void * from, int64_t from_step, size_t size, int64_t n);

/* ---- parameters ---- */

static inline float op_f32(const struct ggml_tensor * node, int i) {
    return ggml_get_op_params_f32(node, (uint32_t) i);
}
static inline int32_t op_i32(const struct ggml_tensor * node, int i) {
    return ggml_get_op_params_i32(node, (uint32_t) i);
}

#endif /* GRAFT_CPU_OP_H */
