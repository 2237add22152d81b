/* SPDX-License-Identifier: MIT
 *
 * Tables for people, objects for machines: the same rows go to libsmartcols or to JSON.
 */
#ifndef GRAFT_CLI_TABLE_H
#define GRAFT_CLI_TABLE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table;

/* Columns end with NULL. The first character of a name may say how: '>' right aligned, '~' cut at the terminal's edge,
 * '|' wrapped there at blanks. NULL without memory. */
struct table * table_new(const char * const * columns);
/* A line of as many texts as there are columns; NULL texts are empty. False without memory. */
bool table_add(struct table * table, const char * const * cells);
/* Prints and frees. */
bool table_print(struct table * table, FILE * to);

/* "92.1 MiB" */
const char * table_bytes(char * text, size_t n, size_t bytes);

/* A string of a file or a model, whose bytes may be anything: what is no UTF-8 becomes U+FFFD. */
void json_add_text(cJSON * object, const char * name, const char * text);
/* Prints an object with an end of line, and frees it. False without memory. */
bool json_print(cJSON * json);

#endif /* GRAFT_CLI_TABLE_H */
