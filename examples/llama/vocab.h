/* SPDX-License-Identifier: MIT
 *
 * A byte-pair tokenizer as GGUF files describe it (tokenizer.ggml.model "gpt2").
 *
 * Text is cut by special tokens first, then into words by the patterns that tokenizer.ggml.pre names, and in each word the pair of
 * neighbours with the best rank among the merges is joined until no merge applies.
 */
#ifndef LLAMA_VOCAB_H
#define LLAMA_VOCAB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gguf.h"

struct vocab;

/* NULL on failure, with the text in error (n bytes). The vocabulary keeps no pointer into the file's context. */
struct vocab * vocab_load(const struct gguf_context * file, char * error, size_t n);
void           vocab_free(struct vocab * vocab);

int32_t vocab_size(const struct vocab * vocab);
int32_t vocab_bos(const struct vocab * vocab); /* -1: none */
bool    vocab_adds_bos(const struct vocab * vocab);
bool    vocab_ends_text(const struct vocab * vocab, int32_t token); /* end of text or of a turn */

/* Tokens of a UTF-8 text; special: are special tokens in the text recognised? The caller frees *tokens. Returns their number, or
 * -1 when there is no memory. */
int32_t vocab_encode(const struct vocab * vocab, const char * text, bool special, int32_t ** tokens);

/* Bytes of a token (not ended by 0: *n of them); special tokens give nothing. Valid as long as the vocabulary. */
const char * vocab_decode(const struct vocab * vocab, int32_t token, size_t * n);

#endif /* LLAMA_VOCAB_H */
