/* SPDX-License-Identifier: MIT
 *
 * graft info: keys, tensors and sizes of a GGUF file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "ggml-ext.h"
#include "ggml.h"
#include "gguf.h"
#include "table.h"
#include "utf8.h"

struct options {
    bool         json, tensors;
    const char * path;
};

static const struct argp_option option_list[] = {
    { "json", 'j', 0, 0, "print JSON", 0 },
    { "tensors", 't', 0, 0, "list every tensor", 0 },
    { 0 },
};

static error_t parse(int key, char * arg, struct argp_state * state) {
    struct options * o = state->input;
    if (key == 'j') {
        o->json = true;
    } else if (key == 't') {
        o->tensors = true;
    } else if (key == ARGP_KEY_ARG && o->path == NULL) {
        o->path = arg;
    } else if (key == ARGP_KEY_ARG) {
        command_wrong(state, "one file is expected, found '%s' too", arg);
    } else if (key == ARGP_KEY_END && o->path == NULL) {
        command_wrong(state, "a file is expected");
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = { option_list, parse, "FILE.gguf", "Shows keys, tensors and sizes of a GGUF file.", 0,
                                    0,           0 };

/* Text of a value, or of an element of an array. */
static void scalar_text(enum gguf_type type, const void * at, char * text, size_t n) {
    switch (type) {
        case GGUF_TYPE_UINT8: snprintf(text, n, "%" PRIu8, *(const uint8_t *) at); break;
        case GGUF_TYPE_INT8: snprintf(text, n, "%" PRId8, *(const int8_t *) at); break;
        case GGUF_TYPE_UINT16: snprintf(text, n, "%" PRIu16, *(const uint16_t *) at); break;
        case GGUF_TYPE_INT16: snprintf(text, n, "%" PRId16, *(const int16_t *) at); break;
        case GGUF_TYPE_UINT32: snprintf(text, n, "%" PRIu32, *(const uint32_t *) at); break;
        case GGUF_TYPE_INT32: snprintf(text, n, "%" PRId32, *(const int32_t *) at); break;
        case GGUF_TYPE_FLOAT32: snprintf(text, n, "%g", (double) *(const float *) at); break;
        case GGUF_TYPE_BOOL: snprintf(text, n, "%s", *(const bool *) at ? "true" : "false"); break;
        case GGUF_TYPE_UINT64: snprintf(text, n, "%" PRIu64, *(const uint64_t *) at); break;
        case GGUF_TYPE_INT64: snprintf(text, n, "%" PRId64, *(const int64_t *) at); break;
        case GGUF_TYPE_FLOAT64: snprintf(text, n, "%g", *(const double *) at); break;
        default: snprintf(text, n, "?"); break;
    }
}

#define SHOWN 4 /* elements of an array */

static void array_text(const struct gguf_context * file, int64_t key, char * text, size_t n) {
    const enum gguf_type type                   = gguf_get_arr_type(file, key);
    const size_t         count                  = gguf_get_arr_n(file, key);
    static const size_t  sizes[GGUF_TYPE_COUNT] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    size_t               used                   = (size_t) snprintf(text, n, "[");
    for (size_t i = 0; i < count && i < SHOWN && used < n; i++) {
        char one[64];
        if (type == GGUF_TYPE_STRING) {
            const char * string = gguf_get_arr_str(file, key, i);
            snprintf(one, sizeof(one), "\"%.*s\"", (int) utf8_complete(string, strnlen(string, 40)), string);
        } else {
            scalar_text(type, (const char *) gguf_get_arr_data(file, key) + i * sizes[type], one, sizeof(one));
        }
        used += (size_t) snprintf(text + used, n - used, "%s%s", i > 0 ? ", " : "", one);
    }
    if (used < n) {
        snprintf(text + used, n - used, count > SHOWN ? ", ...] (%zu)" : "] (%zu)", count);
    }
}

static void value_text(const struct gguf_context * file, int64_t key, char * text, size_t n) {
    const enum gguf_type type = gguf_get_kv_type(file, key);
    if (type == GGUF_TYPE_ARRAY) {
        array_text(file, key, text, n);
    } else if (type == GGUF_TYPE_STRING) {
        snprintf(text, n, "%s", gguf_get_val_str(file, key));
        text[strcspn(text, "\n")] = 0; /* first line: templates are long */
        if (strlen(text) > 70) {
            strcpy(text + utf8_complete(text, 67), "...");
        }
    } else {
        scalar_text(type, gguf_get_val_data(file, key), text, n);
    }
}

static bool print_keys(const struct gguf_context * file) {
    static const char * const columns[] = { "KEY", "TYPE", "~VALUE", NULL };
    struct table *            table     = table_new(columns);
    for (int64_t i = 0; i < gguf_get_n_kv(file); i++) {
        char         text[1024];
        const char * cells[] = { gguf_get_key(file, i), gguf_type_name(gguf_get_kv_type(file, i)), text };
        value_text(file, i, text, sizeof(text));
        if (!table_add(table, cells)) {
            return false;
        }
    }
    return table_print(table, stdout);
}

static bool print_tensors(const struct gguf_context * file) {
    static const char * const columns[] = { "TENSOR", "TYPE", "SHAPE", ">SIZE", NULL };
    struct table *            table     = table_new(columns);
    for (int64_t i = 0; i < gguf_get_n_tensors(file); i++) {
        const int64_t * ne = gguf_get_tensor_ne(file, i);
        char            shape[96], size[32];
        snprintf(shape, sizeof(shape), "%" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64, ne[0], ne[1], ne[2],
                 ne[3]);
        for (char * end; (end = strrchr(shape, 'x')) != NULL && strcmp(end, "x 1") == 0;) {
            end[-1] = 0;
        }
        const char * cells[] = { gguf_get_tensor_name(file, i), ggml_type_name(gguf_get_tensor_type(file, i)), shape,
                                 table_bytes(size, sizeof(size), gguf_get_tensor_size(file, i)) };
        if (!table_add(table, cells)) {
            return false;
        }
    }
    return table_print(table, stdout);
}

/* Number and bytes of tensors by type. */
struct share {
    size_t count, bytes;
};

static void count_types(const struct gguf_context * file, struct share shares[GGML_TYPE_COUNT]) {
    for (int64_t i = 0; i < gguf_get_n_tensors(file); i++) {
        const enum ggml_type type = gguf_get_tensor_type(file, i);
        if ((unsigned) type < GGML_TYPE_COUNT) {
            shares[type].count++;
            shares[type].bytes += gguf_get_tensor_size(file, i);
        }
    }
}

static bool print_tables(const struct gguf_context * file, const struct options * o) {
    static const char * const columns[]               = { "TYPE", ">TENSORS", ">SIZE", NULL };
    struct share              shares[GGML_TYPE_COUNT] = { { 0, 0 } };
    struct table *            table                   = table_new(columns);
    printf("%s: GGUF version %u, %" PRId64 " keys, %" PRId64 " tensors, data aligned to %zu bytes\n\n", o->path,
           gguf_get_version(file), gguf_get_n_kv(file), gguf_get_n_tensors(file), gguf_get_alignment(file));
    bool ok = print_keys(file);
    puts("");
    if (o->tensors) {
        ok = ok && print_tensors(file);
        puts("");
    }
    count_types(file, shares);
    for (int i = 0; i < GGML_TYPE_COUNT; i++) {
        char         count[32], size[32];
        const char * cells[] = { ggml_type_name((enum ggml_type) i), count,
                                 table_bytes(size, sizeof(size), shares[i].bytes) };
        snprintf(count, sizeof(count), "%zu", shares[i].count);
        ok = ok && (shares[i].count == 0 || table_add(table, cells));
    }
    return table_print(table, stdout) && ok;
}

static cJSON * float_json(double value, const char * fmt) {
    char text[64];
    snprintf(text, sizeof(text), fmt, value);
    return isfinite(value) ? cJSON_CreateRaw(text) : cJSON_CreateNull(); /* JSON has no infinity */
}

static cJSON * key_json(const struct gguf_context * file, int64_t i) {
    const enum gguf_type type = gguf_get_kv_type(file, i);
    cJSON *              item = cJSON_CreateObject();
    char                 text[64];
    json_add_text(item, "key", gguf_get_key(file, i));
    cJSON_AddStringToObject(item, "type", gguf_type_name(type));
    switch (type) {
        case GGUF_TYPE_ARRAY:
            cJSON_AddStringToObject(item, "element_type", gguf_type_name(gguf_get_arr_type(file, i)));
            cJSON_AddNumberToObject(item, "elements", (double) gguf_get_arr_n(file, i));
            break;
        case GGUF_TYPE_STRING: json_add_text(item, "value", gguf_get_val_str(file, i)); break;
        case GGUF_TYPE_FLOAT32:
            cJSON_AddItemToObject(item, "value", float_json((double) gguf_get_val_f32(file, i), "%.9g"));
            break;
        case GGUF_TYPE_FLOAT64:
            cJSON_AddItemToObject(item, "value", float_json(gguf_get_val_f64(file, i), "%.17g"));
            break;
        default:
            scalar_text(type, gguf_get_val_data(file, i), text, sizeof(text));
            cJSON_AddItemToObject(item, "value", cJSON_CreateRaw(text));
    }
    return item;
}

static cJSON * tensor_json(const struct gguf_context * file, int64_t i) {
    const int64_t * ne    = gguf_get_tensor_ne(file, i);
    const double    ne4[] = { (double) ne[0], (double) ne[1], (double) ne[2], (double) ne[3] };
    cJSON *         item  = cJSON_CreateObject();
    json_add_text(item, "name", gguf_get_tensor_name(file, i));
    cJSON_AddStringToObject(item, "type", ggml_type_name(gguf_get_tensor_type(file, i)));
    cJSON_AddItemToObject(item, "shape", cJSON_CreateDoubleArray(ne4, 4));
    cJSON_AddNumberToObject(item, "offset", (double) gguf_get_tensor_offset(file, i));
    cJSON_AddNumberToObject(item, "bytes", (double) gguf_get_tensor_size(file, i));
    return item;
}

static bool print_json(const struct gguf_context * file, const struct options * o) {
    cJSON * root = cJSON_CreateObject();
    json_add_text(root, "file", o->path);
    cJSON_AddNumberToObject(root, "version", gguf_get_version(file));
    cJSON_AddNumberToObject(root, "alignment", (double) gguf_get_alignment(file));
    cJSON * keys = cJSON_AddArrayToObject(root, "keys");
    for (int64_t i = 0; i < gguf_get_n_kv(file); i++) {
        cJSON_AddItemToArray(keys, key_json(file, i));
    }
    cJSON * tensors = cJSON_AddArrayToObject(root, "tensors");
    for (int64_t i = 0; i < gguf_get_n_tensors(file); i++) {
        cJSON_AddItemToArray(tensors, tensor_json(file, i));
    }
    return json_print(root);
}

int command_info(int argc, char ** argv) {
    struct options o = { 0 };
    if (argp_parse(&parser, argc, argv, 0, NULL, &o) != 0) {
        return 2;
    }
    command_set_log(false);
    if (!command_check_file(o.path)) {
        return 1;
    }
    const struct gguf_init_params params = { true, NULL };
    struct gguf_context *         file   = gguf_init_from_file(o.path, params);
    if (file == NULL) {
        return command_failed("%s: %s", o.path, ggml_ext_last_error());
    }
    const bool ok = o.json ? print_json(file, &o) : print_tables(file, &o);
    gguf_free(file);
    return ok ? 0 : command_failed("no memory for the table");
}
