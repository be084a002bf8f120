# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenTVM authors
"""Builds executables of the virtual machine by hand."""

from __future__ import annotations

import contextlib
from enum import IntEnum

from tvm.runtime.vm import VMExecutable
from tvm_ffi import Object, register_object

from . import _ffi_api


class VMFuncKind(IntEnum):
    """Kind of an entry of the function table."""

    PACKED_FUNC = 0
    VM_FUNC = 1


class SpecialReg(IntEnum):
    """Registers with a meaning of their own."""

    VOID_ARG = (1 << 54) + 0
    VM_STATE = (1 << 54) + 1


@register_object("relax.ExecBuilder")
class ExecBuilder(Object):
    """Emits instructions function by function."""

    __slots__ = ("__dict__",)

    def __init__(self) -> None:
        self.__init_handle_by_constructor__(_ffi_api.ExecBuilderCreate)
        self._open = False

    def r(self, idx: int) -> int:
        """Operand: register."""
        return _ffi_api.ExecBuilderR(self, idx)

    def imm(self, value: int) -> int:
        """Operand: small integer."""
        return _ffi_api.ExecBuilderImm(self, value)

    def c(self, idx: int) -> int:
        """Operand: entry of the constant pool."""
        return _ffi_api.ExecBuilderC(self, idx)

    def f(self, name: str) -> int:
        """Operand: function."""
        return _ffi_api.ExecBuilderF(self, name)

    def void_arg(self) -> int:
        """Destination that drops the value."""
        return self.r(SpecialReg.VOID_ARG)

    def vm_state(self) -> int:
        """Operand: the machine itself."""
        return self.r(SpecialReg.VM_STATE)

    def declare_function(self, func_name: str, kind: VMFuncKind = VMFuncKind.PACKED_FUNC) -> None:
        """Make a function known before it is defined."""
        _ffi_api.ExecBuilderDeclareFunction(self, func_name, int(kind))

    @contextlib.contextmanager
    def function(self, func_name: str, num_inputs: int | None = 0, param_names=None):
        """Scope in which a function's instructions are emitted."""
        _ffi_api.ExecBuilderFunction(self, func_name, num_inputs or 0, param_names)
        self._open = True
        try:
            yield
        finally:
            self._open = False
            _ffi_api.ExecBuilderEndFunction(self, func_name)

    def _check_scope(self) -> None:
        if not self._open:
            raise ValueError("emit should happen in a function scope")

    def convert_constant(self, const) -> int:
        """Operand for a value: an immediate, or an entry of the constant pool."""
        return _ffi_api.ExecBuilderConvertConstant(self, const)

    def emit_call(self, name: str, args=None, dst=None) -> None:
        """Call a function."""
        self._check_scope()
        args = [a if isinstance(a, int) else self.convert_constant(a) for a in args or []]
        _ffi_api.ExecBuilderEmitCall(self, name, args, self.void_arg() if dst is None else dst)

    def emit_ret(self, result) -> None:
        """Return a register."""
        self._check_scope()
        _ffi_api.ExecBuilderEmitRet(self, result)

    def emit_goto(self, pc_offset: int) -> None:
        """Jump, relative to this instruction."""
        self._check_scope()
        _ffi_api.ExecBuilderEmitGoto(self, pc_offset)

    def emit_if(self, cond, false_offset: int) -> None:
        """Jump if a register is zero, relative to this instruction."""
        self._check_scope()
        _ffi_api.ExecBuilderEmitIf(self, cond, false_offset)

    def get(self) -> VMExecutable:
        """The executable.

        Raises:
            RuntimeError: A register is read before it is written.
        """
        return VMExecutable(_ffi_api.ExecBuilderGet(self))
