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
#include "gguf/reader.h"

#include "gguf/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least bytes that an entry takes in a file: a key of one letter with a value of one byte; a tensor with an empty
 * name and no dimension. */
#define MIN_KV_BYTES (8 + 1 + 4 + 1)
#define MIN_TENSOR_BYTES (8 + 4 + 4 + 8)

/* Also run when a callback's exception passes through. */
static void release(struct gguf_reader * reader) {
    gguf_kv_release(&reader->kv);
    gguf_tensor_release(&reader->tensor);
    free(reader->name);
    gguf_free(reader->ctx);
    ggml_free(reader->data);
}

static bool read_magic(struct gguf_reader * reader) {
    char magic[4];
    char printable[GGUF_PRINTABLE_MAX];
    if (!gguf_take(reader, magic, sizeof(magic), "the magic")) {
        return false;
    }
    return memcmp(magic, GGUF_MAGIC, sizeof(magic)) == 0 ||
           gguf_refuse(reader, "the magic is '%s', expected '%s'", gguf_printable(printable, magic, sizeof(magic)),
                       GGUF_MAGIC);
}

static bool read_version(struct gguf_reader * reader) {
    uint32_t version;
    if (!gguf_take_u32(reader, &version, "the version")) {
        return false;
    }
    if (version != 0 && (version & 0xFFFF) == 0) { /* small numbers have their low half at the other end */
        reader->source.swapped = true;
        version                = __builtin_bswap32(version);
    }
    if (version < 2 || version > GGUF_VERSION) {
        return gguf_refuse(reader, "version %u is not supported, only 2 and %d are", (unsigned) version, GGUF_VERSION);
    }
    reader->ctx->version = version;
    return true;
}

static bool read_header(struct gguf_reader * reader) {
    if (!read_magic(reader) || !read_version(reader) ||
        !gguf_take_u64(reader, &reader->n_tensors, "the number of tensors") ||
        !gguf_take_u64(reader, &reader->n_kv, "the number of keys")) {
        return false;
    }
    const uint64_t left = reader->source.left;
    if (reader->n_kv > left / MIN_KV_BYTES ||
        reader->n_tensors > (left - reader->n_kv * MIN_KV_BYTES) / MIN_TENSOR_BYTES || reader->n_kv > SIZE_MAX / 2 ||
        reader->n_tensors > SIZE_MAX / 2) {
        return gguf_refuse(
            reader, "the header declares %llu tensors and %llu keys, more than the %llu bytes left can hold",
            (unsigned long long) reader->n_tensors, (unsigned long long) reader->n_kv, (unsigned long long) left);
    }
    return true;
}

/* ---- ways in ---- */

static struct gguf_context * read_context(const struct gguf_source * source, struct gguf_init_params params) {
    __attribute__((cleanup(release))) struct gguf_reader reader = {.source = *source};
    if (params.ctx != NULL) {
        *params.ctx = NULL;
    }
    reader.ctx = gguf_init_empty();
    if (reader.ctx == NULL || !read_header(&reader) || !gguf_read_keys(&reader) || !gguf_read_tensors(&reader)) {
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
