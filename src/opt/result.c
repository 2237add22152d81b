/* SPDX-License-Identifier: MIT
 *
 * Results of training. As nothing trains, a result is empty: no points, loss 0, and no accuracy.
 */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "ggml-opt.h"

struct ggml_opt_result {
    int64_t n_points;
};

ggml_opt_result_t ggml_opt_result_init(void) {
    ggml_opt_result_t result = calloc(1, sizeof(*result));
    if (result == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "no memory for a result of training");
    }
    return result;
}

void ggml_opt_result_free(ggml_opt_result_t result) {
    free(result);
}

void ggml_opt_result_reset(ggml_opt_result_t result) {
    *result = (struct ggml_opt_result){0};
}

void ggml_opt_result_ndata(ggml_opt_result_t result, int64_t * ndata) {
    *ndata = result->n_points;
}

static void no_estimate(double * value, double nothing, double * uncertainty) {
    *value = nothing;
    if (uncertainty != NULL) {
        *uncertainty = (double) NAN;
    }
}

void ggml_opt_result_loss(ggml_opt_result_t result, double * loss, double * unc) {
    (void) result;
    no_estimate(loss, 0.0, unc);
}

void ggml_opt_result_accuracy(ggml_opt_result_t result, double * accuracy, double * unc) {
    (void) result;
    no_estimate(accuracy, (double) NAN, unc);
}

/* Writes one number for each point: none. */
void ggml_opt_result_pred(ggml_opt_result_t result, int32_t * pred) {
    (void) result;
    (void) pred;
}
