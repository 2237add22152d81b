/* SPDX-License-Identifier: MIT
 *
 * The kernel rows of the CPU, one for each operator, expanded from the list of operators. An operator without a kernel has no
 * row: the weak reference is NULL, and the capability query answers no.
 */
#include "backend.h"
#include "pack/pack.h"

#define OP(constant, name) extern const struct ggml_ext_kernel_desc cpu_op_##name __attribute__((weak));
#include "op/op.inc"
#undef OP

extern const struct ggml_ext_kernel_desc cpu_pack_mul_mat, cpu_pack_mul_mat_id; /* these read packed weights */

static const struct ggml_ext_kernel_desc * const rows[] = {
#define OP(constant, name) &cpu_op_##name,
#include "op/op.inc"
#undef OP
};

static const struct ggml_ext_kernel_desc * const packed_rows[] = { &cpu_pack_mul_mat, &cpu_pack_mul_mat_id };

#define N_ROWS   (sizeof(rows) / sizeof(rows[0]))
#define N_PACKED (sizeof(packed_rows) / sizeof(packed_rows[0]))

enum ggml_status cpu_register_rows(ggml_backend_dev_t device) {
    static size_t    n_done; /* goes on where a lack of memory stopped it */
    enum ggml_status status = GGML_STATUS_SUCCESS;
    for (; n_done < N_ROWS + N_PACKED && status == GGML_STATUS_SUCCESS; n_done += status == GGML_STATUS_SUCCESS) {
        if (n_done >= N_ROWS) {
            status = graft_register_packed(device, packed_rows[n_done - N_ROWS], cpu_pack_buffer_type());
        } else if (rows[n_done] != NULL) {
            status = graft_register_native(device, rows[n_done]);
        }
    }
    return status;
}
