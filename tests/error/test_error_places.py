# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Errors of passes and code generators name the function and show the statement."""

import re

import pytest

import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def message_of(action, kind=ValueError) -> str:
    with pytest.raises(kind) as info:
        action()
    assert type(info.value) is kind
    return str(info.value)


def underlined(message: str) -> list[str]:
    """Marked parts of the program in a message."""
    lines = message.splitlines()
    parts = []
    for text, marks in zip(lines, lines[1:]):
        for found in re.finditer(r"\^+", marks if not marks.strip(" ^") else ""):
            parts.append(text[found.start() : found.end()])
    return parts


@I.ir_module
class OpenExtent:
    @T.prim_func
    def good(A: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = A[i] + T.float32(1)

    @T.prim_func
    def bad(A: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(16):
            A[i] = A[i] * T.float32(2)
        for j in T.vectorized(n):
            A[j] = T.float32(0)


def test_lowering():
    message = message_of(lambda: tvm.compile(OpenExtent, "llvm"))
    head, _, place = message.partition("\n\nError in pass: tirx.VectorizeLoop\n")
    assert head == "VectorizeLoop: the extent of vectorized loop j must be a constant, got n"
    assert place.startswith("Location (TVMScript):\nAccess path: <root>.functions[")
    assert 'I.GlobalVar("bad")' in place
    assert underlined(message) == ["for j in T.vectorized(n):", "A[j] = T.float32(0.0)"]


@T.prim_func
def narrow_floats(A: T.Buffer((16,), "float8_e4m3fn"), B: T.Buffer((16,), "float8_e4m3fn")):
    for i in range(16):
        B[i] = A[i] + A[i]


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_code_generation(target):
    mod = tvm.IRModule({"narrow_floats": narrow_floats})
    message = message_of(lambda: tvm.compile(mod, target))
    assert "no type for float8_e4m3fn" in message
    assert f"\n\nError in code generation: {target}\nLocation (TVMScript):\n" in message
    assert underlined(message) == ["A[i]"] and "B[i] = A[i] + A[i]" in message
    assert 'I.GlobalVar("narrow_floats")' in message
    assert max(map(len, message.splitlines())) < 400  # the table of argument checks is cut


@I.ir_module
class Primitive:
    @R.function(private=True)
    def fused(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            y = R.exp(x)
            z = R.negative(y)
            R.output(z)
        return z

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        return Primitive.fused(x)


def test_graph_passes():
    message = message_of(lambda: relax.transform.FuseTIR()(Primitive))
    assert "FuseTIR: the primitive function `fused` holds" in message
    assert "\n\nError in pass: FuseTIRInner\nLocation (TVMScript):\n" in message
    assert any("R.exp(x)" in part for part in underlined(message))


def test_code_generation_for_the_virtual_machine():
    message = message_of(
        lambda: relax.build(Primitive, "llvm", relax_pipeline=None), tvm.error.InternalError
    )
    assert "\n\nError in code generation: virtual machine\nLocation (TVMScript):\n" in message
    assert any("R.exp" in part for part in underlined(message))


class Stop(Exception):
    """An exception that only Python knows."""


@pytest.mark.parametrize("kind", [Stop, KeyboardInterrupt])
def test_exceptions_of_python_passes_arrive_as_themselves(kind):
    raised = kind("stop")

    @tirx.transform.prim_func_pass(opt_level=0)
    def fail(func, mod, ctx):
        raise raised

    with pytest.raises(kind) as info:
        fail(OpenExtent)
    assert info.value is raised and str(raised) == "stop"


def test_native_errors_below_python_passes_keep_their_place():
    @tvm.transform.module_pass(opt_level=0)
    def outer(mod, ctx):
        return tirx.transform.VectorizeLoop(True)(mod)

    message = message_of(lambda: outer(OpenExtent))
    assert message.count("Error in pass: ") == 1
    assert underlined(message)[0] == "for j in T.vectorized(n):"
