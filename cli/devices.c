/* SPDX-License-Identifier: MIT
 *
 * graft devices: what there is to compute on, and with which kernels.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "ggml-backend.h"
#include "ggml-ext.h"
#include "table.h"

struct options {
    bool json, kernels;
};

static const struct argp_option option_list[] = {
    { "json", 'j', 0, 0, "print JSON", 0 },
    { "kernels", 'k', 0, 0, "list every kernel row of each device, with priority and policy", 0 },
    { 0 },
};

static error_t parse(int key, char * arg, struct argp_state * state) {
    struct options * o = state->input;
    (void) arg;
    if (key == 'j') {
        o->json = true;
    } else if (key == 'k') {
        o->kernels = true;
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = { option_list, parse, NULL, "Lists devices, their memory and features, and their kernels.", 0, 0, 0 };

static const struct ggml_backend_feature * features_of(ggml_backend_dev_t device) {
    static const struct ggml_backend_feature none = { NULL, NULL };
    ggml_backend_reg_t                       reg  = ggml_backend_dev_backend_reg(device);
    ggml_backend_get_features_t get = (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features");
    return get != NULL ? get(reg) : &none;
}

static const char * policy_name(enum ggml_ext_policy policy) {
    return policy == GGML_EXT_POLICY_OFF ? "off" : policy == GGML_EXT_POLICY_FORCE ? "force" : "auto";
}

static bool print_kernels(ggml_backend_dev_t device) {
    static const char * const columns[] = { "KERNEL", "OPERATOR", ">PRIORITY", "KIND", "POLICY", NULL };
    struct table *            table     = table_new(columns);
    for (size_t i = 0; i < ggml_ext_kernel_count(device); i++) {
        struct ggml_ext_kernel_info info = { .size = sizeof(info) };
        char                        priority[16];
        if (ggml_ext_kernel_get(device, i, &info) != GGML_STATUS_SUCCESS) {
            continue;
        }
        snprintf(priority, sizeof(priority), "%d", info.priority);
        const char * cells[] = { info.name, info.op, priority, info.fusion ? (info.single ? "both" : "fusion") : "single",
                                 policy_name(info.policy) };
        if (!table_add(table, cells)) {
            return false;
        }
    }
    return table_print(table);
}

static bool print_tables(const struct options * o) {
    static const char * const columns[] = { "DEVICE", "DESCRIPTION", ">FREE", ">TOTAL", ">KERNELS", "FEATURES", NULL };
    struct table *            table     = table_new(columns);
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        struct ggml_backend_dev_props props;
        ggml_backend_dev_t            device = ggml_backend_dev_get(i);
        char                          features[1024] = "", free_text[32], total_text[32], kernels[32];
        ggml_backend_dev_get_props(device, &props);
        for (const struct ggml_backend_feature * f = features_of(device); f->name != NULL; f++) {
            const size_t n = strlen(features);
            snprintf(features + n, sizeof(features) - n, "%s%s", n > 0 ? " " : "", f->name);
        }
        snprintf(kernels, sizeof(kernels), "%zu", ggml_ext_kernel_count(device));
        const char * cells[] = { props.name, props.description, table_bytes(free_text, sizeof(free_text), props.memory_free),
                                 table_bytes(total_text, sizeof(total_text), props.memory_total), kernels, features };
        if (!table_add(table, cells)) {
            return false;
        }
    }
    bool ok = table_print(table);
    for (size_t i = 0; ok && o->kernels && i < ggml_backend_dev_count(); i++) {
        printf("\nKernels of %s\n", ggml_backend_dev_name(ggml_backend_dev_get(i)));
        ok = print_kernels(ggml_backend_dev_get(i));
    }
    return ok;
}

static cJSON * kernels_json(ggml_backend_dev_t device) {
    cJSON * list = cJSON_CreateArray();
    for (size_t i = 0; i < ggml_ext_kernel_count(device); i++) {
        struct ggml_ext_kernel_info info = { .size = sizeof(info) };
        if (ggml_ext_kernel_get(device, i, &info) == GGML_STATUS_SUCCESS) {
            cJSON * item = cJSON_CreateObject();
            cJSON_AddStringToObject(item, "name", info.name);
            cJSON_AddStringToObject(item, "operator", info.op);
            cJSON_AddNumberToObject(item, "priority", info.priority);
            cJSON_AddBoolToObject(item, "single", info.single);
            cJSON_AddBoolToObject(item, "fusion", info.fusion);
            cJSON_AddStringToObject(item, "policy", policy_name(info.policy));
            cJSON_AddItemToArray(list, item);
        }
    }
    return list;
}

static bool print_json(void) {
    cJSON * list = cJSON_CreateArray();
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        struct ggml_backend_dev_props props;
        ggml_backend_dev_t            device = ggml_backend_dev_get(i);
        cJSON *                       item   = cJSON_CreateObject();
        ggml_backend_dev_get_props(device, &props);
        cJSON_AddStringToObject(item, "name", props.name);
        cJSON_AddStringToObject(item, "description", props.description);
        cJSON_AddNumberToObject(item, "memory_free", (double) props.memory_free);
        cJSON_AddNumberToObject(item, "memory_total", (double) props.memory_total);
        cJSON * features = cJSON_AddObjectToObject(item, "features");
        for (const struct ggml_backend_feature * f = features_of(device); f->name != NULL; f++) {
            cJSON_AddStringToObject(features, f->name, f->value);
        }
        cJSON_AddItemToObject(item, "kernels", kernels_json(device));
        cJSON_AddItemToArray(list, item);
    }
    return json_print(list);
}

int command_devices(int argc, char ** argv) {
    struct options o = { 0 };
    if (argp_parse(&parser, argc, argv, 0, NULL, &o) != 0) {
        return 2;
    }
    command_capture_log(false);
    ggml_backend_load_all();
    return (o.json ? print_json() : print_tables(&o)) ? 0 : command_failed("no memory for the table");
}
