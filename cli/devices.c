/* SPDX-License-Identifier: MIT
 *
 * graft devices: what there is to compute on, and with which kernels.
 */
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
    { "kernels", 'k', 0, 0, "list every kernel of each device", 0 },
    { 0 },
};

static error_t parse(int key, char * arg, struct argp_state * state) {
    struct options * o = state->input;
    if (key == 'j') {
        o->json = true;
    } else if (key == 'k') {
        o->kernels = true;
    } else if (key == ARGP_KEY_ARG) {
        command_wrong(state, "'%s' is not expected", arg);
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    option_list, parse, NULL, "Lists devices, their memory and features, and their kernels.", 0, 0, 0
};

/* ---- what a device says ---- */

static const struct ggml_backend_feature * features_of(ggml_backend_dev_t device) {
    static const struct ggml_backend_feature none = { NULL, NULL };
    ggml_backend_reg_t                       reg  = ggml_backend_dev_backend_reg(device);
    ggml_backend_get_features_t              get =
        (ggml_backend_get_features_t) ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features");
    return get != NULL ? get(reg) : &none;
}

/* The micro-kernel that dispatch chose for the i-th slot; returns the number of slots. */
typedef size_t (*chosen_fn)(size_t i, const char ** slot, const char ** isa);

static size_t chosen_none(size_t i, const char ** slot, const char ** isa) {
    (void) i;
    (void) slot;
    (void) isa;
    return 0;
}

static chosen_fn chosen_of(ggml_backend_dev_t device) {
    void * proc = ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "graft_cpu_kernels");
    return proc != NULL ? (chosen_fn) proc : chosen_none;
}

static const char * policy_name(enum ggml_ext_policy policy) {
    return policy == GGML_EXT_POLICY_OFF ? "off" : policy == GGML_EXT_POLICY_FORCE ? "force" : "auto";
}

/* ---- tables ---- */

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
        const char * cells[] = { info.name, info.op, priority,
                                 info.fusion ? (info.single ? "both" : "fusion") : "single", policy_name(info.policy) };
        if (!table_add(table, cells)) {
            return false;
        }
    }
    printf("\nOperator kernels of %s\n", ggml_backend_dev_name(device));
    return table_print(table, stdout);
}

static bool print_chosen(ggml_backend_dev_t device) {
    static const char * const columns[] = { "MICRO-KERNEL", "INSTRUCTION SET", NULL };
    const chosen_fn           chosen    = chosen_of(device);
    const char *              cells[2]  = { NULL, NULL };
    const size_t              n         = chosen(0, &cells[0], &cells[1]);
    struct table *            table     = table_new(columns);
    bool                      ok        = table != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        chosen(i, &cells[0], &cells[1]);
        ok = table_add(table, cells);
    }
    printf("\nMicro-kernels of %s\n", ggml_backend_dev_name(device));
    return table_print(table, stdout) && ok;
}

/* Words in lines of at most 80 columns. */
static void print_word(const char * word, size_t * column) {
    if (*column + 1 + strlen(word) > 80) {
        *column = (size_t) printf("\n ") - 1;
    }
    *column += (size_t) printf(" %s", word);
}

static void print_features(ggml_backend_dev_t device) {
    size_t column = (size_t) printf("\nFeatures of %s:", ggml_backend_dev_name(device)) - 1;
    for (const struct ggml_backend_feature * f = features_of(device); f->name != NULL; f++) {
        char word[128];
        snprintf(word, sizeof(word), strcmp(f->value, "1") == 0 ? "%s" : "%s=%s", f->name, f->value);
        print_word(word, &column);
    }
    puts("");
}

/* How many micro-kernels of each instruction set were chosen. */
static void print_isas(ggml_backend_dev_t device) {
    const chosen_fn chosen = chosen_of(device);
    const char *    slot = NULL, *isa = NULL, *other = NULL;
    const size_t    n      = chosen(0, &slot, &isa);
    size_t          column = n > 0 ? (size_t) printf("Micro-kernels of %s:", ggml_backend_dev_name(device)) : 0;
    for (size_t i = 0, listed = 0; i < n; i++) {
        size_t count = 0, before = 0;
        chosen(i, &slot, &isa);
        for (size_t j = 0; j < n; j++) {
            chosen(j, &slot, &other);
            count += strcmp(isa, other) == 0;
            before += j < i && strcmp(isa, other) == 0;
        }
        if (before == 0) {
            char word[128];
            listed += count;
            snprintf(word, sizeof(word), "%zu %s%s", count, isa, listed < n ? "," : "\n");
            print_word(word, &column);
        }
    }
}

static bool print_tables(const struct options * o) {
    static const char * const columns[] = { "DEVICE", "~DESCRIPTION", ">FREE", ">TOTAL", ">KERNELS", NULL };
    struct table *            table     = table_new(columns);
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        struct ggml_backend_dev_props props;
        ggml_backend_dev_t            device = ggml_backend_dev_get(i);
        char                          free_text[32], total_text[32], kernels[32];
        ggml_backend_dev_get_props(device, &props);
        snprintf(kernels, sizeof(kernels), "%zu", ggml_ext_kernel_count(device));
        const char * cells[] = { props.name, props.description,
                                 table_bytes(free_text, sizeof(free_text), props.memory_free),
                                 table_bytes(total_text, sizeof(total_text), props.memory_total), kernels };
        if (!table_add(table, cells)) {
            return false;
        }
    }
    bool ok = table_print(table, stdout);
    for (size_t i = 0; ok && i < ggml_backend_dev_count(); i++) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        print_features(device);
        print_isas(device);
        ok = !o->kernels || (print_kernels(device) && print_chosen(device));
    }
    return ok;
}

/* ---- JSON ---- */

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

static cJSON * chosen_json(ggml_backend_dev_t device) {
    cJSON *         object = cJSON_CreateObject();
    const chosen_fn chosen = chosen_of(device);
    const char *    slot = NULL, *isa = NULL;
    const size_t    n = chosen(0, &slot, &isa);
    for (size_t i = 0; i < n; i++) {
        chosen(i, &slot, &isa);
        cJSON_AddStringToObject(object, slot, isa);
    }
    return object;
}

static bool print_json(void) {
    cJSON * list = cJSON_CreateArray();
    for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
        struct ggml_backend_dev_props props;
        ggml_backend_dev_t            device = ggml_backend_dev_get(i);
        cJSON *                       item   = cJSON_CreateObject();
        ggml_backend_dev_get_props(device, &props);
        json_add_text(item, "name", props.name);
        json_add_text(item, "description", props.description);
        cJSON_AddNumberToObject(item, "memory_free", (double) props.memory_free);
        cJSON_AddNumberToObject(item, "memory_total", (double) props.memory_total);
        cJSON * features = cJSON_AddObjectToObject(item, "features");
        for (const struct ggml_backend_feature * f = features_of(device); f->name != NULL; f++) {
            json_add_text(features, f->name, f->value);
        }
        cJSON_AddItemToObject(item, "kernels", kernels_json(device));
        cJSON_AddItemToObject(item, "micro_kernels", chosen_json(device));
        cJSON_AddItemToArray(list, item);
    }
    return json_print(list);
}

int command_devices(int argc, char ** argv) {
    struct options o = { 0 };
    if (argp_parse(&parser, argc, argv, 0, NULL, &o) != 0) {
        return 2;
    }
    command_set_log(false);
    ggml_backend_load_all();
    return (o.json ? print_json() : print_tables(&o)) ? 0 : command_failed("no memory for the table");
}
