# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Structural equality and traversals, access paths, JSON graphs."""

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import DefRegionKind, StructuralKey, VisitInterrupt, WalkResult
from tvm_ffi.access_path import AccessKind, AccessPath
from tvm_ffi.dataclasses import py_class
from tvm_ffi.testing import TestObjectBase


def test_equality_and_hash():
    left = [1, {"k": [2.5, "text"]}]
    assert tvm_ffi.structural_equal(left, [1, {"k": [2.5, "text"]}])
    assert not tvm_ffi.structural_equal(left, [1, {"k": [2.5, "other"]}])
    assert tvm_ffi.structural_hash(left) == tvm_ffi.structural_hash([1, {"k": [2.5, "text"]}])
    assert tvm_ffi.structural_equal(float("nan"), float("nan"))


def test_first_mismatch():
    left, right = tvm_ffi.get_first_structural_mismatch([1, [2, 3]], [1, [2, 4]])
    assert str(left) == str(right) == "<root>[1][1]"
    assert left == AccessPath.root().array_item(1).array_item(1)
    assert tvm_ffi.get_first_structural_mismatch([1], [1]) is None


def test_structural_key():
    table = {StructuralKey([1, "a"]): "found"}
    assert table[StructuralKey([1, "a"])] == "found"
    assert StructuralKey([1]) != StructuralKey([2])
    mapping = tvm_ffi.Map({StructuralKey([1]): 5})
    assert mapping[StructuralKey([1])] == 5


def test_access_path():
    path = AccessPath.root().attr("x").array_item(1).map_item("k")
    assert str(path) == '<root>.x[1]["k"]'
    assert [step.kind for step in path.to_steps()] == [
        AccessKind.ATTR, AccessKind.ARRAY_ITEM, AccessKind.MAP_ITEM]  # fmt: skip
    assert path.parent.is_prefix_of(path) and not path.is_prefix_of(path.parent)
    assert path.depth == 3
    same = AccessPath.root().attr("x").array_item(1).map_item("k")
    assert path == same and hash(path) == hash(same)
    assert path != path.parent
    assert AccessPath.root().array_item(1) != AccessPath.root().array_item_missing(1)
    with pytest.raises(ValueError):
        AccessPath()


def test_walk_order_and_skip():
    seen = []
    tvm_ffi.structural_walk([1, [2]], seen.append)
    assert seen[:3] == [1, 2, [2]]
    seen.clear()
    tvm_ffi.structural_walk([1, [2]], (int, seen.append), order="pre")
    assert seen == [1, 2]

    def skip(value):
        return WalkResult.SKIP if len(value) == 1 else None

    seen.clear()
    tvm_ffi.structural_walk([1, [2]], [(tvm_ffi.Array, skip), (int, seen.append)], order="pre")
    assert seen == [1]
    stop = tvm_ffi.structural_walk([1, 2], (int, lambda v: VisitInterrupt(v)))
    assert stop.value == 1
    with pytest.raises(ValueError, match="Unknown structural walk order: 'x'"):
        tvm_ffi.structural_walk([1], seen.append, order="x")
    with pytest.raises(TypeError, match="structural_walk callbacks must be"):
        tvm_ffi.structural_walk([1], 3)
    with pytest.raises(TypeError, match="supported builtin"):
        tvm_ffi.structural_walk([1], (set, seen.append))


def test_map_and_mutate():
    assert tvm_ffi.structural_map([1, ["a", 2]], (int, lambda v: v + 1)) == [2, ["a", 3]]
    assert tvm_ffi.structural_mutate([1, [2]], (int, lambda v, m: v * 10)) == [10, [20]]
    modes = []
    tvm_ffi.structural_mutate([1], (int, lambda v, m, mode: modes.append(mode) or v))
    assert modes == [0]

    def stop_at_arrays(value, mutator):
        return mutator.default_mutate(value) if len(value) > 1 else value

    kept = tvm_ffi.structural_mutate(
        [1, [2]], [(tvm_ffi.Array, stop_at_arrays), (int, lambda v, m: v + 1)]
    )
    assert kept == [2, [2]]


def test_visit():
    seen = []

    def visit(value, visitor):
        seen.append(len(value))
        visitor.default_visit(value)

    tvm_ffi.structural_visit([[1], [2, 3]], (tvm_ffi.Array, visit))
    assert seen == [2, 1, 2]


def test_callback_error_keeps_class():
    class Stop(Exception):
        pass

    def fail(value):
        raise Stop

    with pytest.raises(Stop):
        tvm_ffi.structural_walk([1], fail)


def test_json_graph():
    from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str

    value = [1, 2.5, "text", None, True, b"raw", {"k": TestObjectBase(v_i64=4)}]
    text = to_json_graph_str(value, {"version": "1"})
    assert '"version"' in text
    back = from_json_graph_str(text)
    assert tvm_ffi.structural_equal(list(back)[:6], value[:6])
    assert back[6]["k"].v_i64 == 4
    with pytest.raises(Exception):  # noqa: B017
        from_json_graph_str("{")


@pytest.mark.parametrize("with_hook", [False, True])
def test_regions(with_hook):
    root = tvm_ffi.get_global_func("testing.make_visit_region_graph")(with_hook)
    seen = {}

    def note(value, kind):
        seen[value] = kind

    tvm_ffi.structural_walk(root, (), (int, note), order="pre")
    kinds = {1: DefRegionKind.DEF_SIMPLE, 2: DefRegionKind.DEF_PATTERN, 3: DefRegionKind.NONE}
    if with_hook:  # the hook puts everything below it into a region, and a 4 after it
        assert seen.pop(4) == DefRegionKind.NONE
        kinds[3] = DefRegionKind.DEF_SIMPLE
    assert seen == kinds


def test_visitor_state():
    kinds = []

    def visit(value, visitor):
        if isinstance(value, int):
            kinds.append(visitor.def_region_kind())
            return
        visitor.with_def_region_kind(DefRegionKind.DEF_PATTERN, lambda: visitor.visit(value[0]))
        visitor.visit(value[1])

    tvm_ffi.structural_visit([1, 2], ((tvm_ffi.Array, visit), (int, visit)))
    assert kinds == [DefRegionKind.DEF_PATTERN, DefRegionKind.NONE]

    def fail(value, visitor):
        def body():
            raise KeyError("inside")

        with pytest.raises(KeyError):
            visitor.with_def_region_kind(DefRegionKind.DEF_SIMPLE, body)
        kinds.append(visitor.def_region_kind())

    tvm_ffi.structural_visit([1], (int, fail))
    assert kinds[-1] == DefRegionKind.NONE


def test_traversal_state_does_not_outlive_the_traversal():
    kept = []
    tvm_ffi.structural_visit([1], (int, lambda v, visitor: kept.append(visitor)))
    tvm_ffi.structural_mutate([1], (int, lambda v, mutator: kept.append(mutator)))
    visitor, mutator = kept
    for use in (lambda: visitor.visit([1]), lambda: mutator.mutate([1])):
        try:
            use()
        except RuntimeError:
            pass


def test_variable_table():
    @py_class("test_structural.Var", structural_eq="var")
    class Var(tvm_ffi.Object):
        name: str

    x, y = Var("x"), Var("y")

    def on_int(value, mutator):
        assert mutator.var_remap_get(x) is None
        mutator.var_remap_set(x, y)
        assert mutator.var_remap_get(x).same_as(y)
        return value

    result = tvm_ffi.structural_mutate([1, x, x], (int, on_int))
    assert result[1].same_as(y) and result[2].same_as(y)
    assert tvm_ffi.structural_map([x], (int, lambda v: v))[0].same_as(x)


def test_moved_roots_are_changed_in_place():
    root = tvm_ffi.Array([tvm_ffi.Array([1])])
    address = root.id_
    mapped = tvm_ffi.structural_map(root._move(), (int, lambda v: v + 1))
    assert mapped.id_ == address and list(mapped[0]) == [2]
    kept = tvm_ffi.Array([1])
    mapped = tvm_ffi.structural_map(kept, (int, lambda v: v + 1))
    assert list(kept) == [1] and list(mapped) == [2]


def test_tensor_content():
    one, other = (tvm_ffi.from_dlpack(np.full(3, value, "float32")) for value in (1, 2))
    same = tvm_ffi.from_dlpack(np.ones(3, "float32"))
    wide = tvm_ffi.from_dlpack(np.ones(3, "float64"))
    assert tvm_ffi.structural_equal(one, same)
    assert not tvm_ffi.structural_equal(one, other)
    assert tvm_ffi.structural_equal(one, other, skip_tensor_content=True)
    assert not tvm_ffi.structural_equal(one, wide, skip_tensor_content=True)
    assert tvm_ffi.structural_hash(one) == tvm_ffi.structural_hash(same)
    assert tvm_ffi.structural_hash(one, skip_tensor_content=True) == tvm_ffi.structural_hash(
        other, skip_tensor_content=True
    )


@pytest.mark.parametrize(
    "value",
    [[1, 2.5, True], ["short", "longer than seven bytes"], [b"x", b"longer than seven"], [2**80],
     {"k": 1, 2: "v"}, [[1], [[2]]], [float("nan")]],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("cls", [tvm_ffi.Array, tvm_ffi.List])
def test_callbacks_that_return_their_value_change_nothing(value, cls):
    root = cls([value]) if isinstance(value, dict) else cls(value)
    for order in ("pre", "post"):
        assert tvm_ffi.structural_map(root, lambda v: v, order=order).same_as(root)
    scalars = (int, float, bool, str, bytes)
    assert tvm_ffi.structural_mutate(root, (scalars, lambda v, mutator: v)).same_as(root)
    changed = tvm_ffi.structural_map(tvm_ffi.Array([1, "a"]), (int, lambda v: True))
    assert list(changed) == [True, "a"] and changed[0] is True


def test_regions_are_named():
    seen = []

    def note(value, kind):
        seen.append(kind)
        return value

    tvm_ffi.structural_map([1], with_def_region_kind=(int, note))
    tvm_ffi.structural_walk([1], with_def_region_kind=(int, lambda v, kind: seen.append(kind)))
    assert seen == [DefRegionKind.NONE] * 2
    assert all(isinstance(kind, DefRegionKind) for kind in seen)


def test_what_a_traversal_does_not_take():
    for order in (None, "x", 2, 0.5):
        with pytest.raises(ValueError, match="Unknown structural walk order"):
            tvm_ffi.structural_walk([1], order=order)
        with pytest.raises(ValueError, match="Unknown structural map order"):
            tvm_ffi.structural_map([1], order=order)
    for function in (lambda v: v, lambda a, b, c, d: a, lambda v, m, *, k: v):
        with pytest.raises(TypeError, match="callback must accept .value, mutator. or"):
            tvm_ffi.structural_mutate([1], (int, function))
    modes = []
    tvm_ffi.structural_mutate([1], (int, lambda v, m, mode=None: modes.append(mode)))
    tvm_ffi.structural_mutate([1], (int, lambda *args: modes.append(args[2])))
    assert modes == [0, 0]
