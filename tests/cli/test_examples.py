#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of examples/ do what the documentation says.

Usage: test_examples.py BUILD_FOLDER
"""
import pathlib
import re
import tempfile

from support import BUILD, NOISE, ROOT, Report, graft

import make_tiny_llama


def main():
    report = Report()
    programs = {p.stem: BUILD / "bin" / f"example_{p.stem}" for p in sorted((ROOT / "examples").glob("*.c"))}
    report.check(all(p.exists() for p in programs.values()), "every example is built", str(programs))

    r = graft(program=programs["axpy"])
    report.check(r.code == 0 and r.out == "1 2.25 4 6.25 9 12.25 16 20.25\n", "axpy: an operator of the program's own", str(r))

    with tempfile.TemporaryDirectory() as name:
        model = pathlib.Path(name) / "tiny.gguf"
        make_tiny_llama.write(model)
        r = graft(model, program=programs["tokenize"])
        report.check(r.code == 0 and r.out == "", "tokenize: no text, no tokens", str(r))
        r = graft("/nowhere.gguf", program=programs["tokenize"])
        report.check(r.code == 1 and len(r.err.splitlines()) == 1 and not NOISE.search(r.err), "tokenize: a missing file", str(r))
    r = graft(program=programs["tokenize"])
    report.check(r.code == 2 and "usage" in r.err, "tokenize: usage", str(r))

    # the code that README.md shows is the code that is compiled here
    blocks = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    source = re.sub(r"\s+", " ", (ROOT / "examples" / "axpy.c").read_text())
    report.check(len(blocks) > 0, "README.md shows code")
    for block in blocks:
        for part in re.split(r"\n\s*/\* \.\.\. \*/\n", block):
            report.check(re.sub(r"\s+", " ", part).strip() in source, "README.md shows lines of examples/axpy.c", part[:200])
    report.end()


if __name__ == "__main__":
    main()
