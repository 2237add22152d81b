#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a user can do wrong with graft run ends with one clear line on stderr and an exit code that is not 0.

Usage: test_errors.py BUILD_FOLDER
"""
import os
import pathlib
import struct
import tempfile

from support import Report, check_error, graft

import make_tiny_llama


def paths(report, folder):
    good = folder / "tiny.gguf"
    make_tiny_llama.write(good)
    (folder / "empty.gguf").write_bytes(b"")
    (folder / "text.gguf").write_text("This is a text and no model.\n")
    os.mkfifo(folder / "pipe.gguf")
    for command, words in (("run", ["-p", "x"]), ("info", [])):
        for name, patterns in (("missing.gguf", ["missing.gguf", "No such file"]), (".", ["a directory"]), ("empty.gguf", ["empty.gguf", "empty"]),
                               ("text.gguf", ["text.gguf", "GGUF"]), ("pipe.gguf", ["not a regular file"]),
                               ("tiny.gguf/x", ["Not a directory"])):
            check_error(report, f"{command} {name}", graft(command, folder / name, *words), 1, *patterns)
    if os.getuid() == 0:
        report.skip("errors: a file without the right to read, as this is root")
    else:
        secret = folder / "secret.gguf"
        secret.write_bytes(good.read_bytes())
        secret.chmod(0)
        check_error(report, "run secret.gguf", graft("run", secret, "-p", "x"), 1, "Permission denied")


def truncated(report, folder):
    """Cut anywhere: in the header, in the keys, in the data of the last tensor."""
    whole = (folder / "tiny.gguf").read_bytes()
    cut = folder / "cut.gguf"
    for size in (1, 4, 7, 23, 24, 100, 1000, 4000, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:size])
        check_error(report, f"run a file cut to {size} bytes", graft("run", cut, "-p", "x"), 1, "cut.gguf", r"byte|truncated")
    cut.write_bytes(whole[:8] + struct.pack("<Q", 1 << 60) + whole[16:])
    check_error(report, "run a file with 2^60 tensors", graft("run", cut, "-p", "x"), 1, "cut.gguf")


def models(report, folder):
    path = folder / "other.gguf"
    cases = (
        ("unknown architecture", {"arch": "mamba"}, ["mamba", "llama"]),
        ("unknown tokenizer", {"tokenizer": "t5"}, ["t5", "gpt2"]),
        ("unknown word patterns", {"pre": "no-such"}, ["no-such"]),
        ("weights of integers", {"type": "I32"}, ["i32|I32|INT"]),
        ("wrong shape of a matrix", {"wrong": "blk.1.ffn_up.weight"}, [r"blk\.1\.ffn_up\.weight", "129", "128"]),
        ("wrong shape of a vector", {"wrong": "output_norm.weight"}, [r"output_norm\.weight", "65", "64"]),
        ("vocabulary of another size", {"wrong": "token_embd.weight"}, [r"token_embd\.weight"]),
        ("tensor missing", {"without": "blk.0.attn_k.weight"}, [r"blk\.0\.attn_k\.weight", "missing"]),
        ("layers missing", {"layers": 3}, [r"blk\.2\."]),
        ("no layers", {"layers": 0}, ["0 layers"]),
        ("absurd number of layers", {"layers": 4294967295}, ["4294967295"]),
        ("no context", {"context": 0}, ["context"]),
    )
    for name, options, patterns in cases:
        make_tiny_llama.write(path, **options)
        check_error(report, name, graft("run", path, "-p", "x"), 1, "other.gguf", *patterns)


def unknown_type(report, folder):
    """A number format that does not exist: the type of a tensor is a number in its entry."""
    data = bytearray((folder / "tiny.gguf").read_bytes())
    name = b"blk.0.attn_q.weight"
    at = data.index(struct.pack("<Q", len(name)) + name) + 8 + len(name)
    dims = struct.unpack_from("<I", data, at)[0]
    struct.pack_into("<I", data, at + 4 + 8 * dims, 250)
    (folder / "type.gguf").write_bytes(data)
    check_error(report, "unknown number format", graft("run", folder / "type.gguf", "-p", "x"), 1, "type.gguf", r"blk\.0\.attn_q\.weight", "250")


def limits(report, folder):
    good = folder / "tiny.gguf"
    check_error(report, "a context too small for the prompt", graft("run", good, "-p", "hello " * 20, "-c", "8", "--raw"), 1, r"\d+ tokens", "8 positions")
    if "Sanitizer" in graft("--version", memory=64 << 20).err:
        report.skip("errors: no limit of memory is possible under a sanitizer", 7)
        return
    for memory in (12, 16, 24, 40, 60, 100):
        # from "the loader itself has no room" to "all fits": whatever the limit, a text or an answer
        r = graft("run", good, "-p", "x", "-n", "2", "-t", "2", "--raw", memory=memory << 20)
        if "error while loading shared libraries" in r.err or r.code == 0:
            report.check(True, f"{memory} MiB")
        else:
            check_error(report, f"{memory} MiB of address space", r, 1)
    make_tiny_llama.write(folder / "long.gguf", context=16777216)
    r = graft("run", folder / "long.gguf", "-p", "x", "-n", "1", "-t", "1", "-c", "16777216", "--raw", memory=512 << 20)
    check_error(report, "no memory for the context", r, 1, "memory")


def main():
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths(report, folder)
        truncated(report, folder)
        models(report, folder)
        unknown_type(report, folder)
        limits(report, folder)
    report.end()


if __name__ == "__main__":
    main()
