# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""c_class and py_class."""

# ruff: noqa: UP007, UP045 - both spellings of a union must work

import copy
import ctypes
import gc
import inspect
import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Optional

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Object, core, method
from tvm_ffi.dataclasses import (
    KW_ONLY,
    Field,
    asdict,
    astuple,
    c_class,
    field,
    fields,
    init_property,
    is_dataclass,
    py_class,
    replace,
)
from tvm_ffi.testing import (
    TestIntPair,
    TestNonCopyable,
    TestObjectBase,
    TestObjectDerived,
    _TestCxxAutoInit,
    _TestCxxAutoInitChild,
    _TestCxxClassBase,
    _TestCxxClassDerived,
    _TestCxxClassDerivedDerived,
    _TestCxxKwOnly,
    _TestCxxNoAutoInit,
)

_COUNTER = itertools.count()


def key(name):
    """Type keys last as long as the process, so every test needs its own."""
    return f"test_dataclasses.{name}{next(_COUNTER)}"


@py_class("test_dataclasses.Graph")
class Graph(Object):
    items: list
    name: str = "n"


# --- c_class ---------------------------------------------------------------------------------


def test_c_class_constructor():
    assert repr(_TestCxxClassDerived(1, 2, 3.5)) == (
        "testing.TestCxxClassDerived(v_f64=3.5, v_f32=8)"
    )
    assert str(inspect.signature(_TestCxxAutoInit)) == "(a, d=<MISSING>, *, c)"
    assert str(inspect.signature(_TestCxxAutoInitChild)) == (
        "(parent_required, child_required, parent_default=<MISSING>, *, child_kw_only)"
    )
    assert _TestCxxClassBase(1, 2).v_i64 == 2  # its own __init__ adds one
    with pytest.raises(TypeError, match="takes at most 0 positional"):
        _TestCxxKwOnly(1)
    with pytest.raises(TypeError, match="missing required keyword-only argument: 'y'"):
        _TestCxxKwOnly(x=1, z=2)
    with pytest.raises(TypeError, match="cannot be constructed directly"):
        _TestCxxNoAutoInit(1)
    with pytest.raises(TypeError, match="cannot be constructed directly"):
        tvm_ffi.Module()


def test_c_class_comparisons():
    a, b = _TestCxxClassDerived(1, 2, 3.0), _TestCxxClassDerived(1, 2, 3.0)
    assert a == b and hash(a) == hash(b)
    assert a < _TestCxxClassDerived(1, 2, 4.0)
    assert _TestCxxClassBase(1, 2) != _TestCxxClassBase(1, 2)  # no eq: identity


def test_c_class_fields():
    names = [f.name for f in fields(_TestCxxClassDerivedDerived)]
    assert names == ["v_i64", "v_i32", "v_f64", "v_f32", "v_str", "v_bool"]
    by_name = {f.name: f for f in fields(_TestCxxClassDerivedDerived)}
    assert by_name["v_str"].default == "default"
    assert by_name["v_f64"].type is float
    assert _TestCxxClassDerived.__match_args__ == ("v_i64", "v_i32", "v_f64", "v_f32")
    assert TestObjectBase.v_i64.__doc__ == "i64 field"


def test_c_class_copies():
    source = _TestCxxClassDerivedDerived(1, 2, 3.0, True)
    assert asdict(copy.copy(source)) == asdict(source)
    assert replace(source, v_i64=9).v_i64 == 9
    assert source.v_i64 == 1
    with pytest.raises(AttributeError):
        replace(source, nope=1)
    with pytest.raises(TypeError, match="does not support copy"):
        copy.copy(TestNonCopyable(1))


def test_c_class_warns_about_missing_annotations():
    with pytest.warns(UserWarning, match="field.s.: b"):

        @c_class("testing.TestIntPair")
        class Partial(Object):
            a: int

    try:
        assert Partial(1, 2).b == 2
    finally:
        core._register_object_by_index(
            TestIntPair.__tvm_ffi_type_info__.type_index, TestIntPair, False
        )


def test_c_class_unknown_key():
    with pytest.raises(ValueError, match="Cannot find object type index for no.such"):
        c_class("no.such")(type("X", (Object,), {}))


# --- py_class: fields ------------------------------------------------------------------------


def make_point():
    @py_class(key("Point"))
    class Point(Object):
        x: int
        y: float = 1.5
        name: str = field(default="q", kw_only=True)
        tags: list[int] = field(default_factory=list)
        parent: int | None = None

    return Point


def test_construction():
    Point = make_point()
    assert str(inspect.signature(Point)) == (
        "(x, y=<MISSING>, tags=<MISSING>, parent=<MISSING>, *, name=<MISSING>)"
    )
    made = Point(1, 2, name="zz")
    assert (made.x, made.y, made.name, list(made.tags), made.parent) == (1, 2.0, "zz", [], None)
    assert Point(1).tags is not None
    first, second = Point(1), Point(1)
    first.tags.append(3)
    assert list(second.tags) == []


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing required argument: 'x'"),
        (("s",), {}, "field 'x':\n  expected int, got str"),
        ((1, 2, [], None, 5, 6), {}, "takes at most 4 positional argument"),
        ((1,), {"q": 2}, "got an unexpected keyword argument 'q'"),
        ((1,), {"x": 2}, "got multiple values for argument 'x'"),
        ((1,), {"tags": ["a"]}, r"field 'tags':\n  element \[0\]: expected int, got str"),
        ((2**70,), {}, "out of int64 range"),
    ],
)
def test_construction_errors(args, kwargs, message):
    Point = make_point()
    with pytest.raises(TypeError, match=message):
        Point(*args, **kwargs)


def test_assignment_converts():
    made = make_point()(1)
    made.y = 3
    assert made.y == 3.0 and isinstance(made.y, float)
    made.tags = (1, 2)
    assert type(made.tags) is tvm_ffi.List
    assert made.tags.same_as(made.tags)
    with pytest.raises(TypeError, match="expected int, got str"):
        made.x = "s"
    with pytest.raises(TypeError, match=r"element \[1\]: expected int, got str"):
        made.tags = [1, "a"]
    with pytest.raises(AttributeError):
        made.unknown = 1
    assert made.x == 1


def test_layout():
    @py_class(key("Layout"))
    class Layout(Object):
        i: int
        b: bool
        s: str
        d: tvm_ffi.dtype
        dev: tvm_ffi.Device
        p: ctypes.c_void_p
        a: Any
        o: int | None
        u: int | str
        items: list[int]
        fn: Callable[[int], int]

    info = Layout.__tvm_ffi_type_info__
    found = {f.name: (f.size, f.alignment, f.offset) for f in info.fields}
    assert found == {
        "i": (8, 8, 24),
        "b": (1, 1, 32),
        "s": (16, 8, 40),
        "d": (4, 2, 56),
        "dev": (8, 4, 60),
        "p": (8, 8, 72),
        "a": (16, 8, 80),
        "o": (16, 8, 96),
        "u": (16, 8, 112),
        "items": (8, 8, 128),
        "fn": (8, 8, 136),
    }
    assert info.total_size == 144
    made = Layout(1, True, "s", "int32", "cpu", None, [1], None, "u", [1], lambda x: x + 1)
    assert made.fn(3) == 4
    assert made.d == "int32" and made.dev == tvm_ffi.device("cpu")
    assert made.p.value is None and tuple(made.a) == (1,)


def test_inheritance():
    Point = make_point()

    @py_class(key("Child"))
    class Child(Point):
        z: int = 3

    made = Child(1, z=4)
    assert isinstance(made, Point)
    assert made.z == 4 and made.y == 1.5
    assert [f.name for f in fields(Child)][-1] == "z"

    @py_class(key("Cxx"))
    class DerivedCxx(TestObjectBase):
        extra: int = 3

    made = DerivedCxx(extra=5)
    assert made.add_i64(1) == 11
    assert DerivedCxx.__tvm_ffi_type_info__.fields[0].offset == 56


def test_unregistered_bases_give_fields():
    class Mixin:
        m: int

    class Base(Object):
        b: int = 3

    @py_class(key("Mixed"))
    class Mixed(Mixin, Base):
        c: int = 0

    assert {f.name for f in fields(Mixed)} == {"m", "b", "c"}


def test_kw_only_marker_and_flag():
    @py_class(key("Marker"))
    class Marker(Object):
        a: int
        _: KW_ONLY
        b: int

    assert str(inspect.signature(Marker)) == "(a, *, b)"

    @py_class(key("Flag"), kw_only=True)
    class Flag(Object):
        p: int
        q: int = 2

    with pytest.raises(TypeError, match="takes at most 0 positional"):
        Flag(1)
    assert Flag(p=1).q == 2


def test_frozen():
    @py_class(key("Frozen"), frozen=True, eq=True)
    class Frozen(Object):
        a: int

    made = Frozen(1)
    with pytest.raises(AttributeError, match="has no setter|can.t set attribute"):
        made.a = 2
    Frozen.a.set(made, 7)
    assert made.a == 7
    assert replace(made, a=9).a == 9


def test_post_init_and_init_false():
    @py_class(key("Post"))
    class Post(Object):
        x: int
        y: int = field(init=False, default=5)

        def __post_init__(self):
            self.y = self.x * 2

    assert str(inspect.signature(Post)) == "(x)"
    assert Post(3).y == 6

    @py_class(key("PostChild"))
    class PostChild(Post):
        z: int = 5

        def __post_init__(self):
            super().__post_init__()
            self.z = 9

    made = PostChild(1)
    assert (made.y, made.z) == (2, 9)


def test_own_init():
    @py_class(key("OwnInit"), init=False)
    class OwnInit(Object):
        a: int

        def __init__(self, v):
            self.__ffi_init__(v + 1)

    assert OwnInit(3).a == 4


def test_init_property_is_computed_once():
    calls = []

    @py_class(key("Lazy"))
    class Lazy(Object):
        x: int

        @init_property
        def double(self) -> int:
            calls.append(1)
            return self.x * 2

    made = Lazy(3)
    assert made.double == 6 and made.double == 6
    assert calls == [1]
    assert repr(made).endswith("(x=3)")
    assert Lazy.__tvm_ffi_type_info__.fields[1].c_structural_eq == "ignore"


def test_class_vars_are_no_fields():
    @py_class(key("ClassVars"))
    class Holder(Object):
        k: ClassVar[int] = 3
        t: "ClassVar[int]" = 4
        x: int = 1

    assert [f.name for f in fields(Holder)] == ["x"]
    assert Holder.k == 3


def test_defaults_are_checked_when_used():
    @py_class(key("BadDefault"))
    class BadDefault(Object):
        a: int = "x"

    with pytest.raises(TypeError, match="default for field 'a':\n  expected int, got str"):
        BadDefault()
    assert BadDefault(1).a == 1


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ({"__annotations__": {"a": complex}}, TypeError, "Cannot convert <class 'complex'>"),
        (
            {"__annotations__": {"a": int}, "a": field(bogus=1)},
            TypeError,
            "X.a: unrecognized field options: bogus",
        ),
    ],
)
def test_bad_bodies_leave_the_key_free(body, error, message):
    type_key = key("Bad")
    with pytest.raises(error, match=message):
        py_class(type_key)(type(Object)("X", (Object,), dict(body)))

    @py_class(type_key)
    class Again(Object):
        x: int

    assert Again(3).x == 3


def test_bad_options():
    with pytest.raises(ValueError, match="structural_eq must be one of"):
        py_class(structural_eq="bad")
    with pytest.raises(ValueError, match="structural_eq must be one of"):
        field(structural_eq="bad")
    with pytest.raises(ValueError, match="cannot specify both default and default_factory"):
        field(default=1, default_factory=list)
    with pytest.raises(TypeError, match="default_factory must be a callable, got int"):
        field(default_factory=3)
    with pytest.raises(ValueError, match="order=True requires eq=True"):
        py_class(order=True)
    with pytest.raises(TypeError, match="must inherit from a registered FFI Object type"):
        py_class(type("Plain", (), {}))
    with pytest.raises(TypeError, match="expected str or type"):
        py_class(3)


def test_taken_key():
    type_key = key("Taken")
    py_class(type_key)(type(Object)("A", (Object,), {}))
    with pytest.raises(ValueError, match=f"Type key '{type_key}' is already registered"):
        py_class(type_key)(type(Object)("B", (Object,), {}))


def test_final_parents():
    with pytest.raises(TypeError, match="final"):
        py_class(key("Final"))(type(tvm_ffi.Array)("F", (tvm_ffi.Array,), {}))


def test_field_objects():
    made = field(default=3, metadata={"a": [1]}, doc="d", structural_eq="def")
    twin = copy.copy(made)
    assert isinstance(made, Field) and twin.metadata == {"a": [1]}
    assert twin.metadata is not made.metadata
    assert twin.metadata["a"] is made.metadata["a"]
    assert made.structural_eq == "def-pattern"


# --- forward references ----------------------------------------------------------------------


def test_forward_references():
    @py_class(key("Node"))
    class Node(Object):
        v: int
        next: Optional["Node"] = None

    assert Node(1, Node(2)).next.v == 2

    @py_class(key("Early"))
    class Early(Object):
        other: Optional["LateDefined"]

    with pytest.raises(TypeError, match="unresolved forward references: .'LateDefined'."):
        Early(None)

    @py_class(key("EarlyChild"))
    class EarlyChild(Early):
        extra: int = 1

    @py_class(key("Late"))
    class LateDefined(Object):
        b: int

    assert Early(LateDefined(3)).other.b == 3
    assert EarlyChild(None, 5).extra == 5

    @py_class(key("G1"))
    class G1(Object):
        children: list["G2"]

    @py_class(key("G2"))
    class G2(Object):
        children: list["G1"]

    assert len(G1([G2([])]).children) == 1
    with pytest.raises(TypeError, match="got int"):
        G1([3])


# --- methods, hooks, extensions --------------------------------------------------------------


def test_methods_and_hooks():
    @py_class(key("Methods"))
    class Methods(Object):
        x: int

        @method
        def add(self, y: int) -> int:
            """Add."""
            return self.x + y

        @method
        @staticmethod
        def repeat(a: int, b: str) -> str:
            return b * a

        def __ffi_repr__(self, fn):
            return f"M<{self.x}>"

        def __ffi_hash__(self, fn):
            return self.x

        def __ffi_eq__(self, other, fn):
            return self.x == other.x

    made = Methods(3)
    assert made.add(4) == 7 and Methods.repeat(2, "ab") == "abab"
    assert repr(made) == "M<3>"
    assert tvm_ffi._ffi_api.RecursiveHash(made) == 3
    assert tvm_ffi._ffi_api.RecursiveEq(made, Methods(3))
    by_name = {m.name: m for m in Methods.__tvm_ffi_type_info__.methods}
    assert by_name["add"].func(made, 4) == 7
    schema = core.TypeSchema.from_json_obj(by_name["add"].metadata["type_schema"])
    assert repr(schema).endswith("int], int]")
    with pytest.raises(TypeError, match="classmethod"):
        method(classmethod(lambda cls: 1))


def test_type_attributes_are_inherited_on_request():
    @py_class(key("AttrParent"))
    class Parent(Object):
        x: int

        def __s_equal__(self, other, cb):
            return True

    @py_class(key("AttrChild"))
    class Child(Parent):
        y: int = 0

    @py_class(key("AttrNone"))
    class WithoutList(Parent):
        __ffi_inherit_type_attrs__ = ()
        y: int = 0

    @py_class(key("AttrOverride"))
    class Override(Parent):
        __s_equal__ = None
        y: int = 0

    def attribute(cls):
        index = cls.__tvm_ffi_type_info__.type_index
        return core._lookup_type_attr(index, "__s_equal__")

    assert attribute(Parent) is not None and attribute(Child) is not None
    assert attribute(WithoutList) is None and attribute(Override) is None


def test_extensions():
    class Mark:
        pass

    seen = []

    def on_fields(info, own):
        seen.append([f.name for f in own])
        for item in own:
            item.extra_kwargs.pop("opt", None)

    on_fields.__ffi_on_fields_resolved__ = True

    class Extension(Object):
        __ffi_field_markers__ = (Mark,)
        __ffi_type_attr_names__ = ("my_attr",)

    @py_class(key("Extended"))
    class Extended(Extension):
        hook = on_fields
        my_attr = "hello"
        a: int = field(opt=1)
        m: Mark
        b: int = 2

    assert seen == [["a", "b"]]
    info = Extended.__tvm_ffi_type_info__
    assert info._decorator_args["field_markers"] == ((Mark, Extended, "m", 1),)
    assert core._lookup_type_attr(info.type_index, "my_attr") == "hello"


def test_conversion_hook():
    @py_class(key("Convertible"))
    class Wrapped(Object):
        x: int
        __ffi_convert_type_schema__ = '{"type":"int"}'

        @staticmethod
        def __ffi_convert__(value):
            if isinstance(value, int):
                return Wrapped(value)
            raise ValueError(f"nope {value!r}")

    @py_class(key("ConvertHolder"))
    class Holder(Object):
        w: Wrapped

    assert Holder(3).w.x == 3
    schema = core.TypeSchema.from_annotation(Optional[Wrapped])
    assert schema.input_repr() == "int | None"
    with pytest.raises(TypeError, match="__ffi_convert__ failed:\n *nope 'q'"):
        Holder("q")


@pytest.mark.parametrize(
    ("kind", "same", "mapped"),
    [
        ("tree", True, True),
        ("dag", True, True),
        ("const-tree", True, True),
        ("var", False, True),
        ("singleton", False, False),
    ],
)
def test_structural_kinds(kind, same, mapped):
    @py_class(key("Kind"), structural_eq=kind)
    class Kind(Object):
        x: int
        y: int = field(default=0, structural_eq="ignore")

    a, b = Kind(1, 2), Kind(1, 3)
    assert tvm_ffi.structural_equal(a, b) is same
    assert tvm_ffi.structural_equal(a, b, map_free_vars=True) is mapped
    assert tvm_ffi.structural_equal(a, a)


def test_no_structural_kind():
    @py_class(key("NoKind"), structural_eq=None)
    class NoKind(Object):
        x: int

    with pytest.raises(TypeError, match="is not supported for this type"):
        tvm_ffi.structural_equal(NoKind(1), NoKind(1))


# --- comparisons, copies, lifetime -----------------------------------------------------------


def test_comparisons():
    @py_class(key("Ordered"), eq=True, order=True, unsafe_hash=True)
    class Ordered(Object):
        a: int
        b: int = field(default=0, compare=False)
        c: str = field(default="", repr=False, hash=False)

    assert Ordered(1, 2) == Ordered(1, 3) and hash(Ordered(1, 2)) == hash(Ordered(1, 3))
    assert Ordered(1, 2, "a") != Ordered(1, 2, "b")
    assert Ordered(1) < Ordered(2) and Ordered(2) >= Ordered(1)
    assert Ordered(1) != 3
    with pytest.raises(TypeError):
        Ordered(1) < 3  # noqa: B015
    assert repr(Ordered(1, 2, "zz")).endswith("(a=1, b=2)")

    @py_class(key("Identity"))
    class Identity(Object):
        a: int

    made = Identity(1)
    assert made == made and made != Identity(1)
    assert len({made, made}) == 1


def test_copies_and_graphs():
    made = Graph([1, Graph([])])
    assert copy.copy(made).items.same_as(made.items)
    deep = copy.deepcopy(made)
    assert not deep.items.same_as(made.items) and deep.items[1].name == "n"
    assert pickle.loads(pickle.dumps(made)).items[0] == 1
    cycle = Graph([])
    cycle.items.append(cycle)
    assert "..." in repr(cycle)
    twin = copy.deepcopy(cycle)
    assert twin.items[0].same_as(twin)


def test_asdict_and_astuple():
    @py_class(key("Inner"))
    class Inner(Object):
        x: int

    @py_class(key("Outer"))
    class Outer(Object):
        a: Any = None

    made = Outer({"k": [1, (2, Inner(1))]})
    assert asdict(made) == {"a": {"k": [1, [2, {"x": 1}]]}}
    assert astuple(made) == ({"k": [1, [2, (1,)]]},)
    assert asdict(made, dict_factory=list) == [("a", {"k": [1, [2, [("x", 1)]]]})]
    for function in (asdict, astuple):
        with pytest.raises(TypeError, match="should be called on c_class / py_class instances"):
            function(3)
    assert is_dataclass(Outer) and is_dataclass(made) and not is_dataclass(3)
    with pytest.raises(TypeError, match="fields.. argument must be"):
        fields(3)


def test_constructor_without_hooks():
    from tvm_ffi import _dunder

    calls = []

    @py_class(key("Restored"))
    class Restored(Object):
        x: int
        y: str = "q"
        z: float = field(default=1.0, kw_only=True)
        w: int = field(default=3, init=False)

        def __post_init__(self):
            calls.append(1)

    make = _dunder._make_constructor(Restored)
    made = make(1, "a", 2.0, 9)
    assert (made.x, made.y, made.z, made.w, calls) == (1, "a", 2.0, 9, [])
    make = _dunder._make_constructor(
        Restored, positional_fields=["y", "x"], field_normalizers={"x": int}
    )
    assert make("a", "12").x == 12
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        make("a", "12", q=3)


def test_checked_namedtuple():
    from tvm_ffi.dataclasses import common

    @py_class(key("Tuple"))
    class Source(Object):
        x: int
        y: float = 2
        z: list[int] = field(default_factory=list)

    Made = common._make_namedtuple("Made", fields(Source))
    made = Made(1, 2, [1])
    assert made.y == 2.0 and type(made.z) is tvm_ffi.List
    assert made._replace(x=5).x == 5
    with pytest.raises(TypeError, match="Made.x: .*expected int, got str"):
        Made("s", 1, [])
    with pytest.raises(TypeError, match="Made.x: .*expected int, got str"):
        made._replace(x="s")
    with pytest.raises(TypeError, match="Made.x"):
        Made._make(["q", 2, [3]])


def test_tensors_as_fields():
    @py_class(key("TensorHolder"))
    class Holder(Object):
        t: tvm_ffi.Tensor | None

    made = Holder(np.arange(3, dtype="float32"))
    assert tuple(np.from_dlpack(made.t)) == (0, 1, 2)


def test_objects_outlive_their_class():
    def make():
        @py_class(key("Gone"))
        class Gone(Object):
            x: list[int]

            def __ffi_repr__(self, fn):
                return f"gone {list(self.x)}"

        return tvm_ffi.Array([Gone([1, 2])])

    kept = make()
    gc.collect()
    assert repr(kept[0]) == "gone [1, 2]"


def test_objects_alive_at_exit():
    code = (
        "import tvm_ffi\n"
        "from tvm_ffi.dataclasses import py_class\n"
        "@py_class\n"
        "class K(tvm_ffi.Object):\n"
        "    x: object if False else list\n"
        "keep = [K([i]) for i in range(3)]\n"
        "tvm_ffi.register_global_func('keep.it', lambda: keep)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_derived_cxx_class_of_a_container_field():
    assert TestObjectDerived({"a": 1}, [1]).v_map["a"] == 1
