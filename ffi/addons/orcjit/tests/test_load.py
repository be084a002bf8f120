# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Loading objects, looking functions up, and how long they live."""

import gc
import threading
import weakref
from pathlib import Path

import pytest

import tvm_ffi


def test_load_and_call(session, compile_object, compiler):
    path = compile_object("functions.c", compiler=compiler)
    for form in (path, Path(path), Path(path).read_bytes(), bytearray(Path(path).read_bytes())):
        module = session.load_module(form)
        assert (
            isinstance(module, tvm_ffi.Module) and module.kind == "orcjit" and module.is_runnable()
        )
        assert module.add(1, 2) == 3 and module["add"](3, 4) == 7
        assert module.implements_function("add") and not module.implements_function("none")
        assert module.get_function_doc("add") == "adds two integers"
        with pytest.raises(AttributeError, match="no function 'none'"):
            module.get_function("none")
        with pytest.raises(ValueError, match="failed as asked"):
            module.fail()


def test_code_without_fpic(session, compile_object, compiler):
    flags = ("-fno-pic", "-mcmodel=large")
    assert (
        session.load_module(compile_object("functions.c", *flags, compiler=compiler)).add(1, 2) == 3
    )


def test_objects_of_one_module_see_each_other(session, compile_object, compiler):
    caller = compile_object("caller.c", compiler=compiler)
    base = compile_object("base.c", compiler=compiler)
    for objects in ([caller, base], [base, Path(caller).read_bytes()]):
        assert session.load_module(objects).call_base(21) == 1042


def test_hidden_data_of_another_object_is_within_reach(session, compile_object):
    flags = ("-fvisibility=hidden", "-fno-pic", "-O2")
    objects = [compile_object(name, *flags) for name in ("caller.c", "base.c")]
    assert session.load_module(objects).call_base(1) == 1002


def test_modules_are_separate(session, compile_object):
    path = compile_object("functions.c")
    one, two = session.load_module(path, name="same"), session.load_module(path, name="same")
    assert [one.count(), one.count(), two.count()] == [1, 2, 1]
    other = session.load_module(compile_object("functions.c", "-DOFFSET=100"))
    assert (one.add(1, 1), other.add(1, 1), other.count()) == (2, 102, 101)


def test_sessions_are_separate(orcjit, compile_object):
    path = compile_object("functions.c")
    one, two = orcjit.ExecutionSession(), orcjit.ExecutionSession()
    a, b = one.load_module(path), two.load_module(path)
    assert [a.count(), a.count(), b.count()] == [1, 2, 1]
    assert orcjit.default_session() is orcjit.default_session()
    assert not orcjit.default_session().same_as(one)


def test_a_function_keeps_library_and_session(orcjit, compile_object):
    count = orcjit.ExecutionSession().load_module(compile_object("functions.c")).count
    gc.collect()
    assert [count() for _ in range(3)] == [1, 2, 3]


def test_memory_comes_back(orcjit, compile_object):
    path = compile_object("functions.c")
    session = orcjit.ExecutionSession(slab_size=4 << 20)
    kept = session.load_module(path)
    big = [session.load_module(path) for _ in range(700)]  # more than two slabs
    assert session.clear_free_slabs() == 0
    del big
    gc.collect()
    assert session.clear_free_slabs() >= 1
    assert kept.add(1, 2) == 3 and session.load_module(path).add(1, 2) == 3
    del kept
    gc.collect()
    assert session.clear_free_slabs() == 1
    assert session.load_module(path).add(1, 2) == 3


def test_without_a_pool(orcjit, compile_object):
    session = orcjit.ExecutionSession(slab_size=-1)
    modules = [session.load_module(compile_object("functions.c")) for _ in range(5)]
    assert [m.count() for m in modules] == [1] * 5
    del modules
    gc.collect()
    assert session.clear_free_slabs() == 0


def test_arguments_are_checked(orcjit, session):
    with pytest.raises(ValueError, match="at least 4194304 bytes, got 1"):
        orcjit.ExecutionSession(slab_size=1)
    with pytest.raises(TypeError, match="must be a path .* got int"):
        session.load_module([3])
    with pytest.raises(RuntimeError, match="no/such/file.o.*No such file"):
        session.load_module("no/such/file.o")
    assert session.load_module([]).implements_function("add") is False


def test_keep_module_alive(session, compile_object):
    module = session.load_module(compile_object("functions.c"), keep_module_alive=True)
    tvm_ffi.get_global_func("ffi.ModuleGlobalsRemove")(module)


def test_the_python_module_goes_too(session, compile_object):
    module = session.load_module(compile_object("functions.c"))
    add = module.add
    gone = []
    weakref.finalize(module.__dict__.setdefault("mark", threading.Event()), gone.append, 1)
    del module
    gc.collect()
    assert gone == [1] and add(1, 2) == 3


def test_many_threads(orcjit, compile_object):
    path, base, caller = (compile_object(n) for n in ("functions.c", "base.c", "caller.c"))
    session = orcjit.ExecutionSession(slab_size=4 << 20)
    shared = session.load_module(path)
    failures = []

    def work(seed):
        try:
            for i in range(30):
                module = session.load_module(path)
                assert module.count() == 1 and module.add(seed, i) == seed + i
                assert session.load_module([caller, base]).call_base(i) == 2 * i + 1000
                assert shared.add(seed, i) == seed + i
                with pytest.raises(RuntimeError, match="orcjit_test_base"):
                    session.load_module(caller)
                if i % 10 == 0:
                    session.clear_free_slabs()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


class TestDynamicLibrary:
    """Libraries that grow."""

    def test_add_and_get_function(self, session, compile_object):
        library = session.create_library("growing")
        library.add(compile_object("functions.c"))
        add = library.get_function("add")
        library.add(Path(compile_object("base.c")).read_bytes())
        library.add(compile_object("caller.c"))
        assert library.get_function("call_base")(2) == 1004
        assert add(1, 2) == 3 and library.get_function("count")() == 1
        assert library.module().kind == "orcjit"
        with pytest.raises(AttributeError, match="no function 'none'"):
            library.get_function("none")

    def test_order_of_adding_does_not_matter(self, session, compile_object):
        library = session.create_library()
        library.add(compile_object("caller.c"))
        library.add(compile_object("base.c"))
        assert library.get_function("call_base")(1) == 1002

    def test_a_failed_batch_is_dropped(self, session, compile_object):
        library = session.create_library("partial")
        library.add(compile_object("functions.c"))
        assert library.get_function("count")() == 1
        library.add(compile_object("caller.c"))
        with pytest.raises(
            RuntimeError, match="undefined symbols: orcjit_test_base, orcjit_test_value"
        ):
            library.get_function("call_base")
        assert library.get_function("count")() == 2
        library.add(compile_object("caller.c"))
        library.add(compile_object("base.c"))
        assert library.get_function("call_base")(1) == 1002

    def test_link_order(self, orcjit, session, compile_object):
        base, other, user = (session.create_library(n) for n in ("base", "other", "user"))
        base.add(compile_object("base.c"))
        other.add(compile_object("base.c", "-Dorcjit_test_value=unused"))
        user.add(compile_object("caller.c"))
        user.set_link_order(other, base)
        call = user.get_function("call_base")
        del base, other, user
        gc.collect()
        assert call(3) == 1006  # the used libraries live as long
        one, two = session.create_library("one"), session.create_library("two")
        one.set_link_order(two)
        with pytest.raises(ValueError, match="keep each other alive"):
            two.set_link_order(one)
        with pytest.raises(ValueError, match="another session"):
            one.set_link_order(orcjit.ExecutionSession().create_library())
