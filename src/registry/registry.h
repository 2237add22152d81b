/* SPDX-License-Identifier: MIT
 *
 * The list of registries and devices of the process, as the loader sees it. Nothing here holds a lock while a module or
 * a client's callback runs: either may call back.
 */
#ifndef GRAFT_REGISTRY_REGISTRY_H
#define GRAFT_REGISTRY_REGISTRY_H

#include "ggml-backend-impl.h"

/* Adds a registry with its devices. handle: of the shared object that it came from, NULL when it came with the program.
 * A registry that is there already, from the same object, is a success that adds nothing (*added false). Refused, with
 * a text: an incomplete one, and a second one of a live name. */
enum ggml_status registry_add(ggml_backend_reg_t reg, void * handle, bool * added);

/* Takes a registry and its devices off the list, and *handle with it. False, with a text, when it is not there or is
 * the CPU's. */
bool registry_remove(ggml_backend_reg_t reg, void ** handle);

/* The registry that came from an object; NULL when there is none. */
ggml_backend_reg_t registry_of_handle(void * handle);

/* Is a registry of this name live? Case does not matter. */
bool registry_is_live(const char * name);

/* Initialises the module behind an open handle and adds its registry. Takes the handle over. NULL on failure: text
 * formed, and logged at the level given. */
ggml_backend_reg_t registry_init_module(void * handle, const char * path, enum ggml_log_level level);

/* Opens a file as a module: all its symbols are bound, and it is not this library. NULL on failure: text formed, and
 * logged at the level given. */
void * registry_open_module(const char * path, enum ggml_log_level level);

/* What the module says of itself on this machine: greater is better, 0 is no. Without a word of its own, `silent`. */
int registry_score_module(void * handle, int silent);

#endif /* GRAFT_REGISTRY_REGISTRY_H */
