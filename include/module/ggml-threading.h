/* SPDX-License-Identifier: MIT
 *
 * ggml-threading.h: the lock that guards process-wide initialisation in modules.
 */
#ifndef MODULE_GGML_THREADING_H
#define MODULE_GGML_THREADING_H

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread of the process at a time is between start and end; others wait. Not recursive: a thread that starts
 * twice waits for ever, and so does one that calls into the program (a callback, the log) and comes back here. */
GGML_API void ggml_critical_section_start(void);
GGML_API void ggml_critical_section_end(void);

#ifdef __cplusplus
}
#endif

#endif /* MODULE_GGML_THREADING_H */
