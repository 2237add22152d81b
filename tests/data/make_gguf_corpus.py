#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Writes the corpus of small GGUF files, valid and malformed, each named for what is particular about it. The output is
# kept in the tree; tests/gguf/corpus.c says what each file must give. Needs nothing but the standard library.
"""usage: make_gguf_corpus.py [FOLDER]     (default: fuzz/corpus/gguf of this tree)"""

import os
import struct
import sys

U8, I8, U16, I16, U32, I32, F32, BOOL, STR, ARR, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
NAMES = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64"]

# ggml types: id, elements of a block, bytes of a block
T_F32, T_F16, T_Q4_0, T_Q5_0, T_Q8_0, T_I8, T_I16, T_I64, T_F64 = 0, 1, 2, 6, 8, 24, 25, 27, 28
BLOCKS = {T_F32: (1, 4), T_F16: (1, 2), T_Q4_0: (32, 18), T_Q5_0: (32, 22), T_Q8_0: (32, 34), T_I8: (1, 1),
          T_I16: (1, 2), T_I64: (1, 8), T_F64: (1, 8)}


class Builder:
    """Parts of a file in one byte order."""

    def __init__(self, order="<"):
        self.order = order

    def num(self, fmt, *values):
        return struct.pack(self.order + fmt * len(values), *values)

    def string(self, text, length=None):
        data = text if isinstance(text, bytes) else text.encode()
        return self.num("Q", len(data) if length is None else length) + data

    def value(self, kind, value):
        return self.string(value) if kind == STR else self.num(FORMATS[kind], value)

    def kv(self, key, kind, value):
        return self.string(key) + self.num("I", kind) + self.value(kind, value)

    def arr(self, key, kind, values, count=None):
        head = self.string(key) + self.num("I", ARR) + self.num("I", kind)
        head += self.num("Q", len(values) if count is None else count)
        return head + b"".join(self.value(kind, v) for v in values)

    def tensor(self, name, dims, kind=T_F32, offset=0, n_dims=None):
        body = self.string(name) + self.num("I", len(dims) if n_dims is None else n_dims)
        body += b"".join(self.num("Q", d & (2**64 - 1)) for d in dims)
        return body + self.num("I", kind & 0xFFFFFFFF) + self.num("Q", offset)

    def header(self, n_tensors=0, n_kv=0, version=3, magic=b"GGUF"):
        return magic + self.num("I", version) + self.num("Q", n_tensors & (2**64 - 1), n_kv & (2**64 - 1))

    def file(self, kvs=(), tensors=(), version=3, alignment=32, data=None):
        """A whole file: tensors are (name, dims, type); data is one bytes object for each, or counting bytes."""
        infos, blobs, offset = [], [], 0
        for i, (name, dims, kind) in enumerate(tensors):
            block, size = BLOCKS[kind]
            n = 1
            for d in dims:
                n *= d
            blob = data[i] if data else bytes((i * 16 + j) % 251 for j in range(n // block * size))
            infos.append(self.tensor(name, dims, kind, offset))
            blob += bytes(-len(blob) % alignment)
            blobs.append(blob)
            offset += len(blob)
        meta = self.header(len(infos), len(kvs), version) + b"".join(kvs) + b"".join(infos)
        if infos:
            meta += bytes(-len(meta) % alignment)
        return meta + b"".join(blobs)


LE, BE = Builder("<"), Builder(">")
SAMPLES = {U8: 200, I8: -100, U16: 60000, I16: -30000, U32: 4000000000, I32: -2000000000, F32: 1.5, BOOL: 1,
           STR: "text", U64: 2**63 + 5, I64: -(2**62), F64: -2.25}


def scalars(b):
    return [b.kv("key." + NAMES[kind], kind, value) for kind, value in SAMPLES.items()]


def arrays(b):
    out = []
    for kind, value in SAMPLES.items():
        out.append(b.arr("array." + NAMES[kind], kind, [value, SAMPLES[kind], value]))
        out.append(b.arr("empty." + NAMES[kind], kind, []))
    out.append(b.arr("array.odd_strings", STR, ["", b"zero\0inside", "\u00e4\u00f6", b"\xff\xfe", ""]))
    return out


def some_tensors(b, kinds=(T_F32, T_F16, T_I8, T_I64, T_Q8_0)):
    shapes = [[3], [5, 2], [2, 3, 2], [2, 1, 2, 2], [64, 2]]
    return [("t%d" % i, shape, kind) for i, (shape, kind) in enumerate(zip(shapes, kinds))]


def ordered_data(b):
    """Data whose numbers, read in the file's byte order, are the same in both orders."""
    halves = [0x3C00 + i for i in range(10)]
    q8 = b"".join(b.num("H", 0x3800 + i) + bytes(range(i, i + 32)) for i in range(4))
    longs = b.num("q", *[i - 4 for i in range(8)])
    return [b.num("f", 1.0, -2.0, 0.5), b.num("H", *halves), bytes(range(12)), longs, q8]


def valid():
    yield "valid-empty", LE.file()
    yield "valid-scalars", LE.file(scalars(LE))
    yield "valid-arrays", LE.file(arrays(LE))
    yield "valid-v2", LE.file(scalars(LE), some_tensors(LE), version=2)
    yield "valid-tensors", LE.file(scalars(LE), some_tensors(LE), data=ordered_data(LE))
    yield "valid-other-order", BE.file(scalars(BE) + arrays(BE), some_tensors(BE), data=ordered_data(BE))
    yield "valid-other-order-v2", BE.file(scalars(BE), version=2)
    for alignment in (1, 8, 64, 4096):
        kv = LE.kv("general.alignment", U32, alignment)
        yield "valid-alignment-%d" % alignment, LE.file([kv], some_tensors(LE)[:2], alignment=alignment)
    yield "valid-zero-extent-unpadded", LE.header(1) + LE.tensor("t", [0])
    yield "valid-zero-extent-1-0", LE.file((), [("t", [1, 0], T_F32)])
    yield "valid-zero-extent-between", LE.file((), [("a", [4], T_F32), ("b", [0, 7], T_F16), ("c", [2], T_F32)])
    yield "valid-zero-extent-block", LE.file((), [("t", [0, 3], T_Q4_0)])
    yield "valid-other-order-zero-extent", BE.file((), [("t", [0], T_F32)])
    yield "valid-no-dimensions", LE.file((), [("t", [], T_F32)])
    yield "valid-trailing-ones", LE.file((), [("t", [4, 1, 1], T_F32)])
    yield "valid-tensor-name-63", LE.file((), [("n" * 63, [1], T_F32)])
    yield "valid-tensor-name-empty", LE.file((), [("", [1], T_F32)])
    yield "valid-bool-bytes", LE.file([LE.kv("b", BOOL, 2), LE.arr("a", BOOL, [0, 1, 128, 255])])
    yield "valid-split", LE.file([LE.kv("split.no", U16, 0), LE.kv("split.count", U16, 2),
                                  LE.kv("split.tensors.count", I32, 1)], [("t", [4], T_F32)])
    yield "valid-bytes-after-end", LE.file((), [("t", [4], T_F32)]) + b"more"
    yield "valid-array-of-bytes", LE.file([LE.arr("tokenizer.ggml.token_type", U8, [1, 2, 3, 4])])
    yield "valid-type-names-unused", LE.file([LE.arr("graft.tensor_types", STR, ["x"])], [("t", [4], T_F32)])
    yield "meta-only-big-tensor", LE.header(1) + LE.tensor("t", [2**62], T_I8) + bytes(64)
    yield "meta-only-data-missing", LE.file((), [("t", [64], T_F32)])[:-256]
    yield "meta-only-data-short", LE.file((), [("t", [64], T_F32)])[:-1]
    yield "meta-only-other-order-q5_0", BE.file((), [("t", [32], T_Q5_0)])


def bad_header():
    yield "bad-empty-file", b""
    yield "bad-magic", LE.header(magic=b"GGML")
    yield "bad-magic-reversed", LE.header(magic=b"FUGG")
    yield "bad-magic-short", b"GGU"
    for version in (0, 1, 4, 0x10000, 0x01000000, 0x04000000, 0xFFFFFFFF):
        yield "bad-version-%x" % version, LE.header(version=version)
    yield "bad-header-short-version", b"GGUF\x03\0"
    yield "bad-header-short-counts", LE.header()[:-1]
    yield "bad-tensor-count-minus-1", LE.header(-1) + bytes(64)
    yield "bad-tensor-count-2-63", LE.header(2**63) + bytes(64)
    yield "bad-tensor-count-over-file", LE.header(4) + bytes(95)
    yield "bad-key-count-minus-1", LE.header(0, -1) + bytes(64)
    yield "bad-key-count-2-62", LE.header(0, 2**62) + bytes(64)
    yield "bad-both-counts", LE.header(3, 6) + bytes(130)
    yield "bad-count-other-order", BE.header(2**40, 2**40) + bytes(64)


def with_kv(part, n=1):
    return LE.header(0, n) + part


def bad_keys():
    yield "bad-key-length-1-gib", with_kv(LE.string("key", 2**30) + bytes(125))
    yield "bad-key-length-max", with_kv(LE.string("key", 2**64 - 1) + bytes(32))
    yield "bad-key-length-other-order", BE.header(0, 1) + BE.string("key", 2**24) + bytes(32)
    yield "bad-key-empty", LE.file([LE.kv("", U32, 1)])
    yield "bad-key-zero-byte", LE.file([LE.kv("a\0b", U32, 1)])
    yield "bad-key-duplicate", LE.file([LE.kv("a", U32, 1), LE.kv("b", U32, 1), LE.kv("a", STR, "x")])
    yield "bad-key-unprintable", with_kv(LE.string(b"\x1b[31m\n\xff" * 30) + LE.num("I", 77) + bytes(8))
    for kind in (13, 0x7FFFFFFF, 0xFFFFFFFF):
        yield "bad-value-type-%x" % kind, with_kv(LE.string("key") + LE.num("I", kind) + bytes(16))
    for kind in (U16, F32, U64):
        value = bytes(struct.calcsize(FORMATS[kind]) - 1)
        yield "bad-value-short-" + NAMES[kind], with_kv(LE.string("key") + LE.num("I", kind) + value)
    yield "bad-value-missing", with_kv(LE.string("key") + LE.num("I", U8))
    head = LE.string("key") + LE.num("I", STR)
    yield "bad-string-length-1-gib", with_kv(head + LE.string("text", 2**30) + bytes(113))
    yield "bad-string-length-max", with_kv(head + LE.string("text", 2**64 - 1))
    yield "bad-array-2-63-u8", with_kv(LE.arr("k", U8, [], 2**63))
    yield "bad-array-2-61-u64", with_kv(LE.arr("k", U64, [], 2**61))
    yield "bad-array-2-61-u64-plus-1", with_kv(LE.arr("k", U64, [1], 2**61 + 1))
    yield "bad-array-2-63-str", with_kv(LE.arr("k", STR, [], 2**63))
    yield "bad-array-2-61-str", with_kv(LE.arr("k", STR, ["a", "b"], 2**61))
    yield "bad-array-over-file-u32", with_kv(LE.arr("k", U32, [1, 2, 3], 4))
    yield "bad-array-over-file-str", with_kv(LE.arr("k", STR, ["a", "b", "c"], 4))
    yield "bad-array-last-string-long", with_kv(LE.arr("k", STR, ["a", "b"], 3) + LE.string("c", 2**30))
    yield "bad-array-of-arrays", with_kv(LE.string("k") + LE.num("I", ARR, ARR) + LE.num("Q", 1) + LE.num("I", U8) +
                                         LE.num("Q", 0))
    yield "bad-array-element-type", with_kv(LE.string("k") + LE.num("I", ARR, 99) + LE.num("Q", 1) + bytes(8))
    yield "bad-array-count-short", with_kv(LE.string("k") + LE.num("I", ARR, U8) + bytes(4))
    a = "general.alignment"
    yield "bad-alignment-i32", LE.file([LE.kv(a, I32, 32)])
    yield "bad-alignment-u64", LE.file([LE.kv(a, U64, 32)])
    yield "bad-alignment-str", LE.file([LE.kv(a, STR, "32")])
    yield "bad-alignment-bool", LE.file([LE.kv(a, BOOL, 1)])
    yield "bad-alignment-array", LE.file([LE.arr(a, U32, [32])])
    yield "bad-alignment-empty-array", LE.file([LE.arr(a, U32, [])])
    for alignment in (0, 3, 48, 0x80000000, 0xFFFFFFFF):
        yield "bad-alignment-%x" % alignment, LE.file([LE.kv(a, U32, alignment)], [("t", [8], T_F32)])


def with_tensors(*parts):
    return LE.header(len(parts)) + b"".join(parts) + bytes(256)


def bad_tensors():
    t = LE.tensor
    yield "bad-tensor-name-64", with_tensors(t("n" * 64, [1]))
    yield "bad-tensor-name-length-1-gib", with_tensors(LE.string("n", 2**30) + bytes(64))
    yield "bad-tensor-name-zero-byte", with_tensors(t("a\0b", [1]))
    yield "bad-tensor-duplicate", with_tensors(t("a", [8]), t("b", [8], offset=32), t("a", [8], offset=64))
    yield "bad-tensor-5-dimensions", with_tensors(t("t", [1, 1, 1, 1, 1]))
    yield "bad-tensor-dimensions-max", with_tensors(t("t", [1], n_dims=2**32 - 1))
    yield "bad-tensor-extent-negative", with_tensors(t("t", [4, -1]))
    yield "bad-tensor-extent-min", with_tensors(t("t", [-2**63]))
    for kind in (4, 5, 31, 33, 36, 38, 43, 1024, 0x7FFFFFFF, -1):
        yield "bad-tensor-type-%d" % kind, with_tensors(t("t", [32], kind))
    for what, kind, names in (("unregistered-name", STR, ["acme.x"]), ("name-of-built-in", STR, ["q4_0"]),
                              ("beyond-names", STR, []), ("names-not-strings", U32, [0])):
        kv = LE.arr("graft.tensor_types", kind, names)
        yield "bad-tensor-type-" + what, LE.header(1, 1) + kv + t("t", [32], 1024) + bytes(256)
    yield "bad-tensor-block-misfit", with_tensors(t("t", [33], T_Q4_0))
    yield "bad-tensor-block-one-element", with_tensors(t("t", [1, 32], T_Q8_0))
    yield "bad-tensor-bytes-2-64", with_tensors(t("t", [2**62], T_F32))
    yield "bad-tensor-elements-2-64", with_tensors(t("t", [2**32, 2**32], T_I8))
    yield "bad-tensor-elements-2-124", with_tensors(t("t", [2**31] * 4, T_I8))
    yield "bad-tensor-elements-behind-zero", with_tensors(t("t", [0, 2**62, 2**62], T_F32))
    yield "bad-tensor-elements-before-zero", with_tensors(t("t", [2**62, 2**62, 0], T_F32))
    yield "bad-tensor-blocks-overflow", with_tensors(t("t", [2**62, 2], T_Q8_0))
    yield "bad-tensor-elements-times-type-size", with_tensors(t("t", [2**61], T_Q8_0))
    yield "bad-tensor-padding-wraps", with_tensors(t("t", [4, 2**30 - 1, 2**30 + 1], T_F32))
    yield "bad-tensors-sum-overflows", with_tensors(*[t("t%d" % i, [2**62], T_I8, i * 2**62) for i in range(4)])
    half = 0x7FFFFFFFFFFFFFC0
    yield "bad-tensors-sum-2-64", with_tensors(t("a", [half], T_I8), t("b", [half], T_I8, half))
    yield "bad-tensor-offset-gap", with_tensors(t("a", [8]), t("b", [8], offset=64))
    yield "bad-tensor-offset-overlap", with_tensors(t("a", [16]), t("b", [8], offset=32))
    yield "bad-tensor-offset-first", with_tensors(t("a", [8], offset=32))
    yield "bad-tensor-offset-unaligned", with_tensors(t("a", [3]), t("b", [8], offset=12))
    yield "bad-tensor-offset-max", with_tensors(t("a", [8], offset=2**64 - 32))
    kv = LE.kv("general.alignment", U32, 64)
    pair = t("a", [8]) + t("b", [8], offset=32)
    yield "bad-tensor-offset-other-alignment", LE.header(2, 1) + kv + pair + bytes(256)
    yield "bad-tensor-short-name", LE.header(1) + LE.string("t", 20) + bytes(18)
    yield "bad-tensor-short-extent", LE.header(1) + (LE.string("tensor.weight") + LE.num("I", 4) + bytes(28))
    yield "bad-tensor-short-offset", LE.header(1) + t("t", [1])[:-1]
    yield "bad-tensor-padding-missing", LE.header(1) + t("t", [1]) + bytes(3)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..", "fuzz", "corpus", "gguf")
    os.makedirs(folder, exist_ok=True)
    count = size = 0
    for part in (valid, bad_header, bad_keys, bad_tensors):
        for name, data in part():
            with open(os.path.join(folder, name + ".gguf"), "wb") as file:
                file.write(data)
            count += 1
            size += len(data)
    print("%d files, %d bytes" % (count, size))


if __name__ == "__main__":
    main()
