/* SPDX-License-Identifier: MIT
 *
 * Memory of tensor buffers: large blocks are put on huge pages where the system has them to give, because streaming
 * weights through 4 KiB pages costs a TLB miss every 4 KiB.
 */
#ifndef GRAFT_BASE_PAGES_H
#define GRAFT_BASE_PAGES_H

#include <stddef.h>

/* Uninitialised memory aligned to 64 bytes, of a large block to a huge page; NULL when there is none. base_aligned_free
 * frees it. */
void * base_pages_alloc(size_t size);

#endif /* GRAFT_BASE_PAGES_H */
