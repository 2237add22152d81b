/* SPDX-License-Identifier: MIT
 *
 * The families of micro-kernels: what each function computes, on which layout, and the table that holds the chosen ones.
 *
 * Unless a family says otherwise: n may be 0, pointers need the alignment of their element only, nothing is read or
 * written outside of the n elements, results may be written over an input of the same pointer. NaN and infinity
 * propagate as in the scalar form.
 */
#ifndef GRAFT_CPU_FAMILY_H
#define GRAFT_CPU_FAMILY_H

#include "kernel/family_vec.h"
#include "kernel/family_gemm.h"
#include "kernel/family_attention.h"

struct cpu_kernels {
    struct cpu_vec_kernels  vec;  /* rows of numbers: conversions, arithmetic, functions, norms, attention */
    struct cpu_attention_kernels attention; /* attention in one pass */
    struct cpu_gemm_kernels gemm; /* matrix products: panel decoders, GEMM, one-row dot products, activation encoders */
};

#endif /* GRAFT_CPU_FAMILY_H */
