# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Passes of the schedulable dialect; each ``s_tir.transform.<Name>`` is a function here."""

from __future__ import annotations

from tvm.ir.transform import Pass

from . import _ffi_api


def __getattr__(name):
    if name.startswith("_") or not name[0].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    make = getattr(_ffi_api, name)

    def create(*args) -> Pass:
        return make(*args)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"Make the pass ``s_tir.{name}``."
    globals()[name] = create
    return create
