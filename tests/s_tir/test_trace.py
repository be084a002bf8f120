# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Traces: text, JSON, replay, simplification, sampling."""

import json

import programs
import pytest

import tvm
from tvm import s_tir
from tvm.ir import structural_equal
from tvm.s_tir import Schedule, Trace
from tvm.s_tir.schedule import Instruction, InstructionKind


def fresh(seed=1, **options):
    module = tvm.IRModule({"main": programs.matmul(16, 16, 16, programs.add_one)})
    return Schedule(module, seed=seed, **options)


def sampled(seed=1):
    sch = fresh(seed)
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    tiles = [sch.sample_perfect_tile(loop, 2, max_innermost_factor=8) for loop in (i, j)]
    (i0, i1), (j0, j1) = (sch.split(loop, tile) for loop, tile in zip((i, j), tiles))
    sch.reorder(i0, j0, i1, j1)
    sch.annotate(i0, "unroll", sch.sample_categorical([1, 2, 4], [0.2, 0.3, 0.5]))
    sch.get_consumers(block)
    sch.reverse_compute_at("D", j0)
    sch.cache_read(block, 0, "global")
    sch.transform_layout(block, ("write", 0), lambda i, j: [j, i])
    sch.enter_postproc()
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    return sch


def to_plain(value):
    """FFI containers as lists and dicts."""
    if isinstance(value, (int, float, str)) or value is None:
        return value
    if hasattr(value, "items"):
        return {str(key): to_plain(part) for key, part in value.items()}
    return [to_plain(part) for part in value]


def test_python_text():
    sch = fresh()
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    factors = sch.sample_perfect_tile(j, 2, decision=[4, 4])
    sch.split(j, factors)
    sch.fuse(*sch.get_loops(block)[:2])
    (consumer,) = sch.get_consumers(block)
    sch.annotate(consumer, "a", 'x"y')
    assert str(sch.trace).split("\n") == [
        "# from tvm import s_tir",
        "def apply_trace(sch: s_tir.Schedule) -> None:",
        '  b0 = sch.get_sblock(name="C", func_name="main")',
        "  l1, l2, l3 = sch.get_loops(block=b0)",
        "  v4, v5 = sch.sample_perfect_tile(loop=l2, n=2, max_innermost_factor=16, "
        "decision=[4, 4])",
        "  l6, l7 = sch.split(loop=l2, factors=[v4, v5], preserve_unit_iters=True, "
        "disable_predication=False)",
        "  l8, l9, l10, l11 = sch.get_loops(block=b0)",
        "  l12 = sch.fuse(l8, l9, preserve_unit_iters=True)",
        "  b13, = sch.get_consumers(block=b0)",
        '  sch.annotate(block_or_loop=b13, ann_key="a", ann_val="x\\"y")',
    ]


def test_text_runs_as_python():
    sch = sampled()
    code = str(sch.trace)
    scope = {"s_tir": s_tir}
    exec(code, scope)
    again = fresh(2)
    scope["apply_trace"](again)
    assert structural_equal(sch.mod, again.mod)


def test_json_round_trip_through_text():
    sch = sampled()
    text = json.dumps(to_plain(sch.trace.as_json()))
    again = fresh(2)
    Trace.apply_json_to_schedule(json.loads(text), again)
    assert structural_equal(sch.mod, again.mod)
    assert json.dumps(to_plain(again.trace.as_json())) == text


def test_json_layout():
    sch = fresh()
    loop = sch.get_loops("C")[0]
    sch.split(loop, [None, 4])
    sch.sample_categorical([5, 6], [0.5, 0.5], decision=1)
    insts, decisions = to_plain(sch.trace.as_json())
    assert insts[0] == ["GetSBlock", [], ["C", "main"], ["b0"]]
    assert insts[1] == ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]]
    assert insts[2][:2] == ["Split", ["l1", "None", 4]]
    assert decisions == [[3, 1]]


@pytest.mark.parametrize(
    "bad",
    [
        5,
        [],
        [[["GetSBlock", []]], []],
        [[["NoSuchThing", [], [], []]], []],
        [[["GetLoops", ["b9"], [], []]], []],
        [[["GetLoops", [], [], []]], []],
        [[], [[4, 1]]],
        [[["GetSBlock", [], ["C", "main"], []]], []],
    ],
)
def test_bad_json_is_a_value_error(bad):
    with pytest.raises(ValueError):
        Trace.apply_json_to_schedule(bad, fresh())


def test_simplified_drops_what_is_not_used():
    sch = sampled()
    kinds = [str(inst.kind.name) for inst in sch.trace.simplified(False).insts]
    assert "GetConsumers" not in kinds and "SamplePerfectTile" in kinds
    before_postproc = sch.trace.simplified(True)
    assert "DecomposeReduction" not in [str(inst.kind.name) for inst in before_postproc.insts]
    again = fresh(2)
    sch.trace.simplified(False).apply_to_schedule(again, remove_postproc=False)
    assert structural_equal(sch.mod, again.mod)


def test_decisions_can_be_changed():
    sch = sampled()
    inst = next(i for i in sch.trace.insts if i.kind.name == "SampleCategorical")
    changed = sch.trace.with_decision(inst, 0, remove_postproc=True)
    assert changed.get_decision(inst) == 0
    again = fresh(2)
    changed.apply_to_schedule(again, remove_postproc=True)
    assert int(again.get(again.get_loops("C")[0]).annotations["unroll"]) == 1

    seen = []

    def provider(inst, inputs, attrs, decision):
        seen.append(str(inst.kind.name))
        return 2 if inst.kind.name == "SampleCategorical" else decision

    again = fresh(3)
    sch.trace.apply_to_schedule(again, remove_postproc=False, decision_provider=provider)
    assert int(again.get(again.get_loops("C_update")[0]).annotations["unroll"]) == 4
    assert "Split" in seen


def test_append_and_pop():
    trace = Trace([], {})
    kind = InstructionKind.get("EnterPostproc")
    assert not kind.is_pure and InstructionKind.get("GetLoops").is_pure
    trace.append(Instruction(kind, [], [], []))
    assert len(trace.insts) == 1
    assert trace.pop().kind.name == "EnterPostproc"
    assert trace.pop() is None
    with pytest.raises(ValueError, match="known"):
        InstructionKind.get("Nothing")


def test_same_seed_same_samples():
    one, two, other = sampled(5), sampled(5), sampled(6)
    assert str(one.trace) == str(two.trace)
    assert any(str(sampled(seed).trace) != str(one.trace) for seed in range(7, 12)) or other


def test_perfect_tiles_multiply_to_the_extent():
    for seed in range(1, 20):
        sch = fresh(seed)
        loop = sch.get_loops("C")[0]
        factors = [sch.get(v) for v in sch.sample_perfect_tile(loop, 3, 4)]
        assert factors[0] * factors[1] * factors[2] == 16 and factors[2] <= 4
        inner = [sch.get(v) for v in sch.sample_partitioned_tile(loop, 3, 1, 4)]
        assert inner[0] * inner[1] * inner[2] == 16 and inner[1] * inner[2] % 4 == 0


def test_compute_locations_are_possible():
    seen = set()
    for seed in range(1, 25):
        sch = fresh(seed)
        location = sch.sample_compute_location("C")
        (inst,) = [i for i in sch.trace.insts if i.kind.name == "SampleComputeLocation"]
        seen.add(int(sch.trace.get_decision(inst)))
        sch.compute_at("C", location)
        programs.check_matmul(sch.mod, 16, 16, 16, plus=1.0) if seed < 3 else None
    assert len(seen) > 1 and seen <= {-2, 0, 1}


def test_copy_is_independent():
    sch = fresh()
    block = sch.get_sblock("C")
    i, _, _ = sch.get_loops(block)
    copy = sch.copy()
    copy.split(i, [None, 4])
    assert len(sch.get_loops(block)) == 3 and len(copy.get_loops(block)) == 4
    assert len(copy.trace.insts) > len(sch.trace.insts)
    sch.parallel(i)
    with pytest.raises(ValueError):
        copy.get(i)
