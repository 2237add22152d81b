/* SPDX-License-Identifier: MIT
 *
 * Tables by libsmartcols: it knows the terminal's width and the width of characters.
 */
#include "table.h"

#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

struct table {
    struct libscols_table * table;
    size_t                  n_columns;
};

static bool add_column(struct table * t, const char * name) {
    static const struct {
        char mark;
        int  flags;
    } kinds[] = { { '>', SCOLS_FL_RIGHT }, { '~', SCOLS_FL_TRUNC }, { '|', SCOLS_FL_WRAP } };
    int flags = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && flags == 0; i++) {
        flags = name[0] == kinds[i].mark ? kinds[i].flags : 0;
    }
    return scols_table_new_column(t->table, name + (flags != 0), flags == SCOLS_FL_WRAP ? 0.5 : 0.0, flags) != NULL;
}

static void table_free(struct table * t) {
    if (t != NULL) {
        scols_unref_table(t->table);
        free(t);
    }
}

struct table * table_new(const char * const * columns) {
    struct table * t = calloc(1, sizeof(*t));
    scols_init_debug(0);
    if (t == NULL || (t->table = scols_new_table()) == NULL) {
        free(t);
        return NULL;
    }
    for (; columns[t->n_columns] != NULL; t->n_columns++) {
        if (!add_column(t, columns[t->n_columns])) {
            table_free(t);
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

bool table_print(struct table * table, FILE * to) {
    const bool ok =
        table != NULL && scols_table_set_stream(table->table, to) == 0 && scols_print_table(table->table) == 0;
    table_free(table);
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

void json_add_text(cJSON * object, const char * name, const char * text) {
    char * clean = utf8_clean(text, strlen(text));
    cJSON_AddStringToObject(object, name, clean != NULL ? clean : "");
    free(clean);
}

bool json_print(cJSON * json) {
    char * text = cJSON_Print(json);
    cJSON_Delete(json);
    if (text == NULL) {
        return false;
    }
    puts(text);
    free(text);
    return true;
}
