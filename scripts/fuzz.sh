#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fuzzes every parser for SECONDS each, from its kept corpus on, with instrumented libraries. New inputs and what they
# broke are kept in build-fuzz/found. Usage: scripts/fuzz.sh SECONDS [TARGET...]
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- $(ls fuzz/corpus)
jobs=$(nproc)

cmake -S . -B build-fuzz -DCMAKE_BUILD_TYPE=Release -DGRAFT_FUZZ=ON -DGRAFT_TESTS=OFF -DCMAKE_C_COMPILER=clang-16 \
    -DCMAKE_CXX_COMPILER=clang++-16 -DGRAFT_SANITIZE=fuzzer-no-link,address,undefined >/dev/null
for target in "$@"; do
    cmake --build build-fuzz -j "$jobs" --target "fuzz_$target" >/dev/null
done

failed=0
for target in "$@"; do
    mkdir -p "build-fuzz/found/$target"
    log=build-fuzz/found/$target.log
    echo "fuzz $target: $seconds s on $jobs processors, log in $log"
    if build-fuzz/bin/fuzz_"$target" -jobs="$jobs" -workers="$jobs" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="build-fuzz/found/$target-" "build-fuzz/found/$target" "fuzz/corpus/$target" >"$log" 2>&1; then
        echo "fuzz $target: nothing found, $(find "build-fuzz/found/$target" -type f | wc -l) new inputs"
    else
        failed=$((failed + 1))
        grep -E "ERROR|SUMMARY|Test unit" "$log" || tail -n 20 "$log"
    fi
    rm -f fuzz-[0-9]*.log
done
echo "$(($# - failed)) passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
