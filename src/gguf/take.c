/* SPDX-License-Identifier: MIT
 *
 * Pieces of a file, and the texts of what is wrong with them.
 */
#include "gguf/reader.h"

#include "base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gguf_refuse(struct gguf_reader * reader, const char * fmt, ...) {
    char    text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return gguf_fail(GGML_STATUS_FAILED, "gguf: byte %llu: %s%s",
                     (unsigned long long) (reader->source.position - reader->source.start), reader->where, text);
}

bool gguf_no_memory(struct gguf_reader * reader, size_t bytes) {
    return gguf_fail(GGML_STATUS_ALLOC_FAILED, "gguf: %sno memory for %zu bytes", reader->where, bytes);
}

void gguf_set_where(struct gguf_reader * reader, const char * kind, uint64_t i, const char * name, size_t n) {
    char printable[GGUF_PRINTABLE_MAX];
    if (name == NULL) {
        snprintf(reader->where, sizeof(reader->where), "%s %llu: ", kind, (unsigned long long) i);
    } else {
        snprintf(reader->where, sizeof(reader->where), "%s %llu '%s': ", kind, (unsigned long long) i,
                 gguf_printable(printable, name, n));
    }
}

bool gguf_too_short(struct gguf_reader * reader, uint64_t need, uint64_t left, const char * what) {
    return gguf_refuse(reader, "the file ends inside %s: %llu bytes are needed, %llu are left", what,
                       (unsigned long long) need, (unsigned long long) left);
}

bool gguf_take(struct gguf_reader * reader, void * data, size_t n, const char * what) {
    const uint64_t left = reader->source.left;
    return gguf_source_read(&reader->source, data, n) || gguf_too_short(reader, n, left, what);
}

bool gguf_take_u32(struct gguf_reader * reader, uint32_t * value, const char * what) {
    if (!gguf_take(reader, value, sizeof(*value), what)) {
        return false;
    }
    *value = reader->source.swapped ? __builtin_bswap32(*value) : *value;
    return true;
}

bool gguf_take_u64(struct gguf_reader * reader, uint64_t * value, const char * what) {
    if (!gguf_take(reader, value, sizeof(*value), what)) {
        return false;
    }
    *value = reader->source.swapped ? __builtin_bswap64(*value) : *value;
    return true;
}

bool gguf_take_block(struct gguf_reader * reader, void ** block, size_t * capacity, size_t used, uint64_t n,
                     size_t spare, const char * what) {
    const uint64_t left = reader->source.left;
    if (n > left) {
        return gguf_too_short(reader, n, left, what);
    }
    size_t end;
    if (n > SIZE_MAX || !base_size_add(used, (size_t) n, &end) || !base_size_add(end, spare, &end)) {
        return gguf_no_memory(reader, SIZE_MAX);
    }
    end -= spare;
    while (true) {
        const size_t step =
            reader->source.exact || end - used <= GGUF_FIRST_BLOCK + used ? end - used : GGUF_FIRST_BLOCK + used;
        void * grown = gguf_grow(*block, capacity, used + step + spare, 1);
        if (grown == NULL) {
            return gguf_no_memory(reader, used + step + spare);
        }
        *block = grown;
        if (step > 0 && !gguf_take(reader, (char *) grown + used, step, what)) {
            return false;
        }
        used += step;
        if (used == end) {
            return true;
        }
    }
}

bool gguf_take_name(struct gguf_reader * reader, char ** name, size_t * n, size_t longest, const char * what) {
    uint64_t length;
    if (!gguf_take_u64(reader, &length, what)) {
        return false;
    }
    if (length > longest) {
        return gguf_refuse(reader, "%s is too long: %llu bytes, at most %zu are allowed", what,
                           (unsigned long long) length, longest);
    }
    size_t     capacity = 0;
    const bool taken    = gguf_take_block(reader, &reader->name, &capacity, 0, length, 1, what);
    *name               = reader->name;
    reader->name        = NULL;
    if (!taken) {
        return false;
    }
    *n          = (size_t) length;
    (*name)[*n] = 0;
    return memchr(*name, 0, *n) == NULL || gguf_refuse(reader, "%s contains a zero byte", what);
}

size_t gguf_list_room(const struct gguf_reader * reader, size_t have, uint64_t n) {
    return reader->source.exact || n < have + 64 ? (size_t) n : have + 64;
}
