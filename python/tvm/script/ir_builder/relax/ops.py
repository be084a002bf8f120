# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Operators as scripts write them, made from the compiler's operator table.

The wrappers of :py:mod:`tvm.relax.op` are the base; here Python values of a script become
expressions first: tuples become tuples, numbers scalars, text string literals, and type annotations
types.
"""

from __future__ import annotations

import functools
from typing import TypeVar

import tvm_ffi
from tvm.ir import Expr, Type

SUBMODULES = (
    "nn",
    "image",
    "vision",
    "grad",
    "ccl",
    "memory",
    "builtin",
    "vm",
    "dist",
    "inspect",
)
# Operand kinds that take a Python tuple or number as it is: the table's maker knows better.
_TAKEN_AS_THEY_ARE = ("shape", "prim", "tensor")
# Attributes whose text names a virtual device of the module.
_VDEVICE_ATTRS = ("dst_vdevice",)


def is_type_like(value) -> bool:
    """Tell whether a value is a type or stands for one."""
    return isinstance(value, Type) or hasattr(value, "as_ty")


def to_type(value):
    """Type of an annotation; symbols are those of the function being parsed.

    Raises:
        TypeError: The value is no type.
    """
    if isinstance(value, Type):
        return value
    if hasattr(value, "as_ty"):
        from tvm.script.parser.relax.types import current_scope

        return value.as_ty(current_scope())
    if isinstance(value, (list, tuple)):
        from tvm.ir import TupleType

        return TupleType([to_type(v) for v in value])
    raise TypeError(f"expected a type such as R.Tensor(..), but got {type(value).__name__}")


def to_types(values) -> list[Type]:
    """Types of one annotation or a sequence of them; None gives none."""
    if values is None:
        return []
    if is_type_like(values):
        return [to_type(values)]
    return [to_type(v) for v in values]


def to_expr(value) -> Expr:
    """Expression of a value of a script.

    Raises:
        TypeError: It has no meaning as an expression.
    """
    from tvm import relax

    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return relax.prim_value(value)
    if isinstance(value, (int, float)):
        return relax.prim_value(value)
    if isinstance(value, str):
        return relax.StringImm(value)
    if isinstance(value, (tuple, list)):
        return relax.Tuple([to_expr(v) for v in value])
    if isinstance(value, tvm_ffi.dtype):
        return relax.DataTypeImm(value)
    if isinstance(value, TypeVar):
        from tvm.script.parser.relax.types import current_scope

        scope = current_scope()
        if scope is not None:
            return scope.symbol(value.__name__)
    if hasattr(value, "asobject"):
        return to_expr(value.asobject())
    kind = f"{value} with type {type(value)}"
    raise TypeError(f"Cannot convert {kind} to `relax.Expr`")


def _attr(name: str, value):
    if name in _VDEVICE_ATTRS:
        from .builder import to_vdevice_object

        return to_vdevice_object(value)
    if is_type_like(value):
        return to_type(value)
    return value


def _operand(kind: str, value):
    if value is None:
        return None
    if kind in _TAKEN_AS_THEY_ARE:
        if isinstance(value, TypeVar):
            return to_expr(value)
        if kind == "shape" and isinstance(value, (list, tuple)):
            return [to_expr(v) if isinstance(v, TypeVar) else v for v in value]
        return value
    return to_expr(value)


@functools.cache
def _signature(name: str):
    from tvm.relax.op._table import _split, rows

    row = rows()[name]
    kinds = []
    for part in _split(str(row[1])):
        operand, _, kind = part.rstrip("?").partition(":")
        kinds.append((operand, kind or "tensor"))
    return kinds


def wrap(name: str, function):
    """Let a wrapper of an operator of the table take the values of a script.

    Args:
        name: Name of its row.
        function: The wrapper.
    """
    kinds = _signature(name)
    by_name = dict(kinds)

    @functools.wraps(function)
    def call(*args, **kwargs):
        args = [
            _operand(kinds[i][1], a) if i < len(kinds) else _attr("", a) for i, a in enumerate(args)
        ]
        kwargs = {
            k: _operand(by_name[k], v) if k in by_name else _attr(k, v) for k, v in kwargs.items()
        }
        return function(*args, **kwargs)

    return call


def lookup(name: str):
    """Operator of a script by its name without prefix, e.g. ``nn.relu``.

    Raises:
        AttributeError: There is none.
    """
    from tvm.relax import op
    from tvm.relax.op._table import rows

    module, _, short = name.rpartition(".")
    found = op
    if module:
        found = getattr(op, module, None)
    function = getattr(found, short, None) if found is not None else None
    if name in rows():
        if function is None:
            from tvm.relax.op._table import make_wrapper

            function = make_wrapper(name)
        return wrap(name, function)
    if function is not None and callable(function) and not isinstance(function, type):
        return function
    raise AttributeError(f"R has no operator {name!r}")


def names(prefix: str = "") -> list[str]:
    """Names of the operators with a prefix, the prefix left out."""
    from tvm.relax.op._table import rows

    return sorted(
        r[len(prefix) :] for r in rows() if r.startswith(prefix) and "." not in r[len(prefix) :]
    )


class OpNamespace:
    """Operators ``R.<module>.*``.

    Args:
        module: Name of the group.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        special = _SPECIAL.get(f"{self._module}.{name}")
        value = special or lookup(f"{self._module}.{name}")
        setattr(self, name, value)
        return value

    def __dir__(self):
        prefix = self._module + "."
        special = [k[len(prefix) :] for k in _SPECIAL if k.startswith(prefix)]
        return sorted({*names(prefix), *special})

    def __repr__(self) -> str:
        return f"<operators R.{self._module}>"


def _relu6(data):
    from tvm.relax import op

    return op.nn.relu6(data)


def _alloc_tensor(shape, dtype, runtime_device_index=0, storage_scope="global"):
    from tvm.relax import ShapeExpr

    maker = tvm_ffi.get_global_func("relax.op.builtin.alloc_tensor")
    if not isinstance(shape, Expr):
        shape = ShapeExpr(list(shape))
    return maker(shape, as_dtype(dtype), to_expr(runtime_device_index), to_expr(storage_scope))


def as_dtype(value):
    """Data type literal of a data type, its name, or the literal itself."""
    from tvm.relax import DataTypeImm

    return value if isinstance(value, Expr) else DataTypeImm(value)


# Written forms that are not "operands, then attributes" of a row.
_SPECIAL = {"nn.relu6": _relu6, "builtin.alloc_tensor": _alloc_tensor}
