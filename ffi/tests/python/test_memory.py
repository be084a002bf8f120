# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Memory stays flat over many calls, conversions and errors."""

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
import tvm_ffi.testing

echo = tvm_ffi.get_global_func("testing.echo")
apply = tvm_ffi.get_global_func("testing.apply")


class _Local(Exception):
    pass


def _raise():
    raise _Local("text")


def _catch(function, *args):
    try:
        function(*args)
    except Exception:
        pass


_OBJECT = tvm_ffi.testing.TestObjectBase()
_ARRAY = np.ones(16)
_CALLS = {
    "scalars": lambda: echo(1) and echo(2.5) and echo("short"),
    "strings": lambda: echo("a string long enough for the heap") and echo(b"x" * 64),
    "big ints": lambda: echo(2**90),
    "objects": lambda: echo(_OBJECT).v_str,
    "field writes": lambda: setattr(_OBJECT, "v_str", "a string long enough for the heap"),
    "containers": lambda: echo([1, {"k": [_OBJECT, "text"]}])[1]["k"],
    "iteration": lambda: list(tvm_ffi.Map({"a": 1, "b": [2]}).items()),
    "arrays": lambda: echo(_ARRAY),
    "dlpack": lambda: np.from_dlpack(tvm_ffi.from_dlpack(_ARRAY)),
    "unused capsules": lambda: tvm_ffi.from_dlpack(_ARRAY).__dlpack__(max_version=(1, 0)),
    "callbacks": lambda: apply(lambda *args: args, 1, "text", _OBJECT, [1]),
    "opaque": lambda: echo(object()),
    "conversion errors": lambda: _catch(tvm_ffi.get_global_func("testing.add_one"), [1]),
    "half converted": lambda: _catch(echo, "a string long enough for the heap", [1, "\ud800"]),
    "python errors": lambda: _catch(apply, _raise),
    "error values": lambda: echo([ValueError("x")])[0].py_error(),
    "new classes": lambda: echo(type("Fresh", (), {})()),
    "construction": lambda: tvm_ffi.testing.TestObjectBase(v_i64=1, v_str="text"),
    "structure": lambda: tvm_ffi.structural_map([1, [2]], (int, lambda v: v + 1)),
    "json": lambda: tvm_ffi.serialization.from_json_graph_str(
        tvm_ffi.serialization.to_json_graph_str([1, "text", {"k": 2}])
    ),
}


def _resident() -> int:
    """Bytes of memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.parametrize("name", _CALLS)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_flat(name):
    call = _CALLS[name]
    rounds = 300 if "error" in name or name in ("new classes", "half converted") else 3000
    for _ in range(rounds):
        call()
    gc.collect()
    blocks, before = sys.getallocatedblocks(), _resident()
    for _ in range(rounds):
        call()
    gc.collect()
    # A leak of one object or 64 bytes a call would pass both limits.
    limit = rounds // 2 if name != "new classes" else 100 * rounds
    assert sys.getallocatedblocks() - blocks < limit
    assert _resident() - before < max(64 * rounds, 1 << 20)


def test_a_deleter_takes_the_interpreter_lock_it_needs():
    for _ in range(100):
        tvm_ffi.core._testing_drop_last_ref_without_thread_state()
