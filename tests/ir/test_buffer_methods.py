# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Methods of buffers and index maps that the compiler carries out; regions that loops touch."""

import numpy as np
import pytest

import tvm
from tvm import arith, te, tirx


def test_flattened_buffer():
    flat = tirx.decl_buffer((3, 4, 5), "float32", name="B").get_flattened_buffer()
    assert [int(d) for d in flat.shape] == [60]
    same = tirx.decl_buffer((7,), "int8")
    assert same.get_flattened_buffer().same_as(same)


def test_offset_of():
    (offset,) = tirx.decl_buffer((3, 4), "float32").offset_of([2, 1])
    assert int(arith.Analyzer().simplify(offset)) == 9


def test_access_ptr():
    buf = tirx.decl_buffer((3, 4), "float32")
    ptr = buf.access_ptr("rw", offset=2)
    assert ptr.op.name == "tirx.tvm_access_ptr"
    simplify = arith.Analyzer().simplify
    assert [int(simplify(a)) for a in ptr.args[2:]] == [2, 10, 3]
    wide = buf.access_ptr("r", content_lanes=4)
    assert [int(simplify(a)) for a in wide.args[2:]] == [0, 3, 1]
    with pytest.raises(ValueError, match="Unknown access_mask"):
        buf.access_ptr("x")
    with pytest.raises(ValueError, match="is 1 .read., 2 .write. or 3, got 4"):
        buf.access_ptr(4)


def test_map_tensor():
    index_map = tirx.IndexMap.from_func(lambda i, j: [j // 4, i, j % 4])
    x = np.arange(24).reshape(3, 8).astype("int32")
    out = index_map.map_tensor(tvm.runtime.tensor(x)).numpy()
    np.testing.assert_array_equal(out, x.reshape(3, 2, 4).transpose(1, 0, 2))


def test_map_tensor_checks_the_rank():
    index_map = tirx.IndexMap.from_func(lambda i: [i])
    with pytest.raises(ValueError, match="takes 1 indices, the tensor has 2 dimensions"):
        index_map.map_tensor(tvm.runtime.tensor(np.ones((2, 2), "float32")))


def function():
    a = te.placeholder((16, 8), "float32", "A")
    b = te.compute((8, 8), lambda i, j: a[i + 4, j] * 2.0, "B")
    return te.create_prim_func([a, b]), a, b


def test_domain_touched():
    func, _, _ = function()
    a, b = (p for p in func.params)
    region = arith.domain_touched(func.body, a, True, False)
    assert [(int(r.min), int(r.extent)) for r in region] == [(4, 8), (0, 8)]
    region = arith.domain_touched(func.body, b, False, True)
    assert [(int(r.min), int(r.extent)) for r in region] == [(0, 8), (0, 8)]
    assert len(arith.domain_touched(func.body, a, False, True)) == 0


def test_domain_touched_access_map():
    func, _, _ = function()
    touched = arith.domain_touched_access_map(func)
    loads, stores, both = touched[func.params[0]]
    assert (len(loads), len(stores), len(both)) == (1, 0, 1)


def test_tirx_functions_hold_no_blocks():
    func, _, _ = function()
    assert tirx.analysis.verify_tirx_well_formed(func)  # a scheduled function
    plain = func.without_attr("s_tir")
    assert not tirx.analysis.verify_tirx_well_formed(plain, assert_mode=False)
    with pytest.raises(ValueError, match="SBlock is not allowed in tirx=True mode at"):
        tirx.analysis.verify_tirx_well_formed(plain)
