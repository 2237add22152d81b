/* SPDX-License-Identifier: MIT
 *
 * Registries and devices of the process. The CPU's is always the first. The list lives until the process ends, and
 * modules stay open at exit: their threads may still run then.
 */
#include "registry/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "graft-module.h"

struct entry {
    ggml_backend_reg_t reg;
    void *             handle;
    char *             name; /* our copy: asking the module would mean to call it under the lock */
};

static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *       entries;
static size_t               n_entries, entry_capacity;
static ggml_backend_dev_t * devices;
static size_t               n_devices, device_capacity;

/* ---- under the lock ---- */

static struct entry * find_entry(ggml_backend_reg_t reg) {
    for (size_t i = 0; i < n_entries; i++) {
        if (entries[i].reg == reg) {
            return &entries[i];
        }
    }
    return NULL;
}

static struct entry * find_name(const char * name) {
    for (size_t i = 0; i < n_entries; i++) {
        if (strcasecmp(entries[i].name, name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

static bool make_room(void ** array, size_t * capacity, size_t n, size_t size) {
    if (n <= *capacity) {
        return true;
    }
    const size_t more  = n + 16;
    void *       grown = realloc(*array, more * size);
    if (grown == NULL) {
        return false;
    }
    *array    = grown;
    *capacity = more;
    return true;
}

static void add_device(ggml_backend_dev_t device) {
    for (size_t i = 0; i < n_devices; i++) {
        if (devices[i] == device) {
            return;
        }
    }
    devices[n_devices++] = device;
}

/* Takes name over on success. */
static enum ggml_status add_locked(ggml_backend_reg_t reg, void * handle, char * name, ggml_backend_dev_t * found,
                                   size_t n, bool * added) {
    const struct entry * same = find_entry(reg);
    const struct entry * live = find_name(name);
    if (same != NULL && same->handle == handle) {
        return GGML_STATUS_SUCCESS;
    }
    if (live != NULL) {
        return graft_fail(GGML_STATUS_FAILED, "a registry named %s is live already", live->name);
    }
    if (!make_room((void **) &entries, &entry_capacity, n_entries + 1, sizeof(entries[0])) ||
        !make_room((void **) &devices, &device_capacity, n_devices + n, sizeof(devices[0]))) {
        return graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory to register %s", name);
    }
    entries[n_entries++] = (struct entry){reg, handle, name};
    for (size_t i = 0; i < n; i++) {
        add_device(found[i]);
    }
    *added = true;
    return GGML_STATUS_SUCCESS;
}

/* ---- adding and removing ---- */

static enum ggml_status add(ggml_backend_reg_t reg, void * handle, bool * added) {
    *added = false;
    if (reg->iface.get_name == NULL || reg->iface.get_device_count == NULL || reg->iface.get_device == NULL) {
        return graft_fail(GGML_STATUS_FAILED,
                          "the table of the registry has no get_name, get_device_count or get_device");
    }
    const char *         reg_name = ggml_backend_reg_name(reg);
    const size_t         n        = ggml_backend_reg_dev_count(reg);
    char *               name     = strdup(reg_name != NULL ? reg_name : "");
    ggml_backend_dev_t * found    = calloc(n + 1, sizeof(*found));
    enum ggml_status     status   = GGML_STATUS_ALLOC_FAILED;
    if (name == NULL || found == NULL) {
        graft_fail(status, "no memory to register %s with %zu devices", reg_name, n);
    } else if (name[0] == 0) {
        status = graft_fail(GGML_STATUS_FAILED, "the registry has no name");
    } else {
        size_t n_found = 0;
        for (size_t i = 0; i < n; i++) {
            const ggml_backend_dev_t device = ggml_backend_reg_dev_get(reg, i);
            if (device != NULL) {
                found[n_found++] = device;
            }
        }
        pthread_mutex_lock(&lock);
        status = add_locked(reg, handle, name, found, n_found, added);
        pthread_mutex_unlock(&lock);
    }
    if (!*added) {
        free(name);
    }
    free(found);
    return status;
}

/* Every way in comes through here, so that nothing can be registered before the CPU. Two threads may both add it: the
 * second finds it there. */
static void ensure_cpu(void) {
    static atomic_bool done;
    bool               added;
    if (atomic_load(&done)) {
        return;
    }
    if (add(ggml_backend_cpu_reg(), NULL, &added) == GGML_STATUS_SUCCESS) {
        atomic_store(&done, true);
    }
}

enum ggml_status registry_add(ggml_backend_reg_t reg, void * handle, bool * added) {
    ensure_cpu();
    return add(reg, handle, added);
}

bool registry_is_live(const char * name) {
    ensure_cpu();
    pthread_mutex_lock(&lock);
    const bool live = find_name(name) != NULL;
    pthread_mutex_unlock(&lock);
    return live;
}

ggml_backend_reg_t registry_of_handle(void * handle) {
    ggml_backend_reg_t reg = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_entries && reg == NULL; i++) {
        reg = entries[i].handle == handle ? entries[i].reg : NULL;
    }
    pthread_mutex_unlock(&lock);
    return reg;
}

static void remove_devices(ggml_backend_reg_t reg) {
    size_t kept = 0;
    for (size_t i = 0; i < n_devices; i++) {
        if (ggml_backend_dev_backend_reg(devices[i]) != reg) {
            devices[kept++] = devices[i];
        }
    }
    n_devices = kept;
}

bool registry_remove(ggml_backend_reg_t reg, void ** handle) {
    ensure_cpu();
    pthread_mutex_lock(&lock);
    struct entry * entry = find_entry(reg);
    if (entry == NULL || entry == entries) {
        pthread_mutex_unlock(&lock);
        graft_fail(GGML_STATUS_FAILED, entry == NULL ? "the registry is not on the list" : "the CPU is always there");
        return false;
    }
    remove_devices(reg);
    char * name = entry->name;
    *handle     = entry->handle;
    memmove(entry, entry + 1, (size_t) (entries + n_entries - (entry + 1)) * sizeof(*entry));
    n_entries--;
    pthread_mutex_unlock(&lock);
    free(name);
    return true;
}

/* ---- public ---- */

void ggml_backend_register(ggml_backend_reg_t reg) {
    bool added;
    if (reg == NULL) {
        return;
    }
    if (registry_add(reg, NULL, &added) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("ggml_backend_register: %s\n", ggml_ext_last_error());
    } else if (added) {
        GGML_LOG_DEBUG("ggml_backend_register: registered %s (%zu devices)\n", ggml_backend_reg_name(reg),
                       ggml_backend_reg_dev_count(reg));
    }
}

void ggml_backend_device_register(ggml_backend_dev_t device) {
    ensure_cpu();
    if (device == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    const bool room = make_room((void **) &devices, &device_capacity, n_devices + 1, sizeof(devices[0]));
    if (room) {
        add_device(device);
    }
    pthread_mutex_unlock(&lock);
    if (!room) {
        graft_fail(GGML_STATUS_ALLOC_FAILED, "no memory to register device %s", ggml_backend_dev_name(device));
        GGML_LOG_ERROR("ggml_backend_device_register: %s\n", ggml_ext_last_error());
    }
}

size_t ggml_backend_reg_count(void) {
    ensure_cpu();
    pthread_mutex_lock(&lock);
    const size_t n = n_entries;
    pthread_mutex_unlock(&lock);
    return n;
}

/* The list may shrink between a count and a get: NULL past its end. */
static ggml_backend_reg_t reg_at(size_t index) {
    pthread_mutex_lock(&lock);
    const ggml_backend_reg_t reg = index < n_entries ? entries[index].reg : NULL;
    pthread_mutex_unlock(&lock);
    return reg;
}

static ggml_backend_dev_t dev_at(size_t index) {
    pthread_mutex_lock(&lock);
    const ggml_backend_dev_t device = index < n_devices ? devices[index] : NULL;
    pthread_mutex_unlock(&lock);
    return device;
}

ggml_backend_reg_t ggml_backend_reg_get(size_t index) {
    ensure_cpu();
    const ggml_backend_reg_t reg = reg_at(index);
    if (reg == NULL) {
        GGML_ABORT("ggml_backend_reg_get: there is no registry %zu: %zu are live", index, ggml_backend_reg_count());
    }
    return reg;
}

ggml_backend_reg_t ggml_backend_reg_by_name(const char * name) {
    ensure_cpu();
    pthread_mutex_lock(&lock);
    const struct entry *     entry = name != NULL ? find_name(name) : NULL;
    const ggml_backend_reg_t reg   = entry != NULL ? entry->reg : NULL;
    pthread_mutex_unlock(&lock);
    return reg;
}

size_t ggml_backend_dev_count(void) {
    ensure_cpu();
    pthread_mutex_lock(&lock);
    const size_t n = n_devices;
    pthread_mutex_unlock(&lock);
    return n;
}

ggml_backend_dev_t ggml_backend_dev_get(size_t index) {
    ensure_cpu();
    const ggml_backend_dev_t device = dev_at(index);
    if (device == NULL) {
        GGML_ABORT("ggml_backend_dev_get: there is no device %zu: %zu are live", index, ggml_backend_dev_count());
    }
    return device;
}

ggml_backend_dev_t ggml_backend_dev_by_name(const char * name) {
    ensure_cpu();
    ggml_backend_dev_t device;
    for (size_t i = 0; name != NULL && (device = dev_at(i)) != NULL; i++) {
        if (strcasecmp(ggml_backend_dev_name(device), name) == 0) {
            return device;
        }
    }
    return NULL;
}

ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type) {
    ensure_cpu();
    ggml_backend_dev_t device;
    for (size_t i = 0; (device = dev_at(i)) != NULL; i++) {
        if (ggml_backend_dev_type(device) == type) {
            return device;
        }
    }
    return NULL;
}
