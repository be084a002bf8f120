# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""A matrix product scheduled to a packed, register-tiled, vectorised, parallel kernel."""

import programs

import tvm
from tvm.s_tir import Schedule


def packed_matmul(size, rows=12, columns=32, inner=64):
    """The schedule: B in panels, a tile of C in registers, parallel over tiles of rows."""
    sch = Schedule(tvm.IRModule({"main": programs.matmul(size, size, size)}))
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, rows])
    j0, j1, j2 = sch.split(j, [None, columns // 16, 16])
    k0, k1 = sch.split(k, [None, inner])
    sch.reorder(i0, j0, k0, k1, i1, j1, j2)
    # B as [column panel][k][column], read in order by the innermost loops.
    packed = sch.reindex(block, ("read", 1))
    sch.transform_layout(block, ("read", 1), lambda k, j: [j // columns, k, j % columns])
    p0, p1 = sch.get_loops(packed)
    q0, q1 = sch.split(p1, [None, 16])
    # The tile of C stays in registers until all of k is done.
    copy = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(copy, j0)
    sch.vectorize(sch.split(sch.get_loops(copy)[-1], [None, 16])[1])
    sch.parallel(i0)
    sch.vectorize(j2)
    sch.unroll(i1)
    sch.unroll(j1)
    init = sch.decompose_reduction(block, k0)
    sch.vectorize(q1)
    sch.parallel(sch.get_loops(packed)[0])
    assert init is not None
    return sch


def test_packed_matmul_against_numpy():
    sch = packed_matmul(192)
    steps = [inst for inst in sch.trace.insts if not inst.kind.is_pure]
    assert len(steps) >= 15
    programs.check_matmul(sch.mod, 192, 192, 192)


def test_rows_that_do_not_divide():
    sch = packed_matmul(64, rows=6, inner=16)
    programs.check_matmul(sch.mod, 64, 64, 64)
