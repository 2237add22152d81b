/* SPDX-License-Identifier: MIT
 *
 * All that is particular to an operating system: memory, time, files by UTF-8 name, shared objects, environment.
 */
#ifndef GRAFT_BASE_OS_H
#define GRAFT_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The value of an environment variable; NULL when unset, and always NULL in a process that runs with the rights of
 * another user (setuid), which must not take orders from its environment. */
const char * base_getenv(const char * name);

/* Aligned memory, uninitialised; NULL when there is none. align is a power of two and at least sizeof(void *). */
void * base_aligned_alloc(size_t align, size_t size);
void   base_aligned_free(void * ptr);

int64_t base_time_us(void); /* monotonic */

/* Physical memory of the machine, in bytes. */
void base_memory(size_t * free, size_t * total);

/* The processor's brand string, or the architecture's name. Writes at most n bytes, with the final 0. */
void base_cpu_name(char * text, size_t n);

/* Number of processors that this process may run on. */
int base_cpu_count(void);

/* Folder of the running executable, without a trailing slash; false when unknown. */
bool base_executable_folder(char * path, size_t n);

/* Shared objects. All symbols are bound at once: a module that lacks one is refused. NULL on failure, text in base_error_text. */
void * base_dl_open(const char * path);
void * base_dl_symbol(void * handle, const char * name);
void   base_dl_close(void * handle);

#endif /* GRAFT_BASE_OS_H */
