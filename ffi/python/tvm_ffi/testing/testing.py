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


__all__ = [name for name in vars(sys.modules[__name__]) if not name.startswith("_")]
