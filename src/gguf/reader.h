/* SPDX-License-Identifier: MIT
 *
 * The reader's state and the pieces that files are read in: numbers, blocks, names, each compared with the bytes left
 * first.
 */
#ifndef GRAFT_GGUF_READER_H
#define GRAFT_GGUF_READER_H

#include "gguf/context.h"
#include "gguf/source.h"

/* Blocks of a source with an unknown end grow from this size. */
#define GGUF_FIRST_BLOCK ((size_t) 4096)

struct gguf_reader {
    struct gguf_source    source;
    struct gguf_context * ctx;
    struct ggml_context * data;
    struct gguf_kv        kv;     /* being read */
    struct gguf_tensor    tensor; /* being read */
    void *                name;   /* being read */
    uint64_t              n_kv, n_tensors;
    char                  where[GGUF_PRINTABLE_MAX + 48]; /* "key 3 'general.name': ", for texts */
};

/* Failures: false, with the place in the text. */
bool gguf_refuse(struct gguf_reader * reader, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
bool gguf_no_memory(struct gguf_reader * reader, size_t bytes);
bool gguf_too_short(struct gguf_reader * reader, uint64_t need, uint64_t left, const char * what);

/* The key or tensor that the texts are about; its name as far as it is known. */
void gguf_set_where(struct gguf_reader * reader, const char * kind, uint64_t i, const char * name, size_t n);

bool gguf_take(struct gguf_reader * reader, void * data, size_t n, const char * what);
bool gguf_take_u32(struct gguf_reader * reader, uint32_t * value, const char * what);
bool gguf_take_u64(struct gguf_reader * reader, uint64_t * value, const char * what);

/* Reads n bytes behind the `used` ones of *block, and leaves room for `spare` more. *block is the reader's all the
 * time. */
bool gguf_take_block(struct gguf_reader * reader, void ** block, size_t * capacity, size_t used, uint64_t n,
                     size_t spare, const char * what);

/* A string, with a final 0, that must not contain one: names are C strings in the interface. */
bool gguf_take_name(struct gguf_reader * reader, char ** name, size_t * n, size_t longest, const char * what);

/* Capacity for the next entry of a list of n: all at once where the count is known not to exceed the file. */
size_t gguf_list_room(const struct gguf_reader * reader, size_t have, uint64_t n);

/* The sections of a file. */
bool gguf_read_keys(struct gguf_reader * reader);
bool gguf_read_tensors(struct gguf_reader * reader);

#endif /* GRAFT_GGUF_READER_H */
