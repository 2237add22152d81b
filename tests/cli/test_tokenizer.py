#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tokenizer of the example against what llama.cpp makes of the same texts (tests/data/make_tokens.py).

Usage: test_tokenizer.py BUILD_FOLDER
"""
import json
import pathlib
import subprocess
import tempfile

from support import BUILD, ROOT, Report, model_path

import make_tiny_llama

PROGRAM = BUILD / "bin" / "example_tokenize"


def expected(path):
    """Texts and their tokens, with and without special tokens."""
    lists = {False: [], True: []}
    for line in path.read_text().splitlines():
        special, text, tokens = line.split("\t")
        lists[special == "1"].append((json.loads(text), tokens))
    return lists


def compare(report, label, model, path):
    for special, rows in expected(path).items():
        data = b"".join(text.encode() + b"\0" for text, _ in rows)
        p = subprocess.run([str(PROGRAM), str(model), *(["--special"] if special else [])], input=data, stdout=subprocess.PIPE, check=False)
        lines = p.stdout.decode().split("\n")[:-1]
        if report.check(p.returncode == 0 and len(lines) == len(rows), f"{label}: all texts", f"{p.returncode}, {len(lines)} of {len(rows)}"):
            for (text, tokens), found in zip(rows, lines):
                report.check(found == tokens, f"{label}: {text!r}", f"{found}, expected {tokens}")


def main():
    report = Report()
    data = ROOT / "tests" / "data"
    with tempfile.TemporaryDirectory() as name:
        tiny = pathlib.Path(name) / "tiny.gguf"
        make_tiny_llama.write(tiny)
        compare(report, "tiny", tiny, data / "tokens_tiny.tsv")
        # a long word takes no long time, and no character of it gets lost
        text = ("中" * 30000 + "a" * 30000 + "ж" * 30000).encode()
        p = subprocess.run([str(PROGRAM), str(tiny)], input=text, stdout=subprocess.PIPE, timeout=120, check=False)
        report.check(p.returncode == 0 and len(p.stdout.split()) >= 30000, "a word of 240 kB", str(p.returncode))
    model, golden = model_path(), data / "tokens_smollm2.tsv"
    if model is None:
        report.skip("tokenizer: SmolLM2 has not been fetched (scripts/model.sh smollm2)", len(golden.read_text().splitlines()))
    else:
        compare(report, "SmolLM2", model, golden)
    report.end()


if __name__ == "__main__":
    main()
