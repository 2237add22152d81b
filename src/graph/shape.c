/* SPDX-License-Identifier: MIT
 *
 * Questions about extents and strides. They read metadata only.
 */
#include <string.h>

#include "ggml-impl.h"

/* ---- extents ---- */

int64_t ggml_nelements(const struct ggml_tensor * tensor) {
    return tensor->ne[0] * ggml_nrows(tensor);
}

int64_t ggml_nrows(const struct ggml_tensor * tensor) {
    return tensor->ne[1] * tensor->ne[2] * tensor->ne[3];
}

int ggml_n_dims(const struct ggml_tensor * tensor) {
    int n = GGML_MAX_DIMS;
    while (n > 1 && tensor->ne[n - 1] <= 1) {
        n--;
    }
    return n;
}

/* Are the extents from dimension i on all 1? */
static bool ones_from(const struct ggml_tensor * tensor, int i) {
    while (i < GGML_MAX_DIMS && tensor->ne[i] == 1) {
        i++;
    }
    return i == GGML_MAX_DIMS;
}

bool ggml_is_scalar(const struct ggml_tensor * tensor) {
    return ones_from(tensor, 0);
}

bool ggml_is_vector(const struct ggml_tensor * tensor) {
    return ones_from(tensor, 1);
}

bool ggml_is_matrix(const struct ggml_tensor * tensor) {
    return ones_from(tensor, 2);
}

bool ggml_is_3d(const struct ggml_tensor * tensor) {
    return ones_from(tensor, 3);
}

bool ggml_is_empty(const struct ggml_tensor * tensor) {
    return tensor->ne[0] == 0 || tensor->ne[1] == 0 || tensor->ne[2] == 0 || tensor->ne[3] == 0;
}

bool ggml_is_view(const struct ggml_tensor * tensor) {
    return ggml_impl_is_view(tensor);
}

bool ggml_are_same_shape(const struct ggml_tensor * t0, const struct ggml_tensor * t1) {
    return memcmp(t0->ne, t1->ne, sizeof(t0->ne)) == 0;
}

bool ggml_can_repeat(const struct ggml_tensor * t0, const struct ggml_tensor * t1) {
    if (ggml_is_empty(t0)) {
        return ggml_is_empty(t1);
    }
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (t1->ne[i] % t0->ne[i] != 0) {
            return false;
        }
    }
    return true;
}

void ggml_unravel_index(const struct ggml_tensor * tensor, int64_t i, int64_t * i0, int64_t * i1, int64_t * i2,
                        int64_t * i3) {
    int64_t * const out[GGML_MAX_DIMS] = { i0, i1, i2, i3 };
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        /* the last one takes what is left, also beyond its extent */
        const int64_t index = d < GGML_MAX_DIMS - 1 ? i % tensor->ne[d] : i;
        if (out[d] != NULL) {
            *out[d] = index;
        }
        i = d < GGML_MAX_DIMS - 1 ? i / tensor->ne[d] : 0;
    }
}

/* ---- bytes ---- */

size_t ggml_element_size(const struct ggml_tensor * tensor) {
    return ggml_type_size(tensor->type);
}

size_t ggml_nbytes(const struct ggml_tensor * tensor) {
    const int64_t block = ggml_blck_size(tensor->type);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (tensor->ne[i] <= 0) {
            return 0;
        }
    }
    /* one row, then the distances to the last row */
    size_t bytes = block == 1 ? (size_t) (tensor->ne[0] - 1) * tensor->nb[0] + ggml_type_size(tensor->type)
                              : (size_t) tensor->ne[0] * tensor->nb[0] / (size_t) block;
    for (int i = 1; i < GGML_MAX_DIMS; i++) {
        bytes += (size_t) (tensor->ne[i] - 1) * tensor->nb[i];
    }
    return bytes;
}

size_t ggml_nbytes_pad(const struct ggml_tensor * tensor) {
    return GGML_PAD(ggml_nbytes(tensor), (size_t) GGML_MEM_ALIGN);
}

/* ---- strides ---- */

bool ggml_are_same_stride(const struct ggml_tensor * t0, const struct ggml_tensor * t1) {
    return memcmp(t0->nb, t1->nb, sizeof(t0->nb)) == 0;
}

bool ggml_is_transposed(const struct ggml_tensor * tensor) {
    return tensor->nb[0] > tensor->nb[1];
}

bool ggml_is_permuted(const struct ggml_tensor * tensor) {
    return tensor->nb[0] > tensor->nb[1] || tensor->nb[1] > tensor->nb[2] || tensor->nb[2] > tensor->nb[3];
}

bool ggml_is_contiguous_rows(const struct ggml_tensor * tensor) {
    return tensor->ne[0] == ggml_blck_size(tensor->type) || tensor->nb[0] == ggml_type_size(tensor->type);
}

/* Channels (dimension 2) next to each other, then columns, then rows. */
bool ggml_is_contiguous_channels(const struct ggml_tensor * tensor) {
    return tensor->nb[2] == ggml_type_size(tensor->type) && tensor->nb[2] < tensor->nb[0] &&
           tensor->nb[0] < tensor->nb[1];
}

bool ggml_is_contiguously_allocated(const struct ggml_tensor * tensor) {
    const size_t block = (size_t) ggml_blck_size(tensor->type);
    return ggml_nbytes(tensor) == (size_t) ggml_nelements(tensor) * ggml_type_size(tensor->type) / block;
}

/* Is the tensor contiguous in dimensions 0 and free+1 .. last? The strides of dimensions 1 .. free may be anything:
 * what lies above counts from there. A dimension of extent 1 has a stride that nobody uses, so any will do. */
static bool contiguous_beyond(const struct ggml_tensor * tensor, int free_dims, int last) {
    if (!ggml_is_contiguous_rows(tensor)) {
        return false;
    }
    size_t expected = ggml_type_size(tensor->type) * (size_t) (tensor->ne[0] / ggml_blck_size(tensor->type));
    for (int i = 1; i <= last; i++) {
        if (i <= free_dims) {
            expected = tensor->nb[i];
        } else if (tensor->ne[i] != 1 && tensor->nb[i] != expected) {
            return false;
        }
        expected *= (size_t) tensor->ne[i];
    }
    return true;
}

bool ggml_is_contiguous(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 0, 3);
}

bool ggml_is_contiguous_0(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 0, 3);
}

bool ggml_is_contiguous_1(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 1, 3);
}

bool ggml_is_contiguous_2(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 2, 3);
}

bool ggml_is_contiguous_to_1(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 0, 0);
}

bool ggml_is_contiguous_to_2(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 0, 1);
}

bool ggml_is_contiguous_to_3(const struct ggml_tensor * tensor) {
    return contiguous_beyond(tensor, 0, 2);
}
