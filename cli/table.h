/* SPDX-License-Identifier: MIT
 *
 * Tables for people, objects for machines: the same rows go to libsmartcols or to JSON.
 */
#ifndef GRAFT_CLI_TABLE_H
#define GRAFT_CLI_TABLE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct table;

/* Columns end with NULL. A name that begins with '>' is right aligned. NULL without memory. */
struct table * table_new(const char * const * columns);
/* A line of as many texts as there are columns; NULL texts are empty. False without memory. */
bool table_add(struct table * table, const char * const * cells);
/* Prints to stdout and frees. */
bool table_print(struct table * table);

/* "92.1 MiB" */
const char * table_bytes(char * text, size_t n, size_t bytes);

/* Prints an object with an end of line, and frees it. False without memory. */
bool json_print(cJSON * json);

#endif /* GRAFT_CLI_TABLE_H */
