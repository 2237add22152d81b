/* SPDX-License-Identifier: MIT
 *
 * Reads the descriptive part of a file: header, keys, tensor descriptions. Nothing is allocated or repeated for a
 * declared length or count before it is compared with the bytes left; where these are only bounded (a callback), memory
 * grows with the bytes that really come. A file can fail in any way: the result is NULL and a text with the place.
 *
 * Layout (version 2 and 3; all numbers in the byte order of the file, strings as a 64-bit length and that many bytes):
 * "GGUF", u32 version, u64 tensors, u64 keys; for each key its name, u32 type, for arrays u32 type and u64 count of the
 * elements, the values; for each tensor its name, u32 dimensions, a u64 extent for each, u32 type, u64 offset in the
 * data section; padding to the alignment, which is a key; the data section.
 */
#include "gguf/context.h"
#include "gguf/load.h"
#include "gguf/source.h"

#include "base/check.h"
#include "ggml-impl.h"
#include "type/type.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least bytes that an entry takes in a file: a key of one letter with a value of one byte; a tensor with an empty
 * name and no dimension. */
#define MIN_KV_BYTES (8 + 1 + 4 + 1)
#define MIN_TENSOR_BYTES (8 + 4 + 4 + 8)

/* Blocks of a source with an unknown end grow from this size. */
#define FIRST_BLOCK ((size_t) 4096)

struct reader {
    struct gguf_source    source;
    struct gguf_context * ctx;
    struct ggml_context * data;
    struct gguf_kv        kv;     /* being read */
    struct gguf_tensor    tensor; /* being read */
    void *                name;   /* being read */
    uint64_t              n_kv, n_tensors;
    char                  where[GGUF_PRINTABLE_MAX + 48]; /* "key 3 'general.name': ", for texts */
};

/* Also run when a callback's exception passes through. */
static void release(struct reader * reader) {
    gguf_kv_release(&reader->kv);
    gguf_tensor_release(&reader->tensor);
    free(reader->name);
    gguf_free(reader->ctx);
    ggml_free(reader->data);
}

static bool refuse(struct reader * reader, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
static bool refuse(struct reader * reader, const char * fmt, ...) {
    char    text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return gguf_fail(GGML_STATUS_FAILED, "gguf: byte %llu: %s%s",
                     (unsigned long long) (reader->source.position - reader->source.start), reader->where, text);
}

static bool no_memory(struct reader * reader, size_t bytes) {
    return gguf_fail(GGML_STATUS_ALLOC_FAILED, "gguf: %sno memory for %zu bytes", reader->where, bytes);
}

static void set_where(struct reader * reader, const char * kind, uint64_t i, const char * name, size_t n) {
    char printable[GGUF_PRINTABLE_MAX];
    if (name == NULL) {
        snprintf(reader->where, sizeof(reader->where), "%s %llu: ", kind, (unsigned long long) i);
    } else {
        snprintf(reader->where, sizeof(reader->where), "%s %llu '%s': ", kind, (unsigned long long) i,
                 gguf_printable(printable, name, n));
    }
}

/* ---- pieces ---- */

static bool too_short(struct reader * reader, uint64_t need, uint64_t left, const char * what) {
    return refuse(reader, "the file ends inside %s: %llu bytes are needed, %llu are left", what,
                  (unsigned long long) need, (unsigned long long) left);
}

static bool take(struct reader * reader, void * data, size_t n, const char * what) {
    const uint64_t left = reader->source.left;
    return gguf_source_read(&reader->source, data, n) || too_short(reader, n, left, what);
}

static bool take_u32(struct reader * reader, uint32_t * value, const char * what) {
    if (!take(reader, value, sizeof(*value), what)) {
        return false;
    }
    *value = reader->source.swapped ? __builtin_bswap32(*value) : *value;
    return true;
}

static bool take_u64(struct reader * reader, uint64_t * value, const char * what) {
    if (!take(reader, value, sizeof(*value), what)) {
        return false;
    }
    *value = reader->source.swapped ? __builtin_bswap64(*value) : *value;
    return true;
}

/* Reads n bytes behind the `used` ones of *block, and leaves room for `spare` more. *block belongs to the reader's
 * entry all the time. */
static bool take_block(struct reader * reader, void ** block, size_t * capacity, size_t used, uint64_t n, size_t spare,
                       const char * what) {
    const uint64_t left = reader->source.left;
    if (n > left) {
        return too_short(reader, n, left, what);
    }
    size_t end;
    if (n > SIZE_MAX || !base_size_add(used, (size_t) n, &end) || !base_size_add(end, spare, &end)) {
        return no_memory(reader, SIZE_MAX);
    }
    end -= spare;
    while (true) {
        const size_t step  = reader->source.exact || end - used <= FIRST_BLOCK + used ? end - used : FIRST_BLOCK + used;
        void *       grown = gguf_grow(*block, capacity, used + step + spare, 1);
        if (grown == NULL) {
            return no_memory(reader, used + step + spare);
        }
        *block = grown;
        if (step > 0 && !take(reader, (char *) grown + used, step, what)) {
            return false;
        }
        used += step;
        if (used == end) {
            return true;
        }
    }
}

/* A string, with a final 0, that must not contain one: names are C strings in the interface. */
static bool take_name(struct reader * reader, char ** name, size_t * n, size_t longest, const char * what) {
    uint64_t length;
    if (!take_u64(reader, &length, what)) {
        return false;
    }
    if (length > longest) {
        return refuse(reader, "%s is too long: %llu bytes, at most %zu are allowed", what, (unsigned long long) length,
                      longest);
    }
    size_t     capacity = 0;
    const bool taken    = take_block(reader, &reader->name, &capacity, 0, length, 1, what);
    *name               = reader->name;
    reader->name        = NULL;
    if (!taken) {
        return false;
    }
    *n          = (size_t) length;
    (*name)[*n] = 0;
    return memchr(*name, 0, *n) == NULL || refuse(reader, "%s contains a zero byte", what);
}

/* ---- header ---- */

static bool read_magic(struct reader * reader) {
    char magic[4];
    char printable[GGUF_PRINTABLE_MAX];
    if (!take(reader, magic, sizeof(magic), "the magic")) {
        return false;
    }
    return memcmp(magic, GGUF_MAGIC, sizeof(magic)) == 0 ||
           refuse(reader, "the magic is '%s', expected '%s'", gguf_printable(printable, magic, sizeof(magic)),
                  GGUF_MAGIC);
}

static bool read_version(struct reader * reader) {
    uint32_t version;
    if (!take_u32(reader, &version, "the version")) {
        return false;
    }
    if (version != 0 && (version & 0xFFFF) == 0) { /* small numbers have their low half at the other end */
        reader->source.swapped = true;
        version                = __builtin_bswap32(version);
    }
    if (version < 2 || version > GGUF_VERSION) {
        return refuse(reader, "version %u is not supported, only 2 and %d are", (unsigned) version, GGUF_VERSION);
    }
    reader->ctx->version = version;
    return true;
}

static bool read_header(struct reader * reader) {
    if (!read_magic(reader) || !read_version(reader) ||
        !take_u64(reader, &reader->n_tensors, "the number of tensors") ||
        !take_u64(reader, &reader->n_kv, "the number of keys")) {
        return false;
    }
    const uint64_t left = reader->source.left;
    if (reader->n_kv > left / MIN_KV_BYTES ||
        reader->n_tensors > (left - reader->n_kv * MIN_KV_BYTES) / MIN_TENSOR_BYTES || reader->n_kv > SIZE_MAX / 2 ||
        reader->n_tensors > SIZE_MAX / 2) {
        return refuse(reader, "the header declares %llu tensors and %llu keys, more than the %llu bytes left can hold",
                      (unsigned long long) reader->n_tensors, (unsigned long long) reader->n_kv,
                      (unsigned long long) left);
    }
    return true;
}

/* ---- keys ---- */

static bool read_numbers(struct reader * reader, uint64_t n) {
    struct gguf_kv * kv       = &reader->kv;
    const size_t     size     = gguf_value_size(kv->type);
    size_t           capacity = 0;
    if (n > reader->source.left / size) {
        return refuse(reader, "%llu elements of type %s are declared, but %llu bytes are left", (unsigned long long) n,
                      gguf_type_name(kv->type), (unsigned long long) reader->source.left);
    }
    if (!take_block(reader, &kv->data, &capacity, 0, n * size, 0, "the value")) {
        return false;
    }
    kv->n     = (size_t) n;
    kv->bytes = kv->n * size;
    if (kv->type == GGUF_TYPE_BOOL) { /* any value but 0 is true; programs read these bytes as bool */
        for (size_t i = 0; i < kv->n; i++) {
            ((uint8_t *) kv->data)[i] = ((uint8_t *) kv->data)[i] != 0;
        }
    }
    if (reader->source.swapped) {
        gguf_swap_elements(kv->data, kv->n, size);
    }
    return true;
}

static bool read_strings(struct reader * reader, uint64_t n) {
    struct gguf_kv * kv       = &reader->kv;
    size_t           capacity = 0, places = 0;
    if (n > reader->source.left / 8) { /* each has its length */
        return refuse(reader, "%llu strings are declared, but %llu bytes are left", (unsigned long long) n,
                      (unsigned long long) reader->source.left);
    }
    for (uint64_t i = 0; i <= n; i++) {
        if (i >= places) {
            const size_t need = reader->source.exact || n < FIRST_BLOCK + i ? (size_t) n + 1 : (size_t) i + FIRST_BLOCK;
            size_t *     grown = gguf_grow(kv->starts, &places, need, sizeof(*grown));
            if (grown == NULL) {
                return no_memory(reader, need * sizeof(*grown));
            }
            kv->starts = grown;
        }
        kv->starts[i] = kv->bytes;
        uint64_t length;
        if (i == n) {
            break;
        }
        if (!take_u64(reader, &length, "the length of a string") ||
            !take_block(reader, &kv->data, &capacity, kv->bytes, length, 1, "a string")) {
            return false;
        }
        kv->bytes += (size_t) length;
        ((char *) kv->data)[kv->bytes++] = 0;
    }
    kv->n = (size_t) n;
    return true;
}

/* Room that the strings did not need goes back. */
static void shrink(struct gguf_kv * kv) {
    void * data = realloc(kv->data, kv->bytes > 0 ? kv->bytes : 1);
    if (data != NULL) {
        kv->data = data;
    }
}

static bool read_value(struct reader * reader) {
    struct gguf_kv * kv = &reader->kv;
    uint64_t         n  = 1;
    uint32_t         type;
    if (!take_u32(reader, &type, "the type")) {
        return false;
    }
    kv->is_array = type == GGUF_TYPE_ARRAY;
    if (kv->is_array &&
        (!take_u32(reader, &type, "the type of the elements") || !take_u64(reader, &n, "the number of elements"))) {
        return false;
    }
    if (type >= GGUF_TYPE_COUNT) {
        return refuse(reader, "%s %u is unknown", kv->is_array ? "the type of the elements" : "the type",
                      (unsigned) type);
    }
    if (type == GGUF_TYPE_ARRAY) {
        return refuse(reader, "arrays of arrays are not supported");
    }
    kv->type = (enum gguf_type) type;
    if (kv->type != GGUF_TYPE_STRING) {
        return read_numbers(reader, n);
    }
    if (!read_strings(reader, n)) {
        return false;
    }
    shrink(kv);
    return true;
}

/* Capacity for the next entry of a list: all at once where the count can be trusted not to exceed the file. */
static size_t wanted(const struct reader * reader, size_t have, uint64_t n) {
    return reader->source.exact || n < have + 64 ? (size_t) n : have + 64;
}

static bool read_kv(struct reader * reader, uint64_t i) {
    struct gguf_context * ctx = reader->ctx;
    size_t                n   = 0;
    set_where(reader, "key", i, NULL, 0);
    if (!take_name(reader, &reader->kv.key, &n, SIZE_MAX / 2, "the key's name")) {
        return false;
    }
    if (n == 0) {
        return refuse(reader, "the key's name is empty");
    }
    set_where(reader, "key", i, reader->kv.key, n);
    if (!read_value(reader)) {
        return false;
    }
    if (ctx->n_kv >= ctx->kv_capacity) {
        const size_t     need  = wanted(reader, ctx->n_kv, reader->n_kv);
        struct gguf_kv * items = gguf_grow(ctx->kv, &ctx->kv_capacity, need, sizeof(*items));
        if (items == NULL) {
            return no_memory(reader, need * sizeof(*items));
        }
        ctx->kv = items;
    }
    ctx->kv[ctx->n_kv++] = reader->kv;
    memset(&reader->kv, 0, sizeof(reader->kv));
    return true;
}

static bool index_keys(struct reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    ctx->keys.entries         = gguf_grow(NULL, &ctx->keys.capacity, ctx->n_kv, sizeof(*ctx->keys.entries));
    if (ctx->keys.entries == NULL) {
        return no_memory(reader, ctx->n_kv * sizeof(*ctx->keys.entries));
    }
    for (size_t i = 0; i < ctx->n_kv; i++) {
        ctx->keys.entries[i] = (struct gguf_name){ctx->kv[i].key, i};
    }
    ctx->keys.n        = ctx->n_kv;
    const size_t twice = gguf_names_sort(&ctx->keys);
    if (twice != GGUF_NO_ID) {
        set_where(reader, "key", twice, ctx->kv[twice].key, strlen(ctx->kv[twice].key));
        return refuse(reader, "duplicate key");
    }
    return true;
}

static bool apply_alignment(struct reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    const int64_t         id  = gguf_find_key(ctx, GGUF_KEY_GENERAL_ALIGNMENT);
    if (id < 0) {
        return true;
    }
    const struct gguf_kv * kv = &ctx->kv[id];
    set_where(reader, "key", (uint64_t) id, kv->key, strlen(kv->key));
    if (kv->type != GGUF_TYPE_UINT32 || kv->is_array) {
        return refuse(reader, "the alignment must be of type u32, but it is %s%s", kv->is_array ? "an array of " : "",
                      gguf_type_name(kv->type));
    }
    const uint32_t alignment = gguf_get_val_u32(ctx, id);
    if (!gguf_alignment_fits(alignment)) {
        return refuse(reader, "the alignment must be a power of two up to 2^30, but it is %u", (unsigned) alignment);
    }
    ctx->alignment = alignment;
    return true;
}

static bool read_keys(struct reader * reader) {
    for (uint64_t i = 0; i < reader->n_kv; i++) {
        if (!read_kv(reader, i)) {
            return false;
        }
    }
    return index_keys(reader) && apply_alignment(reader);
}

/* ---- tensors ---- */

static bool read_shape(struct reader * reader) {
    struct gguf_tensor * tensor = &reader->tensor;
    if (!take_u32(reader, &tensor->n_dims, "the number of dimensions")) {
        return false;
    }
    if (tensor->n_dims > GGML_MAX_DIMS) {
        return refuse(reader, "%u dimensions, at most %d are supported", (unsigned) tensor->n_dims, GGML_MAX_DIMS);
    }
    for (uint32_t i = 0; i < GGML_MAX_DIMS; i++) {
        uint64_t extent = 1;
        if (i < tensor->n_dims && !take_u64(reader, &extent, "an extent")) {
            return false;
        }
        if (extent > INT64_MAX) {
            return refuse(reader, "extent %u is negative: %lld", (unsigned) i, (long long) extent);
        }
        tensor->ne[i] = (int64_t) extent;
    }
    return true;
}

static bool read_type(struct reader * reader) {
    struct gguf_tensor * tensor = &reader->tensor;
    uint32_t             type;
    if (!take_u32(reader, &type, "the type")) {
        return false;
    }
    const struct type_row * row = gguf_file_type_row(reader->ctx, type);
    if (row == NULL) {
        const char * name = gguf_file_type_name(reader->ctx, type);
        char         printable[GGUF_PRINTABLE_MAX];
        return name == NULL ? refuse(reader, "type %u is unknown or was removed from the format", (unsigned) type)
                            : refuse(reader, "no type of the name '%s' is registered in this program",
                                     gguf_printable(printable, name, strlen(name)));
    }
    tensor->type = row->id;
    if (tensor->ne[0] % row->traits.blck_size != 0) {
        return refuse(reader, "rows of %lld elements are no multiple of the block of type %s, which is %lld",
                      (long long) tensor->ne[0], row->traits.type_name, (long long) row->traits.blck_size);
    }
    return gguf_tensor_bytes(tensor->type, tensor->ne, &tensor->size) ||
           refuse(reader, "the size of %lld x %lld x %lld x %lld elements of type %s overflows",
                  (long long) tensor->ne[0], (long long) tensor->ne[1], (long long) tensor->ne[2],
                  (long long) tensor->ne[3], row->traits.type_name);
}

/* Tensors lie one behind the other, each padded to the alignment: the format leaves no choice of the offset. */
static bool read_offset(struct reader * reader) {
    struct gguf_context * ctx    = reader->ctx;
    struct gguf_tensor *  tensor = &reader->tensor;
    uint64_t              offset;
    if (!take_u64(reader, &offset, "the offset")) {
        return false;
    }
    if (offset != ctx->data_size) {
        return refuse(reader, "offset %llu, expected %zu", (unsigned long long) offset, ctx->data_size);
    }
    tensor->offset = ctx->data_size;
    return gguf_next_offset(ctx, tensor, tensor->offset, &ctx->data_size) ||
           refuse(reader, "the data section overflows: %zu bytes behind offset %zu", tensor->size, tensor->offset);
}

static bool read_tensor(struct reader * reader, uint64_t i) {
    struct gguf_context * ctx = reader->ctx;
    size_t                n   = 0;
    set_where(reader, "tensor", i, NULL, 0);
    if (!take_name(reader, &reader->tensor.name, &n, GGML_MAX_NAME - 1, "the tensor's name")) {
        return false;
    }
    set_where(reader, "tensor", i, reader->tensor.name, n);
    if (!read_shape(reader) || !read_type(reader) || !read_offset(reader)) {
        return false;
    }
    if (ctx->n_tensors >= ctx->tensor_capacity) {
        const size_t         need  = wanted(reader, ctx->n_tensors, reader->n_tensors);
        struct gguf_tensor * items = gguf_grow(ctx->tensors, &ctx->tensor_capacity, need, sizeof(*items));
        if (items == NULL) {
            return no_memory(reader, need * sizeof(*items));
        }
        ctx->tensors = items;
    }
    ctx->tensors[ctx->n_tensors++] = reader->tensor;
    memset(&reader->tensor, 0, sizeof(reader->tensor));
    return true;
}

static bool index_tensors(struct reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    ctx->names.entries        = gguf_grow(NULL, &ctx->names.capacity, ctx->n_tensors, sizeof(*ctx->names.entries));
    if (ctx->names.entries == NULL) {
        return no_memory(reader, ctx->n_tensors * sizeof(*ctx->names.entries));
    }
    for (size_t i = 0; i < ctx->n_tensors; i++) {
        ctx->names.entries[i] = (struct gguf_name){ctx->tensors[i].name, i};
    }
    ctx->names.n       = ctx->n_tensors;
    const size_t twice = gguf_names_sort(&ctx->names);
    if (twice != GGUF_NO_ID) {
        set_where(reader, "tensor", twice, ctx->tensors[twice].name, strlen(ctx->tensors[twice].name));
        return refuse(reader, "duplicate tensor name");
    }
    return true;
}

static bool read_tensors(struct reader * reader) {
    struct gguf_context * ctx = reader->ctx;
    for (uint64_t i = 0; i < reader->n_tensors; i++) {
        if (!read_tensor(reader, i)) {
            return false;
        }
    }
    if (!index_tensors(reader)) {
        return false;
    }
    gguf_remove_key(ctx, GGUF_KEY_TYPE_NAMES); /* has done its work */
    reader->where[0]       = 0;
    const uint64_t used    = reader->source.position - reader->source.start;
    const uint64_t padding = -used & (ctx->alignment - 1);
    const uint64_t left    = reader->source.left;
    const uint64_t begin   = reader->source.position + (ctx->n_tensors > 0 ? padding : 0);
    if (begin > SIZE_MAX) {
        return refuse(reader, "the data section lies beyond what this machine can address");
    }
    ctx->data_offset = (size_t) begin;
    /* Without any data (tensors with an extent of 0) the padding may be missing. */
    return ctx->data_size == 0 || gguf_source_skip(&reader->source, padding) ||
           too_short(reader, padding, left, "the padding before the tensor data");
}

/* ---- entries ---- */

static struct gguf_context * read_context(const struct gguf_source * source, struct gguf_init_params params) {
    __attribute__((cleanup(release))) struct reader reader = {.source = *source};
    if (params.ctx != NULL) {
        *params.ctx = NULL;
    }
    reader.ctx = gguf_init_empty();
    if (reader.ctx == NULL || !read_header(&reader) || !read_keys(&reader) || !read_tensors(&reader)) {
        return NULL;
    }
    if (params.ctx != NULL) {
        if (!gguf_load_tensors(reader.ctx, &reader.source, params.no_alloc, &reader.data)) {
            return NULL;
        }
        *params.ctx = reader.data;
        reader.data = NULL;
    }
    struct gguf_context * ctx = reader.ctx;
    reader.ctx                = NULL;
    return ctx;
}

static void close_file(FILE ** file) {
    if (*file != NULL) {
        fclose(*file);
    }
}

struct gguf_context * gguf_init_from_file(const char * fname, struct gguf_init_params params) {
    __attribute__((cleanup(close_file))) FILE * file = fname == NULL ? NULL : ggml_fopen(fname, "rb");
    if (file == NULL) {
        gguf_fail(GGML_STATUS_FAILED, "gguf: opening '%s': %s", fname == NULL ? "" : fname,
                  strerror(fname == NULL ? EINVAL : errno));
        return NULL;
    }
    return gguf_init_from_file_ptr(file, params);
}

struct gguf_context * gguf_init_from_file_ptr(FILE * file, struct gguf_init_params params) {
    struct gguf_file_state state;
    struct gguf_source     source;
    if (file == NULL) {
        gguf_fail(GGML_STATUS_FAILED, "gguf: reading: the file is NULL");
        return NULL;
    }
    return gguf_source_file(&source, &state, file) ? read_context(&source, params) : NULL;
}

struct gguf_context * gguf_init_from_buffer(const void * data, size_t size, struct gguf_init_params params) {
    if (data == NULL || size == 0) {
        gguf_fail(GGML_STATUS_FAILED, "gguf: reading: the buffer is empty");
        return NULL;
    }
    struct gguf_buffer_state state  = {data, size};
    const struct gguf_source source = gguf_source_buffer(&state);
    return read_context(&source, params);
}

struct gguf_context * gguf_init_from_callback(gguf_reader_callback_t callback, void * userdata, size_t max_chunk_read,
                                              uint64_t max_expected_size, struct gguf_init_params params) {
    if (callback == NULL) {
        gguf_fail(GGML_STATUS_FAILED, "gguf: reading: the callback is NULL");
        return NULL;
    }
    const struct gguf_source source = gguf_source_callback(callback, userdata, max_chunk_read, max_expected_size);
    return read_context(&source, params);
}
