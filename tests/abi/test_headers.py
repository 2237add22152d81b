#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every installed header compiles alone, as C11 and as C++17, with each compiler that is there, without a warning; all of
them also compile together, in both orders, and again with another GGML_MAX_NAME.

Usage: test_headers.py PREFIX LIBRARY_FOLDER
"""
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from report import Report, run  # noqa: E402

CXX_ONLY = ("ggml-cpp.h",)
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STRICT_C = ["-Wstrict-prototypes", "-Wold-style-definition"]
COMPILERS = [("gcc", "g++"), ("clang", "clang++"), ("clang-14", "clang++-14"), ("clang-16", "clang++-16")]


def there(report):
    """Compilers of this machine, each once."""
    seen, found = set(), []
    for cc, cxx in COMPILERS:
        if not (shutil.which(cc) and shutil.which(cxx)):
            report.skip(f"headers: {cc} and {cxx} are not installed")
        elif pathlib.Path(shutil.which(cc)).resolve() not in seen:
            seen.add(pathlib.Path(shutil.which(cc)).resolve())
            found.append((cc, cxx))
    return found


def compile_text(compiler, standard, include, text, extra=()):
    language = "c" if standard.startswith("c1") else "c++"
    flags = [f"-std={standard}", *WARNINGS, *(STRICT_C if language == "c" else []), *extra]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / ("alone.c" if language == "c" else "alone.cpp")
        source.write_text(text)
        return run([compiler, "-x", language, *flags, "-fsyntax-only", f"-I{include}", f"-I{include / 'module'}", source])


def main():
    prefix = pathlib.Path(sys.argv[1])
    report = Report()
    include = prefix / "include"
    headers = sorted(include.glob("*.h")) + sorted((include / "module").glob("*.h"))
    report.check(len(headers) >= 15, "headers are installed", str(len(headers)))
    both = [h for h in headers if h.name not in CXX_ONLY]
    for cc, cxx in there(report):
        for compiler, standard, these in ((cc, "c11", both), (cxx, "c++17", headers)):
            for header in these:
                # twice: the guard works; the declaration at the end: a unit is never empty
                text = f'#include "{header.name}"\n#include "{header.name}"\nint alone;\n'
                p = compile_text(compiler, standard, include, text)
                report.check(p.returncode == 0, f"{header.name} alone, {compiler} {standard}", p.stdout[:1500])
            for label, order in (("in order", these), ("in reverse order", these[::-1])):
                for extra in ((), ("-DGGML_MAX_NAME=160",)):
                    text = "".join(f'#include "{h.name}"\n' for h in order) + "int together;\n"
                    p = compile_text(compiler, standard, include, text, extra)
                    report.check(p.returncode == 0, f"all {label}, {compiler} {standard} {' '.join(extra)}", p.stdout[:1500])
    report.end()


if __name__ == "__main__":
    main()
