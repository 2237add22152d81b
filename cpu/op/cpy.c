/* SPDX-License-Identifier: MIT
 *
 * DUP, CONT and CPY: the elements of a source, in logical order, into a result of any shape, strides and type.
 *
 * Same type: bytes, of any type. F32, F16, BF16 and I32 into each other (to I32: toward zero, saturated, NaN gives 0), and
 * formats of blocks to and from F32, F16, BF16 and each other where they have a decoder and an encoder.
 *
 * Shapes may differ: both are cut into the coarsest common loops. Where there are none (6x4 into 4x6, both strided), elements
 * go one by one.
 */
#include "op.h"

static bool is_number(enum ggml_type type) {
    return op_is_float(type) || type == GGML_TYPE_I32;
}

static bool is_blocks(enum ggml_type type) {
    return ggml_blck_size(type) > 1;
}

/* ---- common loops ---- */

/* The dimensions of one tensor, those that are one in memory joined; extents and strides in units: elements, or blocks. */
struct shape {
    int     n;
    int64_t ne[GGML_MAX_DIMS];
    int64_t nb[GGML_MAX_DIMS];
};

static struct shape shape_of(const struct ggml_tensor * t, int64_t unit) {
    struct shape s = {1, {t->ne[0] / unit}, {(int64_t) t->nb[0]}};
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        const int last = s.n - 1;
        if (t->ne[d] == 1) {
            continue;
        }
        if (s.ne[last] == 1) {
            s.ne[last] = t->ne[d];
            s.nb[last] = (int64_t) t->nb[d];
        } else if ((int64_t) t->nb[d] == s.ne[last] * s.nb[last]) {
            s.ne[last] *= t->ne[d];
        } else {
            s.ne[s.n]   = t->ne[d];
            s.nb[s.n++] = (int64_t) t->nb[d];
        }
    }
    return s;
}

/* Loops that divide both shapes: operand 0 is the result, 1 the source. false when there are none. */
static bool common_loops(struct op_walk * walk, struct shape a, struct shape b) {
    int ia = 0, ib = 0;
    walk->n_operands = 2;
    walk->n_dims     = 0;
    while (ia < a.n && ib < b.n) {
        const int64_t g = MIN(a.ne[ia], b.ne[ib]);
        if (g == 0 || a.ne[ia] % g != 0 || b.ne[ib] % g != 0 || walk->n_dims == OP_WALK_DIMS) {
            return false;
        }
        walk->ne[walk->n_dims]    = g;
        walk->nb[0][walk->n_dims] = a.nb[ia];
        walk->nb[1][walk->n_dims] = b.nb[ib];
        walk->n_dims++;
        a.ne[ia] /= g;
        a.nb[ia] *= g;
        b.ne[ib] /= g;
        b.nb[ib] *= g;
        ia += a.ne[ia] == 1;
        ib += b.ne[ib] == 1;
    }
    return ia == a.n && ib == b.n;
}

/* The walk of a copy. Same type: in units of whole blocks, which are moved as bytes. Else in elements; a side of blocks then has its
 * blocks in the innermost loop. */
static bool copy_walk(struct op_walk * walk, const struct ggml_tensor * to, const struct ggml_tensor * from) {
    const bool    bytes = to->type == from->type;
    const int64_t unit  = bytes ? ggml_blck_size(to->type) : 1;
    int64_t       block = 1;
    walk->data[0]       = to->data;
    walk->data[1]       = from->data;
    walk->type[0]       = to->type;
    walk->type[1]       = from->type;
    if (bytes || (!is_blocks(to->type) && !is_blocks(from->type))) {
        return common_loops(walk, shape_of(to, unit), shape_of(from, unit));
    }
    /* Both sides in units of the larger block, so that the loops keep blocks whole; then the innermost loop in elements again. */
    block = MAX(ggml_blck_size(to->type), ggml_blck_size(from->type));
    if (to->ne[0] % block != 0 || from->ne[0] % block != 0 || 256 % block != 0) {
        return false;
    }
    struct ggml_tensor a = *to, b = *from;
    a.nb[0] *= (size_t) (block / ggml_blck_size(a.type));
    b.nb[0] *= (size_t) (block / ggml_blck_size(b.type));
    if (!common_loops(walk, shape_of(&a, block), shape_of(&b, block))) {
        return false;
    }
    /* A loop that steps over units of more than dimension 0 is no row of elements: put a loop over one unit inside. */
    const bool row = walk->nb[0][0] == (int64_t) a.nb[0] && walk->nb[1][0] == (int64_t) b.nb[0];
    if (!row) {
        if (walk->n_dims == OP_WALK_DIMS) {
            return false;
        }
        for (int d = walk->n_dims++; d > 0; d--) {
            walk->ne[d]    = walk->ne[d - 1];
            walk->nb[0][d] = walk->nb[0][d - 1];
            walk->nb[1][d] = walk->nb[1][d - 1];
        }
        walk->ne[0] = 1;
    }
    walk->ne[0] *= block;
    walk->nb[0][0] = (int64_t) to->nb[0];
    walk->nb[1][0] = (int64_t) from->nb[0];
    return true;
}

/* ---- bytes ---- */

#define MOVE(type)                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                     \
        memcpy(to + i * to_step, from + i * from_step, sizeof(type));                     \
    }

void op_move(void * to_units, int64_t to_step, const void * from_units, int64_t from_step, size_t size, int64_t n) {
    char *       to   = to_units;
    const char * from = from_units;
    if (to_step == (int64_t) size && from_step == (int64_t) size) {
        memcpy(to, from, (size_t) n * size);
    } else if (size == 4) {
        MOVE(uint32_t)
    } else if (size == 2) {
        MOVE(uint16_t)
    } else if (size == 8) {
        MOVE(uint64_t)
    } else {
        for (int64_t i = 0; i < n; i++) {
            memcpy(to + i * to_step, from + i * from_step, size);
        }
    }
}

static void move_piece(const struct op_walk * walk, const struct op_cursor * cursor, int64_t begin, int64_t end,
                       const void * context) {
    const size_t  size = *(const size_t *) context;
    const int64_t to   = walk->nb[0][0], from = walk->nb[1][0];
    op_move(cursor->at[0] + begin * to, to, cursor->at[1] + begin * from, from, size, end - begin);
}

/* Edge of the squares in which a transposition goes: its lines of both sides stay in the first-level cache. */
#define TILE 32

/* When the source is not dense in loop 0 but in another one, that one becomes loop 1, and the two are walked in squares. */
static bool make_transposition(struct op_walk * walk, int64_t size) {
    if (walk->nb[0][0] != size || walk->nb[1][0] == size || walk->ne[0] < 2) {
        return false;
    }
    for (int d = 1; d < walk->n_dims; d++) {
        if (walk->nb[1][d] == size) {
            const int64_t ne = walk->ne[1];
            walk->ne[1]      = walk->ne[d];
            walk->ne[d]      = ne;
            for (int j = 0; j < 2; j++) {
                const int64_t nb = walk->nb[j][1];
                walk->nb[j][1]   = walk->nb[j][d];
                walk->nb[j][d]   = nb;
            }
            return true;
        }
    }
    return false;
}

static void transpose(const struct op_walk * walk, const struct ggml_ext_task * task, size_t size) {
    const int64_t         bands  = (walk->ne[1] + TILE - 1) / TILE; /* of TILE rows */
    const int64_t         planes = op_walk_rows(walk) / walk->ne[1];
    const struct op_range share  = op_share(task, planes * bands);
    for (int64_t u = share.begin; u < share.end; u++) {
        const int64_t    first = u % bands * TILE, rows = MIN(TILE, walk->ne[1] - first);
        struct op_cursor cursor;
        op_walk_seek(walk, u / bands * walk->ne[1] + first, &cursor);
        for (int64_t i = 0; i < walk->ne[0]; i += TILE) {
            const int64_t n = MIN(TILE, walk->ne[0] - i);
            for (int64_t r = 0; r < rows; r++) {
                op_move(cursor.at[0] + r * walk->nb[0][1] + i * (int64_t) size, (int64_t) size,
                           cursor.at[1] + r * walk->nb[1][1] + i * walk->nb[1][0], walk->nb[1][0], size, n);
            }
        }
    }
}

/* ---- conversions ---- */

#define CHUNK 1024

static const float * load_numbers(enum ggml_type type, const char * p, size_t nb0, int64_t n, float * scratch) {
    if (type != GGML_TYPE_I32) {
        return op_load(type, p, nb0, n, scratch);
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t v;
        memcpy(&v, p + (size_t) i * nb0, sizeof(v));
        scratch[i] = (float) v;
    }
    return scratch;
}

static int32_t to_int(float x) {
    if (isnan(x)) {
        return 0;
    }
    return x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int32_t) x;
}

static void store_numbers(enum ggml_type type, char * p, size_t nb0, int64_t n, const float * values) {
    if (type != GGML_TYPE_I32) {
        op_store(type, p, nb0, n, values);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = to_int(values[i]);
        memcpy(p + (size_t) i * nb0, &v, sizeof(v));
    }
}

static void convert_piece(const struct op_walk * walk, const struct op_cursor * cursor, int64_t begin, int64_t end,
                          const void * context) {
    float scratch[CHUNK];
    (void) context;
    for (int64_t i = begin; i < end; i += CHUNK) {
        const int64_t n   = MIN(CHUNK, end - i);
        char *        out = op_piece_at(walk, cursor, 0, i);
        float *       y   = op_target(walk->type[0], out, (size_t) walk->nb[0][0], scratch);
        const float * x   = load_numbers(walk->type[1], op_piece_at(walk, cursor, 1, i), (size_t) walk->nb[1][0], n, y);
        store_numbers(walk->type[0], out, (size_t) walk->nb[0][0], n, x);
    }
}

/* ---- one by one ---- */

static void * element_at(const struct ggml_tensor * t, int64_t unit, int64_t i) {
    const int64_t ne0 = t->ne[0] / unit;
    const int64_t i0 = i % ne0, r = i / ne0;
    return (char *) op_row_of(t, op_row_index(t, r)) + i0 * (int64_t) t->nb[0];
}

static void copy_each(const struct ggml_tensor * to, const struct ggml_tensor * from, const struct ggml_ext_task * task) {
    const bool            bytes = to->type == from->type;
    const int64_t         unit  = bytes ? ggml_blck_size(to->type) : 1;
    const struct op_range share = op_share(task, ggml_nelements(to) / unit);
    for (int64_t i = share.begin; i < share.end; i++) {
        void *       p = element_at(to, unit, i);
        const void * q = element_at(from, unit, i);
        float        scratch;
        if (bytes) {
            memcpy(p, q, ggml_type_size(to->type));
        } else {
            store_numbers(to->type, p, ggml_type_size(to->type), 1,
                          load_numbers(from->type, q, ggml_type_size(from->type), 1, &scratch));
        }
    }
}

bool op_can_copy(const struct ggml_tensor * to, const struct ggml_tensor * from) {
    if (ggml_nelements(from) != ggml_nelements(to)) {
        return false;
    }
    if (from->type == to->type) {
        return from->ne[0] % ggml_blck_size(from->type) == 0 && to->ne[0] % ggml_blck_size(to->type) == 0;
    }
    if (is_number(from->type) && is_number(to->type)) {
        return true;
    }
    struct op_walk walk;
    return from->type != GGML_TYPE_I32 && to->type != GGML_TYPE_I32 && op_can_load(from) && op_can_store(to) &&
           (op_is_empty(to) || copy_walk(&walk, to, from));
}

void op_copy(const struct ggml_ext_task * task, const struct ggml_tensor * to, const struct ggml_tensor * from) {
    const size_t   size = ggml_type_size(to->type);
    struct op_walk walk;
    if (op_is_empty(to) || (to->data == from->data && ggml_are_same_layout(to, from))) {
        return;
    }
    if (!copy_walk(&walk, to, from)) {
        copy_each(to, from, task);
    } else if (to->type != from->type) {
        op_walk_pieces(&walk, task, convert_piece, NULL);
    } else if (make_transposition(&walk, (int64_t) size)) {
        transpose(&walk, task, size);
    } else {
        walk.type[0] = walk.type[1] = GGML_TYPE_I8; /* loops count units, not elements of blocks */
        op_walk_pieces(&walk, task, move_piece, &size);
    }
}

OP_SUPPORTS(supports) {
    (void) user_data, (void) device;
    return node->src[0] != NULL && op_can_copy(node, node->src[0]);
}

OP_TASK(run) {
    (void) user_data, (void) plan, (void) n;
    op_copy(task, nodes[0], nodes[0]->src[0]);
    return GGML_STATUS_SUCCESS;
}

#define COPY(basename, constant) \
    CPU_OP(basename, constant, .supports = supports, .prepare = op_prepare_light, .task = run)

COPY(dup, DUP);
COPY(cpy, CPY);
COPY(cont, CONT);
