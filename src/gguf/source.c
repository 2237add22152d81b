/* SPDX-License-Identifier: MIT
 *
 * Bounded sources of bytes: a caller's callback, an open file, memory.
 */
#include "gguf/source.h"

#include "gguf/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#define file_tell _ftelli64
#define file_seek _fseeki64
#else
#include <sys/types.h>
#define file_tell ftello
#define file_seek fseeko
_Static_assert(sizeof(off_t) == 8, "files of 2 GiB and more need a 64-bit off_t");
#endif

bool gguf_source_read(struct gguf_source * source, void * data, size_t n) {
    if (n > source->left) {
        return false;
    }
    for (size_t done = 0; done < n;) {
        const size_t chunk = n - done < source->max_chunk ? n - done : source->max_chunk;
        const size_t got   = source->read(source->userdata, (char *) data + done, source->position, chunk);
        if (got != chunk) { /* the end, earlier than promised; more than was asked for is a faulty callback */
            source->left = 0;
            return false;
        }
        done += chunk;
        source->position += chunk;
        source->left -= chunk;
    }
    return true;
}

bool gguf_source_skip(struct gguf_source * source, uint64_t n) {
    if (n > source->left) {
        return false;
    }
    source->position += n;
    source->left -= n;
    return true;
}

struct gguf_source gguf_source_callback(gguf_reader_callback_t read, void * userdata, size_t max_chunk, uint64_t size) {
    return (struct gguf_source){
        .read      = read,
        .userdata  = userdata,
        .max_chunk = max_chunk == 0 ? SIZE_MAX : max_chunk,
        .left      = size,
    };
}

static size_t read_file(void * userdata, void * output, uint64_t offset, size_t n) {
    struct gguf_file_state * state = userdata;
    if (state->position != offset) {
        if (offset > INT64_MAX || file_seek(state->file, (int64_t) offset, SEEK_SET) != 0) {
            return 0;
        }
        state->position = offset;
    }
    const size_t got = fread(output, 1, n, state->file);
    state->position += got;
    return got;
}

bool gguf_source_file(struct gguf_source * source, struct gguf_file_state * state, FILE * file) {
    const int64_t begin = file_tell(file);
    if (begin < 0 || file_seek(file, 0, SEEK_END) != 0) {
        return gguf_fail(GGML_STATUS_FAILED, "gguf: the file cannot be positioned: %s", strerror(errno));
    }
    const int64_t end = file_tell(file);
    if (file_seek(file, begin, SEEK_SET) != 0 || end < begin) {
        return gguf_fail(GGML_STATUS_FAILED,
                         "gguf: the file cannot be positioned: it ends at byte %lld, reading begins at %lld",
                         (long long) end, (long long) begin);
    }
    *state           = (struct gguf_file_state){file, (uint64_t) begin};
    *source          = gguf_source_callback(read_file, state, 0, (uint64_t) (end - begin));
    source->start    = (uint64_t) begin;
    source->position = (uint64_t) begin;
    source->exact    = true;
    return true;
}

static size_t read_buffer(void * userdata, void * output, uint64_t offset, size_t n) {
    const struct gguf_buffer_state * state = userdata;
    if (offset > state->size || n > state->size - offset) {
        return 0;
    }
    memcpy(output, state->data + offset, n);
    return n;
}

struct gguf_source gguf_source_buffer(struct gguf_buffer_state * state) {
    struct gguf_source source = gguf_source_callback(read_buffer, state, 0, state->size);
    source.exact              = true;
    return source;
}
