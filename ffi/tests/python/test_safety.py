# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What input and threads must not be able to do: exhaust the stack, loop for ever, lose errors."""

import copy
import gc
import pickle
import subprocess
import sys
import textwrap
import threading
import types
import weakref

import pytest

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import Array, Dict, List, Map, core

DEPTH = 300_000
echo = tvm_ffi.get_global_func("testing.echo")
apply = tvm_ffi.get_global_func("testing.apply")


def nested(kind, depth=DEPTH):
    value = kind({} if kind in (Map, Dict) else [])
    for _ in range(depth):
        value = kind({"k": value} if kind in (Map, Dict) else [value])
    return value


def cyclic_list():
    value = List([1])
    value.append(value)
    return value


def cyclic_dict():
    value = Dict({"a": 1})
    value["self"] = value
    return value


def ends(operation, *expected):
    """The operation works or raises one of the expected errors; it does not crash or hang."""
    try:
        return operation()
    except expected:
        return None


# --- depth -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Array, List, Map, Dict])
def test_deep_containers(kind):
    one, other = nested(kind), nested(kind)
    assert one == other
    assert hash(one) == hash(other)
    assert tvm_ffi.structural_equal(one, other)
    assert tvm_ffi.structural_hash(one) == tvm_ffi.structural_hash(other)
    assert tvm_ffi.get_first_structural_mismatch(one, other) is None
    assert len(repr(one)) > DEPTH
    copied = copy.deepcopy(one)
    assert copied == one
    assert tvm_ffi.get_global_func("ffi.ContainerFindFirstNonCPUDevice")(one) is None
    with pytest.raises(RuntimeError, match="nested more than"):
        tvm_ffi.structural_walk(one, lambda node: None)
    with pytest.raises(RuntimeError, match="nested more than"):
        tvm_ffi.structural_map(one, lambda node: node)


@pytest.mark.parametrize("kind", [Array, List, Map, Dict])
def test_deep_serialization(kind):
    value = nested(kind, 20_000)
    text = tvm_ffi.serialization.to_json_graph_str(value)
    assert tvm_ffi.serialization.from_json_graph_str(text) == value
    assert pickle.loads(pickle.dumps(value)) == value
    if kind in (Array, List):
        assert tvm_ffi.get_global_func("ffi.json.Stringify")(value, None).startswith("[[[")


@pytest.mark.parametrize("text", ["[" * DEPTH, '{"a":' * DEPTH, "[" * DEPTH + "]" * DEPTH])
def test_deep_text(text):
    with pytest.raises(ValueError, match="Nesting deeper"):
        tvm_ffi.get_global_func("ffi.json.Parse")(text)
    with pytest.raises(ValueError):
        tvm_ffi.serialization.from_json_graph_str(text)


def test_a_million_levels():
    value, other = nested(Array, 1_000_000), nested(Array, 1_000_000)
    assert value == other and hash(value) == hash(other)
    assert tvm_ffi.structural_equal(value, other)
    assert tvm_ffi.structural_hash(value) == tvm_ffi.structural_hash(other)
    del other
    copied = copy.deepcopy(value)
    text = tvm_ffi.serialization.to_json_graph_str(value)
    assert tvm_ffi.serialization.from_json_graph_str(text) == copied
    assert len(repr(value)) > 2_000_000
    assert len(tvm_ffi.get_global_func("ffi.json.Stringify")(value, None)) > 2_000_000


def test_deep_python_objects():
    @tvm_ffi.dataclasses.py_class("testing.safety.Link")
    class Node(tvm_ffi.Object):
        rest: tvm_ffi.Object | None

    node = Node(None)
    for _ in range(DEPTH):
        node = Node(node)
    other = copy.deepcopy(node)
    api = tvm_ffi._ffi_api
    assert api.RecursiveEq(node, other) and api.RecursiveHash(node) == api.RecursiveHash(other)
    assert tvm_ffi.structural_equal(node, other)
    assert tvm_ffi.structural_hash(node) == tvm_ffi.structural_hash(other)
    assert len(repr(node)) > DEPTH
    text = tvm_ffi.serialization.to_json_graph_str(node)
    assert api.RecursiveEq(tvm_ffi.serialization.from_json_graph_str(text), node)
    longer = Node(other)
    path, other_path = tvm_ffi.get_first_structural_mismatch(node, longer)
    assert path == other_path and path.depth == DEPTH + 1 and path.is_prefix_of(other_path)
    assert len(path.to_steps()) == path.depth and hash(path) == hash(other_path)
    assert repr(path) == "<root>" + ".rest" * path.depth
    with pytest.raises(RuntimeError, match="nested more than"):
        tvm_ffi.structural_walk(node, lambda value: None)
    del node, other, longer


def test_deep_python_containers():
    value = []
    for _ in range(DEPTH):
        value = [value]
    with pytest.raises(RecursionError):
        echo(value)
    with pytest.raises(RecursionError):
        Array(value)
    while value:  # the interpreter frees long chains of lists itself, but slowly
        value = value.pop()


def test_weakly_held_links_are_freed_once():
    count = tvm_ffi.get_global_func("testing.object_use_count")
    leaf = tvm_ffi.testing.TestIntPair(1, 2)
    chain = Array([leaf])
    for _ in range(1000):
        chain = Array([chain, leaf])
    assert count(leaf) == 1002
    del chain
    assert count(leaf) == 1


# --- cycles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [cyclic_list, cyclic_dict])
def test_cycles(make):
    one, other = make(), make()
    assert "..." in repr(one)
    assert one == other
    assert hash(one) == hash(other)
    copied = copy.deepcopy(one)
    assert copied == one and not copied.same_as(one)
    assert ends(lambda: tvm_ffi.structural_equal(one, other), ValueError) in (True, None)
    with pytest.raises(ValueError, match="contains itself"):
        tvm_ffi.structural_hash(one)
    with pytest.raises(ValueError, match="contains itself"):
        tvm_ffi.serialization.to_json_graph_str(one)
    with pytest.raises(ValueError):
        pickle.dumps(one)
    with pytest.raises(RuntimeError, match="contains itself"):
        tvm_ffi.structural_walk(one, lambda node: None)
    assert tvm_ffi.get_global_func("ffi.ContainerFindFirstNonCPUDevice")(one) is None
    for value in (one, other, copied):
        value.clear()


# --- containers that change while they are read ----------------------------------------------


def test_list_that_shrinks_under_its_iterator():
    values = List(range(100))
    seen = []
    for value in values:
        seen.append(value)
        if len(values) > 1:
            values.pop()
    assert seen == list(range(len(seen)))
    assert len(seen) <= 51


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
def test_dict_that_changes_under_its_iterator(size):
    for change in (
        lambda d: d.clear(),
        lambda d: d.__setitem__("new", 1),
        lambda d: d.__delitem__(0),
    ):
        values = Dict({i: i for i in range(size)})
        with pytest.raises(RuntimeError, match="changed size"):
            for position, _ in enumerate(values):
                if position == 0:
                    change(values)


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
def test_dict_whose_entries_move_under_its_iterator(size):
    values = Dict({i: str(i) * 20 for i in range(size)})

    def walk():
        for position, (key, _) in enumerate(values.items()):
            del values[key]
            values[f"again {position}"] = "x" * 20
            if position > 3 * size:
                break

    ends(walk, RuntimeError)  # what it sees is open; it reads no freed entry
    assert len(values) == size


def test_iterator_outlives_its_container():
    for make in (lambda: iter(Array(["x" * 30, 1])), lambda: iter(List(["x" * 30, 1]))):
        assert list(make()) == ["x" * 30, 1]
    assert list(Map({"k" * 20: "v" * 20}).items()._mapping.items()) == [("k" * 20, "v" * 20)]
    iterator = iter(Dict({1: "v" * 20}).values())
    gc.collect()
    assert list(iterator) == ["v" * 20]


def test_sequence_that_changes_while_it_is_converted():
    class Sly:
        def __tvm_ffi_int__(self):
            items.clear()
            return 7

    items = [tvm_ffi.testing.TestIntPair(1, 2), "text " * 10, Sly(), "never reached"]
    assert len(Array(items)) == 3


def test_dict_that_changes_while_it_is_converted():
    class Sly:
        def __tvm_ffi_int__(self):
            items.clear()
            return 7

    items = {"a": "text " * 10, "b": Sly(), "c": 1}
    with pytest.raises(RuntimeError, match="changed size"):
        Map(items)


# --- indices that nobody registered ----------------------------------------------------------


@pytest.mark.parametrize("index", [900_000, 2**31 - 1, 2**40, -5, 127])
def test_unknown_type_indices(index):
    api = tvm_ffi._ffi_api
    callback = tvm_ffi.convert(lambda *args: None)
    for use in (
        lambda: core._type_index_to_type_info(index),
        lambda: core.TypeSchema.from_type_index(index),
        lambda: api.MakeObjectFromPackedArgs(index),
        lambda: api._PyClassRegisterTypeAttrColumns(index, 24),
        lambda: api.StructuralWalk([1], [(index, callback)], [], 1),
        lambda: api.StructuralMap([1], [], [(index, callback)], 1),
        lambda: api.StructuralVisit([1], [(index, callback)]),
        lambda: api.StructuralMutate([1], [(index, callback, False)]),
    ):
        with pytest.raises(RuntimeError, match=f"Unknown type index {index}"):
            use()


# --- objects and their makers ----------------------------------------------------------------


def test_objects_outlive_the_python_module_that_made_them():
    source = """
        import tvm_ffi

        @tvm_ffi.dataclasses.py_class("testing.safety.Orphan")
        class Orphan(tvm_ffi.Object):
            text: str

            def shout(self):
                return self.text.upper()

        @tvm_ffi.register_error("testing.safety.OrphanError")
        class OrphanError(ValueError):
            pass

        def fail():
            raise OrphanError("from a module that is gone")

        made = Orphan("a text of some length")
        callback = tvm_ffi.convert(lambda orphan: orphan.shout())
        failing = tvm_ffi.convert(fail)
    """
    module = types.ModuleType("orphans")
    sys.modules["orphans"] = module
    exec(textwrap.dedent(source), module.__dict__)
    held = Array([module.made, module.callback, module.failing])
    watch = weakref.ref(module)
    del sys.modules["orphans"], module
    gc.collect()
    assert watch() is None
    made, callback, failing = held
    assert callback(made) == "A TEXT OF SOME LENGTH"
    assert repr(made) == 'testing.safety.Orphan(text="a text of some length")'
    assert copy.deepcopy(made).text == made.text
    with pytest.raises(ValueError, match="gone"):
        failing()


# --- classes ---------------------------------------------------------------------------------


def test_replaced_constructors_are_respected():
    class Pair(tvm_ffi.testing.TestIntPair):
        def __init__(self, a):
            super().__init__(a, a)

    assert Pair(3).b == 3

    @tvm_ffi.dataclasses.py_class("testing.safety.Replaced")
    class Replaced(tvm_ffi.Object):
        x: int

    assert Replaced(4).x == 4
    assert Replaced(x=5).x == 5
    own = Replaced.__init__
    Replaced.__init__ = lambda self, x: own(self, x + 100)
    assert Replaced(4).x == 104
    Replaced.__init__ = own
    assert Replaced(4).x == 4
    Replaced.__new__ = lambda cls, *args: "something else"
    assert Replaced(4) == "something else"


def test_finalizers_of_wrappers():
    gone = []

    class Watched(tvm_ffi.testing.TestIntPair):
        def __del__(self):
            gone.append(self.a)

    Watched(1, 2)
    assert gone == [1]

    class Late(tvm_ffi.testing.TestIntPair):
        pass

    Late.__del__ = lambda self: gone.append(self.b)
    Late(3, 4)
    assert gone == [1, 4]


def test_wrappers_with_attributes():
    class Rich(tvm_ffi.testing.TestIntPair):
        __slots__ = ("__dict__", "__weakref__")

    value = Rich(1, 2)
    value.note = [value]
    watch = weakref.ref(value)
    del value
    gc.collect()
    assert watch() is None


def test_classes_are_freed():
    class Short(tvm_ffi.Object):
        pass

    watch = weakref.ref(Short)
    Short.__new__(Short)
    del Short
    gc.collect()
    assert watch() is None


# --- exceptions ------------------------------------------------------------------------------


def all_exception_types():
    import builtins

    found = [
        value
        for value in vars(builtins).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    return sorted(set(found), key=lambda cls: cls.__name__)


def make_exception(cls):
    candidates = (
        ("a message",),
        (),
        ("utf-8", b"x", 0, 1, "why"),
        ("utf-8", "x", 0, 1, "why"),
        ("x", 0, 1, "why"),
        ("a message", [ValueError()]),
    )
    for args in candidates:
        try:
            return cls(*args)
        except TypeError:
            continue
    raise AssertionError(cls)


@pytest.mark.parametrize("cls", all_exception_types(), ids=lambda cls: cls.__name__)
def test_every_exception_comes_back_as_itself(cls):
    error = make_exception(cls)

    def fail():
        raise error

    for call in (lambda: apply(fail), lambda: apply(lambda: apply(fail))):
        with pytest.raises(BaseException) as caught:
            call()
        assert caught.value is error


def test_exceptions_are_not_kept_alive():
    class Mine(Exception):
        pass

    def fail():
        raise Mine("x")

    watches = []
    for _ in range(3):
        try:
            apply(fail)
        except Mine as error:
            watches.append(weakref.ref(error))
    assert [watch() for watch in watches] == [None] * 3


def test_hostile_exceptions():
    class NoText(Exception):
        def __str__(self):
            raise ValueError("no")

    class NoAttributes(Exception):
        def __setattr__(self, name, value):
            raise AttributeError(name)

    class BadInit(ValueError):
        def __init__(self):
            super().__init__("fixed")

    for cls in (NoText, NoAttributes, BadInit):
        error = cls()

        def fail(error=error):
            raise error

        with pytest.raises(cls) as caught:
            apply(fail)
        assert caught.value is error


def test_interrupt_in_a_callback():
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(lambda: apply(fail))


# --- threads ---------------------------------------------------------------------------------


def run_threads(work, count=8):
    failures = []

    def body(index):
        try:
            work(index)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_tables_from_many_threads():
    def work(index):
        for i in range(100):
            name = f"testing.safety.{index}.{i}"
            tvm_ffi.register_global_func(name, lambda x: x, override=True)
            assert tvm_ffi.get_global_func(name)(i) == i
            tvm_ffi.remove_global_func(name)
            assert tvm_ffi.get_global_func(name, allow_missing=True) is None
            core._lookup_or_register_type_info_from_type_key("testing.TestIntPair").fields  # noqa: B018

    run_threads(work)


def test_classes_from_many_threads():
    def work(index):
        for i in range(10):

            @tvm_ffi.dataclasses.py_class(f"testing.safety.T{index}_{i}")
            class Made(tvm_ffi.Object):
                x: int
                y: str = "y" * 20

            assert [Made(k).x for k in range(20)] == list(range(20))

    run_threads(work)


def test_values_from_many_threads():
    shared = Map({str(i) * 10: Array(range(i)) for i in range(50)})

    def work(index):
        for _ in range(30):
            assert sum(len(value) for value in shared.values()) == 1225
            assert shared[str(index) * 10] == Array(range(index))
            assert apply(lambda x: x + 1, index) == index + 1
            with pytest.raises(ValueError, match="here"):
                apply(lambda: (_ for _ in ()).throw(ValueError("here")))

    run_threads(work)


def test_objects_released_on_another_thread():
    boxes = [[List([tvm_ffi.convert(lambda: 1)]) for _ in range(20)] for _ in range(8)]
    run_threads(lambda index: boxes[index].clear())
    assert boxes == [[]] * 8


# --- the end of the interpreter --------------------------------------------------------------


def test_objects_that_outlive_the_interpreter():
    script = """
        import tvm_ffi, tvm_ffi.testing
        tvm_ffi.register_global_func("testing.safety.late", lambda: [1, {"a": object()}])
        keep = tvm_ffi.List([tvm_ffi.convert(lambda: 1), object(), ValueError("x")])
        class Node(tvm_ffi.testing.TestIntPair):
            def __del__(self):
                keep.append(1)
        kept = Node(1, 2)
        import builtins
        builtins.leak = (kept, keep, iter(keep), iter(tvm_ffi.Dict({1: 2}).items()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
