/* SPDX-License-Identifier: MIT
 *
 * Builders: nodes equal to the recorded ones, names, NULL handed on, and survival of any metadata.
 */
#include <stdlib.h>

#include "cases.h"
#include "graft.h"
#include "harness.h"
#include "node_text.h"

#define ARENA ((size_t) 64 << 20)

static struct ggml_context * new_context(bool checked) {
    struct ggml_context * ctx = ggml_init((struct ggml_init_params){.mem_size = ARENA, .no_alloc = true});
    if (ctx != NULL && checked) {
        graft_set_checked(ctx, true);
    }
    return ctx;
}

static const char * const golden[] = {
#include "golden.inc"
};
#define N_GOLDEN (sizeof(golden) / sizeof(golden[0]))

static void compare_line(void * user, const char * text) {
    size_t * next = user;
    if (*next >= N_GOLDEN) {
        CHECK_MSG(false, "more nodes than recorded: %s", text);
    } else {
        CHECK_MSG(strcmp(text, golden[*next]) == 0, "\n  found    %s\n  recorded %s", text, golden[*next]);
    }
    (*next)++;
}

static void compare(struct cases * c, const char * label, struct ggml_tensor * result) {
    CHECK_MSG(result != NULL, "%s: NULL, %s", label, graft_context_error(c->ctx));
    if (result != NULL) {
        node_walk(label, result, compare_line, c->user);
        harness_count_run(1);
    }
}

static void build_and_compare(bool checked) {
    size_t       next = 0;
    struct cases c    = {.ctx = new_context(checked), .emit = compare, .setters = true, .user = &next};
    REQUIRE(c.ctx != NULL);
    cases_build(&c);
    CHECK_MSG(next == N_GOLDEN, "%zu nodes, %zu recorded", next, N_GOLDEN);
    CHECK_MSG(!checked || graft_context_status(c.ctx) == GGML_STATUS_SUCCESS, "%s", graft_context_error(c.ctx));
    ggml_free(c.ctx);
}

TEST(recorded_nodes) {
    build_and_compare(false);
}

TEST(recorded_nodes_checked) {
    build_and_compare(true);
}

static const char * const names[] = {
#include "names.inc"
};

TEST(names) {
    size_t i = 0;
    char   text[256];
    for (int op = 0; op < GGML_OP_COUNT; op++) {
        snprintf(text, sizeof(text), "op %d %s %s", op, ggml_op_name((enum ggml_op) op),
                 ggml_op_symbol((enum ggml_op) op));
        CHECK_MSG(strcmp(text, names[i]) == 0, "%s, recorded: %s", text, names[i]);
        i++;
    }
    for (int op = 0; op < GGML_UNARY_OP_COUNT; op++) {
        snprintf(text, sizeof(text), "unary %d %s", op, ggml_unary_op_name((enum ggml_unary_op) op));
        CHECK_MSG(strcmp(text, names[i]) == 0, "%s, recorded: %s", text, names[i]);
        i++;
    }
    for (int op = 0; op < GGML_GLU_OP_COUNT; op++) {
        snprintf(text, sizeof(text), "glu %d %s", op, ggml_glu_op_name((enum ggml_glu_op) op));
        CHECK_MSG(strcmp(text, names[i]) == 0, "%s, recorded: %s", text, names[i]);
        i++;
    }
    CHECK(i == sizeof(names) / sizeof(names[0]));
}

TEST(names_out_of_range) {
    const int values[] = {-1, GGML_OP_COUNT, 1 << 20, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const char * found[] = {ggml_op_name((enum ggml_op) values[i]), ggml_op_symbol((enum ggml_op) values[i]),
                                ggml_unary_op_name((enum ggml_unary_op) values[i]),
                                ggml_glu_op_name((enum ggml_glu_op) values[i])};
        for (size_t k = 0; k < sizeof(found) / sizeof(found[0]); k++) {
            CHECK_MSG(found[k] != NULL && strcmp(found[k], "unknown") == 0, "value %d, table %zu", values[i], k);
        }
    }
}

TEST(description_of_damaged_node) {
    struct ggml_context * ctx = new_context(true);
    struct ggml_tensor *  t   = ggml_silu(ctx, ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4));
    REQUIRE(t != NULL);
    CHECK(strcmp(ggml_op_desc(t), "SILU") == 0);
    t->op_params[0] = 1000;
    CHECK(strcmp(ggml_op_desc(t), "unknown") == 0);
    t->op = (enum ggml_op) 1000;
    CHECK(strcmp(ggml_op_desc(t), "unknown") == 0);
    ggml_free(ctx);
}

/* ---- inputs of no type ---- */

struct refusals {
    int  which; /* this input of each case is damaged */
    int  seen;
    int  cases;
    bool damaged;
};

/* A removed type: whatever is built from it fails, and what is built from that. */
static void damage_type(struct cases * c, struct ggml_tensor * input) {
    struct refusals * r = c->user;
    if (input != NULL && strcmp(input->name, "shape") != 0 && r->seen++ == r->which) {
        input->type = (enum ggml_type) 5;
        r->damaged  = true;
    }
}

/* A permuted tensor may be of any kind: its labels are all that changes, and who reads its data checks it. */
static bool is_label(const struct ggml_tensor * t) {
    return t != NULL && (t->op == GGML_OP_PERMUTE || t->op == GGML_OP_TRANSPOSE);
}

static void expect_refusal(struct cases * c, const char * label, struct ggml_tensor * result) {
    struct refusals * r = c->user;
    if (r->damaged && !is_label(result)) {
        CHECK_MSG(result == NULL, "%s: a node from an input of no type", label);
        CHECK_MSG(graft_context_status(c->ctx) != GGML_STATUS_SUCCESS, "%s: no error", label);
        CHECK_MSG(strlen(graft_context_error(c->ctx)) > 10, "%s: text '%s'", label, graft_context_error(c->ctx));
        r->cases++;
    } else if (r->damaged) {
        harness_count_skipped("labels of a tensor of no type may be changed", 1);
    }
    r->damaged = false;
    r->seen    = 0;
    graft_set_checked(c->ctx, true); /* forgets the error */
}

TEST(unknown_types_are_refused) {
    for (int which = 0; which < 7; which++) {
        struct refusals r = {.which = which};
        struct cases    c = {.ctx = new_context(true), .emit = expect_refusal, .input = damage_type, .user = &r};
        REQUIRE(c.ctx != NULL);
        cases_build(&c);
        CHECK(r.cases > 0);
        harness_count_run(r.cases);
        ggml_free(c.ctx);
    }
}

/* ---- wild metadata ---- */

static int64_t wild_extent(uint64_t * state) {
    static const int64_t values[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     32,
                                     64,
                                     256,
                                     -1,
                                     INT32_MAX,
                                     (int64_t) INT32_MAX + 1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MAX / 2,
                                     (int64_t) 1 << 40};
    return values[harness_random(state) % (sizeof(values) / sizeof(values[0]))];
}

static void damage(struct cases * c, struct ggml_tensor * input) {
    uint64_t * state = c->user;
    if (input == NULL) {
        return;
    }
    for (int n = (int) (harness_random(state) % 3); n > 0; n--) {
        const int i = (int) (harness_random(state) % GGML_MAX_DIMS);
        switch (harness_random(state) % 4) {
            case 0:
            case 1:
                input->ne[i] = wild_extent(state);
                break;
            case 2:
                input->nb[i] = (size_t) wild_extent(state);
                break;
            default:
                input->type = (enum ggml_type)(harness_random(state) % 48);
                break;
        }
    }
}

static void survive(struct cases * c, const char * label, struct ggml_tensor * result) {
    (void) label;
    if (result == NULL) {
        CHECK_MSG(graft_context_status(c->ctx) != GGML_STATUS_SUCCESS, "%s: NULL without an error", label);
    } else {
        struct node_text out;
        node_format(&out, label, result);
        for (int i = 0; i < GGML_MAX_DIMS; i++) {
            CHECK_MSG(result->ne[i] >= 0 || is_label(result), "%s", out.text);
        }
    }
    graft_set_checked(c->ctx, true);
}

TEST(wild_metadata) {
    uint64_t state = 20260129;
    for (int round = 0; round < 300; round++) {
        struct cases c = {.ctx = new_context(true), .emit = survive, .input = damage, .user = &state};
        REQUIRE(c.ctx != NULL);
        cases_build(&c);
        ggml_free(c.ctx);
    }
    harness_count_run(300);
}

/* The whole program is about nodes: that it can fail is shown by a node that is not the recorded one. */
TEST(comparison_can_fail) {
    struct ggml_context * ctx = new_context(false);
    struct node_text      out;
    struct ggml_tensor *  a = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 3, 2);
    node_format(&out, "x", ggml_scale(ctx, a, 2.0f));
    const struct node_text first = out;
    node_format(&out, "x", ggml_scale(ctx, a, 2.5f));
    CHECK(strcmp(first.text, out.text) != 0);
    ggml_free(ctx);
}
