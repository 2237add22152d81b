/* SPDX-License-Identifier: MIT
 *
 * Constants of the functions of one number, shared by the scalar and the vector forms.
 */
#ifndef GRAFT_CPU_VEC_CONSTANTS_H
#define GRAFT_CPU_VEC_CONSTANTS_H

#define CPU_VEC_SQRT_2_PI  0.79788456080286535588f
#define CPU_VEC_SQRT_HALF  0.70710678118654752440f
#define CPU_VEC_GELU_CUBIC 0.044715f
#define CPU_VEC_GELU_QUICK 1.702f
#define CPU_VEC_GATE_LOW   120.0f /* exp(-120) is 0 in F32, also as a subnormal number */

#endif /* GRAFT_CPU_VEC_CONSTANTS_H */
