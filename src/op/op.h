/* SPDX-License-Identifier: MIT
 *
 * The table of operators, and how a builder makes a node.
 *
 * An operator is one file that defines one row (a family, such as the unary functions, is one file as well); op.inc
 * lists them in the order of enum ggml_op. A builder fills a draft of the node, and op_commit has the row check it: the
 * same check serves the builders, graph files and every other way in, so that no node exists that its operator refuses.
 */
#ifndef GRAFT_OP_OP_H
#define GRAFT_OP_OP_H

#include "ggml.h"
#include "ggml-impl.h"

struct op_backward;

struct op_cost {
    double flops;
    double bytes; /* read and written when nothing is cached */
};

struct op_row {
    enum ggml_op op;
    const char * name;   /* "MUL_MAT" */
    const char * symbol; /* "X*Y" */
    int          n_src_min, n_src_max;
    uint32_t     optional_src; /* bit k: source k may be NULL below the last given one */

    /* The operator's contract: types, shapes, strides and parameters of the node (as drafted) fit its sources. Reads
     * metadata only and survives any of it: overflow, negative extents, wild parameters. Sources up to n_src_min are
     * not NULL when it is called. Returns op_refuse(node, ...) on a fault. */
    enum ggml_status (*check)(const struct ggml_tensor * node);

    bool inplace_alloc; /* the allocator may lay the result over a source of the same layout (column alloc_inplace) */

    /* Gradients of the sources; NULL: not differentiable. See src/graph/backward.h. */
    void (*backward)(struct op_backward * pass, struct ggml_tensor * node, struct ggml_tensor * grad);

    /* Has source k no influence that a gradient could follow (it is read for its shape, as indices, or the function is
     * piecewise constant)? NULL: every source has. */
    bool (*grad_stops)(const struct ggml_tensor * node, int k);

    /* Work of a node; NULL: no arithmetic, the bytes of its sources and its result. */
    struct op_cost (*cost)(const struct ggml_tensor * node);
};

/* The row; NULL for values that are no operator. */
const struct op_row * op_row_get(enum ggml_op op);

/* Set by src/ext: the registered name of an extension node (a GGML_OP_CUSTOM with a marker), NULL for any other. */
extern const char * (*op_desc_hook)(const struct ggml_tensor * node);

/* Work of any node, by its row. */
struct op_cost op_cost_of(const struct ggml_tensor * node);

/* ---- drafts ---- */

struct op_draft {
    struct ggml_context * ctx;
    const struct op_row * row;
    struct ggml_tensor    node; /* type, ne, nb (views), op_params, src as set so far */
    struct ggml_tensor *  view; /* the result is a view of this tensor, or NULL */
    size_t                view_offset;
    bool                  own_strides; /* nb of node is given, not contiguous */
    bool                  contiguous; /* a view with contiguous strides */
    bool                  dead; /* a required argument was NULL */
    int                   dead_src; /* which one, for the text */
    const char *          builder; /* "ggml_add", for the text */
    const char *          name_format; /* "%s (view)": the result is named after name_source, or NULL */
    const struct ggml_tensor * name_source;
    size_t                bytes; /* of a result that is no view, known when it was checked */
};

void op_draft_init(struct op_draft * draft, struct ggml_context * ctx, enum ggml_op op, const char * builder);

/* Begins a node. builder is the public function's name, for error texts. (Inline, so that the draft is not copied.) */
static inline struct op_draft op_begin(struct ggml_context * ctx, enum ggml_op op, const char * builder) {
    struct op_draft draft;
    op_draft_init(&draft, ctx, op, builder);
    return draft;
}

/* Required source k. NULL makes the draft dead: op_commit then returns NULL (checked mode) or reports the fault. */
void op_src(struct op_draft * draft, int k, struct ggml_tensor * src);
/* Optional source k; NULL leaves it empty. */
void op_src_optional(struct op_draft * draft, int k, struct ggml_tensor * src);

/* Shape and type of the result. op_like takes both from a tensor (nothing happens on a dead draft). */
void op_like(struct op_draft * draft, const struct ggml_tensor * a);
void op_shape(struct op_draft * draft, enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);

/* The result is a view of a, at an offset in bytes: with the strides of a (in-place forms) unless op_strides is called,
 * and named "NAME (view)" unless op_named_after is. */
void op_view_of(struct op_draft * draft, struct ggml_tensor * a, size_t offset);
void op_strides(struct op_draft * draft, size_t nb0, size_t nb1, size_t nb2, size_t nb3);

/* Contiguous strides for a view; they are worked out by op_commit. Results that are no views have them anyway. */
void op_contiguous(struct op_draft * draft);

/* Name of the result, made from a source's: op_named_after(&draft, "%s (view)", a). */
void op_named_after(struct op_draft * draft, const char * format, const struct ggml_tensor * a);

static inline void op_param_i32(struct op_draft * draft, int i, int32_t value) {
    draft->node.op_params[i] = value;
}

static inline void op_param_f32(struct op_draft * draft, int i, float value) {
    memcpy(&draft->node.op_params[i], &value, sizeof(value));
}

/* Is the draft fit for reading sources (all required ones are there)? Builders that compute shapes from sources ask
 * first. */
static inline bool op_alive(const struct op_draft * draft) {
    return !draft->dead;
}

/* Checks the draft by its row and makes the tensor. On a fault: in a context in checked mode records it and returns
 * NULL; else aborts with the text. */
struct ggml_tensor * op_commit(struct op_draft * draft);

/* A fault that a builder finds itself, before it has a draft to commit: same consequences as in op_commit. Returns
 * NULL. */
struct ggml_tensor * op_builder_failed(struct ggml_context * ctx, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

/* ---- for check functions ---- */

/* Forms "NAME: text" followed by the sources' names, types and shapes, as the thread's error; returns
 * GGML_STATUS_FAILED. */
enum ggml_status op_refuse(const struct ggml_tensor * node, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

/* "f32 [64, 32, 1, 1]" into a buffer of the thread's ring (16 live ones): for error texts. */
const char * op_describe(const struct ggml_tensor * t);

/* Checks that many rows share; each returns GGML_STATUS_SUCCESS or refuses. */
enum ggml_status op_check_same_shape_type(const struct ggml_tensor * node, int k); /* result is like source k */
enum ggml_status op_check_contiguous_result(const struct ggml_tensor * node);      /* or a view */
enum ggml_status op_check_type(const struct ggml_tensor * node, int k, enum ggml_type type);
enum ggml_status op_check_result(const struct ggml_tensor * node, enum ggml_type type, int64_t ne0, int64_t ne1,
                                 int64_t ne2, int64_t ne3);

#endif /* GRAFT_OP_OP_H */
