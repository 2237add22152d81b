/* SPDX-License-Identifier: MIT
 *
 * Cutting text into words by the patterns of a tokenizer, with PCRE2.
 */
#ifndef LLAMA_PATTERN_H
#define LLAMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;

/* The patterns of a name in tokenizer.ggml.pre; NULL when it is unknown or there is no memory. */
struct pattern * pattern_new(const char * pre);
void             pattern_free(struct pattern * pattern);

/* Calls word for each piece of the text, in order and without gaps. False without memory. */
bool pattern_cut(const struct pattern * pattern, const char * text, size_t n,
                 bool (*word)(void * arg, const char * text, size_t n), void * arg);

#endif /* LLAMA_PATTERN_H */
