/* SPDX-License-Identifier: MIT
 *
 * What this processor can do, as clients ask for it: by function and as a list of names. The kernels decide by
 * cpu_isa_available; a feature is named here only when it is true of this machine.
 */
#include <pthread.h>
#include <stddef.h>

#include "backend.h"
#include "kernel/kernel.h"

#if defined(__x86_64__) || defined(__i386__)
#define X86(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define X86(feature) 0
#endif
#if defined(__aarch64__)
#define ARM 1
#else
#define ARM 0
#endif

int ggml_cpu_has_sse3(void) {
    return X86("sse3");
}
int ggml_cpu_has_ssse3(void) {
    return X86("ssse3");
}
int ggml_cpu_has_avx(void) {
    return X86("avx");
}
int ggml_cpu_has_avx_vnni(void) {
    return 0; /* no kernel uses the VEX form */
}
int ggml_cpu_has_avx2(void) {
    return X86("avx2");
}
int ggml_cpu_has_bmi2(void) {
    return X86("bmi2");
}
int ggml_cpu_has_f16c(void) {
    return cpu_isa_available(CPU_ISA_AVX2);
}
int ggml_cpu_has_fma(void) {
    return X86("fma");
}
int ggml_cpu_has_avx512(void) {
    return cpu_isa_available(CPU_ISA_AVX512);
}
int ggml_cpu_has_avx512_vbmi(void) {
    return X86("avx512vbmi");
}
int ggml_cpu_has_avx512_vnni(void) {
    return X86("avx512vnni");
}
int ggml_cpu_has_avx512_bf16(void) {
    return cpu_isa_available(CPU_ISA_AVX512BF16);
}
int ggml_cpu_has_amx_int8(void) {
    return cpu_isa_available(CPU_ISA_AMX);
}
int ggml_cpu_has_neon(void) {
    return ARM;
}
int ggml_cpu_has_arm_fma(void) {
    return ARM;
}
int ggml_cpu_has_fp16_va(void) {
    return 0;
}
int ggml_cpu_has_dotprod(void) {
    return cpu_isa_available(CPU_ISA_NEONDOT);
}
int ggml_cpu_has_matmul_int8(void) {
    return cpu_isa_available(CPU_ISA_NEONI8MM);
}
int ggml_cpu_has_sve(void) {
    return 0;
}
int ggml_cpu_get_sve_cnt(void) {
    return 0;
}
int ggml_cpu_has_sme(void) {
    return 0;
}
int ggml_cpu_has_sme2(void) {
    return 0;
}
int ggml_cpu_has_riscv_v(void) {
    return 0;
}
int ggml_cpu_get_rvv_vlen(void) {
    return 0;
}
int ggml_cpu_has_vsx(void) {
    return 0;
}
int ggml_cpu_has_vxe(void) {
    return 0;
}
int ggml_cpu_has_wasm_simd(void) {
    return 0;
}
int ggml_cpu_has_llamafile(void) {
    return 0;
}

static const struct {
    const char * name;
    int (*has)(void);
} features[] = {
    { "SSE3", ggml_cpu_has_sse3 },
    { "SSSE3", ggml_cpu_has_ssse3 },
    { "AVX", ggml_cpu_has_avx },
    { "AVX2", ggml_cpu_has_avx2 },
    { "F16C", ggml_cpu_has_f16c },
    { "FMA", ggml_cpu_has_fma },
    { "BMI2", ggml_cpu_has_bmi2 },
    { "AVX512", ggml_cpu_has_avx512 },
    { "AVX512_VBMI", ggml_cpu_has_avx512_vbmi },
    { "AVX512_VNNI", ggml_cpu_has_avx512_vnni },
    { "AVX512_BF16", ggml_cpu_has_avx512_bf16 },
    { "AMX_INT8", ggml_cpu_has_amx_int8 },
    { "NEON", ggml_cpu_has_neon },
    { "ARM_FMA", ggml_cpu_has_arm_fma },
    { "DOTPROD", ggml_cpu_has_dotprod },
    { "MATMUL_INT8", ggml_cpu_has_matmul_int8 },
};

#define N_FEATURES (sizeof(features) / sizeof(features[0]))

static struct ggml_backend_feature list[N_FEATURES + 2];

static void fill_list(void) {
    size_t n = 0;
    for (size_t i = 0; i < N_FEATURES; i++) {
        if (features[i].has()) {
            list[n++] = (struct ggml_backend_feature){ features[i].name, "1" };
        }
    }
    list[n++] = (struct ggml_backend_feature){ "REPACK", "1" };
    list[n] = (struct ggml_backend_feature){ NULL, NULL };
}

struct ggml_backend_feature * cpu_features(ggml_backend_reg_t reg) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void) reg;
    pthread_once(&once, fill_list);
    return list;
}
