/* SPDX-License-Identifier: MIT
 *
 * Memory of tensor buffers on Linux: transparent huge pages by advice.
 */
#include "base/pages.h"

#include <sys/mman.h>

#include "base/os.h"

#define CACHE_LINE ((size_t) 64)
#define HUGE_PAGE ((size_t) 2 << 20)
#define LARGE (4 * HUGE_PAGE) /* below, the rounding would waste more than the pages save */

void * base_pages_alloc(size_t size) {
    if (size < LARGE) {
        return base_aligned_alloc(CACHE_LINE, size);
    }
    void * ptr = base_aligned_alloc(HUGE_PAGE, size);
#ifdef MADV_HUGEPAGE
    if (ptr != NULL) {
        (void) madvise(ptr, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE); /* whole pages: the rest belongs to others */
    }
#endif
    return ptr;
}
