# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""None where an object belongs is a TypeError, not the end of the process."""

import os
import re
import subprocess
import sys

import pytest

import tvm
from tvm import relax, s_tir, te, tirx
from tvm.ir import IRModule, Range
from tvm.script import tirx as T

X = relax.Var("x", relax.TensorType([2], "float32"))
CALLS = {
    "compile": lambda: tvm.compile(None),
    "module": lambda: IRModule.from_expr(None),
    "range": lambda: Range(None),
    "constant": lambda: relax.Constant(None),
    "tuple": lambda: relax.Tuple([None]),
    "list operand": lambda: relax.op.add([None], X),
    "list": lambda: relax.op.concat([X, None]),
    "isnan": lambda: tirx.isnan(None),
    "not": lambda: tirx.bitwise_not(None),
    "shift": lambda: tirx.shift_left(None, tirx.const(1)),
    "ceildiv": lambda: tirx.ceildiv(tirx.const(1), None),
    "intrinsic": lambda: tirx.TensorIntrin(None, None),
    "relax well formed": lambda: relax.analysis.well_formed(None),
    "impure calls": lambda: relax.analysis.contains_impure_call(None),
    "type of a call": lambda: relax.analysis.derive_call_ret_type(None, None, None),
    "ssa": lambda: tirx.analysis.verify_ssa(None),
    "memory": lambda: tirx.analysis.verify_memory(None),
    "well formed": lambda: tirx.analysis.verify_well_formed(None),
    "tirx well formed": lambda: tirx.analysis.verify_tirx_well_formed(None),
    "places of buffers": lambda: tirx.analysis.detect_buffer_access_lca(None),
    "flops": lambda: s_tir.analysis.estimate_tir_flops(None),
    "bytes": lambda: s_tir.analysis.calculate_allocated_bytes(None),
    "anchor": lambda: s_tir.analysis.find_anchor_sblock(None),
    "pure": lambda: s_tir.analysis.is_pure_function(None),
    "touched": lambda: tvm.arith.domain_touched_access_map(None),
    "split": lambda: tvm.arith.IterSplitExpr(None, None, None, None),
}


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: relax.get_shape_of(None),
            "relax.get_shape_of: argument `expr` must be an expression, got None",
        ),
        (
            lambda: tirx.transform.Apply(None),
            "tirx.transform.Apply: argument `ftransform` must be a function, got None",
        ),
        (
            lambda: tirx.transform.Filter(None),
            "tirx.transform.Filter: argument `fcond` must be a function, got None",
        ),
        (
            lambda: tvm.get_global_func("tirx.transform.CreatePrimFuncPass")(None, None),
            "tirx.transform.CreatePrimFuncPass: argument `pass_func` must be a function, got None",
        ),
        (
            lambda: tvm.get_global_func("tirx.transform.CreatePrimFuncPass")(len, None),
            "tirx.transform.CreatePrimFuncPass: argument `info` must be a PassInfo, got None",
        ),
        (
            lambda: tvm.get_global_func("ir.Module_Clone")(None),
            "expected an object of type `ir.IRModule`, got None",
        ),
        (
            lambda: tvm.get_global_func("tirx.BufferGetFlattenedBuffer")(None),
            "expected an object of type `",
        ),
    ],
    ids=["shape", "apply", "filter", "pass", "info", "module", "buffer"],
)
def test_the_message_says_what_was_expected(call, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


CALL_ALL = """
import sys
import tvm
from tvm_ffi.registry import list_global_func_names

for name in sorted(list_global_func_names()):
    function = tvm.get_global_func(name)
    for count in (1, 2, 3):
        print(name, count, file=sys.stderr, flush=True)
        try:
            function(*(None,) * count)
        except Exception:
            pass
print("end", flush=True)
"""


def test_no_global_function_ends_the_process():
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", CALL_ALL],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1:]
    assert done.stdout.endswith("end\n") and done.returncode == 0, last


@pytest.mark.parametrize("name", CALLS)
def test_none(name):
    with pytest.raises((TypeError, ValueError)):
        CALLS[name]()


A = te.placeholder((4, 4), name="A")
BUFFER = tirx.decl_buffer((4, 4), "float32", "b")


@pytest.mark.parametrize(
    "value", [A, A[0], BUFFER, BUFFER[0:2, 0:2]], ids=lambda v: type(v).__name__
)
def test_what_has_elements_but_no_end_is_not_iterated(value):
    for walk in (list, tuple, iter, lambda v: [*v], lambda v: tirx.SeqStmt(v)):
        with pytest.raises(TypeError):
            walk(value)


def test_walking_over_the_fields_of_a_tuple_ends():
    pair = relax.Var("t", tvm.ir.TupleType([relax.TensorType([2], "float32")] * 2))
    first, second = pair
    assert (first.index, second.index) == (0, 1) and len(list(pair)) == 2
    for index in (2, -1):
        with pytest.raises(IndexError, match="Index out of bounds"):
            pair[index]
    scalar, shape = (
        relax.Var("n", tvm.ir.PrimType("int64")),
        relax.Var("s", relax.ShapeType(ndim=1)),
    )
    for value in (X, scalar, shape, tirx.Var("x", "int32"), tirx.PrimFunc([], tirx.Evaluate(0))):
        with pytest.raises(TypeError, match="cannot be indexed"):
            list(value)
    assert relax.Var("o", relax.AnyType())[3].index == 3


@T.prim_func
def fill(a: T.Buffer((4,), "float32")):
    for i in range(4):
        a[i] = T.float32(3)


@pytest.mark.parametrize("build", [tvm.compile, tvm.build, tirx.build])
def test_functions_are_compiled_without_a_target(build):
    out = tvm.runtime.empty((4,))
    for program in (fill, IRModule({"fill": fill})):
        build(program)["fill"](out)
        assert out.numpy().tolist() == [3.0] * 4
