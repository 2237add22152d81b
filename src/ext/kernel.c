/* SPDX-License-Identifier: MIT
 *
 * Kernel rows by device: registration, policy, listing. A row is never removed; the list of an operator is replaced as a
 * whole by one with the new row in its place, so that planning on other threads reads without a lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/status.h"
#include "device/device.h"
#include "ext/ext.h"
#include "op/op.h"

#define MAX_DEVICES 256

static _Atomic(struct ext_device *) devices[MAX_DEVICES];
static atomic_int                   n_devices;
static pthread_mutex_t              lock = PTHREAD_MUTEX_INITIALIZER;

struct ext_device * ext_device_find(ggml_backend_dev_t device) {
    const int n = atomic_load_explicit(&n_devices, memory_order_acquire);
    for (int i = 0; i < n; i++) {
        struct ext_device * d = atomic_load_explicit(&devices[i], memory_order_relaxed);
        if (d->device == device) {
            return d;
        }
    }
    return NULL;
}

/* With the lock held. */
static struct ext_device * find_or_add(ggml_backend_dev_t device) {
    struct ext_device * d = ext_device_find(device);
    const int           n = atomic_load_explicit(&n_devices, memory_order_relaxed);
    if (d != NULL || n == MAX_DEVICES) {
        return d;
    }
    d = calloc(1, sizeof(*d));
    if (d != NULL) {
        d->device = device;
        atomic_store_explicit(&devices[n], d, memory_order_relaxed);
        atomic_store_explicit(&n_devices, n + 1, memory_order_release);
    }
    return d;
}

/* Higher priority first; of equal ones the later registration. */
static bool goes_before(const struct ext_kernel * a, const struct ext_kernel * b) {
    return a->desc->priority != b->desc->priority ? a->desc->priority > b->desc->priority : a->order > b->order;
}

static struct ext_list * list_with(struct ext_list * old, struct ext_kernel * row, bool sorted) {
    const int         n    = old != NULL ? old->n : 0;
    struct ext_list * list = malloc(sizeof(*list) + (size_t) (n + 1) * sizeof(list->rows[0]));
    if (list == NULL) {
        return NULL;
    }
    int at = n;
    while (sorted && at > 0 && goes_before(row, old->rows[at - 1])) {
        at--;
    }
    for (int i = 0; i < at; i++) {
        list->rows[i] = old->rows[i];
    }
    list->rows[at] = row;
    for (int i = at; i < n; i++) {
        list->rows[i + 1] = old->rows[i];
    }
    list->n     = n + 1;
    list->older = old;
    return list;
}

/* GGML_EXT_OFF=name,name turns kernels off at start. */
static bool turned_off_by_environment(const char * name) {
    const char * list   = base_getenv("GGML_EXT_OFF");
    const size_t length = strlen(name);
    while (list != NULL && *list != 0) {
        const size_t n = strcspn(list, ",");
        if (n == length && strncmp(list, name, n) == 0) {
            return true;
        }
        list += n + (list[n] == ',');
    }
    return false;
}

/* With the lock held. Makes the new lists before publishing any, so that a failure leaves the table as it was. */
static enum ggml_status publish(struct ext_device * d, struct ext_kernel * row) {
    const enum ggml_op op     = row->desc->op;
    struct ext_list *  all    = list_with(atomic_load(&d->all), row, false);
    struct ext_list *  single = NULL;
    struct ext_list *  fusion = NULL;
    bool               ok     = all != NULL;
    if (ok && row->desc->supports != NULL) {
        single = list_with(atomic_load(&d->single[op]), row, true);
        ok     = single != NULL;
    }
    if (ok && row->desc->match != NULL) {
        fusion = list_with(atomic_load(&d->fusion[op]), row, true);
        ok     = fusion != NULL;
    }
    if (!ok) {
        free(all);
        free(single);
        free(fusion);
        return base_fail(GGML_STATUS_ALLOC_FAILED, "registration of kernel '%s': no memory", row->desc->name);
    }
    if (single != NULL) {
        atomic_store_explicit(&d->single[op], single, memory_order_release);
    }
    if (fusion != NULL) {
        atomic_store_explicit(&d->fusion[op], fusion, memory_order_release);
    }
    atomic_store_explicit(&d->all, all, memory_order_release);
    if (!row->native) {
        atomic_fetch_add(&d->n_added, 1);
    }
    atomic_fetch_add(&d->generation, 1);
    return GGML_STATUS_SUCCESS;
}

static struct ext_kernel * find_row(struct ext_device * d, const char * name) {
    struct ext_list * all = d != NULL ? atomic_load_explicit(&d->all, memory_order_acquire) : NULL;
    for (int i = 0; all != NULL && i < all->n; i++) {
        if (strcmp(all->rows[i]->desc->name, name) == 0) {
            return all->rows[i];
        }
    }
    return NULL;
}

static enum ggml_status add(ggml_backend_dev_t device, struct ext_kernel * row) {
    pthread_mutex_lock(&lock);
    enum ggml_status    status;
    struct ext_device * d = find_or_add(device);
    if (d == NULL) {
        status = base_fail(GGML_STATUS_ALLOC_FAILED, "registration of kernel '%s': no room for another device",
                           row->desc->name);
    } else if (find_row(d, row->desc->name) != NULL) {
        status = base_fail(GGML_STATUS_FAILED, "registration of kernel '%s': the name is taken on device %s",
                           row->desc->name, ggml_backend_dev_name(device));
    } else {
        struct ext_list * all = atomic_load(&d->all);
        row->order            = all != NULL ? (uint32_t) all->n : 0;
        if (turned_off_by_environment(row->desc->name)) {
            atomic_store(&row->policy, GGML_EXT_POLICY_OFF);
        }
        status = publish(d, row);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static enum ggml_status register_row(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * desc,
                                     ggml_backend_buffer_type_t layout) {
    struct ext_kernel * row = calloc(1, sizeof(*row));
    if (row == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "registration of kernel '%s': no memory", desc->name);
    }
    row->desc   = desc;
    row->native = true;
    row->layout = layout;
    const enum ggml_status status = add(device, row);
    if (status != GGML_STATUS_SUCCESS) {
        free(row);
    }
    return status;
}

enum ggml_status graft_register_native(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * desc) {
    return register_row(device, desc, NULL);
}

/* With the lock held. */
static bool declare_layout(struct ext_device * d, ggml_backend_buffer_type_t layout) {
    const int n = atomic_load(&d->n_layouts);
    for (int i = 0; i < n; i++) {
        if (atomic_load(&d->layouts[i]) == layout) {
            return true;
        }
    }
    if (n == EXT_MAX_LAYOUTS) {
        return false;
    }
    atomic_store(&d->layouts[n], layout);
    atomic_store_explicit(&d->n_layouts, n + 1, memory_order_release);
    return true;
}

enum ggml_status graft_register_packed(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * desc,
                                       ggml_backend_buffer_type_t layout) {
    pthread_mutex_lock(&lock);
    struct ext_device * d    = find_or_add(device);
    const bool          room = d != NULL && declare_layout(d, layout);
    pthread_mutex_unlock(&lock);
    if (!room) {
        return base_fail(GGML_STATUS_FAILED, "registration of kernel '%s': no room for packed layout %s", desc->name,
                         ggml_backend_buft_name(layout));
    }
    return register_row(device, desc, layout);
}

void graft_device_set_team(ggml_backend_dev_t device, graft_team_run_fn run) {
    pthread_mutex_lock(&lock);
    struct ext_device * d = find_or_add(device);
    if (d != NULL) {
        atomic_store_explicit(&d->team, run, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- registration by an application ---- */

#define REFUSE(...) return base_fail(GGML_STATUS_FAILED, "ggml_ext_register_kernel: " __VA_ARGS__)

static enum ggml_status check_desc(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * d) {
    if (!ext_name_valid(d->name, false)) {
        REFUSE("name '%s' is not of the form [A-Za-z0-9_.-]+ with less than %d bytes", d->name != NULL ? d->name : "(null)",
               GGML_EXT_MAX_NAME);
    }
    if (op_row_get(d->op) == NULL) {
        REFUSE("%s: operator %d does not exist", d->name, (int) d->op);
    }
    if (d->op == GGML_OP_CUSTOM && (d->op_name == NULL || ext_op_by_name(d->op_name) == NULL)) {
        REFUSE("%s: no operator '%s' is registered", d->name, d->op_name != NULL ? d->op_name : "(null)");
    }
    if (d->op != GGML_OP_CUSTOM && d->op_name != NULL) {
        REFUSE("%s: op_name '%s' goes with GGML_OP_CUSTOM, found %s", d->name, d->op_name, ggml_op_name(d->op));
    }
    if (d->supports == NULL && d->match == NULL) {
        REFUSE("%s: neither supports nor match is given", d->name);
    }
    if (d->match != NULL) {
        REFUSE("%s: match is set: this version runs kernels of single nodes, no fusions", d->name);
    }
    if ((d->execute == NULL) == (d->task == NULL)) {
        REFUSE("%s: exactly one of execute and task is needed, found %s", d->name, d->task != NULL ? "both" : "none");
    }
    const struct ext_device * table = ext_device_find(device);
    if (d->task != NULL && (table == NULL || atomic_load(&table->team) == NULL)) {
        REFUSE("%s: task needs a device of the CPU backend, %s is none", d->name, ggml_backend_dev_name(device));
    }
    return GGML_STATUS_SUCCESS;
}

/* The descriptor with its strings behind it. */
static struct ext_kernel * copy_row(const struct ggml_ext_kernel_desc * d) {
    const size_t        name_size = strlen(d->name) + 1;
    const size_t        op_size   = d->op_name != NULL ? strlen(d->op_name) + 1 : 0;
    struct ext_kernel * row       = calloc(1, sizeof(*row) + sizeof(*d) + name_size + op_size);
    if (row == NULL) {
        return NULL;
    }
    struct ggml_ext_kernel_desc * copy = (struct ggml_ext_kernel_desc *) (row + 1);
    char *                        text = (char *) (copy + 1);
    *copy                              = *d;
    copy->name                         = memcpy(text, d->name, name_size);
    if (d->op_name != NULL) {
        copy->op_name = memcpy(text + name_size, d->op_name, op_size);
        row->op       = ext_op_by_name(d->op_name);
    }
    row->desc = copy;
    return row;
}

enum ggml_status ggml_ext_register_kernel(ggml_backend_dev_t device, const struct ggml_ext_kernel_desc * desc) {
    if (device == NULL || desc == NULL) {
        REFUSE("%s is NULL", device == NULL ? "the device" : "the description");
    }
    enum ggml_status status = ext_check_size("ggml_ext_register_kernel", desc, desc->size, sizeof(*desc), sizeof(*desc));
    if (status == GGML_STATUS_SUCCESS) {
        status = check_desc(device, desc);
    }
    if (status != GGML_STATUS_SUCCESS) {
        return status;
    }
    struct ext_kernel * row = copy_row(desc);
    if (row == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "ggml_ext_register_kernel: %s: no memory", desc->name);
    }
    status = add(device, row);
    if (status != GGML_STATUS_SUCCESS) {
        free(row);
        return status;
    }
    base_clear_error();
    return GGML_STATUS_SUCCESS;
}

/* ---- policy and listing ---- */

enum ggml_status ggml_ext_set_policy(ggml_backend_dev_t device, const char * kernel, enum ggml_ext_policy policy) {
    struct ext_device * d   = ext_device_find(device);
    struct ext_kernel * row = kernel != NULL ? find_row(d, kernel) : NULL;
    if (row == NULL) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_set_policy: device %s has no kernel '%s'",
                         device != NULL ? ggml_backend_dev_name(device) : "(null)", kernel != NULL ? kernel : "(null)");
    }
    if (policy != GGML_EXT_POLICY_AUTO && policy != GGML_EXT_POLICY_OFF && policy != GGML_EXT_POLICY_FORCE) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_set_policy: %s: policy %d does not exist", kernel, (int) policy);
    }
    atomic_store(&row->policy, (int) policy);
    atomic_fetch_add(&d->generation, 1);
    base_clear_error();
    return GGML_STATUS_SUCCESS;
}

size_t ggml_ext_kernel_count(ggml_backend_dev_t device) {
    struct ext_device * d   = ext_device_find(device);
    struct ext_list *   all = d != NULL ? atomic_load_explicit(&d->all, memory_order_acquire) : NULL;
    return all != NULL ? (size_t) all->n : 0;
}

enum ggml_status ggml_ext_kernel_get(ggml_backend_dev_t device, size_t i, struct ggml_ext_kernel_info * info) {
    struct ext_device * d   = ext_device_find(device);
    struct ext_list *   all = d != NULL ? atomic_load_explicit(&d->all, memory_order_acquire) : NULL;
    if (info == NULL || all == NULL || i >= (size_t) all->n) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_kernel_get: no kernel %zu on device %s", i,
                         device != NULL ? ggml_backend_dev_name(device) : "(null)");
    }
    if (info->size < sizeof(*info)) {
        return base_fail(GGML_STATUS_FAILED, "ggml_ext_kernel_get: size is %zu, expected at least %zu", info->size,
                         sizeof(*info));
    }
    struct ext_kernel * row = all->rows[i];
    info->name              = row->desc->name;
    info->op                = row->op != NULL ? row->op->desc.name : ggml_op_name(row->desc->op);
    info->device            = device;
    info->priority          = row->desc->priority;
    info->single            = row->desc->supports != NULL;
    info->fusion            = row->desc->match != NULL;
    info->policy            = (enum ggml_ext_policy) atomic_load(&row->policy);
    info->n_selected        = atomic_load(&row->n_selected);
    info->n_executed        = atomic_load(&row->n_executed);
    return GGML_STATUS_SUCCESS;
}
