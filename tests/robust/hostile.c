/* SPDX-License-Identifier: MIT
 *
 * Nodes that were edited by hand after they were built: extents, strides, parameters and sources that their operator would have
 * refused. Every tensor's descriptor stays within its own memory, so whatever is touched outside is the kernel's doing: memory has
 * guard bytes around it, sources are compared with copies. Wanted: a status, or a computation that stays inside.
 */
#include "support.h"

#define GUARD    512
#define MAX_MEM  16
#define CAPACITY ((size_t) 16384) /* of each tensor: many times what it has at first */
#ifdef UNDER_TSAN
#define ROUNDS 200
#else
#define ROUNDS 500
#endif

struct memory {
    struct ggml_tensor * tensor;
    unsigned char *      block;
    unsigned char *      copy;
};

static struct memory mem[MAX_MEM];
static int           n_mem;

static void place(struct ggml_tensor * t, uint64_t * seed) {
    struct memory * m = &mem[n_mem++];
    m->tensor         = t;
    m->block          = malloc(CAPACITY + 2 * GUARD);
    m->copy           = malloc(CAPACITY);
    memset(m->block, 0xA5, CAPACITY + 2 * GUARD);
    t->data = m->block + GUARD;
    for (size_t i = 0; i < CAPACITY; i += 4) {
        if (t->type == GGML_TYPE_I32) {
            const int32_t v = (int32_t) (harness_random(seed) % 6) - (harness_random(seed) % 16 == 0); /* indices, few of them bad */
            memcpy((char *) t->data + i, &v, 4);
        } else if (t->type == GGML_TYPE_I64) {
            const int64_t v = (int64_t) (harness_random(seed) % 6) - (harness_random(seed) % 16 == 0);
            memcpy((char *) t->data + (i & ~(size_t) 7), &v, 8);
        } else {
            const float    f = harness_random_float(seed, -1, 1);
            const uint32_t h = 0x3C003800; /* F16 0.5 and 1 */
            memcpy((char *) t->data + i, t->type == GGML_TYPE_F32 ? (const void *) &f : (const void *) &h, 4);
        }
    }
    memcpy(m->copy, t->data, CAPACITY);
}

static bool guards_are_whole(const struct memory * m) {
    for (int i = 0; i < GUARD; i++) {
        if (m->block[i] != 0xA5 || m->block[GUARD + CAPACITY + (size_t) i] != 0xA5) {
            return false;
        }
    }
    return true;
}

static void drop_memory(void) {
    for (int i = 0; i < n_mem; i++) {
        free(mem[i].block);
        free(mem[i].copy);
    }
    n_mem = 0;
}

/* ---- the nodes ---- */

static struct ggml_context * ctx;

static struct ggml_tensor * f32(int64_t a, int64_t b, int64_t c, int64_t d) {
    return ggml_new_tensor_4d(ctx, GGML_TYPE_F32, a, b, c, d);
}
static struct ggml_tensor * f16(int64_t a, int64_t b, int64_t c, int64_t d) {
    return ggml_new_tensor_4d(ctx, GGML_TYPE_F16, a, b, c, d);
}
static struct ggml_tensor * i32(int64_t a, int64_t b, int64_t c) {
    return ggml_new_tensor_3d(ctx, GGML_TYPE_I32, a, b, c);
}

#define NODE(name, expression)                    \
    static struct ggml_tensor * node_##name(void) { \
        return expression;                        \
    }
#define NODES(X)                                                                                                             \
    X(get_rows, ggml_get_rows(ctx, f32(8, 6, 2, 2), i32(3, 2, 2)))                                                           \
    X(get_rows_f16, ggml_get_rows(ctx, f16(8, 6, 2, 2), i32(3, 2, 2)))                                                       \
    X(get_rows_q8, ggml_get_rows(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 6), i32(3, 1, 1)))                         \
    X(get_rows_back, ggml_get_rows_back(ctx, f32(8, 5, 1, 1), i32(5, 1, 1), f32(8, 8, 1, 1)))                                \
    X(set_rows, ggml_set_rows(ctx, f32(8, 6, 2, 2), f32(8, 3, 2, 2), ggml_new_tensor_3d(ctx, GGML_TYPE_I64, 3, 2, 1)))       \
    X(set_rows_q8, ggml_set_rows(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 6), f32(64, 3, 1, 1),                      \
                                 ggml_new_tensor_1d(ctx, GGML_TYPE_I64, 3)))                                                 \
    X(cpy, ggml_cpy(ctx, f32(8, 6, 2, 2), f16(48, 4, 1, 1)))                                                                 \
    X(cpy_q, ggml_cpy(ctx, f32(64, 4, 1, 1), ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 4)))                                \
    X(cont, ggml_cont(ctx, ggml_permute(ctx, f32(8, 6, 2, 2), 1, 0, 2, 3)))                                                  \
    X(concat, ggml_concat(ctx, f32(8, 6, 2, 2), f32(8, 3, 2, 2), 1))                                                         \
    X(concat_q, ggml_concat(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 4), ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 2), 1)) \
    X(acc, ggml_acc(ctx, f32(8, 6, 2, 1), f32(4, 3, 2, 1), 32, 192, 384, 64))                                                \
    X(set, ggml_set(ctx, f32(8, 6, 2, 1), f32(4, 3, 2, 1), 32, 192, 384, 64))                                                \
    X(set_inplace, ggml_set_inplace(ctx, f32(8, 6, 2, 1), f32(4, 3, 2, 1), 32, 192, 384, 64))                                \
    X(rope, ggml_rope_ext(ctx, f32(16, 4, 6, 1), i32(6, 1, 1), f32(8, 1, 1, 1), 16, 2, 0, 10000, 1, 0, 1, 32, 1))            \
    X(rope_multi, ggml_rope_multi(ctx, f32(16, 4, 6, 1), i32(24, 1, 1), NULL, 16, (int[4]){ 2, 2, 2, 2 }, 8, 0, 10000, 1, 0, 1, 32, 1)) \
    X(soft_max, ggml_soft_max_ext(ctx, f32(16, 6, 2, 2), f32(16, 6, 1, 1), 0.5f, 0))                                         \
    X(add, ggml_add(ctx, f32(8, 6, 2, 2), f32(8, 1, 2, 1)))                                                                  \
    X(add_inplace, ggml_add_inplace(ctx, f32(8, 6, 2, 2), f32(8, 1, 2, 1)))                                                  \
    X(add_id, ggml_add_id(ctx, f32(8, 4, 6, 1), f32(8, 6, 1, 1), i32(4, 6, 1)))                                              \
    X(repeat, ggml_repeat(ctx, f32(4, 3, 1, 2), f32(8, 6, 2, 2)))                                                            \
    X(repeat_back, ggml_repeat_back(ctx, f32(8, 6, 2, 2), f32(4, 3, 1, 2)))                                                  \
    X(mul_mat, ggml_mul_mat(ctx, f32(16, 6, 1, 2), f32(16, 3, 2, 2)))                                                        \
    X(mul_mat_f16, ggml_mul_mat(ctx, f16(16, 6, 1, 2), f32(16, 3, 2, 2)))                                                    \
    X(mul_mat_q4, ggml_mul_mat(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_0, 64, 8), f32(64, 3, 2, 1)))                       \
    X(mul_mat_id, ggml_mul_mat_id(ctx, f32(16, 5, 6, 1), f32(16, 2, 4, 1), i32(2, 4, 1)))                                    \
    X(out_prod, ggml_out_prod(ctx, f32(8, 4, 2, 1), f32(6, 4, 2, 1)))                                                        \
    X(norm, ggml_rms_norm(ctx, f32(16, 6, 2, 1), 1e-5f))                                                                     \
    X(swiglu, ggml_swiglu(ctx, f32(16, 6, 2, 1)))                                                                            \
    X(sum_rows, ggml_sum_rows(ctx, f32(16, 6, 2, 1)))                                                                        \
    X(argsort, ggml_argsort(ctx, f32(16, 6, 2, 1), GGML_SORT_ORDER_ASC))                                                     \
    X(argmax, ggml_argmax(ctx, f32(16, 6, 1, 1)))                                                                            \
    X(count_equal, ggml_count_equal(ctx, i32(16, 6, 1), i32(16, 6, 1)))                                                      \
    X(diag_mask, ggml_diag_mask_inf(ctx, f32(8, 6, 2, 1), 1))                                                                \
    X(diag, ggml_diag(ctx, f32(8, 1, 2, 1)))                                                                                 \
    X(pad, ggml_pad(ctx, f32(8, 6, 2, 1), 2, 1, 0, 0))                                                                       \
    X(roll, ggml_roll(ctx, f32(8, 6, 2, 1), 1, 2, 0, 0))                                                                     \
    X(upscale, ggml_upscale(ctx, f32(8, 6, 2, 1), 2, GGML_SCALE_MODE_NEAREST))                                               \
    X(upscale_bilinear, ggml_upscale(ctx, f32(8, 6, 2, 1), 2, GGML_SCALE_MODE_BILINEAR))                                     \
    X(im2col, ggml_im2col(ctx, f16(3, 3, 2, 2), f32(8, 6, 2, 1), 1, 1, 1, 1, 1, 1, true, GGML_TYPE_F16))                     \
    X(conv_transpose_1d, ggml_conv_transpose_1d(ctx, f32(3, 4, 2, 1), f32(8, 2, 1, 1), 1, 0, 1))                             \
    X(conv_transpose_2d, ggml_conv_transpose_2d_p0(ctx, f16(2, 2, 3, 2), f32(6, 5, 2, 1), 2))                                \
    X(pool_2d, ggml_pool_2d(ctx, f32(8, 6, 2, 1), GGML_OP_POOL_AVG, 2, 2, 2, 2, 0, 0))                                       \
    X(flash_attn, ggml_flash_attn_ext(ctx, f32(16, 4, 4, 1), f16(16, 8, 2, 1), f16(16, 8, 2, 1), f16(8, 4, 1, 1), 0.25f, 0, 0)) \
    X(ssm_conv, ggml_ssm_conv(ctx, f32(7, 6, 2, 1), f32(4, 6, 1, 1)))                                                        \
    X(cross_entropy, ggml_cross_entropy_loss(ctx, f32(8, 6, 1, 1), f32(8, 6, 1, 1)))                                         \
    X(timestep, ggml_timestep_embedding(ctx, f32(6, 1, 1, 1), 16, 1000))                                                     \
    X(win_part, ggml_win_part(ctx, f32(4, 6, 5, 1), 3))                                                                      \
    X(get_rel_pos, ggml_get_rel_pos(ctx, f16(8, 7, 1, 1), 4, 4))                                                             \
    X(l2_norm, ggml_l2_norm(ctx, f32(16, 6, 2, 1), 1e-5f))                                                                   \
    X(group_norm, ggml_group_norm(ctx, f32(4, 4, 8, 1), 2, 1e-5f))                                                           \
    X(scale_inplace, ggml_scale_inplace(ctx, f32(16, 6, 2, 1), 2))                                                           \
    X(arange, ggml_arange(ctx, 0, 10, 1))                                                                                    \
    X(mean, ggml_mean(ctx, f32(16, 6, 2, 1)))                                                                                \
    X(cumsum, ggml_cumsum(ctx, f32(16, 6, 2, 1)))                                                                            \
    X(silu, ggml_silu(ctx, f32(16, 6, 2, 1)))

NODES(NODE)

static const struct {
    const char * name;
    struct ggml_tensor * (*make)(void);
} nodes[] = {
#define ROW(name, expression) { #name, node_##name },
    NODES(ROW)
};

#define N_NODES ((int) (sizeof(nodes) / sizeof(nodes[0])))

/* ---- edits ---- */

static bool in_capacity(const struct ggml_tensor * t) {
    size_t bytes = ggml_type_size(t->type);
    for (int i = 0; i < GGML_MAX_DIMS; i++) {
        if (t->ne[i] < 0 || t->ne[i] > 1 << 20 || (t->ne[i] > 0 && t->nb[i] > CAPACITY)) {
            return false;
        }
        const int64_t steps = i == 0 ? t->ne[0] / ggml_blck_size(t->type) : t->ne[i];
        bytes += steps > 0 ? (size_t) (steps - 1) * t->nb[i] : 0;
    }
    return bytes + 64 <= CAPACITY;
}

static int32_t wild(uint64_t * seed) {
    static const int32_t values[] = { 0, 1, -1, 2, 3, 4, 7, 16, 17, 64, 100, 1000, -64, INT32_MAX, INT32_MIN, 0x10000, 0x7fc00000, 0x3f800000 };
    return values[harness_random(seed) % (sizeof(values) / sizeof(values[0]))];
}

static void edit_layout(struct ggml_tensor * t, uint64_t * seed) {
    const struct ggml_tensor before = *t;
    const int                i      = (int) (harness_random(seed) % GGML_MAX_DIMS);
    static const int64_t     extents[] = { 0, 1, 2, 3, 5, 7, 8, 12, 13, 16, 32, 33, 64 };
    switch (harness_random(seed) % 5) {
        case 0:
        case 1: /* an extent, strides as they were: rows overlap or leave gaps */
            t->ne[i] = extents[harness_random(seed) % (sizeof(extents) / sizeof(extents[0]))];
            break;
        case 2: { /* an extent, with strides to match */
            t->ne[i] = extents[harness_random(seed) % (sizeof(extents) / sizeof(extents[0]))];
            t->nb[1] = ggml_row_size(t->type, t->ne[0]);
            t->nb[2] = t->nb[1] * (size_t) t->ne[1];
            t->nb[3] = t->nb[2] * (size_t) t->ne[2];
            break;
        }
        case 3: /* a stride */
            t->nb[i] = (size_t) (harness_random(seed) % 300) * 8; /* values stay aligned */
            break;
        default: { /* two dimensions change places */
            const int     j = (int) (harness_random(seed) % GGML_MAX_DIMS);
            const int64_t n = t->ne[i];
            const size_t  s = t->nb[i];
            t->ne[i] = t->ne[j], t->nb[i] = t->nb[j];
            t->ne[j] = n, t->nb[j] = s;
        }
    }
    if (!in_capacity(t)) {
        *t = before;
    }
}

static void edit(struct ggml_tensor * node, uint64_t * seed) {
    int n_src = 0;
    while (n_src < GGML_MAX_SRC && node->src[n_src] != NULL) {
        n_src++;
    }
    switch (harness_random(seed) % 8) {
        case 0:
        case 1:
            edit_layout(node, seed);
            break;
        case 2:
        case 3:
            edit_layout(n_src > 0 ? node->src[harness_random(seed) % (unsigned) n_src] : node, seed);
            break;
        case 4:
        case 5: {
            const unsigned i = (unsigned) (harness_random(seed) % 16);
            node->op_params[i] = wild(seed);
            if (node->op == GGML_OP_GROUP_NORM && node->op_params[0] > 100000) {
                node->op_params[0] = 100000; /* empty groups are walked one by one: right, but long */
            }
            break;
        }
        case 6:
            if (n_src > 0 && node->view_src == NULL) { /* not a copy of memory onto itself */
                const unsigned i = (unsigned) (harness_random(seed) % (unsigned) n_src), j = (unsigned) (harness_random(seed) % (unsigned) n_src);
                struct ggml_tensor * t = node->src[i];
                node->src[i] = node->src[j];
                node->src[j] = t;
            }
            break;
        default:
            if (n_src > 0 && harness_random(seed) % 2) {
                node->src[harness_random(seed) % (unsigned) n_src] = NULL;
            } else {
                node->view_offs = (size_t) harness_random(seed);
            }
    }
}

static void quiet(enum ggml_log_level level, const char * text, void * ud) {
    (void) level, (void) text, (void) ud;
}

static void attack(int which, uint64_t seed, ggml_backend_t backend, int * n_ran, int * n_refused) {
    const uint64_t first = seed;
    ctx                  = ggml_init((struct ggml_init_params){ 1 << 16, NULL, true });
    struct ggml_tensor * node  = nodes[which].make();
    struct ggml_cgraph * graph = ggml_new_graph_custom(ctx, 32, false);
    ggml_build_forward_expand(graph, node);
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        if (t->view_src == NULL && strcmp(t->name, "graph") != 0) {
            place(t, &seed);
        }
    }
    for (struct ggml_tensor * t = ggml_get_first_tensor(ctx); t != NULL; t = ggml_get_next_tensor(ctx, t)) {
        if (t->view_src != NULL) {
            t->data = (char *) t->view_src->data + t->view_offs;
        }
    }
    const int n_edits = 1 + (int) (harness_random(&seed) % 3);
    for (int i = 0; i < n_edits; i++) {
        edit(node, &seed);
    }
    ggml_backend_cpu_set_n_threads(backend, first % 8 == 0 ? 3 : 1);
    ggml_backend_supports_op(backend, node); /* whatever it says: it must survive the question */
    const enum ggml_status status = ggml_backend_graph_compute(backend, graph);
    *(status == GGML_STATUS_SUCCESS ? n_ran : n_refused) += 1;
    for (int i = 0; i < n_mem; i++) {
        CHECK_MSG(guards_are_whole(&mem[i]), "%s seed %llu: wrote outside of tensor %d", nodes[which].name, (unsigned long long) first, i);
        const bool target = mem[i].tensor == node || mem[i].tensor == node->view_src;
        CHECK_MSG(target || memcmp(mem[i].copy, mem[i].tensor->data, CAPACITY) == 0, "%s seed %llu: wrote into source %d", nodes[which].name,
                  (unsigned long long) first, i);
    }
    drop_memory();
    ggml_free(ctx);
}

TEST(edited_nodes) {
    const char *   only    = getenv("HOSTILE_NODE");
    const char *   seed    = getenv("HOSTILE_SEED");
    ggml_backend_t backend = ggml_backend_cpu_init();
    const char *   more    = getenv("HOSTILE_ROUNDS");
    const uint64_t rounds  = more != NULL ? strtoull(more, NULL, 10) : ROUNDS;
    int            n_ran = 0, n_refused = 0;
    ggml_log_set(quiet, NULL);
    for (int i = 0; i < N_NODES; i++) {
        for (uint64_t s = 1; s <= rounds; s++) {
            if ((only == NULL || strcmp(only, nodes[i].name) == 0) && (seed == NULL || strtoull(seed, NULL, 10) == s)) {
                if (getenv("HOSTILE_TRACE") != NULL) {
                    fprintf(stderr, "%s %d\n", nodes[i].name, (int) s);
                }
                attack(i, s, backend, &n_ran, &n_refused);
            }
        }
    }
    ggml_log_set(NULL, NULL);
    ggml_backend_free(backend);
    if (only == NULL && seed == NULL) {
        CHECK_MSG(n_ran > 1000 && n_refused > 1000, "%d ran, %d refused", n_ran, n_refused);
    }
}
