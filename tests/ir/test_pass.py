# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Passes, contexts and instruments written in Python."""

import gc
import weakref

import pytest

import tvm
from tvm import ir, tirx
from tvm.ir import IRModule, Var
from tvm.ir.transform import PassContext, Sequential, module_pass


def _mod():
    n = Var("n", "int32")
    return IRModule({"main": tirx.PrimFunc([n], tirx.Evaluate(n))})


def test_module_pass_of_function():
    @module_pass(opt_level=2, name="mark")
    def mark(mod, ctx):
        assert isinstance(ctx, PassContext)
        return mod.with_attr("mark", ctx.opt_level)

    assert mark.info.name == "mark" and mark.info.opt_level == 2
    assert mark(_mod()).get_attr("mark") == 2
    with pytest.raises(ValueError, match="opt_level"):
        module_pass(lambda mod, ctx: mod)


def test_module_pass_of_class():
    @module_pass(opt_level=1)
    class Count:
        def __init__(self, start):
            self.count = start

        def transform_module(self, mod, ctx):
            self.count += 1
            return mod

    count = Count(5)
    mod = _mod()
    assert count(mod).same_as(mod)
    assert count.count == 6 and count.info.name == "Count"


def test_pass_object_is_freed():
    class Marker:
        pass

    marker = Marker()

    @module_pass(opt_level=1)
    class Hold:
        def __init__(self, value):
            self.value = value

        def transform_module(self, mod, ctx):
            return mod

    hold = Hold(marker)
    hold(_mod())
    reference = weakref.ref(marker)
    del hold, marker
    gc.collect()
    assert reference() is None


def test_prim_func_pass():
    @tirx.transform.prim_func_pass(opt_level=0)
    def rename(func, mod, ctx):
        return func.with_attr("seen", True)

    assert rename(_mod())["main"].attrs["seen"]
    assert isinstance(rename, tirx.transform.PrimFuncPass)


def test_sequential_and_levels():
    order = []

    def make(name, level):
        @module_pass(opt_level=level, name=name)
        def run(mod, ctx):
            order.append(name)
            return mod

        return run

    sequence = Sequential([make("a", 0), make("b", 3)])
    sequence(_mod())
    assert order == ["a"]
    order.clear()
    with PassContext(opt_level=3, disabled_pass=["a"]):
        sequence(_mod())
    assert order == ["b"]
    order.clear()
    with PassContext(opt_level=0, required_pass=["b"]):
        sequence(_mod())
    assert order == ["a", "b"]


def test_context():
    with PassContext(opt_level=3, config={"tirx.disable_vectorize": True}) as ctx:
        assert PassContext.current().same_as(ctx)
        assert ctx.config["tirx.disable_vectorize"]
    assert not PassContext.current().same_as(ctx)
    assert "tirx.disable_vectorize" in PassContext.list_configs()
    with pytest.raises(AttributeError, match="Invalid config option 'no.such'"):
        PassContext(config={"no.such": 1})
    with pytest.raises(AttributeError, match="Expect config tirx.disable_vectorize"):
        PassContext(config={"tirx.disable_vectorize": "text"})
    with pytest.raises(TypeError):
        PassContext(required_pass="a")


class _MyError(Exception):
    pass


def test_exception_of_a_pass_comes_back_itself():
    error = _MyError("inside", 3)

    @module_pass(opt_level=0)
    def fail(mod, ctx):
        raise error

    with pytest.raises(_MyError) as info:
        Sequential([fail])(_mod())
    assert info.value is error
    assert PassContext.current() is not None


def test_instrument_hooks():
    seen = []

    @ir.instrument.pass_instrument
    class Watch:
        def enter_pass_ctx(self):
            seen.append("enter")

        def exit_pass_ctx(self):
            seen.append("exit")

        def should_run(self, mod, info):
            return info.name != "skipped"

        def run_before_pass(self, mod, info):
            seen.append(f"before {info.name}")

        def run_after_pass(self, mod, info):
            seen.append(f"after {info.name}")

    @module_pass(opt_level=0, name="skipped")
    def skipped(mod, ctx):
        raise AssertionError

    @module_pass(opt_level=0, name="run")
    def run(mod, ctx):
        seen.append("run")
        return mod

    watch = Watch()
    with PassContext(instruments=[watch]):
        run(skipped(_mod()))
    assert seen == ["enter", "before run", "run", "after run", "exit"]


def test_instrument_enter_failure():
    seen = []

    @ir.instrument.pass_instrument
    class First:
        def enter_pass_ctx(self):
            seen.append("first in")

        def exit_pass_ctx(self):
            seen.append("first out")

    @ir.instrument.pass_instrument
    class Second:
        def enter_pass_ctx(self):
            raise _MyError("no")

    with pytest.raises(_MyError), PassContext(instruments=[First(), Second()]):
        raise AssertionError
    assert seen == ["first in", "first out"]


def test_builtin_instruments(tmp_path, capsys):
    timing = ir.instrument.PassTimingInstrument()
    dump = ir.instrument.DumpIR(tmp_path)
    printer = ir.instrument.PassPrintingInstrument(["mark"], ["mark"])

    @module_pass(opt_level=0, name="mark")
    def mark(mod, ctx):
        return mod

    with PassContext(instruments=[timing, dump, printer]):
        mark(_mod())
        profile = timing.render()
    assert "mark" in profile
    assert [path.name for path in tmp_path.iterdir()] == ["000_mark.py"]
    assert "Print IR before: mark" in capsys.readouterr().out


def test_generated_pass_wrappers():
    assert "StmtSimplify" in tirx.transform.list_passes()
    assert isinstance(tirx.transform.StmtSimplify(), ir.transform.Pass)
    assert tirx.transform.StmtSimplify().info.name == "tirx.StmtSimplify"
    with pytest.raises(AttributeError):
        tirx.transform.NoSuchPass  # noqa: B018
    assert tvm.transform.Sequential is Sequential
