/* SPDX-License-Identifier: MIT
 *
 * I8: signed integers of 8 bits.
 */
#include "type/number.h"

TYPE_INTEGER_ROW(type_row_i8, GGML_TYPE_I8, "i8", int8_t, INT8_MIN, INT8_MAX);
