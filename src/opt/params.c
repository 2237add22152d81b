/* SPDX-License-Identifier: MIT
 *
 * Parameters of training and of its optimizers.
 */
#include "ggml-opt.h"

const char * ggml_opt_optimizer_name(enum ggml_opt_optimizer_type type) {
    static const char * const names[GGML_OPT_OPTIMIZER_TYPE_COUNT] = {
        [GGML_OPT_OPTIMIZER_TYPE_ADAMW] = "adamw",
        [GGML_OPT_OPTIMIZER_TYPE_SGD]   = "sgd",
    };
    return (unsigned) type < GGML_OPT_OPTIMIZER_TYPE_COUNT ? names[type] : "undefined";
}

struct ggml_opt_optimizer_params ggml_opt_get_default_optimizer_params(void * userdata) {
    (void) userdata;
    return (struct ggml_opt_optimizer_params){
        .adamw = {.alpha = 1e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .wd = 0.0f},
        .sgd   = {.alpha = 1e-3f, .wd = 0.0f},
    };
}

/* userdata is a struct ggml_opt_optimizer_params. */
struct ggml_opt_optimizer_params ggml_opt_get_constant_optimizer_params(void * userdata) {
    return *(const struct ggml_opt_optimizer_params *) userdata;
}

struct ggml_opt_params ggml_opt_default_params(ggml_backend_sched_t backend_sched, enum ggml_opt_loss_type loss_type) {
    return (struct ggml_opt_params){
        .backend_sched = backend_sched,
        .loss_type     = loss_type,
        .build_type    = GGML_OPT_BUILD_TYPE_OPT,
        .opt_period    = 1,
        .get_opt_pars  = ggml_opt_get_default_optimizer_params,
        .optimizer     = GGML_OPT_OPTIMIZER_TYPE_ADAMW,
    };
}
