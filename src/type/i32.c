/* SPDX-License-Identifier: MIT
 *
 * I32: signed integers of 32 bits.
 */
#include "type/number.h"

TYPE_INTEGER_ROW(type_row_i32, GGML_TYPE_I32, "i32", int32_t, INT32_MIN, INT32_MAX);
