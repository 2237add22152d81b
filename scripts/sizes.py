#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints long files and long functions, so that a long one is there for a reason and not by accident.

Usage: sizes.py [FILE...], by default all C files under version control or new in the tree.
"""
import re
import subprocess
import sys

FILE_LINES, LARGE_FILE_LINES, FUNCTION_LINES = 300, 800, 60
FOLDERS = ("src/", "cpu/", "cli/", "examples/", "tests/", "fuzz/")
# comments, strings and characters: braces in them do not count
PASSIVE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def sources():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True)
    return [n for n in names.stdout.splitlines() if n.startswith(FOLDERS) and n.endswith((".c", ".cpp", ".h"))]


def functions(text):
    """Name, first line and number of lines of every function: a name with parentheses before a block at the outermost level."""
    plain = PASSIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    plain = re.sub(r"^[ \t]*#.*(?:\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m.group()), plain, flags=re.MULTILINE)
    depth, head, begin = 0, 0, None
    for m in re.finditer(r"[{};]", plain):
        if m.group() == "{":
            before = plain[head:m.start()]
            if depth == 0 and begin is None and before.rstrip().endswith(")"):
                name = re.search(r"(\w+)\s*\(", before)
                line = plain.count("\n", 0, head + len(before) - len(before.lstrip())) + 1
                begin = (name.group(1) if name else "?", line)
            elif depth == 0 and re.search(r'extern\s*$', before):
                head = m.end()
                continue
            depth += 1
        elif m.group() == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                if begin is not None:
                    yield begin[0], begin[1], plain.count("\n", 0, m.start()) + 2 - begin[1]
                begin, head = None, m.end()
        elif depth == 0:
            head = m.end()


def main():
    files, long_files, large_files, long_functions, n_functions = sys.argv[1:] or sources(), [], [], [], 0
    lines = {}
    for path in files:
        try:
            with open(path, encoding="utf-8") as f:
                text = f.read()
        except FileNotFoundError:  # removed, and still in the index
            continue
        lines[path] = text.count("\n")
        if lines[path] > FILE_LINES:
            (large_files if lines[path] > LARGE_FILE_LINES else long_files).append(path)
        for name, line, n in functions(text):
            n_functions += 1
            if n > FUNCTION_LINES:
                long_functions.append((n, f"{path}:{line} {name}"))
    for title, paths in ((f"files over {LARGE_FILE_LINES} lines", large_files), (f"files over {FILE_LINES} lines", long_files)):
        print(f"{title}: {len(paths)} of {len(lines)}")
        for path in sorted(paths, key=lambda p: -lines[p]):
            print(f"  {lines[path]:5} {path}")
    print(f"functions over {FUNCTION_LINES} lines: {len(long_functions)} of {n_functions}")
    for n, where in sorted(long_functions, reverse=True):
        print(f"  {n:5} {where}")


if __name__ == "__main__":
    main()
