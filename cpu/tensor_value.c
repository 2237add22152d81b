/* SPDX-License-Identifier: MIT
 *
 * Single values of tensors in host memory, by flat or by 4-D index, and tensors of one value: for tests and small programs,
 * not for the inside of loops. I8, I16, I32, F16, BF16 and F32; numbers are converted as C does. A tensor of another type aborts,
 * as the functions cannot report.
 */
#include "ggml-cpu.h"
#include "ggml-impl.h"

struct value_type {
    bool known;
    float (*get)(const void * p);
    void (*set)(void * p, float x);
    int32_t (*get_int)(const void * p);
    void (*set_int)(void * p, int32_t x);
};

#define INTEGER(name, type)                           \
    static float get_##name(const void * p) {         \
        return (float) *(const type *) p;             \
    }                                                 \
    static void set_##name(void * p, float x) {       \
        *(type *) p = (type) x;                       \
    }                                                 \
    static int32_t get_int_##name(const void * p) {   \
        return (int32_t) *(const type *) p;           \
    }                                                 \
    static void set_int_##name(void * p, int32_t x) { \
        *(type *) p = (type) x;                       \
    }

#define FLOAT(name, type, load, store)                \
    static float get_##name(const void * p) {         \
        return load(*(const type *) p);               \
    }                                                 \
    static void set_##name(void * p, float x) {       \
        *(type *) p = store(x);                       \
    }                                                 \
    static int32_t get_int_##name(const void * p) {   \
        return (int32_t) load(*(const type *) p);     \
    }                                                 \
    static void set_int_##name(void * p, int32_t x) { \
        *(type *) p = store((float) x);               \
    }

INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(f32, float)
FLOAT(f16, ggml_fp16_t, ggml_compute_fp16_to_fp32, ggml_compute_fp32_to_fp16)
FLOAT(bf16, ggml_bf16_t, ggml_compute_bf16_to_fp32, ggml_compute_fp32_to_bf16)

#define ROW(name) {true, get_##name, set_##name, get_int_##name, set_int_##name}

static const struct value_type * value_type(const struct ggml_tensor * t) {
    static const struct value_type types[GGML_TYPE_COUNT] = {
        [GGML_TYPE_I8] = ROW(i8),   [GGML_TYPE_I16] = ROW(i16), [GGML_TYPE_I32] = ROW(i32),
        [GGML_TYPE_F32] = ROW(f32), [GGML_TYPE_F16] = ROW(f16), [GGML_TYPE_BF16] = ROW(bf16),
    };
    if ((unsigned) t->type >= GGML_TYPE_COUNT || !types[t->type].known) {
        GGML_ABORT("tensor '%s': no single values of type %s", t->name, ggml_type_name(t->type));
    }
    return &types[t->type];
}

static void * at(const struct ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (char *) t->data + i0 * (int64_t) t->nb[0] + i1 * (int64_t) t->nb[1] + i2 * (int64_t) t->nb[2] +
           i3 * (int64_t) t->nb[3];
}

static void * at_flat(const struct ggml_tensor * t, int64_t i) {
    const int64_t i1 = i / t->ne[0], i2 = i1 / t->ne[1];
    return at(t, i % t->ne[0], i1 % t->ne[1], i2 % t->ne[2], i2 / t->ne[2]);
}

int32_t ggml_get_i32_1d(const struct ggml_tensor * tensor, int i) {
    return value_type(tensor)->get_int(at_flat(tensor, i));
}

void ggml_set_i32_1d(const struct ggml_tensor * tensor, int i, int32_t value) {
    value_type(tensor)->set_int(at_flat(tensor, i), value);
}

int32_t ggml_get_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3) {
    return value_type(tensor)->get_int(at(tensor, i0, i1, i2, i3));
}

void ggml_set_i32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3, int32_t value) {
    value_type(tensor)->set_int(at(tensor, i0, i1, i2, i3), value);
}

float ggml_get_f32_1d(const struct ggml_tensor * tensor, int i) {
    return value_type(tensor)->get(at_flat(tensor, i));
}

void ggml_set_f32_1d(const struct ggml_tensor * tensor, int i, float value) {
    value_type(tensor)->set(at_flat(tensor, i), value);
}

float ggml_get_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3) {
    return value_type(tensor)->get(at(tensor, i0, i1, i2, i3));
}

void ggml_set_f32_nd(const struct ggml_tensor * tensor, int i0, int i1, int i2, int i3, float value) {
    value_type(tensor)->set(at(tensor, i0, i1, i2, i3), value);
}

struct ggml_tensor * ggml_set_i32(struct ggml_tensor * tensor, int32_t value) {
    const struct value_type * type = value_type(tensor);
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        type->set_int(at_flat(tensor, i), value);
    }
    return tensor;
}

struct ggml_tensor * ggml_set_f32(struct ggml_tensor * tensor, float value) {
    const struct value_type * type = value_type(tensor);
    for (int64_t i = 0; i < ggml_nelements(tensor); i++) {
        type->set(at_flat(tensor, i), value);
    }
    return tensor;
}

/* A tensor without data (NULL, or a context that does not allocate) keeps its value to itself: there is nowhere to put it. */
static bool has_data(const struct ggml_tensor * t) {
    return t != NULL && t->data != NULL;
}

struct ggml_tensor * ggml_new_i32(struct ggml_context * ctx, int32_t value) {
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 1);
    return has_data(t) ? ggml_set_i32(t, value) : t;
}

struct ggml_tensor * ggml_new_f32(struct ggml_context * ctx, float value) {
    struct ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    return has_data(t) ? ggml_set_f32(t, value) : t;
}
