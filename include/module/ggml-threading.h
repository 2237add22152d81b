/* SPDX-License-Identifier: MIT
 *
 * ggml-threading.h: the lock that guards process-wide initialisation.
 */
#ifndef MODULE_GGML_THREADING_H
#define MODULE_GGML_THREADING_H

#include "ggml.h"


#ifdef __cplusplus
extern "C" {
#endif

GGML_API void ggml_critical_section_start(void);
GGML_API void ggml_critical_section_end(void);

#ifdef __cplusplus
}
#endif

#endif /* MODULE_GGML_THREADING_H */
