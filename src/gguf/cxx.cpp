/* SPDX-License-Identifier: MIT
 *
 * The two functions of ggml-impl.h with C++ linkage. Nothing of the C++ library but std::vector's inline members.
 */
#include "ggml-impl.h"
#include "gguf/context.h"

size_t gguf_type_size(enum gguf_type type) {
    return gguf_value_size(type);
}

/* Appends the file to buf. A context that cannot be written leaves buf as it was, with a text in the log. */
void gguf_write_to_buf(const struct gguf_context * ctx, std::vector<int8_t> & buf, bool only_meta) {
    const size_t begin = buf.size();
    const size_t size  = gguf_written_size(ctx, only_meta);
    if (size == 0) {
        return;
    }
    buf.resize(begin + size);
    if (!gguf_write_to_memory(ctx, buf.data() + begin, size, only_meta)) {
        buf.resize(begin);
    }
}
