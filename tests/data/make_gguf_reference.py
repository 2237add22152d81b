#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Writes tests/data/gguf/python-{little,big}.gguf with the gguf Python package (0.19.0): the same content in both byte orders. The
# files are kept in the tree, since the tests must not need the package.
"""usage: make_gguf_reference.py [FOLDER]     (needs numpy and gguf)"""

import os
import sys

import numpy as np
from gguf import GGUFEndian, GGUFValueType, GGUFWriter


def add_keys(writer):
    writer.add_name("reference")
    writer.add_uint8("key.u8", 200)
    writer.add_int8("key.i8", -100)
    writer.add_uint16("key.u16", 60000)
    writer.add_int16("key.i16", -30000)
    writer.add_uint32("key.u32", 4000000000)
    writer.add_int32("key.i32", -2000000000)
    writer.add_float32("key.f32", 1.5)
    writer.add_bool("key.bool", True)
    writer.add_string("key.str", "text \u00e4")
    writer.add_uint64("key.u64", 2**63 + 5)
    writer.add_int64("key.i64", -(2**62))
    writer.add_float64("key.f64", -2.25)
    writer.add_key_value("array.u16", [1, 2, 65535], GGUFValueType.ARRAY, sub_type=GGUFValueType.UINT16)
    writer.add_key_value("array.f64", [0.5, -1.25], GGUFValueType.ARRAY, sub_type=GGUFValueType.FLOAT64)
    writer.add_key_value("array.bool", [True, False, True], GGUFValueType.ARRAY, sub_type=GGUFValueType.BOOL)
    writer.add_array("array.i32", [7, -8, 9])
    writer.add_array("array.str", ["", "one", "two words"])


def add_tensors(writer):
    add = writer.add_tensor
    add("f32.weight", np.arange(-3, 9, dtype=np.float32).reshape(3, 4) / 4)
    add("f16.weight", np.arange(10, dtype=np.float16).reshape(2, 5) / 8)
    add("f64.weight", np.array([1e300, -0.1, 3.0], dtype=np.float64))
    add("i8.weight", np.arange(-4, 4, dtype=np.int8))
    add("i16.weight", np.array([-30000, 1, 2], dtype=np.int16))
    add("i32.weight", np.array([[[1, -2], [3, 2**30]]], dtype=np.int32))
    add("i64.weight", np.array([-(2**62), 5], dtype=np.int64))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "gguf")
    for name, endian in (("little", GGUFEndian.LITTLE), ("big", GGUFEndian.BIG)):
        writer = GGUFWriter(os.path.join(folder, "python-%s.gguf" % name), "test", endianess=endian)
        add_keys(writer)
        add_tensors(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


if __name__ == "__main__":
    main()
