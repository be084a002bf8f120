# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators and their attribute tables."""

from __future__ import annotations

from tvm_ffi import Object, register_object

from . import _ffi_api
from .expr import Expr


@register_object("ir.ArgumentInfo")
class ArgumentInfo(Object):
    """Name, type text and description of one operator argument."""


@register_object("ir.Op")
class Op(Expr):
    """Operator; there is one object per name."""

    def __init__(self) -> None:
        raise RuntimeError("Cannot create op, use tvm.ir.Op.get instead")

    @property
    def doc(self) -> str:
        """What the operator does; older name of ``description``."""
        return self.description

    @property
    def args_info(self):
        """Arguments; older name of ``arguments``."""
        return self.arguments

    @staticmethod
    def get(op_name: str) -> Op:
        """Look up an operator.

        Raises:
            AttributeError: It is not registered.
        """
        return _ffi_api.GetOp(op_name)

    @staticmethod
    def list_op_names() -> list[str]:
        """Names of all operators."""
        return list(_ffi_api.ListOpNames())

    def get_attr(self, attr_name: str):
        """Attribute of the operator, or None."""
        return _ffi_api.OpGetAttr(self, attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Tell whether the attribute is set."""
        return bool(_ffi_api.OpHasAttr(self, attr_name))

    def set_attr(self, attr_name: str, value, plevel: int = 10) -> None:
        """Set an attribute; a higher level wins over a lower one."""
        _ffi_api.OpSetAttr(self, attr_name, value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Remove an attribute."""
        _ffi_api.OpResetAttr(self, attr_name)

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Describe the next argument."""
        _ffi_api.OpAddArgument(self, name, type, description)

    def set_support_level(self, level: int) -> None:
        """Set how basic the operator is; 10 is the least basic."""
        _ffi_api.OpSetSupportLevel(self, level)

    def set_num_inputs(self, n: int) -> None:
        """Set the number of arguments; -1 means any."""
        _ffi_api.OpSetNumInputs(self, n)

    def set_attrs_type_key(self, key: str) -> None:
        """Set the type of the attributes of calls."""
        _ffi_api.OpSetAttrsTypeKey(self, key)


def register_op(op_name: str, describe: str = "") -> Op:
    """Add an operator.

    Raises:
        ValueError: It is registered already.
    """
    _ffi_api.RegisterOp(op_name, describe)
    return Op.get(op_name)


def register_op_attr(op_name: str, attr_key: str, value=None, level: int = 10):
    """Set an attribute of an operator by name.

    Args:
        op_name: The operator; made if new.
        attr_key: The attribute.
        value: The value; a decorator is returned if left out.
        level: Priority.
    """

    def register(found):
        _ffi_api.RegisterOpAttr(op_name, attr_key, found, level)
        return found

    return register if value is None else register(value)


def register_intrin_lowering(op_name: str, target: str, *, f=None, level: int = 10):
    """Set how a target lowers an operator.

    Args:
        op_name: The operator.
        target: Target kind, or ``"default"``.
        f: ``fn(call) -> Expr``; a decorator is returned if left out.
        level: Priority.
    """

    def register(function):
        _ffi_api.RegisterOpLowerIntrinsic(op_name, function, target, level)
        return function

    return register if f is None else register(f)
