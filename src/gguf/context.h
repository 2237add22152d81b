/* SPDX-License-Identifier: MIT
 *
 * What a gguf_context holds: keys with their values, tensor descriptions, and a sorted index of the names of each. All
 * files of this folder share it; programs see the functions of gguf.h only.
 */
#ifndef GRAFT_GGUF_CONTEXT_H
#define GRAFT_GGUF_CONTEXT_H

#include "gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A key with its value. A single value is stored as an array of one, so that there is one kind of storage. */
struct gguf_kv {
    char *         key;  /* with a final 0 and none before it */
    enum gguf_type type; /* of the elements; never GGUF_TYPE_ARRAY */
    bool           is_array;
    size_t         n;      /* elements */
    size_t         bytes;  /* of data */
    void *         data;   /* elements in native byte order; for strings their bytes, each string followed by a 0 */
    size_t *       starts; /* strings only: n + 1 offsets into data, string i is starts[i] .. starts[i + 1] - 2 */
};

struct gguf_tensor {
    char *               name;
    int64_t              ne[GGML_MAX_DIMS];
    enum ggml_type       type;
    uint32_t             n_dims; /* as in the file, so that it is written back with the same number */
    size_t               offset; /* from the begin of the data section */
    size_t               size;   /* bytes without padding */
    const void *         data;   /* bytes in this process, or NULL */
    struct ggml_tensor * source; /* copy of the tensor that was added, until data is given for it; else NULL */
};

/* Names in ascending order. Sorted, not hashed: a file that was made to collide cannot slow it down. */
struct gguf_name {
    const char * name; /* borrowed */
    size_t       id;
};

struct gguf_names {
    struct gguf_name * entries;
    size_t             n, capacity;
};

struct gguf_context {
    uint32_t             version; /* of the file that was read; files are always written as GGUF_VERSION */
    size_t               alignment;
    size_t               data_offset; /* of the data section in the file that was read */
    size_t               data_size;   /* of the data section, with padding */
    struct gguf_kv *     kv;
    size_t               n_kv, kv_capacity;
    struct gguf_tensor * tensors;
    size_t               n_tensors, tensor_capacity;
    struct gguf_names    keys, names;
    char                 error[256]; /* first change that failed (out of memory): nothing is written from then on */
};

/* ---- failures (context.c) ---- */

/* The text becomes the thread's error and goes to the log. Returns false. */
bool gguf_fail(enum ggml_status status, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

/* For changes that have no result to tell of a failure by: the text is kept, and writing will refuse with it. */
void gguf_fail_change(struct gguf_context * ctx, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);

/* A name from a file for an error text: cut, unprintable bytes replaced. Returns out. */
#define GGUF_PRINTABLE_MAX 68
const char * gguf_printable(char out[GGUF_PRINTABLE_MAX], const char * text, size_t n);

/* Room for `need` items, growing by doubling; NULL when there is no memory, and items stays as it was. */
void * gguf_grow(void * items, size_t * capacity, size_t need, size_t item_size);

char * gguf_copy_string(const char * text); /* NULL when there is no memory */

/* ---- names (names.c) ---- */

#define GGUF_NO_ID SIZE_MAX

size_t gguf_names_find(const struct gguf_names * names, const char * name); /* the id, or GGUF_NO_ID */

/* Room for one more name, so that the next add cannot fail. */
bool gguf_names_reserve(struct gguf_names * names);
void gguf_names_add(struct gguf_names * names, const char * name, size_t id);

/* Takes a name out; ids above its id move down by one, as the items do. */
void gguf_names_remove(struct gguf_names * names, const char * name);

/* Sorts entries that were filled in any order; the id of a name that occurs twice (its later place), or GGUF_NO_ID. */
size_t gguf_names_sort(struct gguf_names * names);

/* ---- value types (kv.c) ---- */

size_t gguf_value_size(enum gguf_type type); /* bytes of an element; 0 for strings, arrays and unknown types */
void   gguf_kv_release(struct gguf_kv * kv);

/* ---- tensors (tensors.c) ---- */

/* Bytes of a tensor of this shape, 0 when an extent is 0. False when it, or the bytes of any of its rows and planes, is
 * no size of this machine; programs compute elements times bytes of a block, so that must be one too. */
bool gguf_tensor_bytes(enum ggml_type type, const int64_t ne[GGML_MAX_DIMS], size_t * bytes);
void gguf_tensor_release(struct gguf_tensor * tensor);

/* A power of two, up to 2^30: beyond it a reader with 32-bit arithmetic would compute with 0. */
static inline bool gguf_alignment_fits(uint32_t alignment) {
    return alignment > 0 && alignment <= UINT32_C(1) << 30 && (alignment & (alignment - 1)) == 0;
}

/* Where the tensor behind one at `offset` begins; false when that is no size of this machine. */
bool gguf_next_offset(const struct gguf_context * ctx, const struct gguf_tensor * tensor, size_t offset, size_t * next);

/* Lays the tensors from the first-th on out one behind the other with the context's alignment. */
void gguf_place_tensors(struct gguf_context * ctx, size_t first);

/* ---- types that an application registered, in files (file_types.c) ---- */

#define GGUF_KEY_TYPE_NAMES "graft.tensor_types"

/* The row of a type as a file numbers it; NULL when it is unknown here. */
struct type_row;
const struct type_row * gguf_file_type_row(const struct gguf_context * ctx, uint32_t type);
const char * gguf_file_type_name(const struct gguf_context * ctx, uint32_t type); /* listed in the file, or NULL */

/* The registered types among those of the tensors, each once. items is the caller's to free, also after a failure. */
struct gguf_file_types {
    enum ggml_type * items;
    size_t           n, capacity;
};
bool     gguf_file_types_collect(struct gguf_file_types * types, const struct gguf_context * ctx);
uint32_t gguf_file_type(const struct gguf_file_types * types, enum ggml_type type);

/* ---- byte order of tensor data (swap.c) ---- */

/* Can data of this type be turned to the other byte order? *needed: does its order of bytes matter at all? */
bool gguf_can_swap(enum ggml_type type, bool * needed);
void gguf_swap_tensor(enum ggml_type type, void * data, size_t bytes);
void gguf_swap_elements(void * data, size_t n, size_t element_size);

/* ---- writing to memory (writer.c) ---- */

/* Bytes that the file takes; 0 when it cannot be written (text formed). */
size_t gguf_written_size(const struct gguf_context * ctx, bool only_meta);

/* Writes exactly gguf_written_size bytes; false (text formed) when the data of a tensor is not there. */
bool gguf_write_to_memory(const struct gguf_context * ctx, void * data, size_t size, bool only_meta);

#ifdef __cplusplus
}
#endif

#endif /* GRAFT_GGUF_CONTEXT_H */
