/* SPDX-License-Identifier: MIT
 *
 * gguf.h: the GGUF file format, versions 2 and 3: keys with values, descriptions of tensors, and their data.
 *
 * A file, numbers in the byte order of the machine that wrote it (nearly always little-endian), strings as a 64-bit
 * length and their bytes:
 *
 *   "GGUF", u32 version, u64 number of tensors, u64 number of keys
 *   each key       its name, u32 type, the value; an array: u32 type and u64 number of its elements, the elements
 *   each tensor    its name, u32 dimensions, u64 extents (fastest first), u32 ggml_type, u64 offset in the data section
 *   padding to the alignment (key general.alignment, 32 without it)
 *   data section   the tensors in their order, each padded to the alignment
 *
 * A gguf_context holds keys and descriptions, never the data. It is read from a file, or made empty and filled to be
 * written. Keys and tensors are numbered from 0 in their order; numbers change when keys are removed or set anew
 * (which moves them to the end).
 *
 * Ownership. The context is the caller's: gguf_free. Names and values that getters return belong to the context and
 * are valid until it is changed. Strings that are set are copied.
 *
 * Errors. Reading and writing report: NULL or false, with a text in the log and in ggml_ext_last_error that has the
 * place in the file. Files may be hostile: every length is compared with the bytes that are there before memory is
 * taken for it. Asking for a value by the wrong type or number, and setting what no file can have (an empty key, a
 * duplicate tensor), are faults of the program and abort. When memory runs out while a context is filled, writing it
 * later fails.
 *
 * Threads. Contexts that nobody changes may be read on several threads.
 */
#ifndef GGUF_H
#define GGUF_H

#include "ggml.h"

#define GGUF_MAGIC   "GGUF" /* the first four bytes */
#define GGUF_VERSION 3      /* what is written */

/* A u32, a power of two up to 2^30: every tensor's data begins at a multiple of it. */
#define GGUF_KEY_GENERAL_ALIGNMENT "general.alignment"
#define GGUF_DEFAULT_ALIGNMENT     32

#ifdef __cplusplus
extern "C" {
#endif

struct gguf_context;

/* Types of values, as they are numbered in files. */
enum gguf_type {
    GGUF_TYPE_UINT8   = 0, /* uint8_t */
    GGUF_TYPE_INT8    = 1, /* int8_t */
    GGUF_TYPE_UINT16  = 2, /* uint16_t */
    GGUF_TYPE_INT16   = 3, /* int16_t */
    GGUF_TYPE_UINT32  = 4, /* uint32_t */
    GGUF_TYPE_INT32   = 5, /* int32_t */
    GGUF_TYPE_FLOAT32 = 6, /* IEEE binary32 */
    GGUF_TYPE_BOOL    = 7, /* one byte; any value but 0 is read as true */
    GGUF_TYPE_STRING  = 8, /* bytes, by convention UTF-8; zero bytes may be among them */
    GGUF_TYPE_ARRAY   = 9, /* of one of the other types */
    GGUF_TYPE_UINT64  = 10, /* uint64_t */
    GGUF_TYPE_INT64   = 11, /* int64_t */
    GGUF_TYPE_FLOAT64 = 12, /* IEEE binary64 */
    GGUF_TYPE_COUNT   = 13, /* no type: end of the list */
};

/* "u8", "str", "arr", ...; NULL for a number that is no type. */
GGML_API const char * gguf_type_name(enum gguf_type type);

/* ---------------------------------------------------------------- reading */

struct gguf_init_params {
    bool no_alloc; /* ctx gets descriptors without data: to map the file, or to read the data piece by piece */

    struct ggml_context ** ctx; /* NULL, or where to put a new context with the tensors, which the caller frees. With
                                   no_alloc = false it has the data section too, as a tensor named "GGUF tensor data
                                   binary blob" that they point into */
};

/* From a file by name; from an open file, from its present place to its end; from memory. The file stays open. NULL
 * on failure; *ctx is then NULL too. */
GGML_API struct gguf_context * gguf_init_from_file(const char * fname, struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_file_ptr(FILE * file, struct gguf_init_params params);
GGML_API struct gguf_context * gguf_init_from_buffer(const void * data, size_t size, struct gguf_init_params params);

/* Copies len bytes from an offset on to output and returns how many it has copied: fewer only at the end. */
typedef size_t (*gguf_reader_callback_t)(void * userdata, void * output, uint64_t offset, size_t len);

/* From anything that can be read by offset. max_chunk_read: greatest len that the callback is asked for, 0 for no
 * limit; max_expected_size: bytes that there can be at most. */
GGML_API struct gguf_context * gguf_init_from_callback(gguf_reader_callback_t callback, void * userdata,
                                                       size_t max_chunk_read, uint64_t max_expected_size,
                                                       struct gguf_init_params params);

/* Without keys and tensors, to be filled. NULL without memory. */
GGML_API struct gguf_context * gguf_init_empty(void);

/* NULL is fine. */
GGML_API void gguf_free(struct gguf_context * ctx);

/* Version of the file; its alignment; where the data section begins, in bytes from the start of the file. */
GGML_API uint32_t gguf_get_version(const struct gguf_context * ctx);
GGML_API size_t gguf_get_alignment(const struct gguf_context * ctx);
GGML_API size_t gguf_get_data_offset(const struct gguf_context * ctx);

/* ---------------------------------------------------------------- keys */

/* How many; the number of a key by name, -1 when there is none; the name by number. */
GGML_API int64_t gguf_get_n_kv(const struct gguf_context * ctx);
GGML_API int64_t gguf_find_key(const struct gguf_context * ctx, const char * key);
GGML_API const char * gguf_get_key(const struct gguf_context * ctx, int64_t key_id);

/* The type of a value; for arrays GGUF_TYPE_ARRAY, and the second function has the type of the elements. */
GGML_API enum gguf_type gguf_get_kv_type(const struct gguf_context * ctx, int64_t key_id);
GGML_API enum gguf_type gguf_get_arr_type(const struct gguf_context * ctx, int64_t key_id);

/* A value of exactly this type. An array of one element counts as its element. */
GGML_API uint8_t gguf_get_val_u8(const struct gguf_context * ctx, int64_t key_id);
GGML_API int8_t gguf_get_val_i8(const struct gguf_context * ctx, int64_t key_id);
GGML_API uint16_t gguf_get_val_u16(const struct gguf_context * ctx, int64_t key_id);
GGML_API int16_t gguf_get_val_i16(const struct gguf_context * ctx, int64_t key_id);
GGML_API uint32_t gguf_get_val_u32(const struct gguf_context * ctx, int64_t key_id);
GGML_API int32_t gguf_get_val_i32(const struct gguf_context * ctx, int64_t key_id);
GGML_API float gguf_get_val_f32(const struct gguf_context * ctx, int64_t key_id);
GGML_API uint64_t gguf_get_val_u64(const struct gguf_context * ctx, int64_t key_id);
GGML_API int64_t gguf_get_val_i64(const struct gguf_context * ctx, int64_t key_id);
GGML_API double gguf_get_val_f64(const struct gguf_context * ctx, int64_t key_id);
GGML_API bool gguf_get_val_bool(const struct gguf_context * ctx, int64_t key_id);
GGML_API const char * gguf_get_val_str(const struct gguf_context * ctx, int64_t key_id);

/* The address of a value that is no string. */
GGML_API const void * gguf_get_val_data(const struct gguf_context * ctx, int64_t key_id);

/* Elements of an array: their number; the first one's address (no strings); string i. */
GGML_API size_t gguf_get_arr_n(const struct gguf_context * ctx, int64_t key_id);
GGML_API const void * gguf_get_arr_data(const struct gguf_context * ctx, int64_t key_id);
GGML_API const char * gguf_get_arr_str(const struct gguf_context * ctx, int64_t key_id, size_t i);

/* ---------------------------------------------------------------- descriptions of tensors */

/* As for keys. */
GGML_API int64_t gguf_get_n_tensors(const struct gguf_context * ctx);
GGML_API int64_t gguf_find_tensor(const struct gguf_context * ctx, const char * name);

/* Name; four extents, 1 beyond the dimensions of the file; type; bytes of data; where they begin in the data section.
 */
GGML_API const char * gguf_get_tensor_name(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API const int64_t * gguf_get_tensor_ne(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API enum ggml_type gguf_get_tensor_type(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API size_t gguf_get_tensor_size(const struct gguf_context * ctx, int64_t tensor_id);
GGML_API size_t gguf_get_tensor_offset(const struct gguf_context * ctx, int64_t tensor_id);

/* ---------------------------------------------------------------- filling */

/* Sets a key, in place of one of that name. */
GGML_API void gguf_set_val_u8(struct gguf_context * ctx, const char * key, uint8_t val);
GGML_API void gguf_set_val_i8(struct gguf_context * ctx, const char * key, int8_t val);
GGML_API void gguf_set_val_u16(struct gguf_context * ctx, const char * key, uint16_t val);
GGML_API void gguf_set_val_i16(struct gguf_context * ctx, const char * key, int16_t val);
GGML_API void gguf_set_val_u32(struct gguf_context * ctx, const char * key, uint32_t val);
GGML_API void gguf_set_val_i32(struct gguf_context * ctx, const char * key, int32_t val);
GGML_API void gguf_set_val_f32(struct gguf_context * ctx, const char * key, float val);
GGML_API void gguf_set_val_u64(struct gguf_context * ctx, const char * key, uint64_t val);
GGML_API void gguf_set_val_i64(struct gguf_context * ctx, const char * key, int64_t val);
GGML_API void gguf_set_val_f64(struct gguf_context * ctx, const char * key, double val);
GGML_API void gguf_set_val_bool(struct gguf_context * ctx, const char * key, bool val);
GGML_API void gguf_set_val_str(struct gguf_context * ctx, const char * key, const char * val);

/* An array of n values that lie side by side, of any type but strings and arrays; an array of n strings. */
GGML_API void gguf_set_arr_data(struct gguf_context * ctx, const char * key, enum gguf_type type, const void * data,
                                size_t n);
GGML_API void gguf_set_arr_str(struct gguf_context * ctx, const char * key, const char ** data, size_t n);

/* All keys of another context. */
GGML_API void gguf_set_kv(struct gguf_context * ctx, const struct gguf_context * src);

/* Takes a key out. The number that it had, or -1 when there is none of that name. */
GGML_API int64_t gguf_remove_key(struct gguf_context * ctx, const char * key);

/* Appends a tensor: name, type, shape and the address of the data, in host memory or in a backend's buffer. Tensor
 * and data stay valid until the context is written. The name is new, the tensor contiguous by then. */
GGML_API void gguf_add_tensor(struct gguf_context * ctx, const struct ggml_tensor * tensor);

/* Another type for a tensor by name; places of the ones behind it move. The data is then given in that type, as a
 * pointer to host memory that stays valid until the context is written. */
GGML_API void gguf_set_tensor_type(struct gguf_context * ctx, const char * name, enum ggml_type type);
GGML_API void gguf_set_tensor_data(struct gguf_context * ctx, const char * name, const void * data);

/* ---------------------------------------------------------------- writing
 *
 * only_meta: all that lies before the data section, padded; the data may be appended by the program. */

/* To a file by name, or an open one at its present place, which stays open. False on failure; what was written until
 * then is left. */
GGML_API bool gguf_write_to_file(const struct gguf_context * ctx, const char * fname, bool only_meta);
GGML_API bool gguf_write_to_file_ptr(const struct gguf_context * ctx, FILE * file, bool only_meta);

/* The same for the part before the data, in memory: bytes (0 on failure), and the bytes themselves to data. */
GGML_API size_t gguf_get_meta_size(const struct gguf_context * ctx);
GGML_API void gguf_get_meta_data(const struct gguf_context * ctx, void * data);

#ifdef __cplusplus
}
#endif

#endif /* GGUF_H */
