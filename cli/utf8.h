/* SPDX-License-Identifier: MIT
 *
 * UTF-8 in pieces: tokens of a model end anywhere in a character, and strings of a file may be no UTF-8 at all.
 */
#ifndef GRAFT_CLI_UTF8_H
#define GRAFT_CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at text, 1 to 4; 0 when the n bytes end inside of it; 1 with *valid false when it is none. */
size_t utf8_size(const char * text, size_t n, bool * valid);

/* How many of the n bytes can be printed now: all but a character at the end that has only begun. */
size_t utf8_complete(const char * text, size_t n);

/* A copy in which every byte that belongs to no character is U+FFFD. NULL without memory; the caller frees. */
char * utf8_clean(const char * text, size_t n);

#endif /* GRAFT_CLI_UTF8_H */
