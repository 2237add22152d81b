/* SPDX-License-Identifier: MIT
 *
 * What clients ask about number formats: names, sizes, encoding by type, validation. Every function takes any value for
 * a type; ids that are removed or unknown have a name in words and no size.
 */
#include "type/type.h"

#include "base/check.h"
#include "base/status.h"
#include "ggml-impl.h"
#include "ggml-quants.h"
#include "graft-module.h"
#include "type/grid.h"

static const struct ggml_type_traits removed = {.type_name = "removed"};
static const struct ggml_type_traits unknown = {.type_name = "unknown"};

const struct ggml_type_traits * ggml_get_type_traits(enum ggml_type type) {
    const struct type_row * row = type_row_get(type);
    if (row != NULL) {
        return &row->traits;
    }
    const int64_t id = (int64_t) type;
    return id >= 0 && id < GGML_TYPE_COUNT ? &removed : &unknown;
}

const char * ggml_type_name(enum ggml_type type) {
    return ggml_get_type_traits(type)->type_name;
}

int64_t ggml_blck_size(enum ggml_type type) {
    return ggml_get_type_traits(type)->blck_size;
}

size_t ggml_type_size(enum ggml_type type) {
    return ggml_get_type_traits(type)->type_size;
}

double ggml_type_sizef(enum ggml_type type) {
    const struct ggml_type_traits * traits = ggml_get_type_traits(type);
    return traits->blck_size > 0 ? (double) traits->type_size / (double) traits->blck_size : 0.0;
}

bool ggml_is_quantized(enum ggml_type type) {
    return ggml_get_type_traits(type)->is_quantized;
}

/* Clients ask with lengths that are no multiple of the block, and get the bytes of what they asked for, rounded down.
 * Without a size that memory could have, the result is the greatest one: an allocation of it fails. */
size_t ggml_row_size(enum ggml_type type, int64_t ne) {
    const struct ggml_type_traits * traits = ggml_get_type_traits(type);
    if (traits->blck_size == 0) {
        return 0;
    }
    size_t bytes = 0;
    if (ne < 0 || (uint64_t) ne > SIZE_MAX) {
        base_fail(GGML_STATUS_FAILED, "ggml_row_size: %s row of %lld values", traits->type_name, (long long) ne);
        return SIZE_MAX;
    }
    const size_t blocks = (size_t) (ne / traits->blck_size), rest = (size_t) (ne % traits->blck_size);
    if (!base_size_mul(blocks, traits->type_size, &bytes) ||
        !base_size_add(bytes, rest * traits->type_size / (size_t) traits->blck_size, &bytes)) {
        base_fail(GGML_STATUS_FAILED, "ggml_row_size: %s row of %lld values is larger than memory", traits->type_name,
                  (long long) ne);
        return SIZE_MAX;
    }
    return bytes;
}

enum ggml_type ggml_ftype_to_ggml_type(enum ggml_ftype ftype) {
    static const struct {
        enum ggml_ftype ftype;
        enum ggml_type  type;
    } pairs[] = {
        {GGML_FTYPE_ALL_F32, GGML_TYPE_F32},
        {GGML_FTYPE_MOSTLY_F16, GGML_TYPE_F16},
        {GGML_FTYPE_MOSTLY_BF16, GGML_TYPE_BF16},
        {GGML_FTYPE_MOSTLY_Q4_0, GGML_TYPE_Q4_0},
        {GGML_FTYPE_MOSTLY_Q4_1, GGML_TYPE_Q4_1},
        {GGML_FTYPE_MOSTLY_Q5_0, GGML_TYPE_Q5_0},
        {GGML_FTYPE_MOSTLY_Q5_1, GGML_TYPE_Q5_1},
        {GGML_FTYPE_MOSTLY_Q8_0, GGML_TYPE_Q8_0},
        {GGML_FTYPE_MOSTLY_Q2_K, GGML_TYPE_Q2_K},
        {GGML_FTYPE_MOSTLY_Q3_K, GGML_TYPE_Q3_K},
        {GGML_FTYPE_MOSTLY_Q4_K, GGML_TYPE_Q4_K},
        {GGML_FTYPE_MOSTLY_Q5_K, GGML_TYPE_Q5_K},
        {GGML_FTYPE_MOSTLY_Q6_K, GGML_TYPE_Q6_K},
        {GGML_FTYPE_MOSTLY_IQ1_S, GGML_TYPE_IQ1_S},
        {GGML_FTYPE_MOSTLY_IQ1_M, GGML_TYPE_IQ1_M},
        {GGML_FTYPE_MOSTLY_IQ2_XXS, GGML_TYPE_IQ2_XXS},
        {GGML_FTYPE_MOSTLY_IQ2_XS, GGML_TYPE_IQ2_XS},
        {GGML_FTYPE_MOSTLY_IQ2_S, GGML_TYPE_IQ2_S},
        {GGML_FTYPE_MOSTLY_IQ3_XXS, GGML_TYPE_IQ3_XXS},
        {GGML_FTYPE_MOSTLY_IQ3_S, GGML_TYPE_IQ3_S},
        {GGML_FTYPE_MOSTLY_IQ4_NL, GGML_TYPE_IQ4_NL},
        {GGML_FTYPE_MOSTLY_IQ4_XS, GGML_TYPE_IQ4_XS},
        {GGML_FTYPE_MOSTLY_MXFP4, GGML_TYPE_MXFP4},
        {GGML_FTYPE_MOSTLY_NVFP4, GGML_TYPE_NVFP4},
        {GGML_FTYPE_MOSTLY_Q1_0, GGML_TYPE_Q1_0},
        {GGML_FTYPE_MOSTLY_Q2_0, GGML_TYPE_Q2_0},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].ftype == ftype) {
            return pairs[i].type;
        }
    }
    return GGML_TYPE_COUNT;
}

ggml_to_float_t graft_type_decoder(enum ggml_type type) {
    const struct type_row * row = type_row_get(type);
    return row != NULL ? row->decode : NULL;
}

ggml_from_float_t graft_type_encoder(enum ggml_type type) {
    const struct type_row * row = type_row_get(type);
    return row != NULL ? row->encode : NULL;
}

bool ggml_quantize_requires_imatrix(enum ggml_type type) {
    const struct type_row * row = type_row_get(type);
    return row != NULL && row->needs_imatrix;
}

/* The search tables of the grid formats are also made on first use. */
void ggml_quantize_init(enum ggml_type type) {
    grid_prepare(type);
}

void ggml_quantize_free(void) {
    grid_free_all();
}

static size_t refuse_chunk(enum ggml_type type, const char * why) {
    base_fail(GGML_STATUS_FAILED, "ggml_quantize_chunk: %s: %s", ggml_type_name(type), why);
    GGML_LOG_ERROR("%s\n", base_error_text());
    return 0;
}

/* 0, with a text, where the request cannot be met. */
size_t ggml_quantize_chunk(enum ggml_type type, const float * src, void * dst, int64_t start, int64_t nrows,
                           int64_t n_per_row, const float * imatrix) {
    const struct type_row * row = type_row_get(type);
    size_t                  row_bytes, offset, all;
    int64_t                 n_values;
    if (row == NULL || (row->quantize == NULL && row->encode == NULL)) {
        return refuse_chunk(type, "has no encoder");
    }
    if (row->needs_imatrix && imatrix == NULL) {
        return refuse_chunk(type, "needs an importance matrix");
    }
    if (nrows < 0 || !type_row_bytes(type, n_per_row, &row_bytes) || !base_int64_mul(nrows, n_per_row, &n_values) ||
        !base_size_mul((size_t) nrows, row_bytes, &all)) {
        return refuse_chunk(type, "the row length is no multiple of the block, or the size too large");
    }
    if (n_values == 0) {
        return 0;
    }
    if (start < 0 || start % n_per_row != 0 || !base_size_mul((size_t) (start / n_per_row), row_bytes, &offset)) {
        return refuse_chunk(type, "the start is not the start of a row");
    }
    void * to = (char *) dst + offset;
    if (row->quantize != NULL) {
        return row->quantize(src + start, to, nrows, n_per_row, imatrix);
    }
    for (int64_t i = 0; i < nrows; i++) {
        row->encode(src + start + i * n_per_row, (char *) to + (size_t) i * row_bytes, n_per_row);
    }
    return all;
}

bool ggml_validate_row_data(enum ggml_type type, const void * data, size_t nbytes) {
    const struct type_row * row = type_row_get(type);
    if (row == NULL) {
        GGML_LOG_ERROR("%s: type %d is not known\n", __func__, (int) type);
        return false;
    }
    if (nbytes % row->traits.type_size != 0) {
        GGML_LOG_ERROR("%s: %zu bytes are no whole number of %s blocks of %zu bytes\n", __func__, nbytes,
                       row->traits.type_name, row->traits.type_size);
        return false;
    }
    return row->validate == NULL || row->validate(data, nbytes);
}
