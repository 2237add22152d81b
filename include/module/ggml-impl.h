/* SPDX-License-Identifier: MIT
 *
 * ggml-impl.h: what backend modules share with the core: the graph structure, its hash set, operator parameters,
 * number conversions and fusion checks.
 *
 * Modules compile the inline code below into themselves, so the structures and the arithmetic on them are frozen:
 * the hash of a tensor is its address >> 4 modulo the set's size with linear probing, occupancy is a bitset of
 * 32-bit words, use_counts is indexed by the slot in visited_hash_set.
 *
 * Nothing here is for programs: those include ggml.h. Asserts end the process; a module that wants to report a fault
 * checks first.
 */
#ifndef GGML_IMPL_H
#define GGML_IMPL_H

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ggml.h"
#include "gguf.h"

/* Vector types of the target, as kernels in modules expect to find them. */
#if defined(__ARM_NEON) && !defined(__CUDACC__)
#include <arm_neon.h>
#endif
#if defined(__ARM_FEATURE_SVE)
#include <arm_sve.h>
#endif

#ifndef __cplusplus
#ifndef static_assert
#define static_assert _Static_assert
#endif
#endif

/* They evaluate an argument twice. */
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

/* Bytes. Data of tensors in files and mappings is aligned to this and often to no more: no kernel may assume 64. */
#define TENSOR_ALIGNMENT 32

#ifdef __cplusplus
extern "C" {
#endif

/* ---- log and diagnosis ---- */

/* Writes the call stack to standard error; nothing with GGML_NO_BACKTRACE in the environment. */
GGML_API void ggml_print_backtrace(void);

/* Forms a message and hands it to the callback of ggml_log_set, whole, whatever its length. The default callback writes
 * to standard error. */
GGML_API void ggml_log_internal(enum ggml_log_level level, const char * format, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
GGML_API void ggml_log_callback_default(enum ggml_log_level level, const char * text, void * user_data);

/* printf style; the line feed is the caller's. CONT goes on with the line before. */
#define GGML_LOG(...)       ggml_log_internal(GGML_LOG_LEVEL_NONE, __VA_ARGS__)
#define GGML_LOG_INFO(...)  ggml_log_internal(GGML_LOG_LEVEL_INFO, __VA_ARGS__)
#define GGML_LOG_WARN(...)  ggml_log_internal(GGML_LOG_LEVEL_WARN, __VA_ARGS__)
#define GGML_LOG_ERROR(...) ggml_log_internal(GGML_LOG_LEVEL_ERROR, __VA_ARGS__)
#define GGML_LOG_DEBUG(...) ggml_log_internal(GGML_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define GGML_LOG_CONT(...)  ggml_log_internal(GGML_LOG_LEVEL_CONT, __VA_ARGS__)

/* Traces that some modules have in their code: nothing is compiled for them. */
#define GGML_DEBUG 0
#define GGML_PRINT_DEBUG(...)
#define GGML_PRINT_DEBUG_5(...)
#define GGML_PRINT_DEBUG_10(...)

/* ---- small helpers ---- */

/* n rounded up to a multiple of 32. */
static inline int ggml_up32(int n) {
    return (n + 31) & ~31;
}

/* n rounded up to a multiple of m, a power of two. */
static inline int ggml_up(int n, int m) {
    GGML_ASSERT((m & (m - 1)) == 0);
    return (n + m - 1) & ~(m - 1);
}

/* Same type, extents and strides: bytes of one can be taken for those of the other. */
static inline bool ggml_are_same_layout(const struct ggml_tensor * a, const struct ggml_tensor * b) {
    return a->type == b->type && memcmp(a->ne, b->ne, sizeof(a->ne)) == 0 && memcmp(a->nb, b->nb, sizeof(a->nb)) == 0;
}

/* Operators that change labels only: nothing is computed for them. */
static inline bool ggml_op_is_empty(enum ggml_op op) {
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE ||
           op == GGML_OP_TRANSPOSE;
}

/* Does it lie in the memory of another tensor? */
static inline bool ggml_impl_is_view(const struct ggml_tensor * t) {
    return t->view_src != NULL;
}

/* log(1 + exp x), which is x to F32 precision above 20. */
static inline float ggml_compute_softplus_f32(float input) {
    return input > 20.0f ? input : logf(1.0f + expf(input));
}

/* ---- operator parameters: 64 bytes, read and written in words ----
 *
 * i counts words of 4 bytes; a float is kept by its bits. Which word means what is the operator's business. */

static inline void ggml_set_op_params(struct ggml_tensor * tensor, const void * params, size_t params_size) {
    GGML_ASSERT(tensor != NULL);
    GGML_ASSERT(params_size <= GGML_MAX_OP_PARAMS);
    memcpy(tensor->op_params, params, params_size);
}

static inline int32_t ggml_get_op_params_i32(const struct ggml_tensor * tensor, uint32_t i) {
    GGML_ASSERT(i < GGML_MAX_OP_PARAMS / sizeof(int32_t));
    return tensor->op_params[i];
}

static inline float ggml_get_op_params_f32(const struct ggml_tensor * tensor, uint32_t i) {
    float value;
    GGML_ASSERT(i < GGML_MAX_OP_PARAMS / sizeof(float));
    memcpy(&value, &tensor->op_params[i], sizeof(value));
    return value;
}

static inline void ggml_set_op_params_i32(struct ggml_tensor * tensor, uint32_t i, int32_t value) {
    GGML_ASSERT(i < GGML_MAX_OP_PARAMS / sizeof(int32_t));
    tensor->op_params[i] = value;
}

static inline void ggml_set_op_params_f32(struct ggml_tensor * tensor, uint32_t i, float value) {
    GGML_ASSERT(i < GGML_MAX_OP_PARAMS / sizeof(float));
    memcpy(&tensor->op_params[i], &value, sizeof(value));
}

/* Parameters of GGML_OP_MAP_CUSTOM1 to 3 and GGML_OP_CUSTOM. A node of a registered operator (ggml-ext.h) is
 * GGML_OP_CUSTOM too and has no address here: ask ggml_ext_op_name before following one. */
struct ggml_map_custom1_op_params {
    ggml_custom1_op_t fun;
    int               n_tasks;
    void *            userdata;
};

struct ggml_map_custom2_op_params {
    ggml_custom2_op_t fun;
    int               n_tasks;
    void *            userdata;
};

struct ggml_map_custom3_op_params {
    ggml_custom3_op_t fun;
    int               n_tasks;
    void *            userdata;
};

struct ggml_custom_op_params {
    ggml_custom_op_t fun;
    int              n_tasks;
    void *           userdata;
};

/* ---- bitset and hash set ---- */

typedef uint32_t ggml_bitset_t; /* a word of a bitset */

#define BITSET_SHR  5                               /* log2 of its bits */
#define BITSET_MASK (sizeof(ggml_bitset_t) * 8 - 1) /* place of a bit in its word */

/* Words for n bits. */
static inline size_t ggml_bitset_size(size_t n) {
    return (n + BITSET_MASK) >> BITSET_SHR;
}

static inline bool ggml_bitset_get(const ggml_bitset_t * bitset, size_t i) {
    return (bitset[i >> BITSET_SHR] >> (i & BITSET_MASK)) & 1u;
}

static inline void ggml_bitset_set(ggml_bitset_t * bitset, size_t i) {
    bitset[i >> BITSET_SHR] |= (ggml_bitset_t) 1 << (i & BITSET_MASK);
}

static inline void ggml_bitset_clear(ggml_bitset_t * bitset, size_t i) {
    bitset[i >> BITSET_SHR] &= ~((ggml_bitset_t) 1 << (i & BITSET_MASK));
}

/* Answers in place of a slot. */
#define GGML_HASHSET_FULL           ((size_t) -1)
#define GGML_HASHSET_ALREADY_EXISTS ((size_t) -2)

/* A set of tensors by address. Slots do not move while nothing but insertion happens, so that arrays beside the set
 * can be indexed by them. */
struct ggml_hash_set {
    size_t                size; /* slots, a prime number where ggml_hash_size chose it */
    ggml_bitset_t *       used; /* which slots hold a key */
    struct ggml_tensor ** keys; /* undefined where not used */
};

/* A new, empty set with size slots or a few more; members NULL and size 0 when there is no memory. free: its arrays,
 * not the structure. ggml_hash_size: the least size of the series that is not below min_sz. reset: takes all keys
 * out. */
GGML_API struct ggml_hash_set ggml_hash_set_new(size_t size);
GGML_API void                 ggml_hash_set_free(struct ggml_hash_set * hash_set);
GGML_API size_t               ggml_hash_size(size_t min_sz);
GGML_API void                 ggml_hash_set_reset(struct ggml_hash_set * hash_set);

static inline size_t ggml_hash(const struct ggml_tensor * p) {
    return (size_t) (uintptr_t) p >> 4; /* arenas align tensors to 16 bytes: the low bits say nothing */
}

/* Slot of the key, or of the free place where it would go; GGML_HASHSET_FULL when there is neither. */
static inline size_t ggml_hash_find(const struct ggml_hash_set * hash_set, const struct ggml_tensor * key) {
    const size_t home = ggml_hash(key) % hash_set->size;
    size_t       slot = home;
    while (ggml_bitset_get(hash_set->used, slot) && hash_set->keys[slot] != key) {
        slot = slot + 1 == hash_set->size ? 0 : slot + 1;
        if (slot == home) {
            return GGML_HASHSET_FULL;
        }
    }
    return slot;
}

/* Is the key in the set? */
static inline bool ggml_hash_contains(const struct ggml_hash_set * hash_set, struct ggml_tensor * key) {
    const size_t slot = ggml_hash_find(hash_set, key);
    return slot != GGML_HASHSET_FULL && ggml_bitset_get(hash_set->used, slot);
}

/* Slot of the new key; GGML_HASHSET_ALREADY_EXISTS when it was there. Aborts on a full set. */
static inline size_t ggml_hash_insert(struct ggml_hash_set * hash_set, struct ggml_tensor * key) {
    const size_t slot = ggml_hash_find(hash_set, key);
    GGML_ASSERT(slot != GGML_HASHSET_FULL);
    if (ggml_bitset_get(hash_set->used, slot)) {
        return GGML_HASHSET_ALREADY_EXISTS;
    }
    ggml_bitset_set(hash_set->used, slot);
    hash_set->keys[slot] = key;
    return slot;
}

/* Slot of the key, which is put in when it was not there. Aborts on a full set. */
static inline size_t ggml_hash_find_or_insert(struct ggml_hash_set * hash_set, struct ggml_tensor * key) {
    const size_t slot = ggml_hash_find(hash_set, key);
    GGML_ASSERT(slot != GGML_HASHSET_FULL);
    if (!ggml_bitset_get(hash_set->used, slot)) {
        ggml_bitset_set(hash_set->used, slot);
        hash_set->keys[slot] = key;
    }
    return slot;
}

/* ---- graph ---- */

/* In which order ggml_build_forward_expand follows the sources of a node. */
enum ggml_cgraph_eval_order {
    GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT = 0, /* src[0] first */
    GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT = 1, /* the last one first */
    GGML_CGRAPH_EVAL_ORDER_COUNT         = 2,
};

/* A graph. Some programs fill one in by themselves, member by member, and modules take views of one by value: both
 * must work with this layout. Views and copies go stale when the graph grows, which moves its arrays and slots. */
struct ggml_cgraph {
    int                   size;       /* capacity hint: nodes, leafs and hash grow past it */
    int                   n_nodes;    /* computed tensors, in execution order */
    int                   n_leafs;    /* constants and inputs */
    struct ggml_tensor ** nodes;
    struct ggml_tensor ** grads;      /* gradients by hash slot, or NULL */
    struct ggml_tensor ** grad_accs;  /* gradient accumulators by hash slot, or NULL */
    struct ggml_tensor ** leafs;
    int32_t *             use_counts; /* uses of each tensor by hash slot */
    struct ggml_hash_set  visited_hash_set;

    /* The order takes four bytes, and four of padding follow, which the frozen layout leaves free. A graph that was
     * made by ggml_new_graph has a mark there that fits the address of its nodes. Only its arrays have a header with
     * their context and capacity, and may be replaced by larger ones; graphs that a program filled in, and views, have
     * no such mark and do not grow. It is a member because assigning a structure need not copy padding. */
    union {
        enum ggml_cgraph_eval_order order;
        uint64_t                    private_mark; /* its upper half; order is the lower one */
    };

    uint64_t uid; /* a number that no other state of any graph has, to find plans by; 0: none */
};

/* Nodes i0 .. i1 - 1 of a graph, sharing its arrays; no leafs, no gradients. Stale once the graph grows. */
GGML_API struct ggml_cgraph ggml_graph_view(struct ggml_cgraph * cgraph, int i0, int i1);

/* A uid that was never given, any thread. Whoever changes a graph sets its uid to 0. */
GGML_API uint64_t ggml_graph_next_uid(void);

/* May the allocator place the result over a source? */
GGML_API bool ggml_op_can_inplace(enum ggml_op op);

/* Memory aligned to 64 bytes, not cleared; NULL, with a text in the log, without memory and for 0 bytes. The size is
 * told again on free, for systems that want to know. */
GGML_API void * ggml_aligned_malloc(size_t size);
GGML_API void   ggml_aligned_free(void * ptr, size_t size);

/* ---- number conversions ---- */

/* The bits of a float, without undefined behaviour. */
static inline float fp32_from_bits(uint32_t w) {
    float f;
    memcpy(&f, &w, sizeof(f));
    return f;
}

static inline uint32_t fp32_to_bits(float f) {
    uint32_t w;
    memcpy(&w, &f, sizeof(w));
    return w;
}

/* The two conversions below have no branches: what differs from case to case is worked out and chosen by masks of
 * all ones or all zeros, so that compilers make vector code of loops over them. No operand is a subnormal float that
 * counts: modes that flush those to zero change nothing. */

/* IEEE binary16 to binary32; exact, a NaN becomes quiet. The 15 bits below the sign are put in place, 10 bits of
 * fraction becoming 23. The bias of the exponent has to rise from 15 to 127; it is raised by twice as much and taken
 * back by a multiplication, because that leaves infinity and NaN, now at exponent 255, what they are. Numbers below
 * 2^-14 have no leading one: as the last bits of 0.5 they count in units of 2^-24, and 0.5 is subtracted again. */
static inline float ggml_compute_fp16_to_fp32(ggml_fp16_t h) {
    const uint32_t m       = h & 0x7FFFu;
    const uint32_t small   = 0u - (uint32_t) (m < 0x0400u);
    const uint32_t raise   = 2u * (127u - 15u) << 23;
    const uint32_t placed  = fp32_to_bits(fp32_from_bits((m << 13) + raise) * 0x1p-112f);
    const uint32_t counted = fp32_to_bits(fp32_from_bits(fp32_to_bits(0.5f) | m) - 0.5f);
    return fp32_from_bits((uint32_t) (h & 0x8000u) << 16 | (placed & ~small) | (counted & small));
}

/* binary32 to binary16, round to nearest even, overflow to infinity, NaN to the quiet NaN 0x7E00 with the sign. The
 * 31 bits below the sign are first limited to 65536, which is infinity in binary16. From 2^-14 on the bias of the
 * exponent is lowered and 13 bits of fraction are rounded away; a carry goes into the exponent, and from 65520 on to
 * infinity. Below, 0.5 is added, whose last place is worth 2^-24: what that leaves in the fraction is the rounded
 * subnormal. */
static inline ggml_fp16_t ggml_compute_fp32_to_fp16(float f) {
    const uint32_t w       = fp32_to_bits(f);
    const uint32_t m       = w & 0x7FFFFFFFu;
    const uint32_t limited = m < 0x47800000u ? m : 0x47800000u;
    const uint32_t small   = 0u - (uint32_t) (limited < 0x38800000u);
    const uint32_t quiet   = (uint32_t) (m > 0x7F800000u) << 9; /* infinity becomes the NaN */
    const uint32_t lower   = (127u - 15u) << 23;
    const uint32_t rounded = (limited - lower + 0x0FFFu + (limited >> 13 & 1u)) >> 13;
    const uint32_t counted = fp32_to_bits(fp32_from_bits(limited) + 0.5f) - fp32_to_bits(0.5f);
    return (ggml_fp16_t) ((w >> 16 & 0x8000u) | (rounded & ~small) | (counted & small) | quiet);
}

/* Exact: the bits are the upper half. */
static inline float ggml_compute_bf16_to_fp32(ggml_bf16_t h) {
    return fp32_from_bits((uint32_t) h.bits << 16);
}

/* Round to nearest even; a NaN keeps its sign and upper payload and becomes quiet. */
static inline ggml_bf16_t ggml_compute_fp32_to_bf16(float s) {
    ggml_bf16_t    h;
    const uint32_t w = fp32_to_bits(s);
    if ((w & 0x7FFFFFFFu) > 0x7F800000u) {
        h.bits = (uint16_t) ((w >> 16) | 64u);
    } else {
        h.bits = (uint16_t) ((w + 0x7FFFu + ((w >> 16) & 1u)) >> 16);
    }
    return h;
}

/* E8M0 (OCP microscaling): 2^(x - 127). x = 0 is the subnormal 2^-127. */
static inline float ggml_e8m0_to_fp32(uint8_t x) {
    return fp32_from_bits(x == 0 ? 0x00400000u : (uint32_t) x << 23);
}

/* Half of it, 2^(x - 128), for formats whose value table is doubled to stay in integers. */
static inline float ggml_e8m0_to_fp32_half(uint8_t x) {
    return fp32_from_bits(x < 2 ? 0x00200000u << x : (uint32_t) (x - 1) << 23);
}

/* Unsigned E4M3: exponent bias 7, no infinity; 0 and 0x7F (NaN) decode to 0. */
static inline float ggml_ue4m3_to_fp32(uint8_t x) {
    if (x == 0 || x == 0x7F) {
        return 0.0f;
    }
    const int   exponent = (x >> 3) & 15;
    const float fraction = (float) (x & 7);
    const float raw      = exponent == 0 ? ldexpf(fraction, -9) : ldexpf(1.0f + fraction / 8.0f, exponent - 7);
    return raw * 0.5f;
}

/* The nearest unsigned E4M3, for scales of NVFP4: ties away from zero; 0 for zero, negative numbers and NaN. */
GGML_API uint8_t graft_fp32_to_ue4m3(float x);
static inline uint8_t ggml_fp32_to_ue4m3(float x) {
    return graft_fp32_to_ue4m3(x);
}

/* The names by which modules call them; COMPUTE says "not by a table". */
#define GGML_COMPUTE_FP16_TO_FP32(x) ggml_compute_fp16_to_fp32(x)
#define GGML_COMPUTE_FP32_TO_FP16(x) ggml_compute_fp32_to_fp16(x)
#define GGML_FP16_TO_FP32(x)         ggml_compute_fp16_to_fp32(x)
#define GGML_FP32_TO_FP16(x)         ggml_compute_fp32_to_fp16(x)
#define GGML_E8M0_TO_FP32(x)         ggml_e8m0_to_fp32(x)
#define GGML_E8M0_TO_FP32_HALF(x)    ggml_e8m0_to_fp32_half(x)
#define GGML_FP32_TO_BF16(x)         ggml_compute_fp32_to_bf16(x)
#define GGML_BF16_TO_FP32(x)         ggml_compute_bf16_to_fp32(x)

/* ---- fusion checks ----
 *
 * For backends that compute several nodes as one: values in between must not be seen by anybody else. */

/* How many nodes of the graph have this one as a source; 0 when the graph does not know it. */
static inline int32_t ggml_node_get_use_count(const struct ggml_cgraph * cgraph, int node_idx) {
    const size_t slot = ggml_hash_find(&cgraph->visited_hash_set, cgraph->nodes[node_idx]);
    if (slot == GGML_HASHSET_FULL || !ggml_bitset_get(cgraph->visited_hash_set.used, slot)) {
        return 0;
    }
    return cgraph->use_counts[slot];
}

/* Exactly n_uses uses, none of them from outside: no output flag, and no view source. */
static inline bool ggml_node_has_n_uses(const struct ggml_cgraph * cgraph, int node_idx, int32_t n_uses) {
    const struct ggml_tensor * node = cgraph->nodes[node_idx];
    return ggml_node_get_use_count(cgraph, node_idx) == n_uses && node->view_src == NULL &&
           (node->flags & GGML_TENSOR_FLAG_OUTPUT) == 0;
}

/* May the nodes node_idxs[0..num_ops), a chain of the operators ops, be computed as one? Each feeds only the next,
 * all have one shape, all are to be computed. */
static inline bool ggml_can_fuse_ext(const struct ggml_cgraph * cgraph, const int * node_idxs, const enum ggml_op * ops,
                                     int num_ops) {
    for (int i = 0; i < num_ops; i++) {
        if (node_idxs[i] >= cgraph->n_nodes) {
            return false;
        }
        const struct ggml_tensor * node = cgraph->nodes[node_idxs[i]];
        if (node->op != ops[i] || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            return false;
        }
        if (i < num_ops - 1 && !ggml_node_has_n_uses(cgraph, node_idxs[i], 1)) {
            return false;
        }
        if (i > 0) {
            const struct ggml_tensor * prev = cgraph->nodes[node_idxs[i - 1]];
            if ((node->src[0] != prev && node->src[1] != prev) || !ggml_are_same_shape(node, prev)) {
                return false;
            }
        }
    }
    return true;
}

/* The same for nodes side by side, from node_idx on; at most 32. */
static inline bool ggml_can_fuse(const struct ggml_cgraph * cgraph, int node_idx, const enum ggml_op * ops,
                                 int num_ops) {
    int idxs[32];
    assert(num_ops <= 32);
    if (node_idx + num_ops > cgraph->n_nodes) {
        return false;
    }
    for (int i = 0; i < num_ops; i++) {
        idxs[i] = node_idx + i;
    }
    return ggml_can_fuse_ext(cgraph, idxs, ops, num_ops);
}

/* The same for any subgraph: values other than those of `outputs` (indexes of nodes) must not be seen outside of it. */
GGML_API bool ggml_can_fuse_subgraph_ext(const struct ggml_cgraph * cgraph, const int * node_idxs, int count,
                                         const enum ggml_op * ops, const int * outputs, int num_outputs);

/* The same for nodes side by side, fewer than 32. */
static inline bool ggml_can_fuse_subgraph(const struct ggml_cgraph * cgraph, int node_idx, int count,
                                          const enum ggml_op * ops, const int * outputs, int num_outputs) {
    int idxs[32];
    assert(count < 32);
    if (node_idx + count > cgraph->n_nodes) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        idxs[i] = node_idx + i;
    }
    return ggml_can_fuse_subgraph_ext(cgraph, idxs, count, ops, outputs, num_outputs);
}

#ifdef __cplusplus
}

#include <array>
#include <initializer_list>
#include <vector>

/* The same with lists. */
inline bool ggml_can_fuse(const struct ggml_cgraph * cgraph, int node_idx, std::initializer_list<enum ggml_op> ops) {
    return ggml_can_fuse(cgraph, node_idx, ops.begin(), (int) ops.size());
}

inline bool ggml_can_fuse_subgraph(const struct ggml_cgraph * cgraph, int start_idx,
                                   std::initializer_list<enum ggml_op> ops,
                                   std::initializer_list<int> outputs = {}) {
    return ggml_can_fuse_subgraph(cgraph, start_idx, (int) ops.size(), ops.begin(), outputs.begin(),
                                  (int) outputs.size());
}

/* Each edge {to, k, from}, counted from start_idx: source k of node `to` is node `from`. */
inline bool ggml_check_edges(const struct ggml_cgraph * cgraph, int start_idx,
                             std::initializer_list<std::array<int, 3>> edges) {
    for (const auto & edge : edges) {
        if (cgraph->nodes[start_idx + edge[0]]->src[edge[1]] != cgraph->nodes[start_idx + edge[2]]) {
            return false;
        }
    }
    return true;
}

/* Bytes of one value of a GGUF type; 0 for strings and arrays. */
GGML_API size_t gguf_type_size(enum gguf_type type);

/* Appends the file, or the part before the data, to buf; on failure buf stays as it was, with a text in the log. */
GGML_API void gguf_write_to_buf(const struct gguf_context * ctx, std::vector<int8_t> & buf, bool only_meta);
#endif

#endif /* GGML_IMPL_H */
