# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Functions of a module."""

from __future__ import annotations

from enum import IntEnum

from tvm_ffi import register_object

from . import _ffi_api
from .attrs import DictAttrs
from .expr import Expr


class CallingConv(IntEnum):
    """How callers reach a function."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


@register_object("ir.BaseFunc")
class BaseFunc(Expr):
    """Base of functions. Attributes change on a copy: ``func = func.with_attr(..)``."""

    def with_attr(self, attr_key_or_dict, attr_value=None) -> BaseFunc:
        """Copy with one attribute set, or all of a dict."""
        if isinstance(attr_key_or_dict, (dict, DictAttrs)):
            return self.with_attrs(attr_key_or_dict)
        return _ffi_api.BaseFuncWithAttr(self, attr_key_or_dict, attr_value)

    def with_attrs(self, attr_map) -> BaseFunc:
        """Copy with all attributes of a dict set; an empty dict returns this function."""
        entries = dict(attr_map.items())
        if not entries:
            return self
        return _ffi_api.BaseFuncWithAttrs(self, entries)

    def without_attr(self, attr_key: str) -> BaseFunc:
        """Copy without one attribute."""
        return _ffi_api.BaseFuncWithoutAttr(self, attr_key)
