# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Conversions of floats to integers saturate, in vectors as in single elements; NaN gives 0."""

import numpy as np
import pytest

import tvm
from tvm import relax

EDGES = [0, 0.5, -0.5, 1.9, -1.9, 127, 128, -128, -129, 255, 256, 32767, 32768, -32769, 65535]
EDGES += [65536, 2.0**31, 2.0**31 - 128, -(2.0**31), -(2.0**32), 2.0**32, 1e30, -1e30]
EDGES += [np.inf, -np.inf, np.nan]


def saturated(x, dtype):
    limits = np.iinfo(dtype)
    exact = [0 if np.isnan(v) else max(limits.min, min(limits.max, v)) for v in x.tolist()]
    return np.array([int(v) for v in exact], dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("lanes", [1, 64])
def test_floats_to_integers(dtype, lanes):
    x = np.repeat(np.array(EDGES, np.float32), lanes) if lanes > 1 else np.float32(EDGES)
    bb = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorType([len(x)], "float32"))
    with bb.function("main", [param]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.astype(param, dtype))
        bb.emit_func_output(out)
    executable = tvm.compile(bb.get(), tvm.target.Target({"kind": "llvm", "mcpu": "native"}))
    vm = relax.VirtualMachine(executable, tvm.cpu())
    got = vm["main"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_array_equal(got, saturated(x, dtype))
