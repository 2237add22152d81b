/* SPDX-License-Identifier: MIT
 *
 * Folders, and which shared object something belongs to: what the search for modules asks of the operating system.
 */
#ifndef GRAFT_BASE_FILES_H
#define GRAFT_BASE_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Names of the regular files in a folder, sorted by their bytes. */
struct base_file_list {
    char ** names;
    size_t  n;
};

/* False, with a text and an empty list, when the folder cannot be read. */
bool base_file_list_read(const char * folder, struct base_file_list * list);
void base_file_list_free(struct base_file_list * list);

/* Identity of a loaded shared object, by its handle or by an address in it: equal for the same object, NULL when
 * unknown. */
const void * base_object_of_handle(void * handle);
const void * base_object_of_address(const void * address);

#endif /* GRAFT_BASE_FILES_H */
