// SPDX-License-Identifier: MIT
//
// A client in C++ of the installed libraries, with the owning pointers of ggml-cpp.h.
#include <cstdio>

#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml.h"
#include "gguf.h"

int main() {
    ggml_backend_load_all();
    ggml_context_ptr ctx(ggml_init({ 1 << 16, nullptr, true }));
    gguf_context_ptr file(gguf_init_empty());
    gguf_set_val_u32(file.get(), "answer", 42);
    ggml_backend_ptr cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    const unsigned   answer = gguf_get_val_u32(file.get(), gguf_find_key(file.get(), "answer"));
    std::printf("%s %s %u %s name=%d\n", ggml_version(), ggml_backend_name(cpu.get()), answer,
                ggml_tensor_overhead() == sizeof(ggml_tensor) + 32 ? "same" : "other", GGML_MAX_NAME);
    return 0;
}
