# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Wrappers of the ``testing.*`` functions and classes."""

from __future__ import annotations

import sys

from .. import _ffi_api as _core_api
from ..core import Object
from ..registry import init_ffi_api, register_object

init_ffi_api("testing", __name__)


def create_object(type_key: str, **kwargs):
    """Build an object of any registered type from its fields."""
    packed = [part for pair in kwargs.items() for part in pair]
    return _core_api.MakeObjectFromPackedArgs(type_key, *packed)


def run_with_gpu_lock(function, *args, **kwargs):
    """Run a test that needs the GPU for itself."""
    from tempfile import gettempdir

    from ..utils import FileLock

    with FileLock(f"{gettempdir()}/tvm_ffi_gpu.lock"):
        return function(*args, **kwargs)


@register_object("testing.TestObjectBase")
class TestObjectBase(Object):
    """Object with three fields and one method."""

    __test__ = False


@register_object("testing.TestIntPair")
class TestIntPair(Object):
    """Two ints."""

    __test__ = False


@register_object("testing.TestObjectDerived")
class TestObjectDerived(TestObjectBase):
    """Child of TestObjectBase with containers."""

    __test__ = False


def _define(key: str, name: str, parent: type = Object) -> type:
    """Class without anything of its own for a type of the test library."""
    body = {"__doc__": f"Objects of type {key}.", "__module__": __name__, "__test__": False}
    return register_object(key)(type(parent)(name, (parent,), body))


for _name in (
    "TestCompare",
    "TestCustomCompare",
    "TestCustomHash",
    "TestEqWithoutHash",
    "TestFrozenCxx",
    "TestHash",
    "TestNonCopyable",
    "TestObjectPtrHolder",
):
    globals()[_name] = _define(f"testing.{_name}", _name)

# Names with an underscore are not exported by default; tests ask for them by name.
for _name in (
    "TestCxxClassBase",
    "TestCxxInitSubset",
    "TestCxxKwOnly",
    "TestCxxAutoInit",
    "TestCxxAutoInitSimple",
    "TestCxxAutoInitAllInitOff",
    "TestCxxAutoInitKwOnlyDefaults",
    "TestCxxAutoInitParent",
    "TestCxxNoAutoInit",
    "TestCxxEnumHolder",
):
    globals()[f"_{_name}"] = _define(f"testing.{_name}", f"_{_name}")
for _name, _parent in (
    ("TestCxxClassDerived", "_TestCxxClassBase"),
    ("TestCxxClassDerivedDerived", "_TestCxxClassDerived"),
    ("TestCxxAutoInitChild", "_TestCxxAutoInitParent"),
):
    globals()[f"_{_name}"] = _define(f"testing.{_name}", f"_{_name}", globals()[_parent])
_SchemaAllTypes = _define("testing.SchemaAllTypes", "_SchemaAllTypes")

__all__ = [
    name
    for name in vars(sys.modules[__name__])
    if not name.startswith("_") or name.startswith(("_TestCxx", "_SchemaAll"))
]
