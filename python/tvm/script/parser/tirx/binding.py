# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""What an assignment to a name means in a primitive function."""

from __future__ import annotations

import ast
from typing import Any

from tvm import tirx
from tvm.ir import PointerType, PrimType, Type, Var
from tvm.ir.expr import Expr, is_prim_expr
from tvm.script.ir_builder import tirx as T
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame
from tvm.script.ir_builder.tirx.buffers import scalar_buffer
from tvm.script.ir_builder.tirx.values import ScalarVar, as_expr, as_value
from tvm.script.parser.core.parser import Parser


def declare_scalar(name: str, ty: Type, value: Any = None) -> ScalarVar:
    """Declare a scalar variable, and give it a value unless that is None."""
    scalar = T.local_scalar(ty)
    IRBuilder.name(name, scalar.buffer)
    if value is not None:
        T.buffer_store(scalar.buffer, value, [0])
    return scalar


def enter_rest_of_scope(frame: IRBuilderFrame) -> Any:
    """Enter a frame until the scope around it ends, as if all that follows stood in it."""
    outer = list(IRBuilder.current().frames)
    value = frame.__enter__()
    if outer:
        from tvm.script.ir_builder import _ffi_api

        _ffi_api.IRBuilderFrameAddExit(outer[-1], lambda: frame.__exit__(None, None, None))
    return value


def bind_value(self: Parser, node: ast.expr, name: str, value: Any) -> Any:
    """What a name stands for after ``name = value``.

    A number or scalar expression makes a scalar variable, or is stored to the variable that the
    name is already; a pointer is bound; variables and buffers that have no name yet get this one;
    every other value is Python's.
    """
    value = as_value(value) if not isinstance(value, (ScalarVar, tirx.BufferRegion)) else value
    if isinstance(value, IRBuilderFrame):
        return assign_name(name, enter_rest_of_scope(value))
    if isinstance(value, ScalarVar):
        IRBuilder.name(name, value.buffer)
        return value
    if isinstance(value, Var) and self.type_vars and name in self.type_vars:
        known = self.type_vars[name]
        if not _known(self, value) and known.ty == value.ty:
            return known  # `n = T.int32()` declares the variable that a shape named first
    if isinstance(value, (Var, tirx.IterVar)) and not _known(self, value):
        return assign_name(name, value)
    if isinstance(value, (bool, int, float)) or is_prim_expr(value):
        return _assign_scalar(self, name, value)
    if isinstance(value, (tirx.StringImm, Var)) or not isinstance(value, Expr):
        if isinstance(value, Var) and isinstance(value.ty, PointerType):
            _check_pointer(self, node, name)
        return _name_items(self, name, value)
    if isinstance(value.ty, PointerType):
        _check_pointer(self, node, name)
        return assign_name(name, T.bind(value))
    return value


def assign_name(name: str, value: Any) -> Any:
    """Name a variable or buffer that was just made."""
    if isinstance(value, (Var, tirx.IterVar)):
        IRBuilder.name(name, value)
    return value


def _name_items(self: Parser, name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            if isinstance(item, Var) and not _known(self, item):
                assign_name(f"{name}_{i}", item)
    return value


def _known(self: Parser, value: Any) -> bool:
    """True for a variable that has a name in the script already."""
    if self.var_table.exist(value):
        return True
    # Shape variables are found by name, the first time they are mentioned.
    return bool(self.type_vars) and any(value.same_as(var) for var in self.type_vars.values())


def _existing(self: Parser, name: str) -> Any:
    return self.var_table.lookup(name, None)


def _assign_scalar(self: Parser, name: str, value: Any) -> Any:
    old = _existing(self, name)
    stored = scalar_buffer(old)
    if stored is not None:
        T.buffer_store(stored, value, [0])
        return old
    if isinstance(self.var_table.frames[-1].get(name), (Var, tirx.IterVar)):
        # A parameter, loop variable or buffer never changes; a block inside may reuse its name.
        raise ValueError(f"Variable {name} already defined in current scope")
    value = as_expr(value)
    return declare_scalar(name, PrimType(value.dtype), value)


def _check_pointer(self: Parser, node: ast.expr, name: str) -> None:
    old = _existing(self, name)
    if isinstance(old, Var) and isinstance(old.ty, PointerType):
        self.report_error(node, f"Pointer variable '{name}' cannot be reassigned")
