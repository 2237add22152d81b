/* SPDX-License-Identifier: MIT
 *
 * Rows as floats and the walk over tensors; see op.h.
 */
#include "op.h"

/* Elements that pass through scratch at once: three rows of them stay in the first-level cache. */
#define CHUNK 1024

/* ---- workers ---- */

void op_limit_workers(struct ggml_ext_need * need, int64_t elements, int64_t grain) {
    const int64_t workers = elements / grain + 1;
    need->max_workers     = workers >= GGML_MAX_N_THREADS ? 0 : (int) workers;
}

enum ggml_status op_prepare_light(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                  void ** plan, struct ggml_ext_need * need) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    op_limit_workers(need, ggml_nelements(nodes[0]), OP_GRAIN_LIGHT);
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_prepare_heavy(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                  void ** plan, struct ggml_ext_need * need) {
    (void) user_data, (void) backend, (void) n, (void) plan;
    op_limit_workers(need, ggml_nelements(nodes[0]), OP_GRAIN_HEAVY);
    return GGML_STATUS_SUCCESS;
}

enum ggml_status op_prepare_single(void * user_data, ggml_backend_t backend, const struct ggml_tensor * const * nodes, int n,
                                   void ** plan, struct ggml_ext_need * need) {
    (void) user_data, (void) backend, (void) nodes, (void) n, (void) plan;
    need->max_workers = 1;
    return GGML_STATUS_SUCCESS;
}

/* ---- rows as floats ---- */

static bool whole_blocks(const struct ggml_tensor * t) {
    return t->nb[0] == ggml_type_size(t->type) && t->ne[0] % ggml_blck_size(t->type) == 0;
}

bool op_can_load(const struct ggml_tensor * t) {
    return t != NULL && (op_is_float(t->type) ||
                         (ggml_blck_size(t->type) > 1 && graft_type_decoder(t->type) != NULL && whole_blocks(t)));
}

bool op_can_store(const struct ggml_tensor * t) {
    return t != NULL && (op_is_float(t->type) ||
                         (ggml_blck_size(t->type) > 1 && graft_type_encoder(t->type) != NULL &&
                          !ggml_quantize_requires_imatrix(t->type) && whole_blocks(t)));
}

/* The elements of a strided row, one by one: size is that of an element. */
static void gather(void * to, const char * from, size_t stride, size_t size, int64_t n) {
    if (size == 4) {
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *) to + 4 * i, from + (size_t) i * stride, 4);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *) to + 2 * i, from + (size_t) i * stride, 2);
        }
    }
}

static void scatter(char * to, size_t stride, const void * from, size_t size, int64_t n) {
    if (size == 4) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + (size_t) i * stride, (const char *) from + 4 * i, 4);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + (size_t) i * stride, (const char *) from + 2 * i, 2);
        }
    }
}

static void widen(enum ggml_type type, const void * p, int64_t n, float * y) {
    switch (type) {
        case GGML_TYPE_F32:
            memcpy(y, p, (size_t) n * sizeof(float));
            break;
        case GGML_TYPE_F16:
            cpu_kernels.vec.f16_to_f32(n, y, p);
            break;
        case GGML_TYPE_BF16:
            cpu_kernels.vec.bf16_to_f32(n, y, p);
            break;
        default:
            graft_type_decoder(type)(p, y, n);
    }
}

const float * op_load(enum ggml_type type, const void * p, size_t nb0, int64_t n, float * scratch) {
    const size_t size = ggml_type_size(type);
    if (nb0 == size && type == GGML_TYPE_F32) {
        return p;
    }
    if (nb0 == size || !op_is_float(type)) {
        widen(type, p, n, scratch);
    } else if (nb0 == 0) {
        float value;
        widen(type, p, 1, &value);
        cpu_kernels.vec.fill(n, scratch, value);
    } else if (type == GGML_TYPE_F32) {
        gather(scratch, p, nb0, size, n);
    } else {
        uint16_t dense[CHUNK];
        for (int64_t i = 0; i < n; i += CHUNK) {
            const int64_t k = MIN(CHUNK, n - i);
            gather(dense, (const char *) p + (size_t) i * nb0, nb0, size, k);
            widen(type, dense, k, scratch + i);
        }
    }
    return scratch;
}

static void narrow(enum ggml_type type, void * p, int64_t n, const float * x) {
    switch (type) {
        case GGML_TYPE_F32:
            memcpy(p, x, (size_t) n * sizeof(float));
            break;
        case GGML_TYPE_F16:
            cpu_kernels.vec.f32_to_f16(n, p, x);
            break;
        case GGML_TYPE_BF16:
            cpu_kernels.vec.f32_to_bf16(n, p, x);
            break;
        default:
            graft_type_encoder(type)(x, p, n);
    }
}

void op_store(enum ggml_type type, void * p, size_t nb0, int64_t n, const float * values) {
    const size_t size = ggml_type_size(type);
    if (values == p) {
        return;
    }
    if (nb0 == size || !op_is_float(type)) {
        narrow(type, p, n, values);
    } else if (type == GGML_TYPE_F32) {
        scatter(p, nb0, values, size, n);
    } else {
        uint16_t dense[CHUNK];
        for (int64_t i = 0; i < n; i += CHUNK) {
            const int64_t k = MIN(CHUNK, n - i);
            narrow(type, dense, k, values + i);
            scatter((char *) p + (size_t) i * nb0, nb0, dense, size, k);
        }
    }
}

/* ---- walk ---- */

/* Appends the loops of one dimension of the result: two when a source repeats a part of it, `part` long. */
static void add_dimension(struct op_walk * walk, const struct ggml_tensor * const * operand, int d, int64_t part) {
    const int64_t extent = operand[0]->ne[d];
    const int64_t loop[2] = {part, part > 0 ? extent / part : 0};
    for (int k = 0; k < 2; k++) {
        if (k == 1 && loop[1] == 1) {
            continue;
        }
        walk->ne[walk->n_dims] = loop[k];
        for (int j = 0; j < walk->n_operands; j++) {
            const struct ggml_tensor * t      = operand[j];
            const int64_t              stride = (int64_t) t->nb[d];
            const bool                 whole  = t->ne[d] == extent;
            walk->nb[j][walk->n_dims] = k == 0 ? (t->ne[d] == 1 && !whole ? 0 : stride) : (whole ? part * stride : 0);
        }
        walk->n_dims++;
    }
}

bool op_walk_init(struct op_walk * walk, const struct ggml_tensor * result, int n_src, const struct ggml_tensor * const * src) {
    const struct ggml_tensor * operand[OP_WALK_OPERANDS] = {result};
    walk->n_operands                                     = n_src + 1;
    walk->n_dims                                         = 0;
    for (int j = 1; j <= n_src; j++) {
        operand[j] = src[j - 1];
    }
    for (int j = 0; j <= n_src; j++) {
        walk->data[j] = operand[j]->data;
        walk->type[j] = operand[j]->type;
    }
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const int64_t extent = result->ne[d];
        int64_t       part   = extent;
        for (int j = 1; j <= n_src; j++) {
            const int64_t e = operand[j]->ne[d];
            if (e == extent || e == 1) {
                continue;
            }
            if (e <= 0 || extent % e != 0 || (part != extent && part != e)) {
                return false;
            }
            part = e;
        }
        add_dimension(walk, operand, d, part);
    }
    op_walk_merge(walk);
    return true;
}

/* Bytes that loop d covers in operand j, when its elements are all of it: stride of a loop that continues it. */
static int64_t continued(const struct op_walk * walk, int j, int d) {
    const int64_t n = d == 0 ? walk->ne[0] / ggml_blck_size(walk->type[j]) : walk->ne[d];
    return n * walk->nb[j][d];
}

static bool continues(const struct op_walk * walk, int d, int next) {
    for (int j = 0; j < walk->n_operands; j++) {
        if (walk->nb[j][next] != continued(walk, j, d)) {
            return false;
        }
    }
    return true;
}

/* Drops loops of one round and joins each loop with the next where memory goes on. The innermost stays, for its stride
 * counts blocks. */
void op_walk_merge(struct op_walk * walk) {
    int last = 0;
    for (int d = 1; d < walk->n_dims; d++) {
        if (walk->ne[d] == 1) {
            continue;
        }
        if (continues(walk, last, d)) {
            walk->ne[last] *= walk->ne[d];
            continue;
        }
        if (last == 0 && walk->ne[0] == 1) { /* an innermost loop of one round (never of a block format) gives way */
            last = -1;
        }
        last++;
        walk->ne[last] = walk->ne[d];
        for (int j = 0; j < walk->n_operands; j++) {
            walk->nb[j][last] = walk->nb[j][d];
        }
    }
    walk->n_dims = last + 1;
}

int64_t op_walk_rows(const struct op_walk * walk) {
    int64_t rows = 1;
    for (int d = 1; d < walk->n_dims; d++) {
        rows *= walk->ne[d];
    }
    return rows;
}

void op_walk_seek(const struct op_walk * walk, int64_t row, struct op_cursor * cursor) {
    for (int j = 0; j < walk->n_operands; j++) {
        cursor->at[j] = walk->data[j];
    }
    for (int d = 1; d < walk->n_dims; d++) {
        cursor->index[d] = row % walk->ne[d];
        row /= walk->ne[d];
        for (int j = 0; j < walk->n_operands; j++) {
            cursor->at[j] += cursor->index[d] * walk->nb[j][d];
        }
    }
}

void op_walk_step(const struct op_walk * walk, struct op_cursor * cursor) {
    for (int d = 1; d < walk->n_dims; d++) {
        const bool    carry = ++cursor->index[d] == walk->ne[d];
        const int64_t moved = carry ? 1 - walk->ne[d] : 1;
        for (int j = 0; j < walk->n_operands; j++) {
            cursor->at[j] += moved * walk->nb[j][d];
        }
        if (!carry) {
            return;
        }
        cursor->index[d] = 0;
    }
}

/* All operands are F32 side by side: no scratch, any length at once. */
static bool is_direct(const struct op_walk * walk) {
    for (int j = 0; j < walk->n_operands; j++) {
        if (walk->type[j] != GGML_TYPE_F32 || walk->nb[j][0] != sizeof(float)) {
            return false;
        }
    }
    return true;
}

struct elements {
    op_elements_fn fn;
    const void *   context;
};

static void run_piece(const struct op_walk * walk, const struct op_cursor * cursor, int64_t begin, int64_t end,
                      const void * context) {
    const struct elements * e    = context;
    const int64_t           step = is_direct(walk) ? end - begin : CHUNK;
    const size_t            nb0  = (size_t) walk->nb[0][0];
    float                   scratch[OP_WALK_OPERANDS][CHUNK];
    for (int64_t i = begin; i < end; i += step) {
        const int64_t n = MIN(step, end - i);
        const float * x[OP_WALK_OPERANDS - 1];
        for (int j = 1; j < walk->n_operands; j++) {
            x[j - 1] = op_load_piece(walk, cursor, j, i, n, scratch[j]);
        }
        char *  out = op_piece_at(walk, cursor, 0, i);
        float * y   = op_target(walk->type[0], out, nb0, scratch[0]);
        e->fn(e->context, n, y, x);
        op_store(walk->type[0], out, nb0, n, y);
    }
}

/* Length of the pieces that rows are cut into: whole rows when there are many, else several pieces for each worker,
 * of whole blocks (256 is a multiple of every block that gets here). */
static int64_t piece_length(const struct op_walk * walk, int64_t rows, int nth) {
    const int64_t wanted = 8 * (int64_t) nth;
    if (nth == 1 || rows >= wanted) {
        return walk->ne[0];
    }
    const int64_t pieces = (wanted + rows - 1) / rows;
    return MAX(256, (walk->ne[0] / pieces + 255) / 256 * 256);
}

void op_walk_pieces(const struct op_walk * walk, const struct ggml_ext_task * task, op_piece_fn fn, const void * context) {
    const int64_t rows = op_walk_rows(walk);
    if (rows <= 0 || walk->ne[0] <= 0) {
        return;
    }
    const int64_t         n0     = walk->ne[0];
    const int64_t         piece  = piece_length(walk, rows, task->nth);
    const int64_t         pieces = (n0 + piece - 1) / piece;
    const struct op_range share  = op_share(task, rows * pieces);
    struct op_cursor      cursor;
    if (share.begin >= share.end) {
        return;
    }
    op_walk_seek(walk, share.begin / pieces, &cursor);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t begin = u % pieces * piece;
        fn(walk, &cursor, begin, MIN(begin + piece, n0), context);
        if ((u + 1) % pieces == 0) {
            op_walk_step(walk, &cursor);
        }
    }
}

void op_walk_run(const struct op_walk * walk, const struct ggml_ext_task * task, op_elements_fn fn, const void * context) {
    const struct elements e = {fn, context};
    op_walk_pieces(walk, task, run_piece, &e);
}

enum ggml_status op_run_elementwise(const struct ggml_tensor * node, int n_src, const struct ggml_ext_task * task,
                                    op_elements_fn fn, const void * context) {
    struct op_walk walk;
    if (!op_walk_init(&walk, node, n_src, (const struct ggml_tensor * const *) node->src)) {
        return graft_fail(GGML_STATUS_FAILED, "%s: a source of '%s' does not repeat to its shape", ggml_op_name(node->op),
                          node->name);
    }
    op_walk_run(&walk, task, fn, context);
    return GGML_STATUS_SUCCESS;
}

bool op_can_run_elementwise(const struct ggml_tensor * node, int n_src) {
    struct op_walk walk;
    bool           blocks = ggml_blck_size(node->type) > 1;
    if (!op_can_store(node) || (blocks && 256 % ggml_blck_size(node->type) != 0)) {
        return false;
    }
    for (int k = 0; k < n_src; k++) {
        if (!op_can_load(node->src[k])) {
            return false;
        }
        blocks |= ggml_blck_size(node->src[k]->type) > 1;
    }
    for (int k = 0; k < n_src && blocks; k++) { /* rows of blocks are not repeated in part */
        if (node->src[k]->ne[0] != node->ne[0] || 256 % ggml_blck_size(node->src[k]->type) != 0) {
            return false;
        }
    }
    return op_walk_init(&walk, node, n_src, (const struct ggml_tensor * const *) node->src);
}
