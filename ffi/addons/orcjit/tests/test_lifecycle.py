# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Static constructors and destructors, exceptions, thread-local variables."""

import gc
import threading
import time

import pytest

import tvm_ffi

LOADED = [
    *("constructor 101", "+first", "+second"),
    *("constructor", "+plain"),
]


@pytest.fixture
def log():
    """What lifecycle.cc reports."""
    events = []
    tvm_ffi.register_global_func("orcjit_test.log", events.append, override=True)
    yield events
    tvm_ffi.get_global_func("ffi.FunctionRemoveGlobal")("orcjit_test.log")


def wait_for(condition):
    """Threads destroy their objects a little after they can be joined."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def check_loaded(events):
    # Compilers differ in where they put constructors without a number.
    assert events[:3] == LOADED[:3] and sorted(events[3:5]) == sorted(LOADED[3:])
    del events[:5]


def check_unloaded(events, touched):
    lazy = ["atexit", "-lazy"] if touched else []
    assert events == [*lazy, "-plain", "-second", "-first", "destructor", "destructor 101"]
    del events[:]


def test_constructors_and_destructors(session, compile_object, compiler, log):
    path = compile_object("lifecycle.cc", compiler=compiler)
    module = session.load_module(path)
    check_loaded(log)
    assert module.touch() == 0
    assert log == ["+lazy"]
    log.clear()
    touch = module.touch
    del module
    gc.collect()
    assert log == [] and touch() == 0
    del touch
    gc.collect()
    check_unloaded(log, touched=True)


def test_objects_initialize_in_order(session, compile_object, log):
    path = compile_object("lifecycle.cc", "-Dtouch=touch1", "-D__tvm_ffi_touch=__tvm_ffi_other")
    library = session.create_library()
    library.add(compile_object("lifecycle.cc"))
    library.get_function("touch")
    check_loaded(log)
    library.add(path)
    library.get_function("other")
    check_loaded(log)
    del library
    gc.collect()
    # Objects of C++ go in the opposite order of construction, then the tables of destructors.
    assert log == [*["-plain", "-second", "-first"] * 2, *["destructor", "destructor 101"] * 2]


def test_a_failing_link_runs_nothing(session, compile_object, log):
    with pytest.raises(RuntimeError, match="orcjit_test_base"):
        session.load_module([compile_object("lifecycle.cc"), compile_object("caller.c")])
    gc.collect()
    assert log == []


def test_an_exception_of_a_constructor_arrives(session, compile_object):
    with pytest.raises(ValueError, match="constructor failed"):
        session.load_module(compile_object("bad_constructor.cc"))
    gc.collect()


def test_destructors_run_at_the_end_of_the_process(run_python, compile_object):
    code = """if True:
        import sys, tvm_ffi, tvm_ffi_orcjit
        session = tvm_ffi_orcjit.default_session()
        kept = session.load_module(sys.argv[1], keep_module_alive=True)
        print(kept.add(1, 2), flush=True)
    """
    done = run_python(code, compile_object("at_exit.cc"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "3\nobject destroyed\ndestructor\n"


class TestExceptions:
    """C++ exceptions cross JIT code, in both directions."""

    @pytest.fixture
    def path(self, compile_object):
        return compile_object("exceptions.cc")

    def test_inside(self, session, path):
        module = session.load_module(path)
        assert module.catch_own(0) == 107 and module.catch_own(50) == 5107

    def test_out(self, session, path):
        module = session.load_module(path)
        with pytest.raises(IndexError, match="^text of the error$"):
            module.throw_error("text of the error")
        with pytest.raises(RuntimeError, match="too far"):
            module.throw_standard()

    def test_through(self, session, path):
        module = session.load_module(path)

        class OwnError(Exception):
            pass

        original = OwnError("mine")

        def fail(_):
            raise original

        with pytest.raises(OwnError) as caught:
            module.call_back(fail, 1)
        assert caught.value is original
        assert module.call_back(lambda x: x + 1, 4) == 5
        other = session.load_module(path)
        assert module.catch_from(lambda: other.throw_error("x")) == "IndexError: x"

    def test_objects_share_inline_functions(self, session, compile_object, path, compiler):
        """What one object has, the other drops, and with it a part of its unwind table."""
        second = compile_object("exceptions.cc", "-DSECOND", compiler=compiler)
        for objects in ([path, second], [second, path]):
            module = session.load_module(objects)
            assert (module.catch_own(3), module.catch_own_again(4)) == (407, 507)
            for function in (module.throw_error, module.throw_error_again):
                with pytest.raises(IndexError, match="^both$"):
                    function("both")

    def test_an_error_outlives_the_code(self, session, path):
        module = session.load_module(path)
        with pytest.raises(IndexError) as caught:
            module.throw_error("kept")
        error = caught.value.__tvm_ffi_error__
        del module, caught
        gc.collect()
        assert session.clear_free_slabs() == 1
        assert (error.kind, error.message) == ("IndexError", "kept")
        del error
        gc.collect()

    def test_a_returned_object_keeps_the_code(self, session, path):
        array = session.load_module(path).make_array(20)
        gc.collect()
        assert session.clear_free_slabs() == 0
        assert list(array)[-1] == "element 19"
        del array
        gc.collect()

    def test_many_unload_and_throw(self, session, path):
        for i in range(20):
            module = session.load_module(path)
            with pytest.raises(IndexError, match=str(i)):
                module.throw_error(str(i))
            assert module.catch_own(i) == (i + 1) * 100 + 7


class TestThreads:
    """Thread-local variables."""

    @pytest.mark.parametrize("flags", [(), ("-DVISIBLE",), ("-O2", "-fdata-sections")])
    def test_each_thread_has_its_own(self, session, compile_object, compiler, flags):
        module = session.load_module(compile_object("threads.cc", *flags, compiler=compiler))
        assert [module.step() for _ in range(3)] == [410101, 420202, 430303]
        assert module.step_in_thread() == 420202
        got = []
        threads = [
            threading.Thread(target=lambda: got.append([module.step(), module.step()]))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == [[410101, 420202]] * 8 and module.step() == 440404
        wait_for(lambda: module.alive() == 1)  # that of this thread

    def test_unloading_while_threads_hold_objects(self, session, compile_object):
        path = compile_object("threads.cc")
        module = session.load_module(path)
        ready, leave = threading.Event(), threading.Event()

        def work(step):
            step()
            del step
            ready.set()
            leave.wait()

        steps = [module.step]
        thread = threading.Thread(target=lambda: work(steps.pop()))
        thread.start()
        ready.wait()
        assert module.step() == 410101 and module.alive() == 2
        del module
        gc.collect()
        assert session.clear_free_slabs() == 1  # it is gone
        second = session.load_module(path)
        assert second.step() == 410101 and second.alive() == 1
        leave.set()
        thread.join()
        wait_for(lambda: second.alive() == 1)
