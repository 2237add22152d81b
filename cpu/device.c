/* SPDX-License-Identifier: MIT
 *
 * The CPU as registry and device: properties, capabilities, buffer types, and the functions that clients ask for by name.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backend.h"
#include "ggml-impl.h"
#include "kernel/kernel.h"
#include "pack/pack.h"

/* Buffer types of packed weights, ended by NULL. */

static char description[128] = "CPU";

/* ---- device ---- */

static const char * device_name(ggml_backend_dev_t dev) {
    (void) dev;
    return "CPU";
}

static const char * device_description(ggml_backend_dev_t dev) {
    (void) dev;
    return description;
}

static void device_memory(ggml_backend_dev_t dev, size_t * free_bytes, size_t * total_bytes) {
    (void) dev;
    graft_memory(free_bytes, total_bytes);
}

static enum ggml_backend_dev_type device_type(ggml_backend_dev_t dev) {
    (void) dev;
    return GGML_BACKEND_DEVICE_TYPE_CPU;
}

static void device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props * props) {
    memset(props, 0, sizeof(*props));
    props->name        = device_name(dev);
    props->description = device_description(dev);
    props->type        = device_type(dev);
    device_memory(dev, &props->memory_free, &props->memory_total);
    props->caps = (struct ggml_backend_dev_caps){ .async                = false,
                                                  .host_buffer          = false,
                                                  .buffer_from_host_ptr = true,
                                                  .events               = false,
                                                  .mmap_support         = true };
}

static ggml_backend_t device_init(ggml_backend_dev_t dev, const char * params) {
    (void) dev;
    (void) params;
    return ggml_backend_cpu_init();
}

static ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t dev) {
    (void) dev;
    return ggml_backend_cpu_buffer_type();
}

static ggml_backend_buffer_t device_buffer_from_ptr(ggml_backend_dev_t dev, void * ptr, size_t size, size_t max_tensor_size) {
    (void) dev;
    (void) max_tensor_size;
    return ggml_backend_cpu_buffer_from_ptr(ptr, size);
}

static bool device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor * op) {
    return ggml_op_is_empty(op->op) || graft_device_has_kernel(dev, op);
}

static bool device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft) {
    (void) dev;
    return ggml_backend_buft_is_host(buft) || (buft != NULL && buft == cpu_pack_buffer_type());
}

static ggml_backend_buffer_type_t extra_types[2];

static void fill_extra_types(void) {
    extra_types[0] = cpu_pack_buffer_type();
}

static ggml_backend_buffer_type_t * device_extra_bufts(ggml_backend_dev_t dev) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void) dev;
    pthread_once(&once, fill_extra_types);
    return extra_types;
}

/* ---- registry ---- */

static const char * reg_name(ggml_backend_reg_t reg) {
    (void) reg;
    return "CPU";
}

static size_t reg_device_count(ggml_backend_reg_t reg) {
    (void) reg;
    return 1;
}

static struct ggml_backend_reg    cpu_reg;
static struct ggml_backend_device cpu_dev = {
    .iface = {
        .get_name             = device_name,
        .get_description      = device_description,
        .get_memory           = device_memory,
        .get_type             = device_type,
        .get_props            = device_props,
        .init_backend         = device_init,
        .get_buffer_type      = device_buffer_type,
        .buffer_from_host_ptr = device_buffer_from_ptr,
        .supports_op          = device_supports_op,
        .supports_buft        = device_supports_buft,
    },
    .reg = &cpu_reg,
};

ggml_backend_dev_t cpu_device(void) {
    return &cpu_dev;
}

static ggml_backend_dev_t reg_device(ggml_backend_reg_t reg, size_t index) {
    (void) reg;
    GGML_ASSERT(index == 0);
    return &cpu_dev;
}

static enum ggml_status parallel(ggml_backend_t backend, ggml_ext_cpu_fn fn, void * user_data) {
    struct cpu_backend *     cpu     = cpu_backend_context(backend);
    struct ggml_threadpool * team    = cpu_backend_team(cpu);
    const struct run_options options = { cpu->n_threads, cpu->abort_callback, cpu->abort_data, NULL };
    if (team == NULL) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    TEAM_HOLD(team);
    return run_parallel(team, &options, fn, user_data);
}

/* "graft_cpu_kernels": the micro-kernel chosen for the i-th slot; returns the number of slots. */
static size_t chosen_kernels(size_t i, const char ** slot, const char ** isa) {
    enum cpu_isa chosen;
    const size_t n = cpu_kernels_chosen(i, slot, &chosen);
    if (i < n) {
        *isa = cpu_isa_name(chosen);
    }
    return n;
}

static const struct {
    const char * name;
    void (*fn)(void);
} procs[] = {
    { "ggml_backend_set_n_threads", (void (*)(void)) ggml_backend_cpu_set_n_threads },
    { "ggml_backend_set_abort_callback", (void (*)(void)) ggml_backend_cpu_set_abort_callback },
    { "ggml_backend_dev_get_extra_bufts", (void (*)(void)) device_extra_bufts },
    { "ggml_backend_get_features", (void (*)(void)) cpu_features },
    { "ggml_backend_cpu_numa_init", (void (*)(void)) ggml_numa_init },
    { "ggml_backend_cpu_is_numa", (void (*)(void)) ggml_is_numa },
    { "ggml_backend_cpu_set_use_ref", (void (*)(void)) ggml_backend_cpu_set_use_ref },
    { "ggml_backend_cpu_set_threadpool", (void (*)(void)) ggml_backend_cpu_set_threadpool },
    { "ggml_threadpool_new", (void (*)(void)) ggml_threadpool_new },
    { "ggml_threadpool_free", (void (*)(void)) ggml_threadpool_free },
    { "ggml_ext_cpu_parallel_v1", (void (*)(void)) parallel },
    { "graft_cpu_kernels", (void (*)(void)) chosen_kernels },
};

static void * reg_proc_address(ggml_backend_reg_t reg, const char * name) {
    (void) reg;
    for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
        if (strcmp(procs[i].name, name) == 0) {
            return (void *) procs[i].fn;
        }
    }
    return NULL;
}

static struct ggml_backend_reg cpu_reg = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface       = { reg_name, reg_device_count, reg_device, reg_proc_address },
};

static void init_once(void) {
    cpu_kernels_init();
    graft_cpu_name(description, sizeof(description));
}

enum ggml_status cpu_device_init(void) {
    static pthread_once_t  once = PTHREAD_ONCE_INIT;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static atomic_bool     ready;
    enum ggml_status       status = GGML_STATUS_SUCCESS;
    pthread_once(&once, init_once);
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        status = cpu_register_rows(&cpu_dev);
        graft_device_set_team(&cpu_dev, cpu_backend_run_steps);
        atomic_store_explicit(&ready, status == GGML_STATUS_SUCCESS, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    return status;
}

void ggml_cpu_init(void) {
    cpu_device_init();
}

ggml_backend_reg_t ggml_backend_cpu_reg(void) {
    ggml_cpu_init();
    return &cpu_reg;
}
