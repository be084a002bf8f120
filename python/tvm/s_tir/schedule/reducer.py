# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Reducers that rfactor knows."""

from __future__ import annotations

from collections.abc import Callable

from . import _ffi_api


def register_reducer(n_buffers: int, combiner: Callable, identity: Callable) -> None:
    """Make a combiner known to rfactor.

    Args:
        n_buffers: How many values it combines at once.
        combiner: ``fn(x0, .., y0, ..)`` giving one expression, or a tuple of ``n_buffers``; it has to
            be associative and commutative.
        identity: ``fn(dtype0, ..)`` giving the neutral elements likewise.
    """

    def as_list(value):
        return list(value) if isinstance(value, (list, tuple)) else [value]

    _ffi_api.RegisterReducer(
        n_buffers,
        lambda x, y: as_list(combiner(*x, *y)),
        lambda dtypes: as_list(identity(*(str(dtype) for dtype in dtypes))),
    )
