/* SPDX-License-Identifier: MIT
 *
 * I64: signed integers of 64 bits.
 */
#include "type/number.h"

TYPE_INTEGER_ROW(type_row_i64, GGML_TYPE_I64, "i64", int64_t, INT64_MIN, INT64_MAX);
