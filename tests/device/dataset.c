/* SPDX-License-Identifier: MIT
 *
 * Datasets of training, parameters of optimizers, and the rest of ggml-opt.h, which says that it does not train.
 */
#include <math.h>

#include "device/support.h"
#include "ggml-opt.h"

enum { POINTS = 10, SHARD = 2, VALUES = 3, LABELS = 2 };

static ggml_opt_dataset_t filled(int labels) {
    ggml_opt_dataset_t set = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_I32, VALUES, labels, POINTS, SHARD);
    if (set == NULL) {
        return NULL;
    }
    for (int i = 0; i < POINTS * VALUES; i++) {
        ((float *) ggml_opt_dataset_data(set)->data)[i] = (float) i;
    }
    for (int i = 0; i < POINTS * labels; i++) {
        ((int32_t *) ggml_opt_dataset_labels(set)->data)[i] = -i;
    }
    return set;
}

TEST(batches) {
    ggml_opt_dataset_t set = filled(LABELS);
    REQUIRE(set != NULL);
    CHECK(ggml_opt_dataset_ndata(set) == POINTS);
    CHECK(ggml_opt_dataset_data(set)->ne[0] == VALUES && ggml_opt_dataset_data(set)->ne[1] == POINTS);
    CHECK(ggml_opt_dataset_labels(set)->ne[0] == LABELS && ggml_opt_dataset_labels(set)->ne[1] == POINTS);

    struct ggml_context * ctx    = test_context();
    struct ggml_tensor *  data   = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, VALUES, 2 * SHARD);
    struct ggml_tensor *  labels = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, LABELS, 2 * SHARD);
    struct ggml_tensor *  odd    = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, VALUES, 2 * SHARD + 1);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_cpu_buffer_type());
    float                 host[2 * SHARD * VALUES];
    int32_t               host_labels[2 * SHARD * LABELS];
    for (int batch = 0; batch < 2; batch++) {
        ggml_opt_dataset_get_batch(set, data, labels, batch);
        ggml_opt_dataset_get_batch_host(set, host, sizeof(host), host_labels, batch);
        for (int i = 0; i < 2 * SHARD * VALUES; i++) {
            CHECK(((float *) data->data)[i] == (float) (batch * 2 * SHARD * VALUES + i));
            CHECK(host[i] == ((float *) data->data)[i]);
        }
        for (int i = 0; i < 2 * SHARD * LABELS; i++) {
            CHECK(((int32_t *) labels->data)[i] == -(batch * 2 * SHARD * LABELS + i));
            CHECK(host_labels[i] == ((int32_t *) labels->data)[i]);
        }
    }
    /* batches that are not there: a text, and nothing is written */
    log_begin();
    memset(data->data, 0, ggml_nbytes(data));
    const int64_t beyond[] = {2, -1, INT64_MAX, INT64_MAX / 2};
    for (int i = 0; i < 4; i++) {
        ggml_opt_dataset_get_batch(set, data, labels, beyond[i]);
        ggml_opt_dataset_get_batch_host(set, host, sizeof(host), host_labels, beyond[i]);
        CHECK(strstr(ggml_ext_last_error(), "shards") != NULL);
    }
    ggml_opt_dataset_get_batch(set, data, NULL, 0);
    CHECK(strstr(ggml_ext_last_error(), "labels") != NULL);
    ggml_opt_dataset_get_batch(set, odd, labels, 0);
    ggml_opt_dataset_get_batch(set, labels, labels, 0);
    for (int i = 0; i < 2 * SHARD * VALUES; i++) {
        CHECK(((float *) data->data)[i] == 0);
    }
    ggml_log_set(NULL, NULL);
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    ggml_opt_dataset_free(set);
}

TEST(datasets_without_labels) {
    ggml_opt_dataset_t set = filled(0);
    REQUIRE(set != NULL);
    float host[SHARD * VALUES];
    CHECK(ggml_opt_dataset_labels(set) == NULL);
    ggml_opt_dataset_get_batch_host(set, host, sizeof(host), NULL, 4);
    CHECK(host[0] == (float) (4 * SHARD * VALUES));
    ggml_opt_dataset_free(set);
    ggml_opt_dataset_free(NULL);
}

TEST(datasets_that_cannot_be) {
    const int64_t bad[][4] = {{0, 1, 1, 1},
                              {1, -1, 1, 1},
                              {1, 1, 0, 1},
                              {1, 1, 1, 0},
                              {1, 1, 1, 2},
                              {-5, 1, 1, 1},
                              {INT64_MAX / 2, 0, INT64_MAX / 2, 1}};
    log_begin();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, bad[i][0], bad[i][1], bad[i][2], bad[i][3]) == NULL);
        CHECK(ggml_ext_last_error()[0] != 0);
    }
    ggml_log_set(NULL, NULL);
}

TEST(parameters) {
    const struct ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(NULL);
    CHECK(p.adamw.alpha == 0.001f && p.adamw.beta1 == 0.9f && p.adamw.beta2 == 0.999f && p.adamw.eps == 1e-8f);
    CHECK(p.adamw.wd == 0 && p.sgd.alpha == 1e-3f && p.sgd.wd == 0);
    struct ggml_opt_optimizer_params mine = p;
    mine.sgd.alpha                        = 5;
    CHECK(ggml_opt_get_constant_optimizer_params(&mine).sgd.alpha == 5);
    const struct ggml_opt_params d = ggml_opt_default_params(NULL, GGML_OPT_LOSS_TYPE_SUM);
    CHECK(d.loss_type == GGML_OPT_LOSS_TYPE_SUM && d.build_type == GGML_OPT_BUILD_TYPE_OPT && d.opt_period == 1);
    CHECK(d.get_opt_pars == ggml_opt_get_default_optimizer_params && d.optimizer == GGML_OPT_OPTIMIZER_TYPE_ADAMW);
    CHECK(strcmp(ggml_opt_optimizer_name(GGML_OPT_OPTIMIZER_TYPE_ADAMW), "adamw") == 0);
    CHECK(strcmp(ggml_opt_optimizer_name(GGML_OPT_OPTIMIZER_TYPE_SGD), "sgd") == 0);
    CHECK(strcmp(ggml_opt_optimizer_name((enum ggml_opt_optimizer_type) 9), "undefined") == 0);
}

TEST(results_are_empty) {
    ggml_opt_result_t result = ggml_opt_result_init();
    int64_t           n      = 5;
    double            value = 5, uncertainty = 5;
    REQUIRE(result != NULL);
    ggml_opt_result_reset(result);
    ggml_opt_result_ndata(result, &n);
    CHECK(n == 0);
    ggml_opt_result_loss(result, &value, &uncertainty);
    CHECK(value == 0 && isnan(uncertainty));
    ggml_opt_result_accuracy(result, &value, NULL);
    CHECK(isnan(value));
    ggml_opt_result_free(result);
}

TEST(no_training) {
    log_begin();
    CHECK(ggml_opt_init(ggml_opt_default_params(NULL, GGML_OPT_LOSS_TYPE_MEAN)) == NULL);
    CHECK(strstr(ggml_ext_last_error(), "does not train") != NULL && log_has("does not train"));
    logged[0] = 0;
    ggml_opt_eval(NULL, NULL);
    CHECK(strstr(ggml_ext_last_error(), "ggml_opt_eval") != NULL && logged[0] == 0); /* the log was told once */
    CHECK(ggml_opt_loss(NULL) == NULL && !ggml_opt_static_graphs(NULL));
    ggml_opt_free(NULL);
    ggml_log_set(NULL, NULL);
}
