/* SPDX-License-Identifier: MIT
 *
 * The byte-pair tokenizer. Tokens in the file are written in a byte alphabet: each of the 256 bytes is one printable
 * character (GPT-2's table: printable Latin-1 characters stand for themselves, the other bytes for the characters from
 * U+0100 on, in order).
 */
#include "vocab.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "pattern.h"

#define LAST_CHARACTER 0x143 /* of the alphabet: U+0100 and 67 more stand for the bytes that are not printable */

enum { TYPE_NORMAL = 1, TYPE_CONTROL = 3, TYPE_USER = 4 };

struct vocab {
    int32_t          n;
    char **          texts; /* as in the file */
    char **          bytes; /* decoded */
    uint32_t *       n_bytes;
    int32_t *        types;
    char **          merges; /* "left right" */
    int32_t          n_merges;
    struct hash      by_text;
    struct hash      rank;
    struct pattern * pattern;
    int32_t *        specials; /* tokens that are recognised as a whole in the text */
    int32_t          n_specials;
    int32_t          bos, eos, eot;
    bool             add_bos;
    char             byte_text[256][4];           /* each byte in the alphabet */
    int16_t          byte_of[LAST_CHARACTER + 1]; /* and back: by code point, -1 for characters that stand for none */
};

/* ---- the byte alphabet ---- */

static bool stands_for_itself(int b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
}

static void make_alphabet(struct vocab * v) {
    int next = 0x100;
    memset(v->byte_of, -1, sizeof(v->byte_of));
    for (int b = 0; b < 256; b++) {
        const int c   = stands_for_itself(b) ? b : next++;
        v->byte_of[c] = (int16_t) b;
        if (c < 0x80) {
            v->byte_text[b][0] = (char) c;
        } else {
            v->byte_text[b][0] = (char) (0xC0 | c >> 6);
            v->byte_text[b][1] = (char) (0x80 | (c & 0x3F));
        }
    }
}

static size_t char_size(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* The byte that the character at text (of 1 or 2 bytes: the alphabet has no longer ones) stands for, or -1. */
static int byte_at(const struct vocab * v, const char * text, size_t size) {
    const unsigned char * c    = (const unsigned char *) text;
    const int             code = size == 1 ? c[0] : (c[0] & 0x1F) << 6 | (c[1] & 0x3F);
    return size <= 2 && code <= LAST_CHARACTER ? v->byte_of[code] : -1;
}

/* From the alphabet back to bytes; a text that is not in it (a special token) stays as it is. */
static bool decode_token(struct vocab * v, int32_t t) {
    const char * text = v->texts[t];
    const size_t n    = strlen(text);
    char *       out  = malloc(n + 1);
    if (out == NULL) {
        return false;
    }
    size_t m = 0;
    for (size_t i = 0; i < n;) {
        const size_t size = char_size((unsigned char) text[i]);
        const int    b    = v->types[t] == TYPE_NORMAL && i + size <= n ? byte_at(v, text + i, size) : -1;
        if (b >= 0) {
            out[m++] = (char) b;
            i += size;
        } else {
            out[m++] = text[i++];
        }
    }
    v->bytes[t]   = out;
    v->n_bytes[t] = (uint32_t) m;
    return true;
}

/* ---- loading ---- */

static bool read_strings(const struct gguf_context * file, const char * key, char *** out, int32_t * n) {
    const int64_t id = gguf_find_key(file, key);
    if (id < 0 || gguf_get_kv_type(file, id) != GGUF_TYPE_ARRAY || gguf_get_arr_type(file, id) != GGUF_TYPE_STRING ||
        gguf_get_arr_n(file, id) > INT32_MAX) {
        return false;
    }
    *n   = (int32_t) gguf_get_arr_n(file, id);
    *out = calloc((size_t) *n + 1, sizeof(**out));
    for (int32_t i = 0; *out != NULL && i < *n; i++) {
        (*out)[i] = strdup(gguf_get_arr_str(file, id, (size_t) i));
        if ((*out)[i] == NULL) {
            return false;
        }
    }
    return *out != NULL;
}

static int32_t read_token(const struct gguf_context * file, const char * key, int32_t otherwise) {
    const int64_t id = gguf_find_key(file, key);
    return id >= 0 && gguf_get_kv_type(file, id) == GGUF_TYPE_UINT32 ? (int32_t) gguf_get_val_u32(file, id) : otherwise;
}

static bool read_types(struct vocab * v, const struct gguf_context * file) {
    const int64_t id = gguf_find_key(file, "tokenizer.ggml.token_type");
    v->types         = malloc(((size_t) v->n + 1) * sizeof(*v->types));
    if (v->types == NULL) {
        return false;
    }
    const bool there = id >= 0 && gguf_get_kv_type(file, id) == GGUF_TYPE_ARRAY &&
                       gguf_get_arr_type(file, id) == GGUF_TYPE_INT32 && gguf_get_arr_n(file, id) == (size_t) v->n;
    for (int32_t i = 0; i < v->n; i++) {
        v->types[i] = there ? ((const int32_t *) gguf_get_arr_data(file, id))[i] : TYPE_NORMAL;
    }
    return true;
}

static bool build_tables(struct vocab * v) {
    v->bytes    = calloc((size_t) v->n + 1, sizeof(*v->bytes));
    v->n_bytes  = calloc((size_t) v->n + 1, sizeof(*v->n_bytes));
    v->specials = calloc((size_t) v->n + 1, sizeof(*v->specials));
    if (v->bytes == NULL || v->n_bytes == NULL || v->specials == NULL || !hash_init(&v->by_text, (size_t) v->n) ||
        !hash_init(&v->rank, (size_t) v->n_merges)) {
        return false;
    }
    for (int32_t t = 0; t < v->n; t++) {
        hash_add(&v->by_text, v->texts[t], strlen(v->texts[t]), t);
        if ((v->types[t] == TYPE_CONTROL || v->types[t] == TYPE_USER) && v->texts[t][0] != 0) {
            v->specials[v->n_specials++] = t;
        }
        if (!decode_token(v, t)) {
            return false;
        }
    }
    for (int32_t i = 0; i < v->n_merges; i++) {
        hash_add(&v->rank, v->merges[i], strlen(v->merges[i]), i);
    }
    return true;
}

static int32_t token_of(const struct vocab * v, const char * text) {
    return hash_get(&v->by_text, text, strlen(text));
}

static bool load(struct vocab * v, const struct gguf_context * file, char * error, size_t n) {
    const int64_t model = gguf_find_key(file, "tokenizer.ggml.model");
    const int64_t pre   = gguf_find_key(file, "tokenizer.ggml.pre");
    if (model < 0 || gguf_get_kv_type(file, model) != GGUF_TYPE_STRING ||
        strcmp(gguf_get_val_str(file, model), "gpt2") != 0) {
        snprintf(error, n, "tokenizer '%s' is not supported, expected 'gpt2' (byte-pair encoding)",
                 model >= 0 && gguf_get_kv_type(file, model) == GGUF_TYPE_STRING ? gguf_get_val_str(file, model)
                                                                                 : "none");
        return false;
    }
    const char * name =
        pre >= 0 && gguf_get_kv_type(file, pre) == GGUF_TYPE_STRING ? gguf_get_val_str(file, pre) : "default";
    v->pattern = pattern_new(name);
    if (v->pattern == NULL) {
        snprintf(error, n, "the word patterns of tokenizer '%s' are not known", name);
        return false;
    }
    make_alphabet(v);
    if (!read_strings(file, "tokenizer.ggml.tokens", &v->texts, &v->n) ||
        !read_strings(file, "tokenizer.ggml.merges", &v->merges, &v->n_merges) || !read_types(v, file) ||
        !build_tables(v)) {
        snprintf(error, n, "the vocabulary is missing, damaged, or there is no memory for it");
        return false;
    }
    v->bos                = read_token(file, "tokenizer.ggml.bos_token_id", -1);
    v->eos                = read_token(file, "tokenizer.ggml.eos_token_id", -1);
    v->eot                = read_token(file, "tokenizer.ggml.eot_token_id", token_of(v, "<|im_end|>"));
    const int64_t add_bos = gguf_find_key(file, "tokenizer.ggml.add_bos_token");
    v->add_bos = add_bos >= 0 && gguf_get_kv_type(file, add_bos) == GGUF_TYPE_BOOL && gguf_get_val_bool(file, add_bos);
    return true;
}

struct vocab * vocab_load(const struct gguf_context * file, char * error, size_t n) {
    struct vocab * v = calloc(1, sizeof(*v));
    if (v == NULL) {
        snprintf(error, n, "no memory for the vocabulary");
        return NULL;
    }
    if (!load(v, file, error, n)) {
        vocab_free(v);
        return NULL;
    }
    return v;
}

void vocab_free(struct vocab * v) {
    if (v == NULL) {
        return;
    }
    for (int32_t i = 0; i < v->n; i++) {
        if (v->texts != NULL) {
            free(v->texts[i]);
        }
        if (v->bytes != NULL) {
            free(v->bytes[i]);
        }
    }
    for (int32_t i = 0; v->merges != NULL && i < v->n_merges; i++) {
        free(v->merges[i]);
    }
    free(v->texts);
    free(v->bytes);
    free(v->n_bytes);
    free(v->types);
    free(v->merges);
    free(v->specials);
    free(v->by_text.entries);
    free(v->rank.entries);
    pattern_free(v->pattern);
    free(v);
}

int32_t vocab_size(const struct vocab * vocab) {
    return vocab->n;
}

int32_t vocab_bos(const struct vocab * vocab) {
    return vocab->bos;
}

bool vocab_adds_bos(const struct vocab * vocab) {
    return vocab->add_bos && vocab->bos >= 0;
}

bool vocab_ends_text(const struct vocab * vocab, int32_t token) {
    return token == vocab->eos || token == vocab->eot || token == token_of(vocab, "<|endoftext|>");
}

const char * vocab_decode(const struct vocab * vocab, int32_t token, size_t * n) {
    *n = 0;
    if (token < 0 || token >= vocab->n || vocab->types[token] == TYPE_CONTROL) {
        return "";
    }
    *n = vocab->n_bytes[token];
    return vocab->bytes[token];
}

/* ---- encoding ---- */

struct output {
    const struct vocab * vocab;
    int32_t *            tokens;
    size_t               n, capacity;
};

static bool push(struct output * out, int32_t token) {
    if (out->n == out->capacity) {
        const size_t capacity = out->capacity * 2 + 64;
        int32_t *    grown    = realloc(out->tokens, capacity * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        out->tokens   = grown;
        out->capacity = capacity;
    }
    out->tokens[out->n++] = token;
    return true;
}

/* A run of characters of the word, to be joined with the next one, and how good that would be. */
struct part {
    const char * text;
    size_t       n;
    int32_t      rank; /* of this part with the next one among the merges; NO_RANK: they are not joined */
};

#define NO_RANK INT32_MAX

static void set_rank(const struct vocab * v, struct part * parts, size_t i, size_t n, char * scratch) {
    struct part * a = &parts[i];
    a->rank         = NO_RANK;
    if (i + 1 < n) {
        memcpy(scratch, a->text, a->n);
        scratch[a->n] = ' ';
        memcpy(scratch + a->n + 1, a[1].text, a[1].n);
        const int32_t rank = hash_get(&v->rank, scratch, a->n + 1 + a[1].n);
        a->rank            = rank >= 0 ? rank : NO_RANK;
    }
}

/* Joins the pair of best rank, the first of several, over and over. Returns the number of parts that are left. */
static size_t merge(const struct vocab * v, struct part * parts, size_t n, char * scratch) {
    for (size_t i = 0; i < n; i++) {
        set_rank(v, parts, i, n, scratch);
    }
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++) {
            best = parts[i].rank < parts[best].rank ? i : best;
        }
        if (parts[best].rank == NO_RANK) {
            break;
        }
        parts[best].n += parts[best + 1].n;
        memmove(&parts[best + 1], &parts[best + 2], (n - best - 2) * sizeof(*parts));
        n--;
        set_rank(v, parts, best, n, scratch);
        if (best > 0) {
            set_rank(v, parts, best - 1, n, scratch);
        }
    }
    return n;
}

static bool push_part(struct output * out, const struct part * part) {
    const int32_t token = hash_get(&out->vocab->by_text, part->text, part->n);
    if (token >= 0) {
        return push(out, token);
    }
    for (size_t i = 0; i < part->n;) { /* no such token: its characters, as far as they are tokens */
        const size_t  size   = char_size((unsigned char) part->text[i]);
        const int32_t single = hash_get(&out->vocab->by_text, part->text + i, size);
        if (single >= 0 && !push(out, single)) {
            return false;
        }
        i += size;
    }
    return true;
}

/* Bytes of a word; a longer one is merged in pieces, as merging takes the square of the length. */
#define MAX_WORD 16384

static bool encode_piece(struct output * out, const char * text, size_t n) {
    char *        alphabet = malloc(n * 2 + 1);
    char *        scratch  = malloc(n * 2 + 2);
    struct part * parts    = malloc((n + 1) * sizeof(*parts));
    bool          ok       = alphabet != NULL && scratch != NULL && parts != NULL;
    size_t        used     = 0;
    for (size_t i = 0; ok && i < n; i++) {
        const char * c = out->vocab->byte_text[(unsigned char) text[i]];
        parts[i]       = (struct part){ alphabet + used, strlen(c), NO_RANK };
        memcpy(alphabet + used, c, parts[i].n);
        used += parts[i].n;
    }
    const size_t m = ok ? merge(out->vocab, parts, n, scratch) : 0;
    for (size_t i = 0; ok && i < m; i++) {
        ok = push_part(out, &parts[i]);
    }
    free(alphabet);
    free(scratch);
    free(parts);
    return ok;
}

static bool encode_word(void * arg, const char * text, size_t n) {
    bool ok = true;
    for (size_t done = 0, size; ok && done < n; done += size) {
        size = n - done < MAX_WORD ? n - done : MAX_WORD;
        for (size_t i = 0; i < 3 && done + size < n && ((unsigned char) text[done + size] & 0xC0) == 0x80; i++) {
            size--; /* not within a character */
        }
        ok = encode_piece(arg, text + done, size);
    }
    return ok;
}

/* The first special token in the text, the longest one at its place. Returns its position, n when there is none. */
static size_t find_special(const struct vocab * v, const char * text, size_t n, int32_t * token) {
    size_t at = n, length = 0;
    for (int32_t i = 0; i < v->n_specials; i++) {
        const char * special = v->texts[v->specials[i]];
        const char * found   = strstr(text, special);
        if (found != NULL &&
            ((size_t) (found - text) < at || ((size_t) (found - text) == at && strlen(special) > length))) {
            at     = (size_t) (found - text);
            length = strlen(special);
            *token = v->specials[i];
        }
    }
    return at;
}

int32_t vocab_encode(const struct vocab * vocab, const char * text, bool special, int32_t ** tokens) {
    struct output out = { vocab, NULL, 0, 0 };
    bool          ok  = true;
    for (size_t n = strlen(text); ok && n > 0;) {
        int32_t      token = -1;
        const size_t at    = special ? find_special(vocab, text, n, &token) : n;
        ok                 = pattern_cut(vocab->pattern, text, at, encode_word, &out);
        text += at;
        n -= at;
        if (ok && token >= 0) {
            ok = push(&out, token);
            text += strlen(vocab->texts[token]);
            n -= strlen(vocab->texts[token]);
        }
    }
    if (!ok || out.n > INT32_MAX) {
        free(out.tokens);
        *tokens = NULL;
        return -1;
    }
    *tokens = out.tokens;
    return (int32_t) out.n;
}
