# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Files of named tensors."""

from __future__ import annotations

import os

import tvm_ffi

from . import _ffi_api
from ._tensor import tensor


def _as_tensors(params: dict) -> dict:
    return {
        name: value if isinstance(value, tvm_ffi.Tensor) else tensor(value)
        for name, value in params.items()
    }


def save_param_dict(params: dict) -> bytes:
    """Bytes of a dict of tensors or arrays."""
    return _ffi_api.SaveParams(_as_tensors(params))


def save_param_dict_to_file(params: dict, path) -> None:
    """Write a dict of tensors or arrays to a file."""
    _ffi_api.SaveParamsToFile(_as_tensors(params), os.fspath(path))


def load_param_dict(param_bytes):
    """Read what :py:func:`save_param_dict` made.

    Raises:
        RuntimeError: The bytes are no parameter file, or are cut short.
    """
    return _ffi_api.LoadParams(bytes(param_bytes))


def load_param_dict_from_file(path):
    """Read a parameter file."""
    return _ffi_api.LoadParamsFromFile(os.fspath(path))
