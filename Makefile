# SPDX-License-Identifier: MIT
#
# Short commands over CMake. `make help` lists them.
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
MODEL   = models/SmolLM2-135M-Instruct.Q4_1.gguf
PROMPT ?= What is the capital of France?

MAKEFLAGS += --no-print-directory

.PHONY: help run build test test-all test-clients bench fuzz format-check sizes install clean

help:
	@echo "make run           build graft, fetch a small model (92 MiB), ask it a question (PROMPT=...)"
	@echo "make build         build the libraries and the graft command in $(BUILD)/"
	@echo "make test          all tests, also under ASan+UBSan and TSan; needs about 30 minutes on 2 cores"
	@echo "make test-all      make test, both compilers, AVX2 and scalar kernels, static checks, longer fuzzing"
	@echo "make test-clients  unmodified llama.cpp programs on graft's libraries"
	@echo "make bench         graft beside llama.cpp on the same models: ratio and spread"
	@echo "make fuzz          fuzz the parsers for FUZZ_SECONDS (600)"
	@echo "make format-check  files that clang-format 14 would change"
	@echo "make sizes         long files and long functions"
	@echo "make install       libraries, headers, CMake package, graft command to PREFIX ($(PREFIX))"
	@echo "make clean         remove build folders; models/ and .venv/ stay"

$(BUILD)/.configured:
	@scripts/deps.sh build
	cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DGRAFT_TESTS=OFF
	@touch $@

build: $(BUILD)/.configured
	cmake --build $(BUILD) -j $(JOBS)

$(MODEL):
	@scripts/deps.sh python
	@scripts/model.sh smollm2

run: build $(MODEL)
	$(BUILD)/bin/graft run $(MODEL) -p "$(PROMPT)"

test:
	@scripts/deps.sh build python
	@.venv/bin/python tests/run.py

test-all:
	@scripts/deps.sh build python clang
	@.venv/bin/python tests/run.py --all

test-clients:
	@scripts/deps.sh build python clang
	@.venv/bin/python tests/client/run.py

bench: build
	@scripts/deps.sh build python clang
	@.venv/bin/python bench/run.py

fuzz:
	@scripts/deps.sh build clang
	@scripts/fuzz.sh $${FUZZ_SECONDS:-600}

format-check:
	@scripts/format-check.sh

sizes:
	@python3 scripts/sizes.py

install: build
	cmake --install $(BUILD) --prefix $(PREFIX)
	@if [ "$$(id -u)" = 0 ] && [ -z "$(DESTDIR)" ]; then ldconfig; fi

clean:
	rm -rf build build-*
