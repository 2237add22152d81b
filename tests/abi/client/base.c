/* SPDX-License-Identifier: MIT
 *
 * A client of libggml-base alone.
 */
#include <stdio.h>

#include "ggml.h"

int main(void) {
    printf("%s %s %s name=%d\n", ggml_version(), ggml_type_name(GGML_TYPE_Q4_1),
           ggml_tensor_overhead() == sizeof(struct ggml_tensor) + 32 ? "same" : "other", GGML_MAX_NAME);
    return 0;
}
