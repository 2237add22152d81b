/* SPDX-License-Identifier: MIT
 *
 * tokenize MODEL.gguf [--special] < TEXTS: the tokens of each text, one line a text; texts end with a zero byte, the last
 * one may end with the input. With --special, special tokens in a text are recognised.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-ext.h"
#include "ggml.h"
#include "gguf.h"
#include "vocab.h"

static void silent(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level, (void) text, (void) user_data;
}

static int print_tokens(const struct vocab * vocab, const char * text, bool special) {
    int32_t *     tokens;
    const int32_t n = vocab_encode(vocab, text, special, &tokens);
    for (int32_t i = 0; i < n; i++) {
        printf(i > 0 ? " %d" : "%d", tokens[i]);
    }
    puts("");
    free(tokens);
    return n < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char ** argv) {
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "--special") != 0)) {
        fputs("usage: tokenize MODEL.gguf [--special] < TEXTS\n", stderr);
        return 2;
    }
    ggml_log_set(silent, NULL); /* what fails is said once, below */
    const struct gguf_init_params params = { true, NULL };
    struct gguf_context *         file   = gguf_init_from_file(argv[1], params);
    char                          error[256];
    struct vocab *                vocab = file != NULL ? vocab_load(file, error, sizeof(error)) : NULL;
    if (vocab == NULL) {
        fprintf(stderr, "tokenize: %s: %s\n", argv[1], file != NULL ? error : ggml_ext_last_error());
        gguf_free(file);
        return EXIT_FAILURE;
    }
    char * text = NULL;
    size_t size = 0;
    int    rc   = EXIT_SUCCESS;
    while (rc == EXIT_SUCCESS && getdelim(&text, &size, 0, stdin) >= 0) {
        rc = print_tokens(vocab, text, argc == 3);
    }
    free(text);
    vocab_free(vocab);
    gguf_free(file);
    return rc;
}
