#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Visible symbols of the installed libraries: all that the headers declare, each in one library, and nothing else.

Usage: test_exports.py PREFIX LIBRARY_FOLDER
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from report import Report, run  # noqa: E402

LIBRARIES = ("libggml-base", "libggml-cpu", "libggml")
VERSION = "0.25.3"
CXX_ONLY = ("ggml-cpp.h",)
# the compiler's output, not the text of the header: macros are expanded, comments and inactive branches are gone
DECLARED = re.compile(r'visibility\("default"\)\)\) extern [^;(]*?\b(\w+) ?\(')
SKELETON = re.compile(r"^_(init|fini|edata|end|_bss_start)$")


def declared(report, headers):
    """Functions with an export mark, by name, with the header that declares them."""
    names = {}
    for header in headers:
        languages = [("g++", "c++")] if header.name in CXX_ONLY else [("gcc", "c"), ("g++", "c++")]
        for compiler, language in languages:
            p = run([compiler, "-x", language, "-E", "-P", f"-I{header.parent}", f"-I{header.parent.parent}", header])
            if report.check(p.returncode == 0, f"{header.name} as {language}", p.stdout[-500:]):
                for name in DECLARED.findall(p.stdout):
                    names.setdefault(name, header.name)
    return names


def visible(report, library):
    """Defined dynamic symbols: name (without the parameters of C++ functions) and kind."""
    p = run(["nm", "-D", "-C", "--defined-only", library])
    report.check(p.returncode == 0, library.name, p.stdout[-500:])
    rows = [line.split(" ", 2) for line in p.stdout.splitlines()]
    return [(re.sub(r"\(.*", "", name), kind) for _, kind, name in rows if not SKELETON.match(name)]


def dynamic(library, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", run(["readelf", "-d", library]).stdout)


def main():
    prefix, folder = (pathlib.Path(a) for a in sys.argv[1:3])
    report = Report()
    include = prefix / "include"
    names = declared(report, sorted(include.glob("*.h")) + sorted((include / "module").glob("*.h")))
    report.check(len(names) > 700, "declarations found", str(len(names)))
    homes = {}
    for library in LIBRARIES:
        path = folder / f"{library}.so"
        for name, kind in visible(report, path):
            homes.setdefault(name, []).append(library)
            report.check(name in names, f"{library} shows {name}", f"kind {kind}, no header declares it")
        report.check(dynamic(path, "SONAME") == [f"{library}.so.0"], f"{library} soname", str(dynamic(path, "SONAME")))
        report.check(path.resolve().name == f"{library}.so.{VERSION}", f"{library} file", path.resolve().name)
        report.check((folder / f"{library}.so.0").resolve() == path.resolve(), f"{library}.so.0 is the same file")
        report.check(dynamic(path, "TEXTREL") == [], f"{library} has no text relocations")
        # linking with fast-math flags adds a constructor that switches denormal numbers off in the whole process
        report.check("set_fast_math" not in run(["nm", path]).stdout, f"{library} is linked without fast math")
    for name, header in sorted(names.items()):
        found = homes.get(name, [])
        report.check(len(found) == 1, f"{name} ({header})", "in no library" if not found else "in " + " and ".join(found))
    report.end()


if __name__ == "__main__":
    main()
