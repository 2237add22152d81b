/* SPDX-License-Identifier: MIT
 *
 * Datasets: data points and their labels in host memory, handed out in batches of whole shards. The order of the shards
 * is a permutation.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "ggml-alloc.h"
#include "ggml-impl.h"
#include "ggml-opt.h"
#include "graft.h"
#include "op/op.h"
#include "opt/opt.h"

/* One kind of values of a dataset: data or labels. */
struct column {
    struct ggml_tensor * tensor; /* [values of a point, points]; NULL: there are no labels */
    size_t               shard;  /* bytes */
};

struct ggml_opt_dataset {
    struct ggml_context * ctx;
    ggml_backend_buffer_t buffer;
    struct column         data, labels;
    int64_t               n_points;
    int64_t               n_shards;
    int64_t *             shards; /* permutation */
};

/* ---- making ---- */

static enum ggml_status make_column(struct ggml_context * ctx, enum ggml_type type, int64_t ne, int64_t n_points,
                                    int64_t shard_points, struct column * column) {
    if (ne == 0) {
        return GGML_STATUS_SUCCESS;
    }
    column->tensor = ggml_new_tensor_2d(ctx, type, ne, n_points);
    if (column->tensor == NULL) {
        return graft_context_status(ctx);
    }
    column->shard =
        column->tensor->nb[1] * (size_t) shard_points; /* not more than the tensor: shard_points <= n_points */
    return GGML_STATUS_SUCCESS;
}

static enum ggml_status make_dataset(struct ggml_opt_dataset * set, enum ggml_type type_data, enum ggml_type type_label,
                                     int64_t ne_point, int64_t ne_label, int64_t shard_points) {
    const struct ggml_init_params params = {
        .mem_size = 2 * ggml_tensor_overhead(), .mem_buffer = NULL, .no_alloc = true};
    size_t           bytes;
    enum ggml_status status;
    set->ctx = ggml_init(params);
    if (set->ctx == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "dataset: no memory for descriptors");
    }
    graft_set_checked(set->ctx, true);
    if ((status = make_column(set->ctx, type_data, ne_point, set->n_points, shard_points, &set->data)) ||
        (status = make_column(set->ctx, type_label, ne_label, set->n_points, shard_points, &set->labels))) {
        return status;
    }
    set->buffer = ggml_backend_alloc_ctx_tensors_from_buft(set->ctx, ggml_backend_cpu_buffer_type());
    if (set->buffer == NULL || !base_size_mul((size_t) set->n_shards, sizeof(set->shards[0]), &bytes) ||
        (set->shards = malloc(bytes)) == NULL) {
        return base_fail(GGML_STATUS_ALLOC_FAILED, "dataset: no memory for %" PRId64 " points", set->n_points);
    }
    for (int64_t i = 0; i < set->n_shards; i++) {
        set->shards[i] = i;
    }
    return GGML_STATUS_SUCCESS;
}

ggml_opt_dataset_t ggml_opt_dataset_init(enum ggml_type type_data, enum ggml_type type_label, int64_t ne_datapoint,
                                         int64_t ne_label, int64_t ndata, int64_t ndata_shard) {
    if (ne_datapoint <= 0 || ne_label < 0 || ndata <= 0 || ndata_shard <= 0 || ndata_shard > ndata) {
        base_fail(GGML_STATUS_FAILED,
                  "dataset: %" PRId64 " values and %" PRId64 " labels a point, %" PRId64 " points in shards of %" PRId64
                  ": expected positive numbers (labels may be 0) and a shard of no more than all points",
                  ne_datapoint, ne_label, ndata, ndata_shard);
        GGML_LOG_ERROR("%s\n", base_error_text());
        return NULL;
    }
    struct ggml_opt_dataset * set = calloc(1, sizeof(*set));
    if (set == NULL) {
        base_fail(GGML_STATUS_ALLOC_FAILED, "dataset: no memory");
        return NULL;
    }
    set->n_points = ndata;
    set->n_shards = ndata / ndata_shard;
    if (make_dataset(set, type_data, type_label, ne_datapoint, ne_label, ndata_shard) != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("%s\n", base_error_text());
        ggml_opt_dataset_free(set);
        return NULL;
    }
    return set;
}

void ggml_opt_dataset_free(ggml_opt_dataset_t dataset) {
    if (dataset == NULL) {
        return;
    }
    ggml_backend_buffer_free(dataset->buffer);
    ggml_free(dataset->ctx);
    free(dataset->shards);
    free(dataset);
}

int64_t ggml_opt_dataset_ndata(ggml_opt_dataset_t dataset) {
    return dataset->n_points;
}

struct ggml_tensor * ggml_opt_dataset_data(ggml_opt_dataset_t dataset) {
    return dataset->data.tensor;
}

struct ggml_tensor * ggml_opt_dataset_labels(ggml_opt_dataset_t dataset) {
    return dataset->labels.tensor;
}

/* The order comes from the generator of a training context, and there is none. */
void ggml_opt_dataset_shuffle(ggml_opt_context_t opt_ctx, ggml_opt_dataset_t dataset, int64_t idata) {
    (void) opt_ctx;
    (void) dataset;
    (void) idata;
    opt_unsupported(__func__);
}

/* ---- batches ---- */

/* Shards of a batch of so many bytes of data; 0, with a text, when the batch does not lie in the dataset. */
static int64_t batch_shards(const struct ggml_opt_dataset * set, size_t bytes, bool with_labels, int64_t ibatch) {
    const int64_t n = (int64_t) (bytes / set->data.shard);
    int64_t       end;
    if (with_labels != (set->labels.tensor != NULL)) {
        base_fail(GGML_STATUS_FAILED, "dataset: the batch has %s, the dataset has %s",
                  with_labels ? "labels" : "no labels", with_labels ? "none" : "some");
    } else if (n == 0 || bytes % set->data.shard != 0) {
        base_fail(GGML_STATUS_FAILED, "dataset: a batch of %zu bytes is not made of shards of %zu bytes", bytes,
                  set->data.shard);
    } else if (ibatch < 0 || !base_int64_add(ibatch, 1, &end) || !base_int64_mul(end, n, &end) || end > set->n_shards) {
        base_fail(GGML_STATUS_FAILED, "dataset: batch %" PRId64 " of %" PRId64 " shards: there are %" PRId64 " shards",
                  ibatch, n, set->n_shards);
    } else {
        return n;
    }
    GGML_LOG_ERROR("%s\n", base_error_text());
    return 0;
}

static const char * shard_bytes(const struct column * column, int64_t shard) {
    return (const char *) column->tensor->data + (size_t) shard * column->shard;
}

static bool fits_batch(const struct ggml_tensor * batch, const struct column * column, int64_t n) {
    if (batch == NULL) {
        return true;
    }
    if (batch->type == column->tensor->type && ggml_is_contiguous(batch) &&
        ggml_nbytes(batch) == (size_t) n * column->shard) {
        return true;
    }
    base_fail(GGML_STATUS_FAILED, "dataset: batch '%s' (%s) is no contiguous tensor for %" PRId64 " shards of %s",
              batch->name, op_describe(batch), n, op_describe(column->tensor));
    GGML_LOG_ERROR("%s\n", base_error_text());
    return false;
}

void ggml_opt_dataset_get_batch(ggml_opt_dataset_t dataset, struct ggml_tensor * data_batch,
                                struct ggml_tensor * labels_batch, int64_t ibatch) {
    GGML_ASSERT(data_batch != NULL);
    const int64_t n = batch_shards(dataset, ggml_nbytes(data_batch), labels_batch != NULL, ibatch);
    if (n == 0 || !fits_batch(data_batch, &dataset->data, n) || !fits_batch(labels_batch, &dataset->labels, n)) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t         shard  = dataset->shards[ibatch * n + i];
        const struct column * data   = &dataset->data;
        const struct column * labels = &dataset->labels;
        ggml_backend_tensor_set(data_batch, shard_bytes(data, shard), (size_t) i * data->shard, data->shard);
        if (labels_batch != NULL) {
            ggml_backend_tensor_set(labels_batch, shard_bytes(labels, shard), (size_t) i * labels->shard,
                                    labels->shard);
        }
    }
}

void ggml_opt_dataset_get_batch_host(ggml_opt_dataset_t dataset, void * data_batch, size_t nb_data_batch,
                                     void * labels_batch, int64_t ibatch) {
    const int64_t n = batch_shards(dataset, nb_data_batch, labels_batch != NULL, ibatch);
    for (int64_t i = 0; i < n; i++) {
        const int64_t         shard  = dataset->shards[ibatch * n + i];
        const struct column * data   = &dataset->data;
        const struct column * labels = &dataset->labels;
        memcpy((char *) data_batch + (size_t) i * data->shard, shard_bytes(data, shard), data->shard);
        if (labels_batch != NULL) {
            memcpy((char *) labels_batch + (size_t) i * labels->shard, shard_bytes(labels, shard), labels->shard);
        }
    }
}
