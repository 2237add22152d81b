/* SPDX-License-Identifier: MIT
 *
 * Dispatch: which instruction sets this processor has, and the choice of one micro-kernel for each slot. A choice is
 * made once; GRAFT_CPU=NAME keeps it at or below an instruction set, so that older code paths can be tested and
 * compared.
 */
#include "kernel/kernel.h"

#include <pthread.h>
#include <string.h>

#include "ggml-impl.h"
#include "graft-module.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

struct cpu_kernels cpu_kernels;

static const char * const isa_names[CPU_ISA_COUNT] = {
    [CPU_ISA_SCALAR]     = "scalar",
    [CPU_ISA_AVX2]       = "avx2",
    [CPU_ISA_AVX512]     = "avx512",
    [CPU_ISA_AVX512VNNI] = "avx512vnni",
    [CPU_ISA_AVX512BF16] = "avx512bf16",
    [CPU_ISA_AMX]        = "amx",
    [CPU_ISA_NEON]       = "neon",
    [CPU_ISA_NEONDOT]    = "neondot",
    [CPU_ISA_NEONI8MM]   = "neoni8mm",
};

const char * cpu_isa_name(enum cpu_isa isa) {
    return (unsigned) isa < CPU_ISA_COUNT ? isa_names[isa] : "unknown";
}

#if defined(__x86_64__)

struct cpuid_regs {
    unsigned eax, ebx, ecx, edx;
};

static struct cpuid_regs cpuid_read(unsigned leaf, unsigned subleaf) {
    struct cpuid_regs r = { 0, 0, 0, 0 };
    if ((unsigned) __get_cpuid_max(0, NULL) >= leaf) {
        __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    }
    return r;
}

/* XCR0: the register states that the operating system saves. */
static uint64_t xcr0_read(void) {
    if (!(cpuid_read(1, 0).ecx & bit_OSXSAVE)) {
        return 0;
    }
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t) high << 32 | low;
}

/* Linux gives a process tile registers on request only: arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA). The permission
 * holds for all threads of the process. */
static bool amx_request(void) {
#if defined(__linux__)
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#else
    return false;
#endif
}

static bool has_all(unsigned reg, unsigned bits) {
    return (reg & bits) == bits;
}

static bool x86_available(enum cpu_isa isa) {
    const uint64_t          xcr0 = xcr0_read();
    const struct cpuid_regs l1 = cpuid_read(1, 0), l7 = cpuid_read(7, 0), l71 = cpuid_read(7, 1);
    switch (isa) {
        case CPU_ISA_AVX2:
            return (xcr0 & 0x06) == 0x06 && has_all(l1.ecx, bit_AVX | bit_FMA | bit_F16C) &&
                   has_all(l7.ebx, bit_AVX2 | bit_BMI2);
        case CPU_ISA_AVX512:
            return (xcr0 & 0xe6) == 0xe6 &&
                   has_all(l7.ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL | bit_AVX512CD);
        case CPU_ISA_AVX512VNNI: return has_all(l7.ecx, bit_AVX512VNNI | bit_AVX512VBMI);
        case CPU_ISA_AVX512BF16: return has_all(l71.eax, 1u << 5);
        case CPU_ISA_AMX: /* AMX-BF16, AMX-TILE, AMX-INT8; XTILECFG and XTILEDATA */
            return has_all(l7.edx, 1u << 22 | 1u << 24 | 1u << 25) && (xcr0 & 0x60000) == 0x60000 && amx_request();
        default: return false;
    }
}

#endif /* __x86_64__ */

bool cpu_isa_available(enum cpu_isa isa) {
    if (isa == CPU_ISA_SCALAR) {
        return true;
    }
#if defined(__x86_64__)
    for (int i = CPU_ISA_AVX2; i <= CPU_ISA_AMX; ++i) {
        if (!x86_available((enum cpu_isa) i)) {
            return false;
        }
        if (i == (int) isa) {
            return true;
        }
    }
#elif defined(__aarch64__)
    if (isa == CPU_ISA_NEON) {
        return true;
    }
#if defined(__linux__)
    if (isa == CPU_ISA_NEONDOT) {
        return (getauxval(AT_HWCAP) & (1ul << 20)) != 0; /* HWCAP_ASIMDDP */
    }
    if (isa == CPU_ISA_NEONI8MM) {
        return (getauxval(AT_HWCAP) & (1ul << 20)) != 0 && (getauxval(AT_HWCAP2) & (1ul << 13)) != 0; /* HWCAP2_I8MM */
    }
#endif
#endif
    return false;
}

/* All lines; a slot's lines need not be neighbours. */
struct kernel_row {
    const char * slot;
    enum cpu_isa isa;
};
#define KERNEL(family, slot, isa, function) { #slot, CPU_ISA_##isa },
static const struct kernel_row kernel_rows[] = {
#include "kernel/kernels.inc"
};
#undef KERNEL
#define N_ROWS (sizeof(kernel_rows) / sizeof(kernel_rows[0]))

/* The rows in use, one for each slot, in the order of the slots' first lines. */
static const struct kernel_row * chosen[N_ROWS];
static size_t                    n_chosen;

static void record_choice(const struct kernel_row * row) {
    for (size_t i = 0; i < n_chosen; ++i) {
        if (strcmp(chosen[i]->slot, row->slot) == 0) {
            chosen[i] = row;
            return;
        }
    }
    chosen[n_chosen++] = row;
}

/* The newest instruction set that GRAFT_CPU allows. */
static enum cpu_isa isa_limit(void) {
    const char * name = graft_getenv("GRAFT_CPU");
    if (name == NULL || name[0] == 0) {
        return (enum cpu_isa)(CPU_ISA_COUNT - 1);
    }
    for (int i = 0; i < CPU_ISA_COUNT; ++i) {
        if (strcmp(isa_names[i], name) == 0) {
            return (enum cpu_isa) i;
        }
    }
    GGML_LOG_WARN("GRAFT_CPU=%s is no instruction set that is known here (scalar, avx2, avx512, ...): ignored\n", name);
    return (enum cpu_isa)(CPU_ISA_COUNT - 1);
}

static void choose_kernels(void) {
    const enum cpu_isa limit = isa_limit();
    bool               usable[CPU_ISA_COUNT];
    enum cpu_isa       newest = CPU_ISA_SCALAR;
    for (int i = 0; i < CPU_ISA_COUNT; ++i) {
        usable[i] = i <= (int) limit && cpu_isa_available((enum cpu_isa) i);
        newest    = usable[i] ? (enum cpu_isa) i : newest;
    }
    const struct kernel_row * row = kernel_rows;
#define KERNEL(family, slot, isa, function) \
    if (usable[CPU_ISA_##isa]) {            \
        cpu_kernels.slot = &function;       \
        record_choice(row);                 \
    }                                       \
    ++row;
#include "kernel/kernels.inc"
#undef KERNEL
    (void) row;
    GGML_LOG_DEBUG("cpu: kernels up to %s\n", cpu_isa_name(newest));
}

void cpu_kernels_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_kernels);
}

size_t cpu_kernels_chosen(size_t i, const char ** slot, enum cpu_isa * isa) {
    cpu_kernels_init();
    if (i < n_chosen) {
        if (slot != NULL) {
            *slot = chosen[i]->slot;
        }
        if (isa != NULL) {
            *isa = chosen[i]->isa;
        }
    }
    return n_chosen;
}
