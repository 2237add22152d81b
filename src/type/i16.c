/* SPDX-License-Identifier: MIT
 *
 * I16: signed integers of 16 bits.
 */
#include "type/number.h"

TYPE_INTEGER_ROW(type_row_i16, GGML_TYPE_I16, "i16", int16_t, INT16_MIN, INT16_MAX);
