/* SPDX-License-Identifier: MIT
 *
 * The allocation meter of the fuzz targets.
 */
#include "meter.h"

#include <sanitizer/allocator_interface.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool   installed, running;
static size_t limit, live, peak;

static void over(const char * what, size_t bytes) {
    running = false; /* printing may allocate */
    fprintf(stderr, "allocation meter: %s of %zu bytes, the limit for this input is %zu\n", what, bytes, limit);
    abort();
}

static void on_allocation(const volatile void * ptr, size_t size) {
    (void) ptr;
    if (!running) {
        return;
    }
    live += size;
    peak = live > peak ? live : peak;
    if (size > limit) {
        over("one allocation", size);
    }
    if (live > limit) {
        over("a total", live);
    }
}

static void on_free(const volatile void * ptr) {
    if (running && ptr != NULL) {
        live -= __sanitizer_get_allocated_size(ptr);
    }
}

void meter_begin(size_t input_bytes) {
    if (!installed) {
        installed = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_free) != 0;
        if (!installed) {
            fprintf(stderr, "allocation meter: the sanitizer takes no hooks\n");
            abort();
        }
    }
    limit   = 64 * 1024 + 32 * input_bytes;
    live    = 0;
    peak    = 0;
    running = true;
}

size_t meter_end(void) {
    running = false;
    return peak;
}
