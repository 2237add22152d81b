/* SPDX-License-Identifier: MIT
 *
 * Where workers must wait for each other. Steps between two barriers run at the same time, each worker at its own pace;
 * so a barrier stands before the first step that touches memory which a step since the last barrier writes, or writes what
 * one of those reads. Steps that one worker runs alone need no barrier among themselves: it is always the first worker.
 */
#include "ext/plan.h"

/* More steps than this between two barriers are not looked through: a barrier is cheaper. */
#define WINDOW 24

/* Sources of a step that are kept apart; a group with more waits for everything. */
#define MAX_READS 48

struct range {
    const char * begin;
    const char * end;
};

struct access {
    struct range writes[GGML_EXT_MAX_FUSED + 1]; /* results and workspace */
    struct range reads[MAX_READS];
    int          n_writes, n_reads;
    bool         single, everything;
};

static struct range range_of(const struct ggml_tensor * t) {
    struct range r = { t->data, t->data };
    if (t->data != NULL) {
        r.end = r.begin + ggml_nbytes(t);
    }
    return r;
}

static bool overlap(struct range a, struct range b) {
    return a.begin < b.end && b.begin < a.end;
}

static bool any_overlap(const struct range * a, int na, const struct range * b, int nb) {
    for (int i = 0; i < na; i++) {
        for (int j = 0; j < nb; j++) {
            if (overlap(a[i], b[j])) {
                return true;
            }
        }
    }
    return false;
}

/* NULL, or the first tensor of the step that has elements and no data. */
static const struct ggml_tensor * without_data(const struct graft_step * step) {
    for (int i = 0; i < step->n_nodes; i++) {
        const struct ggml_tensor * node = step->nodes[i];
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            const struct ggml_tensor * src = node->src[k];
            if (src != NULL && src->data == NULL && step->n_nodes == 1 && ggml_nbytes(src) > 0) {
                return src;
            }
        }
        if (node->data == NULL && i + 1 == step->n_nodes && ggml_nbytes(node) > 0) {
            return node; /* values inside of a group may have no memory */
        }
    }
    return NULL;
}

static void collect(const struct graft_step * step, const void * workspace, struct access * a) {
    a->n_writes   = 0;
    a->n_reads    = 0;
    a->single     = step->max_workers == 1;
    a->everything = step->kernel == NULL || step->kernel->task == NULL; /* not run by the team */
    for (int i = 0; i < step->n_nodes && !a->everything; i++) {
        const struct ggml_tensor * node = step->nodes[i];
        a->writes[a->n_writes++]        = range_of(node);
        for (int k = 0; k < GGML_MAX_SRC; k++) {
            if (node->src[k] == NULL) {
                continue;
            }
            if (a->n_reads == MAX_READS) {
                a->everything = true;
                break;
            }
            a->reads[a->n_reads++] = range_of(node->src[k]);
        }
    }
    if (step->workspace_size > 0) {
        const char * at = step->workspace != NULL ? step->workspace : workspace;
        a->writes[a->n_writes++] = (struct range){ at, at + step->workspace_size };
    }
}

static bool depends(const struct access * later, const struct access * earlier) {
    if (later->single && earlier->single && !later->everything && !earlier->everything) {
        return false;
    }
    return later->everything || earlier->everything ||
           any_overlap(later->reads, later->n_reads, earlier->writes, earlier->n_writes) ||
           any_overlap(later->writes, later->n_writes, earlier->writes, earlier->n_writes) ||
           any_overlap(later->writes, later->n_writes, earlier->reads, earlier->n_reads);
}

void graft_plan_link(struct graft_plan * plan, const void * workspace) {
    struct access open[WINDOW];
    int           n_open = 0;
    plan->unplaced       = NULL;
    for (int i = 0; i < plan->n_steps; i++) {
        struct access now;
        collect(&plan->steps[i], workspace, &now);
        if (plan->unplaced == NULL && plan->steps[i].kernel != NULL) {
            plan->unplaced = without_data(&plan->steps[i]);
        }
        bool wait = n_open == WINDOW;
        for (int j = n_open - 1; j >= 0 && !wait; j--) {
            wait = depends(&now, &open[j]);
        }
        if (wait) {
            n_open = 0;
        }
        if (i > 0) {
            plan->steps[i - 1].barrier = wait;
        }
        open[n_open++] = now;
    }
    if (plan->n_steps > 0) {
        plan->steps[plan->n_steps - 1].barrier = false; /* the end of a run waits anyway */
    }
    plan->linked           = true;
    plan->linked_workspace = workspace;
}
