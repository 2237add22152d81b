/* SPDX-License-Identifier: MIT
 *
 * Counts the memory that a parser takes while it reads one input, and ends the process when it is more than
 * 64 KiB + 32 x the bytes of the input, at once or in one allocation. Needs a sanitizer with allocation hooks.
 */
#ifndef GRAFT_FUZZ_METER_H
#define GRAFT_FUZZ_METER_H

#include <stddef.h>

void   meter_begin(size_t input_bytes);
size_t meter_end(void); /* the most bytes that were live at once */

#endif /* GRAFT_FUZZ_METER_H */
