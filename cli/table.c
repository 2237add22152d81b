/* SPDX-License-Identifier: MIT
 *
 * Tables by libsmartcols: it knows the terminal's width and the width of characters.
 */
#include "table.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>

struct table {
    struct libscols_table * table;
    size_t                  n_columns;
};

struct table * table_new(const char * const * columns) {
    struct table * t = calloc(1, sizeof(*t));
    scols_init_debug(0);
    if (t == NULL || (t->table = scols_new_table()) == NULL) {
        free(t);
        return NULL;
    }
    for (; columns[t->n_columns] != NULL; t->n_columns++) {
        const char * name  = columns[t->n_columns];
        const bool   right = name[0] == '>';
        if (scols_table_new_column(t->table, name + right, 0, right ? SCOLS_FL_RIGHT : 0) == NULL) {
            scols_unref_table(t->table);
            free(t);
            return NULL;
        }
    }
    return t;
}

bool table_add(struct table * table, const char * const * cells) {
    struct libscols_line * line = table != NULL ? scols_table_new_line(table->table, NULL) : NULL;
    for (size_t i = 0; line != NULL && i < table->n_columns; i++) {
        if (cells[i] != NULL && scols_line_set_data(line, i, cells[i]) != 0) {
            return false;
        }
    }
    return line != NULL;
}

bool table_print(struct table * table) {
    const bool ok = table != NULL && scols_print_table(table->table) == 0;
    if (table != NULL) {
        scols_unref_table(table->table);
        free(table);
    }
    return ok;
}

const char * table_bytes(char * text, size_t n, size_t bytes) {
    static const char * const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double                    value   = (double) bytes;
    size_t                    unit    = 0;
    while (value >= 1024.0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024.0;
        unit++;
    }
    snprintf(text, n, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

bool json_print(cJSON * json) {
    char * text = cJSON_Print(json);
    cJSON_Delete(json);
    if (text == NULL) {
        return false;
    }
    const bool ok = puts(text) >= 0;
    free(text);
    return ok;
}
