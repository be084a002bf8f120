# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Questions about functions of blocks."""

import programs
import pytest

import tvm
from tvm import s_tir, te, tirx
from tvm.s_tir import Schedule, ScheduleError, analysis
from tvm.s_tir.schedule import analysis as schedule_analysis


def test_flops_anchor_and_purity():
    func = programs.matmul(16, 16, 16, programs.add_one)
    mod = tvm.IRModule({"main": func})
    assert analysis.estimate_tir_flops(mod) == 2 * 16**3 + 256
    assert str(analysis.find_anchor_sblock(mod).name_hint) == "C"
    assert not analysis.is_pure_function(func)
    assert analysis.is_pure_function(tirx.PrimFunc([], tirx.Evaluate(0)))
    with pytest.raises(AssertionError):
        analysis.assert_pure_function(func)


def test_access_regions():
    sch = Schedule(programs.matmul())
    block = sch.get(sch.get_sblock("C"))
    reads, writes, opaque = analysis.get_sblock_access_region(block, {})
    assert {str(region.buffer.name) for region in reads} == {"A", "B", "C"}
    assert len(writes) == 1 and not opaque
    reads, writes = analysis.get_sblock_read_write_region(block, {})
    assert len(writes) == 1


def test_access_lca():
    func = programs.matmul(4, 4, 4, programs.add_one)
    found = {
        str(buffer.name): stmt for buffer, stmt in analysis.detect_buffer_access_lca(func).items()
    }
    assert str(found["C"].name_hint) == "root"


def test_allocated_bytes():
    func = programs.matmul(16, 16, 16, programs.add_one)
    lowered = tvm.transform.Sequential(
        [
            s_tir.transform.LowerInitBlock(),
            s_tir.transform.ConvertBlocksToOpaque(),
            s_tir.transform.LowerOpaqueBlock(),
        ]
    )(tvm.IRModule({"main": func}))
    assert analysis.calculate_allocated_bytes(lowered)["main"]["global"] == 1024
    assert not analysis.calculate_allocated_bytes(func)["main"]


def test_gpu_limits():
    sch = Schedule(programs.matmul(64, 16, 4))
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "threadIdx.x")
    func = sch.mod["main"]
    assert analysis.verify_gpu_code(func, {"max_threads_per_block": 64})
    assert not analysis.verify_gpu_code(func, {"max_threads_per_block": 32})
    assert not analysis.verify_gpu_code(func, {"max_thread_x": 8})
    with pytest.raises(ValueError, match="Invalid check item"):
        analysis.verify_gpu_code(func, {"max_something": 1})


def test_out_of_bounds_access():
    a = te.placeholder((8,), name="A")
    good = te.create_prim_func([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")])
    bad = te.create_prim_func([a, te.compute((8,), lambda i: a[i + 1] + 1.0, name="B")])
    analysis.OOBChecker()(tvm.IRModule({"main": good}))
    with pytest.raises(ScheduleError, match="out of bounds"):
        analysis.OOBChecker()(tvm.IRModule({"main": bad}))
    guarded = te.create_prim_func(
        [a, te.compute((8,), lambda i: tirx.if_then_else(i < 7, a[i + 1], 0.0), name="B")]
    )
    analysis.OOBChecker()(tvm.IRModule({"main": guarded}))


def test_output_blocks_and_names():
    sch = Schedule(programs.matmul(4, 4, 4, programs.add_one))
    assert schedule_analysis.is_output_block(sch, sch.get_sblock("D"))
    assert not schedule_analysis.is_output_block(sch, sch.get_sblock("C"))
    assert schedule_analysis.has_block(sch, "C") and not schedule_analysis.has_block(sch, "X")


def test_suggested_layout_follows_the_loops():
    sch = Schedule(programs.matmul(16, 16, 16))
    _, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, 4])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(j0, k0, k1, j1)
    loops = [sch.get(loop) for loop in sch.get_loops("C")]
    var = {str(loop.loop_var.name): loop.loop_var for loop in loops}
    buffer = sch.get(sch.get_sblock("C")).reads[1].buffer
    index_map = schedule_analysis.suggest_index_map(
        buffer,
        [var["k_0"] * 4 + var["k_1"], var["j_0"] * 4 + var["j_1"]],
        loops,
        tirx.const(True, "bool"),
    )
    want = tirx.IndexMap.from_func(lambda i, j: [j // 4, i // 4, i % 4, j % 4], index_dtype="int32")
    assert [int(x) for x in index_map.map_shape([16, 16])] == [4, 4, 4, 4]
    assert index_map.map_indices([7, 9]) == want.map_indices([7, 9]) or [
        int(x) for x in index_map.map_indices([7, 9])
    ] == [int(x) for x in want.map_indices([7, 9])]
