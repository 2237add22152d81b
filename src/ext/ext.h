/* SPDX-License-Identifier: MIT
 *
 * The open tables inside the library: extension operators, kernel rows of each device, selection.
 */
#ifndef GRAFT_EXT_EXT_H
#define GRAFT_EXT_EXT_H

#include <stdatomic.h>

#include "ggml-ext.h"
#include "graft-module.h"

/* ---- operators ---- */

/* A registered operator. Never freed; its id is its place in the table plus one. */
struct ext_op {
    struct ggml_ext_op_desc desc; /* strings are our own copies */
    uint32_t                id;
};

/* The operator of an extension node; NULL for any other tensor. Follows no address in op_params. */
const struct ext_op * ext_op_of(const struct ggml_tensor * t);
const struct ext_op * ext_op_by_name(const char * name);

/* ---- kernels ---- */

/* A row of a device's table. Never freed. */
struct ext_kernel {
    const struct ggml_ext_kernel_desc * desc; /* static data of the device's module, or our own copy */
    const struct ext_op *               op;   /* for GGML_OP_CUSTOM rows that name an operator */
    bool                                native;
    ggml_backend_buffer_type_t          layout; /* packed weights that it reads, or NULL */
    uint32_t                            order; /* of registration */
    atomic_int                          policy; /* enum ggml_ext_policy */
    atomic_uint_fast64_t                n_selected, n_executed;
};

/* The rows of one operator in the order of selection. Replaced as a whole when one is added, so that readers need no lock. */
struct ext_list {
    struct ext_list * older; /* kept: a reader may still walk it */
    int               n;
    struct ext_kernel * rows[];
};

#define EXT_MAX_LAYOUTS 8

struct ext_device {
    ggml_backend_dev_t          device;
    _Atomic(struct ext_list *)  single[GGML_OP_COUNT]; /* rows with `supports` */
    _Atomic(struct ext_list *)  fusion[GGML_OP_COUNT]; /* rows with `match` */
    _Atomic(struct ext_list *)  all;                   /* in order of registration */
    _Atomic(graft_team_run_fn)  team;
    _Atomic(ggml_backend_buffer_type_t) layouts[EXT_MAX_LAYOUTS]; /* packed layouts that rows have declared */
    atomic_int                  n_layouts;
    atomic_int                  n_added;    /* rows that are not native */
    atomic_uint_fast64_t        generation; /* changes with each registration and policy: plans made before are stale */
};

/* The device's table; NULL when nothing was registered on it. */
struct ext_device * ext_device_find(ggml_backend_dev_t device);

/* The row that runs a node by itself on a device. Returns false when nothing can. *row is NULL when the device's own graph code
 * runs it (a module without rows). */
bool ext_select(ggml_backend_dev_t device, const struct ggml_tensor * node, struct ext_kernel ** row);

/* Is a plan of use on this backend: does its device have rows of its own or added ones? */
bool ext_wants_plan(ggml_backend_t backend);

/* Fills the hook tables of the lower layers. Runs before main. */
void ext_install_hooks(void);

/* Does a name match [A-Za-z0-9_.-]+ and fit GGML_EXT_MAX_NAME? versioned: must it end in ".v<N>"? */
bool ext_name_valid(const char * name, bool versioned);

/* The size rule of descriptors: found at least `first` bytes, and beyond `known` bytes only zeros. what: for the text. */
enum ggml_status ext_check_size(const char * what, const void * desc, size_t found, size_t first, size_t known);

#endif /* GRAFT_EXT_EXT_H */
