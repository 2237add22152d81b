/* SPDX-License-Identifier: MIT
 *
 * Faults of the program, not of a file: asking for a value by the wrong type or id, setting what cannot be. The
 * contract of these functions has no way to report them, so they end the process, with a text that names the key, what
 * was expected and what was found. Each runs in a child process.
 */
#include "harness.h"

#include "gguf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int message_pipe;

static void send_message(const char * text) {
    if (write(message_pipe, text, strlen(text)) < 0) {
        _exit(4);
    }
    _exit(3);
}

static struct gguf_context * sample(void) {
    static const uint8_t  bytes[]   = {1, 2, 3, 4};
    const char *          strings[] = {"x", "y"};
    struct gguf_context * ctx       = gguf_init_empty();
    gguf_set_val_u32(ctx, "number", 1);
    gguf_set_arr_data(ctx, "bytes", GGUF_TYPE_UINT8, bytes, 4);
    gguf_set_arr_str(ctx, "strings", strings, 2);
    return ctx;
}

enum { NUMBER, BYTES, STRINGS };

static void wrong_type(struct gguf_context * ctx) {
    gguf_get_val_i32(ctx, NUMBER);
}
static void value_of_array(struct gguf_context * ctx) {
    gguf_get_val_u8(ctx, BYTES);
}
static void string_of_number(struct gguf_context * ctx) {
    gguf_get_val_str(ctx, NUMBER);
}
static void data_of_strings(struct gguf_context * ctx) {
    gguf_get_arr_data(ctx, STRINGS);
}
static void string_of_bytes(struct gguf_context * ctx) {
    gguf_get_arr_str(ctx, BYTES, 0);
}
static void string_beyond(struct gguf_context * ctx) {
    gguf_get_arr_str(ctx, STRINGS, 2);
}
static void array_type_of_value(struct gguf_context * ctx) {
    gguf_get_arr_type(ctx, NUMBER);
}
static void id_beyond(struct gguf_context * ctx) {
    gguf_get_key(ctx, 3);
}
static void id_minus_1(struct gguf_context * ctx) {
    gguf_get_val_u32(ctx, gguf_find_key(ctx, "missing"));
}
static void tensor_beyond(struct gguf_context * ctx) {
    gguf_get_tensor_name(ctx, 0);
}
static void empty_key(struct gguf_context * ctx) {
    gguf_set_val_u32(ctx, "", 1);
}
static void reserved_key(struct gguf_context * ctx) {
    gguf_set_val_str(ctx, "graft.tensor_types", "x");
}
static void alignment_type(struct gguf_context * ctx) {
    gguf_set_val_i32(ctx, "general.alignment", 32);
}
static void alignment_value(struct gguf_context * ctx) {
    gguf_set_val_u32(ctx, "general.alignment", 24);
}
static void alignment_array(struct gguf_context * ctx) {
    const uint32_t x = 32;
    gguf_set_arr_data(ctx, "general.alignment", GGUF_TYPE_UINT32, &x, 1);
}
static void strings_as_data(struct gguf_context * ctx) {
    gguf_set_arr_data(ctx, "s", GGUF_TYPE_STRING, "x", 1);
}
static void unknown_tensor(struct gguf_context * ctx) {
    gguf_set_tensor_data(ctx, "missing", NULL);
}
static void duplicate_tensor(struct gguf_context * ctx) {
    struct ggml_tensor t = {.type = GGML_TYPE_F32, .ne = {1, 1, 1, 1}, .name = "twice"};
    gguf_add_tensor(ctx, &t);
    gguf_add_tensor(ctx, &t);
}
static void type_misfit(struct gguf_context * ctx) {
    struct ggml_tensor t = {.type = GGML_TYPE_F32, .ne = {33, 1, 1, 1}, .name = "rows"};
    gguf_add_tensor(ctx, &t);
    gguf_set_tensor_type(ctx, "rows", GGML_TYPE_Q4_0);
}
static void removed_type(struct gguf_context * ctx) {
    struct ggml_tensor t = {.type = GGML_TYPE_F32, .ne = {32, 1, 1, 1}, .name = "t"};
    gguf_add_tensor(ctx, &t);
    gguf_set_tensor_type(ctx, "t", (enum ggml_type) 4);
}

static const struct {
    const char * name;
    void (*run)(struct gguf_context * ctx);
    const char * words[3];
} cases[] = {
    {"wrong type", wrong_type, {"gguf_get_val_i32", "'number' is of type u32", "not i32"}},
    {"value of an array", value_of_array, {"gguf_get_val_u8", "'bytes'", "array of 4 u8"}},
    {"string of a number", string_of_number, {"gguf_get_val_str", "'number'", "not str"}},
    {"data of strings", data_of_strings, {"gguf_get_arr_data", "'strings'", "holds strings"}},
    {"string of bytes", string_of_bytes, {"gguf_get_arr_str", "'bytes' is of type u8", "not str"}},
    {"string beyond the end", string_beyond, {"string 2 of key 'strings'", "holds 2", ""}},
    {"array type of a value", array_type_of_value, {"gguf_get_arr_type", "'number'", "not an array"}},
    {"id beyond the end", id_beyond, {"gguf_get_key", "key id 3", "3 keys"}},
    {"id of a missing key", id_minus_1, {"gguf_get_val_u32", "key id -1", "3 keys"}},
    {"tensor beyond the end", tensor_beyond, {"gguf_get_tensor_name", "tensor id 0", "0 tensors"}},
    {"empty key", empty_key, {"gguf_set_val_u32", "empty", ""}},
    {"reserved key", reserved_key, {"gguf_set_val_str", "'graft.tensor_types'", "reserved"}},
    {"alignment of a wrong type", alignment_type, {"general.alignment", "u32", "i32"}},
    {"alignment of 24", alignment_value, {"general.alignment", "power of two", "24"}},
    {"alignment as an array", alignment_array, {"general.alignment", "array of u32", ""}},
    {"strings as data", strings_as_data, {"'s'", "str", "gguf_set_arr_str"}},
    {"unknown tensor", unknown_tensor, {"gguf_set_tensor_data", "'missing'", ""}},
    {"duplicate tensor", duplicate_tensor, {"duplicate tensor name 'twice'", "", ""}},
    {"type that does not fit", type_misfit, {"'rows'", "33 elements", "q4_0"}},
    {"removed type", removed_type, {"'t'", "no type 4", ""}},
};

static void check_case(size_t i) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        message_pipe = ends[1];
        ggml_set_abort_callback(send_message);
        cases[i].run(sample());
        _exit(0);
    }
    close(ends[1]);
    char   text[2048] = "";
    size_t n          = 0;
    for (ssize_t got; (got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0;) {
        n += (size_t) got;
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 3,
              "%s: the child ended with status %d, not by the abort callback", cases[i].name, status);
    for (int k = 0; k < 3; k++) {
        CHECK_MSG(strstr(text, cases[i].words[k]) != NULL, "%s: '%s' lacks '%s'", cases[i].name, text,
                  cases[i].words[k]);
    }
}

TEST(misuse_ends_with_a_text) {
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_case(i);
    }
}
