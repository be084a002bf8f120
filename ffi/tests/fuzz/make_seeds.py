# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Writes inputs for the fuzz targets: ``make_seeds.py FOLDER`` makes FOLDER/<target>/<seed>."""

import json
import struct
import sys
from pathlib import Path

JSON = [
    '{"a": [1, -2.5e3, true, null], "b": {"\\u00fc\\ud83d\\ude00": ""}}',
    "[NaN, -Infinity, []]",
]

GRAPHS = [
    [{"type": "ffi.String", "data": "text"}],
    [
        {"type": "int", "data": 1},
        {"type": "ffi.String", "data": "a"},
        {"type": "ffi.Map", "data": [1, 0]},
        {"type": "ffi.Array", "data": [2, 0, 1]},
        {"type": "ffi.Dict", "data": [1, 3]},
        {"type": "ffi.List", "data": [4]},
    ],
    [{"type": "None"}, {"type": "bool", "data": True}, {"type": "ffi.Array", "data": [0, 1]}],
    [{"type": "ffi.Shape", "data": [2, 3]}],
    [{"type": "Device", "data": [1, 0]}],
    [{"type": "DataType", "data": "float32x4"}],
    [{"type": "ffi.Bytes", "data": "AAEC"}],
    [{"type": "ffi.BigInt", "data": "-1" + "0" * 40}],
    [{"type": "testing.TestIntPair", "data": {"a": 1, "b": 2}}],
    [{"type": "testing.TestEnumVariant", "data": "Alpha"}],
    [
        {"type": "ffi.String", "data": "s"},
        {"type": "testing.TestObjectBase", "data": {"v_i64": 1, "v_f64": 2.5, "v_str": 0}},
        {"type": "ffi.Array", "data": [1]},
        {"type": "ffi.Map", "data": []},
        {
            "type": "testing.TestObjectDerived",
            "data": {"v_i64": 1, "v_f64": 2.5, "v_str": 0, "v_map": 3, "v_array": 2},
        },
    ],
]

TYPE_TEXT = ["float32", "int8x4", "float4_e2m1fnx2", "xvscalex4", "uint1", "custom[x]8", "cuda:1"]


def words(*values: int) -> bytes:
    """64-bit words as the blob stores them."""
    return struct.pack(f"<{len(values)}Q", *values)


def sized(content: bytes) -> bytes:
    """Length and content."""
    return words(len(content)) + content


def library_bins() -> list[bytes]:
    """A library alone, and one that imports two modules."""
    alone = words(2, 0, 0) + words(0) + sized(b"_lib")
    tree = words(4, 0, 2, 2, 2) + words(2, 1, 2) + sized(b"_lib")
    return [alone, tree + sized(b"k") + sized(b"body") + sized(b"other") + sized(b"")]


def dlpacks() -> list[bytes]:
    """Layout of ``dlpack_fuzz.cc``: options, version, flags, then the fields of the tensor."""
    float32, int4 = bytes([2, 32, 1, 0]), bytes([17, 4, 1, 0])
    matrix = bytes([2, 2, 3, 3, 1])  # two axes, each an extent and a stride
    return [
        bytes([0, 0, 3, 0, 0, 0]) + float32 + matrix,
        bytes([8, 3, 2, 0]) + float32 + matrix,
        bytes([0, 1, 3, 2, 0, 0]) + int4 + matrix,
        bytes([0, 0, 3, 0, 0, 0]) + float32 + bytes([1, 127]) + struct.pack("<q", 2**62),
    ]


def main(folder: Path) -> None:
    """Write each seed into the folder of its target."""
    seeds = {
        "ffi_json_fuzz": [text.encode() for text in JSON],
        "ffi_json_graph_fuzz": [
            json.dumps({"root_index": len(nodes) - 1, "nodes": nodes}).encode() for nodes in GRAPHS
        ],
        "ffi_type_text_fuzz": [text.encode() for text in TYPE_TEXT],
        "ffi_library_bin_fuzz": library_bins(),
        "ffi_dlpack_fuzz": dlpacks(),
    }
    for target, contents in seeds.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for i, content in enumerate(contents):
            (folder / target / f"seed{i}").write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
