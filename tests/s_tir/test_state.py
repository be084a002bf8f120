# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""References, dependencies, cached flags and replacement."""

import programs
import pytest

import tvm
from tvm import s_tir, tirx
from tvm.s_tir import ScheduleState, StmtSRef


def state_of(func):
    return ScheduleState(tvm.IRModule({"main": func}), debug_mask="all")


def blocks(state):
    found = {}

    def visit(node):
        if isinstance(node, tirx.SBlock):
            found[str(node.name_hint)] = node

    tirx.stmt_functor.post_order_visit(state.mod["main"].body, visit)
    return found


def test_tree_of_references():
    state = state_of(programs.matmul(4, 4, 4, programs.add_one))
    block = state.get_sref(blocks(state)["C"])
    assert block.stmt.same_as(blocks(state)["C"])
    loop = block.parent
    assert isinstance(loop.stmt, tirx.For)
    outer = loop.parent.parent
    assert outer.seq_index == 0 and loop.seq_index == -1
    root = outer.parent
    assert root.parent is None and root.stmt.same_as(blocks(state)["root"])
    assert state.get_sref(tirx.For(tirx.Var("i", "int32"), 0, 1, 0, tirx.Evaluate(0))) is None
    assert not StmtSRef.inline_mark().same_as(StmtSRef.root_mark())


def test_flags_and_dependencies():
    state = state_of(programs.matmul(4, 4, 4, programs.add_one))
    nodes = blocks(state)
    root, c, d = (state.get_sref(nodes[name]) for name in ("root", "C", "D"))
    assert state._get_cached_flags(root) == (True, True, True)
    assert state._get_cached_flags(c)[:2] == (True, True)
    (dep,) = state.get_sblock_scope(root).get_deps_by_src(c)
    assert dep.dst.same_as(d) and int(dep.kind) == 0
    info = s_tir.SBlockDependenceInfo(state.mod)
    other = info.get_sref(nodes["root"])
    assert len(info.get_sblock_scope(other).get_deps_by_dst(info.get_sref(nodes["D"]))) == 1


def test_replace_keeps_references_by_loop_variable():
    state = state_of(programs.chain(4, 4))
    block = state.get_sref(blocks(state)["B"])
    inner, outer = block.parent, block.parent.parent
    before = state.mod
    old = outer.stmt
    swapped = tirx.For(
        inner.stmt.loop_var,
        0,
        4,
        0,
        tirx.For(old.loop_var, 0, 4, 0, inner.stmt.body),
    )
    state.replace(outer, swapped)
    assert outer.parent.same_as(inner) and block.parent.same_as(outer)
    assert not state.mod.same_as(before)
    # The program somebody else holds is untouched.
    assert before["main"].body.block.body[0].same_as(old)


def test_replace_expires_what_is_gone():
    state = state_of(programs.chain(4, 4))
    block = state.get_sref(blocks(state)["B"])
    outer = block.parent.parent
    realize = block.parent.stmt.body
    fresh = tirx.For(
        tirx.Var("a", "int32"), 0, 4, 0, tirx.For(tirx.Var("b", "int32"), 0, 4, 0, realize)
    )
    state.replace(outer, fresh)
    assert outer.stmt is None and block.stmt is not None
    with pytest.raises(ValueError, match="not part"):
        state.replace(outer, fresh)


def test_replace_checks_kinds():
    state = state_of(programs.chain(4, 4))
    block = state.get_sref(blocks(state)["B"])
    with pytest.raises(TypeError):
        state.replace(block, block.parent.stmt)
    changed = tirx.SBlock(
        block.stmt.iter_vars, block.stmt.reads, block.stmt.writes, "renamed", block.stmt.body
    )
    state.replace(block, changed, {block.stmt: changed})
    assert str(block.stmt.name_hint) == "renamed"


def test_debug_mask():
    with pytest.raises(ValueError, match="debug_mask"):
        ScheduleState(programs.chain(), debug_mask="some")
    assert ScheduleState(programs.chain(), debug_mask="all").debug_mask == 3
