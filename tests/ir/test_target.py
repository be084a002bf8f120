# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Targets."""

import pickle

import pytest

import tvm
from tvm import ir
from tvm.target import Target


def test_construction():
    target = Target({"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 4})
    assert target.kind.name == "llvm" and target.mcpu == "skylake-avx512"
    assert target.attrs["num-cores"] == 4 and target.num_cores == 4
    assert "cpu" in target.keys
    assert Target(target.export()) == target
    assert Target("llvm").kind.name == "llvm"
    assert Target('{"kind": "c"}').kind.name == "c"
    assert Target(target, host="c").host.kind.name == "c"
    assert target.with_host("llvm").host.kind.name == "llvm"
    assert pickle.loads(pickle.dumps(target)) == target
    assert ir.structural_equal(ir.load_json(ir.save_json(target)), target)


def test_errors():
    with pytest.raises(ValueError, match='Target kind "nope" is not defined'):
        Target("nope")
    with pytest.raises(ValueError, match='Field "kind" is not found'):
        Target({"mcpu": "x"})
    with pytest.raises(ValueError, match="Unknown config option 'nope'"):
        Target({"kind": "llvm", "nope": 1})
    with pytest.raises((TypeError, ValueError), match="Option 'mcpu': expected type"):
        Target({"kind": "llvm", "mcpu": 3})
    with pytest.raises(ValueError):
        Target(3)


def test_scope():
    assert Target.current() is None
    with Target("llvm") as outer:
        assert Target.current() == outer
        with Target("c") as inner:
            assert Target.current() == inner
        assert Target.current() == outer
    with pytest.raises(ValueError):
        Target.current(allow_none=False)
    assert Target.target_or_current("c").kind.name == "c"


def test_kinds():
    kinds = Target.list_kinds()
    assert {"llvm", "c", "cuda", "ext_dev"} <= set(kinds)
    assert "mcpu" in Target("llvm").kind.options
    assert Target("llvm").get_target_device_type() == 1
    assert Target.from_device(tvm.cpu()).kind.name == "llvm"
    assert tvm.target.create is not None
