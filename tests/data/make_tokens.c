/* SPDX-License-Identifier: MIT
 *
 * Makes the expected results of the tokenizer test with the peer's tokenizer. Built against an unpacked llama.cpp (tests/peer.py
 * fetches and builds one):
 *
 *     cc make_tokens.c -I LLAMA/include -I LLAMA/ggml/include -L BUILD/bin -lllama -o make_tokens
 *     python3 make_tokens.py SmolLM2-135M-Instruct.Q4_1.gguf ./make_tokens 400 > tokens_smollm2.tsv
 *     python3 make_tiny_llama.py tiny.gguf && python3 make_tokens.py tiny.gguf ./make_tokens 60 > tokens_tiny.tsv
 *
 * Reads texts that end with a zero byte and prints the tokens of each on a line, like examples/tokenize.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

static void silent(enum ggml_log_level level, const char * text, void * user_data) {
    (void) level;
    (void) text;
    (void) user_data;
}

int main(int argc, char ** argv) {
    if (argc < 2) {
        return 2;
    }
    llama_log_set(silent, NULL);
    struct llama_model_params params = llama_model_default_params();
    params.vocab_only                = true;
    struct llama_model * model       = llama_model_load_from_file(argv[1], params);
    if (model == NULL) {
        return EXIT_FAILURE;
    }
    char * text = NULL;
    size_t size = 0;
    while (getdelim(&text, &size, 0, stdin) >= 0) {
        const int32_t capacity = 2 * (int32_t) strlen(text) + 16;
        llama_token * tokens   = malloc((size_t) capacity * sizeof(*tokens));
        const int32_t n        = llama_tokenize(llama_model_get_vocab(model), text, (int32_t) strlen(text), tokens, capacity, false,
                                                argc > 2);
        for (int32_t i = 0; i < n; i++) {
            printf(i > 0 ? " %d" : "%d", tokens[i]);
        }
        puts("");
        free(tokens);
    }
    free(text);
    llama_model_free(model);
    return EXIT_SUCCESS;
}
