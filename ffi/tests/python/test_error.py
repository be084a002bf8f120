# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Errors across the boundary keep class, identity, message and frames."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import traceback
import weakref

import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core

apply = tvm_ffi.get_global_func("testing.apply")
raise_error = tvm_ffi.get_global_func("testing.test_raise_error")


class CustomError(Exception):
    def __init__(self, message, code):
        super().__init__(message, code)
        self.code = code


@pytest.mark.parametrize(
    "kind",
    [RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError,
     MemoryError],
)  # fmt: skip
def test_kinds_map_to_classes(kind):
    with pytest.raises(kind) as info:
        raise_error(kind.__name__, "the message")
    assert type(info.value) is kind
    assert info.value.args == ("the message",)
    assert info.value.__tvm_ffi_error__.kind == kind.__name__


def test_unknown_kind_is_a_runtime_error():
    with pytest.raises(RuntimeError, match="something") as info:
        raise_error("NoSuchKind", "something")
    assert info.value.__tvm_ffi_error__.kind == "NoSuchKind"


@pytest.mark.parametrize(
    "error",
    [CustomError("a", 3), KeyboardInterrupt(), SystemExit(2), ZeroDivisionError("z"),
     OSError(2, "no file"), StopIteration(4), KeyError("k"),
     UnicodeDecodeError("utf8", b"a", 0, 1, "r")],
)  # fmt: skip
def test_python_exception_comes_back_itself(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as info:
        apply(lambda: apply(fail))
    assert info.value is error


def test_registered_error():
    @tvm_ffi.register_error
    class QuotaError(RuntimeError):
        pass

    with pytest.raises(QuotaError, match="full"):
        raise_error("QuotaError", "full")

    def fail():
        raise QuotaError("again")

    with pytest.raises(QuotaError) as info:
        apply(fail)
    assert info.value.__tvm_ffi_error__.kind == "QuotaError"

    @tvm_ffi.register_error("test.OtherName")
    class Other(ValueError):
        def __init__(self):
            super().__init__()

    with pytest.raises(Other) as info:
        raise_error("test.OtherName", "text")
    assert info.value.args == ("text",)


def test_subclass_leaves_as_nearest_registered_kind():
    class Narrow(ValueError):
        pass

    def fail():
        raise Narrow("n")

    with pytest.raises(Narrow) as info:
        apply(fail)
    assert info.value.__tvm_ffi_error__.kind == "ValueError"


def test_traceback_joins_both_sides():
    def inner():
        raise_error("ValueError", "deep")

    def outer():
        apply(inner)

    with pytest.raises(ValueError) as info:
        outer()
    names = [frame.name for frame in traceback.extract_tb(info.value.__traceback__)]
    assert names.index("outer") < names.index("inner")
    assert any("TestRaiseError" in name for name in names[names.index("inner") :])
    assert names.count("inner") == 1
    backtrace = info.value.__tvm_ffi_error__.backtrace
    assert "inner" in backtrace or "TestRaiseError" in backtrace


def test_the_same_error_again_and_again():
    """The second of its kind and place takes a shorter way, which must not show."""
    seen = []
    for i in range(6):
        for kind in (ValueError, IndexError):
            with pytest.raises(kind, match=f"^number {i}$") as info:
                raise_error(kind.__name__, f"number {i}")
            seen.append(info.value)
    assert len({id(error) for error in seen}) == 12
    summaries = [
        [(f.name, f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)[1:]]
        for error in seen
    ]
    assert summaries == [summaries[0]] * 12
    assert [name for name, _, _ in summaries[0]] == ["tvm::ffi::testing::TestRaiseError"]
    assert [error.__tvm_ffi_error__.message for error in seen[::2]] == [
        f"number {i}" for i in range(6)
    ]
    assert seen[0].__tvm_ffi_error__ is not seen[2].__tvm_ffi_error__


def test_many_registered_kinds():
    classes = [type(f"Kind{i}", (Exception,), {}) for i in range(40)]
    for cls in classes:
        tvm_ffi.register_error(f"{__name__}.{cls.__name__}", cls)
    for _ in range(2):
        for cls in classes:
            with pytest.raises(cls, match="^x$"):
                raise_error(f"{__name__}.{cls.__name__}", "x")
    other = type("Other", (Exception,), {})
    tvm_ffi.register_error(f"{__name__}.Kind39", other)
    with pytest.raises(other):
        raise_error(f"{__name__}.Kind39", "x")


def test_classes_that_resist():
    class Closed(Exception):
        def __setattr__(self, name, value):
            raise AttributeError(name)

    class Picky(Exception):
        def __init__(self, first, second):
            super().__init__(first)

    tvm_ffi.register_error("test.Closed", Closed)
    tvm_ffi.register_error("test.Picky", Picky)
    for _ in range(3):
        with pytest.raises(Closed, match="^x$"):
            raise_error("test.Closed", "x")
        with pytest.raises(Picky, match="^x$"):
            raise_error("test.Picky", "x")


def test_handled_exception_is_freed_without_gc():
    class Marked(Exception):
        pass

    def fail():
        raise Marked

    gc.collect()
    gc.disable()
    try:
        try:
            apply(fail)
        except Marked as error:
            reference = weakref.ref(error)
        assert reference() is None

        class Registered(ValueError):
            pass

        tvm_ffi.register_error("test.Freed", Registered)
        try:
            raise_error("test.Freed", "x")
        except Registered as error:
            reference = weakref.ref(error)
        assert reference() is None
    finally:
        gc.enable()


def test_caught_inside_callback():
    def guarded():
        try:
            raise_error("IndexError", "inside")
        except IndexError as error:
            return str(error)

    assert apply(guarded) == "inside"


def test_raise_from_error_keeps_cause():
    cause = ValueError("first")

    def fail():
        raise CustomError("second", 1) from cause

    with pytest.raises(CustomError) as info:
        apply(fail)
    assert info.value.__cause__ is cause


def test_exception_as_value():
    error = CustomError("kept", 5)
    value = tvm_ffi.convert([error])[0]
    assert isinstance(value, core.Error)
    assert value.message == "('kept', 5)"
    assert value.py_error() is error


def test_error_object():
    error = core.Error("ValueError", "m", '  File "f.cc", line 3, in g\n')
    assert (error.kind, error.message) == ("ValueError", "m")
    assert "f.cc" in error.backtrace
    assert error.extra_context is None
    error.update_backtrace("new")
    assert error.backtrace == "new"
    exception = error.py_error()
    assert type(exception) is ValueError and exception.args == ("m",)
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.kind, copy.message, copy.backtrace) == ("ValueError", "m", "new")


def test_variables_of_frames_that_raised_are_let_go():
    """Native frames serve many tracebacks; the first one's callers must not live as long."""

    class Local:
        pass

    def fail():
        local = Local()
        # A backtrace that no other test has: its frames are made here.
        error = core.Error("ValueError", "m", f'  File "let_go.cc", line {os.getpid()}, in g\n')
        with pytest.raises(ValueError) as info:
            raise error.py_error()
        assert "let_go.cc" in "".join(traceback.format_tb(info.value.__traceback__))
        return weakref.ref(local)

    reference = fail()
    gc.collect()
    assert reference() is None


def test_unprintable_exception():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def fail():
        raise Broken

    with pytest.raises(Broken):
        apply(fail)


def test_signals_are_checked():
    check = tvm_ffi.get_global_func("testing.run_check_signal")
    check(0)


def test_error_of_conversion_names_types():
    with pytest.raises(TypeError, match="Expected `int` but got `ffi.Array`"):
        tvm_ffi.get_global_func("testing.add_one")([1])


@pytest.mark.parametrize(
    "limit, frames", [("0", 0), ("1", 1), ("", 1), ("all", 1), ("-1", 1), ("99999999999", 1)]
)
def test_limit_of_backtraces(limit, frames):
    """Frames of C++; a value that is no whole number in range is ignored."""
    script = """
import tvm_ffi, tvm_ffi.testing
try:
    tvm_ffi.get_global_func("testing.test_raise_error")("ValueError", "x")
except ValueError as error:
    print(error.__tvm_ffi_error__.backtrace.count("File "))
"""
    environment = {**os.environ, "TVM_TRACEBACK_LIMIT": limit}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == frames


def test_an_error_knows_what_was_being_handled():
    for kind in ("ValueError", "KindWithoutClass"):
        for _ in range(2):  # the second one takes the quick way
            with pytest.raises((ValueError, RuntimeError)) as info:
                try:
                    raise OSError("first")
                except OSError as error:
                    first = error
                    raise_error(kind, "second")
            assert info.value.__context__ is first and info.value.__cause__ is None

    def fail():
        try:
            raise KeyError("inner")
        except KeyError:
            raise CustomError("outer", 1)  # noqa: B904 - the implicit context is under test

    with pytest.raises(CustomError) as info:
        try:
            raise OSError("first")
        except OSError as error:
            first = error
            apply(fail)
    assert isinstance(info.value.__context__, KeyError)
    assert info.value.__context__.__context__ is first
    with pytest.raises(ValueError) as info:
        raise_error("ValueError", "alone")
    assert info.value.__context__ is None


def test_error_values_are_copied():
    with pytest.raises(ValueError) as info:
        raise_error("ValueError", "text")
    error = info.value.__tvm_ffi_error__
    for made in (copy.copy(error), copy.deepcopy(error), copy.deepcopy([error])[0]):
        assert not made.same_as(error)
        assert (made.kind, made.message, made.backtrace) == ("ValueError", "text", error.backtrace)


def test_error_values_hold_text():
    for arguments in ((None, "m"), ("K", 5), ("K", "m", None), (b"K", "m")):
        with pytest.raises(TypeError, match="of an Error must be a str, got"):
            core.Error(*arguments)
    with pytest.raises(TypeError, match="backtrace of an Error must be a str, got int"):
        core.Error("K", "m").update_backtrace(5)


def test_apply_needs_a_function():
    with pytest.raises(TypeError, match="needs a function"):
        apply()
