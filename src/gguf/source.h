/* SPDX-License-Identifier: MIT
 *
 * Where the bytes of a file come from: a callback, and how many bytes it can still give. Every declared length is
 * compared with that number before anything is allocated or repeated for it.
 */
#ifndef GRAFT_GGUF_SOURCE_H
#define GRAFT_GGUF_SOURCE_H

#include "gguf.h"

struct gguf_source {
    gguf_reader_callback_t read;
    void *                 userdata;
    size_t                 max_chunk; /* most bytes to ask for at once */
    uint64_t               start;     /* place of the first byte, as the callback counts: paddings are relative to it */
    uint64_t               position;
    uint64_t               left;    /* bytes from position to the end */
    bool                   exact;   /* left is known, not only bounded: as much may be allocated at once */
    bool                   swapped; /* numbers are in the other byte order */
};

/* Reads n bytes; false when there are fewer. */
bool gguf_source_read(struct gguf_source * source, void * data, size_t n);
bool gguf_source_skip(struct gguf_source * source, uint64_t n);

struct gguf_source gguf_source_callback(gguf_reader_callback_t read, void * userdata, size_t max_chunk, uint64_t size);

/* From the current position of the file to its end; false with a text when the file cannot be positioned. The state
 * belongs to the caller and must live as long as the source. */
struct gguf_file_state {
    FILE *   file;
    uint64_t position;
};
bool gguf_source_file(struct gguf_source * source, struct gguf_file_state * state, FILE * file);

struct gguf_buffer_state {
    const char * data;
    size_t       size;
};
struct gguf_source gguf_source_buffer(struct gguf_buffer_state * state);

#endif /* GRAFT_GGUF_SOURCE_H */
