/* SPDX-License-Identifier: MIT
 *
 * graft run: text from a model, streamed to stdout; a table of times and memory at the end goes to stderr.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "command.h"
#include "context.h"
#include "ggml.h"
#include "model.h"
#include "report.h"
#include "sample.h"
#include "utf8.h"

struct options {
    const char * model;
    const char * prompt;
    const char * system;
    long         n_predict, n_threads, n_ctx, n_batch; /* n_threads 0: all; n_ctx 0: not given */
    double       temperature;
    long         seed;
    bool         raw, json, verbose;
};

#define DEFAULT_CONTEXT 4096

enum { KEY_RAW = 256, KEY_SEED, KEY_SYSTEM, KEY_TEMPERATURE };

static const struct argp_option option_list[] = {
    { "prompt", 'p', "TEXT", 0, "the question, or with --raw the beginning of the text", 0 },
    { "predict", 'n', "N", 0, "tokens to generate at most (256)", 0 },
    { "threads", 't', "N", 0, "threads (the processors this process may use)", 0 },
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

static double real(struct argp_state * state, const char * name, const char * arg) {
    char *       end;
    const double value = strtod(arg, &end);
    if (end == arg || *end != 0 || !(value >= 0.0 && value <= 100.0)) {
        command_wrong(state, "%s is '%s', expected a number from 0 to 100", name, arg);
    }
    return value;
}

static void check_words(struct argp_state * state, const struct options * o) {
    if (o->model == NULL) {
        command_wrong(state, "a model is expected");
    }
    if (o->prompt == NULL) {
        command_wrong(state, "a prompt is expected: -p TEXT");
    }
    if (o->prompt[0] == 0) {
        command_wrong(state, "the prompt is empty");
    }
}

static error_t parse(int key, char * arg, struct argp_state * state) {
    struct options * o = state->input;
    switch (key) {
        case 'p': o->prompt = arg; break;
        case 'n': o->n_predict = command_number(state, "--predict", arg, 0, 1 << 24); break;
        case 't': o->n_threads = command_number(state, "--threads", arg, 1, GGML_MAX_N_THREADS); break;
        case 'c': o->n_ctx = command_number(state, "--context", arg, 1, 1 << 24); break;
        case 'b': o->n_batch = command_number(state, "--batch", arg, 1, 1 << 16); break;
        case KEY_TEMPERATURE: o->temperature = real(state, "--temperature", arg); break;
        case KEY_SEED: o->seed = command_number(state, "--seed", arg, 0, __LONG_MAX__); break;
        case KEY_SYSTEM: o->system = arg; break;
        case KEY_RAW: o->raw = true; break;
        case 'j': o->json = true; break;
        case 'v': o->verbose = true; break;
        case ARGP_KEY_ARG:
            if (o->model != NULL) {
                command_wrong(state, "one model is expected, found '%s' too", arg);
            }
            o->model = arg;
            break;
        case ARGP_KEY_END: check_words(state, o); break;
        default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp parser = {
    option_list, parse, "MODEL.gguf", "Generates text with a model of the llama architecture.", 0, 0, 0
};

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
static bool make_prompt(const struct options * o, struct text * out) {
    if (o->raw) {
        return append(out, o->prompt, strlen(o->prompt));
    }
    const char * const parts[] = { o->system != NULL ? "<|im_start|>system\n" : "",
                                   o->system != NULL ? o->system : "",
                                   o->system != NULL ? "<|im_end|>\n" : "",
                                   "<|im_start|>user\n",
                                   o->prompt,
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
    *n                 = make_prompt(o, &prompt) ? vocab_encode(model->vocab, prompt.bytes, !o->raw, tokens) : -1;
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

/* Text that was generated, and how much of it has been printed. */
struct answer {
    struct text  text;
    size_t       printed;
    const char * stopped; /* "end", "limit", "context" or "output" */
};

/* Prints whole characters: a token may end within one. */
static void stream(struct answer * a, bool last) {
    const size_t n = last ? a->text.n : a->printed + utf8_complete(a->text.bytes + a->printed, a->text.n - a->printed);
    if (n > a->printed) {
        fwrite(a->text.bytes + a->printed, 1, n - a->printed, stdout);
        a->printed = n;
        if (!command_flush()) {
            a->stopped = "output";
        }
    }
}

static int generate(const struct options * o, const struct model * model, struct context * context,
                    const float * logits, struct report * report, struct answer * a) {
    struct sampler sampler = { (float) o->temperature, (uint64_t) o->seed };
    a->stopped             = o->n_predict == 0 ? "limit" : NULL;
    while (a->stopped == NULL) {
        const int32_t token = sample(&sampler, logits, vocab_size(model->vocab));
        if (vocab_ends_text(model->vocab, token)) {
            a->stopped = "end";
            break;
        }
        size_t       n;
        const char * bytes = vocab_decode(model->vocab, token, &n);
        if (!append(&a->text, bytes, n)) {
            return command_failed("no memory for the text");
        }
        report->n_generated++;
        if (!o->json) {
            stream(a, false);
        }
        if (a->stopped != NULL) {
            break;
        }
        if (report->n_generated >= o->n_predict) {
            a->stopped = "limit";
        } else if (context_used(context) == (uint32_t) o->n_ctx) {
            a->stopped = "context";
        } else if (!context_eval(context, &token, 1, &logits)) {
            return command_failed("%s", context_error(context));
        } else {
            report->n_evaluated++;
        }
    }
    if (!o->json) {
        stream(a, true);
    }
    return 0;
}

static size_t peak_memory(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t) usage.ru_maxrss * 1024 : 0;
}

static int finish(const struct options * o, struct report * report, const struct answer * a) {
    report->peak = peak_memory();
    if (o->json) {
        return report_print_json(report, a->text.bytes, a->stopped) ? 0 : command_failed("no memory for the table");
    }
    if (strcmp(a->stopped, "output") == 0) {
        return 0; /* main says it */
    }
    puts("");
    if (strcmp(a->stopped, "context") == 0) {
        command_note("the context of %ld positions is full; --context makes it larger", o->n_ctx);
    }
    command_flush();
    fputs("\n", stderr);
    return report_print_table(report) ? 0 : command_failed("no memory for the table");
}

static int answer(const struct options * o, struct model * model, struct context * context, struct report * report) {
    int32_t *     tokens = NULL;
    const float * logits = NULL;
    struct answer a      = { 0 };
    int           rc     = 0;
    if (!encode(o, model, &tokens, &report->n_prompt) || !append(&a.text, "", 0)) {
        rc = command_failed("no memory for the prompt");
    } else if (report->n_prompt == 0) {
        rc = command_failed("the prompt has no token of this model");
    } else if (report->n_prompt > o->n_ctx) {
        rc = command_failed("the prompt has %d tokens, the context %ld positions; --context makes it larger",
                            report->n_prompt, o->n_ctx);
    }
    const double start = report_now();
    if (rc == 0 && !context_eval(context, tokens, (uint32_t) report->n_prompt, &logits)) {
        rc = command_failed("%s", context_error(context));
    }
    const double begin = report_now();
    report->prompt_s   = begin - start;
    if (rc == 0) {
        rc = generate(o, model, context, logits, report, &a);
    }
    report->generate_s = report_now() - begin;
    report->compute    = context_compute_bytes(context);
    if (rc == 0) {
        rc = finish(o, report, &a);
    }
    free(tokens);
    free(a.text.bytes);
    return rc;
}

/* ---- settings ---- */

/* Processors that this process may run on. */
static long processors(void) {
    long n = 1;
    for (size_t size = 1024; size <= 1 << 20; size *= 2) {
        cpu_set_t * set = CPU_ALLOC(size);
        const bool  ok  = set != NULL && sched_getaffinity(0, CPU_ALLOC_SIZE(size), set) == 0;
        if (ok) {
            n = CPU_COUNT_S(CPU_ALLOC_SIZE(size), set);
        }
        CPU_FREE(set);
        if (ok || errno != EINVAL) { /* EINVAL: the kernel's set is larger */
            break;
        }
    }
    return n < GGML_MAX_N_THREADS ? n : GGML_MAX_N_THREADS;
}

static void settle(struct options * o, const struct model * model) {
    if (o->n_threads == 0) {
        o->n_threads = processors();
    }
    const long asked = o->n_ctx;
    o->n_ctx         = asked != 0 ? asked : DEFAULT_CONTEXT;
    if ((unsigned long) o->n_ctx > model->n_ctx_train) {
        o->n_ctx = model->n_ctx_train;
    }
    if (asked > o->n_ctx) {
        command_note("the context has %ld positions: the model was trained for no more", o->n_ctx);
    }
    if (o->n_batch > o->n_ctx) {
        o->n_batch = o->n_ctx;
    }
    if (model->template_text[0] == 0 && !o->raw) {
        o->raw = true;
        command_note("the model has no chat template that is known here; the prompt is continued as plain text");
    }
}

int command_run(int argc, char ** argv) {
    struct options o = { .n_predict = 256, .n_batch = 512, .seed = 1 };
    char           error[1024];
    if (argp_parse(&parser, argc, argv, 0, NULL, &o) != 0) {
        return 2;
    }
    command_set_log(o.verbose);
    if (!command_check_file(o.model)) {
        return 1;
    }
    const double   start  = report_now();
    struct report  report = { 0 };
    struct model * model  = model_load(o.model, error, sizeof(error));
    if (model == NULL) {
        return command_failed("%s", error);
    }
    settle(&o, model);
    const struct context_params params  = { (uint32_t) o.n_ctx, (uint32_t) o.n_batch, (int) o.n_threads };
    struct context *            context = context_new(model, params, error, sizeof(error));
    int                         rc;
    if (context == NULL) {
        rc = command_failed("%s: %s", o.model, error);
    } else {
        report.load_s  = report_now() - start;
        report.weights = model->weight_bytes;
        report.kv      = context_kv_bytes(context);
        rc             = answer(&o, model, context, &report);
    }
    context_free(context);
    model_free(model);
    return rc;
}
