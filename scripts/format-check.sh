#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Lists the C files that clang-format 14 would change, with the number of lines. Other versions format otherwise: without
# this one nothing is checked, and that is said. Usage: scripts/format-check.sh [FILE...]
set -eu
cd "$(dirname "$0")/.."
if ! command -v clang-format-14 >/dev/null; then
    echo "skipped 1: format-check: clang-format-14 is not installed (apt install clang-format-14)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
if [ $# -eq 0 ]; then
    mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' | grep -E '^(src|cpu|cli|examples|tests|fuzz|include)/' | sort -u)
    set -- "${files[@]}"
fi
passed=0
failed=0
for file in "$@"; do
    [ -e "$file" ] || continue
    changed=$(clang-format-14 "$file" | diff "$file" - | grep -c '^[<>]' || true)
    if [ "$changed" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$changed lines: $file"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
