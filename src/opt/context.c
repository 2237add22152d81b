/* SPDX-License-Identifier: MIT
 *
 * Training contexts. This library does not train: there is no context, every call says so in its text, and the first
 * one in the log.
 */
#include <stdatomic.h>

#include "base/status.h"
#include "ggml-impl.h"
#include "ggml-opt.h"
#include "opt/opt.h"

void opt_unsupported(const char * function) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    base_fail(GGML_STATUS_FAILED, "%s: this library does not train", function);
    if (!atomic_flag_test_and_set(&told)) {
        GGML_LOG_ERROR("%s\n", base_error_text());
    }
}

ggml_opt_context_t ggml_opt_init(struct ggml_opt_params params) {
    (void) params;
    opt_unsupported(__func__);
    return NULL;
}

void ggml_opt_free(ggml_opt_context_t opt_ctx) {
    (void) opt_ctx; /* NULL, as there is no other */
}

/* The rest takes a context, which nobody can have. */
#define NOTHING(result, name, params) \
    result name params {              \
        opt_unsupported(#name);       \
        return (result) 0;            \
    }

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

NOTHING(bool, ggml_opt_static_graphs, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_inputs, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_outputs, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_labels, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_loss, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_pred, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_ncorrect, (ggml_opt_context_t opt_ctx))
NOTHING(struct ggml_tensor *, ggml_opt_grad_acc, (ggml_opt_context_t opt_ctx, struct ggml_tensor * node))
NOTHING(enum ggml_opt_optimizer_type, ggml_opt_context_optimizer_type, (ggml_opt_context_t opt_ctx))
NOTHING(void, ggml_opt_reset, (ggml_opt_context_t opt_ctx, bool optimizer))
NOTHING(void, ggml_opt_alloc, (ggml_opt_context_t opt_ctx, bool backward))
NOTHING(void, ggml_opt_eval, (ggml_opt_context_t opt_ctx, ggml_opt_result_t result))
NOTHING(void, ggml_opt_prepare_alloc,
        (ggml_opt_context_t opt_ctx, struct ggml_context * ctx_compute, struct ggml_cgraph * gf,
         struct ggml_tensor * inputs, struct ggml_tensor * outputs))
NOTHING(void, ggml_opt_epoch,
        (ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, ggml_opt_result_t result_train,
         ggml_opt_result_t result_eval, int64_t idata_split, ggml_opt_epoch_callback callback_train,
         ggml_opt_epoch_callback callback_eval))
NOTHING(void, ggml_opt_epoch_callback_progress_bar,
        (bool train, ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, ggml_opt_result_t result, int64_t ibatch,
         int64_t ibatch_max, int64_t t_start_us))
NOTHING(void, ggml_opt_fit,
        (ggml_backend_sched_t backend_sched, struct ggml_context * ctx_compute, struct ggml_tensor * inputs,
         struct ggml_tensor * outputs, ggml_opt_dataset_t dataset, enum ggml_opt_loss_type loss_type,
         enum ggml_opt_optimizer_type optimizer, ggml_opt_get_optimizer_params get_opt_pars, int64_t nepoch,
         int64_t nbatch_logical, float val_split, bool silent))
