/* SPDX-License-Identifier: MIT
 *
 * Well-formed sequences as table 3-7 of the Unicode standard has them: no overlong forms, no surrogates, up to U+10FFFF.
 */
#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

/* Bytes of a sequence that begins with this byte, and the range of its second byte. 0 when none begins so. */
static size_t begins(uint8_t first, uint8_t * low, uint8_t * high) {
    *low  = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    *high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return first < 0x80                    ? 1
           : first >= 0xC2 && first < 0xE0 ? 2
           : first >= 0xE0 && first < 0xF0 ? 3
           : first >= 0xF0 && first < 0xF5 ? 4
                                           : 0;
}

size_t utf8_size(const char * text, size_t n, bool * valid) {
    uint8_t      low, high;
    const size_t size = n > 0 ? begins((uint8_t) text[0], &low, &high) : 0;
    *valid            = size > 0;
    for (size_t i = 1; i < size; i++) {
        if (i == n) {
            return 0;
        }
        const uint8_t byte = (uint8_t) text[i];
        if (byte < (i == 1 ? low : 0x80) || byte > (i == 1 ? high : 0xBF)) {
            *valid = 0;
            return 1;
        }
    }
    return size > 0 ? size : n > 0;
}

size_t utf8_complete(const char * text, size_t n) {
    for (size_t back = n < 3 ? n : 3; back > 0; back--) {
        bool valid;
        if (utf8_size(text + n - back, back, &valid) == 0) {
            return n - back;
        }
    }
    return n;
}

char * utf8_clean(const char * text, size_t n) {
    char * out  = malloc(3 * n + 1);
    size_t used = 0;
    for (size_t i = 0; out != NULL && i < n;) {
        bool         valid;
        const size_t size = utf8_size(text + i, n - i, &valid);
        const bool   good = size > 0 && valid;
        const size_t m    = good ? size : sizeof(replacement) - 1;
        memcpy(out + used, good ? text + i : replacement, m);
        used += m;
        i += size > 0 ? size : n - i;
    }
    if (out != NULL) {
        out[used] = 0;
    }
    return out;
}
