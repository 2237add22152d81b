/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels: pure functions over pointers and sizes, without allocation, threads, tensors or globals.
 *
 * One file for each (family, instruction set) in kernel/ISA/, compiled with that ISA's flags and free of ISA #ifdefs in
 * function bodies. One line in kernels.inc,
 *
 *     KERNEL(family, slot, isa, function)
 *
 * gives declaration, dispatch, test and benchmark: slot is a member of struct cpu_kernels (an array element for families
 * that go by number format), family names the test that compares the function with the scalar one of the same slot.
 * Lines of a slot stand from the oldest ISA to the newest; the scalar line, the reference, comes first.
 *
 * Dispatch happens once: from scalar up, the last line whose ISA this processor has and GRAFT_CPU allows wins.
 */
#ifndef GRAFT_CPU_KERNEL_H
#define GRAFT_CPU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ggml-common.h"
#include "ggml.h"

/* Instruction sets from the oldest to the newest of a family: each x86 one includes those before it, amx excepted (it
 * includes avx512bf16). GRAFT_CPU=NAME caps dispatch at NAME. */
enum cpu_isa {
    CPU_ISA_SCALAR = 0,
    CPU_ISA_AVX2,       /* AVX2, FMA, F16C, BMI2 */
    CPU_ISA_AVX512,     /* F, BW, DQ, VL, CD */
    CPU_ISA_AVX512VNNI, /* VNNI, VBMI */
    CPU_ISA_AVX512BF16, /* BF16 */
    CPU_ISA_AMX,        /* TILE, INT8, BF16, with the operating system's leave */
    CPU_ISA_NEON,       /* aarch64 baseline */
    CPU_ISA_NEONDOT,    /* + dot product */
    CPU_ISA_NEONI8MM,   /* + int8 matrix multiply */
    CPU_ISA_COUNT
};

const char * cpu_isa_name(enum cpu_isa isa);
bool         cpu_isa_available(enum cpu_isa isa); /* by the processor and the operating system alone */

#include "kernel/family.h"

/* The chosen kernels. Read-only after cpu_kernels_init. */
extern struct cpu_kernels cpu_kernels;

/* Fills the table; safe to call from any thread, any number of times. */
void cpu_kernels_init(void);

/* The row of kernels.inc that was chosen for each slot, for listings: returns the number of slots; i-th slot's name and ISA. */
size_t cpu_kernels_chosen(size_t i, const char ** slot, enum cpu_isa * isa);

#define KERNEL(family, slot, isa, function) extern __typeof__(*((struct cpu_kernels *) 0)->slot) function;
#include "kernel/kernels.inc"
#undef KERNEL

#endif /* GRAFT_CPU_KERNEL_H */
