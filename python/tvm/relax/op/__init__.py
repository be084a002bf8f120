# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators of the graph level.

The wrappers are made from the compiler's operator table when they are asked for: operands first,
then attributes with their defaults, all usable as keywords.
"""

from __future__ import annotations

from ._special import (  # noqa: F401
    arange,
    assert_op,
    call_builtin_with_ctx,
    call_dps_packed,
    call_inplace_packed,
    call_pure_packed,
    call_py_func,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
    full,
    full_like,
    hint_on_device,
    invoke_closure,
    invoke_pure_closure,
    linear,
    make_closure,
    print,
    relu6,
    reshape,
    to_vdevice,
)
from ._table import make_getattr

__getattr__, __dir__ = make_getattr("", globals())
