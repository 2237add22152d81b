/* SPDX-License-Identifier: MIT
 *
 * graft run: text from a model, streamed, with a table of times and memory at the end.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "context.h"
#include "ggml-backend.h"
#include "ggml.h"
#include "model.h"
#include "sample.h"
#include "table.h"

struct options {
    const char * model;
    const char * prompt;
    const char * system;
    long         n_predict, n_threads, n_ctx, n_batch;
    double       temperature;
    long         seed;
    bool         raw, json, verbose;
};

enum { KEY_RAW = 256, KEY_SEED, KEY_SYSTEM, KEY_TEMPERATURE };

static const struct argp_option option_list[] = {
    { "prompt", 'p', "TEXT", 0, "the question, or with --raw the beginning of the text", 0 },
    { "predict", 'n', "N", 0, "tokens to generate at most (256)", 0 },
    { "threads", 't', "N", 0, "threads (all processors that this process may use)", 0 },
    { "context", 'c', "N", 0, "positions of the context (4096, at most what the model was trained for)", 0 },
    { "batch", 'b', "N", 0, "tokens of the prompt that are evaluated at once (512)", 0 },
    { "temperature", KEY_TEMPERATURE, "X", 0, "0: always the likeliest token (default); higher: more variety", 0 },
    { "seed", KEY_SEED, "N", 0, "of the sampling (1)", 0 },
    { "system", KEY_SYSTEM, "TEXT", 0, "system message of the chat template", 0 },
    { "raw", KEY_RAW, 0, 0, "continue the prompt as plain text, without the chat template", 0 },
    { "json", 'j', 0, 0, "print one JSON object with the text and the figures, no stream", 0 },
    { "verbose", 'v', 0, 0, "print the log of the libraries", 0 },
    { 0 },
};

static long number(struct argp_state * state, const char * name, const char * arg, long low, long high) {
    char * end;
    errno      = 0;
    const long value = strtol(arg, &end, 10);
    if (errno != 0 || end == arg || *end != 0 || value < low || value > high) {
        argp_error(state, "%s is '%s', expected a number from %ld to %ld", name, arg, low, high);
    }
    return value;
}

static double real(struct argp_state * state, const char * name, const char * arg) {
    char *       end;
    const double value = strtod(arg, &end);
    if (end == arg || *end != 0 || !(value >= 0.0 && value <= 100.0)) {
        argp_error(state, "%s is '%s', expected a number from 0 to 100", name, arg);
    }
    return value;
}

static error_t parse(int key, char * arg, struct argp_state * state) {
    struct options * o = state->input;
    switch (key) {
        case 'p': o->prompt = arg; break;
        case 'n': o->n_predict = number(state, "--predict", arg, 0, 1 << 24); break;
        case 't': o->n_threads = number(state, "--threads", arg, 1, GGML_MAX_N_THREADS); break;
        case 'c': o->n_ctx = number(state, "--context", arg, 1, 1 << 24); break;
        case 'b': o->n_batch = number(state, "--batch", arg, 1, 1 << 16); break;
        case KEY_TEMPERATURE: o->temperature = real(state, "--temperature", arg); break;
        case KEY_SEED: o->seed = number(state, "--seed", arg, 0, __LONG_MAX__); break;
        case KEY_SYSTEM: o->system = arg; break;
        case KEY_RAW: o->raw = true; break;
        case 'j': o->json = true; break;
        case 'v': o->verbose = true; break;
        case ARGP_KEY_ARG:
            if (o->model != NULL) {
                argp_error(state, "one model is expected, found '%s' too", arg);
            }
            o->model = arg;
            break;
        case ARGP_KEY_END:
            if (o->model == NULL || o->prompt == NULL) {
                argp_error(state, o->model == NULL ? "a model is expected" : "a prompt is expected: -p TEXT");
            }
            break;
        default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = { option_list, parse, "MODEL.gguf", "Generates text with a model of the llama architecture.", 0, 0, 0 };

/* ---- figures ---- */

struct figures {
    double   load_s, prompt_s, generate_s;
    int32_t  n_prompt, n_generated;
    size_t   weights, kv, compute, peak;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static double rate(double n, double seconds) {
    return seconds > 0.0 ? n / seconds : 0.0;
}

static size_t peak_memory(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t) usage.ru_maxrss * 1024 : 0;
}

static bool print_table(const struct figures * f) {
    static const char * const columns[] = { "FIGURE", ">VALUE", ">RATE", NULL };
    struct table *            table     = table_new(columns);
    char                      a[64], b[64];
    snprintf(a, sizeof(a), "%.0f ms", f->load_s * 1e3);
    bool ok = table_add(table, (const char *[]){ "load", a, NULL });
    snprintf(a, sizeof(a), "%d tokens, %.0f ms", f->n_prompt, f->prompt_s * 1e3);
    snprintf(b, sizeof(b), "%.1f tokens/s", rate(f->n_prompt, f->prompt_s));
    ok = ok && table_add(table, (const char *[]){ "prompt", a, b });
    snprintf(a, sizeof(a), "%d tokens, %.0f ms", f->n_generated, f->generate_s * 1e3);
    snprintf(b, sizeof(b), "%.1f tokens/s", rate(f->n_generated, f->generate_s));
    ok = ok && table_add(table, (const char *[]){ "generation", a, b });
    ok = ok && table_add(table, (const char *[]){ "weights", table_bytes(a, sizeof(a), f->weights), NULL });
    ok = ok && table_add(table, (const char *[]){ "KV cache", table_bytes(a, sizeof(a), f->kv), NULL });
    ok = ok && table_add(table, (const char *[]){ "compute", table_bytes(a, sizeof(a), f->compute), NULL });
    ok = ok && table_add(table, (const char *[]){ "peak memory", table_bytes(a, sizeof(a), f->peak), NULL });
    return table_print(table) && ok;
}

static bool print_json(const struct figures * f, const char * text) {
    cJSON * root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "text", text);
    cJSON_AddNumberToObject(root, "load_ms", f->load_s * 1e3);
    cJSON_AddNumberToObject(root, "prompt_tokens", f->n_prompt);
    cJSON_AddNumberToObject(root, "prompt_tokens_per_s", rate(f->n_prompt, f->prompt_s));
    cJSON_AddNumberToObject(root, "generated_tokens", f->n_generated);
    cJSON_AddNumberToObject(root, "generated_tokens_per_s", rate(f->n_generated, f->generate_s));
    cJSON_AddNumberToObject(root, "weight_bytes", (double) f->weights);
    cJSON_AddNumberToObject(root, "kv_bytes", (double) f->kv);
    cJSON_AddNumberToObject(root, "compute_bytes", (double) f->compute);
    cJSON_AddNumberToObject(root, "peak_bytes", (double) f->peak);
    return json_print(root);
}

/* ---- text ---- */

struct text {
    char * bytes;
    size_t n, capacity;
};

static bool append(struct text * text, const char * bytes, size_t n) {
    if (text->n + n + 1 > text->capacity) {
        const size_t capacity = 2 * text->capacity + n + 256;
        char *       grown    = realloc(text->bytes, capacity);
        if (grown == NULL) {
            return false;
        }
        text->bytes    = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    text->bytes[text->n] = 0;
    return true;
}

/* The prompt in the model's chat template (ChatML), or as it is. */
static bool make_prompt(const struct options * o, const struct model * model, struct text * out) {
    if (o->raw || strcmp(model->template_text, "chatml") != 0) {
        return append(out, o->prompt, strlen(o->prompt));
    }
    const char * const parts[] = { o->system != NULL ? "<|im_start|>system\n" : "", o->system != NULL ? o->system : "",
                                   o->system != NULL ? "<|im_end|>\n" : "", "<|im_start|>user\n", o->prompt,
                                   "<|im_end|>\n<|im_start|>assistant\n" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!append(out, parts[i], strlen(parts[i]))) {
            return false;
        }
    }
    return true;
}

static bool encode(const struct options * o, const struct model * model, int32_t ** tokens, int32_t * n) {
    struct text prompt = { 0 };
    *n                 = make_prompt(o, model, &prompt) ? vocab_encode(model->vocab, prompt.bytes, !o->raw, tokens) : -1;
    free(prompt.bytes);
    if (*n < 0) {
        return false;
    }
    if (vocab_adds_bos(model->vocab) && (*n == 0 || (*tokens)[0] != vocab_bos(model->vocab))) {
        int32_t * with = malloc(((size_t) *n + 1) * sizeof(*with));
        if (with == NULL) {
            return false;
        }
        with[0] = vocab_bos(model->vocab);
        memcpy(with + 1, *tokens, (size_t) *n * sizeof(*with));
        free(*tokens);
        *tokens = with;
        *n += 1;
    }
    return true;
}

/* ---- generation ---- */

static int generate(const struct options * o, const struct model * model, struct context * context, const float * logits,
                    struct figures * f, struct text * out) {
    struct sampler sampler = { (float) o->temperature, (uint64_t) o->seed };
    const double   start   = now();
    for (long i = 0; i < o->n_predict; i++) {
        const int32_t token = sample(&sampler, logits, vocab_size(model->vocab));
        if (vocab_ends_text(model->vocab, token) || context_used(context) == (uint32_t) o->n_ctx) {
            break;
        }
        size_t       n;
        const char * bytes = vocab_decode(model->vocab, token, &n);
        if (!append(out, bytes, n)) {
            return command_failed("no memory for the text");
        }
        if (!o->json) {
            fwrite(bytes, 1, n, stdout);
            fflush(stdout);
        }
        if (!context_eval(context, &token, 1, &logits)) {
            return command_failed("%s", context_error(context));
        }
        f->n_generated++;
    }
    f->generate_s = now() - start;
    return 0;
}

static int answer(const struct options * o, struct model * model, struct context * context, struct figures * f) {
    int32_t *     tokens = NULL;
    const float * logits;
    struct text   out = { 0 };
    int           rc  = 0;
    if (!encode(o, model, &tokens, &f->n_prompt)) {
        return command_failed("no memory for the prompt");
    }
    if (f->n_prompt == 0) {
        rc = command_failed("the prompt is empty");
    }
    const double start = now();
    if (rc == 0 && !context_eval(context, tokens, (uint32_t) f->n_prompt, &logits)) {
        rc = command_failed("%s", context_error(context));
    }
    f->prompt_s = now() - start;
    if (rc == 0) {
        rc = append(&out, "", 0) ? generate(o, model, context, logits, f, &out) : command_failed("no memory for the text");
    }
    f->compute = context_compute_bytes(context);
    f->peak    = peak_memory();
    if (rc == 0 && !o->json) {
        printf("\n\n");
    }
    if (rc == 0 && !(o->json ? print_json(f, out.bytes) : print_table(f))) {
        rc = command_failed("no memory for the table");
    }
    free(tokens);
    free(out.bytes);
    return rc;
}

int command_run(int argc, char ** argv) {
    struct options o = { .n_predict = 256, .n_ctx = 4096, .n_batch = 512, .seed = 1 };
    char           error[1024];
    if (argp_parse(&parser, argc, argv, 0, NULL, &o) != 0) {
        return 2;
    }
    command_capture_log(o.verbose);
    const double   start = now();
    struct figures f     = { 0 };
    struct model * model = model_load(o.model, error, sizeof(error));
    if (model == NULL) {
        return command_failed("%s", error);
    }
    if (o.n_threads == 0) {
        o.n_threads = sysconf(_SC_NPROCESSORS_ONLN);
    }
    if ((unsigned long) o.n_ctx > model->n_ctx_train) {
        o.n_ctx = model->n_ctx_train;
    }
    if (o.n_batch > o.n_ctx) {
        o.n_batch = o.n_ctx;
    }
    const struct context_params params  = { (uint32_t) o.n_ctx, (uint32_t) o.n_batch, (int) o.n_threads };
    struct context *            context = context_new(model, params, error, sizeof(error));
    int                         rc;
    if (context == NULL) {
        rc = command_failed("%s", error);
    } else {
        f.load_s  = now() - start;
        f.weights = model->weight_bytes;
        f.kv      = context_kv_bytes(context);
        rc        = answer(&o, model, context, &f);
    }
    context_free(context);
    model_free(model);
    return rc;
}
