/* SPDX-License-Identifier: MIT
 *
 * The kernel rows of the CPU, one for each operator, expanded from the list of operators. An operator without a kernel has no
 * row: the weak reference is NULL, and the capability query answers no.
 */
#include "backend.h"

#define OP(constant, name) extern const struct ggml_ext_kernel_desc cpu_op_##name __attribute__((weak));
#include "op/op.inc"
#undef OP

static const struct ggml_ext_kernel_desc * const rows[] = {
#define OP(constant, name) &cpu_op_##name,
#include "op/op.inc"
#undef OP
};

extern const struct ggml_ext_kernel_desc cpu_pack_mul_mat __attribute__((weak));
extern const struct ggml_ext_kernel_desc cpu_pack_mul_mat_id __attribute__((weak));

void cpu_register_rows(ggml_backend_dev_t device) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i] != NULL) {
            graft_register_native(device, rows[i]);
        }
    }
    if (&cpu_pack_mul_mat != NULL) {
        graft_register_native(device, &cpu_pack_mul_mat);
    }
    if (&cpu_pack_mul_mat_id != NULL) {
        graft_register_native(device, &cpu_pack_mul_mat_id);
    }
}
