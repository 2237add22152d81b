/* SPDX-License-Identifier: MIT
 *
 * A tokenizer has one or more patterns; each cuts further what those before it left whole. What a pattern does not match is a
 * piece too.
 */
#include "pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATTERNS 2

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define LLAMA3(digits)                                                   \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
    const char * pre;
    const char * patterns[MAX_PATTERNS];
} known[] = {
    { "smollm", { "\\p{N}", GPT2 } },
    { "gpt-2", { GPT2 } },
    { "default", { GPT2 } },
    { "llama-bpe", { LLAMA3("\\p{N}{1,3}") } },
    { "llama3", { LLAMA3("\\p{N}{1,3}") } },
    { "qwen2", { LLAMA3("\\p{N}") } },
};

struct pattern {
    pcre2_code * codes[MAX_PATTERNS];
    int          n;
};

void pattern_free(struct pattern * pattern) {
    for (int i = 0; pattern != NULL && i < pattern->n; i++) {
        pcre2_code_free(pattern->codes[i]);
    }
    free(pattern);
}

struct pattern * pattern_new(const char * pre) {
    struct pattern * pattern = NULL;
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]) && pattern == NULL; k++) {
        if (strcmp(known[k].pre, pre) != 0 || (pattern = calloc(1, sizeof(*pattern))) == NULL) {
            continue;
        }
        for (int i = 0; i < MAX_PATTERNS && known[k].patterns[i] != NULL; i++) {
            int        error;
            PCRE2_SIZE at;
            pattern->codes[i] = pcre2_compile((PCRE2_SPTR) known[k].patterns[i], PCRE2_ZERO_TERMINATED,
                                              PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, NULL);
            if (pattern->codes[i] == NULL) {
                pattern_free(pattern);
                return NULL;
            }
            pcre2_jit_compile(pattern->codes[i], PCRE2_JIT_COMPLETE); /* only speed is lost without */
            pattern->n = i + 1;
        }
    }
    return pattern;
}

struct cut {
    const struct pattern * pattern;
    bool (*word)(void * arg, const char * text, size_t n);
    void *             arg;
    pcre2_match_data * match;
};

static bool cut_from(struct cut * cut, int level, const char * text, size_t n) {
    if (level >= cut->pattern->n || level >= MAX_PATTERNS) {
        return n == 0 || cut->word(cut->arg, text, n);
    }
    size_t done = 0;
    while (done < n) {
        /* the piece is matched by itself, as if it were the whole text */
        const int  rc    = pcre2_match(cut->pattern->codes[level], (PCRE2_SPTR) text, n, done, 0, cut->match, NULL);
        PCRE2_SIZE begin = n, end = n;
        if (rc > 0) {
            const PCRE2_SIZE * ovector = pcre2_get_ovector_pointer(cut->match);
            begin                      = ovector[0];
            end                        = ovector[1];
        }
        if (begin > done && !cut_from(cut, level + 1, text + done, begin - done)) {
            return false;
        }
        if (end > begin && !cut_from(cut, level + 1, text + begin, end - begin)) {
            return false;
        }
        done = end > done ? end : done + 1;
    }
    return true;
}

bool pattern_cut(const struct pattern * pattern, const char * text, size_t n,
                 bool (*word)(void * arg, const char * text, size_t n), void * arg) {
    struct cut cut = { pattern, word, arg, pcre2_match_data_create(8, NULL) };
    if (cut.match == NULL) {
        return false;
    }
    const bool ok = cut_from(&cut, 0, text, n);
    pcre2_match_data_free(cut.match);
    return ok;
}
