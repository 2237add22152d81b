/* SPDX-License-Identifier: MIT
 *
 * ggml.h: tensors, graphs and the built-in operators.
 *
 * How a program uses it. A context (ggml_init) is one block of memory in which descriptors of tensors lie one behind
 * the other. Builders (ggml_mul_mat, ggml_add, ...) append a descriptor that says which operator makes the tensor
 * and from which sources; they compute nothing. ggml_build_forward_expand collects a tensor and all that it depends
 * on into a graph: an array of nodes in an order in which they can be computed. A backend (ggml-backend.h) or
 * ggml_graph_compute (ggml-cpu.h) then runs the array, any number of times.
 *
 * Shapes. A tensor has four extents ne[0..3] and four strides nb[0..3]. ne[0] runs fastest: a matrix of r rows with
 * c values each is [c, r], so "row i" is what shares index i in dimension 1. Dimensions that are not needed have
 * extent 1. Strides are in bytes. In the comments below a0 stands for a->ne[0], b2 for b->ne[2] and so on, [x, y]
 * for the shape [x, y, 1, 1], and y[i0, i1] for an element; sums run over the indices that do not appear on the
 * left.
 *
 * Ownership. Whoever creates something frees it: ggml_init goes with ggml_free. Tensors and graphs belong to their
 * context and end with it or with ggml_reset; a tensor never owns its data. Strings that a function returns are
 * static, or belong to the object that was asked, and are not freed. Strings that are passed in are copied.
 *
 * Threads. Functions that only read (questions about tensors, types, operators) may run anywhere at once. A context,
 * and a graph being built, belong to one thread at a time. The log callback and the abort callback are process-wide.
 *
 * Errors. Builders report no status. Shapes, types or parameters that make no sense end the process through
 * ggml_abort, with a text that names the operator, the tensors and what was expected; so does a context without
 * room. Programs rely on that, and it is the default. graft_set_checked (graft.h) turns a context to the other way:
 * builders then return NULL, take NULL and hand it on, and the context keeps the first error. Functions that change
 * a node without having a context at hand (ggml_set_loss, ggml_mul_mat_set_hint, ...) pass a NULL tensor over and
 * abort on a misuse in both modes. Everything else says at its declaration what it returns when it fails;
 * ggml_ext_last_error (ggml-ext.h) has the text of the last failure on the calling thread.
 */
#ifndef GGML_H
#define GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---------------------------------------------------------------- compiler and linkage */

/* Marks what the libraries export; they are built with everything else hidden. */
#if defined(_WIN32) && !defined(__MINGW32__)
#define GGML_API __declspec(dllimport) extern
#elif defined(__GNUC__)
#define GGML_API __attribute__((visibility("default"))) extern
#else
#define GGML_API extern
#endif

/* GGML_DEPRECATED(declaration, hint): the compiler warns where it is used. GGML_ATTRIBUTE_FORMAT(f, a): argument f is a
 * printf format for the arguments from a on, which the compiler then checks. */
#ifdef __GNUC__
#define GGML_DEPRECATED(func, hint) func __attribute__((deprecated(hint)))
#define GGML_ATTRIBUTE_FORMAT(...) __attribute__((format(printf, __VA_ARGS__)))
#else
#define GGML_DEPRECATED(func, hint) func
#define GGML_ATTRIBUTE_FORMAT(...)
#endif

/* Words that C and C++ spell differently: a function that does not return, a pointer that shares its memory with no
 * other one. */
#ifdef __cplusplus
#define GGML_NORETURN [[noreturn]]
#define GGML_RESTRICT __restrict
#else
#define GGML_NORETURN _Noreturn
#define GGML_RESTRICT restrict
#endif

/* ---------------------------------------------------------------- limits and constants */

/* Of files older than GGUF ("ggml" in ASCII); kept for converters. */
#define GGML_FILE_MAGIC         0x67676d6c
#define GGML_FILE_VERSION       2

/* Generation of the quantized formats, stored in files as "general.quantization_version". Old files keep it
 * multiplied by the factor, beside the file type in one number. */
#define GGML_QNT_VERSION        2
#define GGML_QNT_VERSION_FACTOR 1000

#define GGML_MAX_DIMS           4    /* of a tensor */
#define GGML_MAX_PARAMS         2048 /* historical; graphs and contexts have no such limit here */
#define GGML_MAX_SRC            10   /* sources of a node */
#define GGML_MAX_N_THREADS      512  /* of a pool, and processors in an affinity mask */
#define GGML_MAX_OP_PARAMS      64   /* bytes of parameters in a node */
/* Bytes of a tensor's name with its final zero. A build may define another value, which changes the size of struct
 * ggml_tensor: library, modules and program must then all be built with it. */
#ifndef GGML_MAX_NAME
#define GGML_MAX_NAME 64
#endif
#define GGML_DEFAULT_N_THREADS  4
#define GGML_DEFAULT_GRAPH_SIZE 2048 /* nodes that ggml_new_graph makes room for; graphs grow past it */
#define GGML_MEM_ALIGN          16   /* bytes: of objects in a context, and of memory given to ggml_init */

/* Exit codes of example programs. */
#define GGML_EXIT_SUCCESS       0
#define GGML_EXIT_ABORTED       1

/* Modes of ggml_rope: which values of a row make a pair, and which position turns it. See there. */
#define GGML_ROPE_TYPE_NORMAL 0  /* neighbours 2 i and 2 i + 1 */
#define GGML_ROPE_TYPE_NEOX   2  /* i and i + n_dims/2, as in GPT-NeoX */
#define GGML_ROPE_TYPE_MROPE  8  /* pairs as NEOX, several positions a token: one for each section of the pairs */
#define GGML_ROPE_TYPE_VISION 24 /* as MROPE over whole rows: i and i + n_dims */
#define GGML_ROPE_TYPE_IMROPE 40 /* as MROPE with the sections interleaved pair by pair */
#define GGML_MROPE_SECTIONS   4  /* positions of a token in the modes with several: time, height, width, extra */

/* As n_tasks of a custom operator: as many as there are threads. */
#define GGML_N_TASKS_MAX (-1)

/* ---------------------------------------------------------------- helper macros */

/* Silence warnings about variables and parameters that are not used on purpose. */
#define GGML_UNUSED(x)        (void) (x)
#define GGML_UNUSED_VARS(...) do { (void) sizeof((__VA_ARGS__, 0)); } while (0)

/* x rounded up to a multiple of n, a power of two; n should have the type of x. */
#define GGML_PAD(x, n)        (((x) + (n) - 1) & ~((n) - 1))

/* A place that the program's logic excludes: a promise to the compiler in release builds, an abort in debug builds. */
#ifdef NDEBUG
#define GGML_UNREACHABLE() __builtin_unreachable()
#else
#define GGML_UNREACHABLE() GGML_ABORT("reached a place that cannot be reached")
#endif

/* Ends the process with a text, printf style. GGML_ASSERT does so unless x holds, in release builds too; it is a plain
 * `if` without `else`, so give it braces in an if-else. */
#define GGML_ABORT(...) ggml_abort(__FILE__, __LINE__, __VA_ARGS__)
#define GGML_ASSERT(x)  if (!(x)) GGML_ABORT("GGML_ASSERT(%s) failed", #x)

/* For the inside of kernels that modules bring: declare constants prefix0, prefix1, ... with the first 1 to 4 elements
 * of an array member of a tensor, 0 where the pointer is NULL. */
#define GGML_TENSOR_LOCALS_1(type, prefix, pointer, array)          \
    const type prefix##0 = (pointer) ? (pointer)->array[0] : 0;     \
    GGML_UNUSED(prefix##0);
#define GGML_TENSOR_LOCALS_2(type, prefix, pointer, array)          \
    GGML_TENSOR_LOCALS_1(type, prefix, pointer, array)              \
    const type prefix##1 = (pointer) ? (pointer)->array[1] : 0;     \
    GGML_UNUSED(prefix##1);
#define GGML_TENSOR_LOCALS_3(type, prefix, pointer, array)          \
    GGML_TENSOR_LOCALS_2(type, prefix, pointer, array)              \
    const type prefix##2 = (pointer) ? (pointer)->array[2] : 0;     \
    GGML_UNUSED(prefix##2);
#define GGML_TENSOR_LOCALS(type, prefix, pointer, array)            \
    GGML_TENSOR_LOCALS_3(type, prefix, pointer, array)              \
    const type prefix##3 = (pointer) ? (pointer)->array[3] : 0;     \
    GGML_UNUSED(prefix##3);

/* The same for all operands of a kernel, which must have pointers named src0, src1, src2 and dst: ne00 .. ne03 and nb00
 * .. nb03 of src0, ne10 .. of src1, ne20 .. of src2, ne0 .. and nb0 .. of dst. The last one leaves dst out. */
#define GGML_TENSOR_UNARY_OP_LOCALS                                 \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne)                        \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_BINARY_OP_LOCALS                                \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb1, src1, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne)                        \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_TERNARY_OP_LOCALS                               \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb1, src1, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne2, src2, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb2, src2, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne, dst, ne)                        \
    GGML_TENSOR_LOCALS(size_t, nb, dst, nb)
#define GGML_TENSOR_BINARY_OP_LOCALS01                              \
    GGML_TENSOR_LOCALS(int64_t, ne0, src0, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb0, src0, nb)                       \
    GGML_TENSOR_LOCALS(int64_t, ne1, src1, ne)                      \
    GGML_TENSOR_LOCALS(size_t, nb1, src1, nb)

#ifdef __cplusplus
extern "C" {
#endif

struct ggml_object;         /* header of an object in a context; private */
struct ggml_context;        /* memory for tensors and graphs */
struct ggml_cgraph;         /* a computation graph; ggml-impl.h has its members for backend modules */
struct ggml_backend_buffer; /* memory of a device, ggml-backend.h */
struct ggml_tensor;
struct ggml_threadpool;     /* threads of the CPU backend, ggml-cpu.h */

/* ---------------------------------------------------------------- status and abort */

/* Result of a function that can fail. 0 is success; negative values are failures. */
enum ggml_status {
    GGML_STATUS_ALLOC_FAILED = -2, /* no memory, of the host or of a device */
    GGML_STATUS_FAILED       = -1, /* anything else: a wrong argument, an unsupported node, a file, a device */
    GGML_STATUS_SUCCESS      = 0,
    GGML_STATUS_ABORTED      = 1,  /* the abort callback asked to stop: results are incomplete, nothing is broken */
};

/* A sentence for the log; never NULL, static. */
GGML_API const char * ggml_status_to_string(enum ggml_status status);

/* Asked by the CPU backend between the steps of a graph, on the thread that computes: true stops the computation, which
 * then returns GGML_STATUS_ABORTED. data is what was given with the callback. */
typedef bool (*ggml_abort_callback)(void * data);

/* Called by ggml_abort with the text instead of printing it; the process still ends when it returns. */
typedef void (*ggml_abort_callback_t)(const char * error_message);

/* Sets the callback of ggml_abort, NULL for none, and returns the one before. Any thread. */
GGML_API ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback);

/* Ends the process: the text with file and line, a call stack (not with GGML_NO_BACKTRACE in the environment), abort().
 * Written to standard error directly, since a silenced log must not hide why a program ended. */
GGML_NORETURN GGML_API void ggml_abort(const char * file, int line, const char * fmt, ...) GGML_ATTRIBUTE_FORMAT(3, 4);

/* ---------------------------------------------------------------- log */

enum ggml_log_level {
    GGML_LOG_LEVEL_NONE  = 0, /* output that was asked for */
    GGML_LOG_LEVEL_DEBUG = 1, /* for the developer */
    GGML_LOG_LEVEL_INFO  = 2, /* what a user may like to know: what was loaded, sizes */
    GGML_LOG_LEVEL_WARN  = 3, /* works, but not as somebody may expect */
    GGML_LOG_LEVEL_ERROR = 4, /* something failed; the caller hears of it too, by a status or NULL */
    GGML_LOG_LEVEL_CONT  = 5, /* goes on with the line before, at its level */
};

/* Gets every message whole, with its line feeds. Called on the thread that logs, several at once perhaps, with no lock
 * held: it may log itself, and in C++ programs throw. */
typedef void (*ggml_log_callback)(enum ggml_log_level level, const char * text, void * user_data);

/* Sets the one callback of the process; NULL goes back to the default, which writes everything to standard error. The
 * libraries write nothing to standard output. Either pointer of ggml_log_get may be NULL. */
GGML_API void ggml_log_get(ggml_log_callback * log_callback, void ** user_data);
GGML_API void ggml_log_set(ggml_log_callback log_callback, void * user_data);

/* ---------------------------------------------------------------- version, time, files */

/* Version of the interface ("0.25.3") and the source revision that the library was built from. graft_version() is that
 * of the implementation. */
GGML_API const char * ggml_version(void);
GGML_API const char * ggml_commit(void);

/* A clock that never goes back, from an arbitrary start. ggml_time_init has nothing to do on the supported systems
 * and is called by ggml_init; programs may call it first. ggml_cycles is processor time of the process in ticks of
 * clock(). */
GGML_API void    ggml_time_init(void);
GGML_API int64_t ggml_time_ms(void);
GGML_API int64_t ggml_time_us(void);
GGML_API int64_t ggml_cycles(void);
GGML_API int64_t ggml_cycles_per_ms(void);

/* fopen, with a file name in UTF-8 on every system. NULL on failure, errno set. The caller closes the file. */
GGML_API FILE * ggml_fopen(const char * fname, const char * mode);

/* Sixteen bytes that identify an implementation, of a backend for instance; true when all are equal. */
typedef uint8_t ggml_guid[16];
typedef ggml_guid * ggml_guid_t;
GGML_API bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b);

/* ---------------------------------------------------------------- number formats */

/* Formats of the elements of a tensor. The numbers are stored in files and stay for ever; gaps are formats that were
 * removed, which have a block size of 0 and a name in words. Quantized formats keep blocks of consecutive values of
 * a row with shared scales; a row is a whole number of blocks. struct block_* in ggml-common.h has their layouts.
 * "K" formats have two levels of scales, "I" formats take their values from tables, "T" formats are ternary. */
enum ggml_type {
    GGML_TYPE_F32     = 0,  /* IEEE binary32 */
    GGML_TYPE_F16     = 1,  /* IEEE binary16 */
    GGML_TYPE_Q4_0    = 2,  /* 4.5 bits a value: 32 values, scale */
    GGML_TYPE_Q4_1    = 3,  /* 5 bits: 32 values, scale and minimum */
    GGML_TYPE_Q5_0    = 6,  /* 5.5 bits: 32 values, scale */
    GGML_TYPE_Q5_1    = 7,  /* 6 bits: 32 values, scale and minimum */
    GGML_TYPE_Q8_0    = 8,  /* 8.5 bits: 32 values, scale */
    GGML_TYPE_Q8_1    = 9,  /* 9 bits: Q8_0 and the sum of each block; activations only */
    GGML_TYPE_Q2_K    = 10, /* 2.625 bits: 256 values, 16 groups with scale and minimum */
    GGML_TYPE_Q3_K    = 11, /* 3.4375 bits: 256 values, 16 groups with a scale */
    GGML_TYPE_Q4_K    = 12, /* 4.5 bits: 256 values, 8 groups with scale and minimum */
    GGML_TYPE_Q5_K    = 13, /* 5.5 bits: 256 values, 8 groups with scale and minimum */
    GGML_TYPE_Q6_K    = 14, /* 6.5625 bits: 256 values, 16 groups with a scale */
    GGML_TYPE_Q8_K    = 15, /* 9.125 bits: 256 values, F32 scale, sums of 16; activations only */
    GGML_TYPE_IQ2_XXS = 16, /* 2.0625 bits: eight values from a table of 256; encoding needs an importance matrix */
    GGML_TYPE_IQ2_XS  = 17, /* 2.3125 bits: eight values from a table of 512; encoding needs an importance matrix */
    GGML_TYPE_IQ3_XXS = 18, /* 3.0625 bits: four values from a table of 256 */
    GGML_TYPE_IQ1_S   = 19, /* 1.5625 bits: eight values from a table of 2048; encoding needs an importance matrix */
    GGML_TYPE_IQ4_NL  = 20, /* 4.5 bits: 32 values, sixteen levels that are not evenly spaced */
    GGML_TYPE_IQ3_S   = 21, /* 3.4375 bits: four values from a table of 512 */
    GGML_TYPE_IQ2_S   = 22, /* 2.5625 bits: eight values from a table of 1024 */
    GGML_TYPE_IQ4_XS  = 23, /* 4.25 bits: 256 values, levels of IQ4_NL, 8 groups with a scale */
    GGML_TYPE_I8      = 24, /* signed integers of 8, 16, 32 and 64 bits */
    GGML_TYPE_I16     = 25,
    GGML_TYPE_I32     = 26, /* indices, positions */
    GGML_TYPE_I64     = 27, /* indices of rows, counts */
    GGML_TYPE_F64     = 28, /* IEEE binary64 */
    GGML_TYPE_IQ1_M   = 29, /* 1.75 bits: as IQ1_S with finer scales; encoding needs an importance matrix */
    GGML_TYPE_BF16    = 30, /* upper half of a binary32 */
    GGML_TYPE_TQ1_0   = 34, /* 1.6875 bits: -1, 0, 1 times a scale, five to a byte */
    GGML_TYPE_TQ2_0   = 35, /* 2.0625 bits: -1, 0, 1 times a scale, four to a byte */
    GGML_TYPE_MXFP4   = 39, /* 4.25 bits: E2M1 numbers, 32 share a power of two (OCP microscaling formats 1.0) */
    GGML_TYPE_NVFP4   = 40, /* 4.5 bits: E2M1 numbers, 16 share an unsigned E4M3 scale */
    GGML_TYPE_Q1_0    = 41, /* 1.125 bits: 128 signs and a scale */
    GGML_TYPE_Q2_0    = 42, /* 2.25 bits: 64 values, scale */
    GGML_TYPE_COUNT   = 43, /* ids from GGML_EXT_TYPE_FIRST (ggml-ext.h) on are formats that programs registered */
};

/* What most matrices of a file are stored as: the number under "general.file_type". Vectors and some sensitive
 * matrices of such a file have other types; what counts is the type of each tensor. */
enum ggml_ftype {
    GGML_FTYPE_UNKNOWN              = -1, /* the file does not say */
    GGML_FTYPE_ALL_F32              = 0,
    GGML_FTYPE_MOSTLY_F16           = 1,
    GGML_FTYPE_MOSTLY_Q4_0          = 2,
    GGML_FTYPE_MOSTLY_Q4_1          = 3,
    GGML_FTYPE_MOSTLY_Q4_1_SOME_F16 = 4, /* token embeddings and output in F16; names no single type */
    GGML_FTYPE_MOSTLY_Q8_0          = 7,
    GGML_FTYPE_MOSTLY_Q5_0          = 8,
    GGML_FTYPE_MOSTLY_Q5_1          = 9,
    GGML_FTYPE_MOSTLY_Q2_K          = 10,
    GGML_FTYPE_MOSTLY_Q3_K          = 11,
    GGML_FTYPE_MOSTLY_Q4_K          = 12,
    GGML_FTYPE_MOSTLY_Q5_K          = 13,
    GGML_FTYPE_MOSTLY_Q6_K          = 14,
    GGML_FTYPE_MOSTLY_IQ2_XXS       = 15,
    GGML_FTYPE_MOSTLY_IQ2_XS        = 16,
    GGML_FTYPE_MOSTLY_IQ3_XXS       = 17,
    GGML_FTYPE_MOSTLY_IQ1_S         = 18,
    GGML_FTYPE_MOSTLY_IQ4_NL        = 19,
    GGML_FTYPE_MOSTLY_IQ3_S         = 20,
    GGML_FTYPE_MOSTLY_IQ2_S         = 21,
    GGML_FTYPE_MOSTLY_IQ4_XS        = 22,
    GGML_FTYPE_MOSTLY_IQ1_M         = 23,
    GGML_FTYPE_MOSTLY_BF16          = 24,
    GGML_FTYPE_MOSTLY_MXFP4         = 25,
    GGML_FTYPE_MOSTLY_NVFP4         = 26,
    GGML_FTYPE_MOSTLY_Q1_0          = 27,
    GGML_FTYPE_MOSTLY_Q2_0          = 28,
};

/* The type that a file type names; GGML_TYPE_COUNT when it names none. */
GGML_API enum ggml_type ggml_ftype_to_ggml_type(enum ggml_ftype ftype);

/* Questions about a type. Any value may be asked for: removed and unknown ones have a name that says so and size 0.
 * ggml_blck_size: values in a block, 1 for plain types; ggml_type_size: bytes of a block; ggml_type_sizef: bytes of one
 * value. ggml_row_size: bytes of ne values in a row; SIZE_MAX, with a text, when ne is negative or the size is beyond
 * memory. */
GGML_API const char * ggml_type_name(enum ggml_type type);
GGML_API int64_t      ggml_blck_size(enum ggml_type type);
GGML_API size_t       ggml_type_size(enum ggml_type type);
GGML_API size_t       ggml_row_size(enum ggml_type type, int64_t ne);
GGML_API bool         ggml_is_quantized(enum ggml_type type);
GGML_DEPRECATED(GGML_API double ggml_type_sizef(enum ggml_type type),
                "kept for programs of earlier versions");

/* Decodes k values at x, encodes k values to y. k is a multiple of the block. Any thread. */
typedef void (*ggml_to_float_t)(const void * GGML_RESTRICT x, float * GGML_RESTRICT y, int64_t k);
typedef void (*ggml_from_float_t)(const float * GGML_RESTRICT x, void * GGML_RESTRICT y, int64_t k);

/* What is known about a type. Static; the functions are NULL where a format has none (F32 needs none, formats that
 * need an importance matrix have no plain encoder). */
struct ggml_type_traits {
    const char *      type_name;            /* as in files and tools: "q4_0" */
    int64_t           blck_size;            /* values in a block */
    int64_t           blck_size_interleave; /* not used */
    size_t            type_size;            /* bytes of a block */
    bool              is_quantized;
    ggml_to_float_t   to_float;
    ggml_from_float_t from_float_ref;       /* gives the same bytes on every machine */
};

/* Never NULL. */
GGML_API const struct ggml_type_traits * ggml_get_type_traits(enum ggml_type type);

/* ---- conversions between single precision and the short formats ---- */

typedef uint16_t ggml_fp16_t; /* bits of an IEEE binary16 */
typedef struct {
    uint16_t bits;
} ggml_bf16_t; /* upper half of the bits of a binary32 */

/* To the longer format: exact; a signalling NaN of F16 becomes quiet. To the shorter: rounded to nearest, ties to
 * even, infinity beyond the greatest number, subnormals kept. A NaN becomes 0x7E00 with its sign in F16 and keeps
 * its sign and upper bits in BF16. The row forms convert n values; x and y must not overlap.
 * ggml_fp32_to_bf16_row_ref is the plain loop behind ggml_fp32_to_bf16_row, with the same results. */
GGML_API float       ggml_fp16_to_fp32(ggml_fp16_t x);
GGML_API ggml_fp16_t ggml_fp32_to_fp16(float x);
GGML_API void        ggml_fp16_to_fp32_row(const ggml_fp16_t * x, float * y, int64_t n);
GGML_API void        ggml_fp32_to_fp16_row(const float * x, ggml_fp16_t * y, int64_t n);
GGML_API float       ggml_bf16_to_fp32(ggml_bf16_t x);
GGML_API ggml_bf16_t ggml_fp32_to_bf16(float x);
GGML_API void        ggml_bf16_to_fp32_row(const ggml_bf16_t * x, float * y, int64_t n);
GGML_API void        ggml_fp32_to_bf16_row_ref(const float * x, ggml_bf16_t * y, int64_t n);
GGML_API void        ggml_fp32_to_bf16_row(const float * x, ggml_bf16_t * y, int64_t n);

/* ---- encoding ---- */

/* Encodes rows [start/n_per_row, start/n_per_row + nrows) of a matrix with rows of n_per_row values. src and dst
 * point to the whole matrix, in F32 and in the type; start counts values and must begin a row, so that threads can
 * share a matrix by rows. imatrix: n_per_row weights, one for each column (how much an error there matters), or
 * NULL; formats for which ggml_quantize_requires_imatrix holds need one. Returns the bytes written; 0, with a text
 * in the log, when the type has no encoder, a needed matrix is missing, or start or the row length do not fit. Any
 * thread. */
GGML_API size_t ggml_quantize_chunk(enum ggml_type type, const float * src, void * dst, int64_t start, int64_t nrows,
                                    int64_t n_per_row, const float * imatrix);

GGML_API bool ggml_quantize_requires_imatrix(enum ggml_type type);

/* Search tables of the IQ encoders: made on first use, or ahead of it by init, and freed for all formats by free,
 * which must not run while anything encodes. */
GGML_API void ggml_quantize_init(enum ggml_type type);
GGML_API void ggml_quantize_free(void);

/* Are these whole blocks, with scales that are finite numbers? Says why not in the log. */
GGML_API bool ggml_validate_row_data(enum ggml_type type, const void * data, size_t nbytes);

/* ---------------------------------------------------------------- operators by number */

/* The order is frozen: modules index tables by it. An operator that is not here is made as GGML_OP_CUSTOM by
 * ggml-ext.h. */
enum ggml_op {
    GGML_OP_NONE                    = 0,   /* no operator: a constant, an input, a parameter, or a plain view */
    GGML_OP_DUP                     = 1,   /* ggml_dup */
    GGML_OP_ADD                     = 2,   /* ggml_add, ggml_add_cast */
    GGML_OP_ADD_ID                  = 3,   /* ggml_add_id: rows chosen by index */
    GGML_OP_ADD1                    = 4,   /* ggml_add1: one number */
    GGML_OP_ACC                     = 5,   /* ggml_acc: into a region */
    GGML_OP_SUB                     = 6,   /* ggml_sub */
    GGML_OP_MUL                     = 7,   /* ggml_mul: element by element */
    GGML_OP_DIV                     = 8,   /* ggml_div */
    GGML_OP_SQR                     = 9,   /* a^2 */
    GGML_OP_SQRT                    = 10,  /* square root */
    GGML_OP_LOG                     = 11,  /* natural logarithm */
    GGML_OP_SIN                     = 12,  /* sine, radians */
    GGML_OP_COS                     = 13,  /* cosine, radians */
    GGML_OP_SUM                     = 14,  /* of all values */
    GGML_OP_SUM_ROWS                = 15,  /* of each row */
    GGML_OP_CUMSUM                  = 16,  /* running sums of rows */
    GGML_OP_MEAN                    = 17,  /* of rows */
    GGML_OP_ARGMAX                  = 18,  /* index of the greatest value of a row */
    GGML_OP_COUNT_EQUAL             = 19,  /* of two tensors */
    GGML_OP_REPEAT                  = 20,  /* ggml_repeat: tiles */
    GGML_OP_REPEAT_BACK             = 21,  /* sum over repeats */
    GGML_OP_CONCAT                  = 22,  /* along one dimension */
    GGML_OP_SILU_BACK               = 23,  /* gradient of SiLU */
    GGML_OP_NORM                    = 24,  /* of rows */
    GGML_OP_RMS_NORM                = 25,  /* of rows, by their root mean square */
    GGML_OP_RMS_NORM_BACK           = 26,  /* its gradient */
    GGML_OP_GROUP_NORM              = 27,  /* of groups of channels */
    GGML_OP_L2_NORM                 = 28,  /* of rows, by their length */
    GGML_OP_MUL_MAT                 = 29,  /* matrix product */
    GGML_OP_MUL_MAT_ID              = 30,  /* matrices chosen by index: mixture of experts */
    GGML_OP_OUT_PROD                = 31,  /* sum of outer products of rows */
    GGML_OP_SCALE                   = 32,  /* s a + b */
    GGML_OP_SET                     = 33,  /* a region replaced */
    GGML_OP_CPY                     = 34,  /* ggml_cpy, ggml_cast */
    GGML_OP_CONT                    = 35,  /* made contiguous */
    GGML_OP_RESHAPE                 = 36,  /* this and the next three change labels only: nothing is computed */
    GGML_OP_VIEW                    = 37,  /* a part */
    GGML_OP_PERMUTE                 = 38,  /* dimensions in another order */
    GGML_OP_TRANSPOSE               = 39,  /* the first two exchanged */
    GGML_OP_GET_ROWS                = 40,  /* rows by index */
    GGML_OP_GET_ROWS_BACK           = 41,  /* its gradient */
    GGML_OP_SET_ROWS                = 42,  /* rows written by index */
    GGML_OP_DIAG                    = 43,  /* a row as a diagonal */
    GGML_OP_DIAG_MASK_INF           = 44,  /* beyond the diagonal: -infinity */
    GGML_OP_DIAG_MASK_ZERO          = 45,  /* beyond the diagonal: 0 */
    GGML_OP_SOFT_MAX                = 46,  /* of rows, with scale, mask and sinks */
    GGML_OP_SOFT_MAX_BACK           = 47,  /* its gradient */
    GGML_OP_ROPE                    = 48,  /* rotary position embedding */
    GGML_OP_ROPE_BACK               = 49,  /* the opposite rotation */
    GGML_OP_CLAMP                   = 50,  /* between two numbers */
    GGML_OP_CONV_TRANSPOSE_1D       = 51,  /* convolution that spreads, 1-D */
    GGML_OP_IM2COL                  = 52,  /* windows as rows, 1-D and 2-D */
    GGML_OP_IM2COL_BACK             = 53,  /* its gradient */
    GGML_OP_IM2COL_3D               = 54,  /* windows as rows, 3-D */
    GGML_OP_COL2IM_1D               = 55,  /* columns spread and summed */
    GGML_OP_CONV_2D                 = 56,  /* ggml_conv_2d_direct */
    GGML_OP_CONV_3D                 = 57,  /* ggml_conv_3d_direct */
    GGML_OP_CONV_2D_DW              = 58,  /* ggml_conv_2d_dw_direct */
    GGML_OP_CONV_TRANSPOSE_2D       = 59,  /* convolution that spreads, 2-D */
    GGML_OP_POOL_1D                 = 60,  /* greatest value or mean of windows */
    GGML_OP_POOL_2D                 = 61,  /* the same in two dimensions */
    GGML_OP_POOL_2D_BACK            = 62,  /* its gradient */
    GGML_OP_UPSCALE                 = 63,  /* ggml_upscale, ggml_interpolate */
    GGML_OP_PAD                     = 64,  /* zeros, or going round */
    GGML_OP_PAD_REFLECT_1D          = 65,  /* mirrored */
    GGML_OP_ROLL                    = 66,  /* values moved, going round */
    GGML_OP_ARANGE                  = 67,  /* numbers at one distance */
    GGML_OP_TIMESTEP_EMBEDDING      = 68,  /* sinusoids */
    GGML_OP_ARGSORT                 = 69,  /* indices in order of the values */
    GGML_OP_TOP_K                   = 70,  /* indices of the greatest values */
    GGML_OP_LEAKY_RELU              = 71,  /* a, or a slope times a */
    GGML_OP_TRI                     = 72,  /* a triangle of a matrix */
    GGML_OP_FILL                    = 73,  /* one number everywhere */
    GGML_OP_FLASH_ATTN_EXT          = 74,  /* attention in one pass */
    GGML_OP_FLASH_ATTN_BACK         = 75,  /* only the number is left */
    GGML_OP_SSM_CONV                = 76,  /* causal convolution of Mamba */
    GGML_OP_SSM_SCAN                = 77,  /* recurrence of Mamba and Mamba-2 */
    GGML_OP_WIN_PART                = 78,  /* image to windows */
    GGML_OP_WIN_UNPART              = 79,  /* windows to image */
    GGML_OP_GET_REL_POS             = 80,  /* relative positions of a window */
    GGML_OP_ADD_REL_POS             = 81,  /* added to logits */
    GGML_OP_RWKV_WKV6               = 82,  /* recurrence of RWKV-6 */
    GGML_OP_GATED_LINEAR_ATTN       = 83,  /* gated linear attention */
    GGML_OP_RWKV_WKV7               = 84,  /* recurrence of RWKV-7 */
    GGML_OP_SOLVE_TRI               = 85,  /* triangular system */
    GGML_OP_GATED_DELTA_NET         = 86,  /* gated delta rule */
    GGML_OP_LIGHTNING_INDEXER       = 87,  /* scores of sparse attention */
    GGML_OP_DSV4_HC_COMB            = 88,  /* hyper-connections: mixing matrices */
    GGML_OP_DSV4_HC_PRE             = 89,  /* copies to one */
    GGML_OP_DSV4_HC_POST            = 90,  /* one to copies */
    GGML_OP_UNARY                   = 91,  /* enum ggml_unary_op in parameter 0 */
    GGML_OP_MAP_CUSTOM1             = 92,  /* functions of the program, of 1, 2 and 3 tensors */
    GGML_OP_MAP_CUSTOM2             = 93,
    GGML_OP_MAP_CUSTOM3             = 94,
    GGML_OP_CUSTOM                  = 95,  /* a function of the program, or a registered operator (ggml-ext.h) */
    GGML_OP_CROSS_ENTROPY_LOSS      = 96,  /* of logits and labels */
    GGML_OP_CROSS_ENTROPY_LOSS_BACK = 97,  /* its gradient */
    GGML_OP_OPT_STEP_ADAMW          = 98,  /* step of an optimizer */
    GGML_OP_OPT_STEP_SGD            = 99,  /* step of an optimizer */
    GGML_OP_GLU                     = 100, /* enum ggml_glu_op in parameter 0 */
    GGML_OP_COUNT                   = 101,
};

/* Functions of one value, all under GGML_OP_UNARY. Formulas are at their builders. */
enum ggml_unary_op {
    GGML_UNARY_OP_ABS         = 0,  /* |a| */
    GGML_UNARY_OP_SGN         = 1,  /* sign: -1, 0, 1 */
    GGML_UNARY_OP_NEG         = 2,  /* -a */
    GGML_UNARY_OP_STEP        = 3,  /* 1 above 0, else 0 */
    GGML_UNARY_OP_TANH        = 4,  /* tanh a */
    GGML_UNARY_OP_ELU         = 5,  /* a, or e^a - 1 below 0 */
    GGML_UNARY_OP_RELU        = 6,  /* max(a, 0) */
    GGML_UNARY_OP_SIGMOID     = 7,  /* 1/(1 + e^-a) */
    GGML_UNARY_OP_GELU        = 8,  /* by tanh */
    GGML_UNARY_OP_GELU_QUICK  = 9,  /* by sigmoid */
    GGML_UNARY_OP_SILU        = 10, /* a sigmoid(a) */
    GGML_UNARY_OP_HARDSWISH   = 11, /* a hardsigmoid(a) */
    GGML_UNARY_OP_HARDSIGMOID = 12, /* (a + 3)/6 between 0 and 1 */
    GGML_UNARY_OP_EXP         = 13, /* e^a */
    GGML_UNARY_OP_EXPM1       = 14, /* e^a - 1 */
    GGML_UNARY_OP_SOFTPLUS    = 15, /* ln(1 + e^a) */
    GGML_UNARY_OP_GELU_ERF    = 16, /* by the error function: exact */
    GGML_UNARY_OP_XIELU       = 17, /* the one with parameters */
    GGML_UNARY_OP_FLOOR       = 18, /* downwards */
    GGML_UNARY_OP_CEIL        = 19, /* upwards */
    GGML_UNARY_OP_ROUND       = 20, /* to the nearest, halves away from zero */
    GGML_UNARY_OP_TRUNC       = 21, /* towards zero */
    GGML_UNARY_OP_COUNT       = 22,
};

/* Gated functions act(g) u, all under GGML_OP_GLU, named after the activation of the gate. */
enum ggml_glu_op {
    GGML_GLU_OP_REGLU        = 0, /* ReLU */
    GGML_GLU_OP_GEGLU        = 1, /* GELU by tanh */
    GGML_GLU_OP_SWIGLU       = 2, /* SiLU */
    GGML_GLU_OP_SWIGLU_OAI   = 3, /* SiLU with a slope, clamped, up value plus one */
    GGML_GLU_OP_GEGLU_ERF    = 4, /* GELU by the error function */
    GGML_GLU_OP_GEGLU_QUICK  = 5, /* GELU by sigmoid */
    GGML_GLU_OP_SWIGLU_CLAMP = 6, /* SiLU, clamped */
    GGML_GLU_OP_COUNT        = 7,
};

/* Names ("MUL_MAT"), short formulas ("X*Y"), and the names of members of the two families; never NULL, also for numbers
 * that are no operator. */
GGML_API const char * ggml_op_name(enum ggml_op op);
GGML_API const char * ggml_op_symbol(enum ggml_op op);
GGML_API const char * ggml_unary_op_name(enum ggml_unary_op op);
GGML_API const char * ggml_glu_op_name(enum ggml_glu_op op);

/* ---------------------------------------------------------------- tensors */

/* Roles of a tensor, bits of its flags. */
enum ggml_tensor_flag {
    GGML_TENSOR_FLAG_INPUT   = 1,  /* written by the program: has memory before the graph runs, until it is read */
    GGML_TENSOR_FLAG_OUTPUT  = 2,  /* read by the program: its memory is not reused in the run */
    GGML_TENSOR_FLAG_PARAM   = 4,  /* trained */
    GGML_TENSOR_FLAG_LOSS    = 8,  /* what training makes small; several losses are summed */
    GGML_TENSOR_FLAG_COMPUTE = 16, /* set by ggml_build_forward_expand: the node is wanted, not only listed */
};

/* A descriptor of fixed size: what the values are, where they lie, and how they come about. It owns nothing.
 * Programs read the members; they change them through functions, because devices keep what they have derived from
 * them. */
struct ggml_tensor {
    enum ggml_type type;

    struct ggml_backend_buffer * buffer; /* that data lies in; NULL for data in a context, or before allocation */

    int64_t ne[GGML_MAX_DIMS]; /* extents, fastest first */
    size_t  nb[GGML_MAX_DIMS]; /* strides in bytes. Contiguous: nb[0] = bytes of a block, nb[1] = nb[0]*(ne[0]/block),
                                  nb[i] = nb[i - 1]*ne[i - 1] */

    enum ggml_op op;                                              /* how it is made; NONE: it is given */
    int32_t      op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)]; /* in words, floats by their bits */
    int32_t      flags;                                           /* enum ggml_tensor_flag */

    struct ggml_tensor * src[GGML_MAX_SRC]; /* operands; NULL where there is none */

    struct ggml_tensor * view_src;  /* the tensor whose memory this one shares, never a view itself; NULL: own memory */
    size_t               view_offs; /* bytes from its data */

    void * data; /* on a device this may be no address of the host */
    char   name[GGML_MAX_NAME];
    void * extra; /* of the backend */

    char padding[8];
};

/* Bytes of a descriptor, as an object for bindings that read no C. */
static const size_t GGML_TENSOR_SIZE = sizeof(struct ggml_tensor);

/* Bytes that a tensor without data takes in a context: the descriptor and the header before it. */
GGML_API size_t ggml_tensor_overhead(void);

/* ---- sizes ---- */

/* Number of elements, of rows (ne1 ne2 ne3), bytes of a block of the tensor's type. */
GGML_API int64_t ggml_nelements(const struct ggml_tensor * tensor);
GGML_API int64_t ggml_nrows(const struct ggml_tensor * tensor);
GGML_API size_t  ggml_element_size(const struct ggml_tensor * tensor);

/* Bytes from the first to the end of the last element: for a view with gaps, the span. 0 when it is empty. The
 * second form is rounded up to GGML_MEM_ALIGN. */
GGML_API size_t ggml_nbytes(const struct ggml_tensor * tensor);
GGML_API size_t ggml_nbytes_pad(const struct ggml_tensor * tensor);

/* Dimensions up to the last extent above 1, at least 1. */
GGML_API int ggml_n_dims(const struct ggml_tensor * tensor);

/* The four indices of element i in row-major order. Any of the pointers may be NULL. */
GGML_API void ggml_unravel_index(const struct ggml_tensor * tensor, int64_t i, int64_t * i0, int64_t * i1, int64_t * i2,
                                 int64_t * i3);

/* ---- shapes ---- */

/* scalar: one element. vector: all extents but ne0 are 1. matrix: all but ne0, ne1. 3d: ne3 is 1. empty: an extent
 * is 0. The names are upper bounds: a scalar is also a vector. */
GGML_API bool ggml_is_scalar(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_vector(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_matrix(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_3d(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_empty(const struct ggml_tensor * tensor);

/* Same extents; same strides. */
GGML_API bool ggml_are_same_shape(const struct ggml_tensor * t0, const struct ggml_tensor * t1);
GGML_API bool ggml_are_same_stride(const struct ggml_tensor * t0, const struct ggml_tensor * t1);

/* Is every extent of t1 a multiple of that of t0, so that t0 can be repeated to the shape of t1? An empty tensor
 * only to an empty one. */
GGML_API bool ggml_can_repeat(const struct ggml_tensor * t0, const struct ggml_tensor * t1);

/* ---- strides ---- */

/* transposed: nb0 > nb1. permuted: the strides do not ascend. view: shares the memory of another tensor. */
GGML_API bool ggml_is_transposed(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_permuted(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_view(const struct ggml_tensor * tensor);

/* Is everything side by side in order of the dimensions? Strides of dimensions with extent 1 do not count. _0 is the
 * same; _1: rows may lie apart (nb1 is free), what lies above follows from nb1; _2: nb1 and nb2 are free. */
GGML_API bool ggml_is_contiguous(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_0(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_1(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_2(const struct ggml_tensor * tensor);

/* Are the first n dimensions contiguous, whatever the others are? */
GGML_API bool ggml_is_contiguous_to_1(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_2(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_to_3(const struct ggml_tensor * tensor);

/* allocated: no gaps, though the order may be any (a permuted tensor without holes). rows: values of a row side by
 * side. channels: dimension 2 innermost, then 0, then 1 (images as [width, height, channels] stored pixel by pixel). */
GGML_API bool ggml_is_contiguously_allocated(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_rows(const struct ggml_tensor * tensor);
GGML_API bool ggml_is_contiguous_channels(const struct ggml_tensor * tensor);

/* ---- contents ---- */

/* The address of the data. The second form asserts F32 in debug builds. Only for data in host memory: for other
 * buffers use ggml_backend_tensor_get. */
GGML_API void *  ggml_get_data(const struct ggml_tensor * tensor);
GGML_API float * ggml_get_data_f32(const struct ggml_tensor * tensor);

/* All bytes 0, in whatever memory the tensor is. Aborts when it has none. Returns its argument, as the next ones do. */
GGML_API struct ggml_tensor * ggml_set_zero(struct ggml_tensor * tensor);

/* Names are for people, files and searches; they are cut at GGML_MAX_NAME - 1 bytes and need not be unique. */
GGML_API const char *         ggml_get_name(const struct ggml_tensor * tensor);
GGML_API struct ggml_tensor * ggml_set_name(struct ggml_tensor * tensor, const char * name);
GGML_API struct ggml_tensor * ggml_format_name(struct ggml_tensor * tensor, const char * fmt, ...)
    GGML_ATTRIBUTE_FORMAT(2, 3);

/* Set a flag (enum ggml_tensor_flag). Input and parameter: only of tensors that no operator computes. Loss: one F32.
 * Output also marks what the tensor is a view of. Misuse aborts; NULL is passed over. */
GGML_API void ggml_set_input(struct ggml_tensor * tensor);
GGML_API void ggml_set_output(struct ggml_tensor * tensor);
GGML_API void ggml_set_param(struct ggml_tensor * tensor);
GGML_API void ggml_set_loss(struct ggml_tensor * tensor);

/* Member of the family that a node of GGML_OP_UNARY or GGML_OP_GLU computes; another operator aborts. ggml_op_desc:
 * a name for any node: of the member, of the registered operator, or of the operator. */
GGML_API enum ggml_unary_op ggml_get_unary_op(const struct ggml_tensor * tensor);
GGML_API enum ggml_glu_op   ggml_get_glu_op(const struct ggml_tensor * tensor);
GGML_API const char * ggml_op_desc(const struct ggml_tensor * t);

/* ---------------------------------------------------------------- contexts */

struct ggml_init_params {
    size_t mem_size;   /* bytes; for descriptors alone: ggml_tensor_overhead() for each tensor, ggml_graph_overhead()
                          for each graph */
    void * mem_buffer; /* memory of that size, aligned to GGML_MEM_ALIGN, which the caller frees after the context;
                          NULL: the context has its own */
    bool   no_alloc;   /* tensors get a descriptor and no data: an allocator (ggml-alloc.h) gives it to them later */
};

/* A context; NULL, with a text in the log, when there is no memory or mem_buffer is not aligned. */
GGML_API struct ggml_context * ggml_init(struct ggml_init_params params);

/* Forgets all objects (and the error of checked mode) and keeps the memory. ggml_free ends the context with all that
 * lies in it; buffers of a backend in which data was placed are freed apart. Both take NULL. */
GGML_API void ggml_reset(struct ggml_context * ctx);
GGML_API void ggml_free(struct ggml_context * ctx);

/* Bytes taken so far; the memory and its size; bytes of the largest tensor's data. */
GGML_API size_t ggml_used_mem(const struct ggml_context * ctx);
GGML_API void * ggml_get_mem_buffer(const struct ggml_context * ctx);
GGML_API size_t ggml_get_mem_size(const struct ggml_context * ctx);
GGML_API size_t ggml_get_max_tensor_size(const struct ggml_context * ctx);

/* The no_alloc switch of ggml_init, for the tensors made from now on. */
GGML_API bool ggml_get_no_alloc(struct ggml_context * ctx);
GGML_API void ggml_set_no_alloc(struct ggml_context * ctx, bool no_alloc);

/* Kinds of objects in a context. */
enum ggml_object_type {
    GGML_OBJECT_TYPE_TENSOR      = 0,
    GGML_OBJECT_TYPE_GRAPH       = 1,
    GGML_OBJECT_TYPE_WORK_BUFFER = 2, /* ggml_new_buffer */
};

/* List one object, or all of a context, in the log. */
GGML_API void ggml_print_object(const struct ggml_object * obj);
GGML_API void ggml_print_objects(const struct ggml_context * ctx);

/* ---- new tensors ---- */

/* A contiguous tensor without operator: a constant, an input or a parameter. Its data lies behind the descriptor and
 * is not cleared; in a no_alloc context there is none yet. ne has n_dims (1 to 4) extents, which may be 0. ne[0] is
 * a multiple of the type's block. */
GGML_API struct ggml_tensor * ggml_new_tensor(struct ggml_context * ctx, enum ggml_type type, int n_dims,
                                              const int64_t * ne);
GGML_API struct ggml_tensor * ggml_new_tensor_1d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0);
GGML_API struct ggml_tensor * ggml_new_tensor_2d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                                 int64_t ne1);
GGML_API struct ggml_tensor * ggml_new_tensor_3d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                                 int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_new_tensor_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0,
                                                 int64_t ne1, int64_t ne2, int64_t ne3);

/* A new tensor of the same type and extents, contiguous, with other data; values are not copied. */
GGML_API struct ggml_tensor * ggml_dup_tensor(struct ggml_context * ctx, const struct ggml_tensor * src);

/* The same data under a second descriptor, named "NAME (view)". It has no operator: use ggml_view_* in graphs. */
GGML_API struct ggml_tensor * ggml_view_tensor(struct ggml_context * ctx, struct ggml_tensor * src);

/* nbytes of memory in the context, aligned to GGML_MEM_ALIGN, not cleared. */
GGML_API void * ggml_new_buffer(struct ggml_context * ctx, size_t nbytes);

/* The tensors of a context in the order of their making; NULL after the last. By name: the first that has it, or NULL.
 */
GGML_API struct ggml_tensor * ggml_get_first_tensor(const struct ggml_context * ctx);
GGML_API struct ggml_tensor * ggml_get_next_tensor(const struct ggml_context * ctx, struct ggml_tensor * tensor);
GGML_API struct ggml_tensor * ggml_get_tensor(struct ggml_context * ctx, const char * name);

/* ---------------------------------------------------------------- operators
 *
 * Each builder returns a new tensor in ctx. Without a word about the type, the result has that of the first source,
 * and elementwise operators take F32, F16 and BF16. Shapes and types are checked when the node is made; what only
 * its values can show (an index outside of its range) makes the computation fail with a status.
 *
 * NAME_inplace: the result is a view of the first source, whose values are lost when the node runs. The program
 * makes sure that nobody reads them afterwards, and that no gradient is wanted: the backward pass refuses such
 * nodes. There is no need for these forms to save memory: the graph allocator lays a result over a source that
 * nobody reads any more.
 *
 * "Gradient: a, b" says through which arguments ggml_build_backward_expand goes; without it the operator has none.
 * Those named *_back are what it builds; dy is the gradient of the forward node's result.
 *
 * Broadcasting: where b "is repeated", every extent of a is a multiple of the one of b, and b[i] stands for b[i mod
 * extent].
 */

/* ---- one value from one value ---- */

/* y = a, contiguous, in the layout of its extents. Gradient: a. */
GGML_API struct ggml_tensor * ggml_dup(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_dup_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* a^2; sqrt a; ln a; sin a; cos a. Gradient: a. */
GGML_API struct ggml_tensor * ggml_sqr(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqr_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqrt(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sqrt_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_log(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_log_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sin(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sin_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cos(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cos_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* s a, and s a + b. Rows of a are contiguous and lie at one distance from each other. Gradient: a. */
GGML_API struct ggml_tensor * ggml_scale(struct ggml_context * ctx, struct ggml_tensor * a, float s);
GGML_API struct ggml_tensor * ggml_scale_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s);
GGML_API struct ggml_tensor * ggml_scale_bias(struct ggml_context * ctx, struct ggml_tensor * a, float s, float b);
GGML_API struct ggml_tensor * ggml_scale_bias_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float s,
                                                      float b);

/* min(max(a, min), max). */
GGML_API struct ggml_tensor * ggml_clamp(struct ggml_context * ctx, struct ggml_tensor * a, float min, float max);
GGML_API struct ggml_tensor * ggml_clamp_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float min,
                                                 float max);

/* a where a > 0, else negative_slope a. */
GGML_API struct ggml_tensor * ggml_leaky_relu(struct ggml_context * ctx, struct ggml_tensor * a, float negative_slope,
                                              bool inplace);

/* Any function of enum ggml_unary_op. Rows of a are contiguous. The named forms follow. */
GGML_API struct ggml_tensor * ggml_unary(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_unary_op op);
GGML_API struct ggml_tensor * ggml_unary_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 enum ggml_unary_op op);

/* |a|; sign of a in -1, 0, 1; -a; 1 where a > 0, else 0. Gradient: a (zero for sgn and step). */
GGML_API struct ggml_tensor * ggml_abs(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_abs_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sgn(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sgn_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_neg(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_neg_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_step(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_step_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* e^a; e^a - 1, exact near 0; ln(1 + e^a), which is a above 20. Gradient: a. */
GGML_API struct ggml_tensor * ggml_exp(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_exp_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_expm1(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_expm1_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_softplus(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_softplus_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* tanh a; 1/(1 + e^-a). */
GGML_API struct ggml_tensor * ggml_tanh(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_tanh_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sigmoid(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sigmoid_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* max(a, 0), gradient: a. ELU (arXiv:1511.07289): a where a > 0, else e^a - 1. */
GGML_API struct ggml_tensor * ggml_relu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_relu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_elu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_elu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* GELU (arXiv:1606.08415), a times the normal distribution's probability below a, in three forms:
 *   gelu        a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3)))
 *   gelu_erf    a/2 (1 + erf(a/sqrt 2)), the definition
 *   gelu_quick  a sigmoid(1.702 a) */
GGML_API struct ggml_tensor * ggml_gelu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_erf(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_erf_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_quick(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_gelu_quick_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* SiLU, a sigmoid(a) (arXiv:1710.05941). Gradient: a. The second builder is it: a is dy and b the forward input x,
 * both of one shape; with s = sigmoid(x) the result is dy s (1 + x (1 - s)). */
GGML_API struct ggml_tensor * ggml_silu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_silu_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_silu_back(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);

/* Piecewise linear stand-ins (arXiv:1905.02244): a h(a), and h(a) = min(1, max(0, (a + 3)/6)). */
GGML_API struct ggml_tensor * ggml_hardswish(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_hardsigmoid(struct ggml_context * ctx, struct ggml_tensor * a);

/* To an integer: down, up, to the nearest (halves away from zero), towards zero. */
GGML_API struct ggml_tensor * ggml_floor(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_floor_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_ceil(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_ceil_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_round(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_round_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_trunc(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_trunc_inplace(struct ggml_context * ctx, struct ggml_tensor * a);

/* xIELU (arXiv:2411.13010), with p = softplus(alpha_p) and n = beta + softplus(alpha_n), worked out here:
 * p a^2 + beta a where a > 0, else n (expm1(min(a, eps)) - a) + beta a. */
GGML_API struct ggml_tensor * ggml_xielu(struct ggml_context * ctx, struct ggml_tensor * a, float alpha_n,
                                         float alpha_p, float beta, float eps);

/* c everywhere, in the shape of a, which is contiguous F32 or F16. */
GGML_API struct ggml_tensor * ggml_fill(struct ggml_context * ctx, struct ggml_tensor * a, float c);
GGML_API struct ggml_tensor * ggml_fill_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float c);

/* ---- gated functions (arXiv:2002.05202) ----
 *
 * y = act(g) u. Of one tensor: g is the first half of each row of a and u the second, the other way round in the
 * forms "swapped"; the result is [a0/2, a1, a2, a3]. Of two tensors ("split"): g is a and u is b, of one shape and
 * type, and so is the result. Contiguous but for the distance of rows. Gradient: a, b, of ggml_swiglu_split alone. */
GGML_API struct ggml_tensor * ggml_glu(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_glu_op op,
                                       bool swapped);
GGML_API struct ggml_tensor * ggml_reglu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_reglu_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_swiglu(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_swiglu_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_erf(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_erf_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_quick(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_geglu_quick_swapped(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_glu_split(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                             enum ggml_glu_op op);
GGML_API struct ggml_tensor * ggml_reglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_swiglu_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_erf_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                                   struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_geglu_quick_split(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b);

/* Clamped forms; b may be NULL for the halves of a. With g' = min(g, limit), u' = min(max(u, -limit), limit):
 * oai: g' sigmoid(alpha g') (u' + 1), as in gpt-oss; clamp: silu(g') u'. */
GGML_API struct ggml_tensor * ggml_swiglu_oai(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              float alpha, float limit);
GGML_API struct ggml_tensor * ggml_swiglu_clamp(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * b, float limit);

/* ---- two operands ---- */

/* a + b, a - b, a b, a / b; b is repeated. Shape and type of a. Gradient: a, b (for b summed over the repeats). */
GGML_API struct ggml_tensor * ggml_add(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_add_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_sub(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_sub_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_mul(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_mul_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_div(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_div_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);

/* a + b in another type than that of a, which is quantized, F16 or BF16: saves a conversion. b0 = a0. Gradient: a, b.
 */
GGML_API struct ggml_tensor * ggml_add_cast(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                            enum ggml_type type);

/* a plus the number that b, a scalar, holds. Gradient: a, b. Use ggml_add. */
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_add1(struct ggml_context * ctx, struct ggml_tensor * a,
                                                        struct ggml_tensor * b),
                "kept for programs of earlier versions");
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_add1_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                                struct ggml_tensor * b),
                "kept for programs of earlier versions");

/* y[:, i, j] = a[:, i, j] + b[:, ids[i, j]]: a row of b for each row of a, as biases of mixed experts. a is [n,
 * rows, batch], b [n, experts], ids I32 [rows, batch]. */
GGML_API struct ggml_tensor * ggml_add_id(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                          struct ggml_tensor * ids);

/* A copy of a in which b is added to a region (acc), or replaces it (set). The region has the extents of b, the
 * strides nb1, nb2, nb3 and begins at offset, all in bytes below 2^31; it lies inside of a. acc: both F32, a
 * contiguous; set: one type. Strides that a form does not take are those of a. Gradient: a, b. */
GGML_API struct ggml_tensor * ggml_acc(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                       size_t nb1, size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor * ggml_acc_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                               size_t offset);
GGML_API struct ggml_tensor * ggml_set(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                       size_t nb1, size_t nb2, size_t nb3, size_t offset);
GGML_API struct ggml_tensor * ggml_set_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, size_t nb1, size_t nb2, size_t nb3,
                                               size_t offset);
GGML_API struct ggml_tensor * ggml_set_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                          size_t offset);
GGML_API struct ggml_tensor * ggml_set_1d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, size_t offset);
GGML_API struct ggml_tensor * ggml_set_2d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                          size_t nb1, size_t offset);
GGML_API struct ggml_tensor * ggml_set_2d_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, size_t nb1, size_t offset);

/* b behind a along dimension dim, 0 to 3. One type; the other extents are equal. */
GGML_API struct ggml_tensor * ggml_concat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                          int dim);

/* ---- sums and searches ---- */

/* The sum of all values, [1]; of each row, [1, a1, a2, a3]; the mean of each row, F32 of that shape. Gradient: a. */
GGML_API struct ggml_tensor * ggml_sum(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_sum_rows(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_mean(struct ggml_context * ctx, struct ggml_tensor * a);

/* Running sums along rows: y[i] = a[0] + ... + a[i]. F32. */
GGML_API struct ggml_tensor * ggml_cumsum(struct ggml_context * ctx, struct ggml_tensor * a);

/* The index of the greatest value of each row of a matrix: I32 [a1]. Of equal ones the last. */
GGML_API struct ggml_tensor * ggml_argmax(struct ggml_context * ctx, struct ggml_tensor * a);

/* How many elements of a equal those of b, of one shape: I64 [1]. */
GGML_API struct ggml_tensor * ggml_count_equal(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);

/* Indices that put the values of each row in order: I32 in the shape of a. Equal values keep their order, NaN comes
 * last. */
enum ggml_sort_order {
    GGML_SORT_ORDER_ASC  = 0, /* least first */
    GGML_SORT_ORDER_DESC = 1, /* greatest first */
};
GGML_API struct ggml_tensor * ggml_argsort(struct ggml_context * ctx, struct ggml_tensor * a,
                                           enum ggml_sort_order order);

/* Indices of the k greatest values of each row: I32 [k, a1, a2, a3]. ggml_top_k in any order, which leaves devices
 * free; ggml_argsort_top_k greatest first: a view of ggml_argsort. */
GGML_API struct ggml_tensor * ggml_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k);
GGML_API struct ggml_tensor * ggml_argsort_top_k(struct ggml_context * ctx, struct ggml_tensor * a, int k);

/* ---- repeats ---- */

/* a repeated to the shape of b (read for its shape alone), or to given extents, which are multiples of those of a. A
 * new tensor also where nothing is repeated. Gradient: a. */
GGML_API struct ggml_tensor * ggml_repeat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_repeat_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                             int64_t ne1, int64_t ne2, int64_t ne3);

/* The opposite: a summed over the repeats to the shape of b. Gradient: a. */
GGML_API struct ggml_tensor * ggml_repeat_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b);

/* ---- norms of rows ----
 *
 * eps keeps the divisor from zero. Scales and shifts that models learn are a ggml_mul and a ggml_add behind it. */

/* (a - mean)/sqrt(variance + eps): layer normalisation without its weights (arXiv:1607.06450). */
GGML_API struct ggml_tensor * ggml_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps);

/* a/sqrt(mean(a^2) + eps) (arXiv:1910.07467). Gradient: a. */
GGML_API struct ggml_tensor * ggml_rms_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_rms_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps);

/* Its gradient: a is dy, b the forward input x. With n = a0 and r = 1/sqrt(mean(x^2) + eps):
 * (dy - x sum(x dy)/(sum(x^2) + n eps)) r. */
GGML_API struct ggml_tensor * ggml_rms_norm_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b, float eps);

/* a/max(sqrt(sum(a^2)), eps). */
GGML_API struct ggml_tensor * ggml_l2_norm(struct ggml_context * ctx, struct ggml_tensor * a, float eps);
GGML_API struct ggml_tensor * ggml_l2_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, float eps);

/* As ggml_norm, over all values of a group of channels (arXiv:1803.08494): a is [width, height, channels, batch],
 * the channels fall into n_groups runs of ceil(channels/n_groups). */
GGML_API struct ggml_tensor * ggml_group_norm(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
                                              float eps);
GGML_API struct ggml_tensor * ggml_group_norm_inplace(struct ggml_context * ctx, struct ggml_tensor * a, int n_groups,
                                                      float eps);

/* ---- matrix products ---- */

/* How exact a product has to be; greater values are coarser. Wishes: a kernel may always be more exact. */
enum ggml_prec {
    GGML_PREC_UNDEFINED = 0,
    GGML_PREC_DEFAULT   = 0, /* the backend's choice */
    GGML_PREC_F32       = 10, /* single precision */
    GGML_PREC_BF16      = 15, /* the range of single precision with 8 bits of fraction */
    GGML_PREC_F16       = 20, /* half precision: sums beyond 65504 overflow */
    GGML_PREC_Q8        = 30, /* 8-bit integers with scales by block */
    GGML_PREC_Q4        = 40, /* 4-bit integers with scales by block */
};

/* What a program knows about an operand. */
enum ggml_op_hint {
    GGML_HINT_NONE             = 0,
    GGML_HINT_SRC0_IS_HADAMARD = 1, /* a is the Hadamard matrix times 1/sqrt(a0): a fast transform may replace it */
};

/* y[i, j] = sum over k of a[k, i] b[k, j]: dot products of the rows of a, the weights, with the rows of b, the
 * activations. In terms of mathematics with row-major matrices, y = b a^T.
 *   a [k, m, a2, a3] any type, not transposed    b [k, n, b2, b3]    y F32 [m, n, b2, b3]
 * b2 is a multiple of a2 and b3 of a3: matrix j of b meets matrix j/(b2/a2) of a (heads that share keys). Products of a
 * quantized a may round b to eight bits with a scale for every block. Gradient: a, b. */
GGML_API struct ggml_tensor * ggml_mul_mat(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);

/* Precision of the accumulation, of a MUL_MAT, MUL_MAT_ID or FLASH_ATTN_EXT node; of source idx, of which only 1 of
 * the products is supported. False when the node has no such parameter. ggml_mul_mat_set_prec is the older name of
 * the first. */
GGML_API bool ggml_prec_set_acc(struct ggml_tensor * a, enum ggml_prec prec);
GGML_API bool ggml_prec_set_src(struct ggml_tensor * a, enum ggml_prec prec, int idx);
GGML_DEPRECATED(GGML_API void ggml_mul_mat_set_prec(struct ggml_tensor * a, enum ggml_prec prec),
                "kept for programs of earlier versions");
GGML_API void ggml_mul_mat_set_hint(struct ggml_tensor * a, enum ggml_op_hint hint);

/* Products with matrices that are chosen by index (mixture of experts):
 * y[:, i, t] = as[:, :, ids[i, t]] times b[:, i mod b1, t].
 *   as [k, m, experts]    b [k, b1, tokens]    ids I32 [used, tokens]    y F32 [m, used, tokens]
 * used is a multiple of b1: 1 when all experts of a token see the same row, used when each has its own. An index
 * outside of the experts fails the computation. */
GGML_API struct ggml_tensor * ggml_mul_mat_id(struct ggml_context * ctx, struct ggml_tensor * as,
                                              struct ggml_tensor * b, struct ggml_tensor * ids);

/* y[i, j] = sum over k of a[i, k] b[j, k]: the sum of outer products of rows; the gradient of a product.
 *   a [m, k, a2, a3]    b [n, k, b2, b3]    y F32 [m, n, b2, b3], repeats as in ggml_mul_mat */
GGML_API struct ggml_tensor * ggml_out_prod(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);

/* ---- copies, views, other shapes ---- */

/* Writes a over b, with a conversion where the types differ; the elements are taken in row-major order, so shapes
 * may differ when their numbers are equal. The result is a view of b: use it, not b, so that the copy comes first.
 * Gradient: a. */
GGML_API struct ggml_tensor * ggml_cpy(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);

/* a in another type, contiguous. Gradient: a. */
GGML_API struct ggml_tensor * ggml_cast(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_type type);

/* a made contiguous, in its own shape or in another one with as many elements. Gradient: a. */
GGML_API struct ggml_tensor * ggml_cont(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_cont_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0);
GGML_API struct ggml_tensor * ggml_cont_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1);
GGML_API struct ggml_tensor * ggml_cont_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                           int64_t ne2);
GGML_API struct ggml_tensor * ggml_cont_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                           int64_t ne2, int64_t ne3);

/* The elements of a contiguous a under other extents, as many in all: a view, nothing is computed. b gives its shape
 * alone. Gradient: a. */
GGML_API struct ggml_tensor * ggml_reshape(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_reshape_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0);
GGML_API struct ggml_tensor * ggml_reshape_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                              int64_t ne1);
GGML_API struct ggml_tensor * ggml_reshape_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                              int64_t ne1, int64_t ne2);
GGML_API struct ggml_tensor * ggml_reshape_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                              int64_t ne1, int64_t ne2, int64_t ne3);

/* A part of a: extents, strides of rows and above, and an offset from its first byte, in bytes. It lies inside of
 * what a is a view of. The offset is a multiple of the element or block. Nothing is computed. Gradient: a,
 * contiguous. */
GGML_API struct ggml_tensor * ggml_view_1d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                           size_t offset);
GGML_API struct ggml_tensor * ggml_view_2d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                           size_t nb1, size_t offset);
GGML_API struct ggml_tensor * ggml_view_3d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                           int64_t ne2, size_t nb1, size_t nb2, size_t offset);
GGML_API struct ggml_tensor * ggml_view_4d(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0, int64_t ne1,
                                           int64_t ne2, int64_t ne3, size_t nb1, size_t nb2, size_t nb3, size_t offset);

/* Dimension i of a becomes dimension axis_i of the result; the axes are 0 to 3 in any order. Nothing is computed:
 * the strides move along. ggml_transpose exchanges the first two. Gradient: a. */
GGML_API struct ggml_tensor * ggml_permute(struct ggml_context * ctx, struct ggml_tensor * a, int axis0, int axis1,
                                           int axis2, int axis3);
GGML_API struct ggml_tensor * ggml_transpose(struct ggml_context * ctx, struct ggml_tensor * a);

/* ---- rows by index ---- */

/* y[:, i, j, k] = a[:, b[i, j, k], j, k], decoded to F32 (an I32 tensor stays one): token embeddings.
 *   a [n, rows, a2, a3]    b I32 [m, a2, a3]    y [n, m, a2, a3]    Gradient: a */
GGML_API struct ggml_tensor * ggml_get_rows(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b);

/* Its gradient: row r of the result is the sum of the rows of a (dy, a matrix) that went to r. b: the indices; c
 * gives the shape alone. F32. */
GGML_API struct ggml_tensor * ggml_get_rows_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b, struct ggml_tensor * c);

/* Writes the rows of b into a: a[:, c[i, j, k], j, k] = b[:, i, j, k], encoded in the type of a. This is how a KV
 * cache is filled.
 *   a [n, rows, b2, b3]    b F32 or F16 [n, m, b2, b3]    c I64 or I32 [m, c1, c2], repeated along b2 and b3
 * The result is a view of a. Of two rows with one destination the later wins. The node's sources are b, c, a in this
 * order. */
GGML_API struct ggml_tensor * ggml_set_rows(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                            struct ggml_tensor * c);

/* ---- diagonals ---- */

/* Matrices with the row a on the diagonal and zeros elsewhere: a [n, 1, a2, a3], y [n, n, a2, a3]. */
GGML_API struct ggml_tensor * ggml_diag(struct ggml_context * ctx, struct ggml_tensor * a);

/* Row i keeps its first n_past + i + 1 values; the others become -infinity, or 0. Gradient: a. */
GGML_API struct ggml_tensor * ggml_diag_mask_inf(struct ggml_context * ctx, struct ggml_tensor * a, int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_inf_inplace(struct ggml_context * ctx, struct ggml_tensor * a, int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_zero(struct ggml_context * ctx, struct ggml_tensor * a, int n_past);
GGML_API struct ggml_tensor * ggml_diag_mask_zero_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                          int n_past);

/* Which part of a matrix ggml_tri keeps. Dimension 0 is the column. */
enum ggml_tri_type {
    GGML_TRI_TYPE_UPPER_DIAG = 0, /* above the diagonal, and the diagonal */
    GGML_TRI_TYPE_UPPER      = 1, /* above alone */
    GGML_TRI_TYPE_LOWER_DIAG = 2, /* below, and the diagonal */
    GGML_TRI_TYPE_LOWER      = 3, /* below alone */
};

/* A triangle of square matrices, zeros elsewhere. Contiguous F32. */
GGML_API struct ggml_tensor * ggml_tri(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_tri_type type);

/* X of A X = B, by forward substitution. a: A, lower triangular [n, n, a2, a3]; b: [columns, n, a2, a3], the shape
 * of the result. Contiguous F32. Only left = true, lower = true, uni = false (a diagonal of its own). */
GGML_API struct ggml_tensor * ggml_solve_tri(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                             bool left, bool lower, bool uni);

/* ---- soft max ---- */

/* y[i] = e^(z[i] - m)/sum of e^(z[j] - m) along rows, z = scale a + slope mask, m the greatest z. a contiguous.
 *   mask F16 or F32 [a0, >= a1, m2, m3], a2 and a3 multiples of m2 and m3; NULL: none
 * slope is 1, or with max_bias > 0 that of ALiBi (arXiv:2108.12409), which differs by head (dimension 2): with H the
 * greatest power of two up to a2, 2^(-max_bias (h + 1)/H) for h < H, and 2^(-max_bias (2 (h - H) + 1)/(2 H)) from H
 * on. max_bias > 0 needs a mask. A row without any finite z becomes zeros. The plain form has scale 1. Gradient: a. */
GGML_API struct ggml_tensor * ggml_soft_max(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_soft_max_inplace(struct ggml_context * ctx, struct ggml_tensor * a);
GGML_API struct ggml_tensor * ggml_soft_max_ext(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * mask, float scale, float max_bias);
GGML_API struct ggml_tensor * ggml_soft_max_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                        struct ggml_tensor * mask, float scale, float max_bias);

/* Adds a sink to each head of a node of the above: one more logit, F32 [a2], that takes its share of the sum and is not
 * written. NULL takes it away. */
GGML_API void ggml_soft_max_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks);

/* Its gradient: a is dy, b the result y of the forward node: scale y (dy - sum(y dy)). The mask gets no
 * gradient; max_bias is kept for the record. */
GGML_API struct ggml_tensor * ggml_soft_max_ext_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b, float scale, float max_bias);
GGML_API struct ggml_tensor * ggml_soft_max_ext_back_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                             struct ggml_tensor * b, float scale, float max_bias);

/* ---- rotary position embedding (arXiv:2104.09864) ----
 *
 * Turns pairs (x, x') of values of a row by angles that grow with its position p:
 *   x cos t - x' sin t,  x sin t + x' cos t,   t = p freq_base^(-2 i/n_dims) freq_scale/c[i],   i = 0 .. n_dims/2 - 1
 * a is [row, heads, tokens, batch], F32 or F16; b holds the positions, I32 [tokens]. n_dims values of a row are turned,
 * an even number; the others pass through. mode, one of GGML_ROPE_TYPE_*, says which values make a pair. c: frequency
 * factors, F32 with n_dims/2 values or more, or NULL for ones.
 *
 * YaRN (arXiv:2309.00071) stretches a model beyond the n_ctx_orig positions that it was trained on: with ext_factor
 * > 0 the angle is a blend of the one with and the one without freq_scale, by a ramp over i between the two
 * dimensions that turn beta_fast and beta_slow times within n_ctx_orig; cosines and sines are multiplied by
 * attn_factor (1 + 0.1 ln(1/freq_scale)). With ext_factor 0 they are multiplied by attn_factor alone.
 *
 * Several positions a token (the modes with bit 8): b is I32 [4 tokens], all first positions, then all second ones,
 * ...; sections gives how many of the pairs go by each of the four.
 *
 * The parameters in order:
 *   n_dims       values of a row that are turned, even, at most a0 (VISION: n_dims pairs over the whole row)
 *   sections     four numbers of pairs, for the modes with several positions
 *   mode         GGML_ROPE_TYPE_*
 *   n_ctx_orig   positions the model was trained on; only read with ext_factor other than 0
 *   freq_base    usually 10000; the angle of the first pair is one radian a position
 *   freq_scale   1 for none; 1/4 lets positions run four times as far (linear interpolation, arXiv:2306.15595)
 *   ext_factor   0 for none, 1 for YaRN
 *   attn_factor  multiplies cosines and sines; usually 1
 *   beta_fast, beta_slow   ends of the ramp in turns; 32 and 1 in the paper
 *
 * The plain form has freq_base 10000, no scaling and no factors. Gradient: a. */
GGML_API struct ggml_tensor * ggml_rope(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                        int n_dims, int mode);
GGML_API struct ggml_tensor * ggml_rope_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * b, int n_dims, int mode);
GGML_API struct ggml_tensor * ggml_rope_ext(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                            struct ggml_tensor * c, int n_dims, int mode, int n_ctx_orig,
                                            float freq_base, float freq_scale, float ext_factor, float attn_factor,
                                            float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_ext_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                    struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                                    int mode, int n_ctx_orig, float freq_base, float freq_scale,
                                                    float ext_factor, float attn_factor, float beta_fast,
                                                    float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              struct ggml_tensor * c, int n_dims, int sections[4], int mode,
                                              int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
                                              float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                      struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                                      int sections[4], int mode, int n_ctx_orig, float freq_base,
                                                      float freq_scale, float ext_factor, float attn_factor,
                                                      float beta_fast, float beta_slow);

/* The opposite rotations, which are the gradient; a is dy. */
GGML_API struct ggml_tensor * ggml_rope_ext_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b, struct ggml_tensor * c, int n_dims, int mode,
                                                 int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
                                                 float attn_factor, float beta_fast, float beta_slow);
GGML_API struct ggml_tensor * ggml_rope_multi_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                   struct ggml_tensor * b, struct ggml_tensor * c, int n_dims,
                                                   int sections[4], int mode, int n_ctx_orig, float freq_base,
                                                   float freq_scale, float ext_factor, float attn_factor,
                                                   float beta_fast, float beta_slow);

/* Makes a node of the above turn the values from n_offs on instead of the first ones; not in mode VISION. Returns a. */
GGML_API struct ggml_tensor * ggml_rope_set_offset(struct ggml_tensor * a, int n_offs);

/* The ramp of YaRN: dims[0] and dims[1] are the first and last i of it, floor and ceiling of
 * n_dims ln(n_ctx_orig/(2 pi beta))/(2 ln freq_base), within 0 .. n_dims - 1. */
GGML_API void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast, float beta_slow,
                                       float dims[2]);

/* Older names of ggml_rope_ext without factors. */
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_rope_custom(struct ggml_context * ctx, struct ggml_tensor * a,
                                                               struct ggml_tensor * b, int n_dims, int mode,
                                                               int n_ctx_orig, float freq_base, float freq_scale,
                                                               float ext_factor, float attn_factor, float beta_fast,
                                                               float beta_slow),
                "kept for programs of earlier versions");
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_rope_custom_inplace(struct ggml_context * ctx,
                                                                       struct ggml_tensor * a, struct ggml_tensor * b,
                                                                       int n_dims, int mode, int n_ctx_orig,
                                                                       float freq_base, float freq_scale,
                                                                       float ext_factor, float attn_factor,
                                                                       float beta_fast, float beta_slow),
                "kept for programs of earlier versions");

/* ---- attention (arXiv:2205.14135) ---- */

/* y = soft_max(scale q k^T + slope mask) v in one pass over the keys, without the matrix of logits.
 *   q [d, n, heads, batch]    k [d, keys, k2, batch]    v [dv, keys, v2, batch]; heads is a multiple of k2 and v2
 *   mask F16, contiguous [>= keys, >= n, m2, m3], heads and batch multiples of m2 and m3; NULL: none
 *   y F32 [dv, heads, n, batch]: heads and queries are exchanged already
 * slope and max_bias as in ggml_soft_max_ext. With logit_softcap s > 0 a logit z becomes s tanh(z/s) before the
 * mask. A query that sees no key gives zeros. */
GGML_API struct ggml_tensor * ggml_flash_attn_ext(struct ggml_context * ctx, struct ggml_tensor * q,
                                                  struct ggml_tensor * k, struct ggml_tensor * v,
                                                  struct ggml_tensor * mask, float scale, float max_bias,
                                                  float logit_softcap);

/* Parameters of such a node. Precision of the accumulation: the first is the older name of ggml_prec_set_acc.
 * n_kv_max: a bound on the keys that any query sees through the mask, 0 for unknown; devices may skip the rest.
 * Sinks: F32 [heads], as in ggml_soft_max_add_sinks. */
GGML_DEPRECATED(GGML_API void ggml_flash_attn_ext_set_prec(struct ggml_tensor * a, enum ggml_prec prec),
                "kept for programs of earlier versions");
GGML_API enum ggml_prec ggml_flash_attn_ext_get_prec(const struct ggml_tensor * a);
GGML_API void ggml_flash_attn_ext_set_n_kv_max(struct ggml_tensor * a, int32_t n_kv_max);
GGML_API void ggml_flash_attn_ext_add_sinks(struct ggml_tensor * a, struct ggml_tensor * sinks);

/* Refuses: a name of the interface without an operator. To train attention, build it from products and a soft max. */
GGML_API struct ggml_tensor * ggml_flash_attn_back(struct ggml_context * ctx, struct ggml_tensor * q,
                                                   struct ggml_tensor * k, struct ggml_tensor * v,
                                                   struct ggml_tensor * d, bool masked);

/* ---- convolution ----
 *
 * Kernels come first, data second. s: strides, p: padding on both sides with zeros, d: dilation, for dimensions 0,
 * 1, 2. O(i, k, s, p, d) = (i + 2 p - d (k - 1) - 1)/s + 1, rounded down, is how many places a window of k values
 * has. Convolutions here do not turn the kernel round: y[o] = sum over t of kernel[t] data[o s + t d - p]. */

/* The windows of b as rows of a matrix, so that a convolution becomes a product. a is read for its shape alone.
 *   2-D: a [kw, kh, ic, oc]  b [w, h, ic, batch]  y [kw kh ic, O(w, kw), O(h, kh), batch]
 *   1-D: a [k, ic, oc]       b [n, ic, batch]     y [k ic, O(n, k), batch]
 *   3-D: a [kw, kh, kd, IC oc]  b [w, h, depth, IC batch]  y [kw kh kd IC, O(w, kw), O(h, kh), O(depth, kd) batch]
 * Gradient: b (1-D and 2-D). */
GGML_API struct ggml_tensor * ggml_im2col(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                          int s0, int s1, int p0, int p1, int d0, int d1, bool is_2D,
                                          enum ggml_type dst_type);
GGML_API struct ggml_tensor * ggml_im2col_3d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                             int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1,
                                             int d2, enum ggml_type dst_type);

/* The gradient of the first: a is dy, b the kernel (shape alone), ne the shape of the data; values that several
 * windows share are summed. F32. */
GGML_API struct ggml_tensor * ggml_im2col_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, int64_t * ne, int s0, int s1, int p0, int p1,
                                               int d0, int d1, bool is_2D);

/* Data [n, ic, batch], kernel [k, ic, oc]: F32 [O(n, k), oc, batch]. ph: padding half of the kernel, a0/2. Made of
 * im2col (in F16, or F32 for a BF16 kernel) and a product; gradients go through these. */
GGML_API struct ggml_tensor * ggml_conv_1d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                           int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_1d_ph(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              int s, int d);

/* Depthwise, each channel under its own kernel: kernel [k, 1, channels], data [n, channels], result [O(n, k),
 * channels]. */
GGML_API struct ggml_tensor * ggml_conv_1d_dw(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_1d_dw_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b, int s0, int d0);

/* Data [w, h, ic, batch], kernel [kw, kh, ic, oc]: F32 [O(w, kw), O(h, kh), oc, batch], by im2col and a product.
 * sk_p0: strides of the kernel's extents, no padding (patches). s1_ph: strides 1, padding half of the kernel. */
GGML_API struct ggml_tensor * ggml_conv_2d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                           int s0, int s1, int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_sk_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b);
GGML_API struct ggml_tensor * ggml_conv_2d_s1_ph(struct ggml_context * ctx, struct ggml_tensor * a,
                                                 struct ggml_tensor * b);

/* The same without a matrix of windows: less memory. Type of the data. */
GGML_API struct ggml_tensor * ggml_conv_2d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, int s0, int s1, int p0, int p1, int d0,
                                                  int d1);

/* Depthwise: kernel [kw, kh, 1, channels], data [w, h, channels, batch], result [O(w, kw), O(h, kh), channels,
 * batch]. The direct form keeps data with the channels innermost in that layout. */
GGML_API struct ggml_tensor * ggml_conv_2d_dw(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                              int s0, int s1, int p0, int p1, int d0, int d1);
GGML_API struct ggml_tensor * ggml_conv_2d_dw_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b, int stride0, int stride1, int pad0,
                                                     int pad1, int dilation0, int dilation1);

/* Volumes: channels and batch, or input and output channels, share dimension 3. Kernel [kw, kh, kd, ic oc], data [w,
 * h, depth, ic batch], result F32 [O(w, kw), O(h, kh), O(depth, kd), oc batch]. By im2col (IC: input channels), or
 * directly. */
GGML_API struct ggml_tensor * ggml_conv_3d(struct ggml_context * ctx, struct ggml_tensor * a, struct ggml_tensor * b,
                                           int64_t IC, int s0, int s1, int s2, int p0, int p1, int p2, int d0, int d1,
                                           int d2);
GGML_API struct ggml_tensor * ggml_conv_3d_direct(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * b, int s0, int s1, int s2, int p0, int p1,
                                                  int p2, int d0, int d1, int d2, int n_channels, int n_batch,
                                                  int n_channels_out);

/* Transposed: every value of the data spreads the kernel over the result, s apart, and what overlaps is summed.
 *   1-D: a [k, oc, ic], b [n, ic], y F32 [(n - 1) s0 + k, oc]; p0 must be 0 and d0 1
 *   2-D: a [kw, kh, oc, ic], b [w, h, ic, batch], y F32 [(w - 1) s + kw, (h - 1) s + kh, oc, batch] */
GGML_API struct ggml_tensor * ggml_conv_transpose_1d(struct ggml_context * ctx, struct ggml_tensor * a,
                                                     struct ggml_tensor * b, int s0, int p0, int d0);
GGML_API struct ggml_tensor * ggml_conv_transpose_2d_p0(struct ggml_context * ctx, struct ggml_tensor * a,
                                                        struct ggml_tensor * b, int stride);

/* The second half of a transposed convolution as a product: columns a [k oc, n], contiguous F32, F16 or BF16, are
 * spread s0 apart and summed, and p0 values are cut off both ends: [(n - 1) s0 + k - 2 p0, oc]. */
GGML_API struct ggml_tensor * ggml_col2im_1d(struct ggml_context * ctx, struct ggml_tensor * a, int s0, int oc, int p0);

/* ---- pooling ---- */

enum ggml_op_pool {
    GGML_OP_POOL_MAX   = 0, /* the greatest value of a window */
    GGML_OP_POOL_AVG   = 1, /* the mean of a window */
    GGML_OP_POOL_COUNT = 2,
};

/* Windows of k values, s apart, padding p, along dimension 0, or 0 and 1. trunc((a0 + 2 p0 - k0)/s0 + 1) of them,
 * worked out in float as p may be a fraction (the node keeps its whole part). F32 [.., a1, a2, a3] and [.., .., a2,
 * a3]. Gradient: a, of the 2-D form. */
GGML_API struct ggml_tensor * ggml_pool_1d(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_op_pool op,
                                           int k0, int s0, int p0);
GGML_API struct ggml_tensor * ggml_pool_2d(struct ggml_context * ctx, struct ggml_tensor * a, enum ggml_op_pool op,
                                           int k0, int k1, int s0, int s1, float p0, float p1);

/* Its gradient: a is dy, af the forward input, which gives the shape and says which value was the greatest. */
GGML_API struct ggml_tensor * ggml_pool_2d_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * af, enum ggml_op_pool op, int k0, int k1, int s0,
                                                int s1, float p0, float p1);

/* ---- images: size and border ---- */

enum ggml_scale_mode {
    GGML_SCALE_MODE_NEAREST  = 0, /* the value at the place, rounded down */
    GGML_SCALE_MODE_BILINEAR = 1, /* of four neighbours, by distance */
    GGML_SCALE_MODE_BICUBIC  = 2, /* of sixteen neighbours, cubic convolution with a = -0.75 (Keys 1981) */
    GGML_SCALE_MODE_COUNT    = 3,
};

/* Added to a mode for ggml_interpolate. */
enum ggml_scale_flag {
    GGML_SCALE_FLAG_ALIGN_CORNERS = 256, /* corner pixels keep their values: the ratio is (out - 1)/(in - 1) */
    GGML_SCALE_FLAG_ANTIALIAS     = 512, /* bilinear only: widen the filter when an image shrinks */
};

/* Interpolation of a, F32: dimensions 0 and 1 times a factor of 2 or more; or to any extents, dimensions 2 and 3 by
 * repeating the nearest. */
GGML_API struct ggml_tensor * ggml_upscale(struct ggml_context * ctx, struct ggml_tensor * a, int scale_factor,
                                           enum ggml_scale_mode mode);
GGML_API struct ggml_tensor * ggml_interpolate(struct ggml_context * ctx, struct ggml_tensor * a, int64_t ne0,
                                               int64_t ne1, int64_t ne2, int64_t ne3, uint32_t mode);
GGML_DEPRECATED(GGML_API struct ggml_tensor * ggml_upscale_ext(struct ggml_context * ctx, struct ggml_tensor * a,
                                                               int ne0, int ne1, int ne2, int ne3,
                                                               enum ggml_scale_mode mode),
                "kept for programs of earlier versions");

/* a with zeros behind each dimension (p), or before and behind (lp, rp); circular: with the values that come next
 * when the dimension goes round. [a0 + lp0 + rp0, ...]. */
GGML_API struct ggml_tensor * ggml_pad(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1, int p2,
                                       int p3);
GGML_API struct ggml_tensor * ggml_pad_circular(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1,
                                                int p2, int p3);
GGML_API struct ggml_tensor * ggml_pad_ext(struct ggml_context * ctx, struct ggml_tensor * a, int lp0, int rp0, int lp1,
                                           int rp1, int lp2, int rp2, int lp3, int rp3);
GGML_API struct ggml_tensor * ggml_pad_ext_circular(struct ggml_context * ctx, struct ggml_tensor * a, int lp0, int rp0,
                                                    int lp1, int rp1, int lp2, int rp2, int lp3, int rp3);

/* Rows of contiguous F32 with p0 values before and p1 behind, mirrored about the end values, which are not repeated.
 * Each less than a0. */
GGML_API struct ggml_tensor * ggml_pad_reflect_1d(struct ggml_context * ctx, struct ggml_tensor * a, int p0, int p1);

/* y[i] = a[i - shift], going round in every dimension; |shift| less than the extent. */
GGML_API struct ggml_tensor * ggml_roll(struct ggml_context * ctx, struct ggml_tensor * a, int shift0, int shift1,
                                        int shift2, int shift3);

/* ---- values from numbers ---- */

/* start, start + step, ... below stop: F32 [ceil((stop - start)/step)]. */
GGML_API struct ggml_tensor * ggml_arange(struct ggml_context * ctx, float start, float stop, float step);

/* Sinusoids of numbers t (arXiv:2006.11239): F32 [dim, a0]; with h = dim/2, cos(t max_period^(-j/h)) for j < h, then
 * the sines, then a 0 where dim is odd. */
GGML_API struct ggml_tensor * ggml_timestep_embedding(struct ggml_context * ctx, struct ggml_tensor * timesteps,
                                                      int dim, int max_period);

/* ---- window attention of SAM (arXiv:2304.02643) ---- */

/* Cuts an image [n, width, height], F32, into windows of w x w, padded with zeros at the far sides: [n, w, w,
 * windows]; and puts them together again to [n, w0, h0]. */
GGML_API struct ggml_tensor * ggml_win_part(struct ggml_context * ctx, struct ggml_tensor * a, int w);
GGML_API struct ggml_tensor * ggml_win_unpart(struct ggml_context * ctx, struct ggml_tensor * a, int w0, int h0, int w);

/* y[:, k, q] = a[:, q - k + kh - 1]: the embedding of the distance of two positions. a has 2 kh - 1 rows, qh = kh: F16
 * [a0, kh, qh]. */
GGML_API struct ggml_tensor * ggml_get_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a, int qh, int kh);

/* Adds terms of the key's row and column to the logits of all pairs of an n x n window: a [n n, positions, heads],
 * pw and ph F32 [n, ., ., heads] with as many rows as positions: a[x + n y, q, h] + pw[x, q, h] + ph[y, q, h]. All
 * contiguous. */
GGML_API struct ggml_tensor * ggml_add_rel_pos(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * pw, struct ggml_tensor * ph);
GGML_API struct ggml_tensor * ggml_add_rel_pos_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       struct ggml_tensor * pw, struct ggml_tensor * ph);

/* ---- recurrences ----
 *
 * A state is carried from token to token of a sequence. The result holds the outputs of all tokens and behind them
 * the new states, in one tensor that the program takes apart with views. F32 throughout. No gradients. */

/* Causal convolution of Mamba (arXiv:2312.00752): sx [taps - 1 + tokens, channels, sequences], the last values of
 * the tokens before first; c [taps, channels]; y[i, t] = sum over k of c[k, i] sx[t + k, i]: [channels, tokens,
 * sequences]. */
GGML_API struct ggml_tensor * ggml_ssm_conv(struct ggml_context * ctx, struct ggml_tensor * sx, struct ggml_tensor * c);

/* Selective scan of Mamba and Mamba-2 (arXiv:2405.21060). For each head h, value d and state n:
 *   e = softplus(dt[h])
 *   s[n, d, h] = s[n, d, h] e^(e A[n, h]) + e B[n] x[d, h]
 *   y[d, h] = sum over n of C[n] s[n, d, h]
 * s [d_state, dim, heads, slots]; ids, I32 [sequences], names the slot of each sequence; x [dim, heads, tokens,
 * sequences]; dt [heads, tokens, sequences]; A [1 or d_state, heads]; B, C [d_state, groups, tokens, sequences],
 * heads a multiple of groups. The result is a vector: y, of the shape of x, then K states of all sequences: the
 * newest, the one a token before, ...; with fewer than K tokens the last ones are left as they are. K > 1 only with
 * A of one value a head. */
GGML_API struct ggml_tensor * ggml_ssm_scan(struct ggml_context * ctx, struct ggml_tensor * s, struct ggml_tensor * x,
                                            struct ggml_tensor * dt, struct ggml_tensor * A, struct ggml_tensor * B,
                                            struct ggml_tensor * C, struct ggml_tensor * ids, int64_t K);

/* For the next three S is the size of a head, H the heads, T the tokens of all sequences together, N the sequences;
 * operands are [S, H, T], state has S S H values for each of its N = state->ne[1] sequences, and the result is [S H,
 * T + S N]. All contiguous.
 *
 * RWKV-6 (arXiv:2404.05892). With kv[i, j] = k[i] v[j]:  y[j] = sum over i of r[i] (tf[i] kv[i, j] + s[i, j]);
 * s[i, j] = s[i, j] td[i] + kv[i, j]. tf: S H values for all tokens. */
GGML_API struct ggml_tensor * ggml_rwkv_wkv6(struct ggml_context * ctx, struct ggml_tensor * k, struct ggml_tensor * v,
                                             struct ggml_tensor * r, struct ggml_tensor * tf, struct ggml_tensor * td,
                                             struct ggml_tensor * state);

/* RWKV-7 (arXiv:2503.14456):  s[i, j] = s[i, j] w[j] + v[i] k[j] + b[j] sum over l of a[l] s[i, l] (the s before);
 * y[i] = sum over j of r[j] s[i, j]. */
GGML_API struct ggml_tensor * ggml_rwkv_wkv7(struct ggml_context * ctx, struct ggml_tensor * r, struct ggml_tensor * w,
                                             struct ggml_tensor * k, struct ggml_tensor * v, struct ggml_tensor * a,
                                             struct ggml_tensor * b, struct ggml_tensor * state);

/* Gated linear attention (arXiv:2312.06635):  s[i, j] = s[i, j] g[i] + k[i] v[j];  y[j] = scale sum over i of q[i]
 * s[i, j]. */
GGML_API struct ggml_tensor * ggml_gated_linear_attn(struct ggml_context * ctx, struct ggml_tensor * k,
                                                     struct ggml_tensor * v, struct ggml_tensor * q,
                                                     struct ggml_tensor * g, struct ggml_tensor * state, float scale);

/* Gated delta rule (arXiv:2412.06464). Per head, with state S (rows by key, columns by value):
 *   S = S e^g;  S = S + k (beta (v - S^T k))^T;  y = S^T q/sqrt(size)
 * q, k [size, heads that divide H, tokens, sequences that divide N]; v [size, H, tokens, N]; g [1 or size, H,
 * tokens, N]: one decay, or one for each key; beta [1, H, tokens, N]; state [size, size, H, N], stored by columns.
 * Result [size H, tokens N + K size N]: outputs, then K states, newest first. With fewer than K tokens the last
 * states are left as they are. */
GGML_API struct ggml_tensor * ggml_gated_delta_net(struct ggml_context * ctx, struct ggml_tensor * q,
                                                   struct ggml_tensor * k, struct ggml_tensor * v,
                                                   struct ggml_tensor * g, struct ggml_tensor * beta,
                                                   struct ggml_tensor * state, int64_t K);

/* ---- parts of DeepSeek models ---- */

/* Scores by which sparse attention chooses its keys: y[i, t] = sum over heads h of weights[h, t] max(0, q[:, h, t] .
 * k[:, i]) + mask[i, t].
 *   q F32 [d, heads, tokens, batch]    k [d, 1, keys, batch]    weights F32 [heads, tokens, 1, batch]
 *   mask F16 [keys, tokens, 1, divides batch]    y F32 [keys, tokens, 1, batch] */
GGML_API struct ggml_tensor * ggml_lightning_indexer(struct ggml_context * ctx, struct ggml_tensor * q,
                                                     struct ggml_tensor * k, struct ggml_tensor * weights,
                                                     struct ggml_tensor * mask);

/* Hyper-connections (arXiv:2409.19606): a residual stream in hc copies, mixed at every layer. F32; hc is 4 for the
 * first.
 *
 * comb: the mixing matrix of each token, [hc, hc, tokens]. The last hc hc of the (2 + hc) hc values of a token in
 * mixes, times scale[2] plus those of base, go through a soft max along rows, plus eps; then columns are brought to
 * sum 1, and n_iter - 1 times rows and columns in turn (Sinkhorn), each sum with eps added. mixes [(2 + hc) hc,
 * tokens], scale [3 or more], base [(2 + hc) hc]. */
GGML_API struct ggml_tensor * ggml_dsv4_hc_comb(struct ggml_context * ctx, struct ggml_tensor * mixes,
                                                struct ggml_tensor * scale, struct ggml_tensor * base, float eps,
                                                int32_t n_iter);

/* pre: the copies x [n, hc, tokens] brought to one, [n, tokens]: the sum over the copies times weights [hc, tokens],
 * or (gated) scale times the sum over the copies times sigmoid(gate), gate [n, hc, tokens]. */
GGML_API struct ggml_tensor * ggml_dsv4_hc_pre(struct ggml_context * ctx, struct ggml_tensor * x,
                                               struct ggml_tensor * weights);
GGML_API struct ggml_tensor * ggml_dsv4_hc_pre_gated(struct ggml_context * ctx, struct ggml_tensor * x,
                                                     struct ggml_tensor * gate, float scale);

/* post: the copies behind the layer, [n, hc, tokens]: y[:, i] = x post[i] + sum over j of comb[i, j] residual[:, j];
 * without comb (NULL) each copy keeps its own residual. x [n, tokens], residual [n, hc, tokens], post [hc, tokens]. */
GGML_API struct ggml_tensor * ggml_dsv4_hc_post(struct ggml_context * ctx, struct ggml_tensor * x,
                                                struct ggml_tensor * residual, struct ggml_tensor * post,
                                                struct ggml_tensor * comb);

/* ---- functions of the program ----
 *
 * fun runs on the CPU backend, once in each of at most n_tasks workers (GGML_N_TASKS_MAX: all), with its number ith
 * of nth; it divides the work by these and fills dst. userdata is handed through. Function and userdata stay valid
 * as long as the graph is used; other devices cannot run such nodes. For operators with a name, checks, gradients,
 * devices: ggml-ext.h. */
typedef void (*ggml_custom1_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a, int ith, int nth,
                                  void * userdata);
typedef void (*ggml_custom2_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a, const struct ggml_tensor * b,
                                  int ith, int nth, void * userdata);
typedef void (*ggml_custom3_op_t)(struct ggml_tensor * dst, const struct ggml_tensor * a, const struct ggml_tensor * b,
                                  const struct ggml_tensor * c, int ith, int nth, void * userdata);

/* Reads its operands from dst->src. */
typedef void (*ggml_custom_op_t)(struct ggml_tensor * dst, int ith, int nth, void * userdata);

/* Of 1, 2 and 3 tensors; type and shape of a. */
GGML_API struct ggml_tensor * ggml_map_custom1(struct ggml_context * ctx, struct ggml_tensor * a, ggml_custom1_op_t fun,
                                               int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom1_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       ggml_custom1_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom2(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks,
                                               void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom2_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       struct ggml_tensor * b, ggml_custom2_op_t fun, int n_tasks,
                                                       void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom3(struct ggml_context * ctx, struct ggml_tensor * a,
                                               struct ggml_tensor * b, struct ggml_tensor * c, ggml_custom3_op_t fun,
                                               int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_map_custom3_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                       struct ggml_tensor * b, struct ggml_tensor * c,
                                                       ggml_custom3_op_t fun, int n_tasks, void * userdata);

/* Of n_args tensors, 0 to 9, with any type and shape; in place: the result is a view of a, which is source 0, and
 * args (0 to 8) follow. */
GGML_API struct ggml_tensor * ggml_custom_4d(struct ggml_context * ctx, enum ggml_type type, int64_t ne0, int64_t ne1,
                                             int64_t ne2, int64_t ne3, struct ggml_tensor ** args, int n_args,
                                             ggml_custom_op_t fun, int n_tasks, void * userdata);
GGML_API struct ggml_tensor * ggml_custom_inplace(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor ** args, int n_args, ggml_custom_op_t fun,
                                                  int n_tasks, void * userdata);

/* ---- training: losses and steps ---- */

/* -mean over rows of the sum of b ln(soft_max(a)): a the logits, b the labels as probabilities, one shape. [1].
 * Gradient: a. */
GGML_API struct ggml_tensor * ggml_cross_entropy_loss(struct ggml_context * ctx, struct ggml_tensor * a,
                                                      struct ggml_tensor * b);

/* Its gradient: a is dy (a scalar), b the logits, c the labels: (soft_max(b) - c) dy/rows. */
GGML_API struct ggml_tensor * ggml_cross_entropy_loss_back(struct ggml_context * ctx, struct ggml_tensor * a,
                                                           struct ggml_tensor * b, struct ggml_tensor * c);

/* One step of an optimizer: a, which has the flag PARAM, is changed in place, and the result is a view of it.
 *
 * AdamW (arXiv:1711.05101): m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, a = a (1 - alpha wd) - alpha
 * m beta1h/(sqrt(v beta2h) + eps), with the numbers alpha, beta1, beta2, eps, wd, beta1h, beta2h in adamw_params,
 * F32 [7]; beta1h = 1/(1 - beta1^iteration), beta2h likewise. grad, m, v in the shape of a. */
GGML_API struct ggml_tensor * ggml_opt_step_adamw(struct ggml_context * ctx, struct ggml_tensor * a,
                                                  struct ggml_tensor * grad, struct ggml_tensor * m,
                                                  struct ggml_tensor * v, struct ggml_tensor * adamw_params);

/* SGD: a = a (1 - alpha wd) - alpha g, with alpha and wd in sgd_params, F32 [2]. */
GGML_API struct ggml_tensor * ggml_opt_step_sgd(struct ggml_context * ctx, struct ggml_tensor * a,
                                                struct ggml_tensor * grad, struct ggml_tensor * sgd_params);

/* ---------------------------------------------------------------- graphs */

/* A graph in ctx with room for size nodes (GGML_DEFAULT_GRAPH_SIZE) and as many leafs; grads: and for gradients. It
 * grows when more are added, with memory of its own that goes with the context. */
GGML_API struct ggml_cgraph * ggml_new_graph(struct ggml_context * ctx);
GGML_API struct ggml_cgraph * ggml_new_graph_custom(struct ggml_context * ctx, size_t size, bool grads);

/* Bytes that such a graph takes in a context. */
GGML_API size_t ggml_graph_overhead(void);
GGML_API size_t ggml_graph_overhead_custom(size_t size, bool grads);

/* ---- building ---- */

/* Adds a tensor and all that it depends on, as far as they are not in the graph, in an order in which they can be
 * computed: sources before users, first source first. Tensors without operator go to the leafs (parameters: to the
 * nodes). Sets the flag COMPUTE on all nodes met, and gives those without a name "node_N" or "leaf_N". */
GGML_API void ggml_build_forward_expand(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);

/* The same without the flag: the nodes get their places in the order, and are computed only if something added by
 * ggml_build_forward_expand needs them. */
GGML_API void ggml_build_forward_order(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);

/* Adds n_tensors tensors, of which only number idx is wanted, and returns that one: graphs that differ in the choice
 * alone have the same nodes in the same places. */
GGML_API struct ggml_tensor * ggml_build_forward_select(struct ggml_cgraph * cgraph, struct ggml_tensor ** tensors,
                                                        int n_tensors, int idx);

/* Appends the nodes that compute gradients, by reverse mode: of the losses (flag LOSS) by the parameters (flag
 * PARAM) and all between. The graph was made with grads = true and holds the forward part. grad_accs: for each node
 * a tensor that its gradient is added to, or NULL; the array may be NULL. New tensors go to ctx. A node on the way
 * without a gradient, or computed in place, is an error. */
GGML_API void ggml_build_backward_expand(struct ggml_context * ctx, struct ggml_cgraph * cgraph,
                                         struct ggml_tensor ** grad_accs);

/* The gradient of a node, and its accumulator; NULL when there is none. */
GGML_API struct ggml_tensor * ggml_graph_get_grad(const struct ggml_cgraph * cgraph, const struct ggml_tensor * node);
GGML_API struct ggml_tensor * ggml_graph_get_grad_acc(const struct ggml_cgraph * cgraph,
                                                      const struct ggml_tensor * node);

/* Before training: gradient accumulators become zero, those of losses one, and the moments of AdamW zero. */
GGML_API void ggml_graph_reset(struct ggml_cgraph * cgraph);

/* ---- copying and clearing ---- */

/* A copy in ctx that shares the tensors; force_grads: with room for gradients though the original has none.
 * ggml_graph_cpy replaces the contents of dst. ggml_graph_clear takes all tensors out. */
GGML_API struct ggml_cgraph * ggml_graph_dup(struct ggml_context * ctx, struct ggml_cgraph * cgraph, bool force_grads);
GGML_API void ggml_graph_cpy(struct ggml_cgraph * src, struct ggml_cgraph * dst);
GGML_API void ggml_graph_clear(struct ggml_cgraph * cgraph);

/* ---- contents ---- */

/* The size given when it was made; the number of nodes; the array of them, valid until the graph grows; node i,
 * counted from the end when negative (an i that names none is an error). */
GGML_API int ggml_graph_size(struct ggml_cgraph * cgraph);
GGML_API int ggml_graph_n_nodes(struct ggml_cgraph * cgraph);
GGML_API struct ggml_tensor ** ggml_graph_nodes(struct ggml_cgraph * cgraph);
GGML_API struct ggml_tensor * ggml_graph_node(struct ggml_cgraph * cgraph, int i);

/* The first leaf, else the first node, of this name; NULL when there is none. */
GGML_API struct ggml_tensor * ggml_graph_get_tensor(const struct ggml_cgraph * cgraph, const char * name);

/* Appends one node and nothing else: its sources are the caller's care. */
GGML_API void ggml_graph_add_node(struct ggml_cgraph * cgraph, struct ggml_tensor * tensor);

/* ---- for people ---- */

/* Lists nodes and leafs in the log; writes a file for Graphviz, in which nodes of gb that are not in cgraph (the
 * forward graph; may be NULL) have another colour. Failure to write is told in the log. */
GGML_API void ggml_graph_print(const struct ggml_cgraph * cgraph);
GGML_API void ggml_graph_dump_dot(const struct ggml_cgraph * gb, const struct ggml_cgraph * cgraph,
                                  const char * filename);

/* ---------------------------------------------------------------- parameters of a thread pool */

typedef struct ggml_threadpool * ggml_threadpool_t;

/* How the operating system ranks the threads. Above normal may need rights; what is refused is left as it is. */
enum ggml_sched_priority {
    GGML_SCHED_PRIO_LOW      = -1, /* only when nothing else wants the processor */
    GGML_SCHED_PRIO_NORMAL   = 0,  /* as any other program */
    GGML_SCHED_PRIO_MEDIUM   = 1,  /* above other programs */
    GGML_SCHED_PRIO_HIGH     = 2,  /* as high as a program may go that leaves the machine usable */
    GGML_SCHED_PRIO_REALTIME = 3,  /* before everything: threads that spin can stall the machine */
};

/* For ggml_threadpool_new, ggml-cpu.h. */
struct ggml_threadpool_params {
    bool                     cpumask[GGML_MAX_N_THREADS]; /* processors to run on; all false: those of the process */
    int                      n_threads;                   /* the computing thread included */
    enum ggml_sched_priority prio;
    uint32_t                 poll;       /* 0 to 100: how long workers spin before they sleep */
    bool                     strict_cpu; /* each worker on a processor of its own from the mask, in turn */
    bool                     paused;     /* start asleep, until ggml_threadpool_resume */
};

/* n_threads at normal priority, poll 50, no mask. */
GGML_API struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads);
GGML_API void ggml_threadpool_params_init(struct ggml_threadpool_params * p, int n_threads);

/* May a pool made for p0 serve p1? All but paused is compared. */
GGML_API bool ggml_threadpool_params_match(const struct ggml_threadpool_params * p0,
                                           const struct ggml_threadpool_params * p1);

#ifdef __cplusplus
}
#endif

#endif /* GGML_H */
