/* SPDX-License-Identifier: MIT
 *
 * The table of number formats. A format is one file that defines one row; type.inc lists them in the order of enum
 * ggml_type. Formats that an application registers at run time are rows of the same kind, with ids from
 * GGML_EXT_TYPE_FIRST on.
 */
#ifndef GRAFT_TYPE_TYPE_H
#define GRAFT_TYPE_TYPE_H

#include "ggml.h"

struct type_row {
    enum ggml_type          id;
    struct ggml_type_traits traits; /* what clients see; to_float and from_float_ref may be NULL (types.tsv says where) */

    /* Encodes nrows rows of n_per_row values; imatrix: weight of each column, or NULL. Returns the bytes written. NULL where
     * there is no encoder. Any input must give finite blocks (NaN and Inf excepted) and never abort. */
    size_t (*quantize)(const float * src, void * dst, int64_t nrows, int64_t n_per_row, const float * imatrix);

    /* Are these whole blocks free of NaN and Inf scales? NULL: every byte pattern is valid. Writes the log on failure. */
    bool (*validate)(const void * data, size_t nbytes);

    bool needs_imatrix; /* the encoder is of no use without one */

    /* Decodes and encodes for internal use, also where clients see no such function (F32: a copy; Q8_K, Q8_1: the reference). */
    ggml_to_float_t   decode;
    ggml_from_float_t encode;

    enum ggml_type dot_type; /* the activations that a dot product with rows of this format takes */
};

/* The row; NULL for removed and unknown ids. Any value may be asked for. */
const struct type_row * type_row_get(enum ggml_type type);

/* Number of rows, built in and registered, and the i-th of them, for loops over all formats. */
size_t                  type_row_count(void);
const struct type_row * type_row_at(size_t i);

/* The row of this name ("q4_1"); NULL when there is none. */
const struct type_row * type_row_by_name(const char * name);

/* Bytes of ne values of a type; false on overflow, an unknown type, or ne that is no multiple of the block. */
bool type_row_bytes(enum ggml_type type, int64_t ne, size_t * bytes);

#endif /* GRAFT_TYPE_TYPE_H */
