/* SPDX-License-Identifier: MIT
 *
 * ggml-opt.h: training: datasets, a context that holds forward, gradient and optimizer graphs, results, and loops
 * over them.
 *
 * Levels, from the top. ggml_opt_fit does everything. ggml_opt_epoch goes once over a dataset. ggml_opt_alloc and
 * ggml_opt_eval do one batch, for programs with loops of their own. All of them work on the tensors of a model whose
 * weights carry GGML_TENSOR_FLAG_PARAM (ggml_set_param).
 *
 * Static graphs: the forward graph is given once (ctx_compute, inputs and outputs in the parameters) and is the same
 * for every batch. Otherwise it is given for each batch with ggml_opt_prepare_alloc.
 *
 * A datapoint has ne_datapoint values of input and ne_label values of label. inputs is [ne_datapoint, batch]: the
 * physical batch, as many datapoints as one evaluation takes. A logical batch is opt_period physical ones, whose
 * gradients are summed before the optimizer makes its step.
 *
 * This library keeps datasets, parameters and empty results, but does not train: ggml_opt_init returns NULL with a
 * text, and the functions that take a context do nothing. The comments say what the interface means, for those who
 * build on it.
 *
 * Ownership: init goes with free, which takes NULL. One thread at a time for each object.
 */
#ifndef GGML_OPT_H
#define GGML_OPT_H

#include "ggml-backend.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_opt_dataset; /* datapoints and labels */
struct ggml_opt_context; /* graphs and state of one training */
struct ggml_opt_result;  /* losses and predictions, collected */

typedef struct ggml_opt_dataset * ggml_opt_dataset_t;
typedef struct ggml_opt_context * ggml_opt_context_t;
typedef struct ggml_opt_result *  ggml_opt_result_t;

/* ---------------------------------------------------------------- datasets */

/* ndata datapoints of ne_datapoint values with ne_label labels each (0: none), in host memory that the program then
 * fills. Shuffling and batches go by shards of ndata_shard datapoints that stay together; datapoints behind the last
 * whole shard are not used. NULL, with a text, for numbers that make no sense and without memory. */
GGML_API ggml_opt_dataset_t ggml_opt_dataset_init(enum ggml_type type_data, enum ggml_type type_label,
                                                  int64_t ne_datapoint, int64_t ne_label, int64_t ndata,
                                                  int64_t ndata_shard);
GGML_API void ggml_opt_dataset_free(ggml_opt_dataset_t dataset);

/* The number of datapoints; the tensors [ne_datapoint, ndata] and [ne_label, ndata] to fill (NULL without labels),
 * which belong to the dataset. */
GGML_API int64_t ggml_opt_dataset_ndata(ggml_opt_dataset_t dataset);
GGML_API struct ggml_tensor * ggml_opt_dataset_data(ggml_opt_dataset_t dataset);
GGML_API struct ggml_tensor * ggml_opt_dataset_labels(ggml_opt_dataset_t dataset);

/* Brings the shards of the first idata datapoints (negative: of all) into a random order, by the generator of the
 * context. */
GGML_API void ggml_opt_dataset_shuffle(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, int64_t idata);

/* Copies batch number ibatch, in the present order of the shards, to tensors with memory, contiguous and of the
 * dataset's types: [ne_datapoint, n] and [ne_label, n], n a multiple of the shard; or to host memory of
 * nb_data_batch bytes. The labels are NULL if and only if the dataset has none. A batch that does not lie in the
 * dataset is told in the log, and nothing is copied. */
GGML_API void ggml_opt_dataset_get_batch(ggml_opt_dataset_t dataset, struct ggml_tensor * data_batch,
                                         struct ggml_tensor * labels_batch, int64_t ibatch);
GGML_API void ggml_opt_dataset_get_batch_host(ggml_opt_dataset_t dataset, void * data_batch, size_t nb_data_batch,
                                              void * labels_batch, int64_t ibatch);

/* ---------------------------------------------------------------- parameters */

/* What training makes small. */
enum ggml_opt_loss_type {
    GGML_OPT_LOSS_TYPE_MEAN               = 0, /* mean of the outputs: a loss that the forward graph works out */
    GGML_OPT_LOSS_TYPE_SUM                = 1, /* sum of the outputs */
    GGML_OPT_LOSS_TYPE_CROSS_ENTROPY      = 2, /* ggml_cross_entropy_loss of outputs and labels */
    GGML_OPT_LOSS_TYPE_MEAN_SQUARED_ERROR = 3, /* mean of (outputs - labels)^2 */
};

/* How much is built for an evaluation; each has what the ones before have. */
enum ggml_opt_build_type {
    GGML_OPT_BUILD_TYPE_FORWARD = 10, /* loss and predictions */
    GGML_OPT_BUILD_TYPE_GRAD    = 20, /* and gradients, added to the accumulators */
    GGML_OPT_BUILD_TYPE_OPT     = 30, /* and a step of the optimizer */
};

enum ggml_opt_optimizer_type {
    GGML_OPT_OPTIMIZER_TYPE_ADAMW = 0, /* ggml_opt_step_adamw: two moments for each weight */
    GGML_OPT_OPTIMIZER_TYPE_SGD   = 1, /* ggml_opt_step_sgd: no state */
    GGML_OPT_OPTIMIZER_TYPE_COUNT = 2,
};

/* "adamw", "sgd"; "undefined" for another number. */
GGML_API const char * ggml_opt_optimizer_name(enum ggml_opt_optimizer_type optimizer);

/* Numbers of a step; formulas are at the operators in ggml.h. */
struct ggml_opt_optimizer_params {
    struct {
        float alpha; /* learning rate */
        float beta1; /* decay of the mean of gradients */
        float beta2; /* decay of the mean of squared gradients */
        float eps;   /* keeps the divisor from zero */
        float wd;    /* weight decay; 0 for none */
    } adamw;
    struct {
        float alpha; /* learning rate */
        float wd;    /* weight decay */
    } sgd;
};

/* Called before each step, so that a schedule can be followed. The one asked for has userdata from the parameters;
 * ggml_opt_fit gives a pointer to the number of the epoch (int64_t, from 1). */
typedef struct ggml_opt_optimizer_params (*ggml_opt_get_optimizer_params)(void * userdata);

/* Two such functions: alpha 0.001, betas 0.9 and 0.999, eps 1e-8, no decay; and what userdata points to. */
GGML_API struct ggml_opt_optimizer_params ggml_opt_get_default_optimizer_params(void * userdata);
GGML_API struct ggml_opt_optimizer_params ggml_opt_get_constant_optimizer_params(void * userdata);

struct ggml_opt_params {
    ggml_backend_sched_t backend_sched; /* runs the graphs; outlives the context */

    struct ggml_context * ctx_compute; /* of the forward graph, for static graphs; NULL otherwise, as the next two */
    struct ggml_tensor *  inputs;
    struct ggml_tensor *  outputs;

    enum ggml_opt_loss_type  loss_type;
    enum ggml_opt_build_type build_type;

    int32_t opt_period; /* physical batches for each step of the optimizer, 1 or more */

    ggml_opt_get_optimizer_params get_opt_pars;
    void *                        get_opt_pars_ud; /* its userdata */

    enum ggml_opt_optimizer_type optimizer;
};

/* Everything but the first member and the loss as usual: no static graphs, build OPT, period 1, AdamW with the
 * defaults above. */
GGML_API struct ggml_opt_params ggml_opt_default_params(ggml_backend_sched_t backend_sched,
                                                        enum ggml_opt_loss_type loss_type);

/* ---------------------------------------------------------------- contexts */

/* NULL on failure. */
GGML_API ggml_opt_context_t ggml_opt_init(struct ggml_opt_params params);
GGML_API void ggml_opt_free(ggml_opt_context_t opt_ctx);

/* Gradients (and loss) to zero; with optimizer = true the state of the optimizer instead. */
GGML_API void ggml_opt_reset(ggml_opt_context_t opt_ctx, bool optimizer);

/* Does it have one forward graph for all batches? */
GGML_API bool ggml_opt_static_graphs(ggml_opt_context_t opt_ctx);

/* Tensors of the present graph: what the program writes, and what the graph works out. pred: index of the greatest
 * output of each datapoint; ncorrect: how many of them are right. Those that do not fit the loss are NULL. */
GGML_API struct ggml_tensor * ggml_opt_inputs(ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_outputs(ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_labels(ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_loss(ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_pred(ggml_opt_context_t opt_ctx);
GGML_API struct ggml_tensor * ggml_opt_ncorrect(ggml_opt_context_t opt_ctx);

/* The gradient accumulator of a node of the forward graph; NULL when it has none. */
GGML_API struct ggml_tensor * ggml_opt_grad_acc(ggml_opt_context_t opt_ctx, struct ggml_tensor * node);
GGML_API enum ggml_opt_optimizer_type ggml_opt_context_optimizer_type(ggml_opt_context_t opt_ctx);

/* ---------------------------------------------------------------- results */

/* Collects over evaluations; reset empties it. */
GGML_API ggml_opt_result_t ggml_opt_result_init(void);
GGML_API void ggml_opt_result_free(ggml_opt_result_t result);
GGML_API void ggml_opt_result_reset(ggml_opt_result_t result);

/* Datapoints seen; the loss, as a mean (or a sum, for that loss), and the accuracy, each with its standard error
 * (unc may be NULL; NaN while there is nothing to estimate it from); the prediction of each datapoint, ndata
 * numbers. */
GGML_API void ggml_opt_result_ndata(ggml_opt_result_t result, int64_t * ndata);
GGML_API void ggml_opt_result_loss(ggml_opt_result_t result, double * loss, double * unc);
GGML_API void ggml_opt_result_accuracy(ggml_opt_result_t result, double * accuracy, double * unc);
GGML_API void ggml_opt_result_pred(ggml_opt_result_t result, int32_t * pred);

/* ---------------------------------------------------------------- one batch */

/* The forward graph of the next batch, when graphs are not static: gf with all of it, in ctx_compute. */
GGML_API void ggml_opt_prepare_alloc(ggml_opt_context_t opt_ctx, struct ggml_context * ctx_compute,
                                     struct ggml_cgraph * gf, struct ggml_tensor * inputs,
                                     struct ggml_tensor * outputs);

/* Gives memory to the graph of the next evaluation, so that inputs and labels can be written; backward: with
 * gradients, and the optimizer's step at the end of a period. */
GGML_API void ggml_opt_alloc(ggml_opt_context_t opt_ctx, bool backward);

/* Computes it, and adds what came out to result (may be NULL). */
GGML_API void ggml_opt_eval(ggml_opt_context_t opt_ctx, ggml_opt_result_t result);

/* ---------------------------------------------------------------- loops */

/* Called after each batch: ibatch of ibatch_max, those of training or of evaluation apart; t_start_us: ggml_time_us
 * at the begin. */
typedef void (*ggml_opt_epoch_callback)(bool train, ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset,
                                        ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max,
                                        int64_t t_start_us);

/* Trains on the datapoints before idata_split (negative: on all) and evaluates those behind it, once. Static graphs.
 * Results and callbacks may be NULL. */
GGML_API void ggml_opt_epoch(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, ggml_opt_result_t result_train,
                             ggml_opt_result_t result_eval, int64_t idata_split, ggml_opt_epoch_callback callback_train,
                             ggml_opt_epoch_callback callback_eval);

/* Such a callback: a bar with loss, accuracy and the time left. */
GGML_API void ggml_opt_epoch_callback_progress_bar(bool train, ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset,
                                                   ggml_opt_result_t result, int64_t ibatch, int64_t ibatch_max,
                                                   int64_t t_start_us);

/* nepoch epochs with everything around them. nbatch_logical: datapoints for each step, a multiple of the physical
 * batch; val_split: share of the dataset, at its end, that is kept for evaluation, 0 to below 1; silent: no
 * progress. inputs and outputs belong to ctx_compute. */
GGML_API void ggml_opt_fit(ggml_backend_sched_t backend_sched, struct ggml_context * ctx_compute,
                           struct ggml_tensor * inputs, struct ggml_tensor * outputs, ggml_opt_dataset_t dataset,
                           enum ggml_opt_loss_type loss_type, enum ggml_opt_optimizer_type optimizer,
                           ggml_opt_get_optimizer_params get_opt_pars, int64_t nepoch, int64_t nbatch_logical,
                           float val_split, bool silent);

#ifdef __cplusplus
}
#endif

#endif /* GGML_OPT_H */
